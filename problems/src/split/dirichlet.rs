//! Each class dealt in random proportions.
//!
//! Hsu, Qi, Brown. *Measuring the Effects of Non-Identical Data Distribution for Federated Visual
//! Classification*. 2019. Here, as is now common, each class is dealt by a Dirichlet(α) draw over clients.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Positive, Rng};
use rand_distr::Gamma;
use serde::{Deserialize, Serialize};

use super::{Deal, Partition, rows_by_class, served};
use crate::dataset::Dataset;
use crate::error::ProblemError;

/// Each class dealt in Dirichlet proportions: small alpha gives each client few classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Dirichlet {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Concentration: 0.1 is very uneven, 100 nearly even.
    pub alpha: Positive,
    /// Examples each client has at least, taken from the largest where needed (default 1).
    #[serde(default = "one")]
    pub min: NonZeroU32,
}

impl Kind for Dirichlet {
    const NAME: &'static str = "dirichlet";
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Deal for Dirichlet {
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let by_class = rows_by_class(data, rng, "dirichlet")?;
        let mut clients = vec![Vec::new(); served(self.clients.get(), self.min.get(), data)?];
        for rows in by_class {
            let (mut reached, mut dealt) = (0.0, 0);
            let shares = self.shares(clients.len(), rng);
            let last = clients.len() - 1;
            for (k, client) in clients.iter_mut().enumerate() {
                reached += shares[k];
                // The shares may miss 1 by rounding; the last client takes what is left.
                let end = if k == last { rows.len() } else { ((reached * rows.len() as f64).round() as usize).clamp(dealt, rows.len()) };
                client.extend_from_slice(&rows[dealt..end]);
                dealt = end;
            }
        }
        top_up(&mut clients, self.min.get() as usize);
        Ok(Partition::new(clients, data.len()))
    }
}

impl Dirichlet {
    /// One draw of Dirichlet(α, …, α): gamma variables over their sum.
    fn shares(&self, clients: usize, rng: &mut Rng) -> Vec<f64> {
        let gamma = Gamma::new(*self.alpha, 1.0).expect("alpha is positive and finite");
        let draws: Vec<f64> = (0..clients).map(|_| rng.draw(&gamma)).collect();
        let sum: f64 = draws.iter().sum();
        if sum > 0.0 && sum.is_finite() {
            return draws.iter().map(|draw| draw / sum).collect();
        }
        // Tiny α: every gamma underflows. The limit of the distribution gives all to one client.
        let winner = rng.below(clients);
        (0..clients).map(|k| f64::from(k == winner)).collect()
    }
}

/// Moves rows from the largest clients to those with fewer than `least`, which the largest never become.
fn top_up(clients: &mut [Vec<u32>], least: usize) {
    let mut largest: BinaryHeap<_> = clients.iter().enumerate().map(|(k, rows)| (rows.len(), Reverse(k))).collect();
    for poor in 0..clients.len() {
        while clients[poor].len() < least {
            let Some((size, Reverse(rich))) = largest.pop() else { return };
            if let Some(row) = clients[rich].pop() {
                clients[poor].push(row);
                largest.push((size - 1, Reverse(rich)));
            }
        }
    }
}
