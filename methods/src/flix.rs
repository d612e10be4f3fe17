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

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Cohort, Deployment, Facts, Fraction, Misfit, ModelShape, OutOfRange, PerClient, Positive, Promise,
    Rate, Round, Site, Study, Unsuitable, Vector, message, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::{Mixed, Solve, Start, alpha_suits};
use crate::registry::{Card, Method, Reads};

/// FLIX by distributed gradient descent.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Flix {
    /// αᵢ: share of the common model in each client's own, a number, or { per_client = [...] }.
    pub alpha: PerClient<Fraction>,
    /// γ: stepsize, a number or "theory" = 1/Lα (default).
    #[serde(default = "theory")]
    pub step: Rate<Positive>,
    /// x⁰: "model" (default), "zeros", "ones" or "one-shot" (average of the local optima).
    #[serde(default)]
    pub start: Start,
    /// Local solves: { kind = "gd" | "line-search" | "newton" | "sgd", to = 1e-6, steps = 100000, ... }.
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
        let alpha = PerClient::Same(Fraction::new(alpha)?);
        Ok(Self { alpha, step: Rate::Theory, start: Start::default(), solve: Solve::default() })
    }

    /// Those who have a part in x.
    fn sharing(&self, round: &Round<'_, Self>) -> Cohort {
        round.everyone().filter(|id| *self.alpha.of(id) > 0.0)
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
        if self.share(site.id) < 1.0 || self.start == Start::OneShot {
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
            return Err(Abort::Unsuited("the model does not know its smoothness: give step as a number and another start".into()));
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
        // Line 4 divides by n: those with αᵢ = 0 count there, though their gradient is zero.
        let part = sharing.len() as f64 / round.everyone().len() as f64;
        s.x.axpy(-s.step * part, &sum.mean());
        Ok(())
    }

    fn answer(&self, _: &mut (), ask: &Ask, site: &mut Site<'_>) -> Reply {
        let alpha = self.share(site.id);
        match ask {
            Ask::Introduce { optimum } => Reply::Introduction {
                curvature: site.train.constants().smoothness.map(|l| alpha * alpha * l),
                optimum: optimum.then(|| self.solve.optimum(site)),
            },
            Ask::Differentiate { x } => {
                let model = self.deploys(site.id).model(self, &(), x, site);
                let mut g = site.train.gradient(&model);
                g.scale(alpha); // the αᵢ of line 4: the chain rule
                Reply::Gradient { g }
            }
        }
    }

    fn fits(&self, ask: &Ask, reply: &Reply, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        match (ask, reply) {
            (Ask::Introduce { optimum: wanted }, Reply::Introduction { curvature, optimum }) => {
                Misfit::of_constant("curvature", *curvature)?;
                Misfit::of_optional(optimum.as_ref(), *wanted, model)
            }
            (Ask::Differentiate { .. }, Reply::Gradient { g }) => g.fits(model),
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
        }
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn deploys(&self, client: ClientId) -> Deployment<Self> {
        Deployment::Mixture { share: self.share(client), anchor: |method, site| method.solve.optimum(site) }
    }
}

impl Flix {
    /// αᵢ: the share of the common model in what the client deploys.
    pub fn share(&self, client: ClientId) -> f64 {
        *self.alpha.of(client)
    }
}

impl Study for Flix {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        Some(&mut self.alpha)
    }

    /// Theorem 2: F(xᵏ) − F* ≤ (1 − γ μα)ᵏ (F(x⁰) − F*) for γ ≤ 1/Lα.
    fn promise(&self, facts: &Facts<'_>) -> Option<Promise> {
        let mixed = Mixed::new(facts, |id| self.share(id));
        mixed.descent(self.step, "FLIX Theorem 2")
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        alpha_suits(&self.alpha, clients)
    }
}
