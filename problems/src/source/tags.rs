//! Made-up questions with tags: every tag has words of its own.
//!
//! ```text
//! client i     likes its own five tags with probability `heterogeneity`, any otherwise
//! example      one to three tags, three words of each of them, and three words at random
//! ```

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Documented, Fraction, Kind, Seed};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, countable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::Matrix;
use crate::on_demand::ClientExamples;

/// Made-up texts as sparse words, each with some of many tags. Each example has a client.
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
        affordable(&[("examples", self.examples)])?;
        affordable(&[("words", self.words), ("tags", self.tags)])?;
        countable_clients(Some(self.clients))?;
        let mut shared = dice::shared(place.seed, Step::Source);
        let vocabulary = (0..self.tags.get() as usize * OWN).map(|_| shared.below(self.words.get() as usize) as u32).collect();
        Ok(Material::Clients { clients: Arc::new(Clients { of: self.clone(), seed: place.seed, vocabulary }), inputs: Vec::new() })
    }
}

/// All of them, as a recipe.
struct Clients {
    of: SyntheticTags,
    seed: Seed,
    /// The words of each tag.
    vocabulary: Vec<u32>,
}

/// Texts and their tags, each with where one text ends and the next begins.
struct Texts {
    starts: Vec<usize>,
    columns: Vec<u32>,
    cuts: Vec<usize>,
    tags: Vec<u32>,
}

impl Texts {
    const NONE: Self = Self { starts: Vec::new(), columns: Vec::new(), cuts: Vec::new(), tags: Vec::new() };

    fn dataset(mut self, of: &SyntheticTags) -> Dataset {
        for list in [&mut self.starts, &mut self.cuts] {
            list.insert(0, 0);
        }
        let values = vec![1.0; self.columns.len()];
        let features = Matrix::sparse(of.words.get() as usize, self.starts, self.columns, values).expect("every word has its column");
        Dataset::new(features, Targets::Tags { starts: self.cuts, tags: self.tags, classes: of.tags.get() })
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
        Texts::NONE.dataset(&self.of)
    }

    fn examples(&self, client: u32) -> Result<Dataset, ProblemError> {
        let (words, tags) = (self.of.words.get() as usize, self.of.tags.get() as usize);
        let mut rng = dice::own(self.seed, Step::Source, client as usize);
        let liked: Vec<u32> = (0..OWN).map(|_| rng.below(tags) as u32).collect();
        let mut texts = Texts::NONE;
        for _ in 0..self.of.examples.get() {
            let mut drawn: Vec<u32> = (0..1 + rng.below(3))
                .map(|_| if rng.coin(*self.of.heterogeneity) { liked[rng.below(OWN)] } else { rng.below(tags) as u32 })
                .collect();
            let mut text: Vec<u32> = drawn
                .iter()
                .flat_map(|&tag| rng.choose(TAKEN, OWN).into_iter().map(move |k| tag as usize * OWN + k as usize))
                .map(|k| self.vocabulary[k])
                .collect();
            text.extend((0..TAKEN).map(|_| rng.below(words) as u32));
            for list in [&mut drawn, &mut text] {
                list.sort_unstable();
                list.dedup();
            }
            texts.columns.extend(text);
            texts.starts.push(texts.columns.len());
            texts.tags.extend(drawn);
            texts.cuts.push(texts.tags.len());
        }
        Ok(texts.dataset(&self.of))
    }
}
