//! A linear model with any loss on its scores, as an objective: the wrapper that every loss shares.

use std::sync::OnceLock;

use motet_core::{Batch, Constants, Rows, Vector};

use super::gather::Gathers;
use super::product::{self, Picked};
use super::scratch::with_list;
use super::spectrum::{Ends, spectrum};
use super::{Arc, Examples, Objective, Range};

/// How a model's scores on one example are judged.
pub(super) trait Loss: Send + Sync + 'static {
    /// ℓ(s)
    fn value(&self, target: f64, scores: &[f64]) -> f64;
    /// s ← ∇ℓ(s)
    fn slope(&self, target: f64, scores: &mut [f64]);
    /// v ← ∇²ℓ(s) v
    fn bend(&self, target: f64, scores: &[f64], direction: &mut [f64]);
    /// Bounds on the eigenvalues of ∇²ℓ over all s.
    fn curvature(&self) -> Curvature;
    /// `slope` of many examples at once.
    fn slopes(&self, targets: &[f64], scores: &mut [f64]) {
        let outputs = scores.len() / targets.len().max(1);
        for (target, scores) in targets.iter().zip(scores.chunks_exact_mut(outputs.max(1))) {
            self.slope(*target, scores);
        }
    }
}

/// least · I ≤ ∇²ℓ ≤ most · I
#[derive(Clone, Copy, Debug)]
pub(super) struct Curvature {
    pub least: f64,
    pub most: f64,
}

/// How the coordinates of x are laid out: one block of `width` per score.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Scores per example.
    pub outputs: usize,
    /// Is there a column of ones in front?
    pub intercept: bool,
    /// Coefficients per score.
    pub width: usize,
}

impl Shape {
    pub(super) fn new(data: &Examples, outputs: usize, intercept: bool) -> Self {
        Self { outputs, intercept, width: data.features().cols() + usize::from(intercept) }
    }

    pub(super) fn dim(&self) -> usize {
        self.outputs.saturating_mul(self.width)
    }
}

/// f(x) = (1/m) Σ ℓ(bⱼ, scoresⱼ(x)) + (λ/2)|x|²
pub(super) struct Linear<L> {
    loss: L,
    shape: Shape,
    l2: f64,
    /// L = c·λ_max(XᵀX)/m + λ·this; 1 but for the released code's formula.
    regulariser_in_smoothness: f64,
    data: Arc<Examples>,
    rows: Range<usize>,
    constants: OnceLock<Constants>,
    /// The fast layout of index-only features, made when all examples are first asked for; None if they are not of that kind.
    gathers: OnceLock<Option<Gathers>>,
}

/// Examples per pass: scores and slopes of a block stay in the first cache.
const BLOCK: usize = 512;

impl<L: Loss> Linear<L> {
    pub(super) fn new(loss: L, shape: Shape, l2: f64, data: Arc<Examples>, rows: Range<usize>) -> Self {
        Self { loss, shape, l2, regulariser_in_smoothness: 1.0, data, rows, constants: OnceLock::new(), gathers: OnceLock::new() }
    }

    /// The released FLIX code's L, in which λ is divided by 4m.
    pub(super) fn with_regulariser_divided(mut self) -> Self {
        self.regulariser_in_smoothness = self.loss.curvature().most / self.rows.len().max(1) as f64;
        self
    }

    fn picked<'a>(&self, batch: &Batch<'a>) -> Picked<'a> {
        match batch.rows {
            Rows::All => Picked::Range(self.rows.clone()),
            Rows::Only(list) => Picked::List { within: self.rows.clone(), list },
        }
    }

    /// Runs `each` on blocks of rows with their targets and scores.
    fn blocks(&self, x: &Vector, batch: &Batch<'_>, mut each: impl FnMut(&Picked<'_>, &[f64], &mut [f64])) {
        let x = x.f64s();
        assert_eq!(x.len(), self.shape.dim(), "dimensions agree");
        let picked = self.picked(batch);
        let size = if self.gathers(&picked).is_some() { picked.len() } else { BLOCK.min(picked.len()) };
        with_list(|scores| {
            scores.resize(size * self.shape.outputs, 0.0);
            with_list(|listed| {
                for block in picked.blocks(size.max(1)) {
                    let scores = &mut scores[..block.len() * self.shape.outputs];
                    self.scores(&block, x, scores);
                    let targets = block.targets(self.data.targets(), listed);
                    each(&block, targets, scores);
                }
            });
        });
    }

    fn scores(&self, block: &Picked<'_>, x: &[f64], out: &mut [f64]) {
        match self.gathers(block) {
            Some(gathers) => gathers.scores(x, out),
            None => product::scores(&self.data, &self.shape, block, x, out),
        }
    }

    fn accumulate(&self, block: &Picked<'_>, weights: &[f64], g: &mut [f64]) {
        match self.gathers(block) {
            Some(gathers) => gathers.accumulate(weights, g),
            None => product::accumulate(&self.data, &self.shape, block, weights, g),
        }
    }

    /// The fast layout, if the block is all there is and has one score an example.
    fn gathers(&self, block: &Picked<'_>) -> Option<&Gathers> {
        let all = matches!(block, Picked::Range(rows) if *rows == self.rows) && self.shape.outputs == 1;
        let make = || Gathers::new(self.data.features(), self.rows.clone(), self.shape.intercept);
        if all { self.gathers.get_or_init(make).as_ref() } else { None }
    }

    /// Σ over the block's examples of ℓ
    fn block_value(&self, targets: &[f64], scores: &[f64]) -> f64 {
        targets.iter().zip(scores.chunks_exact(self.shape.outputs.max(1))).map(|(t, s)| self.loss.value(*t, s)).sum()
    }

    fn share(&self, batch: &Batch<'_>) -> f64 {
        1.0 / self.picked(batch).len().max(1) as f64
    }

    /// g ← g·share + λx, which ends every sum over examples.
    fn finish(&self, share: f64, x: &Vector, g: &mut [f64]) {
        for (g, x) in g.iter_mut().zip(x.f64s()) {
            *g = *g * share + self.l2 * x;
        }
    }
}

impl<L: Loss> Objective for Linear<L> {
    fn dim(&self) -> usize {
        self.shape.dim()
    }

    fn samples(&self) -> usize {
        self.rows.len()
    }

    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        let mut sum = 0.0;
        self.blocks(x, &batch, |_, targets, scores| sum += self.block_value(targets, scores));
        sum * self.share(&batch) + 0.5 * self.l2 * x.norm2()
    }

    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        let g = g.f64s_mut();
        g.fill(0.0);
        self.blocks(x, &batch, |block, targets, scores| {
            self.loss.slopes(targets, scores);
            self.accumulate(block, scores, g);
        });
        self.finish(self.share(&batch), x, g);
    }

    fn value_gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) -> f64 {
        let g = g.f64s_mut();
        g.fill(0.0);
        let mut sum = 0.0;
        self.blocks(x, &batch, |block, targets, scores| {
            sum += self.block_value(targets, scores);
            self.loss.slopes(targets, scores);
            self.accumulate(block, scores, g);
        });
        self.finish(self.share(&batch), x, g);
        sum * self.share(&batch) + 0.5 * self.l2 * x.norm2()
    }

    fn hessian_vector(&self, x: &Vector, v: &Vector, batch: Batch<'_>, out: &mut Vector) {
        let out = out.f64s_mut();
        out.fill(0.0);
        let mut directions = Vec::new();
        self.blocks(x, &batch, |block, targets, scores| {
            directions.resize(scores.len(), 0.0);
            self.scores(block, v.f64s(), &mut directions);
            let outputs = self.shape.outputs.max(1);
            for (i, target) in targets.iter().enumerate() {
                let these = i * outputs..(i + 1) * outputs;
                self.loss.bend(*target, &scores[these.clone()], &mut directions[these]);
            }
            self.accumulate(block, &directions, out);
        });
        self.finish(self.share(&batch), v, out);
    }

    fn constants(&self) -> Constants {
        *self.constants.get_or_init(|| self.measure())
    }

    fn quadratic(&self) -> bool {
        let Curvature { least, most } = self.loss.curvature();
        least == most
    }
}

impl<L: Loss> Linear<L> {
    fn measure(&self) -> Constants {
        let Curvature { least, most } = self.loss.curvature();
        let m = self.rows.len().max(1) as f64;
        // One score's XᵀX; the Hessian of several is bounded by the same matrix, block by block.
        let one = Shape { outputs: 1, ..self.shape };
        let wanted = if least > 0.0 { Ends::Both } else { Ends::Largest };
        let spectrum = spectrum(one.width, wanted, |v, out| {
            out.fill(0.0);
            let mut scores = vec![0.0; BLOCK];
            for block in Picked::Range(self.rows.clone()).blocks(BLOCK) {
                let scores = &mut scores[..block.len()];
                product::scores(&self.data, &one, &block, v, scores);
                product::accumulate(&self.data, &one, &block, scores, out);
            }
        });
        // XᵀX of fewer rows than columns is singular; rounding must not make it look otherwise.
        let smallest = if self.rows.len() < one.width { 0.0 } else { spectrum.smallest.unwrap_or(0.0).max(0.0) };
        let ones = f64::from(u8::from(self.shape.intercept));
        let longest = self.rows.clone().map(|r| product::row_norm2(self.data.features(), r) + ones).fold(0.0, f64::max);
        Constants {
            smoothness: Some(most * spectrum.largest / m + self.l2 * self.regulariser_in_smoothness),
            convexity: Some(least * smallest / m + self.l2),
            sample_smoothness: Some(most * longest + self.l2),
        }
    }
}
