//! Against weights that fit the target's validation data and nothing else.
//!
//! ```text
//! The target keeps a share of its validation data from the search. When a round's weights w are found, it compares
//! y = x − γ Σ wᵢ gᵢ with what the weights of the round before would give, on these data, example by example:
//! d = mean of f̂(old) − f̂(new),   e = its standard error;   w is taken only if d > t e, where t is Student's quantile at Φ(z).
//! ```
//!
//! Theory: w was sought without the kept examples. Were they fresh in every round, weights that are no better would be taken with
//! probability 1 − Φ(z), by the central limit theorem: 0.0013 at z = 3. They are the same in all rounds: what is taken in a round
//! depends on them, and with it all that follows. Until something is taken, the statement holds in every round; afterwards it is a
//! Ladder (Blum, Hardt 2015) whose rungs are standard errors, which bounds how far its own scores can be fooled, and is only
//! tested for the weights themselves. Where nothing is taken, this is SGD with the weights it has.

use motet_core::{NonNegative, Unsuitable};
use serde::{Deserialize, Serialize};

use crate::parts::questions::Reply;

/// What new weights must show before they are believed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Guard {
    /// Share of the validation examples that the search never sees.
    pub share: NonNegative,
    /// z: standard errors by which the new weights must be better.
    pub z: NonNegative,
}

/// From fewer differences their noise cannot be told.
const FEWEST: u32 = 6;

/// The quantile of Student's law with ν degrees of freedom where the normal law has z: the expansion of Cornish and Fisher, which
/// is right to two percent for ν ≥ 5 and z ≤ 3.
fn student(z: f64, nu: f64) -> f64 {
    let (z2, z3) = (z * z, z * z * z);
    let first = (z3 + z) / (4.0 * nu);
    let second = (5.0 * z3 * z2 + 16.0 * z3 + 3.0 * z) / (96.0 * nu * nu);
    let third = (3.0 * z3 * z2 * z2 + 19.0 * z3 * z2 + 17.0 * z3 - 15.0 * z) / (384.0 * nu * nu * nu);
    z + first + second + third
}

impl Default for Guard {
    /// Half of the examples, and three standard errors.
    fn default() -> Self {
        let number = |value: f64| NonNegative::new(value).expect("a default that is not negative");
        Self { share: number(0.5), z: number(3.0) }
    }
}

impl Guard {
    /// Is the target's answer evidence enough?
    pub fn believes(&self, reply: &Reply) -> bool {
        let Reply::Decided { gain, error, groups } = reply else { return false };
        *groups >= FEWEST && gain.is_finite() && *gain > student(*self.z, f64::from(groups - 1)) * error
    }

    /// Is there a part to seek with and one to decide with?
    pub fn suits(&self) -> Result<(), Unsuitable> {
        let share = *self.share;
        Unsuitable::when(
            share <= 0.0 || share >= 1.0,
            format!("guard.share is {share}: a share of the validation data above 0 and below 1"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_those_of_students_law() {
        // Of tables: 1 − Φ(3) = 0.00135 and 1 − Φ(2) = 0.02275.
        for (z, nu, t) in [(3.0, 5.0, 5.51), (3.0, 10.0, 3.96), (3.0, 49.0, 3.16), (2.0, 5.0, 2.65), (2.0, 20.0, 2.14)] {
            assert!((student(z, nu) / t - 1.0).abs() < 0.02, "{z} {nu}: {}", student(z, nu));
        }
    }

    #[test]
    fn what_is_believed_is_better_beyond_its_noise_and_has_enough_behind_it() {
        let guard = Guard::default();
        let decided = |gain, error, groups| guard.believes(&Reply::Decided { gain, error, groups });
        assert!(decided(3.3, 1.0, 50) && !decided(3.0, 1.0, 50) && !decided(3.3, 1.0, 6) && decided(6.0, 1.0, 6));
        assert!(!decided(9.0, 1e-9, 5) && !decided(f64::NAN, 1.0, 50) && !decided(1.0, f64::INFINITY, 50) && !decided(0.0, 0.0, 50));
        assert!(!guard.believes(&Reply::Unable {}));
    }
}
