//! Examples × features, dense or sparse, held once and shared by all clients.

use crate::values::Values;

/// Rows of features.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// Every entry stored.
    Dense(Dense),
    /// Every entry stored, in four bytes: images and tokens, which need no more.
    Single(Single),
    /// Every entry stored, in one byte: pixels and characters as files have them.
    Bytes(Bytes),
    /// Only the non-zeros stored.
    Sparse(Csr),
}

/// A row-major dense matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Number of columns.
    pub cols: usize,
    /// Row after row.
    pub values: Values<f64>,
}

/// A row-major dense matrix in single precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Single {
    /// Number of columns.
    pub cols: usize,
    /// Row after row.
    pub values: Values<f32>,
}

/// A row-major dense matrix of bytes: an entry is `scale` · byte + `shift`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bytes {
    /// Number of columns.
    pub cols: usize,
    /// Row after row.
    pub values: Values<u8>,
    /// What a step of a byte is worth: 1/255 for pixels from 0 to 1, 1 for tokens.
    pub scale: f32,
    /// What byte 0 is worth.
    pub shift: f32,
}

impl Bytes {
    /// Pixels from 0 to 1.
    pub fn pixels(cols: usize, values: Vec<u8>) -> Self {
        Self { cols, values: values.into(), scale: 1.0 / 255.0, shift: 0.0 }
    }

    /// Numbers from 0 to 255 that stand for themselves.
    pub fn tokens(cols: usize, values: Vec<u8>) -> Self {
        Self { cols, values: values.into(), scale: 1.0, shift: 0.0 }
    }

    /// The bytes of a row.
    pub fn row(&self, row: usize) -> &[u8] {
        &self.values[row * self.cols..][..self.cols]
    }

    /// What a byte is worth.
    #[inline]
    pub fn worth(&self, byte: u8) -> f32 {
        self.scale * f32::from(byte) + self.shift
    }
}

/// Compressed sparse rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    /// Number of columns.
    pub cols: usize,
    /// Row r is `starts[r]..starts[r + 1]` of the two lists below.
    pub starts: Vec<usize>,
    /// Column of each non-zero, ascending within a row.
    pub indices: Indices,
    /// Value of each non-zero; absent if all are 1, as in bags of words and one-hot codes.
    pub values: Option<Vec<f64>>,
}

/// Column numbers, two bytes each where that suffices: half the memory traffic of the hot loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indices {
    /// Up to 65,536 columns.
    U16(Vec<u16>),
    /// More.
    U32(Vec<u32>),
}

/// Why some lists do not form a matrix.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MatrixError {
    /// A dense matrix must be whole rows.
    #[error("{values} values do not fill rows of {cols}")]
    Ragged {
        /// How many were given.
        values: usize,
        /// Width of a row.
        cols: usize,
    },
    /// Row boundaries must ascend from 0 to the number of non-zeros.
    #[error("row {row} does not lie within the {nonzeros} non-zeros")]
    Boundaries {
        /// The first wrong one.
        row: usize,
        /// How many there are.
        nonzeros: usize,
    },
    /// Every index must have a value.
    #[error("{indices} column numbers but {values} values")]
    Unpaired {
        /// Column numbers given.
        indices: usize,
        /// Values given.
        values: usize,
    },
    /// Columns must ascend within a row and lie below the number of columns.
    #[error("row {row}: column {column} is out of order or not below {cols}")]
    Column {
        /// The row concerned.
        row: usize,
        /// The column concerned.
        column: usize,
        /// Number of columns.
        cols: usize,
    },
}

impl Matrix {
    /// A dense matrix from its rows, one after another.
    ///
    /// ```
    /// use motet_problems::Matrix;
    /// let a = Matrix::dense(2, vec![1.0, 0.0, 3.0, 4.0])?;
    /// assert_eq!((a.rows(), a.cols()), (2, 2));
    /// assert!(Matrix::dense(2, vec![1.0]).is_err());
    /// # Ok::<(), motet_problems::MatrixError>(())
    /// ```
    pub fn dense(cols: usize, values: Vec<f64>) -> Result<Self, MatrixError> {
        let matrix = Matrix::Dense(Dense { cols, values: values.into() });
        matrix.check().map(|()| matrix)
    }

    /// A sparse matrix from row boundaries, columns and values, stored as narrowly as they allow.
    ///
    /// ```
    /// use motet_problems::{Indices, Matrix};
    /// let Matrix::Sparse(a) = Matrix::sparse(9, vec![0, 1, 3], vec![4, 0, 8], vec![1.0; 3])? else { unreachable!() };
    /// assert_eq!((a.indices, a.values), (Indices::U16(vec![4, 0, 8]), None));
    /// # Ok::<(), motet_problems::MatrixError>(())
    /// ```
    pub fn sparse(cols: usize, starts: Vec<usize>, columns: Vec<u32>, values: Vec<f64>) -> Result<Self, MatrixError> {
        if columns.len() != values.len() {
            return Err(MatrixError::Unpaired { indices: columns.len(), values: values.len() });
        }
        let narrow = cols <= usize::from(u16::MAX) + 1;
        // Checked before narrowing, which would hide a column that is too large.
        let wide = Csr { cols, starts, indices: Indices::U32(columns), values: None };
        wide.check()?;
        let Csr { cols, starts, indices: Indices::U32(columns), .. } = wide else { unreachable!("built as U32 above") };
        let indices = if narrow { Indices::U16(columns.iter().map(|&c| c as u16).collect()) } else { Indices::U32(columns) };
        let values = if values.iter().all(|&v| v == 1.0) { None } else { Some(values) };
        Ok(Matrix::Sparse(Csr { cols, starts, indices, values }))
    }

    /// The first entry whose size is beyond a limit: row, column, value. Single precision and bytes are taken as they are.
    pub(crate) fn first_beyond(&self, limit: f64) -> Option<(usize, usize, f64)> {
        let far = |value: &f64| value.abs() > limit;
        match self {
            Matrix::Dense(a) => {
                let k = a.values.iter().position(far)?;
                Some((k.checked_div(a.cols)?, k.checked_rem(a.cols)?, a.values[k]))
            }
            Matrix::Sparse(a) => {
                let values = a.values.as_ref()?;
                let k = values.iter().position(far)?;
                Some((a.starts.partition_point(|start| *start <= k).checked_sub(1)?, a.indices.at(k), values[k]))
            }
            Matrix::Single(_) | Matrix::Bytes(_) => None,
        }
    }

    /// Makes room for so many more entries of a dense matrix; what is sparse grows by itself.
    pub(crate) fn reserve(&mut self, rows: usize) {
        match self {
            Matrix::Dense(a) => a.values.to_mut().reserve_exact(rows * a.cols),
            Matrix::Single(a) => a.values.to_mut().reserve_exact(rows * a.cols),
            Matrix::Bytes(a) => a.values.to_mut().reserve_exact(rows * a.cols),
            Matrix::Sparse(a) => a.starts.reserve_exact(rows),
        }
    }

    /// The rows of another matrix of the same kind and width, after one's own.
    ///
    /// # Panics
    /// If the other is of another kind or width.
    pub(crate) fn append(&mut self, other: Matrix) {
        assert_eq!(self.cols(), other.cols(), "all rows are equally wide");
        match (self, other) {
            (Matrix::Dense(a), Matrix::Dense(b)) => a.values.to_mut().extend_from_slice(&b.values),
            (Matrix::Single(a), Matrix::Single(b)) => a.values.to_mut().extend_from_slice(&b.values),
            (Matrix::Bytes(a), Matrix::Bytes(b)) => a.values.to_mut().extend_from_slice(&b.values),
            (Matrix::Sparse(a), Matrix::Sparse(b)) => a.append(b),
            _ => panic!("all clients of a source have matrices of one kind"),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Matrix::Dense(a) => a.values.len().checked_div(a.cols).unwrap_or(0),
            Matrix::Single(a) => a.values.len().checked_div(a.cols).unwrap_or(0),
            Matrix::Bytes(a) => a.values.len().checked_div(a.cols).unwrap_or(0),
            Matrix::Sparse(a) => a.starts.len().saturating_sub(1),
        }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        match self {
            Matrix::Dense(a) => a.cols,
            Matrix::Single(a) => a.cols,
            Matrix::Bytes(a) => a.cols,
            Matrix::Sparse(a) => a.cols,
        }
    }

    /// How many entries are stored.
    pub fn stored(&self) -> usize {
        match self {
            Matrix::Dense(a) => a.values.len(),
            Matrix::Single(a) => a.values.len(),
            Matrix::Bytes(a) => a.values.len(),
            Matrix::Sparse(a) => a.indices.len(),
        }
    }

    /// Row `order[0]`, then row `order[1]`, …: brings each client's rows together.
    ///
    /// # Panics
    /// If `order` names a row that does not exist.
    pub fn permuted(&self, order: &[u32]) -> Self {
        match self {
            Matrix::Dense(a) => {
                let values = order.iter().flat_map(|&r| &a.values[r as usize * a.cols..][..a.cols]).copied().collect();
                Matrix::Dense(Dense { cols: a.cols, values })
            }
            Matrix::Single(a) => {
                let values = order.iter().flat_map(|&r| &a.values[r as usize * a.cols..][..a.cols]).copied().collect();
                Matrix::Single(Single { cols: a.cols, values })
            }
            Matrix::Bytes(a) => {
                // Room for all at once: a list that grows would hold these bytes up to three times over.
                let mut values = Vec::with_capacity(order.len() * a.cols);
                order.iter().for_each(|&r| values.extend_from_slice(a.row(r as usize)));
                Matrix::Bytes(Bytes { cols: a.cols, values: values.into(), scale: a.scale, shift: a.shift })
            }
            Matrix::Sparse(a) => Matrix::Sparse(a.permuted(order)),
        }
    }

    /// The same matrix with every entry stored.
    pub fn to_dense(&self) -> Dense {
        let mut values = vec![0.0; self.rows() * self.cols()];
        for r in 0..self.rows() {
            let row = &mut values[r * self.cols()..][..self.cols()];
            self.entries(r, |c, v| row[c] = v);
        }
        Dense { cols: self.cols(), values: values.into() }
    }

    /// Calls `each` with column and value of every stored entry of a row, in order.
    #[inline]
    pub fn entries(&self, row: usize, mut each: impl FnMut(usize, f64)) {
        match self {
            Matrix::Dense(a) => a.values[row * a.cols..][..a.cols].iter().enumerate().for_each(|(c, &v)| each(c, v)),
            Matrix::Single(a) => a.values[row * a.cols..][..a.cols].iter().enumerate().for_each(|(c, &v)| each(c, v.into())),
            Matrix::Bytes(a) => a.row(row).iter().enumerate().for_each(|(c, &v)| each(c, a.worth(v).into())),
            Matrix::Sparse(a) => {
                for k in a.starts[row]..a.starts[row + 1] {
                    each(a.indices.at(k), a.values.as_ref().map_or(1.0, |v| v[k]));
                }
            }
        }
    }

    /// Adds a row to numbers, one per column. By slices where rows are dense: several numbers at a time.
    #[inline]
    pub fn add_row(&self, row: usize, to: &mut [f64]) {
        match self {
            Matrix::Dense(a) => to.iter_mut().zip(&a.values[row * a.cols..][..a.cols]).for_each(|(to, v)| *to += v),
            _ => self.entries(row, |c, v| to[c] += v),
        }
    }

    /// Do the lists form a matrix? The fields are public, so this is asked again where it matters.
    pub fn check(&self) -> Result<(), MatrixError> {
        match self {
            Matrix::Dense(a) if a.values.len().checked_rem(a.cols).unwrap_or(a.values.len()) != 0 => {
                Err(MatrixError::Ragged { values: a.values.len(), cols: a.cols })
            }
            Matrix::Single(a) if a.values.len().checked_rem(a.cols).unwrap_or(a.values.len()) != 0 => {
                Err(MatrixError::Ragged { values: a.values.len(), cols: a.cols })
            }
            Matrix::Bytes(a) if a.values.len().checked_rem(a.cols).unwrap_or(a.values.len()) != 0 => {
                Err(MatrixError::Ragged { values: a.values.len(), cols: a.cols })
            }
            Matrix::Dense(_) | Matrix::Single(_) | Matrix::Bytes(_) => Ok(()),
            Matrix::Sparse(a) => a.check(),
        }
    }
}

impl Csr {
    fn append(&mut self, other: Csr) {
        let before = self.indices.len();
        self.starts.extend(other.starts.iter().skip(1).map(|start| before + start));
        // Ones are written out only where others are not all ones.
        self.values = match (self.values.take(), other.values) {
            (None, None) => None,
            (mine, more) => {
                let mut values = mine.unwrap_or_else(|| vec![1.0; before]);
                values.extend(more.unwrap_or_else(|| vec![1.0; other.indices.len()]));
                Some(values)
            }
        };
        match (&mut self.indices, other.indices) {
            (Indices::U16(a), Indices::U16(b)) => a.extend(b),
            (Indices::U32(a), Indices::U32(b)) => a.extend(b),
            _ => unreachable!("how wide indices are depends on the number of columns alone"),
        }
    }

    fn permuted(&self, order: &[u32]) -> Self {
        let ranges = || order.iter().map(|&r| self.starts[r as usize]..self.starts[r as usize + 1]);
        let mut starts = Vec::with_capacity(order.len() + 1);
        starts.push(0);
        starts.extend(ranges().scan(0, |end, r| {
            *end += r.len();
            Some(*end)
        }));
        let indices = match &self.indices {
            Indices::U16(i) => Indices::U16(ranges().flat_map(|r| &i[r]).copied().collect()),
            Indices::U32(i) => Indices::U32(ranges().flat_map(|r| &i[r]).copied().collect()),
        };
        let values = self.values.as_ref().map(|v| ranges().flat_map(|r| &v[r]).copied().collect());
        Self { cols: self.cols, starts, indices, values }
    }

    fn check(&self) -> Result<(), MatrixError> {
        let nonzeros = self.indices.len();
        if let Some(values) = self.values.as_ref().filter(|v| v.len() != nonzeros) {
            return Err(MatrixError::Unpaired { indices: nonzeros, values: values.len() });
        }
        if self.starts.first() != Some(&0) || self.starts.last() != Some(&nonzeros) {
            return Err(MatrixError::Boundaries { row: 0, nonzeros });
        }
        for (row, pair) in self.starts.windows(2).enumerate() {
            let (from, to) = (pair[0], pair[1]);
            if from > to || to > nonzeros {
                return Err(MatrixError::Boundaries { row, nonzeros });
            }
            for k in from..to {
                let column = self.indices.at(k);
                if column >= self.cols || (k > from && self.indices.at(k - 1) >= column) {
                    return Err(MatrixError::Column { row, column, cols: self.cols });
                }
            }
        }
        Ok(())
    }
}

impl Indices {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Indices::U16(i) => i.len(),
            Indices::U32(i) => i.len(),
        }
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The k-th.
    #[inline]
    pub fn at(&self, k: usize) -> usize {
        match self {
            Indices::U16(i) => usize::from(i[k]),
            Indices::U32(i) => i[k] as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_moves_whole_rows() {
        let a = Matrix::sparse(3, vec![0, 2, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap();
        let moved = a.permuted(&[2, 0, 1]);
        assert_eq!(moved.to_dense().values, [0.0, 3.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
        let dense = Matrix::Dense(a.to_dense()).permuted(&[2, 0, 1]);
        assert_eq!(dense, Matrix::Dense(moved.to_dense()));
        assert!(moved.check().is_ok());
    }

    #[test]
    fn lists_that_form_no_matrix_are_named() {
        let column = |column| Err(MatrixError::Column { row: 0, column, cols: 2 });
        assert_eq!(Matrix::sparse(2, vec![0, 1], vec![2], vec![1.0]), column(2));
        assert_eq!(Matrix::sparse(2, vec![0, 1], vec![65_536], vec![1.0]), column(65_536));
        assert_eq!(Matrix::sparse(2, vec![0, 2], vec![1, 1], vec![1.0; 2]), column(1));
        assert_eq!(Matrix::sparse(2, vec![0, 2, 1], vec![1], vec![1.0]), Err(MatrixError::Boundaries { row: 0, nonzeros: 1 }));
        assert!(Matrix::sparse(2, vec![], vec![], vec![]).is_err());
        assert!(Matrix::sparse(2, vec![0, 1], vec![1], vec![]).is_err());
        assert!(Matrix::dense(0, vec![1.0]).is_err());
    }
}
