//! Where problems come from: files, generators, formulas. One file each, one line in the list.

mod cifar;
mod curvatures;
mod entries;
mod gaussian_classes;
mod goemotions;
mod handwriting;
mod heart;
mod idx;
mod images;
mod leaf;
mod libsvm;
mod markup;
mod npz;
mod numbers;
mod omniglot;
pub(crate) mod open;
mod pickle;
mod picture;
mod posts;
mod shakespeare;
mod sine;
mod stackexchange;
mod synthetic;
mod table;
mod tags;
mod text;
mod tff;
mod words;
mod zip;

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Population, Seed, Shard, Vector};
use motet_records::Input;
use serde::{Deserialize, Serialize};

use crate::data_folder::Folders;
use crate::dataset::Dataset;
use crate::error::ProblemError;
use crate::prepare::Field;
use crate::synthetic::{Lrs, MeanGroups, Q2, Q2s, Q3, Quadratics};
pub use cifar::{Cifar, LabelLevel};
pub use curvatures::Curvatures;
pub use gaussian_classes::GaussianClasses;
pub use goemotions::{GoEmotions, Grouping, TextForm};
pub use handwriting::Handwriting;
pub use heart::{Diagnosis, HeartDisease};
pub use idx::{Idx, Part};
pub use images::SyntheticImages;
pub use leaf::Leaf;
pub use libsvm::{LabelMode, Libsvm};
use motet_core::Card;
pub use npz::Npz;
pub use omniglot::Omniglot;
pub use posts::SyntheticPosts;
pub use shakespeare::{Shakespeare, Speech};
pub use sine::Sine;
pub use stackexchange::{PostForm, StackExchange, Weigh};
pub use synthetic::Synthetic;
pub(crate) use table::raw_rows;
pub use table::{Table, TargetKind};
pub use tags::SyntheticTags;
pub use text::SyntheticText;
pub use tff::Tff;

/// What a source may use.
pub(crate) struct Place<'a> {
    /// Where files are.
    pub(crate) folders: &'a Folders,
    /// The problem's seed.
    pub(crate) seed: Seed,
}

/// What a source gives.
pub(crate) enum Material {
    /// Examples, still to be dealt to clients and given a model.
    Examples {
        /// All of them.
        dataset: Dataset,
        /// The files they came from.
        inputs: Vec<Input>,
    },
    /// Examples with gaps and scales, which each client sees to once it knows its training rows.
    Table {
        /// All of them, gaps as NaN.
        dataset: Dataset,
        /// What is to be done with each field.
        fields: Vec<Field>,
        /// The files they came from.
        inputs: Vec<Input>,
    },
    /// Clients with functions of their own.
    Functions {
        /// One per client.
        shards: Vec<Shard>,
        /// Where runs start.
        start: Vector,
    },
    /// Clients that are made from their numbers when they are asked for.
    Population {
        /// All of them.
        population: Arc<dyn Population>,
        /// Where runs start.
        start: Vector,
    },
}

/// The most numbers a generator may draw: 16 GiB of them.
const LARGEST: u64 = 1 << 31;

/// Refuses what no memory holds; `sizes` are multiplied.
pub(crate) fn affordable(sizes: &[(&str, NonZeroU32)]) -> Result<(), ProblemError> {
    let product = sizes.iter().try_fold(1u64, |product, (_, size)| product.checked_mul(size.get().into()));
    if product.is_some_and(|product| product <= LARGEST) {
        return Ok(());
    }
    let join = |by: &str, each: &dyn Fn(&(&str, NonZeroU32)) -> String| sizes.iter().map(each).collect::<Vec<_>>().join(by);
    let value = join(" x ", &|(_, size)| size.to_string());
    let wanted = format!("{} may be at most {LARGEST}", join(" x ", &|(name, _)| (*name).to_string()));
    Err(ProblemError::Value { key: "source", value, wanted })
}

macro_rules! sources {
    ($($name:literal => $Type:ident,)*) => {
        /// Where a problem comes from.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Source {
            $(
                #[doc = concat!("`kind = \"", $name, "\"`")]
                #[serde(rename = $name)]
                $Type($Type),
            )*
        }

        impl Source {
            /// As in `kind = "..."`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Source::$Type(_) => $name,)*
                }
            }

            pub(crate) fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
                match self {
                    $(Source::$Type(source) => source.load(place),)*
                }
            }
        }

        /// Every source there is.
        pub const SOURCES: &[Card] =
            &[$(Card { name: $name, about: $Type::ABOUT, parameters: $Type::PARAMETERS },)*];
    };
}

impl Source {
    /// The examples of a source that gives any, as the seed draws them; files are looked for in the data folder.
    pub fn examples(&self, seed: u64) -> Result<Dataset, ProblemError> {
        let folders = Folders::beside(std::path::Path::new("."));
        match self.load(&Place { folders: &folders, seed: Seed(seed) })? {
            Material::Examples { dataset, .. } => Ok(dataset),
            _ => Err(ProblemError::Superfluous { section: "examples", kind: self.name() }),
        }
    }

    /// How many clients there are in each group, one group after another; empty if there are no groups.
    pub(crate) fn groups(&self) -> Vec<u64> {
        match self {
            Source::MeanGroups(source) => source.groups.map(u64::from).to_vec(),
            _ => vec![],
        }
    }
}

sources! {
    "libsvm" => Libsvm,
    "idx" => Idx,
    "cifar" => Cifar,
    "omniglot" => Omniglot,
    "leaf" => Leaf,
    "npz" => Npz,
    "tff" => Tff,
    "handwriting" => Handwriting,
    "table" => Table,
    "heart-disease" => HeartDisease,
    "goemotions" => GoEmotions,
    "shakespeare" => Shakespeare,
    "stackexchange" => StackExchange,
    "synthetic" => Synthetic,
    "gaussian-classes" => GaussianClasses,
    "synthetic-images" => SyntheticImages,
    "synthetic-text" => SyntheticText,
    "synthetic-tags" => SyntheticTags,
    "synthetic-posts" => SyntheticPosts,
    "sine" => Sine,
    "quadratics" => Quadratics,
    "mean-estimation" => MeanGroups,
    "q2" => Q2,
    "q2s" => Q2s,
    "q3" => Q3,
    "lrs" => Lrs,
    "curvatures" => Curvatures,
}
