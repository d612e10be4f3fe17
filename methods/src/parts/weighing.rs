//! What methods that weigh clients' gradients for a target share.

use motet_core::{Abort, Algorithm, Cohort, Round, Vector};

use crate::parts::questions::{Ask, Reply};
use crate::parts::{Gradients, Simplex};

/// Everyone's stochastic gradient at x, in cohort order. A gradient with NaN or infinity is as good as none.
pub fn gather_gradients<A: Algorithm<Ask = Ask, Reply = Reply>>(round: &mut Round<'_, A>, x: &Vector) -> Result<Gradients, Abort> {
    let mut gradients = Gradients::default();
    round.ask(&round.everyone().wary(), Ask::Differentiate { models: vec![x.clone()] }, |id, reply| {
        if let Reply::Gradients { g } = reply {
            g.into_iter().take(1).for_each(|g| gradients.push(id, g));
        }
    })?;
    Ok(gradients)
}

/// Equal weights with a place for every client of the cohort.
pub fn simplex_of(cohort: &Cohort) -> Simplex {
    Simplex::uniform(cohort.ids().iter().map(|id| id.0 as usize + 1).max().unwrap_or(0))
}

/// cos(x, y), from −1 to 1; 0 where one of them is zero.
pub fn cosine(x: &Vector, y: &Vector) -> f64 {
    let (a, b) = (x.norm(), y.norm());
    // Scaled one after the other: the product of two long lengths may overflow.
    let cosine = x.dot(y) / a / b;
    if cosine.is_nan() { 0.0 } else { cosine.clamp(-1.0, 1.0) }
}

/// Is there such a client?
pub fn refuse_target(target: u32, clients: Option<u32>) -> Option<String> {
    match clients {
        Some(n) if target < n => None,
        Some(n) => Some(format!("target is client {target}, but the problem has clients 0 to {}", n.saturating_sub(1))),
        None => Some("a population without end has no clients to weigh".into()),
    }
}
