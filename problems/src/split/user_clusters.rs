//! Users that resemble each other: k-means over what each user has on average, and the users of one cluster.
//!
//! Figure 1b of FLIX (Gasanov et al. 2022): 5,000 users in ten clusters, the first 50 users of cluster 0. There a BERT embedding
//! tells users apart; here the mean of a user's features, or of its labels and tags, scaled to length 1.

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Rng};
use serde::{Deserialize, Serialize};

use super::natural::rows_by_key;
use super::{Deal, Partition, given};
use crate::dataset::{Dataset, Targets};
use crate::error::ProblemError;

/// The natural clients of one cluster: k-means over users' mean features or labels, seeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct UserClusters {
    /// How many clusters (default 10).
    #[serde(default = "ten")]
    pub clusters: NonZeroU32,
    /// Which one, from 0: clusters are numbered from the one with the most users.
    #[serde(default)]
    pub cluster: u32,
    /// Take only this many of its users, the first ones (default all).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<NonZeroU32>,
    /// Leave out users with fewer examples, before clustering (default 1).
    #[serde(default = "one")]
    pub min: NonZeroU32,
    /// "features" or "labels" (classes or tags). Default: features.
    #[serde(default)]
    pub by: Likeness,
}

impl Kind for UserClusters {
    const NAME: &'static str = "user-clusters";
}

fn ten() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(9)
}
fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// What users are compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Likeness {
    /// The mean of their examples' features.
    #[default]
    Features,
    /// How often they have each class or tag.
    Labels,
}

/// Lloyd's steps at most; they mostly end after few.
const STEPS: usize = 50;

impl Deal for UserClusters {
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let mut users = rows_by_key(data, "user-clusters")?;
        users.retain(|(_, rows)| rows.len() >= self.min.get() as usize);
        let k = self.clusters.get() as usize;
        if users.len() < k {
            let wanted = format!("the source has {} user(s) with at least {} example(s)", users.len(), self.min);
            return Err(ProblemError::Value { key: "split.clusters", value: k.to_string(), wanted });
        }
        if self.cluster as usize >= k {
            let wanted = format!("clusters are numbered 0 to {}", k - 1);
            return Err(ProblemError::Value { key: "split.cluster", value: self.cluster.to_string(), wanted });
        }
        let points = users.iter().map(|(_, rows)| self.point(data, rows)).collect::<Result<Vec<_>, _>>()?;
        let own = k_means(&points, k, rng);
        let mut members: Vec<Vec<usize>> = (0..k).map(|c| (0..users.len()).filter(|&u| own[u] == c).collect()).collect();
        members.sort_by_key(|users| std::cmp::Reverse(users.len()));
        let mut chosen = members.swap_remove(self.cluster as usize);
        match self.clients.map(|clients| clients.get() as usize) {
            Some(wanted) if wanted > chosen.len() => {
                let there = format!("cluster {} has {} user(s)", self.cluster, chosen.len());
                return Err(ProblemError::Value { key: "split.clients", value: wanted.to_string(), wanted: there });
            }
            Some(wanted) => chosen.truncate(wanted),
            None if chosen.is_empty() => {
                let wanted = "this cluster has no users: choose a lower number".to_owned();
                return Err(ProblemError::Value { key: "split.cluster", value: self.cluster.to_string(), wanted });
            }
            None => {}
        }
        let (keys, rows): (Vec<u32>, Vec<Vec<u32>>) = chosen.into_iter().map(|u| std::mem::take(&mut users[u])).unzip();
        let (extras, _) = given::by_key(data, &keys);
        Ok(Partition { extras, ..Partition::new(rows, data.len()) })
    }
}

impl UserClusters {
    /// What a user has on average, of length 1; zero if that is nothing.
    fn point(&self, data: &Dataset, rows: &[u32]) -> Result<Vec<f32>, ProblemError> {
        let mut sum = match (self.by, &data.targets) {
            (Likeness::Features, _) => {
                let mut sum = vec![0.0; data.features.cols()];
                rows.iter().for_each(|&row| data.features.add_row(row as usize, &mut sum));
                sum
            }
            (Likeness::Labels, Targets::Classes { labels, classes }) => {
                let mut sum = vec![0.0; *classes as usize];
                rows.iter().for_each(|&row| sum[labels[row as usize] as usize] += 1.0);
                sum
            }
            (Likeness::Labels, Targets::Tags { starts, tags, classes }) => {
                let mut sum = vec![0.0; *classes as usize];
                let own = rows.iter().flat_map(|&row| &tags[starts[row as usize]..starts[row as usize + 1]]);
                own.for_each(|&tag| sum[tag as usize] += 1.0);
                sum
            }
            (Likeness::Labels, Targets::Numbers(_)) => return Err(ProblemError::NoClasses { split: "user-clusters" }),
        };
        let length = sum.iter().map(|v: &f64| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|v| *v /= length);
        }
        Ok(sum.into_iter().map(|v| v as f32).collect())
    }
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from((a - b) * (a - b))).sum()
}

/// The cluster of each point: seeds as k-means++ draws them (Arthur, Vassilvitskii 2007), then Lloyd's steps.
fn k_means(points: &[Vec<f32>], k: usize, rng: &mut Rng) -> Vec<usize> {
    let mut centres = vec![points[rng.below(points.len())].clone()];
    let mut nearest: Vec<f64> = points.iter().map(|point| distance(point, &centres[0])).collect();
    while centres.len() < k {
        let mut left = rng.unit() * nearest.iter().sum::<f64>();
        let next = nearest.iter().position(|d| {
            left -= d;
            left < 0.0
        });
        let centre = points[next.unwrap_or_else(|| rng.below(points.len()))].clone();
        points.iter().zip(&mut nearest).for_each(|(point, nearest)| *nearest = nearest.min(distance(point, &centre)));
        centres.push(centre);
    }
    let closest = |centres: &[Vec<f32>], point: &[f32]| {
        let distances = centres.iter().map(|centre| distance(point, centre)).enumerate();
        distances.fold((0, f64::INFINITY), |best, (c, d)| if d < best.1 { (c, d) } else { best }).0
    };
    let mut own: Vec<usize> = points.iter().map(|point| closest(&centres, point)).collect();
    for _ in 0..STEPS {
        for (c, centre) in centres.iter_mut().enumerate() {
            let members: Vec<&Vec<f32>> = points.iter().zip(&own).filter(|(_, own)| **own == c).map(|(point, _)| point).collect();
            // A centre that lost all its points stays where it was.
            if !members.is_empty() {
                centre.iter_mut().enumerate().for_each(|(j, v)| *v = members.iter().map(|m| m[j]).sum::<f32>() / members.len() as f32);
            }
        }
        let next: Vec<usize> = points.iter().map(|point| closest(&centres, point)).collect();
        if next == own {
            break;
        }
        own = next;
    }
    own
}
