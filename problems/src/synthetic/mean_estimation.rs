//! Estimating the mean of client 0 with the help of others, some like it and some not.
//!
//! ```text
//! fᵢ(x) = s/m Σⱼ |x − ξᵢⱼ|²,   ξᵢⱼ ~ N(mᵢ, I)
//! group 0 (the target's)   m = 0
//! group 1                  m = μ 1/√d   ("paper": μ 1)
//! group 2                  m = (0, 1, 0, 1, …), scaled to length 1   ("paper": uniform on the sphere)
//! ```
//!
//! The mean-estimation experiment of MeritFed (Tupitsa et al., 2024). "code" is what its figures were
//! made with: the loss averages over coordinates too (s = 1/d). "paper" is what its text says (s = 1).

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Batch, Constants, Exam, NonNegative, Objective, Precision, Rng, Rows, Shard, Vector};

use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::keys::keys;
use crate::source::{Material, Place};

keys! {
    /// Estimate a mean among groups of clients with other means; client 0 has extra validation data.
    pub struct MeanEstimation {
        /// Clients in each of the three groups: like the target, near it, far from it.
        pub groups: [u32; 3],
        /// μ: how far the second group's mean is.
        pub mu: NonNegative,
        /// d
        pub dim: NonZeroU32,
        /// Samples per client.
        pub samples: NonZeroU32,
        /// Validation samples of client 0; 0 unless told.
        #[serde(default)]
        pub validation: u32,
        /// "code" (as the figures were made, the default) or "paper" (as the text says).
        #[serde(default)]
        pub mode: MeanMode,
    }
}

/// Whose constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeanMode {
    /// As the released code has it.
    #[default]
    Code,
    /// As the paper's text has it.
    Paper,
}

impl MeanEstimation {
    pub(crate) fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        if self.groups[0] == 0 {
            let wanted = "at least one client in the first group, whose mean is estimated".into();
            return Err(ProblemError::Value { key: "source.groups", value: format!("{:?}", self.groups), wanted });
        }
        let dim = self.dim.get() as usize;
        let means = self.means(&mut dice::shared(place.seed, Step::Source));
        let scale = if self.mode == MeanMode::Code { 1.0 / dim as f64 } else { 1.0 };
        let groups = self.groups.iter().enumerate().flat_map(|(group, &clients)| std::iter::repeat_n(group, clients as usize));
        let shard = |(client, group): (usize, usize)| {
            let mut rng = dice::own(place.seed, Step::Source, client);
            let mut draw = |count: u32| Arc::new(Spread::draw(&means[group], count as usize, scale, &mut rng));
            let mut shard = Shard::new(draw(self.samples.get()));
            if client == 0 && self.validation > 0 {
                shard.validation = Some(draw(self.validation));
            }
            shard.test_exam = Some(Arc::new(Excess { mean: means[group].clone().into() }));
            shard
        };
        let shards = groups.enumerate().map(shard).collect();
        Ok(Material::Functions { shards, start: Vector::filled(dim, 1.0 / (dim as f64).sqrt(), Precision::F64) })
    }

    fn means(&self, rng: &mut Rng) -> [Vec<f64>; 3] {
        let dim = self.dim.get() as usize;
        let unit = |mut v: Vec<f64>| {
            let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            v.iter_mut().for_each(|v| *v /= length);
            v
        };
        let (near, far) = match self.mode {
            // In dimension 1 the alternating vector has no second entry to be 1.
            MeanMode::Code => (1.0 / (dim as f64).sqrt(), unit((0..dim).map(|j| if dim == 1 { 1.0 } else { (j % 2) as f64 }).collect())),
            MeanMode::Paper => (1.0, unit((0..dim).map(|_| rng.normal()).collect())),
        };
        [vec![0.0; dim], vec![*self.mu * near; dim], far]
    }
}

/// s/m Σⱼ |x − ξⱼ|² = s (|x − ξ̄|² + spread around ξ̄)
struct Spread {
    dim: usize,
    scale: f64,
    /// Sample after sample.
    points: Vec<f64>,
    /// ξ̄ and the spread of all samples, which most calls ask for.
    whole: (Vec<f64>, f64),
}

impl Spread {
    fn draw(mean: &[f64], count: usize, scale: f64, rng: &mut Rng) -> Self {
        let dim = mean.len();
        let points: Vec<f64> = (0..count).flat_map(|_| mean).map(|m| m + rng.normal()).collect();
        let whole = Self::around(&points, dim, 0..count);
        Self { dim, scale, points, whole }
    }

    /// The mean of some samples and their mean squared distance from it.
    fn around(points: &[f64], dim: usize, rows: impl ExactSizeIterator<Item = usize> + Clone) -> (Vec<f64>, f64) {
        let count = rows.len().max(1) as f64;
        let point = |row: usize| &points[row * dim..(row + 1) * dim];
        let mut mean = vec![0.0; dim];
        for row in rows.clone() {
            mean.iter_mut().zip(point(row)).for_each(|(m, p)| *m += p / count);
        }
        let squares = |row: usize| point(row).iter().zip(&mean).map(|(p, m)| (p - m) * (p - m)).sum::<f64>();
        let spread = rows.map(squares).sum::<f64>() / count;
        (mean, spread)
    }

    fn of(&self, rows: Rows<'_>) -> (std::borrow::Cow<'_, [f64]>, f64) {
        match rows {
            Rows::All => (self.whole.0.as_slice().into(), self.whole.1),
            Rows::Only(rows) => {
                let (mean, spread) = Self::around(&self.points, self.dim, rows.iter().map(|&row| row as usize));
                (mean.into(), spread)
            }
        }
    }
}

impl Objective for Spread {
    fn dim(&self) -> usize {
        self.dim
    }
    fn samples(&self) -> usize {
        self.points.len() / self.dim
    }
    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        let (mean, spread) = self.of(batch.rows);
        let distance2: f64 = x.f64s().iter().zip(&*mean).map(|(x, m)| (x - m) * (x - m)).sum();
        self.scale * (distance2 + spread)
    }
    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        let (mean, _) = self.of(batch.rows);
        for ((g, x), m) in g.f64s_mut().iter_mut().zip(x.f64s()).zip(&*mean) {
            *g = 2.0 * self.scale * (x - m);
        }
    }
    fn hessian_vector(&self, _x: &Vector, v: &Vector, _batch: Batch<'_>, out: &mut Vector) {
        out.copy_from(v);
        out.scale(2.0 * self.scale);
    }
    fn constants(&self) -> Constants {
        let curvature = Some(2.0 * self.scale);
        Constants { smoothness: curvature, convexity: curvature, sample_smoothness: curvature }
    }
}

/// |x − mᵢ|²: the excess risk, exactly.
struct Excess {
    mean: Vector,
}

impl Exam for Excess {
    fn examples(&self) -> usize {
        1
    }
    fn metrics(&self, x: &Vector, _buffers: Option<&Vector>) -> Vec<(&'static str, f64)> {
        vec![("excess", x.distance2(&self.mean))]
    }
}
