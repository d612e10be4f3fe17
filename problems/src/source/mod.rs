//! Where problems come from: files, generators, formulas. One file each, one line in the list.

mod cifar;
mod curvatures;
#[cfg(feature = "images")]
mod decode;
mod entries;
mod gaussian_classes;
mod given;
mod goemotions;
mod handwriting;
mod heart;
mod idx;
mod images;
mod index;
mod leaf;
mod libsvm;
#[cfg(feature = "text")]
mod markup;
mod npz;
mod numbers;
#[cfg(feature = "images")]
mod omniglot;
pub(crate) mod open;
mod pickle;
mod picture;
mod posts;
#[cfg(feature = "text")]
mod shakespeare;
mod sine;
#[cfg(feature = "text")]
mod stackexchange;
mod synthetic;
mod table;
mod tags;
mod text;
#[cfg(feature = "sqlite")]
mod tff;
mod words;
mod zip;

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::kind::{Entry, NeedsFeature, Port, Takes};
use motet_core::{AnyKind, Chosen, Kind, Kinds, Population, Seed, Shard, Vector};
use motet_records::Input;
use serde::{Deserialize, Serialize};

use crate::data_folder::Folders;
use crate::dataset::Dataset;
use crate::error::ProblemError;
use crate::on_demand::{ClientExamples, Holding, gathered};
use crate::prepare::Field;
use crate::room::afford;
use crate::synthetic::{Lrs, MeanGroups, Q2, Q2s, Q3, Quadratics};
pub use cifar::{Cifar, LabelLevel};
pub use curvatures::Curvatures;
pub use gaussian_classes::GaussianClasses;
pub use given::Given;
pub use goemotions::{GoEmotions, Grouping, TextForm};
pub use handwriting::Handwriting;
pub use heart::{Diagnosis, HeartDisease};
pub use idx::{Idx, Part};
pub use images::SyntheticImages;
pub use leaf::Leaf;
pub use libsvm::{LabelMode, Libsvm};
pub use npz::Npz;
#[cfg(feature = "images")]
pub use omniglot::Omniglot;
pub use posts::SyntheticPosts;
#[cfg(feature = "text")]
pub use shakespeare::{Shakespeare, Speech};
pub use sine::Sine;
#[cfg(feature = "text")]
pub use stackexchange::{PostForm, StackExchange, Weigh};
pub use synthetic::Synthetic;
pub use table::natural_order;
pub use table::{Encoding, NewRows, Table, TargetKind};
pub(crate) use table::{Sheet, in_natural_order};
pub use tags::SyntheticTags;
pub use text::SyntheticText;
#[cfg(feature = "sqlite")]
pub use tff::Tff;

/// Where examples, or whole clients, come from: what a source of one's own implements.
///
/// With [`Kind`] and a line in [`SOURCES`] it is one of Motet's; from outside of the repository it is added to a list:
///
/// ```
/// use std::path::Path;
/// use motet_core::{Documented, Kind};
/// use motet_problems::{Dataset, DatasetError, Load, Material, Matrix, Place, Problem, ProblemError, SOURCES, Targets};
/// use serde::{Deserialize, Serialize};
///
/// /// The whole numbers from 1, each with its square.
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
/// #[serde(deny_unknown_fields)]
/// struct Squares {
///     /// How many.
///     count: u32,
/// }
///
/// impl Kind for Squares {
///     const NAME: &'static str = "squares";
/// }
///
/// impl Load for Squares {
///     fn load(&self, _: &Place<'_>) -> Result<Material, ProblemError> {
///         let numbers: Vec<f64> = (1..=self.count).map(f64::from).collect();
///         let squares = numbers.iter().map(|x| x * x).collect();
///         let features = Matrix::dense(1, numbers).map_err(DatasetError::from)?;
///         let dataset = Dataset::new(features, Targets::Numbers(squares));
///         Ok(Material::Examples { dataset, inputs: vec![] })
///     }
/// }
///
/// let mut sources = SOURCES.clone();
/// sources.add::<Squares>()?;
/// let _here = sources.enter();
/// let config = serde_json::from_str(
///     r#"{"source": {"kind": "squares", "count": 6}, "split": {"kind": "iid", "clients": 2}, "model": {"kind": "ridge"}}"#,
/// )?;
/// assert_eq!(Problem::build(&config, Path::new(""), 1)?.shards.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Load {
    /// Reads or makes what the parameters say. Equal places give equal material.
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError>;

    /// What another seed of the problem changes of it, before any split. By default nothing: the data stay the same.
    fn redraws(&self) -> Redraws {
        Redraws::Nothing
    }

    /// How many clients there are in each group, one group after another; empty if there are no groups.
    fn groups(&self) -> Vec<u64> {
        Vec::new()
    }
}

/// What another seed changes of what a source gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redraws {
    /// Nothing: the same data, which a split may cut in another way.
    Nothing,
    /// Examples: new ones, of the same clients.
    Examples,
    /// Everything: other clients with examples of their own.
    Everything,
}

/// What a source may use.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Where files are.
    pub folders: &'a Folders,
    /// The problem's seed.
    pub seed: Seed,
    /// Should clients be read one by one, or all at once? None: as the source thinks best. Generators are never asked.
    pub hold: Option<Holding>,
}

/// What a source gives.
pub enum Material {
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
    /// Examples that somebody else holds, too: they are not copied until they are dealt.
    Shared {
        /// All of them.
        dataset: Arc<Dataset>,
        /// What each client is to do with each field, where there is anything to do.
        fields: Option<Vec<Field>>,
        /// Where they came from.
        inputs: Vec<Input>,
    },
    /// Clients with examples, who can be made or read one by one.
    Clients {
        /// All of them.
        clients: Arc<dyn ClientExamples>,
        /// The files they come from.
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

/// What a client takes beside its examples: its functions, judges, constants, name and row of results.
const CLIENT_BYTES: u64 = 1024;

/// What a client takes that is made when it is asked for: its place in lists of everyone.
const COUNTED_BYTES: u64 = 32;

/// Refuses what no memory holds; `sizes` are multiplied.
pub(crate) fn affordable(sizes: &[(&str, NonZeroU32)]) -> Result<(), ProblemError> {
    let factors: Vec<u64> = sizes.iter().map(|(_, size)| size.get().into()).collect();
    let join = |by: &str, each: &dyn Fn(&(&str, NonZeroU32)) -> String| sizes.iter().map(each).collect::<Vec<_>>().join(by);
    let (names, value) = (join(" x ", &|(name, _)| (*name).to_string()), join(" x ", &|(_, size)| size.to_string()));
    let product = factors.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
    if product.is_none_or(|product| product > LARGEST) {
        return Err(ProblemError::Value { key: "source", value, wanted: format!("{names} may be at most {LARGEST}") });
    }
    Ok(afford(|| format!("{names} = {value} numbers"), &factors, 8)?)
}

/// Refuses more clients than memory holds, however little each has.
pub(crate) fn affordable_clients(clients: NonZeroU32) -> Result<(), ProblemError> {
    Ok(afford(|| format!("{clients} clients"), &[clients.get().into()], CLIENT_BYTES)?)
}

/// The same for clients that are made when they are asked for.
pub(crate) fn countable_clients(clients: Option<NonZeroU32>) -> Result<(), ProblemError> {
    let count = clients.map_or(0, NonZeroU32::get);
    Ok(afford(|| format!("a list of {count} clients"), &[count.into()], COUNTED_BYTES)?)
}

/// Every source there is, in the order of `list`.
pub static SOURCES: Kinds<dyn AnySource> = Kinds::with_features(
    &[
        Entry::of::<Libsvm>(),
        Entry::of::<Idx>(),
        Entry::of::<Cifar>(),
        #[cfg(feature = "images")]
        Entry::of::<Omniglot>(),
        Entry::of::<Leaf>(),
        Entry::of::<Npz>(),
        #[cfg(feature = "sqlite")]
        Entry::of::<Tff>(),
        Entry::of::<Handwriting>(),
        Entry::of::<Table>(),
        Entry::of::<Given>(),
        Entry::of::<HeartDisease>(),
        Entry::of::<GoEmotions>(),
        #[cfg(feature = "text")]
        Entry::of::<Shakespeare>(),
        #[cfg(feature = "text")]
        Entry::of::<StackExchange>(),
        Entry::of::<Synthetic>(),
        Entry::of::<GaussianClasses>(),
        Entry::of::<SyntheticImages>(),
        Entry::of::<SyntheticText>(),
        Entry::of::<SyntheticTags>(),
        Entry::of::<SyntheticPosts>(),
        Entry::of::<Sine>(),
        Entry::of::<Quadratics>(),
        Entry::of::<MeanGroups>(),
        Entry::of::<Q2>(),
        Entry::of::<Q2s>(),
        Entry::of::<Q3>(),
        Entry::of::<Lrs>(),
        Entry::of::<Curvatures>(),
    ],
    &[
        NeedsFeature { what: "source", name: "omniglot", feature: "images" },
        NeedsFeature { what: "source", name: "shakespeare", feature: "text" },
        NeedsFeature { what: "source", name: "stackexchange", feature: "text" },
        NeedsFeature { what: "source", name: "tff", feature: "sqlite" },
    ],
);

/// Any source, whatever its type.
pub trait AnySource: Load + AnyKind {}

impl<K: Load + Kind> AnySource for K {}

impl<K: Load + Kind> Takes<K> for dyn AnySource {
    fn take(kind: K) -> Arc<Self> {
        Arc::new(kind)
    }
}

impl Port for dyn AnySource {
    fn standard() -> &'static Kinds<Self> {
        &SOURCES
    }
}

/// Where a problem comes from: `{ kind = "…", … }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Source(Chosen<dyn AnySource>);

impl Source {
    /// This source, whether or not a list has it.
    pub fn new<K: Load + Kind>(source: K) -> Self {
        Self(Chosen::new(source))
    }

    /// As in `kind = "…"`.
    pub fn name(&self) -> &'static str {
        self.0.card().name
    }

    /// The source itself, if it is a `K`.
    pub fn downcast<K: Kind>(&self) -> Option<&K> {
        self.0.downcast()
    }

    /// The examples of a source that gives any, as the seed draws them; files are looked for in the data folder.
    pub fn examples(&self, seed: u64) -> Result<Dataset, ProblemError> {
        let folders = Folders::beside(std::path::Path::new("."));
        match self.load(&Place { folders: &folders, seed: Seed(seed), hold: Some(Holding::All) })? {
            Material::Examples { dataset, .. } => Ok(dataset),
            Material::Clients { clients, .. } => gathered(&*clients),
            Material::Shared { dataset, fields: None, .. } => Ok(Arc::unwrap_or_clone(dataset)),
            _ => Err(ProblemError::Superfluous { section: "examples", kind: self.name() }),
        }
    }

    /// Reads or makes what it says.
    pub fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        self.0.load(place)
    }

    /// What another seed changes of it.
    pub fn redraws(&self) -> Redraws {
        self.0.redraws()
    }

    pub(crate) fn groups(&self) -> Vec<u64> {
        self.0.groups()
    }
}
