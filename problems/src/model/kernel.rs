//! The hot loops of index-only data.

use super::{Examples, Range};

/// out[i] ← Σ x over the columns of row i; false if the storage is not index-only with short indices.
pub(super) fn row_sums(_data: &Examples, _rows: Range<usize>, _x: &[f64], _out: &mut [f64]) -> bool {
    false
}

/// g ← g + Σ wᵢ aᵢ; false if the storage is not index-only with short indices.
pub(super) fn scatter(_data: &Examples, _rows: Range<usize>, _weights: &[f64], _g: &mut [f64]) -> bool {
    false
}
