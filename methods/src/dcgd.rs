//! DCGD: distributed gradient descent on the FLIX objective with compressed gradients.
//!
//! Gasanov, Khaled, Horváth, Richtárik. *FLIX: A Simple and Communication-Efficient Alternative to
//! Local Methods in Federated Learning*. AISTATS 2022. Algorithm 2, Theorems 4, 6 and 8.
//!
//! ```text
//! minimise F(x) = 1/n Σ Fᵢ(x),   Fᵢ(x) = fᵢ(αᵢ x + (1 − αᵢ) xᵢ*),   xᵢ* = argmin fᵢ
//! before   1  each client solves for xᵢ*
//!          2  γ = 1/(Lα + 2/n max ωᵢ αᵢ² Lᵢ),  Lα = 1/n Σ αᵢ² Lᵢ   (strongly convex)
//! round    3  client i sends Cᵢ(∇Fᵢ(x))
//!          4  x ← x − γ/n Σ Cᵢ(∇Fᵢ(x))
//! ```
//!
//! In the convex regime γ is a quarter of line 2 and the model is the average of x¹ … xᵏ; in the
//! non-convex one γ = 1/Lα. Compressors must be unbiased. Without compression this is `flix`, bit by
//! bit. The noise of the compressors keeps x at a distance from the optimum: `diana` has none.
//!
//! What is promised of F(xᵏ) − F* is Corollary 1's Lα/2 times Theorem 4, or Theorem 6. Theorem 8 bounds the smallest
//! gradient seen, which no single round can be held against.

use motet_core::{
    Abort, Algorithm, ClientId, Deployment, Facts, Fraction, Misfit, ModelShape, PerClient, Positive, Promise, Rate, Round, Site, Study,
    Unsuitable, Vector, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::compress::Compressors;
use crate::parts::{Ask, Curvatures, Iterates, Mixture, MixtureConstants, Regime, Reply, Solve, Start, gather, introduce};
use crate::registry::{Card, Method, Reads};

/// Distributed compressed gradient descent.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Dcgd {
    /// αᵢ: share of the shared model in what each client deploys, from 0 to 1: a number, or { per_client = [...] }.
    pub alpha: PerClient<Fraction>,
    /// Cᵢ: { kind = "rand-k", k = 0.2 }; identity, bernoulli, qsgd or natural; or a list with one for each client.
    pub compressor: Compressors,
    /// γ: step size, a number or "theory" (default).
    #[serde(alias = "gamma", default = "theory")]
    pub step: Rate<Positive>,
    /// Theory for "strongly-convex" (default), "convex" (average of the iterates) or "non-convex" functions.
    #[serde(default)]
    pub regime: Regime,
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

impl Method for Dcgd {
    const CARD: Card = Card {
        name: "dcgd",
        reads: Reads::Single,
        about: "FLIX with compressed gradients (alpha = 1: compressed gradient descent)",
        leaves: r#"a compressed gradient of all its examples, scaled by αᵢ, in each round; with `step = "theory"` αᵢ² Lᵢ once; with `start = "one-shot"` its own model xᵢ* once"#,
        paper: "Gasanov, Khaled, Horváth, Richtárik 2022",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"alpha":0.5,"compressor":{"kind":"rand-k","k":0.5}}"#,
    };
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// xᵏ and their average.
        pub at: Iterates,
        /// γ
        pub step: f64,
    }
}

impl Dcgd {
    fn mixture(&self) -> Mixture<'_> {
        Mixture { alpha: &self.alpha, start: self.start, solve: self.solve }
    }

    /// Line 2, in the three regimes.
    fn theory(&self, c: &Curvatures, dim: usize) -> f64 {
        let noise = 2.0 * c.largest(|id| self.compressor.omega(id, dim));
        match self.regime {
            Regime::StronglyConvex => c.clients / (c.sum() + noise),
            Regime::Convex => 0.25 * c.clients / (c.sum() + noise),
            Regime::NonConvex => c.clients / c.sum(),
        }
    }
}

impl Algorithm for Dcgd {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    type Client = ();

    fn server(&self, start: Vector) -> Server {
        Server { at: Iterates::new(self.start.from(start), self.regime), step: f64::NAN }
    }

    fn client(&self, site: &mut Site<'_>) {
        self.mixture().prepare(site); // line 1
    }

    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let (mut x, dim) = (s.at.x.clone(), s.at.x.len());
        s.step = introduce(&self.mixture(), self.step, &mut x, round, |c| Ok(self.theory(c, dim)))?;
        s.at = Iterates::new(x, self.regime);
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let sharing = self.mixture().sharing(round);
        if sharing.is_empty() {
            return Ok(());
        }
        let mut g = s.at.x.zeros_like();
        let answered = gather(&self.compressor, &sharing, &s.at.x, round, |_, sent| sent.add_to(1.0, &mut g))?;
        g.scale(1.0 / answered.len() as f64);
        // Line 4 divides by n: those with αᵢ = 0 count there, though their gradient is zero.
        let part = sharing.len() as f64 / round.everyone().len() as f64;
        s.at.step(s.step * part, &g);
        Ok(())
    }

    fn answer(&self, _: &mut (), ask: &Ask, site: &mut Site<'_>) -> Reply {
        let mixture = self.mixture();
        match ask {
            Ask::Introduce { optimum } => Reply::introduction(&mixture, *optimum, site),
            Ask::Remember { x } => Reply::Gradient { g: mixture.gradient(x, site) },
            Ask::Differentiate { x, turn } => {
                let g = mixture.gradient(x, site);
                let packed = self.compressor.of(site.id).compress(&g, &turn.of(site.id), &mut site.rng); // line 3
                Reply::Compressed { packed }
            }
        }
    }

    fn fits(&self, ask: &Ask, reply: &Reply, from: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.fits(ask, self.compressor.of(from), from, model)
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        s.at.model()
    }

    fn deploys(&self, client: ClientId) -> Deployment<Self> {
        Deployment::Mixture { share: self.share(client), anchor: |method, site| method.solve.optimum(site) }
    }
}

impl Dcgd {
    /// αᵢ: the share of the shared model in what the client deploys.
    pub fn share(&self, client: ClientId) -> f64 {
        *self.alpha.of(client)
    }
}

impl Study for Dcgd {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        Some(&mut self.alpha)
    }

    /// Theorems 4 and 6.
    fn promise(&self, facts: &Facts<'_>) -> Option<Promise> {
        let (f, n) = (MixtureConstants::new(facts, |id| self.share(id)), facts.smoothness.len() as f64);
        let longest = self.theory(&f.curvatures, facts.dim);
        let step = match self.step {
            Rate::Theory => longest,
            Rate::Given(step) => *step,
        };
        let gradients = facts.gradients2?();
        // 2/n² Σ ωᵢ |∇Fᵢ(x^α)|²
        let noise =
            2.0 / n * facts.mean(|id, i| if gradients[i] > 0.0 { self.compressor.omega(id, facts.dim) * gradients[i] } else { 0.0 });
        let usual = Promise { metric: "gap".into(), factor: 1.0, ..Promise::default() };
        match self.regime {
            _ if step > longest * (1.0 + 1e-12) => None,
            Regime::StronglyConvex if f.convexity > 0.0 => Some(Promise {
                from: [("distance".to_owned(), f.gap_of_distance())].into(),
                factor: 1.0 - step * f.convexity,
                floor: f.smoothness / 2.0 * step / f.convexity * noise,
                source: "FLIX Theorem 4".into(),
                ..usual
            }),
            Regime::Convex => Some(Promise {
                from: [("gap".to_owned(), 2.0), ("distance".to_owned(), 1.0 / (step * f.squares))].into(),
                harmonic: true,
                floor: 2.0 * step * noise,
                source: "FLIX Theorem 6".into(),
                ..usual
            }),
            Regime::StronglyConvex | Regime::NonConvex => None,
        }
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.mixture().suits(clients)?;
        self.compressor.suits(clients, false)
    }
}
