//! Who gets which example. One file per rule, one line in the list.

mod contiguous;
mod dirichlet;
mod few_users;
mod given;
mod iid;
mod label_mixtures;
mod label_shards;
mod natural;
mod pachinko;
mod power_law;
mod user_clusters;

use std::sync::Arc;

use motet_core::kind::{Entry, Port, Takes};
use motet_core::{AnyKind, Chosen, Kind, Kinds, Rng};
use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, Targets, Usage};
use crate::error::ProblemError;
pub use contiguous::Contiguous;
pub use dirichlet::Dirichlet;
pub use few_users::FewUsers;
pub use given::Extra;
pub(crate) use given::in_proportion;
pub use iid::Iid;
pub use label_mixtures::{LabelMixtures, MixtureGroup, MixturePart, Rest};
pub use label_shards::LabelShards;
pub use natural::Natural;
pub use pachinko::Pachinko;
pub use power_law::PowerLaw;
pub(crate) use power_law::power_law_sizes;
pub use user_clusters::{Likeness, UserClusters};

/// Which rows each client has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// By client: the rows it is dealt, ascending. No row is with two clients.
    pub clients: Vec<Vec<u32>>,
    /// By client: rows that the source gives for validation and test, where the split says whose they are; empty where it
    /// does not, and they are then dealt in proportion.
    pub extras: Vec<Extra>,
    /// Clients with rows that the source gives for test alone: they train nothing.
    pub strangers: Vec<Vec<u32>>,
    /// How many rows nobody has.
    pub left_out: usize,
}

impl Partition {
    /// Rows dealt to clients, of so many; puts each client's rows back into the source's order.
    ///
    /// # Panics
    /// If more rows were dealt than there are.
    pub fn new(mut clients: Vec<Vec<u32>>, rows: usize) -> Self {
        clients.iter_mut().for_each(|client| client.sort_unstable());
        let dealt: usize = clients.iter().map(Vec::len).sum();
        Self { clients, extras: Vec::new(), strangers: Vec::new(), left_out: rows - dealt }
    }
}

/// Every split there is, in the order of `list`.
pub static SPLITS: Kinds<dyn AnySplit> = Kinds::new(&[
    Entry::of::<Contiguous>(),
    Entry::of::<Iid>(),
    Entry::of::<Dirichlet>(),
    Entry::of::<LabelShards>(),
    Entry::of::<LabelMixtures>(),
    Entry::of::<PowerLaw>(),
    Entry::of::<Pachinko>(),
    Entry::of::<Natural>(),
    Entry::of::<FewUsers>(),
    Entry::of::<UserClusters>(),
]);

/// Who gets which example: what a split of one's own implements.
///
/// ```
/// use std::path::Path;
/// use motet_core::{Documented, Kind, Rng};
/// use motet_problems::{Dataset, Deal, Usage, Partition, Problem, ProblemError, SPLITS};
/// use serde::{Deserialize, Serialize};
///
/// /// One example for each client but the last, who has all others.
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
/// #[serde(deny_unknown_fields)]
/// struct OneGiant {
///     /// How many clients.
///     clients: usize,
/// }
///
/// impl Kind for OneGiant {
///     const NAME: &'static str = "one-giant";
/// }
///
/// impl Deal for OneGiant {
///     fn deal(&self, data: &Dataset, _: &mut Rng) -> Result<Partition, ProblemError> {
///         let mut rows = data.rows_for(Usage::Train);
///         let (clients, least) = (self.clients, 1);
///         if clients == 0 || clients > rows.len() {
///             return Err(ProblemError::TooManyClients { clients, rows: rows.len(), least });
///         }
///         let rest = rows.split_off(clients - 1);
///         Ok(Partition::new(rows.into_iter().map(|row| vec![row]).chain([rest]).collect(), data.len()))
///     }
/// }
///
/// let mut splits = SPLITS.clone();
/// splits.add::<OneGiant>()?;
/// let _here = splits.enter();
/// let config = serde_json::from_str(
///     r#"{"source": {"kind": "synthetic", "clients": 2, "examples": 10, "features": 3, "heterogeneity": 1},
///         "split": {"kind": "one-giant", "clients": 4}, "model": {"kind": "logistic"}}"#,
/// )?;
/// let problem = Problem::build(&config, Path::new(""), 1)?;
/// let sizes: Vec<usize> = problem.shards.iter().map(|shard| shard.train.samples()).collect();
/// assert_eq!(sizes, [1, 1, 1, 17]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Deal {
    /// Deals the rows that train. Equal dice deal equally.
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError>;
}

/// Any split, whatever its type.
pub trait AnySplit: Deal + AnyKind {}

impl<K: Deal + Kind> AnySplit for K {}

impl<K: Deal + Kind> Takes<K> for dyn AnySplit {
    fn take(kind: K) -> Arc<Self> {
        Arc::new(kind)
    }
}

impl Port for dyn AnySplit {
    fn standard() -> &'static Kinds<Self> {
        &SPLITS
    }
}

/// How examples are dealt to clients: `{ kind = "…", … }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Split(Chosen<dyn AnySplit>);

impl Split {
    /// This split, whether or not a list has it.
    pub fn new<K: Deal + Kind>(split: K) -> Self {
        Self(Chosen::new(split))
    }

    /// As in `kind = "…"`.
    pub fn name(&self) -> &'static str {
        self.0.card().name
    }

    /// The split itself, if it is a `K`.
    pub fn downcast<K: Kind>(&self) -> Option<&K> {
        self.0.downcast()
    }

    /// Deals the examples to clients. Equal dice deal equally.
    pub fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        self.0.deal(data, rng)
    }
}

/// Every row for training, in the source's order.
fn all_rows(data: &Dataset) -> Vec<u32> {
    data.rows_for(Usage::Train)
}

/// Every row for training, in an order of the dice.
fn shuffled_rows(data: &Dataset, rng: &mut Rng) -> Vec<u32> {
    let mut rows = all_rows(data);
    rng.shuffle(&mut rows);
    rows
}

/// The rows for training of each class, in an order of the dice.
fn rows_by_class(data: &Dataset, rng: &mut Rng, split: &'static str) -> Result<Vec<Vec<u32>>, ProblemError> {
    let Targets::Classes { labels, classes } = &data.targets else { return Err(ProblemError::NoClasses { split }) };
    let mut by_class = vec![Vec::new(); *classes as usize];
    for row in shuffled_rows(data, rng) {
        by_class[labels[row as usize] as usize].push(row);
    }
    Ok(by_class)
}

/// The number of clients, if each of them can have `least` rows.
fn served(clients: u32, least: u32, data: &Dataset) -> Result<usize, ProblemError> {
    let (clients, least, rows) = (clients as usize, least as usize, all_rows(data).len());
    match clients.checked_mul(least) {
        Some(needed) if needed <= rows => Ok(clients),
        _ => Err(ProblemError::TooManyClients { clients, rows, least }),
    }
}
