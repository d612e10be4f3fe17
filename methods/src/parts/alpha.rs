//! Whether the αᵢ of an experiment fit its problem.

use motet_core::{Fraction, PerClient, Unsuitable};

/// Is there an αᵢ for each of so many clients?
pub fn alpha_suits(alpha: &PerClient<Fraction>, clients: Option<u32>) -> Result<(), Unsuitable> {
    Unsuitable::unless_listed("alpha", alpha.listed(), clients)
}
