//! EF: classic error feedback for biased compressors, on the FLIX objective.
//!
//! Seide, Fu, Droppo, Li, Yu. *1-Bit Stochastic Gradient Descent*. Interspeech 2014; Stich,
//! Cordonnier, Jaggi. *Sparsified SGD with Memory*. NeurIPS 2018.
//!
//! ```text
//! minimise F(x) = 1/n Σ Fᵢ(x),   Fᵢ(x) = fᵢ(αᵢ x + (1 − αᵢ) xᵢ*),   xᵢ* = argmin fᵢ
//! before   1  each client solves for xᵢ*;  eᵢ = 0
//!          2  γ as in EF21
//! round    3  client i sends mᵢ = C(eᵢ + ∇Fᵢ(x))
//!          4  eᵢ ← eᵢ + ∇Fᵢ(x) − mᵢ
//!          5  x ← x − γ/n Σ mᵢ
//! ```
//!
//! The papers multiply by γ before they compress. γ is constant, so with eᵢ in units of γ the points
//! are the same for every compressor with C(γ v) = γ C(v), and clients need not know it (natural
//! compression is the exception, for γ that are no powers of two). What was not sent is not lost but
//! late: x − γ/n Σ eᵢ moves by full gradients. Clients differ at the optimum, so x stays at a distance
//! from it; `ef21` has no such floor. No theorem of the FLIX papers gives γ: "theory" takes the step
//! of EF21, which is 1/Lα without compression. Those who stay silent keep their eᵢ and count as zero in
//! line 5, so that nothing is applied twice. An unbiased compressor is divided by 1 + ω.

use motet_core::{
    Abort, Algorithm, ClientId, Deployment, Fraction, Misfit, ModelShape, PerClient, Positive, Rate, Round, Site, Study, Unsuitable,
    Vector, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::compress::Compressors;
use crate::parts::{Ask, Mixture, Reply, Solve, Start, gather, introduce};
use crate::registry::{Card, Method, Reads};

/// Classic error feedback.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Ef {
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

impl Method for Ef {
    const CARD: Card = Card {
        name: "ef",
        reads: Reads::Single,
        about: "FLIX with biased compressors (top-k): what was not sent is added to the next gradient",
        leaves: r#"a compressed gradient of all its examples, scaled by αᵢ, in each round; with `step = "theory"` αᵢ² Lᵢ once; with `start = "one-shot"` its own model xᵢ* once"#,
        paper: "Seide et al. 2014; Stich, Cordonnier, Jaggi 2018",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"alpha":0.5,"compressor":{"kind":"top-k","k":0.5}}"#,
    };
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

impl Ef {
    fn mixture(&self) -> Mixture<'_> {
        Mixture { alpha: &self.alpha, start: self.start, solve: self.solve }
    }
}

impl Algorithm for Ef {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    /// eᵢ
    type Client = Vector;

    fn server(&self, start: Vector) -> Server {
        Server { x: self.start.from(start), step: f64::NAN }
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
        let mut sum = s.x.zeros_like();
        gather(&self.compressor, &sharing, &s.x, round, |id, sent| sent.add_to(self.compressor.of(id).contracting(dim), &mut sum))?;
        sum.scale(1.0 / n);
        s.x.axpy(-s.step, &sum); // line 5
        Ok(())
    }

    fn answer(&self, e: &mut Vector, ask: &Ask, site: &mut Site<'_>) -> Reply {
        let mixture = self.mixture();
        match ask {
            Ask::Introduce { optimum } => Reply::introduction(&mixture, *optimum, site),
            Ask::Remember { x } => Reply::Gradient { g: mixture.gradient(x, site) }, // never asked
            Ask::Differentiate { x, turn } => {
                let (compressor, key) = (self.compressor.of(site.id), turn.of(site.id));
                e.axpy(1.0, &mixture.gradient(x, site));
                let packed = compressor.compress(e, &key, &mut site.rng); // line 3
                compressor.opened(&packed, &key, e.len()).add_to(-compressor.contracting(e.len()), e); // line 4
                Reply::Compressed { packed }
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

impl Ef {
    /// αᵢ: the share of the shared model in what the client deploys.
    pub fn share(&self, client: ClientId) -> f64 {
        *self.alpha.of(client)
    }
}

impl Study for Ef {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        Some(&mut self.alpha)
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.mixture().suits(clients)?;
        self.compressor.suits(clients, true)
    }
}
