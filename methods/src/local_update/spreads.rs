//! σ_c and σ_A of Theorem 17, bounded from above in rounds, for the largest client step that keeps an accuracy.
//!
//! ```text
//! before       L = max Lᵢ, μ = min μᵢ;   σ_A ≤ L − μ;   γ = 0
//! in a round   i sends |∇fᵢ(x)|²/μᵢ², which is not below |xᵢ* − x|²
//!              σ_c² ← the least mean of these of all rounds: the mean of |xᵢ* − x|² is σ_c² + |mean − x|²
//! first rounds v has random signs; i sends Aᵢ v and |Aᵢ v|²:   mean |Aᵢ v|² − |A v|² is the mean of |Aᵢ − A|² on average, in the
//!              Frobenius norm, which is not below the spectral one; after the last of them σ_A² ← their mean and two standard errors, at most (L − μ)²
//! γ            the largest rate below 1/L with σ_c (1 + σ_A/μ) (L K − φ_{K,L})/φ_{K,μ} ≤ accuracy
//! ```
//!
//! σ_c is the spread of minimisers, which the gradients of a run cannot tell: whoever changes fᵢ outside of the ball in which the run moves changes
//! xᵢ* and nothing that is seen. Bounds are what there is. Both only fall, so γ only rises, and nothing is solved. A round counts where
//! everyone answered; where [`PATIENCE`] rounds bring none, the run ends and says why. Hessians that fewer than half of the first rounds
//! brought count for nothing. Theory for quadratics, up to the draw of v; for other losses the Hessians of the first rounds stand for all.
//! It costs one gradient and one number per client and round, and in the first [`PROBES`] rounds two gradients' worth of a Hessian's product and a vector.

use motet_core::{Abort, Cohort, Positive, Seed, Site, Sum, Unsuitable, Vector, wire};
use serde::{Deserialize, Serialize};

use super::phi;

/// Rounds in which Hessians are asked about.
pub const PROBES: u32 = 16;

/// Rounds within which everyone must have answered once.
pub const PATIENCE: u64 = 50;

/// What γ must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// |x*(γ) − x*| at most.
    pub accuracy: Positive,
    /// Are the spreads learnt in rounds? An experiment makes the other estimates before the first.
    pub online: bool,
}

wire! {
    /// What the server knows of the spreads.
    pub struct Spreads {
        /// The bound of σ_c²; infinite before the first round.
        pub centres2: f64,
        /// Rounds in which Hessians were asked about.
        pub tries: u32,
        /// Those of them in which everyone answered.
        pub probes: u32,
        /// Σ of mean |Aᵢ v|² − |A v|² over these.
        pub bent: f64,
        /// Σ of its squares.
        pub bent2: f64,
    }
}

impl Spreads {
    /// Nothing is known.
    pub fn unknown() -> Self {
        Self { centres2: f64::INFINITY, tries: 0, probes: 0, bent: 0.0, bent2: 0.0 }
    }

    /// Are Hessians still asked about?
    pub fn wants_signs(&self) -> bool {
        self.tries < PROBES
    }

    /// The dice of the signs of this round, while Hessians are asked about.
    pub fn try_signs(&mut self, draw: impl FnOnce() -> u64) -> Option<u64> {
        self.wants_signs().then(|| {
            self.tries += 1;
            draw()
        })
    }

    /// One round of everyone: Σ |∇fᵢ(x)|²/μᵢ², and Σ |Aᵢ v|² and A v where they were asked for.
    pub fn hear(&mut self, far2: f64, bent: Option<(f64, Vector)>, clients: f64) {
        self.centres2 = self.centres2.min(far2 / clients);
        if let Some((length2, mean)) = bent {
            let apart = (length2 / clients - mean.norm2()).max(0.0);
            self.probes += 1;
            self.bent += apart;
            self.bent2 += apart * apart;
        }
    }

    /// The bound of σ_A, for Hessians between μ and L.
    pub fn curvatures(&self, smoothness: f64, convexity: f64) -> f64 {
        let most = smoothness - convexity;
        // The spread of a few draws says little about how far off their mean is.
        if self.wants_signs() || 2 * self.probes < PROBES {
            return most;
        }
        let n = f64::from(self.probes);
        let mean = self.bent / n;
        let error = ((self.bent2 / n - mean * mean).max(0.0) / (n - 1.0)).sqrt();
        (mean + 2.0 * error).sqrt().min(most)
    }

    /// Ends a run that would never learn a rate: somebody stayed silent in each of the rounds before this one.
    pub fn await_everyone(&self, round: u64) -> Result<(), Abort> {
        if round <= PATIENCE || self.centres2.is_finite() {
            return Ok(());
        }
        Err(Abort::Unsuited(format!(
            "step is learnt in rounds in which everyone answers, and in {PATIENCE} rounds there was none: leave out devices that come and go \
             ([run] devices), or take an estimate made before the first round, step = {{ estimate = {{ accuracy = ... }} }}"
        )))
    }

    /// γ of the next round, of K local steps.
    pub fn rate(&self, accuracy: f64, steps: u32, (smoothness, convexity): (f64, f64)) -> f64 {
        if self.centres2.is_infinite() {
            return 0.0;
        }
        let spread = self.centres2.sqrt() * (1.0 + self.curvatures(smoothness, convexity) / convexity);
        let bias = |gamma: f64| {
            let lost = smoothness * f64::from(steps) - phi(steps, smoothness, gamma);
            spread * lost / phi(steps, convexity, gamma)
        };
        let (mut low, mut high) = (0.0, (1.0 - 1e-12) / smoothness);
        if bias(high) <= accuracy {
            return high;
        }
        // The bias grows with γ.
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if bias(middle) <= accuracy { low = middle } else { high = middle }
        }
        low
    }
}

/// What a client sends of itself: |∇fᵢ(x)|²/μᵢ², and Aᵢ v where signs are drawn.
pub(super) fn look(x: &Vector, signs: Option<u64>, site: &mut Site<'_>) -> (f64, Option<Vector>) {
    let convexity = site.train.constants().convexity.unwrap_or(f64::NAN);
    let far2 = site.train.gradient(x).norm2() / (convexity * convexity);
    let bent = signs.map(|seed| {
        let mut dice = Seed(seed).server(0, 0);
        let signs = (0..x.len()).map(|_| if dice.coin(0.5) { 1.0 } else { -1.0 });
        let (v, mut out) = (Vector::with_precision(signs, x.precision()), x.zeros_like());
        site.train.hessian_vector(x, &v, motet_core::Rows::All, &mut out);
        out
    });
    (far2, bent)
}

/// What a round's sum tells of everyone; nothing where somebody stayed silent.
pub(super) fn heard(sum: &Sum, everyone: &Cohort, signs: bool) -> Option<(f64, Option<(f64, Vector)>)> {
    (sum.answered.len() == everyone.len()).then(|| {
        let [far2, length2] = sum.numbers;
        (far2, signs.then(|| (length2, sum.vectors[1].clone().finish())))
    })
}

/// Does this go with the other settings?
pub(super) fn suits(accuracy: Accuracy, everyone: bool, loss: bool) -> Result<(), Unsuitable> {
    Unsuitable::when(!accuracy.online, "an estimate that a method makes itself is made in rounds: online = true")?;
    Unsuitable::when(!everyone, "step that is learnt in rounds needs everyone in every round: sampling = \"everyone\"")?;
    Unsuitable::when(loss, "step that is learnt in rounds goes without loss = true")
}
