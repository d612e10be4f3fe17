//! Local steps on the few rows of a model that a client's function depends on.

use motet_core::{Compact, RowUpdate, Site, Update, Vector};

use super::batches::Rows;
use super::settings::Send;
use crate::parts::rows;

/// Lines 5 to 7 for plain steps that all count alike: what is not a row of the client never changes, and qᵢ is where the steps
/// end, seen from where they began.
pub(super) fn learn(on: &Compact, x: &Vector, gamma: f64, batches: &[Rows], send: Send, site: &mut Site<'_>) -> (Update, u32) {
    let samples = site.train.samples();
    let (mut y, mut examples) = (x.rows(&on.rows, on.width), 0);
    for batch in batches {
        site.train.descend(on, &mut y, rows(batch), gamma); // line 5
        examples += batch.as_ref().map_or(samples, Vec::len);
    }
    let mut q = y.below_rows(x, &on.rows, on.width);
    if send == Send::Gradients {
        q.scale(1.0 / gamma); // line 7
    }
    (RowUpdate::new(x.len(), on.rows.clone(), q).into(), u32::try_from(examples).unwrap_or(u32::MAX))
}
