//! The client's half of F(x) = 1/n Σ fᵢ(αᵢ x + (1 − αᵢ) xᵢ*).

use motet_core::{Algorithm, ClientId, Cohort, Fraction, PerClient, Round, Rows, Site, Unsuitable, Vector};

use super::{Solve, Start, alpha_suits};

/// The hyper-parameters of FLIX that every solver of F has.
#[derive(Clone, Copy, Debug)]
pub struct Mixture<'a> {
    /// αᵢ
    pub alpha: &'a PerClient<Fraction>,
    /// x⁰
    pub start: Start,
    /// How xᵢ* is found.
    pub solve: Solve,
}

impl Mixture<'_> {
    /// αᵢ
    pub fn share(&self, client: ClientId) -> f64 {
        *self.alpha.of(client)
    }

    /// Those who have a part in x: clients with αᵢ = 0 are never asked.
    pub fn sharing<A: Algorithm>(&self, round: &Round<'_, A>) -> Cohort {
        round.everyone().filter(|id| self.share(id) > 0.0)
    }

    /// Solves for xᵢ* if it is ever needed.
    pub fn prepare(&self, site: &mut Site<'_>) {
        if self.share(site.id) < 1.0 || self.start == Start::OneShot {
            self.solve.optimum(site);
        }
    }

    /// αᵢ² Lᵢ, the smoothness of the client's part of F.
    pub fn curvature(&self, site: &Site<'_>) -> Option<f64> {
        let alpha = self.share(site.id);
        site.train.constants().smoothness.map(|l| alpha * alpha * l)
    }

    /// ∇Fᵢ(x) = αᵢ ∇fᵢ(Tᵢ(x))
    pub fn gradient(&self, x: &Vector, site: &mut Site<'_>) -> Vector {
        let alpha = self.share(site.id);
        let anchor = (alpha < 1.0).then(|| self.solve.optimum(site));
        let at = anchor.map_or_else(|| x.clone(), |anchor| Vector::mix(alpha, x, &anchor));
        let mut g = at.zeros_like();
        site.train.train_into(&at, Rows::All, site.buffers, &mut g);
        g.scale(alpha);
        g
    }

    /// Is there an αᵢ for each of so many clients?
    pub fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        alpha_suits(self.alpha, clients)
    }
}
