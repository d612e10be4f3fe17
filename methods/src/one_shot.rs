//! One-shot averaging: the FLIX model after a single round of communication.
//!
//! Gasanov, Khaled, Horváth, Richtárik. *FLIX: A Simple and Communication-Efficient Alternative to
//! Local Methods in Federated Learning*. AISTATS 2022, Theorems 1 and 3.
//!
//! ```text
//! before   1  each client solves for xᵢ*
//!          2  each client sends its weight cᵢ and xᵢ*
//!             Theorem 1: cᵢ = αᵢ² Lᵢ        (xᵢ* is a minimiser)
//!             Theorem 3: cᵢ = αᵢ⁴ Lᵢ²       (xᵢ* is a stationary point)
//!          3  x = Σ cᵢ xᵢ* / Σ cᵢ, handed to everyone
//! ```
//!
//! F(x) − F* ≤ Lα V/2 with V = Σ wᵢ |xᵢ* − x|², or |∇F(x)|² ≤ 1/n Σ αᵢ⁴ Lᵢ² |xᵢ* − x|². The paper
//! prints the conditions of Theorem 1 under Theorem 3 and D without its square; neither is used here.
//! Clients with αᵢ = 0 weigh nothing and are never asked. All of it is booked as round 0, which ends
//! the run.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Facts, Fraction, Misfit, ModelShape, PerClient, Promise, Round, Site, Study,
    Unsuitable, Vector, message,
};
use serde::{Deserialize, Serialize};

use crate::parts::budget::variance;
use crate::parts::{Solve, alpha_suits};
use crate::registry::{Card, Method, Reads};

/// One-shot averaging.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct OneShot {
    /// αᵢ: share of the shared model in what each client deploys, from 0 to 1: a number, or { per_client = [...] }.
    pub alpha: PerClient<Fraction>,
    /// cᵢ: "minimisers" (Theorem 1, default) or "stationary-points" (Theorem 3).
    #[serde(default)]
    pub weights: Weights,
    /// How local optima are found: { kind = "gd" | "line-search" | "newton" | "sgd", to = 1e-6, steps = 100000, ... } (default: "gd" to 1e-6, at most 100,000 steps).
    #[serde(default)]
    pub solve: Solve,
}

/// The weight of a local model in the average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// αᵢ² Lᵢ: Theorem 1.
    #[default]
    Minimisers,
    /// αᵢ⁴ Lᵢ²: Theorem 3.
    StationaryPoints,
}

impl Method for OneShot {
    const CARD: Card = Card {
        name: "one-shot",
        reads: Reads::Sums,
        about: "one round of communication: the weighted average of the local optima",
        leaves: "its own model xᵢ*, and a weight from αᵢ and Lᵢ, once",
        paper: "Gasanov, Khaled, Horváth, Richtárik 2022",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"alpha":0.5}"#,
    };
}

message! {
    /// Server to client.
    pub enum Ask {
        /// For the weight and model of line 2.
        Introduce {},
        /// The average of line 3.
        Deploy {
            /// x
            x: Vector,
        },
    }
}

message! {
    /// Client to server.
    pub enum Reply {
        /// Line 2: d + 1 numbers.
        Introduction {
            /// cᵢ
            weight: f64,
            /// xᵢ*
            optimum: Vector,
        },
        /// Lᵢ is not known.
        Unknown {},
        /// It is deployed.
        Deployed {},
    }
}

impl Algorithm for OneShot {
    type Ask = Ask;
    type Reply = Reply;
    /// x
    type Server = Vector;
    type Client = ();

    fn server(&self, start: Vector) -> Vector {
        start
    }

    fn client(&self, site: &mut Site<'_>) {
        self.solve.optimum(site); // line 1
    }

    fn open(&self, x: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let sharing = round.everyone().filter(|id| self.share(id) > 0.0);
        let sum = round.sum(&sharing, Ask::Introduce {}, |_| 1.0)?;
        if sum.numbers[0] > 0.0 {
            return Err(Abort::Unsuited("one-shot averaging weighs clients by the smoothness of the model, which is not known".into()));
        }
        if sum.weight > 0.0 {
            *x = sum.mean(); // line 3
            round.ask(&sharing, Ask::Deploy { x: x.clone() }, |_, _| {})?;
        }
        Ok(())
    }

    fn round(&self, _: &mut Vector, _: &mut Round<'_, Self>) -> Result<(), Abort> {
        Ok(())
    }

    fn done(&self, _: &Vector) -> bool {
        true
    }

    fn answer(&self, _: &mut (), ask: &Ask, site: &mut Site<'_>) -> Reply {
        match (ask, site.train.constants().smoothness) {
            (Ask::Deploy { .. }, _) => Reply::Deployed {},
            (Ask::Introduce {}, None) => Reply::Unknown {},
            (Ask::Introduce {}, Some(l)) => {
                let curvature = self.share(site.id).powi(2) * l;
                let weight = match self.weights {
                    Weights::Minimisers => curvature,
                    Weights::StationaryPoints => curvature * curvature,
                };
                Reply::Introduction { weight, optimum: self.solve.optimum(site) } // line 2
            }
        }
    }

    fn fits(&self, ask: &Ask, reply: &Reply, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        match (ask, reply) {
            (Ask::Introduce {}, Reply::Introduction { weight, optimum }) => {
                Misfit::of_constant("weight", Some(*weight))?;
                optimum.fits(model)
            }
            (Ask::Introduce {}, Reply::Unknown {}) | (Ask::Deploy { .. }, Reply::Deployed {}) => Ok(()),
            _ => Err(Misfit::Variant),
        }
    }

    fn addend<'r>(&self, reply: &'r Reply) -> Option<Addend<'r>> {
        match reply {
            Reply::Introduction { weight, optimum } => Some(Addend::counting(*weight).vector(optimum)),
            Reply::Unknown {} => Some(Addend::counting(0.0).plain(1.0)),
            Reply::Deployed {} => None,
        }
    }

    fn shared<'a>(&self, x: &'a Vector, _: ClientId) -> &'a Vector {
        x
    }

    fn deploys(&self, client: ClientId) -> Deployment<Self> {
        Deployment::Mixture { share: self.share(client), anchor: |method, site| method.solve.optimum(site) }
    }
}

impl OneShot {
    /// αᵢ: the share of the shared model in what the client deploys.
    pub fn share(&self, client: ClientId) -> f64 {
        *self.alpha.of(client)
    }
}

impl Study for OneShot {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        Some(&mut self.alpha)
    }

    /// Theorem 1: F(x) − F* ≤ Lα V/2. Theorem 3: |∇F(x)|² ≤ 1/n Σ αᵢ⁴ Lᵢ² |xᵢ* − x|².
    fn promise(&self, facts: &Facts<'_>) -> Option<Promise> {
        let bend = |i: usize| self.share(ClientId(i as u32)).powi(2) * facts.smoothness[i];
        let (metric, source, weight): (_, _, &dyn Fn(usize) -> f64) = match self.weights {
            Weights::Minimisers => ("gap", "FLIX Theorem 1", &|i| bend(i) / 2.0),
            Weights::StationaryPoints => ("grad_norm2", "FLIX Theorem 3", &|i| bend(i).powi(2)),
        };
        let anchors = facts.anchors?();
        let weights: Vec<f64> = (0..anchors.len()).map(weight).collect();
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let initial = Some(mean * variance(&weights, &anchors));
        Some(Promise { metric: metric.into(), initial, factor: 1.0, source: source.into(), ..Promise::default() })
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        alpha_suits(&self.alpha, clients)
    }
}
