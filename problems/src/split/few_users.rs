//! Many clients out of few users: each user's examples dealt to clients of his own.
//!
//! Figure 1a of FLIX (Gasanov et al. 2022): 100 workers from two users of Stack Overflow, 50 with 10 posts each of the one and 50
//! of the other:
//!
//! ```toml
//! split = { kind = "few-users", users = 2, per_user = 50, examples = 10 }
//! ```

use std::cmp::Reverse;
use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Rng};
use serde::{Deserialize, Serialize};

use super::natural::rows_by_key;
use super::{Deal, Partition};
use crate::dataset::Dataset;
use crate::error::ProblemError;

/// Clients made out of the users with the most examples: each user's are shuffled and dealt to several clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct FewUsers {
    /// How many users (default 2).
    #[serde(default = "two")]
    pub users: NonZeroU32,
    /// Clients per user.
    pub per_user: NonZeroU32,
    /// Examples per client (default: as many as the user has for each).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examples: Option<NonZeroU32>,
}

impl Kind for FewUsers {
    const NAME: &'static str = "few-users";
}

fn two() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(1)
}

impl Deal for FewUsers {
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let mut users: Vec<Vec<u32>> = rows_by_key(data, "few-users")?.into_iter().map(|(_, rows)| rows).collect();
        let (wanted, per_user) = (self.users.get() as usize, self.per_user.get() as usize);
        if wanted > users.len() {
            let there = format!("the source has {} user(s)", users.len());
            return Err(ProblemError::Value { key: "split.users", value: wanted.to_string(), wanted: there });
        }
        // Equal numbers of examples keep the source's order.
        users.sort_by_key(|rows| Reverse(rows.len()));
        let mut clients = vec![];
        for mut rows in users.into_iter().take(wanted) {
            let size = self.examples.map_or(rows.len() / per_user, |size| size.get() as usize).max(1);
            if size.checked_mul(per_user).is_none_or(|needed| needed > rows.len()) {
                return Err(ProblemError::TooManyClients { clients: per_user, rows: rows.len(), least: size });
            }
            rng.shuffle(&mut rows);
            clients.extend(rows.chunks_exact(size).take(per_user).map(<[u32]>::to_vec));
        }
        Ok(Partition::new(clients, data.len()))
    }
}
