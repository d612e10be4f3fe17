//! Whether the αᵢ of an experiment fit its problem.

use motet_core::{Fraction, PerClient};

/// What is wrong with these αᵢ for this many clients, if anything.
pub fn refuse_alpha(alpha: &PerClient<Fraction>, clients: Option<u32>) -> Option<String> {
    let listed = alpha.listed()?;
    match clients {
        Some(n) if n as usize == listed => None,
        Some(n) => Some(format!("alpha lists {listed} clients, the problem has {n}")),
        None => Some(format!("alpha lists {listed} clients, the population has no end")),
    }
}
