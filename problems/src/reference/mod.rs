//! The minimiser that gaps are measured from.
//!
//! Newton's method to rounding error where there is a minimiser, the best of a long accelerated run where there is none
//! (separable data without a regulariser). Sums have a fixed order, so that recorded gaps have the same bits everywhere.

use motet_core::{Constants, Objective, Precision, Vector};

mod accelerated;
mod mixture;
mod newton;
mod solve;

use mixture::Mixture;

/// One client's share of F(x) = (1/n) Σ fᵢ(αᵢ x + (1 − αᵢ) xᵢ*).
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// αᵢ
    pub alpha: f64,
    /// xᵢ*; needed where αᵢ < 1.
    pub local: Option<&'a Vector>,
    /// fᵢ
    pub objective: &'a dyn Objective,
}

/// The best that can be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// F*
    pub value: f64,
    /// x^α
    pub x: Vector,
    /// A minimiser to machine precision, or only the best value seen?
    pub exact: bool,
    /// How it was found.
    pub how: String,
}

/// Why some parts do not make one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// An average needs at least one part.
    #[error("there is no client to average over")]
    Empty,
    /// A mixture needs both ends.
    #[error("client {client} mixes in a local model, but none is given")]
    NoLocal {
        /// Position among the parts.
        client: usize,
    },
    /// All functions have one argument.
    #[error("client {client} has dimension {dim} where the first has {first}")]
    Dimension {
        /// Position among the parts.
        client: usize,
        /// Its d.
        dim: usize,
        /// The first one's d.
        first: usize,
    },
    /// Newton's method needs digits.
    #[error("client {client} computes in single precision, in which no optimum is known to 1e-13")]
    SinglePrecision {
        /// Position among the parts.
        client: usize,
    },
}

/// Minimises F. Where no minimiser is found, gives the best of `accelerated_steps` steps of Nesterov's method.
///
/// ```
/// use motet_problems::reference::{Part, minimise};
/// use motet_problems::synthetic::formula::q2;
/// let clients = q2();
/// let parts: Vec<Part> = clients.iter().map(|f| Part { alpha: 1.0, local: None, objective: &**f }).collect();
/// let best = minimise(&parts, 1000)?;
/// assert!(best.exact && (best.x.at(0) - 2.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), motet_problems::reference::ReferenceError>(())
/// ```
pub fn minimise(parts: &[Part<'_>], accelerated_steps: u64) -> Result<Reference, ReferenceError> {
    let f = Mixture::new(parts)?;
    let start = Vector::zeros(f.dim(), Precision::F64);
    if parts.iter().all(|part| part.alpha == 0.0) {
        let how = "constant: no client shares".to_string();
        return Ok(Reference { value: f.value(&start), x: start, exact: true, how });
    }
    Ok(newton::minimise(&f, start.clone()).unwrap_or_else(|| accelerated::minimise(&f, start, accelerated_steps)))
}
