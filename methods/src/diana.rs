//! DIANA: compressed differences to remembered gradients, on the FLIX objective.
//!
//! Gasanov, Khaled, Horváth, Richtárik. *FLIX: A Simple and Communication-Efficient Alternative to
//! Local Methods in Federated Learning*. AISTATS 2022. Algorithm 3, Theorems 5, 7 and 9; after
//! Mishchenko, Gorbunov, Takáč, Richtárik. *Distributed Learning with Compressed Gradient
//! Differences*. 2019.
//!
//! ```text
//! minimise F(x) = 1/n Σ Fᵢ(x),   Fᵢ(x) = fᵢ(αᵢ x + (1 − αᵢ) xᵢ*),   xᵢ* = argmin fᵢ
//! before   1  each client solves for xᵢ*
//!          2  hᵢ = 0, or hᵢ = ∇Fᵢ(x⁰), sent in full;  h = 1/n Σ hᵢ
//!          3  γ = 1/(Lα + 2/n max ωᵢ cᵢ + 4/n max βᵢ ωᵢ cᵢ / min β),  cᵢ = αᵢ² Lᵢ,  Lα = 1/n Σ cᵢ
//! round    4  client i sends Δᵢ = Cᵢ(∇Fᵢ(x) − hᵢ)
//!          5  hᵢ ← hᵢ + βᵢ Δᵢ
//!          6  x ← x − γ (h + 1/n Σ Δᵢ)
//!          7  h ← h + 1/n Σ βᵢ Δᵢ
//! ```
//!
//! The paper prints h^k on the left of line 7 (F12). Line 3 is the strongly convex case; in the convex
//! one γ is a quarter of it and the model is the average of x¹ … xᵏ; in the non-convex one γ is
//! Theorem 9's with Lq = √(1/n Σ cᵢ²) in place of the printed Lα (F13), and `h0 = "gradients"` is
//! needed. The differences of those who stay silent count in line 6 as those who answered do on
//! average, and in line 7 not at all: their hᵢ has not moved, and h stays the mean of all.
//!
//! What is promised of F(xᵏ) − F* is Corollary 2's Lα/2 times Theorem 5, or Theorem 7. Theorem 9 bounds the average of
//! the gradients seen, which no single round can be held against.

use motet_core::{
    Abort, Algorithm, ClientId, Deployment, Facts, Fraction, Misfit, ModelShape, PerClient, Positive, Promise, Rate, Round, Site, Study,
    Unsuitable, Vector, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::compress::Compressors;
use crate::parts::{Ask, Curvatures, Iterates, Mixture, MixtureConstants, Regime, Reply, Solve, Start, gather, introduce};
use crate::registry::{Card, Method, Reads};

/// Compressed differences to remembered gradients.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Diana {
    /// αᵢ: share of the shared model in what each client deploys, from 0 to 1: a number, or { per_client = [...] }.
    pub alpha: PerClient<Fraction>,
    /// Cᵢ: { kind = "rand-k", k = 0.2 }; identity, bernoulli, qsgd or natural; or a list with one for each client.
    pub compressor: Compressors,
    /// γ: step size, a number or "theory" (default).
    #[serde(alias = "gamma", default = "theory")]
    pub step: Rate<Positive>,
    /// βᵢ: step of the memories, a number or "theory" = 1/(1 + omega) (default).
    #[serde(default = "theory")]
    pub beta: Rate<Positive>,
    /// Memories at the start: "zero" (default) or "gradients" (one exchange in full).
    #[serde(default)]
    pub h0: Memory,
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

/// What clients remember before the first round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// 0, as the released code has it: nothing is sent.
    #[default]
    Zero,
    /// ∇Fᵢ(x⁰), as in Corollary 2: one exchange of full gradients.
    Gradients,
}

fn theory() -> Rate<Positive> {
    Rate::Theory
}

impl Method for Diana {
    const CARD: Card = Card {
        name: "diana",
        reads: Reads::Single,
        about: "FLIX with compressed differences to remembered gradients: converges where dcgd has a floor",
        leaves: r#"a compressed difference of its gradient to what was sent before, in each round; where asked the whole gradient once; with `step = "theory"` αᵢ² Lᵢ once; with `start = "one-shot"` its own model xᵢ* once"#,
        paper: "Gasanov, Khaled, Horváth, Richtárik 2022; Mishchenko et al. 2019",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"alpha":0.5,"compressor":{"kind":"rand-k","k":0.5}}"#,
    };
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// xᵏ and their average.
        pub at: Iterates,
        /// h
        pub h: Vector,
        /// γ
        pub step: f64,
    }
}

impl Diana {
    fn mixture(&self) -> Mixture<'_> {
        Mixture { alpha: &self.alpha, start: self.start, solve: self.solve }
    }

    /// βᵢ
    fn beta(&self, client: ClientId, dim: usize) -> f64 {
        match self.beta {
            Rate::Given(beta) => *beta,
            Rate::Theory => 1.0 / (1.0 + self.compressor.omega(client, dim)),
        }
    }

    /// β, where it is the same for all.
    fn common_beta(&self, dim: usize) -> Option<f64> {
        (self.compressor.is_common() || self.beta != Rate::Theory).then(|| self.beta(ClientId(0), dim))
    }

    /// Line 3, in the three regimes.
    fn theory(&self, c: &Curvatures, dim: usize) -> Result<f64, Abort> {
        let (omega, beta) = (|id| self.compressor.omega(id, dim), |id| self.beta(id, dim));
        if c.each.iter().any(|&(id, _)| beta(id) > (1.0 + 1e-12) / (1.0 + omega(id))) {
            return Err(Abort::Unsuited("theory needs beta at most 1/(1 + omega): lower beta or give step as a number".into()));
        }
        let slowest = c.over(|id, _| beta(id), f64::min, f64::INFINITY);
        let noise = 2.0 * c.largest(omega) + 4.0 * c.largest(|id| beta(id) * omega(id)) / slowest;
        let step = c.clients / (c.sum() + noise);
        Ok(match self.regime {
            Regime::StronglyConvex => step,
            Regime::Convex => 0.25 * step,
            Regime::NonConvex => {
                // Theorem 9: r = 2(1 + ω), η₀ = ω(1 + ω)(1 + r)/n
                let omega = c.over(|id, _| omega(id), f64::max, 0.0);
                let noise = omega * (1.0 + omega) * (3.0 + 2.0 * omega) / c.clients;
                (0.5 / noise.sqrt()).min(2.0 / ((1.0 + 8.0 * noise).sqrt() + 1.0)) / c.root_mean_square()
            }
        })
    }
}

impl Algorithm for Diana {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    /// hᵢ
    type Client = Vector;

    fn server(&self, start: Vector) -> Server {
        let x = self.start.from(start);
        Server { h: x.zeros_like(), at: Iterates::new(x, self.regime), step: f64::NAN }
    }

    fn client(&self, site: &mut Site<'_>) -> Vector {
        self.mixture().prepare(site); // line 1
        Vector::zeros(site.train.dim(), site.train.precision())
    }

    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let (mut x, dim) = (s.at.x.clone(), s.at.x.len());
        s.step = introduce(&self.mixture(), self.step, &mut x, round, |c| self.theory(c, dim))?;
        let (sharing, n) = (self.mixture().sharing(round), round.everyone().len() as f64);
        if self.h0 == Memory::Gradients {
            round.ask(&sharing.required(), Ask::Remember { x: x.clone() }, |_, reply| {
                if let Reply::Gradient { g } = reply {
                    s.h.axpy(1.0 / n, &g); // line 2
                }
            })?;
        }
        s.at = Iterates::new(x, self.regime);
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let (sharing, n, dim) = (self.mixture().sharing(round), round.everyone().len() as f64, s.h.len());
        if sharing.is_empty() {
            return Ok(());
        }
        let (mut g, mut differences, h) = (s.h.clone(), s.h.zeros_like(), &mut s.h);
        let common = self.common_beta(dim);
        let answered = gather(&self.compressor, &sharing, &s.at.x, round, |id, sent| {
            sent.add_to(1.0, &mut differences);
            if common.is_none() {
                sent.add_to(self.beta(id, dim) / n, h); // line 7
            }
        })?;
        if let Some(beta) = common {
            h.axpy(beta / n, &differences); // line 7, all at once
        }
        g.axpy(sharing.len() as f64 / (n * answered.len() as f64), &differences);
        s.at.step(s.step, &g); // line 6
        Ok(())
    }

    fn answer(&self, h: &mut Vector, ask: &Ask, site: &mut Site<'_>) -> Reply {
        let mixture = self.mixture();
        match ask {
            Ask::Introduce { optimum } => Reply::introduction(&mixture, *optimum, site),
            Ask::Remember { x } => {
                *h = mixture.gradient(x, site);
                Reply::Gradient { g: h.clone() }
            }
            Ask::Differentiate { x, turn } => {
                let (compressor, key) = (self.compressor.of(site.id), turn.of(site.id));
                let mut difference = mixture.gradient(x, site);
                difference.axpy(-1.0, h);
                let beta = self.beta(site.id, h.len());
                Reply::Compressed { packed: compressor.compress_into(&difference, &key, &mut site.rng, beta, h) } // lines 4 and 5
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

impl Diana {
    /// αᵢ: the share of the shared model in what the client deploys.
    pub fn share(&self, client: ClientId) -> f64 {
        *self.alpha.of(client)
    }
}

impl Study for Diana {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        Some(&mut self.alpha)
    }

    /// Theorems 5 and 7.
    fn promise(&self, facts: &Facts<'_>) -> Option<Promise> {
        let (f, n, dim) = (MixtureConstants::new(facts, |id| self.share(id)), facts.smoothness.len() as f64, facts.dim);
        let longest = self.theory(&f.curvatures, dim).ok()?;
        let step = match self.step {
            Rate::Theory => longest,
            Rate::Given(step) => *step,
        };
        let slowest = f.curvatures.over(|id, _| self.beta(id, dim), f64::min, f64::INFINITY);
        let omega = |id| if self.share(id) > 0.0 { self.compressor.omega(id, dim) } else { 0.0 };
        // σ₀² = 1/n Σ ωᵢ |hᵢ − ∇Fᵢ(x^α)|²: known for hᵢ = 0, at most a multiple of |x⁰ − x^α|² for hᵢ = ∇Fᵢ(x⁰).
        let gradients = facts.gradients2?();
        let (known, multiple) = match self.h0 {
            Memory::Zero => (facts.mean(|id, i| omega(id) * gradients[i]), 0.0),
            Memory::Gradients => (0.0, facts.mean(|id, i| omega(id) * (self.share(id).powi(2) * facts.smoothness[i]).powi(2))),
        };
        let weight = 4.0 * step / (n * slowest);
        let usual = Promise { metric: "gap".into(), factor: 1.0, ..Promise::default() };
        match self.regime {
            _ if step > longest * (1.0 + 1e-12) => None,
            Regime::StronglyConvex if f.convexity > 0.0 => Some(Promise {
                from: [("distance".to_owned(), f.gap_of_distance() * (1.0 + weight * step * multiple))].into(),
                extra: f.smoothness / 2.0 * weight * step * known,
                factor: (1.0 - step * f.convexity).max(1.0 - slowest / 2.0),
                source: "FLIX Theorem 5".into(),
                ..usual
            }),
            Regime::Convex => Some(Promise {
                from: [("gap".to_owned(), 2.0), ("distance".to_owned(), (1.0 / step + weight * multiple) / f.squares)].into(),
                extra: weight * known,
                harmonic: true,
                source: "FLIX Theorem 7".into(),
                ..usual
            }),
            Regime::StronglyConvex | Regime::NonConvex => None,
        }
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        let needs_memory = self.regime == Regime::NonConvex && self.step == Rate::Theory && self.h0 == Memory::Zero;
        self.mixture().suits(clients)?;
        self.compressor.suits(clients, false)?;
        Unsuitable::when(needs_memory, "the non-convex theory needs h0 = \"gradients\"")
    }
}
