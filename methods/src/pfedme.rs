//! pFedMe: the shared model descends on Moreau envelopes, the personal ones are their proximal points.
//!
//! Dinh, Tran, Nguyen. *Personalized Federated Learning with Moreau Envelopes*. NeurIPS 2020.
//!
//! ```text
//! minimise 1/n Σ minθ fᵢ(θ) + λ/2 |θ − w|²
//! round    1  draw clients S
//!          2  each i in S starts at wᵢ = θ = w and repeats, batch after batch B:
//!          3      θ ≈ argmin fᵢ(θ; B) + λ/2 |θ − wᵢ|², by some gradient steps from the last θ
//!          4      wᵢ ← wᵢ − s λ (wᵢ − θ)
//!          5  w ← (1 − β) w + β times the mean of wᵢ, estimated from S
//! deploy   6  θᵢ(w), by the steps of line 3 from w on all examples
//! ```
//!
//! One local step with exact line 3 and β = 1 is gradient descent on the envelopes; more of them are biased, as local steps
//! are. The released code deploys the last θ of training; line 6 needs no memory and serves clients that were never asked.

use std::num::NonZeroU32;

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Meter, Misfit, ModelShape, Positive, Round, Rows, Sampling, Site, Study, Unsuitable,
    Vector,
};
use serde::{Deserialize, Serialize};

use crate::parts::{Amount, BatchSize, LocalSteps, MOST_STEPS, Train, Trained, Weights, average};
use crate::registry::{Card, Method, Reads};

/// Moreau envelopes.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Pfedme {
    /// λ: how strongly personal models are held near the shared one, above 0.
    pub lambda: Positive,
    /// s: step size of the client's copy of the shared model; step x lambda below 2.
    pub step: Positive,
    /// R: local steps per round, a number, or { epochs = n }; default one epoch.
    #[serde(rename = "local_steps", alias = "steps", default = "Amount::one_epoch")]
    pub steps: Amount,
    /// Step size of the proximal problem.
    pub inner_step: Positive,
    /// Gradient steps on each proximal problem (default 5).
    #[serde(default = "five")]
    pub inner_steps: NonZeroU32,
    /// β: what the mean change is multiplied with (default 1).
    #[serde(rename = "server_step", alias = "beta", default = "one")]
    pub beta: Positive,
    /// |B|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } }, { passes = 10 } or { self-normalised = {...} } around one of these, which varies less from draw to draw but is biased where chances are unequal.
    #[serde(default)]
    pub sampling: Sampling,
}

/// As in the paper's experiments.
fn five() -> NonZeroU32 {
    NonZeroU32::new(5).expect("5 is not zero")
}

fn one() -> Positive {
    Positive::new(1.0).expect("1 is positive")
}

impl Method for Pfedme {
    const CARD: Card = Card {
        name: "pfedme",
        reads: Reads::Sums,
        about: "the shared model descends on Moreau envelopes, clients deploy proximal points",
        leaves: "its copy y of the shared model after local steps, and its number of examples mᵢ, in each round it takes part in; the personal model stays",
        paper: "Dinh, Tran, Nguyen 2020",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"lambda":1.0,"step":0.3,"local_steps":3,"inner_step":0.2,"batch":2,"sampling":{"clients":2}}"#,
    };
}

impl Pfedme {
    /// Line 3: θ ← θ − t (∇fᵢ(θ; B) + λ (θ − w))
    fn approach(&self, f: &mut Meter<'_>, rows: Rows<'_>, buffers: &mut Option<Vector>, theta: &mut Vector, w: &Vector) {
        let mut g = w.zeros_like();
        for _ in 0..self.inner_steps.get() {
            f.train_into(theta, rows, buffers, &mut g);
            g.axpy(*self.lambda, theta);
            g.axpy(-*self.lambda, w);
            theta.axpy(-*self.inner_step, &g); // line 3
        }
    }
}

impl Algorithm for Pfedme {
    type Ask = Train;
    type Reply = Trained;
    /// w
    type Server = Vector;
    type Client = ();

    fn server(&self, start: Vector) -> Vector {
        start
    }

    fn client(&self, _: &mut Site<'_>) {}

    fn round(&self, w: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let cohort = round.sample(&self.sampling); // line 1
        let mean = average(w, &cohort, Weights::Uniform, round)?;
        *w = Vector::mix(*self.beta, &mean, w); // line 5
        Ok(())
    }

    fn answer(&self, _: &mut (), Train { x }: &Train, site: &mut Site<'_>) -> Trained {
        let local = LocalSteps { step: *self.step, steps: self.steps, batch: self.batch };
        let (mut w, mut theta) = (x.clone(), x.clone()); // line 2
        local.walk(site, |train, rows, buffers| {
            self.approach(train, rows, buffers, &mut theta, &w);
            w = Vector::mix(*self.step * *self.lambda, &theta, &w); // line 4
        });
        Trained::new(w, site.train.samples())
    }

    fn fits(&self, _: &Train, reply: &Trained, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.fits(model)
    }

    fn addend<'r>(&self, reply: &'r Trained) -> Option<Addend<'r>> {
        Some(reply.addend(Weights::Uniform))
    }

    fn shared<'a>(&self, w: &'a Vector, _: ClientId) -> &'a Vector {
        w
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Own(Self::personal)
    }
}

impl Pfedme {
    /// What the client deploys.
    fn personal(&self, _: &(), w: &Vector, site: &mut Site<'_>) -> Vector {
        let mut theta = w.clone();
        self.approach(&mut site.train, Rows::All, site.buffers, &mut theta, w); // line 6
        theta
    }
}

impl Study for Pfedme {
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.steps.suits("local_steps")?;
        Unsuitable::beyond("inner_steps", self.inner_steps.get(), MOST_STEPS)?;
        self.sampling.suits(clients)
    }
}
