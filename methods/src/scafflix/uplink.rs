//! Scafflix with a compressed uplink: any unbiased compressor on the difference to the model of the round.
//!
//! At the optimum hᵢ = ∇fᵢ(Tᵢ(x)), no local step moves, and the differences xᵢ − x are 0: what the compressor
//! adds, E|C(v) − v|² ≤ ω|v|², vanishes with them. No shift has to be kept besides x, which both sides know.
//!
//! ```text
//! ω = max ωᵢ,   ω̄ = Σ wᵢ² ωᵢ / (Σ wᵢ)² over those who work in the round
//! ρ = min(1, 3/2 / (1 + 2 ω̄)),   η = 1/((1 + ω) ρ),   p = √((1 + ω) min γᵢ μᵢ)
//! ```
//!
//! Theory:
//! - Both sides compute with the mᵢ that were really sent, so Σ wᵢ (x − mᵢ) = 0 and with it Σ αᵢ hᵢ = 0 hold in every
//!   round, whatever was compressed, drawn or lost. Every fixed point is then the optimum of F.
//! - ω = 0 is Scafflix itself, with its theorem: ρ = η = 1.
//! - With one step per round (p = 1) it is DIANA with step ρ/Lα and memories hᵢ of rate 1/(1 + ω), projected to
//!   Σ αᵢ hᵢ = 0, which never takes them away from their limits. Theorem 5 of FLIX covers
//!   ρ ≤ 1/(1 + 6 ω max cᵢ/(n Lα)), cᵢ = αᵢ² Lᵢ.
//! - Where moreover all curvatures are alike, the mean squares e of x and s of h follow
//!   e ← ((1 − ρ)² + ρ² ω̄) e + ρ² ω̄ s and s ← ω/(1+ω)² e + (1 − 1/(1+ω)) s, which contract if ρ < 2/(1 + 2 ω̄). Our ρ is
//!   three quarters of that: unlike the theorem's it is not lost on compressors as mild as Rand-k with 0.2 d.
//! - p: the part of hᵢ in the Lyapunov function falls by p²/(1 + ω) per step. This p makes it as fast as the part of x.
//!
//! Only tested: the rate where runs are longer than a step and ω > 0, and `tracked` participation with it. (A relative
//! with a theorem for both, where the server has a strongly convex function of its own, is LoCoDL: Condat, Maranjyan,
//! Richtárik 2024.)

use motet_core::{Abort, Cohort, Round, Site, Unsuitable, Vector};

use super::{Ask, Client, Kind, Reply, ScafflixFamily, Server, Variant};
use crate::parts::compress::{Compressors, Packed, Turn};

impl<K: Kind> ScafflixFamily<K> {
    /// ω
    pub(super) fn omega(&self, dim: usize) -> f64 {
        self.compressor.as_ref().map_or(0.0, |compressors| compressors.largest_omega(dim))
    }

    /// ρ
    fn damping(&self, compressors: &Compressors, s: &Server, cohort: &Cohort) -> f64 {
        let (mut noise, mut weights) = (0.0, 0.0);
        for &id in cohort.ids() {
            let weight = self.weight(s, id);
            noise += weight * weight * compressors.omega(id, s.x.len());
            weights += weight;
        }
        (1.5 / (1.0 + 2.0 * noise / (weights * weights))).min(1.0)
    }

    /// Lines 6 and 7: x + ρ Σ wᵢ Cᵢ(xᵢ − x) / Σ wᵢ.
    pub(super) fn gather_compressed(
        &self,
        compressors: &Compressors,
        s: &Server,
        cohort: &Cohort,
        steps: u32,
        round: &mut Round<'_, Self>,
    ) -> Result<(Vector, Cohort), Abort> {
        let (damping, dim) = (self.damping(compressors, s, cohort), s.x.len());
        let turn = Turn { round: round.index(), key: round.rng().next_u64() };
        let (mut sum, mut weights) = (s.x.zeros_like(), 0.0);
        let answered = round.ask(cohort, Ask::Condense { x: s.x.clone(), steps, turn, damping }, |id, reply| {
            if let Reply::Condensed { packed } = &reply {
                let weight = self.weight(s, id);
                compressors.of(id).opened(packed, &turn.of(id), dim).add_to(weight, &mut sum);
                weights += weight;
            }
        })?;
        let mut x = s.x.clone();
        x.axpy(damping / weights, &sum); // line 7
        Ok((x, answered))
    }

    /// Line 6 at the client, which remembers mᵢ as the server will understand it.
    pub(super) fn condense(
        &self,
        me: &mut Client,
        moved: &Vector,
        x: &Vector,
        (turn, damping): (Turn, f64),
        site: &mut Site<'_>,
    ) -> Packed {
        let Some(compressors) = &self.compressor else { return Packed::whole(Vector::diff(moved, x)) };
        let (compressor, key, mut sent) = (compressors.of(site.id), turn.of(site.id), x.clone());
        let packed = compressor.compress_into(&Vector::diff(moved, x), &key, &mut site.rng, damping, &mut sent);
        me.sent = Some(sent);
        me.pace = 1.0 / ((1.0 + self.omega(x.len())) * damping);
        packed
    }

    /// Does the compressor go with the other settings and the number of clients?
    pub(super) fn compressor_suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        let Some(compressors) = &self.compressor else { return Ok(()) };
        let forgets =
            "with a compressor control variates must be kept from round to round, or its noise never dies out: variant = \"tracked\"";
        Unsuitable::when(self.sampling.variant == Variant::Author, forgets)?;
        compressors.suits(clients, false)
    }
}
