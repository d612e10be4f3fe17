//! A client's place of work: its data, its dice, its meter.

use crate::algorithm::ClientId;
use crate::memo::{Archive, Memo};
use crate::objective::{Batch, Compact, Constants, Objective, Rows, Step};
use crate::seed::{Noise, Purpose, Rng, Seed};
use crate::vector::Update;
use crate::vector::{Precision, Vector};

/// What a client computed, in examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Examples differentiated. A Hessian-vector product counts as two gradients.
    pub gradients: u64,
    /// Examples evaluated.
    pub values: u64,
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.gradients += other.gradients;
        self.values += other.values;
    }
}

/// Everything that client code may use while it answers one ask. Test data is not here.
#[derive(Debug)]
pub struct Site<'a> {
    /// The client that works here.
    pub id: ClientId,
    /// fᵢ
    pub train: Meter<'a>,
    /// The same function on data held out for choosing; absent if none was.
    pub validation: Option<Meter<'a>>,
    /// Dice of (run, round, attempt, exchange, client).
    pub rng: Rng,
    /// Of the run: for what a client draws once and keeps for all rounds.
    pub seed: Seed,
    /// The rate of local steps as the server says, while a model is made to be deployed: see
    /// [`Algorithm::local_rate`](crate::Algorithm::local_rate).
    pub rate: Option<f64>,
    /// The model's own numbers that are never shared.
    pub buffers: &'a mut Option<Vector>,
    pub(crate) memo: &'a Memo,
    pub(crate) memo_work: Work,
}

impl Site<'_> {
    /// A vector that depends on this client's data alone, such as xᵢ*: made once per problem,
    /// client and `key`, and shared by all runs. The dice passed to `make` depend on the client only.
    ///
    /// Its work is booked at the client's first moment, in every run alike, whoever made it.
    pub fn once(&mut self, key: u64, make: impl FnOnce(&mut Meter<'_>, Option<&mut Meter<'_>>, &mut Rng) -> Vector) -> Vector {
        let (id, objective, validation) = (self.id, self.train.objective, self.validation.as_ref().map(|v| v.objective));
        let sound = || !objective.has_failed() && !validation.is_some_and(|validation| validation.has_failed());
        let (vector, work) = self.memo.once(id, key, sound, |until| {
            let mut train = Meter { until, ..Meter::new(objective) };
            let mut check = validation.map(Meter::new);
            let mut rng = Seed(key).fixed(id, Purpose::Solve);
            let vector = make(&mut train, check.as_mut(), &mut rng);
            let mut work = train.work();
            work += check.map_or(Work::default(), |c| c.work());
            (vector, work)
        });
        self.memo_work += work;
        vector
    }

    /// Everything computed here, apart from shared solves.
    pub(crate) fn work(&self) -> Work {
        let mut work = self.train.work();
        work += self.validation.as_ref().map_or(Work::default(), Meter::work);
        work
    }
}

/// An objective that counts how many examples were evaluated and differentiated.
pub struct Meter<'a> {
    objective: &'a dyn Objective,
    work: Work,
    /// Key of dropout and augmentation; each differentiation takes the next.
    noise: Option<Noise>,
    /// Who may say that it is enough.
    until: Option<&'a dyn Archive>,
}

impl std::fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter").field("work", &self.work).finish_non_exhaustive()
    }
}

impl<'a> Meter<'a> {
    /// A fresh meter.
    pub fn new(objective: &'a dyn Objective) -> Self {
        Self { objective, work: Work::default(), noise: None, until: None }
    }

    pub(crate) fn noisy(objective: &'a dyn Objective, noise: Noise) -> Self {
        Self { noise: Some(noise), ..Self::new(objective) }
    }

    /// d
    pub fn dim(&self) -> usize {
        self.objective.dim()
    }

    /// How many examples there are.
    pub fn samples(&self) -> usize {
        self.objective.samples()
    }

    /// Width of the parameters.
    pub fn precision(&self) -> Precision {
        self.objective.precision()
    }

    /// Where a client that solves on its own begins.
    pub fn start(&self) -> Vector {
        self.objective.start()
    }

    /// L and μ.
    pub fn constants(&self) -> Constants {
        self.objective.constants()
    }

    /// What was asked so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// ∇f(x) on all examples.
    pub fn gradient(&mut self, x: &Vector) -> Vector {
        let mut g = x.zeros_like();
        self.gradient_into(x, Rows::All, &mut g);
        g
    }

    /// Writes ∇f(x; rows) into `g`.
    pub fn gradient_into(&mut self, x: &Vector, rows: Rows<'_>, g: &mut Vector) {
        if self.is_over() {
            return g.fill(0.0);
        }
        let batch = self.batch(rows, 1);
        self.objective.gradient(x, batch, g);
    }

    /// ∇f(x; rows) for several x.
    pub fn gradients(&mut self, xs: &[Vector], rows: Rows<'_>) -> Vec<Vector> {
        let batch = self.batch(rows, xs.len() as u64);
        self.objective.gradients(xs, batch)
    }

    /// Writes ∇f(x; rows) into `g` and updates the model's unshared numbers.
    pub fn train_into(&mut self, x: &Vector, rows: Rows<'_>, buffers: &mut Option<Vector>, g: &mut Vector) {
        let mut batch = self.batch(rows, 1);
        batch.buffers = buffers.as_mut();
        self.objective.gradient(x, batch, g);
    }

    /// y ← y − rate ∇f(y; rows), and updates the model's unshared numbers. The gradient is made in `spare` only where it has to be.
    pub fn step(&mut self, y: &mut Vector, rows: Rows<'_>, buffers: &mut Option<Vector>, rate: f64, spare: &mut Option<Vector>) {
        let mut batch = self.batch(rows, 1);
        batch.buffers = buffers.as_mut();
        self.objective.descend(y, batch, rate, spare);
    }

    /// x ← what `step` makes of x and ∇f(x; rows), part by part, and updates the model's unshared numbers. The gradient is made in
    /// `spare` only where it does not come in parts.
    pub fn step_by(
        &mut self,
        x: &mut Vector,
        rows: Rows<'_>,
        buffers: &mut Option<Vector>,
        spare: &mut Option<Vector>,
        step: &mut Step<'_>,
    ) {
        let mut batch = self.batch(rows, 1);
        batch.buffers = buffers.as_mut();
        self.objective.step_by(x, batch, spare, step);
    }

    /// ∇f(x; rows), by rows of the model where few are touched.
    pub fn update(&mut self, x: &Vector, rows: Rows<'_>) -> Update {
        let batch = self.batch(rows, 1);
        self.objective.update(x, batch)
    }

    /// The function of the few rows of a model that it depends on, if they are few.
    pub fn compact(&self) -> Option<Compact> {
        self.objective.compact()
    }

    /// y ← y − rate ∇f(y; rows) on the rows of a model that [`Meter::compact`] names.
    pub fn descend(&mut self, on: &Compact, y: &mut Vector, rows: Rows<'_>, rate: f64) {
        let batch = self.batch(rows, 1);
        on.objective.descend(y, batch, rate, &mut None);
    }

    /// f(x; rows), as in evaluation.
    pub fn value(&mut self, x: &Vector, rows: Rows<'_>) -> f64 {
        self.work.values += self.touched(rows);
        self.objective.value(x, Batch { rows, ..Batch::all() })
    }

    /// ∇²f(x; rows)·v into `out`.
    pub fn hessian_vector(&mut self, x: &Vector, v: &Vector, rows: Rows<'_>, out: &mut Vector) {
        if self.is_over() {
            return out.fill(0.0);
        }
        let batch = self.batch(rows, 2);
        self.objective.hessian_vector(x, v, batch, out);
    }

    /// Was it said that a solve has taken long enough?
    fn is_over(&self) -> bool {
        self.until.is_some_and(Archive::is_enough)
    }

    fn touched(&self, rows: Rows<'_>) -> u64 {
        match rows {
            Rows::All => self.objective.samples() as u64,
            Rows::Only(rows) => rows.len() as u64,
        }
    }

    fn batch<'b>(&mut self, rows: Rows<'b>, gradients: u64) -> Batch<'b> {
        self.work.gradients += gradients * self.touched(rows);
        let noise = self.noise;
        self.noise = noise.map(Noise::next);
        Batch { rows, noise, buffers: None }
    }
}
