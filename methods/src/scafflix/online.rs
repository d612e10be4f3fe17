//! Cᵢ of Corollary 2, learnt from the gradients of the rounds.
//!
//! ```text
//! in a round   i draws two batches at Tᵢ(x):   Ĉᵢ = |g − g′|², which is 2 Var gᵢ there on average;   it sends γᵢ Ĉᵢ
//! the server   m ← mean of γᵢ Ĉᵢ over clients and the last rounds;   all γᵢ are multiplied by min(1, (ε μmin/2)/m)
//! ```
//!
//! Theorem 1's floor is (γmin/ζ) (1/n) Σ γᵢ Cᵢ: it needs the mean of γᵢ Cᵢ only, so that a sum is enough and nobody's own noise is shown.
//! A common factor s on all γᵢ makes it (γmin/ζ) s m, which is at most ε/2 for the s above since ζ/γmin ≥ μmin. One factor for all
//! leaves wᵢ and Σ αᵢ hᵢ = 0 as they are; p of theory falls with √s, as ζ asks. Corollary 2 lowers each γᵢ by itself instead: there, clients with little noise keep longer steps.
//!
//! Theory, also while s moves. Ψ is that of the steps s γᵢ and of p √s; its first term does not know s, its second is proportional to s. So
//! Ψ grows by at most max(1, s′/s) when s becomes s′. The s′ of a round comes from batches that its local steps do not use: given the
//! past it is independent of them, and Theorem 1 holds for each step with the s of its round. With M = (1/n) Σ γᵢ Cᵢ:
//!
//! ```text
//! E Ψ′ ≤ max(1, s′/s) ((1 − s ζ) Ψ + s² γmin M)     a step;     while s falls or stays: lim sup E Ψ ≤ sup s · (γmin/ζ) M
//! ```
//!
//! which is at most ε/2 as soon as m is at least M. After the first hundred rounds s rises by a factor of 100/99 a round at most, and with p of theory a round multiplies Ψ by 1/(1 + p √s) on
//! average: Ψ falls towards its floor in every round in which p √s > 1/99. Not proven: that m is near M at a given round, which is tested, as is Ψ ≤ ε.
//! It costs two gradients of a batch and one number per client and round.

use motet_core::{Rate, Site, Unsuitable, Vector, wire};

use super::{Kind, ScafflixFamily, Variant};
use crate::parts::{BatchSize, rows};

/// The mean of the first so many rounds; then each new round counts for one in so many.
const WINDOW: f64 = 100.0;

wire! {
    /// What the server knows of the noise.
    pub struct Met {
        /// ε μmin/2
        pub room: f64,
        /// m
        pub mean: f64,
        /// Rounds heard.
        pub rounds: u64,
    }
}

impl Met {
    /// Nothing yet.
    pub(super) fn new(room: f64) -> Self {
        Self { room, mean: 0.0, rounds: 0 }
    }

    /// What all γᵢ are multiplied by.
    pub fn slow(&self) -> f64 {
        if self.mean > self.room { self.room / self.mean } else { 1.0 }
    }

    /// The mean of γᵢ Ĉᵢ over a round's clients.
    pub(super) fn hear(&mut self, noise: f64) {
        self.rounds += 1;
        self.mean += (noise - self.mean) / (self.rounds as f64).min(WINDOW);
    }
}

impl<K: Kind> ScafflixFamily<K> {
    /// p of a round whose steps are multiplied by so much: √ min γᵢ μᵢ falls with them where it is learnt, and stays where it is given.
    pub fn chance(&self, p: f64, slow: f64) -> f64 {
        let learnt = self.p == Rate::Theory && self.target.as_ref().is_some_and(|target| target.online);
        if learnt { p * slow.sqrt() } else { p }
    }

    /// Ĉᵢ at Tᵢ(x).
    pub(super) fn gauge(&self, at: &Vector, site: &mut Site<'_>) -> f64 {
        let mut draw = || {
            let (batch, mut g) = (self.batch.draw(site.train.samples(), &mut site.rng), at.zeros_like());
            site.train.gradient_into(at, rows(&batch), &mut g);
            g
        };
        let first = draw();
        first.distance2(&draw())
    }

    /// Is there noise to learn, and nothing else that changes the steps?
    pub(super) fn target_suits(&self) -> Result<(), Unsuitable> {
        let Some(target) = &self.target else { return Ok(()) };
        let biased = "variant = \"author\" forgets its control variates and ends at a bias, which no steps for a target take away: \
                      leave target out, or take variant = \"tracked\"";
        Unsuitable::when(self.sampling.variant == Variant::Author, biased)?;
        let silent = "target needs noise: C_i as a number, { per_client = [...] } or \"estimate\", or online = true to learn it in rounds";
        Unsuitable::when(target.noise.is_none() && !target.online, silent)?;
        let whole = "target.online learns the noise of batches: give batch, or leave target out, since whole gradients have none";
        Unsuitable::when(target.online && self.batch == BatchSize::All, whole)?;
        let both = "target.online sets the steps: leave decay and compressor out";
        Unsuitable::when(target.online && (self.decay.is_some() || self.compressor.is_some()), both)
    }
}
