//! What theory promises a method on a problem.

use motet_core::{Algorithm, Batch, ClientId, Facts, Host, Promise, Vector};

use crate::simulate::Built;

impl Built {
    /// What theory promises a method here, where all constants are known; with a host also what depends on local optima, and
    /// with x^α what depends on the gradients there.
    pub fn promise<A: Algorithm>(&self, method: &A, found: Option<(&Host<A>, Option<&Vector>)>) -> Option<Promise> {
        if self.problem.shards.is_empty() {
            return None; // the constants of clients made on demand are not known beforehand
        }
        let constants: Vec<_> = self.problem.shards.iter().map(|s| s.train.constants()).collect();
        let smoothness: Option<Vec<f64>> = constants.iter().map(|c| c.smoothness).collect();
        let convexity: Option<Vec<f64>> = constants.iter().map(|c| c.convexity).collect();
        let (smoothness, convexity) = (smoothness?, convexity?);
        let facts = Facts::new(&smoothness, &convexity, self.problem.start.len());
        let Some((host, best)) = found else { return method.promise(&facts) };
        let ids = || (0..smoothness.len() as u32).map(ClientId);
        let anchors = || ids().map(|id| host.anchor(id)).collect();
        // From the definition of Tᵢ and no client's state: a run that goes on has states of another moment.
        let gradient2 = |id, x: &Vector| {
            let alpha = method.share(id);
            let model = if alpha == 1.0 { x.clone() } else { Vector::mix(alpha, x, &host.anchor(id)) };
            let mut g = model.zeros_like();
            self.problem.population.shard(id).train.gradient(&model, Batch::all(), &mut g);
            g.scale(alpha);
            g.norm2()
        };
        let gradients2 = || best.map_or(vec![], |x| ids().map(|id| gradient2(id, x)).collect());
        let gradients2: Option<&dyn Fn() -> Vec<f64>> = if best.is_some() { Some(&gradients2) } else { None };
        method.promise(&Facts { gradients2, anchors: Some(&anchors), ..facts })
    }
}
