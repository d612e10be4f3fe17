//! SCAFFOLD: local steps whose drift is corrected by control variates.
//!
//! Karimireddy, Kale, Mohri, Reddi, Stich, Suresh. *SCAFFOLD: Stochastic Controlled Averaging for Federated Learning*. ICML 2020.
//!
//! ```text
//! before   1  c = 0, and cᵢ = 0 of every client
//! round    2  draw clients S
//!          3  each i in S walks K steps from y = x: y ← y − s (∇fᵢ(y; B) − cᵢ + c)
//!          4  cᵢ⁺ = cᵢ − c + (x − y)/(K s)   ("gradient", option I: cᵢ⁺ = ∇fᵢ(x)); it sends y − x and cᵢ⁺ − cᵢ
//!          5  x ← x + η mean of (y − x), estimated from S
//!          6  c ← c + 1/n Σ over S of (cᵢ⁺ − cᵢ)
//! ```
//!
//! c stays the mean of all cᵢ, whoever takes part. The fixed point is the minimiser of 1/n Σ fᵢ, whatever K. Two vectors
//! travel each way. A client drawn twice works once; line 5 then weighs it as often as it was drawn, line 6 does not.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Misfit, ModelShape, Positive, Round, Sampling, Site, Study, Unsuitable, Vector,
    message, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::{Amount, BatchSize, LocalSteps};
use crate::registry::{Card, Method, Reads};

/// Local steps with control variates.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Scaffold {
    /// s: step size of local training.
    pub step: Positive,
    /// η: what the mean change is multiplied with (default 1).
    #[serde(alias = "eta", default = "one")]
    pub server_step: Positive,
    /// K: local steps per round, a number, or { epochs = n }; default one epoch.
    #[serde(rename = "local_steps", alias = "steps", default = "Amount::one_epoch")]
    pub steps: Amount,
    /// |B|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } }, { passes = 10 } or { self-normalised = {...} } around one of these, which varies less from draw to draw but is biased where chances are unequal.
    #[serde(default)]
    pub sampling: Sampling,
    /// How control variates are renewed: "difference" (option II, default) or "gradient" (option I).
    #[serde(default)]
    pub control: Control,
}

fn one() -> Positive {
    Positive::new(1.0).expect("1 is positive")
}

/// How a client renews its control variate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// Option II: the mean gradient of the walk, which costs nothing.
    #[default]
    Difference,
    /// Option I: a whole gradient at x.
    Gradient,
}

impl Method for Scaffold {
    const CARD: Card = Card {
        name: "scaffold",
        reads: Reads::Sums,
        about: "local steps whose drift is corrected by control variates, any sampling of clients",
        leaves: "y − x after local steps, and the change cᵢ⁺ − cᵢ of its control variate, in each round it takes part in",
        paper: "Karimireddy, Kale, Mohri, Reddi, Stich, Suresh 2020",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.1,"local_steps":3,"batch":2,"sampling":{"clients":2}}"#,
    };
}

message! {
    /// Server to client.
    pub struct Improve {
        /// The shared model.
        x: Vector,
        /// c
        c: Vector,
    }
}

message! {
    /// Client to server: line 4.
    pub struct Improvement {
        /// y − x
        model: Vector,
        /// cᵢ⁺ − cᵢ
        control: Vector,
    }
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x
        pub x: Vector,
        /// c
        pub c: Vector,
    }
}

impl Algorithm for Scaffold {
    type Ask = Improve;
    type Reply = Improvement;
    type Server = Server;
    /// cᵢ
    type Client = Vector;

    fn server(&self, start: Vector) -> Server {
        Server { c: start.zeros_like(), x: start } // line 1
    }

    fn client(&self, site: &mut Site<'_>) -> Vector {
        Vector::zeros(site.train.dim(), site.train.precision()) // line 1
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let cohort = round.sample(&self.sampling); // line 2
        let share = 1.0 / round.everyone().len().max(1) as f64;
        let ask = Improve { x: s.x.clone(), c: s.c.clone() };
        let sum = round.sum_onto(&cohort, ask, s.c.clone(), |id| [cohort.weight(id), share])?;
        let divisor = sum.divisor(1.0);
        let [models, controls] = sum.vectors;
        if divisor > 0.0 {
            let mut moved = models.total();
            moved.scale(1.0 / divisor);
            s.x.axpy(*self.server_step, &moved); // line 5
        }
        s.c = controls.total(); // line 6
        Ok(())
    }

    fn answer(&self, own: &mut Vector, Improve { x, c }: &Improve, site: &mut Site<'_>) -> Improvement {
        let shift = Vector::diff(c, own);
        let renewed = (self.control == Control::Gradient).then(|| site.train.gradient(x)); // line 4, option I
        let local = LocalSteps { step: *self.step, steps: self.steps, batch: self.batch };
        let mut y = x.clone();
        let taken = local.descend(site, &mut y, |_, g| g.axpy(1.0, &shift)); // line 3
        let model = Vector::diff(&y, x);
        let renewed = renewed.unwrap_or_else(|| {
            let mut renewed = Vector::diff(own, c);
            renewed.axpy(-1.0 / (f64::from(taken) * *self.step), &model); // line 4
            renewed
        });
        let control = Vector::diff(&renewed, own);
        *own = renewed;
        Improvement { model, control }
    }

    fn fits(&self, _: &Improve, reply: &Improvement, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.model.fits(model)?;
        reply.control.fits(model)
    }

    fn addend<'r>(&self, reply: &'r Improvement) -> Option<Addend<'r>> {
        Some(Addend::counting(1.0).vector(&reply.model).vector(&reply.control))
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for Scaffold {
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.steps.suits("local_steps")?;
        if clients.is_none() {
            return Err(Unsuitable::WithoutEnd("scaffold averages the memories of all clients: the population must have an end"));
        }
        self.sampling.suits(clients)
    }
}
