//! Made-up text: each token mostly decides the next.
//!
//! ```text
//! client i     a permutation πᵢ of the tokens: the shared π, but for a share h of the tokens, which are the client's own
//! sequence     t₀ uniform,   tₖ₊₁ = πᵢ(tₖ), with probability `noise` uniform instead
//! ```

use std::num::NonZeroU32;

use motet_core::{Documented, Fraction, Kind};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, affordable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::{Matrix, Single};

/// Made-up sequences of tokens for models that predict the next one; an example's class is its first token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct SyntheticText {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Sequences per client.
    pub examples: NonZeroU32,
    /// Tokens to predict in each (default: rows have one more. 80).
    #[serde(default = "eighty")]
    pub length: NonZeroU32,
    /// Different tokens (default 90).
    #[serde(default = "ninety")]
    pub vocabulary: NonZeroU32,
    /// Share of the tokens that every client follows up in its own way (default 0).
    #[serde(default = "alike")]
    pub heterogeneity: Fraction,
    /// Share of tokens drawn at random (default 0.3).
    #[serde(default = "some")]
    pub noise: Fraction,
}

impl Kind for SyntheticText {
    const NAME: &'static str = "synthetic-text";
}

pub(super) fn eighty() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(79)
}
fn ninety() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(89)
}
fn alike() -> Fraction {
    Fraction::new(0.0).expect("0 is a fraction")
}
fn some() -> Fraction {
    Fraction::new(0.3).expect("0.3 is a fraction")
}

/// Single precision tells apart so many whole numbers.
const MOST_TOKENS: u32 = 1 << 24;

impl Load for SyntheticText {
    fn redraws(&self) -> Redraws {
        Redraws::Everything
    }

    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        affordable(&[("clients", self.clients), ("examples", self.examples), ("length", self.length.saturating_add(1))])?;
        if self.vocabulary.get() > MOST_TOKENS {
            let wanted = format!("at most {MOST_TOKENS}: tokens are kept as numbers of 24 bits");
            return Err(ProblemError::Value { key: "source.vocabulary", value: self.vocabulary.to_string(), wanted });
        }
        affordable_clients(self.clients)?;
        let vocabulary = self.vocabulary.get();
        let cols = self.length.get() as usize + 1;
        let mut shared: Vec<u32> = (0..vocabulary).collect();
        dice::shared(place.seed, Step::Source).shuffle(&mut shared);
        let (mut values, mut labels, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for client in 0..self.clients.get() {
            let mut rng = dice::own(place.seed, Step::Source, client as usize);
            let mut next = shared.clone();
            let changed = rng.choose((*self.heterogeneity * f64::from(vocabulary)) as usize, vocabulary as usize);
            let mut ends: Vec<u32> = changed.iter().map(|&k| next[k as usize]).collect();
            rng.shuffle(&mut ends);
            changed.iter().zip(&ends).for_each(|(&k, &end)| next[k as usize] = end);
            for _ in 0..self.examples.get() {
                let mut token = rng.below(vocabulary as usize) as u32;
                labels.push(token);
                keys.push(client);
                for _ in 0..cols {
                    values.push(token as f32);
                    token = if rng.coin(*self.noise) { rng.below(vocabulary as usize) as u32 } else { next[token as usize] };
                }
            }
        }
        let features = Matrix::Single(Single { cols, values });
        let targets = Targets::Classes { labels, classes: vocabulary };
        Ok(Material::Examples { dataset: Dataset::new(features, targets).from_clients(keys), inputs: Vec::new() })
    }
}
