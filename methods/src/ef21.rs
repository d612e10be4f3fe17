//! EF21: error feedback for biased compressors, by differences, on the FLIX objective.
//!
//! Richtárik, Sokolov, Fatkhullin. *EF21: A New, Simpler, Theoretically Better, and Practically Faster
//! Error Feedback*. NeurIPS 2021.
//!
//! ```text
//! minimise F(x) = 1/n Σ Fᵢ(x),   Fᵢ(x) = fᵢ(αᵢ x + (1 − αᵢ) xᵢ*),   xᵢ* = argmin fᵢ
//! before   1  each client solves for xᵢ*;  gᵢ = 0, g = 0
//!          2  γ = 1/(Lα + Lq √(b/θ)),  θ = 1 − √(1 − δ),  b = (1 − δ)/θ,  Lq = √(1/n Σ αᵢ⁴ Lᵢ²)
//! round    3  client i sends cᵢ = C(∇Fᵢ(x) − gᵢ) and sets gᵢ ← gᵢ + cᵢ
//!          4  g ← g + 1/n Σ cᵢ
//!          5  x ← x − γ g
//! ```
//!
//! The paper steps before it asks; from gᵢ = 0 the order here visits the same points, and the first
//! round sends its gᵢ⁰ = C(∇Fᵢ(x⁰)). δ is the smallest of the clients'. An unbiased compressor is
//! divided by 1 + ω and contracts then. Those who stay silent have not moved their gᵢ, and g stays the
//! mean of all. The step is quoted from the EF21 paper; FLIX has no theorem for it. That
//! paper bounds an average of gradients for this step, and nothing that a single round could be held against.

use motet_core::{
    Abort, Algorithm, ClientId, Deployment, Fraction, Misfit, ModelShape, PerClient, Positive, Rate, Round, Site, Study, Unsuitable,
    Vector, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::compress::Compressors;
use crate::parts::{Ask, Mixture, Reply, Solve, Start, gather, introduce};
use crate::registry::{Card, Method, Reads};

/// Error feedback by differences.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Ef21 {
    /// αᵢ: share of the shared model in what each client deploys, from 0 to 1: a number, or { per_client = [...] }.
    pub alpha: PerClient<Fraction>,
    /// C: { kind = "top-k", k = 0.2 } or any other; or a list with one for each client.
    pub compressor: Compressors,
    /// γ: step size, a number or "theory" (default).
    #[serde(alias = "gamma", default = "theory")]
    pub step: Rate<Positive>,
    /// x⁰: "model" (default), "zeros", "ones" or "one-shot" (average of the local optima).
    #[serde(default)]
    pub start: Start,
    /// How local optima are found: { kind = "gd" | "newton", to = 1e-6, steps = 100000 } (default: "gd" to 1e-6, at most 100,000 steps).
    #[serde(default)]
    pub solve: Solve,
}

fn theory() -> Rate<Positive> {
    Rate::Theory
}

impl Method for Ef21 {
    const CARD: Card = Card {
        name: "ef21",
        reads: Reads::Single,
        about: "FLIX with biased compressors (top-k) made to converge by remembered gradients",
        leaves: r#"a compressed difference of its gradient to what was sent before, in each round; where asked the whole gradient once; with `step = "theory"` αᵢ² Lᵢ once; with `start = "one-shot"` its own model xᵢ* once"#,
        paper: "Richtárik, Sokolov, Fatkhullin 2021",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"alpha":0.5,"compressor":{"kind":"top-k","k":0.5}}"#,
    };
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x
        pub x: Vector,
        /// g
        pub g: Vector,
        /// γ
        pub step: f64,
    }
}

impl Ef21 {
    fn mixture(&self) -> Mixture<'_> {
        Mixture { alpha: &self.alpha, start: self.start, solve: self.solve }
    }
}

impl Algorithm for Ef21 {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    /// gᵢ
    type Client = Vector;

    fn server(&self, start: Vector) -> Server {
        let x = self.start.from(start);
        Server { g: x.zeros_like(), x, step: f64::NAN }
    }

    fn client(&self, site: &mut Site<'_>) -> Vector {
        self.mixture().prepare(site); // line 1
        Vector::zeros(site.train.dim(), site.train.precision())
    }

    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let dim = s.x.len();
        s.step = introduce(&self.mixture(), self.step, &mut s.x, round, |c| Ok(c.feedback_step(&self.compressor, dim)))?; // line 2
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let (sharing, n, dim) = (self.mixture().sharing(round), round.everyone().len() as f64, s.x.len());
        if sharing.is_empty() {
            return Ok(());
        }
        let g = &mut s.g;
        gather(&self.compressor, &sharing, &s.x, round, |id, sent| {
            sent.add_to(self.compressor.of(id).contracting(dim) / n, g); // line 4
        })?;
        s.x.axpy(-s.step, &s.g); // line 5
        Ok(())
    }

    fn answer(&self, g: &mut Vector, ask: &Ask, site: &mut Site<'_>) -> Reply {
        let mixture = self.mixture();
        match ask {
            Ask::Introduce { optimum } => Reply::introduction(&mixture, *optimum, site),
            Ask::Remember { x } => Reply::Gradient { g: mixture.gradient(x, site) }, // never asked
            Ask::Differentiate { x, turn } => {
                let (compressor, key) = (self.compressor.of(site.id), turn.of(site.id));
                let mut difference = mixture.gradient(x, site);
                difference.axpy(-1.0, g);
                let scale = compressor.contracting(g.len());
                Reply::Compressed { packed: compressor.compress_into(&difference, &key, &mut site.rng, scale, g) } // line 3
            }
        }
    }

    fn fits(&self, ask: &Ask, reply: &Reply, from: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.fits(ask, self.compressor.of(from), from, model)
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn deploys(&self, client: ClientId) -> Deployment<Self> {
        Deployment::Mixture { share: self.share(client), anchor: |method, site| method.solve.optimum(site) }
    }
}

impl Ef21 {
    /// αᵢ: the share of the shared model in what the client deploys.
    pub fn share(&self, client: ClientId) -> f64 {
        *self.alpha.of(client)
    }
}

impl Study for Ef21 {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        Some(&mut self.alpha)
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.mixture().suits(clients)?;
        self.compressor.suits(clients, true)
    }
}
