//! Made-up questions with tags: every tag has words of its own.
//!
//! ```text
//! client i     likes its own five tags with probability `heterogeneity`, any otherwise
//! example      one to three tags, three words of each of them, and three words at random
//! ```

use std::num::NonZeroU32;

use motet_core::{Documented, Fraction, Kind};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, affordable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::Matrix;

/// Made-up texts as sparse words, each with some of many tags; knows whose each example is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct SyntheticTags {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Texts per client.
    pub examples: NonZeroU32,
    /// Different words (default 10,000).
    #[serde(default = "ten_thousand")]
    pub words: NonZeroU32,
    /// Different tags (default 500).
    #[serde(default = "five_hundred")]
    pub tags: NonZeroU32,
    /// How often a client keeps to its own few tags (default 0.5).
    #[serde(default = "half")]
    pub heterogeneity: Fraction,
}

impl Kind for SyntheticTags {
    const NAME: &'static str = "synthetic-tags";
}

pub(super) fn ten_thousand() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(9_999)
}
pub(super) fn five_hundred() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(499)
}
pub(super) fn half() -> Fraction {
    Fraction::new(0.5).expect("a half is a fraction")
}

/// Words that belong to a tag, and tags that belong to a client.
const OWN: usize = 5;
/// Words of each tag, and at random, in a text.
const TAKEN: usize = 3;

impl Load for SyntheticTags {
    fn redraws(&self) -> Redraws {
        Redraws::Everything
    }

    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        affordable(&[("clients", self.clients), ("examples", self.examples)])?;
        affordable(&[("words", self.words), ("tags", self.tags)])?;
        affordable_clients(self.clients)?;
        let (words, classes) = (self.words.get() as usize, self.tags.get());
        let mut shared = dice::shared(place.seed, Step::Source);
        let vocabulary: Vec<u32> = (0..classes as usize * OWN).map(|_| shared.below(words) as u32).collect();
        let (mut starts, mut columns, mut keys) = (vec![0], Vec::new(), Vec::new());
        let (mut cuts, mut tags) = (vec![0], Vec::new());
        for client in 0..self.clients.get() {
            let mut rng = dice::own(place.seed, Step::Source, client as usize);
            let liked: Vec<u32> = (0..OWN).map(|_| rng.below(classes as usize) as u32).collect();
            for _ in 0..self.examples.get() {
                let mut drawn: Vec<u32> = (0..1 + rng.below(3))
                    .map(|_| if rng.coin(*self.heterogeneity) { liked[rng.below(OWN)] } else { rng.below(classes as usize) as u32 })
                    .collect();
                let mut text: Vec<u32> = drawn
                    .iter()
                    .flat_map(|&tag| rng.choose(TAKEN, OWN).into_iter().map(move |k| tag as usize * OWN + k as usize))
                    .map(|k| vocabulary[k])
                    .collect();
                text.extend((0..TAKEN).map(|_| rng.below(words) as u32));
                for list in [&mut drawn, &mut text] {
                    list.sort_unstable();
                    list.dedup();
                }
                columns.extend(text);
                starts.push(columns.len());
                tags.extend(drawn);
                cuts.push(tags.len());
                keys.push(client);
            }
        }
        let values = vec![1.0; columns.len()];
        let features = Matrix::sparse(words, starts, columns, values).map_err(crate::dataset::DatasetError::from)?;
        let targets = Targets::Tags { starts: cuts, tags, classes };
        Ok(Material::Examples { dataset: Dataset::new(features, targets).from_clients(keys), inputs: Vec::new() })
    }
}
