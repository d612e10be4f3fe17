//! Who has what: the numbers behind `motet data show`.

use motet_core::Shard;
use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, TableColumns, Targets};
use crate::error::ProblemError;
use crate::holdout::Parts;

/// The clients of a problem in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataSummary {
    /// Numbers per example.
    pub features: u64,
    /// By client.
    pub clients: Vec<ClientSummary>,
    /// Those who never train.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<ClientSummary>,
    /// Examples of all clients by class or tag; empty if targets are numbers, and zeros where clients are made when they are asked
    /// for, so that nobody has counted.
    pub labels: Vec<u64>,
    /// What each class is called; empty if the source knows no names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// The columns of a table that are no features, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<TableColumns>,
    /// Mean over clients of the total-variation distance between the client's label distribution and
    /// that of all: 0 if all are alike, near 1 if no two clients share a label. Absent without classes.
    pub heterogeneity: Option<f64>,
    /// Examples of the source that no client has.
    pub left_out: u64,
    /// What people should know of how the source was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One client in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientSummary {
    /// What the source calls it, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Examples to train on.
    pub train: u64,
    /// Examples to choose on.
    pub validation: u64,
    /// Examples to be judged on.
    pub test: u64,
    /// All of them by class or tag; empty if targets are numbers.
    pub labels: Vec<u64>,
}

impl DataSummary {
    /// The last `unseen` clients never train.
    pub(crate) fn take(clients: &[Parts], unseen: usize, data: &Dataset, left_out: usize) -> Self {
        let mut clients: Vec<ClientSummary> = clients.iter().map(|parts| ClientSummary::count(parts, data)).collect();
        let unseen = clients.split_off(clients.len() - unseen);
        let summary = Self {
            features: data.features.cols() as u64,
            clients,
            unseen,
            labels: Vec::new(),
            classes: data.class_names.clone(),
            columns: data.columns.clone(),
            heterogeneity: None,
            left_out: left_out as u64,
            notes: data.notes.clone(),
        };
        summary.with_labels()
    }

    /// The same, with the labels of all clients together.
    fn with_labels(self) -> Self {
        let clients = &self.clients;
        let classes = clients.first().map_or(0, |client| client.labels.len());
        let labels: Vec<u64> = (0..classes).map(|class| clients.iter().map(|client| client.labels[class]).sum()).collect();
        let heterogeneity = (classes > 0).then(|| {
            let distances = clients.iter().map(|client| total_variation(&client.labels, &labels));
            distances.sum::<f64>() / clients.len() as f64
        });
        Self { labels, heterogeneity, ..self }
    }

    /// Who has what, of clients that are looked at one after another.
    pub(crate) fn counted(
        outline: &Dataset,
        clients: impl Iterator<Item = Result<(Dataset, Parts), ProblemError>>,
    ) -> Result<Self, ProblemError> {
        let each = clients.map(|client| client.map(|(own, parts)| ClientSummary::count(&parts, &own)));
        let clients = each.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { clients, ..Self::take(&[], 0, outline, 0) }.with_labels())
    }

    /// Columns and classes of clients of whom nobody was looked at.
    pub(crate) fn uncounted(outline: &Dataset) -> Self {
        let classes = ClientSummary::count(&Parts::default(), outline).labels.len();
        Self { labels: vec![0; classes], heterogeneity: None, ..Self::take(&[], 0, outline, 0) }
    }

    /// Clients that brought their own functions.
    pub(crate) fn of_functions(shards: &[Shard]) -> Self {
        let household = |shard: &Shard| ClientSummary {
            name: None,
            train: shard.train.samples() as u64,
            validation: shard.validation.as_ref().map_or(0, |f| f.samples() as u64),
            test: 0,
            labels: Vec::new(),
        };
        let features = shards.first().map_or(0, |shard| shard.train.dim() as u64);
        let clients = shards.iter().map(household).collect();
        Self {
            features,
            clients,
            unseen: Vec::new(),
            labels: Vec::new(),
            classes: Vec::new(),
            columns: None,
            heterogeneity: None,
            left_out: 0,
            notes: Vec::new(),
        }
    }
}

impl ClientSummary {
    fn count(parts: &Parts, data: &Dataset) -> Self {
        let size = |rows: &[u32]| rows.len() as u64;
        let mut counts = Vec::new();
        if let Targets::Classes { labels, classes } = &data.targets {
            counts.resize(*classes as usize, 0);
            for row in parts.train.iter().chain(&parts.validation).chain(&parts.test) {
                counts[labels[*row as usize] as usize] += 1;
            }
        }
        if let Targets::Tags { starts, tags, classes } = &data.targets {
            counts.resize(*classes as usize, 0);
            for &row in parts.train.iter().chain(&parts.validation).chain(&parts.test) {
                tags[starts[row as usize]..starts[row as usize + 1]].iter().for_each(|&tag| counts[tag as usize] += 1);
            }
        }
        let name = name(parts, data);
        Self { name, train: size(&parts.train), validation: size(&parts.validation), test: size(&parts.test), labels: counts }
    }
}

/// The natural client's name, or two of them; none where the source has no names or a client is a mixture of many.
fn name(parts: &Parts, data: &Dataset) -> Option<String> {
    let keys = data.keys.as_ref().filter(|_| !data.names.is_empty())?;
    let mut own: Vec<&str> = Vec::new();
    for row in parts.train.iter().chain(&parts.validation).chain(&parts.test) {
        let name = data.names.get(keys[*row as usize] as usize)?;
        if !own.contains(&name.as_str()) {
            own.push(name);
        }
        if own.len() > 2 {
            return None;
        }
    }
    (!own.is_empty()).then(|| own.join(" + "))
}

/// ½ Σ |p − q| of two histograms, each scaled to sum 1.
fn total_variation(a: &[u64], b: &[u64]) -> f64 {
    let total = |h: &[u64]| h.iter().sum::<u64>().max(1) as f64;
    let (all_a, all_b) = (total(a), total(b));
    0.5 * a.iter().zip(b).map(|(&a, &b)| (a as f64 / all_a - b as f64 / all_b).abs()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Dense, Matrix};

    fn census(clients: &[&[u32]], labels: Vec<u32>) -> DataSummary {
        let parts: Vec<Parts> = clients.iter().map(|rows| Parts { train: rows.to_vec(), ..Parts::default() }).collect();
        let features = Matrix::Dense(Dense { cols: 1, values: vec![0.0; labels.len()].into() });
        DataSummary::take(&parts, 0, &Dataset::new(features, Targets::Classes { labels, classes: 2 }), 0)
    }

    #[test]
    fn heterogeneity_is_zero_for_equal_mixtures_and_half_for_two_pure_halves() {
        assert_eq!(census(&[&[0, 1], &[2, 3]], vec![0, 1, 0, 1]).heterogeneity, Some(0.0));
        let apart = census(&[&[0, 2], &[1, 3]], vec![0, 1, 0, 1]);
        assert_eq!(apart.heterogeneity, Some(0.5));
        assert_eq!(apart.labels, [2, 2]);
        assert_eq!(apart.clients[1].labels, [0, 2]);
    }
}
