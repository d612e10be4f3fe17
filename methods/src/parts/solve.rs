//! The pure local model xᵢ* = argmin fᵢ.

use motet_core::{Meter, Positive, Rows, Site, Vector};
use serde::{Deserialize, Serialize};

/// How a client solves for xᵢ*, and how well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Solve {
    /// By which method.
    pub kind: SolveKind,
    /// Until |∇fᵢ| is below this.
    pub to: Positive,
    /// In at most this many steps.
    pub steps: u32,
}

/// Ways to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SolveKind {
    /// Gradient descent from 0 with step 1/Lᵢ, or with a line search where Lᵢ is not known.
    Gd,
    /// Newton's method, each step solved by conjugate gradients: to machine precision.
    Newton,
}

impl Default for Solve {
    /// As in the FLIX paper: gradient descent to 1e-6, at most 100,000 steps.
    fn default() -> Self {
        Self { kind: SolveKind::Gd, to: Positive::new(1e-6).expect("1e-6 is positive"), steps: 100_000 }
    }
}

/// What a solve found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// xᵢ*
    pub x: Vector,
    /// Steps taken.
    pub steps: u32,
    /// |∇fᵢ| where the last step started.
    pub gradient_norm: f64,
}

impl Solve {
    /// To machine precision, for tests and references.
    pub fn exactly() -> Self {
        Self { kind: SolveKind::Newton, to: Positive::new(1e-14).expect("1e-14 is positive"), steps: 200 }
    }

    /// xᵢ*, solved once per problem, client and settings, and shared by all runs.
    pub fn optimum(&self, site: &mut Site<'_>) -> Vector {
        site.once(self.key(), |train, _, _| self.solve(train).x)
    }

    /// Solves now.
    pub fn solve(&self, f: &mut Meter<'_>) -> Solved {
        let start = Vector::zeros(f.dim(), f.precision());
        match (self.kind, f.constants().smoothness) {
            (SolveKind::Gd, Some(l)) => self.descend(f, start, 1.0 / l),
            (SolveKind::Gd, None) => self.search(f, start),
            (SolveKind::Newton, _) => self.newton(f, start),
        }
    }

    /// Settings in one number: equal settings share their solutions.
    fn key(&self) -> u64 {
        let fields = [self.kind as u64, self.to.to_bits(), u64::from(self.steps)];
        fields.iter().fold(0xCBF2_9CE4_8422_2325, |hash, field| (hash ^ field).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(29))
    }

    /// x ← x − γ ∇f(x). An iteration computes the gradient, steps, and then stops if it was small: the
    /// last step is counted, as in the released code (ALGORITHMS 1).
    fn descend(&self, f: &mut Meter<'_>, mut x: Vector, step: f64) -> Solved {
        let mut g = x.zeros_like();
        let (mut taken, mut norm) = (0, f64::INFINITY);
        while taken < self.steps && norm >= *self.to {
            f.gradient_into(&x, Rows::All, &mut g);
            x.axpy(-step, &g);
            norm = g.norm();
            taken += 1;
        }
        Solved { x, steps: taken, gradient_norm: norm }
    }

    /// Gradient descent whose step doubles after a success and halves until the Armijo condition holds.
    fn search(&self, f: &mut Meter<'_>, mut x: Vector) -> Solved {
        let (mut g, mut step, mut value) = (x.zeros_like(), 1.0, f.value(&x, Rows::All));
        let (mut taken, mut norm) = (0, f64::INFINITY);
        while taken < self.steps {
            f.gradient_into(&x, Rows::All, &mut g);
            norm = g.norm();
            taken += 1;
            if norm < *self.to {
                break;
            }
            let Some((next, lower, used)) = backtrack(f, &x, value, &g, -norm * norm, 2.0 * step) else { break };
            (x, value, step) = (next, lower, used);
        }
        Solved { x, steps: taken, gradient_norm: norm }
    }

    /// x ← x − t (∇²f)⁻¹ ∇f, the step by conjugate gradients, t by backtracking.
    fn newton(&self, f: &mut Meter<'_>, mut x: Vector) -> Solved {
        let (mut g, mut value) = (x.zeros_like(), f.value(&x, Rows::All));
        let (mut taken, mut norm) = (0, f64::INFINITY);
        while taken < self.steps {
            f.gradient_into(&x, Rows::All, &mut g);
            norm = g.norm();
            taken += 1;
            if norm < *self.to {
                break;
            }
            let direction = conjugate_gradients(f, &x, &g);
            match backtrack(f, &x, value, &direction, -g.dot(&direction), 1.0) {
                Some((next, lower, _)) => (x, value) = (next, lower),
                None => {
                    // Values no longer tell points apart; a full step still shrinks the gradient.
                    let mut next = x.clone();
                    next.axpy(-1.0, &direction);
                    let better = f.gradient(&next).norm() < norm;
                    if !better {
                        break;
                    }
                    x = next;
                }
            }
        }
        Solved { x, steps: taken, gradient_norm: norm }
    }
}

/// Solves ∇²f(x) p = g for p. Stops early on directions without curvature.
fn conjugate_gradients(f: &mut Meter<'_>, x: &Vector, g: &Vector) -> Vector {
    let (mut p, mut residual) = (x.zeros_like(), g.clone());
    let (mut direction, mut curved) = (g.clone(), x.zeros_like());
    let mut rest = residual.norm2();
    let goal = rest * 1e-24; // 1e-12 of |g|: below it the next Newton step starts anyway
    for _ in 0..4 * x.len() {
        if rest <= goal {
            break;
        }
        f.hessian_vector(x, &direction, Rows::All, &mut curved);
        let curvature = direction.dot(&curved);
        if curvature <= 0.0 {
            break;
        }
        let length = rest / curvature;
        p.axpy(length, &direction);
        residual.axpy(-length, &curved);
        let next = residual.norm2();
        direction.scale(next / rest);
        direction.axpy(1.0, &residual);
        rest = next;
    }
    if p.norm2() == 0.0 { g.clone() } else { p }
}

/// Halves `step` until moving against `direction` lowers f as the slope promises.
fn backtrack(f: &mut Meter<'_>, x: &Vector, value: f64, direction: &Vector, slope: f64, mut step: f64) -> Option<(Vector, f64, f64)> {
    for _ in 0..60 {
        let mut next = x.clone();
        next.axpy(-step, direction);
        let lower = f.value(&next, Rows::All);
        if lower < value && lower <= value + 1e-4 * step * slope {
            return Some((next, lower, step));
        }
        step *= 0.5;
    }
    None
}
