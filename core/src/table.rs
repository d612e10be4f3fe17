//! Scores of many clients → the metrics of one row.

use std::collections::BTreeMap;

use crate::fleet::Score;
use crate::record::{Metrics, larger_is_better};
use crate::vector::Mean;

/// Scores of many clients → one row's metrics: the plain mean under the metric's own name, the mean
/// weighted by examples under `.weighted`, the mean of the worst tenth of the clients under `.worst`.
#[derive(Default)]
pub(crate) struct Table {
    columns: BTreeMap<String, Vec<(f64, u64)>>,
    distance: Option<f64>,
    gradient: Option<Mean>,
    clients: u64,
}

impl Table {
    pub(crate) fn add(&mut self, score: Score) {
        self.clients += 1;
        self.column("loss").push((score.loss, score.examples));
        for (name, value, examples) in score.metrics {
            self.column(&name).push((value, examples));
        }
        if let Some(distance) = score.distance {
            *self.distance.get_or_insert(0.0) += distance;
        }
        if let Some(g) = score.gradient {
            self.gradient.get_or_insert_with(|| Mean::like(&g)).add(1.0, &g);
        }
    }

    fn column(&mut self, name: &str) -> &mut Vec<(f64, u64)> {
        if !self.columns.contains_key(name) {
            self.columns.insert(name.to_owned(), vec![]);
        }
        self.columns.get_mut(name).expect("the column was just made")
    }

    pub(crate) fn finish(self) -> Metrics {
        let mut metrics = Metrics::new();
        for (name, mut values) in self.columns {
            let count = values.len() as f64;
            let examples: u64 = values.iter().map(|v| v.1).sum();
            metrics.insert(name.clone(), values.iter().map(|v| v.0).sum::<f64>() / count);
            metrics.insert(format!("{name}.weighted"), values.iter().map(|v| v.0 * v.1 as f64).sum::<f64>() / examples as f64);
            values.sort_by(|a, b| if larger_is_better(&name) { a.0.total_cmp(&b.0) } else { b.0.total_cmp(&a.0) });
            values.truncate(values.len().div_ceil(10));
            metrics.insert(format!("{name}.worst"), values.iter().map(|v| v.0).sum::<f64>() / values.len() as f64);
        }
        if let Some(total) = self.distance {
            metrics.insert("distance".into(), total / self.clients as f64);
        }
        if let Some(mean) = self.gradient {
            metrics.insert("grad_norm2".into(), mean.finish().norm2());
        }
        metrics
    }
}
