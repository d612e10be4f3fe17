//! Tag prediction: many sparse words in, some of many tags out (Reddi et al., *Adaptive Federated Optimization*, ICLR 2021).

use std::collections::BTreeMap;

use motet_core::{Batch, Precision, RowUpdate, Rows, Update};
use motet_nn::elementary::{exp_single, softplus};
use serde::{Deserialize, Serialize};

use super::{Arc, Card, Exam, Examples, Model, ModelError, Objective, Range, Vector};

/// One logistic regression per tag, in single precision.
///
/// x has one row of `tags` numbers per word and, as its last row, the biases, so that a gradient touches the rows of the
/// words present and one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagModel {}

impl Model for TagModel {
    const CARD: Card = Card {
        name: "tags",
        about: "one logistic regression per tag over sparse words; gradients touch only the rows of the words present",
        parameters: &[],
    };

    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        let tags = data.tag_count().ok_or(ModelError::NeedsTags { model: Self::CARD.name })?;
        Ok((data.features().cols() + 1) * tags as usize)
    }

    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        Arc::new(Tagging { tags: data.tag_count().unwrap_or(0) as usize, data, rows })
    }

    fn exam(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Exam> {
        Arc::new(Tagging { tags: data.tag_count().unwrap_or(0) as usize, data, rows })
    }

    fn precision(&self) -> Precision {
        Precision::F32
    }
}

/// f(x) = (1/m) Σⱼ Σ_c log(1 + exp(s_c)) − [c in tagsⱼ] s_c,   s = Σ words aⱼw x_w + b
struct Tagging {
    tags: usize,
    data: Arc<Examples>,
    rows: Range<usize>,
}

impl Tagging {
    fn picked<'a>(&self, rows: Rows<'a>) -> impl Iterator<Item = usize> + use<'a> {
        let (within, list) = match rows {
            Rows::All => (self.rows.clone(), None),
            Rows::Only(list) => (self.rows.clone(), Some(list)),
        };
        let count = list.map_or(within.len(), <[u32]>::len);
        (0..count).map(move |k| {
            let number = list.map_or(k, |list| list[k] as usize);
            assert!(number < within.len(), "a batch names the client's own rows");
            within.start + number
        })
    }

    fn count(&self, rows: Rows<'_>) -> usize {
        match rows {
            Rows::All => self.rows.len(),
            Rows::Only(list) => list.len(),
        }
    }

    fn scores(&self, x: &[f32], row: usize, scores: &mut [f32]) {
        scores.copy_from_slice(&x[x.len() - self.tags..]);
        self.data.features().entries(row, |word, v| {
            let v = v as f32;
            scores.iter_mut().zip(&x[word * self.tags..]).for_each(|(s, x)| *s += v * x);
        });
    }

    /// The loss of one example; its scores become their slopes.
    fn slopes(&self, row: usize, share: f32, scores: &mut [f32]) -> f64 {
        let mut loss = 0.0;
        for &tag in self.data.tags(row) {
            loss -= f64::from(scores[tag as usize]);
        }
        for s in scores.iter_mut() {
            loss += softplus(f64::from(*s));
            *s = share / (1.0 + exp_single(-*s));
        }
        for &tag in self.data.tags(row) {
            scores[tag as usize] -= share;
        }
        loss
    }

    fn loss(&self, x: &[f32], row: usize, scores: &mut [f32]) -> f64 {
        self.scores(x, row, scores);
        self.slopes(row, 0.0, scores)
    }
}

impl Objective for Tagging {
    fn dim(&self) -> usize {
        (self.data.features().cols() + 1) * self.tags
    }
    fn samples(&self) -> usize {
        self.rows.len()
    }
    fn precision(&self) -> Precision {
        Precision::F32
    }
    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        let mut scores = vec![0.0; self.tags];
        let sum: f64 = self.picked(batch.rows).map(|row| self.loss(x.f32s(), row, &mut scores)).sum();
        sum / self.count(batch.rows).max(1) as f64
    }
    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        g.fill(0.0);
        self.update(x, batch).add_to(1.0, g);
    }
    fn update(&self, x: &Vector, batch: Batch<'_>) -> Update {
        let share = 1.0 / self.count(batch.rows).max(1) as f32;
        let (tags, mut scores) = (self.tags, vec![0.0; self.tags]);
        let mut touched: BTreeMap<u32, Vec<f32>> = BTreeMap::new();
        let add = |to: &mut Vec<f32>, v: f32, slopes: &[f32]| to.iter_mut().zip(slopes).for_each(|(g, s)| *g += v * s);
        let bias = self.data.features().cols() as u32;
        for row in self.picked(batch.rows) {
            self.scores(x.f32s(), row, &mut scores);
            self.slopes(row, share, &mut scores);
            self.data.features().entries(row, |word, v| {
                add(touched.entry(word as u32).or_insert_with(|| vec![0.0; tags]), v as f32, &scores);
            });
            add(touched.entry(bias).or_insert_with(|| vec![0.0; tags]), 1.0, &scores);
        }
        let (rows, values): (Vec<u32>, Vec<Vec<f32>>) = touched.into_iter().unzip();
        Update::Rows(RowUpdate::new(self.dim(), rows, values.concat().into()))
    }
}

/// How many tags are handed in.
const LISTED: usize = 5;

impl Exam for Tagging {
    fn examples(&self) -> usize {
        self.rows.len()
    }

    /// `recall_at_5`: the share of an example's tags among the five with the largest scores; examples without tags have none.
    fn metrics(&self, x: &Vector, _: Option<&Vector>) -> Vec<(&'static str, f64)> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let (mut scores, mut loss, mut recall, mut tagged) = (vec![0.0; self.tags], 0.0, 0.0, 0.0);
        for row in self.rows.clone() {
            self.scores(x.f32s(), row, &mut scores);
            let tags = self.data.tags(row);
            if !tags.is_empty() {
                let mut order: Vec<usize> = (0..self.tags).collect();
                order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
                let found = tags.iter().filter(|&&tag| order.iter().take(LISTED).any(|&c| c == tag as usize)).count();
                recall += found as f64 / tags.len() as f64;
                tagged += 1.0;
            }
            loss += self.slopes(row, 0.0, &mut scores);
        }
        let mut metrics = vec![("loss", loss / self.rows.len() as f64)];
        if tagged > 0.0 {
            metrics.push(("recall_at_5", recall / tagged));
        }
        metrics
    }
}
