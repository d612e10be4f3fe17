//! What theory promises a method on a problem.

use std::cell::RefCell;

use motet_core::{ClientId, Facts, Promise, StoreError, Vector};

use crate::method::AnyMethod;
use crate::session::Session;
use crate::simulate::Built;

impl Built {
    /// What theory promises a method here, where all constants are known; with a session also what depends on local optima,
    /// and with x^α what depends on the gradients there.
    pub fn promise(&self, method: &dyn AnyMethod, found: Option<(&dyn Session, Option<&Vector>)>) -> Result<Option<Promise>, StoreError> {
        // The constants of clients made on demand are not known beforehand.
        let Some((smoothness, convexity)) = self.known_constants().filter(|(smoothness, _)| !smoothness.is_empty()) else {
            return Ok(None);
        };
        let facts = Facts::new(&smoothness, &convexity, self.problem.start().len());
        let Some((session, best)) = found else { return Ok(method.promise(&facts)) };
        // A theorem asks for numbers; that they could not be had is told when it has got its answer.
        let failed = RefCell::new(None);
        let anchors = || {
            let found = session.anchors(vec![true; smoothness.len()]).unwrap_or_else(|error| {
                failed.borrow_mut().get_or_insert(error);
                vec![]
            });
            found.into_iter().flatten().collect()
        };
        let gradient2 = |client: u32, x: &Vector| {
            let found = session.gradient2(ClientId(client), x);
            found.unwrap_or_else(|error| {
                failed.borrow_mut().get_or_insert(error);
                f64::NAN
            })
        };
        let gradients2 = || best.map_or(vec![], |x| (0..smoothness.len() as u32).map(|k| gradient2(k, x)).collect());
        let gradients2: Option<&dyn Fn() -> Vec<f64>> = if best.is_some() { Some(&gradients2) } else { None };
        let promise = method.promise(&Facts { gradients2, anchors: Some(&anchors), ..facts });
        failed.into_inner().map_or(Ok(promise), Err)
    }

    /// Lᵢ and μᵢ of every client, if all are known.
    fn known_constants(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let constants: Vec<_> = self.problem.shards.iter().map(|s| s.train.constants()).collect();
        let smoothness: Option<Vec<f64>> = constants.iter().map(|c| c.smoothness).collect();
        let convexity: Option<Vec<f64>> = constants.iter().map(|c| c.convexity).collect();
        Some((smoothness?, convexity?))
    }
}
