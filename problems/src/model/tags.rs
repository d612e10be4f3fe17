//! Tag prediction: many sparse words in, some of many tags out (Reddi et al., *Adaptive Federated Optimization*, ICLR 2021).

use motet_core::fast;
use motet_core::{Batch, Compact, Documented, Kind, Precision, RowUpdate, Rows, Update};
use motet_nn::elementary::{exp_single, softplus};
use serde::{Deserialize, Serialize};

use super::{Arc, Evaluator, Examples, Model, ModelError, Objective, Range, Vector};

/// One logistic regression per tag over sparse words; gradients touch only the rows of the words present.
///
/// One logistic regression per tag, in single precision.
///
/// x has one row of `tags` numbers per word and, as its last row, the biases, so that a gradient touches the rows of the
/// words present and one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct TagModel {}

impl Kind for TagModel {
    const NAME: &'static str = "tags";
}

impl Model for TagModel {
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        let tags = data.tag_count().ok_or(ModelError::NeedsTags { model: Self::NAME })?;
        Ok((data.features().cols() + 1).saturating_mul(tags as usize))
    }

    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        Arc::new(Tagging::new(data, rows))
    }

    fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator> {
        Arc::new(Tagging::new(data, rows))
    }

    fn precision(&self) -> Precision {
        Precision::F32
    }

    fn predicts_tags(&self) -> bool {
        true
    }
}

/// f(x) = (1/m) Σⱼ Σ_c log(1 + exp(s_c)) − [c in tagsⱼ] s_c,   s = Σ words aⱼw x_w + b
#[derive(Clone)]
pub(crate) struct Tagging {
    tags: usize,
    data: Arc<Examples>,
    rows: Range<usize>,
    /// Which row of x each column of the data is; its own number if absent.
    own: Option<Arc<[u32]>>,
    /// Words of the model.
    words: usize,
}

impl Tagging {
    fn new(data: Arc<Examples>, rows: Range<usize>) -> Self {
        let (tags, words) = (data.tag_count().unwrap_or(0) as usize, data.features().cols());
        Self { tags, data, rows, own: None, words }
    }

    /// Of data whose columns are some words, ascending, of a model that has more.
    pub(crate) fn sparse(data: Arc<Examples>, own: Vec<u32>, words: usize) -> Self {
        let rows = 0..data.len();
        Self { own: Some(own.into()), words, ..Self::new(data, rows) }
    }

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

    /// Where the row of x of every word of an example begins, and the word's value.
    fn entries(&self, example: usize) -> Vec<(usize, f32)> {
        let mut entries = Vec::with_capacity(64);
        self.data.features().entries(example, |column, v| {
            let row = self.own.as_ref().map_or(column, |own| own[column] as usize);
            entries.push((row * self.tags, v as f32));
        });
        entries
    }

    fn scores(&self, x: &[f32], entries: &[(usize, f32)], scores: &mut [f32]) {
        let (x, bias) = x.split_at(x.len() - self.tags);
        scores.copy_from_slice(bias);
        add_words(x, entries, scores);
    }

    /// Scores become slopes, times `share`.
    fn slopes(&self, example: usize, share: f32, scores: &mut [f32]) {
        shared_chances(share, scores);
        for &tag in self.data.tags(example) {
            scores[tag as usize] -= share;
        }
    }

    fn loss(&self, x: &[f32], example: usize, scores: &mut [f32]) -> f64 {
        self.scores(x, &self.entries(example), scores);
        let own: f64 = self.data.tags(example).iter().map(|&tag| f64::from(scores[tag as usize])).sum();
        scores.iter().map(|s| softplus(f64::from(*s))).sum::<f64>() - own
    }

    /// The words of every example of a batch, and their slopes at x, one after another.
    fn all_slopes(&self, x: &[f32], rows: Rows<'_>, share: f32) -> (Vec<Words>, Vec<f32>) {
        let mut slopes = vec![0.0; self.count(rows) * self.tags];
        let mut words = Vec::with_capacity(self.count(rows));
        for (example, slopes) in self.picked(rows).zip(slopes.chunks_mut(self.tags.max(1))) {
            let entries = self.entries(example);
            self.scores(x, &entries, slopes);
            self.slopes(example, share, slopes);
            words.push(entries);
        }
        (words, slopes)
    }

    /// The rows of x that some examples touch, ascending; the biases come last.
    fn touched(&self, rows: Rows<'_>) -> Vec<u32> {
        let rows_of = |example| self.entries(example).into_iter().map(|(at, _)| (at / self.tags.max(1)) as u32);
        let mut touched: Vec<u32> = self.picked(rows).flat_map(rows_of).collect();
        touched.push(self.words as u32);
        touched.sort_unstable();
        touched.dedup();
        touched
    }
}

/// Where the rows of an example's words begin, and their values.
type Words = Vec<(usize, f32)>;

fast! {
    /// Adds rows of x that begin here and there to the scores, each times its value.
    fn add_words(x: &[f32], entries: &[(usize, f32)], scores: &mut [f32]) {
        let tags = scores.len();
        // Four at a time: the scores are fetched and put back once for all of them.
        let (fours, rest) = entries.as_chunks::<4>();
        for four in fours {
            let [a, b, c, d] = four.map(|(at, v)| (&x[at..][..tags], v));
            for (k, s) in scores.iter_mut().enumerate() {
                *s = *s + a.1 * a.0[k] + b.1 * b.0[k] + c.1 * c.0[k] + d.1 * d.0[k];
            }
        }
        rest.iter().for_each(|&(at, v)| add(v, &x[at..][..tags], scores));
    }

    /// Scores become chances, times `share`.
    fn shared_chances(share: f32, scores: &mut [f32]) {
        scores.iter_mut().for_each(|s| *s = share / (1.0 + exp_single(-*s)));
    }
}

/// Adds `sign` times the slopes of the examples to the rows of their words and to the biases, which are the last row. Row after
/// row, each for all who have its word, so that it is fetched and put back once: words come again within a batch.
fn spread(sign: f32, examples: &[Words], slopes: &[f32], tags: usize, rows: &mut [f32]) {
    let count = rows.len() / tags.max(1);
    let mut ends = vec![0usize; count + 1];
    examples.iter().flatten().for_each(|(at, _)| ends[at / tags + 1] += 1);
    for row in 0..count {
        ends[row + 1] += ends[row];
    }
    // Now where each row begins; after the next loop, where it ends.
    let mut having = vec![(0, 0.0); ends[count]];
    for (example, entries) in examples.iter().enumerate() {
        for (at, v) in entries {
            let next = &mut ends[at / tags];
            having[*next] = (example * tags, sign * v);
            *next += 1;
        }
    }
    let (words, bias) = rows.split_at_mut(rows.len() - tags);
    let mut begin = 0;
    for (row, &end) in words.chunks_mut(tags.max(1)).zip(&ends) {
        add_words(slopes, &having[begin..end], row);
        begin = end;
    }
    having.clear();
    having.extend((0..examples.len()).map(|example| (example * tags, sign)));
    add_words(slopes, &having, bias);
}

/// to ← to + v·from
#[inline(always)]
fn add(v: f32, from: &[f32], to: &mut [f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += v * from);
}

impl Objective for Tagging {
    fn dim(&self) -> usize {
        (self.words + 1) * self.tags
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
        let (mut examples, slopes) = self.all_slopes(x.f32s(), batch.rows, 1.0 / self.count(batch.rows).max(1) as f32);
        let (rows, tags) = (self.touched(batch.rows), self.tags);
        let mut values = vec![0.0; rows.len() * tags];
        for (at, _) in examples.iter_mut().flatten() {
            *at = rows.partition_point(|&row| (row as usize) * tags < *at) * tags;
        }
        spread(1.0, &examples, &slopes, tags, &mut values);
        Update::Rows(RowUpdate::new(self.dim(), rows, values.into()))
    }
    /// In one pass over the rows of the batch, without making the gradient.
    fn descend(&self, x: &mut Vector, batch: Batch<'_>, rate: f64, _: &mut Option<Vector>) {
        let (examples, slopes) = self.all_slopes(x.f32s(), batch.rows, rate as f32 / self.count(batch.rows).max(1) as f32);
        spread(-1.0, &examples, &slopes, self.tags, x.f32s_mut());
    }
    fn compact(&self) -> Option<Compact> {
        let rows = match &self.own {
            Some(own) => own.iter().copied().chain([self.words as u32]).collect(),
            None => self.touched(Rows::All),
        };
        let place: Option<Arc<[u32]>> = match &self.own {
            // The data already count the client's own words.
            Some(_) => None,
            // Columns that the client does not have are never looked up.
            None => Some((0..self.words as u32).map(|word| rows.partition_point(|&row| row < word) as u32).collect()),
        };
        let objective = Arc::new(Self { own: place, words: rows.len() - 1, ..self.clone() });
        Some(Compact { rows, width: self.tags, objective })
    }
}

/// How many tags are handed in.
const LISTED: usize = 5;

impl Evaluator for Tagging {
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
            loss += self.loss(x.f32s(), row, &mut scores);
            let tags = self.data.tags(row);
            if !tags.is_empty() {
                let mut order: Vec<usize> = (0..self.tags).collect();
                order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
                let found = tags.iter().filter(|&&tag| order.iter().take(LISTED).any(|&c| c == tag as usize)).count();
                recall += found as f64 / tags.len() as f64;
                tagged += 1.0;
            }
        }
        let mut metrics = vec![("loss", loss / self.rows.len() as f64)];
        if tagged > 0.0 {
            metrics.push(("recall_at_5", recall / tagged));
        }
        metrics
    }
}
