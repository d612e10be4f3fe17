//! The settings of Scafflix, i-Scaffnew and Scaffnew, and what theory makes of a problem's constants.

use motet_core::{ClientId, Constants, NonNegative, PerClient, Positive, Probability, Rate, Unsuitable};
use serde::{Deserialize, Serialize};

use crate::parts::{BatchSize, MOST_STEPS};

pub(super) fn theory<T>() -> Rate<T> {
    Rate::Theory
}

pub(super) fn one() -> Positive {
    Positive::new(1.0).expect("1 is positive")
}

pub(super) fn whole() -> PerClient<Probability> {
    PerClient::Same(Probability::new(1.0).expect("1 is a probability"))
}

/// Which steps and p: those of the paper or of the released code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// γᵢ = 1/Aᵢ, p = √ min γᵢ μᵢ.
    #[default]
    Paper,
    /// γᵢ = αᵢ²/Lα, p = 1/√(L̄/μ̄): the released convex code.
    Author,
}

/// Whether each client has a step of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// Each has its own, 1/Aᵢ.
    Own,
    /// All have the same, 1/max Aᵢ.
    Common,
    /// All have the same on Fᵢ(x) = fᵢ(Tᵢ(x)), 1/Lα.
    OfMixture,
}

/// How many local steps a round has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coin {
    /// A coin with chance p of communication after each step.
    #[default]
    Geometric,
    /// Always so many; p only enters line 8. For tests and ablations.
    Every(u32),
}

/// hᵢ⁰
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Controls {
    /// 0
    #[default]
    Zero,
    /// The gradients at the start, projected so that Σ αᵢ hᵢ = 0.
    ProjectedGradients,
}

/// Corollary 2: an accuracy, and the noise that stands in its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// ε, of the Lyapunov function Ψ.
    pub eps: Positive,
    /// Cᵢ, where it is known before the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<PerClient<NonNegative>>,
    /// Is it learnt in rounds?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub online: bool,
}

/// χ = n(c−1)/(c(n−1)), its limit for a population without end.
pub(super) fn gain(n: usize, c: usize) -> f64 {
    let (n, c) = (n as f64, c as f64);
    if n == 0.0 {
        (c - 1.0) / c
    } else if n == c {
        1.0
    } else {
        n * (c - 1.0) / (c * (n - 1.0))
    }
}

/// Aᵢ: twice the expected smoothness of batches drawn without replacement; Lᵢ for exact gradients.
pub(super) fn bound(known: Constants, batch: BatchSize, samples: usize) -> Option<f64> {
    let exact = known.smoothness?;
    match batch {
        BatchSize::Of(size) if (size as usize) < samples => {
            let (b, m) = (f64::from(size), samples as f64);
            Some(2.0 * (m * (b - 1.0) * exact + (m - b) * known.sample_smoothness?) / (b * (m - 1.0)))
        }
        _ => Some(exact),
    }
}

/// Do these settings make sense?
pub(super) fn suits(coin: Coin) -> Result<(), Unsuitable> {
    Unsuitable::when(coin == Coin::Every(0), "coin = { every = 0 } takes no steps: at least 1")?;
    if let Coin::Every(steps) = coin {
        Unsuitable::beyond("coin.every", steps, MOST_STEPS)?;
    }
    Ok(())
}

/// Everyone's constants.
#[derive(Default)]
pub(super) struct KnownConstants {
    known: Vec<(ClientId, Known)>,
}

struct Known {
    alpha: f64,
    smoothness: Option<f64>,
    bound: Option<f64>,
    convexity: Option<f64>,
}

impl KnownConstants {
    pub(super) fn add(&mut self, id: ClientId, alpha: f64, smoothness: Option<f64>, bound: Option<f64>, convexity: Option<f64>) {
        self.known.push((id, Known { alpha, smoothness, bound, convexity }));
    }

    /// The step all have in common, of n clients, if there is such a thing and it is known.
    pub(super) fn common(&self, steps: Steps, n: usize) -> Option<f64> {
        match steps {
            Steps::Own => None,
            Steps::Common => self.known.iter().try_fold(0.0, |most: f64, (_, k)| Some(most.max(k.bound?))).map(|a| 1.0 / a),
            Steps::OfMixture => {
                let sum = self.known.iter().try_fold(0.0, |sum, (_, k)| Some(sum + k.alpha.powi(2) * k.bound?))?;
                Some(n as f64 / sum)
            }
        }
    }

    /// γᵢ by client number; those who were not asked have none.
    pub(super) fn steps(&self, of: impl Fn(ClientId, Option<f64>) -> f64) -> Vec<f64> {
        let len = self.known.iter().map(|(id, _)| id.0 as usize + 1).max().unwrap_or(0);
        let mut steps = vec![f64::NAN; len];
        self.known.iter().for_each(|(id, k)| steps[id.0 as usize] = of(*id, k.bound));
        steps
    }

    /// min μᵢ, if it is known and not 0.
    pub(super) fn least_convexity(&self) -> Option<f64> {
        let least = self.known.iter().try_fold(f64::INFINITY, |least: f64, (_, k)| Some(least.min(k.convexity?)));
        least.filter(|least| *least > 0.0)
    }

    /// p of theory: √ min γᵢ μᵢ, or 1/√(L̄/μ̄) as in the released code; at most 1. None if a constant is
    /// unknown or some function is not strongly convex.
    pub(super) fn p(&self, steps: Steps, gamma: impl Fn(ClientId) -> f64) -> Option<f64> {
        let squared = if steps == Steps::OfMixture {
            let (l, m) = self.known.iter().try_fold((0.0, 0.0), |(l, m), (_, k)| Some((l + k.smoothness?, m + k.convexity?)))?;
            m / l
        } else {
            self.known.iter().try_fold(f64::INFINITY, |least: f64, (id, k)| Some(least.min(gamma(*id) * k.convexity?)))?
        };
        (squared > 0.0).then(|| squared.sqrt().min(1.0))
    }
}
