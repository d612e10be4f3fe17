//! Local objectives: fᵢ as the algorithms see it.

use std::sync::Arc;

use crate::seed::Noise;
use crate::vector::Update;
use crate::vector::{Precision, Vector, View};

/// A client's local function fᵢ and what is known about it.
///
/// Algorithms are written for functions, not for networks or data sets: a quadratic with a known
/// answer and a neural network are the same thing to them.
pub trait Objective: Send + Sync {
    /// d
    fn dim(&self) -> usize;
    /// How many examples fᵢ averages over; 1 for a function without data.
    fn samples(&self) -> usize;
    /// Width of the parameters.
    fn precision(&self) -> Precision {
        Precision::F64
    }
    /// f(x; batch)
    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64;
    /// Writes ∇f(x; batch) into `g`.
    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector);
    /// Both at once, where that is cheaper.
    fn value_gradient(&self, x: &Vector, mut batch: Batch<'_>, g: &mut Vector) -> f64 {
        let value = self.value(x, batch.again());
        self.gradient(x, batch, g);
        value
    }
    /// ∇f(x; batch) for several x, where going through the examples once is cheaper.
    fn gradients(&self, xs: &[Vector], mut batch: Batch<'_>) -> Vec<Vector> {
        let mut gs: Vec<Vector> = xs.iter().map(Vector::zeros_like).collect();
        xs.iter().zip(&mut gs).for_each(|(x, g)| self.gradient(x, batch.again(), g));
        gs
    }
    /// ∇f(x; batch), by rows where the model knows that few are touched.
    fn update(&self, x: &Vector, batch: Batch<'_>) -> Update {
        let mut g = x.zeros_like();
        self.gradient(x, batch, &mut g);
        g.into()
    }
    /// x ← what `step` makes of x and ∇f(x; batch). Whoever has the gradient in parts hands over one after another, so that nobody
    /// brings them together first; otherwise it is made in `spare`.
    fn step_by(&self, x: &mut Vector, batch: Batch<'_>, spare: &mut Option<Vector>, step: &mut Step<'_>) {
        let g = spare.get_or_insert_with(|| x.zeros_like());
        self.gradient(x, batch, g);
        step(x, 0, g.view());
    }
    /// x ← x − rate ∇f(x; batch), where that is cheaper than making the gradient first; otherwise it is made in `spare`.
    fn descend(&self, x: &mut Vector, batch: Batch<'_>, rate: f64, spare: &mut Option<Vector>) {
        self.step_by(x, batch, spare, &mut |x, at, g| x.axpy_at(at, -rate, g));
    }
    /// The same function of those rows of x alone that it depends on, where these are few.
    fn compact(&self) -> Option<Compact> {
        None
    }
    /// ∇²f(x; batch)·v; central differences of gradients unless the model knows better.
    fn hessian_vector(&self, x: &Vector, v: &Vector, mut batch: Batch<'_>, out: &mut Vector) {
        let length = v.norm();
        if length == 0.0 {
            return out.fill(0.0);
        }
        // Balances truncation (h²) against rounding (ε/h) of a central difference.
        let epsilon: f64 = if x.precision() == Precision::F32 { f32::EPSILON.into() } else { f64::EPSILON };
        let h = epsilon.cbrt() * (1.0 + x.norm()) / length;
        let (mut ahead, mut behind, mut g) = (x.clone(), x.clone(), x.zeros_like());
        ahead.axpy(h, v);
        behind.axpy(-h, v);
        self.gradient(&ahead, batch.again(), out);
        self.gradient(&behind, batch, &mut g);
        out.axpy(-1.0, &g);
        out.scale(0.5 / h);
    }
    /// Where a client that solves on its own begins: zeros, unless the model knows that as a bad place.
    fn start(&self) -> Vector {
        Vector::zeros(self.dim(), self.precision())
    }
    /// L and μ, where theory knows them; step size rules ask here.
    fn constants(&self) -> Constants {
        Constants::default()
    }
    /// Is ∇²f the same everywhere? The theory of local updates on quadratics then applies.
    fn quadratic(&self) -> bool {
        false
    }
    /// Numbers the model keeps that are never shared (batch-norm statistics), at their start.
    fn buffers(&self) -> Option<Vector> {
        None
    }
    /// Has a call failed, so that what was given instead means nothing? What was made with it is then not kept for other runs.
    fn has_failed(&self) -> bool {
        false
    }
}

/// Changes x by a part of a gradient at x, whose first number belongs to the given place.
pub type Step<'a> = dyn FnMut(&mut Vector, usize, View<'_>) + 'a;

/// A function of some rows of a model: what a client needs of a model that is mostly about others.
#[derive(Clone)]
pub struct Compact {
    /// Which rows, ascending.
    pub rows: Vec<u32>,
    /// Numbers in a row.
    pub width: usize,
    /// The function of these rows, one after another.
    pub objective: Arc<dyn Objective>,
}

/// What one call of an oracle touches.
#[derive(Debug, Default)]
pub struct Batch<'a> {
    /// Which examples.
    pub rows: Rows<'a>,
    /// The dice of dropout and augmentation; their absence means evaluation.
    pub noise: Option<Noise>,
    /// The model's own unshared numbers, if it has any.
    pub buffers: Option<&'a mut Vector>,
}

/// Which examples a call touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows<'a> {
    /// Every one.
    #[default]
    All,
    /// These, possibly repeated, each weighted alike.
    Only(&'a [u32]),
}

impl<'a> Batch<'a> {
    /// Every example, as in evaluation.
    pub fn all() -> Self {
        Self::default()
    }

    /// The given examples, as in evaluation.
    pub fn of(rows: &'a [u32]) -> Self {
        Self { rows: Rows::Only(rows), noise: None, buffers: None }
    }

    /// The same batch once more.
    pub fn again(&mut self) -> Batch<'_> {
        Batch { rows: self.rows, noise: self.noise, buffers: self.buffers.as_deref_mut() }
    }
}

/// What theory knows about a function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Constants {
    /// L: ∇f is L-Lipschitz.
    pub smoothness: Option<f64>,
    /// μ: f is μ-strongly convex; zero for convex.
    pub convexity: Option<f64>,
    /// The largest L of a single example's function, which single-sample methods need.
    pub sample_smoothness: Option<f64>,
}
