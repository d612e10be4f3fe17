//! APFL: each client deploys a mixture of the shared model and one of its own, and may learn how much of each.
//!
//! Deng, Kamani, Mahdavi. *Adaptive Personalized Federated Learning*. 2020.
//!
//! ```text
//! round    1  draw clients S
//!          2  each i in S starts at wᵢ = w and repeats, batch after batch B:
//!          3      g = ∇fᵢ(αᵢ vᵢ + (1 − αᵢ) wᵢ; B)
//!          4      if α is learnt: αᵢ ← αᵢ − s ⟨vᵢ − wᵢ, g⟩, cut to [0, 1]
//!          5      vᵢ ← vᵢ − s αᵢ g
//!          6      wᵢ ← wᵢ − s ∇fᵢ(wᵢ; B)
//!          7  w ← mean of wᵢ, estimated from S
//! deploy   8  αᵢ vᵢ + (1 − αᵢ) w
//! ```
//!
//! All gradients of a step are taken at the step's beginning, the weight of line 5 included. vᵢ starts at the first w that
//! the client hears and never leaves it. With αᵢ > 0 and without held-out data the mixture tends to the pure local model,
//! whatever w is: what is learnt together matters only on the way there. αᵢ = 0 is FedAvg.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Fraction, Misfit, ModelShape, PerClient, Positive, Round, Sampling, Site, Study,
    Unsuitable, Vector, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::{Amount, BatchSize, LocalSteps, Train, Trained, Weights, alpha_suits, average};
use crate::registry::{Card, Method, Reads};

/// Adaptive mixtures.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Apfl {
    /// αᵢ of the paper: share of the client's own model, where alpha of flix is that of the shared one: a number, or { per_client = [...] }.
    #[serde(rename = "own_share", alias = "alpha")]
    pub alpha: PerClient<Fraction>,
    /// Whether each client learns its share, starting from own_share (default false).
    #[serde(rename = "learn_share", alias = "learn_alpha", default)]
    pub learn_alpha: bool,
    /// s: step size of local training.
    pub step: Positive,
    /// Local steps per round: a number, or { epochs = n }; default one epoch.
    #[serde(rename = "local_steps", alias = "steps", default = "Amount::one_epoch")]
    pub steps: Amount,
    /// |B|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } }, { passes = 10 } or { self-normalised = {...} } around one of these, which varies less from draw to draw but is biased where chances are unequal.
    #[serde(default)]
    pub sampling: Sampling,
}

impl Method for Apfl {
    const CARD: Card = Card {
        name: "apfl",
        reads: Reads::Sums,
        about: "mixtures of the shared model and one of the client's own, both trained at once",
        leaves: "its copy y of the shared model after local steps, and its number of examples mᵢ, in each round it takes part in; the personal model stays",
        paper: "Deng, Kamani, Mahdavi 2020",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"own_share":0.5,"learn_share":true,"step":0.1,"local_steps":3,"batch":2,"sampling":{"clients":2}}"#,
    };
}

wire! {
    /// What a client keeps.
    pub struct Client {
        /// vᵢ, once the client was asked.
        pub v: Option<Vector>,
        /// αᵢ
        pub alpha: f64,
    }
}

impl Algorithm for Apfl {
    type Ask = Train;
    type Reply = Trained;
    /// w
    type Server = Vector;
    type Client = Client;

    fn server(&self, start: Vector) -> Vector {
        start
    }

    fn client(&self, site: &mut Site<'_>) -> Client {
        Client { v: None, alpha: *self.alpha.of(site.id) }
    }

    fn round(&self, w: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let cohort = round.sample(&self.sampling); // line 1
        *w = average(w, &cohort, Weights::Uniform, round)?; // line 7
        Ok(())
    }

    fn answer(&self, me: &mut Client, Train { x }: &Train, site: &mut Site<'_>) -> Trained {
        let Client { v, alpha } = me;
        let v = v.get_or_insert_with(|| x.clone());
        let (mut w, mut g, mut h) = (x.clone(), x.zeros_like(), x.zeros_like()); // line 2
        let local = LocalSteps { step: *self.step, steps: self.steps, batch: self.batch };
        local.walk(site, |train, rows, buffers| {
            train.train_into(&w, rows, buffers, &mut h);
            train.gradient_into(&Vector::mix(*alpha, v, &w), rows, &mut g); // line 3
            let weight = *alpha;
            if self.learn_alpha {
                *alpha = (weight - *self.step * (v.dot(&g) - w.dot(&g))).clamp(0.0, 1.0); // line 4
            }
            v.axpy(-*self.step * weight, &g); // line 5
            w.axpy(-*self.step, &h); // line 6
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

impl Apfl {
    /// What the client deploys.
    fn personal(&self, me: &Client, w: &Vector, _: &mut Site<'_>) -> Vector {
        me.v.as_ref().map_or_else(|| w.clone(), |v| Vector::mix(me.alpha, v, w)) // line 8
    }
}

impl Study for Apfl {
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.steps.suits("local_steps")?;
        alpha_suits(&self.alpha, clients)?;
        self.sampling.suits(clients)
    }
}
