//! What theory promises a method on a problem.

use motet_core::{ClientId, Facts, Promise, Vector};

use crate::method::AnyMethod;
use crate::session::Session;
use crate::simulate::Built;

impl Built {
    /// What theory promises a method here, where all constants are known; with a session also what depends on local optima,
    /// and with x^α what depends on the gradients there.
    pub fn promise(&self, method: &dyn AnyMethod, found: Option<(&dyn Session, Option<&Vector>)>) -> Option<Promise> {
        if self.problem.shards.is_empty() {
            return None; // the constants of clients made on demand are not known beforehand
        }
        let constants: Vec<_> = self.problem.shards.iter().map(|s| s.train.constants()).collect();
        let smoothness: Option<Vec<f64>> = constants.iter().map(|c| c.smoothness).collect();
        let convexity: Option<Vec<f64>> = constants.iter().map(|c| c.convexity).collect();
        let (smoothness, convexity) = (smoothness?, convexity?);
        let facts = Facts::new(&smoothness, &convexity, self.problem.start.len());
        let Some((session, best)) = found else { return method.promise(&facts) };
        let anchors = || session.anchors(vec![true; smoothness.len()]).into_iter().flatten().collect();
        let ids = || (0..smoothness.len() as u32).map(ClientId);
        let gradients2 = || best.map_or(vec![], |x| ids().map(|id| session.gradient2(id, x)).collect());
        let gradients2: Option<&dyn Fn() -> Vec<f64>> = if best.is_some() { Some(&gradients2) } else { None };
        method.promise(&Facts { gradients2, anchors: Some(&anchors), ..facts })
    }
}
