//! Posts of very many users, with tags: each user's posts are made from his number when he is asked for.
//!
//! ```text
//! user i       writes 1 to 128 posts, as many as a log-uniform number says: most write little, few much
//!              likes five tags of his own with probability `heterogeneity`, any otherwise
//! post         one to three tags, three words of each of them, and others by Zipf's law, 20 to 60 different ones in all
//! ```
//!
//! The shape of Stack Overflow's tag prediction (Reddi et al. 2021: 342,477 users, 10,000 words, 500 tags). The model is
//! that of `model = { kind = "tags" }`; a user costs memory only while he works.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{ClientId, Documented, Fraction, Kind, Population, Precision, Rng, Roster, Seed, Shard, StoreError, Vector};
use motet_nn::elementary::exp;
use serde::{Deserialize, Serialize};

use super::tags::{five_hundred, half, ten_thousand};
use super::{Load, Material, Place, Redraws};
use crate::dataset::{Dataset, Examples, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::Matrix;
use crate::model::Tagging;

/// Posts of any number of users, each made on demand, as sparse words with tags; it has a model of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct SyntheticPosts {
    /// How many users.
    pub clients: NonZeroU32,
    /// Different words (default 10,000).
    #[serde(default = "ten_thousand")]
    pub words: NonZeroU32,
    /// Different tags (default 500).
    #[serde(default = "five_hundred")]
    pub tags: NonZeroU32,
    /// The most posts of a user (default 128).
    #[serde(default = "most_posts")]
    pub posts: NonZeroU32,
    /// How often a user keeps to his own few tags (default 0.5).
    #[serde(default = "half")]
    pub heterogeneity: Fraction,
}

impl Kind for SyntheticPosts {
    const NAME: &'static str = "synthetic-posts";
}

fn most_posts() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(127)
}

/// Words that belong to a tag, and tags that belong to a user.
const OWN: usize = 5;
/// Words of each tag in a post.
const TAKEN: usize = 3;
/// Different words of a post: at least so many, and fewer than so many more.
const LEAST: usize = 20;
const MORE: usize = 41;

impl Load for SyntheticPosts {
    fn redraws(&self) -> Redraws {
        Redraws::Everything
    }

    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let (words, tags) = (self.words.get() as usize, self.tags.get() as usize);
        if words < LEAST + MORE {
            let wanted = format!("at least {}: a post has up to {} different words", LEAST + MORE, LEAST + MORE - 1);
            return Err(ProblemError::Value { key: "source.words", value: words.to_string(), wanted });
        }
        super::affordable(&[("words", self.words), ("tags", self.tags)])?;
        let longest = NonZeroU32::MIN.saturating_add((LEAST + MORE) as u32 - 2);
        super::affordable(&[("posts", self.posts), ("words of a post", longest)])?;
        super::countable_clients(Some(self.clients))?;
        let mut shared = dice::shared(place.seed, Step::Source);
        let vocabulary = (0..tags * OWN).map(|_| shared.below(words) as u32).collect();
        let population = Arc::new(Users { of: self.clone(), seed: place.seed, vocabulary });
        Ok(Material::Population { population, start: Vector::zeros((words + 1) * tags, Precision::F32) })
    }
}

/// All of them, as a recipe.
struct Users {
    of: SyntheticPosts,
    seed: Seed,
    /// The words of each tag.
    vocabulary: Vec<u32>,
}

impl Users {
    /// A whole number from 0 to n − 1 of density ∝ 1/(k + 1).
    fn zipf(rng: &mut Rng, n: f64, log: f64) -> usize {
        ((exp(rng.unit() * log) - 1.0) as usize).min(n as usize - 1)
    }

    fn post(&self, liked: &[u32], rng: &mut Rng, log: f64) -> (Vec<u32>, Vec<u32>) {
        let (words, tags) = (f64::from(self.of.words.get()), self.of.tags.get() as usize);
        let mut drawn: Vec<u32> = (0..1 + rng.below(3))
            .map(|_| if rng.coin(*self.of.heterogeneity) { liked[rng.below(OWN)] } else { rng.below(tags) as u32 })
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        let length = LEAST + rng.below(MORE);
        let mut text: Vec<u32> = Vec::with_capacity(length);
        for &tag in &drawn {
            text.extend(rng.choose(TAKEN, OWN).into_iter().map(|k| self.vocabulary[tag as usize * OWN + k as usize]));
        }
        text.sort_unstable();
        text.dedup();
        while text.len() < length {
            let word = Self::zipf(rng, words, log) as u32;
            if let Err(at) = text.binary_search(&word) {
                text.insert(at, word);
            }
        }
        (text, drawn)
    }
}

impl Population for Users {
    fn roster(&self) -> Roster {
        Roster::Counted(self.of.clients.get())
    }

    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        let mut rng = dice::own(self.seed, Step::Source, client.0 as usize);
        let (words, classes) = (self.of.words.get(), self.of.tags.get());
        let most = f64::from(self.of.posts.get());
        let posts = 1 + Self::zipf(&mut rng, most, (most + 1.0).ln());
        let liked: Vec<u32> = (0..OWN).map(|_| rng.below(classes as usize) as u32).collect();
        let (mut starts, mut columns, mut cuts, mut tags) = (vec![0], vec![], vec![0], vec![]);
        let log = f64::from(words + 1).ln();
        for _ in 0..posts {
            let (text, drawn) = self.post(&liked, &mut rng, log);
            columns.extend(text);
            starts.push(columns.len());
            tags.extend(drawn);
            cuts.push(tags.len());
        }
        // The user's own words, counted from 0: his data and his steps then know nothing of all the others.
        let mut own = columns.clone();
        own.sort_unstable();
        own.dedup();
        for word in &mut columns {
            *word = own.binary_search(word).unwrap_or_default() as u32;
        }
        let values = vec![1.0; columns.len()];
        let features = Matrix::sparse(own.len(), starts, columns, values).expect("every word has its column");
        let targets = Targets::Tags { starts: cuts, tags, classes };
        let examples = Examples::new(Dataset::new(features, targets)).expect("every post has its words and tags");
        let tagging = Arc::new(Tagging::sparse(Arc::new(examples), own, words as usize));
        let (train, train_evaluator) = (Arc::clone(&tagging) as _, Some(tagging as _));
        Ok(Cow::Owned(Shard { train_evaluator, ..Shard::new(train) }))
    }
}
