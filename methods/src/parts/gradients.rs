//! The gradients of a cohort as one matrix: a row per client.

use motet_core::{ClientId, Vector, View, ViewMut};

/// Columns that are worked on together: a block of the result stays in the first-level cache while each row is read
/// once from memory.
const BLOCK: usize = 1024;

/// Rows gᵢ, by the client that sent each, in cohort order. Rows are kept where they arrived: nothing is copied.
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    ids: Vec<ClientId>,
    rows: Vec<Vector>,
}

impl Gradients {
    /// One more row.
    pub fn push(&mut self, client: ClientId, g: Vector) {
        self.ids.push(client);
        self.rows.push(g);
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
        self.add_to(&mut [(&mut y, a, w)]);
        y
    }

    /// x + a Σ uᵢ gᵢ and x + a Σ vᵢ gᵢ, in one pass for both.
    pub fn two_steps(&self, x: &Vector, a: f64, u: &[f64], v: &[f64]) -> (Vector, Vector) {
        let (mut y, mut z) = (x.clone(), x.clone());
        self.add_to(&mut [(&mut y, a, u), (&mut z, a, v)]);
        (y, z)
    }

    fn add_to(&self, sums: &mut [(&mut Vector, f64, &[f64])]) {
        let dim = sums.first().map_or(0, |(y, ..)| y.len());
        for from in (0..dim).step_by(BLOCK) {
            let block = from..dim.min(from + BLOCK);
            for (i, g) in self.rows.iter().enumerate() {
                for (y, a, w) in &mut *sums {
                    let c = *a * w[i];
                    match (y.view_mut(), g.view()) {
                        (ViewMut::F64(y), View::F64(g)) => add(c, &g[block.clone()], &mut y[block.clone()]),
                        (ViewMut::F32(y), View::F32(g)) => add(c as f32, &g[block.clone()], &mut y[block.clone()]),
                        _ => y.axpy(c, g), // panics: the precisions differ
                    }
                }
            }
        }
    }

    /// ⟨gᵢ, v⟩ for every i, in one pass over the matrix.
    pub fn inner(&self, v: &Vector) -> Vec<f64> {
        let mut sums = vec![[0.0; LANES]; self.rows.len()];
        for from in (0..v.len()).step_by(BLOCK) {
            let block = from..v.len().min(from + BLOCK);
            for (g, lanes) in self.rows.iter().zip(&mut sums) {
                match (g.view(), v.view()) {
                    (View::F64(g), View::F64(v)) => dot(&g[block.clone()], &v[block.clone()], lanes),
                    (View::F32(g), View::F32(v)) => dot(&g[block.clone()], &v[block.clone()], lanes),
                    _ => lanes[0] = g.dot(v), // panics: the precisions differ
                }
            }
        }
        sums.into_iter().map(|lanes| lanes.iter().sum()).collect()
    }
}

/// Interleaved partial sums: one fixed order whatever the vector width of the machine.
const LANES: usize = 8;

fn add<T: Copy + std::ops::Mul<Output = T> + std::ops::AddAssign>(c: T, g: &[T], y: &mut [T]) {
    for (y, g) in y.iter_mut().zip(g) {
        *y += c * *g;
    }
}

fn dot<T: Copy + Into<f64>>(g: &[T], v: &[T], lanes: &mut [f64; LANES]) {
    let (gs, g_rest) = g.as_chunks::<LANES>();
    let (vs, v_rest) = v.as_chunks::<LANES>();
    for (g, v) in gs.iter().zip(vs) {
        for l in 0..LANES {
            lanes[l] += g[l].into() * v[l].into();
        }
    }
    for (l, (g, v)) in g_rest.iter().zip(v_rest).enumerate() {
        lanes[l] += (*g).into() * (*v).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(n: usize, d: usize) -> Gradients {
        let mut gradients = Gradients::default();
        for i in 0..n {
            gradients.push(ClientId(i as u32), Vector::from((0..d).map(|l| ((7 * i + 3 * l) as f64).sin()).collect::<Vec<_>>()));
        }
        gradients
    }

    #[test]
    fn blocks_give_what_whole_vectors_give() {
        for d in [0, 1, 7, 1024, 1025, 3000] {
            let (g, v) = (matrix(3, d), Vector::from((0..d).map(|l| (l as f64).cos()).collect::<Vec<_>>()));
            for (ours, row) in g.inner(&v).iter().zip(g.rows()) {
                assert!((ours - row.dot(&v)).abs() < 1e-12, "dimension {d}");
            }
            let (u, w) = ([0.5, -1.0, 2.0], [0.1, 0.2, 0.7]);
            let by_rows = |w: &[f64]| {
                let mut y = v.clone();
                g.rows().iter().zip(w).for_each(|(g, w)| y.axpy(-0.25 * w, g));
                y
            };
            assert_eq!(g.step(&v, -0.25, &u), by_rows(&u), "dimension {d}");
            assert_eq!(g.two_steps(&v, -0.25, &u, &w), (by_rows(&u), by_rows(&w)), "dimension {d}");
        }
    }
}
