//! The best weights for a step, by entropic mirror descent on the target's validation loss.
//!
//! ```text
//! minimise φ(w) = f̂(x − γ Σ wᵢ gᵢ) over the simplex:   wᵢ ∝ wᵢ exp(−η ∂φ/∂wᵢ)
//! md, smd    ∂φ/∂wᵢ = −γ ⟨∇f̂(y), gᵢ⟩,   y = x − γ Σ wᵢ gᵢ
//! zeroth     ∂φ/∂w ≈ (m/2h) (φ(w + h e) − φ(w − h e)) e,   e uniform on the unit sphere of ℝᵐ
//! gram       ∂φ/∂wᵢ = −γ (⟨∇f̂(x), gᵢ⟩ − γ c Σ ⟨gᵢ, gⱼ⟩ wⱼ),   where ∇²f̂ = c I
//! ```
//!
//! In general y must be made before the target can answer, and inner products after: two passes over the gradients per
//! step. A loss whose Hessian is c I (a mean squared distance) needs inner products only: those of the gradients with each
//! other are taken once a round, and a step costs the pass that multiplies with a new slope (`smd`), or none (`md`, where
//! the slope at x is the same in all steps and asked for once).

use motet_core::{Abort, NonNegative, Positive, Rng, Unsuitable, Vector};
use serde::{Deserialize, Serialize};

use crate::parts::questions::{Ask, Reply, Validation, unable};
use crate::parts::{BatchSize, Gradients, MOST_STEPS, Simplex};

/// How weights are sought.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mirror {
    /// What is asked of the target.
    #[serde(default)]
    pub kind: MirrorKind,
    /// Steps per round.
    #[serde(default = "ten")]
    pub steps: u32,
    /// η
    pub rate: NonNegative,
    /// Validation examples per question (default all).
    #[serde(default)]
    pub batch: BatchSize,
    /// h: half the distance of the two points of `zeroth`.
    #[serde(default = "narrow")]
    pub width: Positive,
    /// Does a round begin with the weights of the last? Else they begin equal.
    #[serde(default = "yes")]
    pub warm: bool,
    /// Average the weights inside a round: w ← (t w + w_new)/(t + 1).
    #[serde(default)]
    pub average: bool,
    /// Keep inner products, where ∇²f̂ = c I: the same weights with fewer questions and passes.
    #[serde(default)]
    pub gram: bool,
    /// Smaller steps from some round on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damp: Option<Damp>,
}

/// What is asked of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MirrorKind {
    /// The slope on all of its validation data.
    #[default]
    Md,
    /// The slope on a batch.
    Smd,
    /// Two values.
    Zeroth,
}

/// Smaller steps late in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Damp {
    /// Rounds before it sets in.
    pub after: u64,
    /// The rate is divided by this.
    pub by: std::num::NonZeroU32,
}

fn ten() -> u32 {
    10
}

fn narrow() -> Positive {
    Positive::new(1e-3).expect("0.001 is positive")
}

fn yes() -> bool {
    true
}

impl Mirror {
    /// A search that begins with these weights.
    pub fn search(&self, from: Simplex, round: u64) -> Search<'_> {
        let damped = self.damp.filter(|damp| round > damp.after).map_or(1.0, |damp| f64::from(damp.by.get()));
        let w = if self.warm { from } else { Simplex::uniform(from.len()) };
        Search { mirror: self, rate: *self.rate / damped, taken: 0, w, towards: vec![], gram: vec![] }
    }

    /// Do its settings go together, and with the data that the target judges by?
    pub fn suits(&self, validation: Validation) -> Result<(), Unsuitable> {
        Unsuitable::beyond("mirror.steps", self.steps, MOST_STEPS)?;
        let (md, all) = (self.kind == MirrorKind::Md, self.batch == BatchSize::All);
        let md_batch = "mirror.kind = \"md\" looks at all validation data: leave mirror.batch out, or take \"smd\"";
        Unsuitable::when(md && !all, md_batch)?;
        let zeroth_gram = "mirror.kind = \"zeroth\" asks for values, not slopes: leave mirror.gram out, or take \"md\" or \"smd\"";
        Unsuitable::when(self.gram && self.kind == MirrorKind::Zeroth, zeroth_gram)?;
        let needs = if md { "mirror.kind = \"smd\" and mirror.batch" } else { "mirror.batch" };
        let fresh = format!("validation = \"fresh\" draws a new batch for every question: give {needs}");
        Unsuitable::when(validation == Validation::Fresh && all, fresh)
    }
}

/// The search for one target's weights, between two questions.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    mirror: &'a Mirror,
    rate: f64,
    /// Steps taken.
    taken: u32,
    w: Simplex,
    /// e
    towards: Vec<f64>,
    /// ⟨gᵢ, gⱼ⟩, row after row, once they are needed
    gram: Vec<f64>,
}

impl Search<'_> {
    /// The weights found so far.
    pub fn weights(&self) -> &Simplex {
        &self.w
    }

    /// What to ask the target next; nothing once all steps are taken.
    pub fn question(&mut self, x: &Vector, step: f64, gradients: &Gradients, rng: &mut Rng) -> Option<Ask> {
        if self.taken == self.mirror.steps {
            return None;
        }
        if self.mirror.gram {
            return Some(Ask::Describe { x: x.clone() });
        }
        let w = self.w.weights();
        if self.mirror.kind != MirrorKind::Zeroth {
            return Some(Ask::Validate { y: gradients.step(x, -step, &w) });
        }
        self.towards = on_sphere(w.len(), rng);
        let moved = |h: f64| w.iter().zip(&self.towards).map(|(w, e)| w + h * e).collect::<Vec<_>>();
        let h = *self.mirror.width;
        // Off the simplex on purpose: φ is defined there, and the difference is central.
        let (ahead, behind) = gradients.two_steps(x, -step, &moved(h), &moved(-h));
        Some(Ask::Compare { ahead, behind })
    }

    /// Learns from the answer of a target.
    pub fn learn(&mut self, target: u32, step: f64, gradients: &Gradients, reply: &Reply) -> Result<(), Abort> {
        match reply {
            Reply::Slope { v } => self.mirror_step(gradients.inner(v).into_iter().map(|s| self.rate * step * s).collect()),
            Reply::Values { ahead, behind } => {
                let slope = estimate(*ahead, *behind, *self.mirror.width, &self.towards);
                self.mirror_step(slope.into_iter().map(|g| -self.rate * g).collect());
            }
            Reply::Shape { v, curvature: Some(c) } => {
                if self.gram.is_empty() {
                    self.gram = gradients.gram();
                }
                let at_x = gradients.inner(v);
                // The slope on all data is the same in every step: no need to ask again.
                let steps = if self.mirror.kind == MirrorKind::Md { self.mirror.steps - self.taken } else { 1 };
                for _ in 0..steps {
                    let w = self.w.weights();
                    let bent = self.gram.chunks_exact(w.len().max(1)).map(|row| row.iter().zip(&w).map(|(k, w)| k * w).sum::<f64>());
                    let exponents = at_x.iter().zip(bent).map(|(s, bent)| self.rate * step * (s - step * c * bent)).collect();
                    self.mirror_step(exponents);
                }
            }
            Reply::Shape { curvature: None, .. } => {
                return Err(Abort::Unsuited(format!(
                    "mirror.gram needs a validation loss whose Hessian is a multiple of the identity, and that of client {target} is not \
                     known to be: leave mirror.gram out"
                )));
            }
            _ => return Err(unable(target)),
        }
        Ok(())
    }

    /// The new weights, by exponents −η ∂φ/∂wᵢ.
    fn mirror_step(&mut self, exponents: Vec<f64>) {
        let before = self.mirror.average.then(|| self.w.clone());
        self.w.multiply(&exponents);
        if let Some(mut average) = before {
            average.mix(1.0 / f64::from(self.taken + 1), &self.w);
            self.w = average;
        }
        self.taken += 1;
    }
}

/// (m/2h) (φ(w + h e) − φ(w − h e)) e
pub fn estimate(ahead: f64, behind: f64, h: f64, e: &[f64]) -> Vec<f64> {
    let along = e.len() as f64 * (ahead - behind) / (2.0 * h);
    e.iter().map(|e| along * e).collect()
}

/// Uniform on the unit sphere of ℝᵐ.
pub fn on_sphere(m: usize, rng: &mut Rng) -> Vec<f64> {
    loop {
        let e: Vec<f64> = (0..m).map(|_| rng.normal()).collect();
        let length = e.iter().map(|e| e * e).sum::<f64>().sqrt();
        if length > 0.0 || m == 0 {
            return e.into_iter().map(|e| e / length).collect();
        }
    }
}
