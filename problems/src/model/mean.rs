//! Mean estimation: the simplest problem with data.

use std::borrow::Cow;
use std::sync::OnceLock;

use motet_core::{Batch, Constants, Documented, Kind, Rows, Vector};
use serde::{Deserialize, Serialize};

use super::{Arc, Evaluator, Examples, Model, ModelError, Objective, Range};

/// Mean estimation: the average squared distance to the examples.
///
/// f(x) = (1/m) Σ |x − ξⱼ|², divided by d if averaged over coordinates; ξⱼ are the rows of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct MeanEstimation {
    /// Divide the loss by the dimension (default false).
    pub average_coordinates: bool,
}

impl Kind for MeanEstimation {
    const NAME: &'static str = "mean";
}

impl Model for MeanEstimation {
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        Ok(data.features().cols())
    }

    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        Arc::new(self.distances(data, rows))
    }

    fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator> {
        Arc::new(self.distances(data, rows))
    }
}

impl MeanEstimation {
    fn distances(&self, data: Arc<Examples>, rows: Range<usize>) -> Distances {
        let share = if self.average_coordinates { 1.0 / data.features().cols().max(1) as f64 } else { 1.0 };
        Distances { data, rows, share, sum: OnceLock::new() }
    }
}

struct Distances {
    data: Arc<Examples>,
    rows: Range<usize>,
    /// 1, or 1/d
    share: f64,
    /// Σ ξⱼ over all rows, summed when first asked for: the gradient needs nothing else.
    sum: OnceLock<Vec<f64>>,
}

impl Distances {
    /// Calls `each` with the picked rows; returns their number.
    fn pick(&self, rows: Rows<'_>, mut each: impl FnMut(usize)) -> f64 {
        match rows {
            Rows::All => self.rows.clone().for_each(each),
            Rows::Only(list) => list.iter().for_each(|&r| {
                assert!((r as usize) < self.rows.len(), "a batch names the client's own rows");
                each(self.rows.start + r as usize)
            }),
        }
        match rows {
            Rows::All => self.rows.len() as f64,
            Rows::Only(list) => list.len() as f64,
        }
    }
}

impl Distances {
    /// Σ ξⱼ and how many they are.
    fn sum(&self, rows: Rows<'_>) -> (Cow<'_, [f64]>, f64) {
        let add = || {
            let mut sum = vec![0.0; self.data.features().cols()];
            let count = self.pick(rows, |row| self.data.features().add_row(row, &mut sum));
            (sum, count)
        };
        match rows {
            Rows::All => (Cow::Borrowed(self.sum.get_or_init(|| add().0)), self.rows.len() as f64),
            Rows::Only(_) => {
                let (sum, count) = add();
                (Cow::Owned(sum), count)
            }
        }
    }

    /// 2s (x − mean)
    fn slope(&self, x: &Vector, sum: &[f64], count: f64, g: &mut Vector) {
        // Of no examples there is no distance: the gradient is zero, as the value is.
        let any = count.min(1.0);
        for ((g, x), sum) in g.f64s_mut().iter_mut().zip(x.f64s()).zip(sum) {
            *g = 2.0 * self.share * (any * x - sum / count.max(1.0));
        }
    }
}

impl Objective for Distances {
    fn dim(&self) -> usize {
        self.data.features().cols()
    }

    fn samples(&self) -> usize {
        self.rows.len()
    }

    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        let (x, mut sum, mut apart) = (x.f64s(), 0.0, vec![0.0; self.dim()]);
        let count = self.pick(batch.rows, |row| {
            apart.copy_from_slice(x);
            self.data.features().entries(row, |c, v| apart[c] -= v);
            sum += apart.iter().map(|a| a * a).sum::<f64>();
        });
        self.share * sum / count.max(1.0)
    }

    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        let (sum, count) = self.sum(batch.rows);
        self.slope(x, &sum, count, g);
    }

    fn gradients(&self, xs: &[Vector], batch: Batch<'_>) -> Vec<Vector> {
        let (sum, count) = self.sum(batch.rows);
        let mut gs: Vec<Vector> = xs.iter().map(Vector::zeros_like).collect();
        xs.iter().zip(&mut gs).for_each(|(x, g)| self.slope(x, &sum, count, g));
        gs
    }

    fn hessian_vector(&self, _: &Vector, v: &Vector, batch: Batch<'_>, out: &mut Vector) {
        let count = self.pick(batch.rows, |_| ());
        out.copy_from(v);
        out.scale(2.0 * self.share * count.min(1.0));
    }

    fn constants(&self) -> Constants {
        let curvature = Some(2.0 * self.share);
        Constants { smoothness: curvature, convexity: curvature, sample_smoothness: curvature }
    }

    fn quadratic(&self) -> bool {
        true
    }
}

impl Evaluator for Distances {
    fn examples(&self) -> usize {
        self.rows.len()
    }

    fn metrics(&self, x: &Vector, _: Option<&Vector>) -> Vec<(&'static str, f64)> {
        vec![("loss", self.value(x, Batch::all()))]
    }
}
