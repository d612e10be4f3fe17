//! FLIX: explicit mixtures of one shared model and pre-trained local ones, by distributed GD.
//!
//! Gasanov, Khaled, Horváth, Richtárik. *FLIX: A Simple and Communication-Efficient Alternative to
//! Local Methods in Federated Learning*. AISTATS 2022.
//!
//! ```text
//! minimise F(x) = 1/n Σ fᵢ(Tᵢ(x)),   Tᵢ(x) = αᵢ x + (1 − αᵢ) xᵢ*,   xᵢ* = argmin fᵢ
//! before   1  each client solves for xᵢ*
//!          2  γ = 1/Lα,  Lα = 1/n Σ αᵢ² Lᵢ
//!          3  optionally x = Σ αᵢ² Lᵢ xᵢ* / Σ αᵢ² Lᵢ
//! round    4  x ← x − γ/n Σ αᵢ ∇fᵢ(Tᵢ(x))
//! ```
//!
//! Theorem 2 does not state γ; its proof uses 1/Lα. Lines 2 and 3 cost one exchange, booked as round
//! 0. With α = 1 this is plain distributed gradient descent. Clients with αᵢ = 0 have no part in F
//! that depends on x: they are never asked and deploy xᵢ*.
//!
//! Not in the paper: with `alpha = { estimate = { eps = ε, online = true } }` each client takes the largest αᵢ that costs it at most ε at the
//! present x, by measuring; see [`Shares`]. γ of line 2 is then that of the round's shares.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Cohort, Deployment, Facts, Fraction, Misfit, ModelShape, OutOfRange, PerClient, Positive, Promise,
    Rate, Round, Rows, Site, Study, Unsuitable, Vector, message, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::{MixtureConstants, Shares, Solve, Start};
use crate::registry::{Card, Method, Reads};

/// FLIX by distributed gradient descent.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Flix {
    /// αᵢ: share of the shared model in what each client deploys, from 0 to 1: a number, { per_client = [...] }, or { estimate = { eps = 1e-3, online = true } }: the largest that costs the client at most eps.
    pub alpha: Shares,
    /// γ: step size, a number or "theory" = 1/Lα (default).
    #[serde(alias = "gamma", default = "theory")]
    pub step: Rate<Positive>,
    /// x⁰: "model" (default), "zeros", "ones" or "one-shot" (average of the local optima).
    #[serde(default)]
    pub start: Start,
    /// How local optima are found: { kind = "gd" | "line-search" | "newton" | "sgd", to = 1e-6, steps = 100000, ... } (default: "gd" to 1e-6, at most 100,000 steps).
    #[serde(default)]
    pub solve: Solve,
}

fn theory() -> Rate<Positive> {
    Rate::Theory
}

impl Method for Flix {
    const CARD: Card = Card {
        name: "flix",
        reads: Reads::Sums,
        about: "mixtures of a shared model and local optima, by distributed gradient descent (alpha = 1: plain GD)",
        leaves: r#"a gradient of all its examples, αᵢ ∇fᵢ(αᵢ x + (1 − αᵢ) xᵢ*), in each round; with `step = "theory"` αᵢ² Lᵢ once; with `start = "one-shot"` its own model xᵢ* once; learnt shares αᵢ, with αᵢ² Lᵢ, in each round"#,
        paper: "Gasanov, Khaled, Horváth, Richtárik 2022",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"alpha":0.5}"#,
    };
}

message! {
    /// Server to client.
    pub enum Ask {
        /// For the constants of lines 2 and 3.
        Introduce {
            /// Is xᵢ* wanted too?
            optimum: bool,
        },
        /// For the gradient of line 4.
        Differentiate {
            /// The shared model.
            x: Vector,
        },
    }
}

message! {
    /// Client to server.
    pub enum Reply {
        /// Lines 2 and 3.
        Introduction {
            /// αᵢ² Lᵢ, if Lᵢ is known.
            curvature: Option<f64>,
            /// xᵢ*, if wanted.
            optimum: Option<Vector>,
        },
        /// Line 4.
        Gradient {
            /// αᵢ ∇fᵢ(Tᵢ(x))
            g: Vector,
        },
        /// Line 4, with shares that are learnt.
        Shared {
            /// αᵢ ∇fᵢ(Tᵢ(x))
            g: Vector,
            /// αᵢ
            share: f64,
            /// αᵢ² Lᵢ; 0 where Lᵢ is not known.
            curvature: f64,
        },
    }
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x
        pub x: Vector,
        /// γ
        pub step: f64,
    }
}

impl Flix {
    /// Mixtures with one share α of the common model for all clients, and everything else by default.
    ///
    /// ```
    /// use motet_methods::flix::Flix;
    /// assert!(Flix::mixing(0.5).is_ok() && Flix::mixing(1.5).is_err());
    /// ```
    pub fn mixing(alpha: f64) -> Result<Self, OutOfRange> {
        let alpha = PerClient::Same(Fraction::new(alpha)?).into();
        Ok(Self { alpha, step: Rate::Theory, start: Start::default(), solve: Solve::default() })
    }

    /// Those who have a part in x.
    fn sharing(&self, round: &Round<'_, Self>) -> Cohort {
        round.everyone().filter(|id| self.share(id) > 0.0)
    }
}

impl Algorithm for Flix {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    type Client = ();

    fn server(&self, start: Vector) -> Server {
        Server { x: self.start.from(start), step: f64::NAN }
    }

    fn client(&self, site: &mut Site<'_>) {
        if self.alpha.mixes(site.id) || self.start == Start::OneShot {
            self.solve.optimum(site); // line 1
        }
    }

    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        if let (Rate::Given(step), true) = (self.step, self.start != Start::OneShot) {
            s.step = *step;
            return Ok(());
        }
        let n = round.everyone().len() as f64;
        let sharing = self.sharing(round);
        let sum = round.sum(&sharing, Ask::Introduce { optimum: self.start == Start::OneShot }, |_| 1.0)?;
        if sum.numbers[0] > 0.0 {
            return Err(Abort::Unsuited(
                "theory needs the smoothness of the model, which is not known: give step as a number, and a start other than \"one-shot\""
                    .into(),
            ));
        }
        s.step = match self.step {
            Rate::Given(step) => *step,
            // Line 2 sums over everyone: those who stayed silent count as those who answered do on average.
            Rate::Theory => n / (sum.weight * (sharing.len() as f64 / sum.answered.len() as f64)),
        };
        if self.start == Start::OneShot {
            s.x = sum.mean(); // line 3
        }
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let sharing = self.sharing(round);
        if sharing.is_empty() {
            return Ok(());
        }
        let sum = round.sum(&sharing, Ask::Differentiate { x: s.x.clone() }, |_| 1.0)?;
        let (answered, [share, curvature]) = (sum.answered.len() as f64, sum.numbers);
        if self.alpha.learnt().is_some() && answered > 0.0 {
            round.note("share", share / answered);
            if self.step == Rate::Theory {
                s.step = answered / curvature; // line 2, for the shares of this round
            }
        }
        // Line 4 divides by n: those with αᵢ = 0 count there, though their gradient is zero.
        let part = sharing.len() as f64 / round.everyone().len() as f64;
        s.x.axpy(-s.step * part, &sum.mean());
        Ok(())
    }

    fn answer(&self, _: &mut (), ask: &Ask, site: &mut Site<'_>) -> Reply {
        match ask {
            Ask::Introduce { optimum } => Reply::Introduction {
                curvature: self.curvature(self.share(site.id), site),
                optimum: optimum.then(|| self.solve.optimum(site)),
            },
            Ask::Differentiate { x } => {
                let (share, model) = self.mixed(x, site);
                let mut g = model.zeros_like();
                site.train.train_into(&model, Rows::All, site.buffers, &mut g);
                g.scale(share); // the αᵢ of line 4: the chain rule
                match self.alpha.learnt() {
                    None => Reply::Gradient { g },
                    Some(_) => Reply::Shared { g, share, curvature: self.curvature(share, site).unwrap_or(0.0) },
                }
            }
        }
    }

    fn fits(&self, ask: &Ask, reply: &Reply, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        match (ask, reply) {
            (Ask::Introduce { optimum: wanted }, Reply::Introduction { curvature, optimum }) => {
                Misfit::of_constant("curvature", *curvature)?;
                Misfit::of_optional(optimum.as_ref(), *wanted, model)
            }
            (Ask::Differentiate { .. }, Reply::Gradient { g }) if self.alpha.learnt().is_none() => g.fits(model),
            (Ask::Differentiate { .. }, Reply::Shared { g, share, curvature }) if self.alpha.learnt().is_some() => {
                Misfit::of_constant("share", Some(*share))?;
                Misfit::of_constant("curvature", Some(*curvature))?;
                g.fits(model)
            }
            _ => Err(Misfit::Variant),
        }
    }

    fn addend<'r>(&self, reply: &'r Reply) -> Option<Addend<'r>> {
        match reply {
            // Σ cᵢ is the sum's weight; the number counts those who do not know theirs.
            Reply::Introduction { curvature, optimum } => {
                let known = Addend::counting(curvature.unwrap_or(0.0)).plain(f64::from(u8::from(curvature.is_none())));
                Some(optimum.iter().fold(known, Addend::vector))
            }
            Reply::Gradient { g } => Some(Addend::counting(1.0).vector(g)),
            Reply::Shared { g, share, curvature } => Some(Addend::counting(1.0).vector(g).plain(*share).plain(*curvature)),
        }
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn deploys(&self, client: ClientId) -> Deployment<Self> {
        match self.alpha.learnt() {
            None => Deployment::Mixture { share: self.share(client), anchor: |method, site| method.solve.optimum(site) },
            Some(_) => Deployment::Own(|method, _, x, site| method.mixed(x, site).1),
        }
    }
}

impl Flix {
    /// αᵢ: the share of the shared model in what the client deploys; 1 where it is learnt.
    pub fn share(&self, client: ClientId) -> f64 {
        self.alpha.of(client)
    }

    /// αᵢ and Tᵢ(x)
    fn mixed(&self, x: &Vector, site: &mut Site<'_>) -> (f64, Vector) {
        let Some(learnt) = self.alpha.learnt() else { return (self.share(site.id), self.deploys(site.id).model(self, &(), x, site)) };
        learnt.mixture(x, &self.solve.optimum(site), site)
    }

    /// αᵢ² Lᵢ, if Lᵢ is known.
    fn curvature(&self, share: f64, site: &Site<'_>) -> Option<f64> {
        site.train.constants().smoothness.map(|l| share * share * l)
    }
}

impl Study for Flix {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        self.alpha.given_mut()
    }

    /// Theorem 2: F(xᵏ) − F* ≤ (1 − γ μα)ᵏ (F(x⁰) − F*) for γ ≤ 1/Lα. Shares that are learnt change F from round to round.
    fn promise(&self, facts: &Facts<'_>) -> Option<Promise> {
        if self.alpha.learnt().is_some() {
            return None;
        }
        let mixed = MixtureConstants::new(facts, |id| self.share(id));
        mixed.descent(self.step, "FLIX Theorem 2")
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.alpha.suits(clients)
    }
}
