//! The gradients of a cohort as one matrix: a row per client.

use motet_core::{ClientId, Precision, Vector, View};

use super::columns;
use super::number::Number;

/// Rows gᵢ, by the client that sent each, in cohort order. Rows are kept where they arrived, unless they are brought together.
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    ids: Vec<ClientId>,
    rows: Vec<Vector>,
    /// The rows once more, one after another, if they were brought together.
    together: Option<Vector>,
}

impl Gradients {
    /// One more row.
    pub fn push(&mut self, client: ClientId, g: Vector) {
        self.ids.push(client);
        self.rows.push(g);
        self.together = None;
    }

    /// Copies short rows into one piece of memory: worth it where they lie far apart and are read often. Rows longer than
    /// a block of columns would gain nothing, and stay where they are.
    pub fn bring_together(mut self) -> Self {
        if self.rows.first().is_none_or(|g| g.len() > columns::BLOCK) {
            return self;
        }
        self.together = match self.slices() {
            Slices::F32(rows) => Some(rows.concat().into()),
            Slices::F64(rows) => Some(rows.concat().into()),
        };
        self
    }

    /// Whose the rows are.
    pub fn ids(&self) -> &[ClientId] {
        &self.ids
    }

    /// The clients' numbers, as places in a list of all clients.
    pub fn places(&self) -> Vec<usize> {
        self.ids.iter().map(|id| id.0 as usize).collect()
    }

    /// The rows.
    pub fn rows(&self) -> &[Vector] {
        &self.rows
    }

    /// The rows, to change.
    pub fn rows_mut(&mut self) -> &mut [Vector] {
        self.together = None;
        &mut self.rows
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row of one client.
    pub fn of(&self, client: ClientId) -> Option<&Vector> {
        self.ids.iter().position(|id| *id == client).map(|k| &self.rows[k])
    }

    /// x + a Σ wᵢ gᵢ, in one pass over the matrix.
    pub fn step(&self, x: &Vector, a: f64, w: &[f64]) -> Vector {
        let mut y = x.clone();
        self.add_to(&mut [(&mut y, w)], a);
        y
    }

    /// x + a Σ uᵢ gᵢ and x + a Σ vᵢ gᵢ, in one pass for both.
    pub fn two_steps(&self, x: &Vector, a: f64, u: &[f64], v: &[f64]) -> (Vector, Vector) {
        let (mut y, mut z) = (x.clone(), x.clone());
        self.add_to(&mut [(&mut y, u), (&mut z, v)], a);
        (y, z)
    }

    fn add_to(&self, sums: &mut [(&mut Vector, &[f64])], a: f64) {
        fn scaled<T: Number>(a: f64, w: &[f64]) -> Vec<T> {
            w.iter().map(|w| T::of(a * w)).collect()
        }
        if self.is_empty() {
            return;
        }
        match self.slices() {
            Slices::F32(rows) => columns::add(&rows, &mut sums.iter_mut().map(|(y, w)| (y.f32s_mut(), scaled(a, w))).collect::<Vec<_>>()),
            Slices::F64(rows) => columns::add(&rows, &mut sums.iter_mut().map(|(y, w)| (y.f64s_mut(), scaled(a, w))).collect::<Vec<_>>()),
        }
    }

    /// ⟨gᵢ, v⟩ for every i, in one pass over the matrix.
    pub fn inner(&self, v: &Vector) -> Vec<f64> {
        match (self.slices(), v.view()) {
            (Slices::F32(rows), View::F32(v)) => columns::inner(&rows, v),
            (Slices::F64(rows), View::F64(v)) => columns::inner(&rows, v),
            _ => self.rows.iter().map(|g| g.dot(v)).collect(), // panics: the precisions differ
        }
    }

    /// ⟨gᵢ, gⱼ⟩ for all i and j, row after row, in one pass over the matrix.
    pub fn gram(&self) -> Vec<f64> {
        match self.slices() {
            Slices::F32(rows) => columns::gram(&rows),
            Slices::F64(rows) => columns::gram(&rows),
        }
    }

    /// The rows as what they hold; all have the precision of the first.
    fn slices(&self) -> Slices<'_> {
        let dim = self.rows.first().map_or(0, Vector::len).max(1);
        match self.together.as_ref().map(Vector::view) {
            Some(View::F32(all)) => return Slices::F32(all.chunks_exact(dim).collect()),
            Some(View::F64(all)) => return Slices::F64(all.chunks_exact(dim).collect()),
            None => {}
        }
        if self.rows.first().is_some_and(|g| g.precision() == Precision::F32) {
            Slices::F32(self.rows.iter().map(Vector::f32s).collect())
        } else {
            Slices::F64(self.rows.iter().map(Vector::f64s).collect())
        }
    }
}

enum Slices<'a> {
    F32(Vec<&'a [f32]>),
    F64(Vec<&'a [f64]>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(i: usize, l: usize) -> f64 {
        ((7 * i + 3 * l) as f64).sin()
    }

    /// In either precision.
    fn matrices(n: usize, d: usize) -> [Gradients; 2] {
        let (mut wide, mut narrow) = (Gradients::default(), Gradients::default());
        for i in 0..n {
            wide.push(ClientId(i as u32), (0..d).map(|l| number(i, l)).collect::<Vec<f64>>().into());
            narrow.push(ClientId(i as u32), (0..d).map(|l| number(i, l) as f32).collect::<Vec<f32>>().into());
        }
        [wide, narrow]
    }

    #[test]
    fn blocks_give_what_whole_vectors_give() {
        for (n, d) in [(1, 1), (2, 7), (5, 10), (6, 4096), (7, 16385), (12, 9001), (11, 40001)] {
            for g in matrices(n, d).into_iter().flat_map(|g| [g.clone().bring_together(), g]) {
                let v = g.rows()[n - 1].clone();
                let (u, w): (Vec<f64>, Vec<f64>) = (0..n).map(|i| (0.5 - i as f64, 0.1 * i as f64)).unzip();
                let by_rows = |w: &[f64]| {
                    let mut y = v.clone();
                    g.rows().iter().zip(w).for_each(|(g, w)| y.axpy(-0.25 * w, g));
                    y
                };
                assert_eq!(g.step(&v, -0.25, &u), by_rows(&u), "{n} x {d}");
                assert_eq!(g.two_steps(&v, -0.25, &u, &w), (by_rows(&u), by_rows(&w)), "{n} x {d}");
                // Sums of at most 40001 products below 1, in two orders; single precision rounds runs of 32 of them.
                let close = if g.rows()[0].precision() == Precision::F32 { 1e-3 } else { 1e-10 };
                for (ours, row) in g.inner(&v).iter().zip(g.rows()) {
                    assert!((ours - row.dot(&v)).abs() < close, "{n} x {d}");
                }
                let gram = g.gram();
                assert_eq!(gram.len(), n * n);
                for (k, ours) in gram.iter().enumerate() {
                    assert!((ours - g.rows()[k / n].dot(&g.rows()[k % n])).abs() < close, "{n} x {d}");
                }
            }
        }
        let x = Vector::from(vec![1.0f32]);
        assert_eq!(Gradients::default().step(&x, 1.0, &[]), x, "of nobody, nothing is added");
    }
}
