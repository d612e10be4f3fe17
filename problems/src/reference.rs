//! The minimiser that gaps are measured from.

use motet_core::{Objective, Vector};

/// One client's share of F(x) = (1/n) Σ fᵢ(αᵢ x + (1 − αᵢ) xᵢ*).
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
