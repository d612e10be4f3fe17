//! Examples × features, dense or sparse, held once and shared by all clients.

/// Rows of features.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// Every entry stored.
    Dense(Dense),
    /// Only the non-zeros stored.
    Sparse(Csr),
}

/// A row-major dense matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Number of columns.
    pub cols: usize,
    /// Row after row.
    pub values: Vec<f64>,
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
