//! Pachinko allocation: each client likes a few coarse labels, and of each of them its own fine ones.
//!
//! Li, McCallum. *Pachinko Allocation: DAG-Structured Mixture Models of Topic Correlations*. ICML 2006; as the split of CIFAR-100
//! by Reddi et al., *Adaptive Federated Optimization*, ICLR 2021, appendix F.1:
//!
//! ```text
//! for each client
//!   1  θ ~ Dirichlet(α) over coarse labels,   θ_c ~ Dirichlet(β) over the fine labels of each coarse one
//!   2  N times: draw a coarse label by θ, a fine label by θ_c, and one of its examples that nobody has yet
//!   3  a fine label without examples is taken out of its θ_c, a coarse one without fine labels out of θ; both are rescaled
//! ```

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Positive, Rng};
use rand_distr::Gamma;
use serde::{Deserialize, Serialize};

use super::{Deal, Partition, rows_by_class};
use crate::dataset::Dataset;
use crate::error::ProblemError;

/// Two levels of labels (CIFAR-100): each client likes a few coarse labels, and of each its own fine ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Pachinko {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Examples per client (default: as many as there are for each).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_client: Option<NonZeroU32>,
    /// Concentration over coarse labels (default 0.1).
    #[serde(default = "tenth")]
    pub alpha: Positive,
    /// Concentration over the fine labels of a coarse one (default 10).
    #[serde(default = "ten")]
    pub beta: Positive,
    /// The fine labels of each coarse one (default: those of CIFAR-100, where there are 100 classes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coarse: Vec<Vec<u32>>,
}

impl Kind for Pachinko {
    const NAME: &'static str = "pachinko";
}

fn tenth() -> Positive {
    Positive::new(0.1).expect("0.1 is positive")
}
fn ten() -> Positive {
    Positive::new(10.0).expect("10 is positive")
}

/// The coarse label of each of CIFAR-100's fine labels, both in the order of the published files.
#[rustfmt::skip]
const CIFAR_100: [usize; 100] = [
     4,  1, 14,  8,  0,  6,  7,  7, 18,  3,  3, 14,  9, 18,  7, 11,  3,  9,  7, 11,
     6, 11,  5, 10,  7,  6, 13, 15,  3, 15,  0, 11,  1, 10, 12, 14, 16,  9, 11,  5,
     5, 19,  8,  8, 15, 13, 14, 17, 18, 10, 16,  4, 17,  4,  2,  0, 17,  4, 18, 17,
    10,  3,  2, 12, 12, 16, 12,  1,  9, 19,  2, 10,  0,  1, 16, 12,  9, 13, 15, 13,
    16, 19,  2,  4,  6, 19,  5,  5,  8, 19, 18,  1,  2, 15,  6,  0, 17,  8, 14, 13,
];

impl Deal for Pachinko {
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let mut pools = rows_by_class(data, rng, "pachinko")?;
        let coarse = self.tree(pools.len())?;
        let (clients, reached) = (self.clients.get() as usize, coarse.iter().flatten().map(|&fine| pools[fine].len()).sum::<usize>());
        let size = self.per_client.map_or(reached / clients, |size| size.get() as usize).max(1);
        if size.checked_mul(clients).is_none_or(|needed| needed > reached) {
            return Err(ProblemError::TooManyClients { clients, rows: reached, least: size });
        }
        let dealt = (0..clients).map(|_| self.client(&coarse, &mut pools, size, rng)).collect();
        Ok(Partition::new(dealt, data.len()))
    }
}

impl Pachinko {
    /// Fine labels by coarse label: every fine one at most once.
    fn tree(&self, classes: usize) -> Result<Vec<Vec<usize>>, ProblemError> {
        let wrong = |value: String, wanted: String| Err(ProblemError::Value { key: "split.coarse", value, wanted });
        if self.coarse.is_empty() && classes == CIFAR_100.len() {
            let of = |coarse: usize| (0..classes).filter(|&fine| CIFAR_100[fine] == coarse).collect();
            return Ok((0..20).map(of).collect());
        }
        if self.coarse.is_empty() || self.coarse.iter().any(Vec::is_empty) {
            return wrong("[]".into(), format!("name the fine labels of each coarse one, out of 0 to {}", classes - 1));
        }
        let mut seen = vec![false; classes];
        for &fine in self.coarse.iter().flatten() {
            match seen.get_mut(fine as usize) {
                None => return wrong(fine.to_string(), format!("classes are numbered 0 to {}", classes - 1)),
                Some(true) => return wrong(fine.to_string(), "a fine label belongs to one coarse label".into()),
                Some(seen) => *seen = true,
            }
        }
        Ok(self.coarse.iter().map(|fine| fine.iter().map(|&label| label as usize).collect()).collect())
    }

    fn client(&self, coarse: &[Vec<usize>], pools: &mut [Vec<u32>], size: usize, rng: &mut Rng) -> Vec<u32> {
        // line 1; gamma variables need not be scaled to sum 1 to be drawn by.
        let mut root = weights(*self.alpha, coarse.len(), rng);
        let mut leaves: Vec<Vec<f64>> = coarse.iter().map(|fine| weights(*self.beta, fine.len(), rng)).collect();
        let mut rows = Vec::with_capacity(size);
        while rows.len() < size {
            // line 3, for what others have used up as well
            for (c, fine) in coarse.iter().enumerate() {
                for (leaf, &label) in leaves[c].iter_mut().zip(fine).filter(|(_, label)| pools[**label].is_empty()) {
                    *leaf = 0.0;
                    debug_assert!(pools[label].is_empty());
                }
                if leaves[c].iter().all(|leaf| *leaf == 0.0) {
                    root[c] = 0.0;
                }
            }
            let there = |c: usize| coarse[c].iter().any(|&label| !pools[label].is_empty());
            let c = draw(&root, rng).unwrap_or_else(|| any(coarse.len(), there, rng));
            let k = draw(&leaves[c], rng).unwrap_or_else(|| any(coarse[c].len(), |k| !pools[coarse[c][k]].is_empty(), rng));
            rows.extend(pools[coarse[c][k]].pop()); // line 2
        }
        rows
    }
}

fn weights(concentration: f64, count: usize, rng: &mut Rng) -> Vec<f64> {
    let gamma = Gamma::new(concentration, 1.0).expect("concentrations are positive and finite");
    (0..count).map(|_| rng.draw(&gamma)).collect()
}

/// A place by weights; none if all are 0.
fn draw(weights: &[f64], rng: &mut Rng) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    if total <= 0.0 || !total.is_finite() {
        return None;
    }
    let mut left = rng.unit() * total;
    let mut last = None;
    for (k, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        left -= weight;
        last = Some(k);
        if left < 0.0 {
            break;
        }
    }
    last
}

/// One of the places with examples, all alike: what a client likes may be gone, or have underflowed, before it has enough.
fn any(count: usize, there: impl Fn(usize) -> bool, rng: &mut Rng) -> usize {
    let places: Vec<usize> = (0..count).filter(|&k| there(k)).collect();
    places[rng.below(places.len())]
}
