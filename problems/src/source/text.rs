//! Made-up text: each token mostly decides the next.
//!
//! ```text
//! client i     a permutation πᵢ of the tokens: the shared π, but for a share h of the tokens, which are the client's own
//! sequence     t₀ uniform,   tₖ₊₁ = πᵢ(tₖ), with probability `noise` uniform instead
//! ```

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Documented, Fraction, Kind, Seed};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, countable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::{Matrix, Single};
use crate::on_demand::ClientExamples;

/// Made-up sequences of tokens for models that predict the next one; an example's class is its first token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct SyntheticText {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Sequences per client.
    pub examples: NonZeroU32,
    /// Tokens to predict in each sequence, which has one token more (default 80).
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
        affordable(&[("examples", self.examples), ("length", self.length.saturating_add(1))])?;
        if self.vocabulary.get() > MOST_TOKENS {
            let wanted = format!("at most {MOST_TOKENS}: tokens are kept as numbers of 24 bits");
            return Err(ProblemError::Value { key: "source.vocabulary", value: self.vocabulary.to_string(), wanted });
        }
        countable_clients(Some(self.clients))?;
        let mut shared: Vec<u32> = (0..self.vocabulary.get()).collect();
        dice::shared(place.seed, Step::Source).shuffle(&mut shared);
        Ok(Material::Clients { clients: Arc::new(Clients { of: self.clone(), seed: place.seed, shared }), inputs: Vec::new() })
    }
}

/// All of them, as a recipe.
struct Clients {
    of: SyntheticText,
    seed: Seed,
    /// What follows each token, where a client has no way of its own.
    shared: Vec<u32>,
}

impl SyntheticText {
    fn dataset(&self, values: Vec<f32>, labels: Vec<u32>) -> Dataset {
        let features = Matrix::Single(Single { cols: self.length.get() as usize + 1, values: values.into() });
        Dataset::new(features, Targets::Classes { labels, classes: self.vocabulary.get() })
    }
}

impl ClientExamples for Clients {
    fn clients(&self) -> u32 {
        self.of.clients.get()
    }

    fn rows(&self, _: u32) -> u32 {
        self.of.examples.get()
    }

    fn outline(&self) -> Dataset {
        self.of.dataset(Vec::new(), Vec::new())
    }

    fn examples(&self, client: u32) -> Result<Dataset, ProblemError> {
        let vocabulary = self.shared.len();
        let mut rng = dice::own(self.seed, Step::Source, client as usize);
        let mut next = self.shared.clone();
        let changed = rng.choose((*self.of.heterogeneity * vocabulary as f64) as usize, vocabulary);
        let mut ends: Vec<u32> = changed.iter().map(|&k| next[k as usize]).collect();
        rng.shuffle(&mut ends);
        changed.iter().zip(&ends).for_each(|(&k, &end)| next[k as usize] = end);
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..self.of.examples.get() {
            let mut token = rng.below(vocabulary) as u32;
            labels.push(token);
            for _ in 0..=self.of.length.get() {
                values.push(token as f32);
                token = if rng.coin(*self.of.noise) { rng.below(vocabulary) as u32 } else { next[token as usize] };
            }
        }
        Ok(self.of.dataset(values, labels))
    }
}
