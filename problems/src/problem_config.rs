//! The `[problem]` section of an experiment file.

use std::num::NonZeroU32;

use motet_runtime::{ByzantineClients, Devices};
use serde::de::{Deserializer, Unexpected, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use crate::holdout::Holdout;
use crate::model::ModelConfig;
use crate::on_demand::Holding;
use crate::schema::Schema;
use crate::source::Source;
use crate::split::Split;
use crate::unseen::Unseen;
use crate::weights::Weights;

/// Source, split, hold-out, model.
///
/// Sources that bring their own clients (quadratics, formulas) take neither of the last three. A source
/// that knows whose each example is needs no split: `natural` is understood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProblemConfig {
    /// Where it comes from.
    pub source: Source,
    /// What everybody's tables look like, for studies between machines: columns, words, classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// Who gets what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// What is kept away from training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<Holdout>,
    /// Clients that never train and are judged all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Unseen>,
    /// What is fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelConfig>,
    /// Where a network starts: a safetensors file with its parameters' names. What the file does not have, such as a new
    /// last layer, starts at dice as usual. Empty is none, so that what a file gives can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// Who lies, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byzantine: Option<ByzantineClients>,
    /// What clients run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<Devices>,
    /// Whether all clients are held in memory ("all"), or each is made or read when it is needed ("touched"). Default: "all", if there are at most
    /// 10,000 clients and 20 million examples, or a split deals them anew, or files have less than 64 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Holding>,
    /// How many GiB a file of the problem may have once it is unpacked. Absent: 16, and at most 200 times what it has on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_gib: Option<NonZeroU32>,
    /// The dice of generators, splits and hold-outs.
    #[serde(default)]
    pub seed: ProblemSeed,
}

impl ProblemConfig {
    /// A problem of this source, with everything else left at its default.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            schema: None,
            split: None,
            holdout: None,
            unseen: None,
            model: None,
            weights: None,
            byzantine: None,
            devices: None,
            hold: None,
            file_gib: None,
            seed: ProblemSeed::default(),
        }
    }

    /// The seeds of the problem and of its hold-out for a run with the given seed: runs with equal ones share a problem.
    pub fn draw_of(&self, run: u64) -> (u64, u64) {
        let redraw = self.holdout.as_ref().is_some_and(|holdout| holdout.redraw);
        (self.seed_of(run), if redraw { run } else { self.seed_of(run) })
    }

    /// The seed of the problem that a run with the given seed works on.
    pub fn seed_of(&self, run: u64) -> u64 {
        match self.seed {
            ProblemSeed::Fixed(seed) => seed,
            ProblemSeed::Run => run,
        }
    }
}

/// One problem for all runs, or one for each seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemSeed {
    /// `seed = 7`: all runs work on the same problem.
    Fixed(u64),
    /// `seed = "run"`: each run seed draws its own.
    Run,
}

impl Default for ProblemSeed {
    fn default() -> Self {
        ProblemSeed::Fixed(0)
    }
}

impl Serialize for ProblemSeed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            ProblemSeed::Fixed(seed) => to.serialize_u64(*seed),
            ProblemSeed::Run => to.serialize_str("run"),
        }
    }
}

impl<'de> Deserialize<'de> for ProblemSeed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = ProblemSeed;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number from 0, or \"run\"")
            }
            fn visit_u64<E: serde::de::Error>(self, seed: u64) -> Result<ProblemSeed, E> {
                Ok(ProblemSeed::Fixed(seed))
            }
            fn visit_i64<E: serde::de::Error>(self, seed: i64) -> Result<ProblemSeed, E> {
                u64::try_from(seed).map(ProblemSeed::Fixed).map_err(|_| E::invalid_value(Unexpected::Signed(seed), &self))
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<ProblemSeed, E> {
                if word == "run" { Ok(ProblemSeed::Run) } else { Err(E::invalid_value(Unexpected::Str(word), &self)) }
            }
        }
        from.deserialize_any(Either)
    }
}
