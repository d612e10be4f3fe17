//! L2GD: personal models drawn towards their mean, which is communicated only when a coin says so.
//!
//! Hanzely, Richtárik. *Federated Learning of a Mixture of Global and Local Models*. 2020.
//!
//! ```text
//! minimise 1/n Σ fᵢ(xᵢ) + λ/(2n) Σ |xᵢ − x̄|²,   x̄ = 1/n Σ xⱼ
//! before   1  p = λ/(L + λ), s = n/(2 max{L/(1 − p), λ/p}), L = max Lᵢ;   all xᵢ = x̄ = x⁰
//! step     2  with probability p:  xᵢ ← xᵢ − (s λ/(n p)) (xᵢ − x̄)
//!          3  otherwise:           xᵢ ← xᵢ − (s/(n (1 − p))) ∇fᵢ(xᵢ; B)
//! round    4  one communication: a run of tails and the head after it. Each client takes the averaging steps of the
//!             last run of heads, then ℓ ~ Geometric(p) local steps, and sends xᵢ
//!          5  x̄ ← 1/n Σ xᵢ
//! deploy   6  xᵢ as it was sent
//! ```
//!
//! Averaging steps leave x̄ as it is: a run of heads needs one communication only. The note `steps` counts the paper's
//! iterations. Both kinds of steps are right together, not each alone: with a constant step the method ends in a
//! neighbourhood of the minimiser, the smaller the step the smaller. Everyone takes part in every round.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Misfit, ModelShape, NonNegative, Positive, Probability, Rate, Round, Site, Study,
    Unsuitable, Vector, message, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::{BatchSize, coin_suits, rows};
use crate::registry::{Card, Method, Reads};

/// Personal models drawn towards their mean.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct L2gd {
    /// λ: how strongly personal models are drawn towards their mean, from 0.
    pub lambda: NonNegative,
    /// p: chance of an averaging step, below 1, a number or "theory" = lambda/(L + lambda) (default).
    #[serde(default = "theory")]
    pub p: Rate<Probability>,
    /// s: step size, a number or "theory" = n/(2 max(L/(1 - p), lambda/p)) (default).
    #[serde(default = "theory_step")]
    pub step: Rate<Positive>,
    /// |B|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
}

fn theory() -> Rate<Probability> {
    Rate::Theory
}

fn theory_step() -> Rate<Positive> {
    Rate::Theory
}

impl Method for L2gd {
    const CARD: Card = Card {
        name: "l2gd",
        reads: Reads::Sums,
        about: "personal models drawn towards their mean; a coin decides between local steps and averaging",
        leaves: r#"its own model xᵢ whenever the coin says so; with `step = "theory"` or `p = "theory"` Lᵢ once"#,
        paper: "Hanzely, Richtárik 2020",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"lambda":0.5,"p":0.4,"step":0.3}"#,
    };
}

message! {
    /// Server to client.
    pub enum Ask {
        /// For line 1.
        Introduce {},
        /// Line 4.
        Work {
            /// x̄
            mean: Vector,
            /// What is left of xᵢ − x̄ after the averaging steps.
            keep: f64,
            /// ℓ
            steps: u64,
            /// The step of line 3.
            step: f64,
        },
    }
}

message! {
    /// Client to server.
    pub enum Reply {
        /// Line 1.
        Introduction {
            /// Lᵢ, if it is known.
            smoothness: Option<f64>,
        },
        /// Line 4.
        Model {
            /// xᵢ
            x: Vector,
        },
    }
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x̄
        pub mean: Vector,
        /// p
        pub p: f64,
        /// s
        pub step: f64,
    }
}

impl L2gd {
    /// What lines 2 and 3 multiply their direction with.
    pub fn rates(&self, p: f64, step: f64, clients: usize) -> (f64, f64) {
        let n = clients.max(1) as f64;
        (if *self.lambda == 0.0 { 0.0 } else { step * *self.lambda / (n * p) }, step / (n * (1.0 - p)))
    }
}

impl Algorithm for L2gd {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    /// xᵢ, once the client was asked.
    type Client = Option<Vector>;

    fn server(&self, start: Vector) -> Server {
        Server { mean: start, p: f64::NAN, step: f64::NAN }
    }

    fn client(&self, _: &mut Site<'_>) -> Option<Vector> {
        None
    }

    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        if let (Rate::Given(p), Rate::Given(step)) = (self.p, self.step) {
            (s.p, s.step) = (*p, *step);
            return Ok(());
        }
        let (mut most, mut unknown) = (0.0f64, false);
        let everyone = round.everyone().required();
        round.ask(&everyone, Ask::Introduce {}, |_, reply| match reply {
            Reply::Introduction { smoothness: Some(l) } => most = most.max(l),
            _ => unknown = true,
        })?;
        if unknown {
            return Err(Abort::Unsuited("theory needs the smoothness of the model, which is not known: give p and step as numbers".into()));
        }
        // Line 1. Without a pull to the mean there is nothing to average; a rare head keeps rounds finite.
        s.p = match self.p {
            Rate::Given(p) => *p,
            Rate::Theory if *self.lambda == 0.0 => 0.5,
            Rate::Theory => *self.lambda / (most + *self.lambda),
        };
        s.step = match self.step {
            Rate::Given(step) => *step,
            Rate::Theory => everyone.len() as f64 / (2.0 * (most / (1.0 - s.p)).max(*self.lambda / s.p)),
        };
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let everyone = round.everyone().required();
        let (pull, step) = self.rates(s.p, s.step, everyone.len());
        // Before the first round all models are equal: heads would change nothing.
        let heads = if round.index() > 1 { round.rng().geometric(1.0 - s.p) } else { 0 };
        let steps = round.rng().geometric(s.p);
        round.note("steps", (heads + steps) as f64);
        let keep = (1.0 - pull).powf(heads as f64);
        let sum = round.sum(&everyone, Ask::Work { mean: s.mean.clone(), keep, steps, step }, |_| 1.0)?;
        s.mean = sum.mean(); // line 5
        Ok(())
    }

    fn answer(&self, own: &mut Option<Vector>, ask: &Ask, site: &mut Site<'_>) -> Reply {
        let Ask::Work { mean, keep, steps, step } = ask else {
            return Reply::Introduction { smoothness: site.train.constants().smoothness };
        };
        let mut x = own.as_ref().map_or_else(|| mean.clone(), |x| Vector::mix(*keep, x, mean)); // line 2, many times
        let mut g = x.zeros_like();
        let Site { train, rng, buffers, .. } = site;
        for _ in 0..*steps {
            let batch = self.batch.draw(train.samples(), rng);
            train.train_into(&x, rows(&batch), buffers, &mut g);
            x.axpy(-step, &g); // line 3
        }
        *own = Some(x.clone());
        Reply::Model { x } // line 4
    }

    fn fits(&self, ask: &Ask, reply: &Reply, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        match (ask, reply) {
            (Ask::Introduce {}, Reply::Introduction { smoothness }) => Misfit::of_constant("smoothness", *smoothness),
            (Ask::Work { .. }, Reply::Model { x }) => x.fits(model),
            _ => Err(Misfit::Variant),
        }
    }

    fn addend<'r>(&self, reply: &'r Reply) -> Option<Addend<'r>> {
        match reply {
            Reply::Introduction { .. } => None,
            Reply::Model { x } => Some(Addend::counting(1.0).vector(x)),
        }
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.mean
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Own(Self::personal)
    }
}

impl L2gd {
    /// What the client deploys.
    fn personal(&self, own: &Option<Vector>, mean: &Vector, _: &mut Site<'_>) -> Vector {
        own.as_ref().unwrap_or(mean).clone() // line 6
    }
}

impl Study for L2gd {
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        let Some(n) = clients else {
            return Err(Unsuitable::WithoutEnd("l2gd averages all clients: the population must have an end"));
        };
        coin_suits(self.p)?;
        let always = matches!(self.p, Rate::Given(p) if *p == 1.0);
        Unsuitable::when(always, "p must be below 1, or no local step is ever taken")?;
        if let (Rate::Given(p), Rate::Given(step)) = (self.p, self.step) {
            let (pull, _) = self.rates(*p, *step, n as usize);
            let overshoots = format!("an averaging step of {pull:.3} overshoots: step x lambda / (n p) must be below 2");
            Unsuitable::when(pull >= 2.0, overshoots)?;
        }
        Ok(())
    }
}
