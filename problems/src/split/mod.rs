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

use motet_core::Rng;
use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, Lot, Targets};
use crate::error::ProblemError;
pub use contiguous::Contiguous;
pub use dirichlet::Dirichlet;
pub use few_users::FewUsers;
pub use given::Extra;
pub(crate) use given::in_proportion;
pub use iid::Iid;
pub use label_mixtures::{LabelMixtures, MixtureGroup, MixturePart, Rest};
pub use label_shards::LabelShards;
use motet_core::Card;
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
    /// Puts each client's rows back into the source's order.
    fn new(mut clients: Vec<Vec<u32>>, rows: usize) -> Self {
        clients.iter_mut().for_each(|client| client.sort_unstable());
        let dealt: usize = clients.iter().map(Vec::len).sum();
        Self { clients, extras: Vec::new(), strangers: Vec::new(), left_out: rows - dealt }
    }
}

macro_rules! splits {
    ($($name:literal => $Type:ident,)*) => {
        /// How examples are dealt to clients.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Split {
            $(
                #[doc = concat!("`kind = \"", $name, "\"`")]
                #[serde(rename = $name)]
                $Type($Type),
            )*
        }

        impl Split {
            /// As in `kind = "..."`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Split::$Type(_) => $name,)*
                }
            }

            /// Deals. Equal dice deal equally.
            pub fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
                match self {
                    $(Split::$Type(split) => split.deal(data, rng),)*
                }
            }
        }

        /// Every split there is.
        pub const SPLITS: &[Card] =
            &[$(Card { name: $name, about: $Type::ABOUT, parameters: $Type::PARAMETERS },)*];
    };
}

splits! {
    "contiguous" => Contiguous,
    "iid" => Iid,
    "dirichlet" => Dirichlet,
    "label-shards" => LabelShards,
    "label-mixtures" => LabelMixtures,
    "power-law" => PowerLaw,
    "pachinko" => Pachinko,
    "natural" => Natural,
    "few-users" => FewUsers,
    "user-clusters" => UserClusters,
}

/// Every row for training, in the source's order.
fn all_rows(data: &Dataset) -> Vec<u32> {
    data.rows_for(Lot::Train)
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
