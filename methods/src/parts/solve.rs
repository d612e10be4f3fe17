//! The pure local model xᵢ* = argmin fᵢ.

use std::num::NonZeroU32;

use motet_core::{ClientId, Meter, Positive, Purpose, Rng, Rows, Seed, Site, Vector};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::batches::BatchSize;

/// How a client solves for xᵢ*, and how well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Solve {
    /// By which method.
    pub kind: SolveKind,
    /// Until |∇fᵢ| is below this.
    pub to: Positive,
    /// In at most this many steps.
    pub steps: u32,
    /// The step of `gd` and `sgd`. If absent, 1/Lᵢ, and for `sgd` 1/L of single examples; where nothing is known, `gd`
    /// searches and `sgd` takes 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Positive>,
    /// Of `sgd`: at most this many passes over the examples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<NonZeroU32>,
    /// Of `sgd`: examples per step; 32 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchSize>,
    /// Stop once the validation loss has not fallen for this many steps (`sgd`: passes), and keep the best model seen.
    /// Without validation data this does nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience: Option<NonZeroU32>,
}

impl Serialize for Solve {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Solve::serialize(self, to)
    }
}

/// Fields that the kind has no use for are refused: whoever writes one believes that it does something.
impl<'de> Deserialize<'de> for Solve {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let solve = Solve::deserialize(from)?;
        let (steps, sgd) = (matches!(solve.kind, SolveKind::Gd | SolveKind::Sgd), solve.kind == SolveKind::Sgd);
        let fields = [
            ("step", solve.step.is_some() && !steps, "\"gd\" or \"sgd\""),
            ("epochs", solve.epochs.is_some() && !sgd, "\"sgd\""),
            ("batch", solve.batch.is_some() && !sgd, "\"sgd\""),
        ];
        match fields.iter().find(|(_, idle, _)| *idle) {
            Some((field, _, kinds)) => {
                Err(D::Error::custom(format!("{field} does nothing with kind = {}: it belongs to kind = {kinds}", solve.kind.name())))
            }
            None => Ok(solve),
        }
    }
}

impl SolveKind {
    /// As it is written, in quotes.
    fn name(self) -> &'static str {
        match self {
            SolveKind::Gd => "\"gd\"",
            SolveKind::Newton => "\"newton\"",
            SolveKind::LineSearch => "\"line-search\"",
            SolveKind::Sgd => "\"sgd\"",
        }
    }
}

/// Ways to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SolveKind {
    /// Gradient descent from the model's start, 0 where it is convex, with step 1/Lᵢ, or with a line search where Lᵢ is not known.
    Gd,
    /// Newton's method, each step solved by conjugate gradients: to machine precision.
    Newton,
    /// Gradient descent with a line search, whether or not Lᵢ is known.
    LineSearch,
    /// Stochastic gradient descent over shuffled batches; |∇fᵢ| is looked at after each pass.
    Sgd,
}

impl Default for Solve {
    /// As in the FLIX paper: gradient descent to 1e-6, at most 100,000 steps.
    fn default() -> Self {
        let to = Positive::new(1e-6).expect("1e-6 is positive");
        Self { kind: SolveKind::Gd, to, steps: 100_000, step: None, epochs: None, batch: None, patience: None }
    }
}

/// What a solve found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// xᵢ*
    pub x: Vector,
    /// Steps taken.
    pub steps: u32,
    /// |∇fᵢ| where the last step started, or, of `sgd`, after the last pass.
    pub gradient_norm: f64,
}

/// Watches the validation loss.
struct Watch<'a, 'b> {
    validation: Option<&'a mut Meter<'b>>,
    patience: u32,
    best: Option<(f64, Vector)>,
    worse: u32,
}

impl Watch<'_, '_> {
    /// Looks at x; true once patience is at its end.
    fn tired(&mut self, x: &Vector) -> bool {
        let Some(validation) = &mut self.validation else { return false };
        let value = validation.value(x, Rows::All);
        if self.best.as_ref().is_none_or(|(best, _)| value < *best) {
            (self.best, self.worse) = (Some((value, x.clone())), 0);
        } else {
            self.worse += 1;
        }
        self.worse >= self.patience
    }

    /// The best model seen, or the last one if nothing was watched.
    fn choose(self, last: Vector) -> Vector {
        self.best.map_or(last, |(_, x)| x)
    }
}

impl Solve {
    /// To machine precision, for tests and references.
    pub fn exactly() -> Self {
        Self { kind: SolveKind::Newton, to: Positive::new(1e-14).expect("1e-14 is positive"), steps: 200, ..Self::default() }
    }

    /// xᵢ*, solved once per problem, client and settings, and shared by all runs.
    pub fn optimum(&self, site: &mut Site<'_>) -> Vector {
        site.once(self.key(), |train, validation, rng| self.solve_with(train, validation, rng).x)
    }

    /// Solves now, without validation data and with fixed dice.
    pub fn solve(&self, f: &mut Meter<'_>) -> Solved {
        self.solve_with(f, None, &mut Seed(self.key()).fixed(ClientId(0), Purpose::Solve))
    }

    /// Solves now.
    pub fn solve_with(&self, f: &mut Meter<'_>, validation: Option<&mut Meter<'_>>, rng: &mut Rng) -> Solved {
        let start = f.start();
        let validation = validation.filter(|_| self.patience.is_some());
        let mut watch = Watch { validation, patience: self.patience.map_or(u32::MAX, NonZeroU32::get), best: None, worse: 0 };
        watch.tired(&start);
        let known = f.constants().smoothness.map(|l| 1.0 / l);
        let solved = match (self.kind, self.step.map(f64::from).or(known)) {
            (SolveKind::Gd, Some(step)) => self.descend(f, start, step, &mut watch),
            (SolveKind::Gd, None) | (SolveKind::LineSearch, _) => self.search(f, start, &mut watch),
            (SolveKind::Newton, _) => self.newton(f, start, &mut watch),
            (SolveKind::Sgd, _) => self.shuffle(f, start, rng, &mut watch),
        };
        Solved { x: watch.choose(solved.x), ..solved }
    }

    /// Settings in one number: equal settings share their solutions.
    fn key(&self) -> u64 {
        let batch = match self.batch {
            None => 0,
            Some(BatchSize::All) => u64::MAX,
            Some(BatchSize::Of(size)) => u64::from(size),
        };
        let count = |count: Option<NonZeroU32>| count.map_or(0, |c| u64::from(c.get()));
        let step = self.step.map_or(0, |step| step.to_bits());
        let fields = [self.kind as u64, self.to.to_bits(), u64::from(self.steps), step, count(self.epochs), batch, count(self.patience)];
        fields.iter().fold(0xCBF2_9CE4_8422_2325, |hash, field| (hash ^ field).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(29))
    }

    /// x ← x − γ ∇f(x; B), pass after pass.
    fn shuffle(&self, f: &mut Meter<'_>, mut x: Vector, rng: &mut Rng, watch: &mut Watch<'_, '_>) -> Solved {
        let constants = f.constants();
        let known = constants.sample_smoothness.or(constants.smoothness).map(|l| 1.0 / l);
        let step = self.step.map(f64::from).or(known).unwrap_or(0.1);
        let batch = self.batch.unwrap_or(BatchSize::Of(32));
        let (mut g, mut taken, mut norm) = (x.zeros_like(), 0, f64::INFINITY);
        for _ in 0..self.epochs.map_or(u32::MAX, NonZeroU32::get) {
            batch.pass(f.samples(), rng, |rows| {
                if taken < self.steps {
                    f.gradient_into(&x, rows, &mut g);
                    x.axpy(-step, &g);
                    taken += 1;
                }
            });
            f.gradient_into(&x, Rows::All, &mut g);
            norm = g.norm();
            if watch.tired(&x) || norm < *self.to || taken >= self.steps {
                break;
            }
        }
        Solved { x, steps: taken, gradient_norm: norm }
    }

    /// x ← x − γ ∇f(x). An iteration computes the gradient, steps, and then stops if it was small: the
    /// last step is counted, as in the released code.
    fn descend(&self, f: &mut Meter<'_>, mut x: Vector, step: f64, watch: &mut Watch<'_, '_>) -> Solved {
        let mut g = x.zeros_like();
        let (mut taken, mut norm) = (0, f64::INFINITY);
        while taken < self.steps && norm >= *self.to {
            f.gradient_into(&x, Rows::All, &mut g);
            x.axpy(-step, &g);
            norm = g.norm();
            taken += 1;
            if watch.tired(&x) {
                break;
            }
        }
        Solved { x, steps: taken, gradient_norm: norm }
    }

    /// Gradient descent whose step doubles after a success and halves until the Armijo condition holds.
    fn search(&self, f: &mut Meter<'_>, mut x: Vector, watch: &mut Watch<'_, '_>) -> Solved {
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
            if watch.tired(&x) {
                break;
            }
        }
        Solved { x, steps: taken, gradient_norm: norm }
    }

    /// x ← x − t (∇²f)⁻¹ ∇f, the step by conjugate gradients, t by backtracking.
    fn newton(&self, f: &mut Meter<'_>, mut x: Vector, watch: &mut Watch<'_, '_>) -> Solved {
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
            if watch.tired(&x) {
                break;
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
