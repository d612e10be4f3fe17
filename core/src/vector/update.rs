//! A change to a model: every coordinate, or only some rows of it.
//!
//! A client of a 10,000 × 500 model whose texts use sixty words changes sixty rows. Sent, summed and
//! applied as rows it costs sixty rows.

use crate::fit::{Misfit, ModelShape};
use crate::message::{Reader, Wire, WireError};
use crate::scattered::Scattered;
use crate::vector::loops::add_scaled;
use crate::vector::{Precision, Vector};

/// A gradient or model difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// One number per coordinate.
    Dense(Vector),
    /// The named rows of a model seen as rows of equal width; all other coordinates are zero.
    Rows(RowUpdate),
}

/// Some rows of a row-major model.
#[derive(Clone, Debug, PartialEq)]
pub struct RowUpdate {
    dim: usize,
    rows: Vec<u32>,
    values: Vector,
}

impl RowUpdate {
    /// `rows` ascending without repeats, `values` row after row; the width is their quotient.
    ///
    /// # Panics
    /// If the rows are not ascending, do not share one width, or reach past `dim`.
    pub fn new(dim: usize, rows: Vec<u32>, values: Vector) -> Self {
        let update = Self { dim, rows, values };
        assert!(update.is_sound(), "rows ascend, share one width and lie inside the model");
        update
    }

    /// d, of the whole model.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Which rows, ascending.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The numbers, row after row.
    pub fn values(&self) -> &Vector {
        &self.values
    }

    fn is_sound(&self) -> bool {
        let ascending = self.rows.windows(2).all(|w| w[0] < w[1]);
        let Some(&last) = self.rows.last() else { return self.values.is_empty() };
        ascending && self.reaches(last)
    }

    /// Are all rows of one width, and does the last one lie inside the model?
    fn reaches(&self, last: u32) -> bool {
        let width = self.width();
        let end = (last as usize).checked_add(1).and_then(|rows| rows.checked_mul(width));
        width * self.rows.len() == self.values.len() && end.is_some_and(|end| end <= self.dim)
    }

    /// Are these rows of such a model? That they ascend was seen to when they were made or decoded.
    fn fits(&self, model: ModelShape) -> Result<(), Misfit> {
        if self.dim != model.dim {
            return Err(Misfit::Length { got: self.dim, expected: model.dim });
        }
        let precision = self.values.precision();
        if precision != model.precision {
            return Err(Misfit::Precision { got: precision, expected: model.precision });
        }
        let inside = self.rows.last().map_or(self.values.is_empty(), |&last| self.reaches(last));
        if inside { Ok(()) } else { Err(Misfit::Unsound("rows that do not fit the model")) }
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.values.len().checked_div(self.rows.len()).unwrap_or(0)
    }
}

impl From<RowUpdate> for Update {
    fn from(rows: RowUpdate) -> Self {
        Update::Rows(rows)
    }
}

impl From<Vector> for Update {
    fn from(dense: Vector) -> Self {
        Update::Dense(dense)
    }
}

impl Update {
    /// d, of the whole model.
    pub fn dim(&self) -> usize {
        match self {
            Update::Dense(v) => v.len(),
            Update::Rows(r) => r.dim,
        }
    }

    /// Does this change fit a model of that shape?
    pub fn fits(&self, model: ModelShape) -> Result<(), Misfit> {
        match self {
            Update::Dense(v) => v.fits(model),
            Update::Rows(r) => r.fits(model),
        }
    }

    /// x ← x + a·self, touching only the coordinates that are here.
    pub fn add_to(&self, a: f64, x: &mut Vector) {
        assert_eq!(self.dim(), x.len(), "dimensions agree");
        match self {
            Update::Dense(v) => x.axpy(a, v),
            Update::Rows(r) => {
                let width = r.width();
                for (k, &row) in r.rows.iter().enumerate() {
                    let (from, to) = (k * width, row as usize * width);
                    match r.values.precision() {
                        Precision::F32 => add_scaled(a, &r.values.f32s()[from..from + width], &mut x.f32s_mut()[to..to + width]),
                        Precision::F64 => add_scaled(a, &r.values.f64s()[from..from + width], &mut x.f64s_mut()[to..to + width]),
                    }
                }
            }
        }
    }

    /// The norm.
    pub fn norm(&self) -> f64 {
        match self {
            Update::Dense(v) => v.norm(),
            Update::Rows(r) => r.values.norm(),
        }
    }

    /// The change with all its coordinates stored.
    pub fn into_dense(self, precision: Precision) -> Vector {
        match self {
            Update::Dense(v) => v,
            Update::Rows(_) => {
                let mut x = Vector::zeros(self.dim(), precision);
                self.add_to(1.0, &mut x);
                x
            }
        }
    }
}

impl Wire for Update {
    fn bits(&self) -> u64 {
        match self {
            Update::Dense(v) => v.bits(),
            Update::Rows(r) => 32 * r.rows.len() as u64 + r.values.bits(),
        }
    }
    fn bytes(&self) -> u64 {
        1 + match self {
            Update::Dense(v) => v.bytes(),
            Update::Rows(r) => 8 + r.rows.bytes() + r.values.bytes(),
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Update::Dense(v) => {
                out.push(0);
                v.encode(out);
            }
            Update::Rows(r) => {
                out.push(1);
                (r.dim as u64).encode(out);
                r.rows.encode(out);
                r.values.encode(out);
            }
        }
    }
    fn scatter(&self, out: &mut Scattered) {
        match self {
            Update::Dense(v) => {
                out.write(|out| out.push(0));
                v.scatter(out);
            }
            Update::Rows(r) => {
                out.write(|out| {
                    out.push(1);
                    (r.dim as u64).encode(out);
                    r.rows.encode(out);
                });
                r.values.scatter(out);
            }
        }
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        match u8::decode(from)? {
            0 => Ok(Update::Dense(Vector::decode(from)?)),
            1 => {
                let dim = usize::try_from(u64::decode(from)?).map_err(|_| WireError::Unsound("rows of a model too large"))?;
                let update = RowUpdate { dim, rows: Vec::decode(from)?, values: Vector::decode(from)? };
                if !update.is_sound() {
                    return Err(WireError::Unsound("rows that do not fit the model"));
                }
                Ok(Update::Rows(update))
            }
            tag => Err(WireError::UnknownVariant(tag)),
        }
    }
    fn vectors(&mut self, each: &mut dyn FnMut(&mut Vector)) {
        match self {
            Update::Dense(v) => each(v),
            Update::Rows(r) => each(&mut r.values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_act_like_the_dense_vector_they_stand_for() {
        let rows = Update::Rows(RowUpdate::new(6, vec![0, 2], vec![1.0, 2.0, 3.0, 4.0].into()));
        let mut x = Vector::from(vec![1.0; 6]);
        rows.add_to(2.0, &mut x);
        assert_eq!(x.f64s(), [3.0, 5.0, 1.0, 1.0, 7.0, 9.0]);
        assert_eq!(rows.into_dense(Precision::F64).f64s(), [1.0, 2.0, 0.0, 0.0, 3.0, 4.0]);
    }

    #[test]
    fn rows_from_a_peer_that_do_not_fit_are_refused() {
        let mut bytes = vec![1];
        6u64.encode(&mut bytes);
        vec![0u32, 3].encode(&mut bytes);
        Vector::from(vec![1.0, 2.0, 3.0, 4.0]).encode(&mut bytes);
        assert!(matches!(Update::decode(&mut Reader::new(&bytes)), Err(WireError::Unsound(_))));
    }
}
