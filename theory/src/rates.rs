//! How fast the server of FedAvg and Reptile (Θ_{1:K}) gets to the surrogate's minimiser, or to the true one.

use crate::ensemble::Ensemble;
use crate::phi::phi;
use crate::scales::Scales;
use crate::surrogate::Surrogate;
use crate::theta::Theta;

/// What makes a round's update random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// G²: the variance of a single example's gradient, at any point and client.
    pub gradient: f64,
    /// B: examples per local step.
    pub batch: u32,
    /// Who takes part.
    pub cohort: Cohort,
}

/// Who takes part in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cohort {
    /// Every client.
    Everyone,
    /// This many independent draws.
    Draws(u32),
    /// This many different clients, all equally likely.
    Distinct(u32),
}

impl Noise {
    /// Whole gradients of everyone: nothing is random.
    pub fn none() -> Self {
        Self { gradient: 0.0, batch: 1, cohort: Cohort::Everyone }
    }

    /// K G²/(MB), the printed part of Lemma 23.
    fn of_gradients(&self, steps: u32, clients: usize) -> f64 {
        let participants = match self.cohort {
            Cohort::Everyone => clients as f64,
            Cohort::Draws(m) | Cohort::Distinct(m) => f64::from(m),
        };
        f64::from(steps) * self.gradient / (participants * f64::from(self.batch))
    }

    /// What the variance of one drawn client is multiplied with.
    fn of_clients(&self, clients: usize) -> f64 {
        match self.cohort {
            Cohort::Everyone => 0.0,
            Cohort::Draws(m) => 1.0 / f64::from(m),
            Cohort::Distinct(m) if clients > 1 => (clients as f64 - f64::from(m)).max(0.0) / (f64::from(m) * (clients - 1) as f64),
            Cohort::Distinct(_) => 0.0,
        }
    }

    /// Lemma 23, corrected: the variance of a round's update at x is at most K G²/(MB) + (1/M) E|∇f̃ᵢ(x) − ∇f̃(x)|². The
    /// paper has the first part alone, which holds only if all clients take part.
    pub fn variance(&self, surrogate: &Surrogate<'_>, clients: usize, x: &[f64]) -> f64 {
        self.of_gradients(surrogate.theta().steps(), clients) + self.of_clients(clients) * surrogate.gradient_spread(x)
    }
}

/// Theorems 26, 27 and 28: a fixed client rate, and a server rate that is fixed or decays.
///
/// With sampled clients the update's variance is at most V + (2s/M)|x − x*_γ|², where s = E|Qᵢ Aᵢ − E Qⱼ Aⱼ|² and
/// V = K G²/(MB) + (2/M) E|∇f̃ᵢ(x*_γ)|². The theorems then hold with L_γ² + 2s/M for L_γ² and V for K G²/(MB), by the same
/// proofs. With everyone they are as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    scales: Scales,
    /// μ_γ
    convexity: f64,
    /// L_γ² + 2s/M
    smoothness2: f64,
    /// V
    variance: f64,
}

impl Rates {
    /// For K local steps of rate γ < 1/L; none for larger ones.
    pub fn new(of: &Ensemble, steps: u32, gamma: f64, noise: &Noise) -> Option<Self> {
        let scales = of.scales();
        if gamma.is_nan() || gamma < 0.0 || gamma * scales.smoothness >= 1.0 || steps == 0 {
            return None;
        }
        let surrogate = of.surrogate(gamma, &Theta::all(steps));
        let share = noise.of_clients(of.len());
        let (more, floor) = if share > 0.0 {
            (2.0 * share * surrogate.curvature_spread(), 2.0 * share * surrogate.gradient_spread(surrogate.minimiser()?))
        } else {
            (0.0, 0.0)
        };
        Some(Self {
            scales,
            convexity: phi(steps, scales.convexity, gamma),
            smoothness2: phi(steps, scales.smoothness, gamma).powi(2) + more,
            variance: noise.of_gradients(steps, of.len()) + floor,
        })
    }

    /// μ_γ/L_γ²: the largest fixed server rate of Theorem 26.
    pub fn largest_step(&self) -> f64 {
        self.convexity / self.smoothness2
    }

    /// Theorem 26: E|x_{t+1} − x*_γ|² ≤ (1 − η μ_γ)^t |x₁ − x*_γ|² + η V/μ_γ for η at most [`largest_step`](Self::largest_step).
    pub fn fixed(&self, step: f64, rounds: u64, start2: f64) -> f64 {
        (1.0 - step * self.convexity).powf(rounds as f64) * start2 + self.floor(step)
    }

    /// η V/μ_γ: what a fixed server rate never gets below.
    pub fn floor(&self, step: f64) -> f64 {
        step * self.variance / self.convexity
    }

    /// Rounds of a fixed server rate until Theorem 26 promises E|x − x*_γ|² ≤ `accuracy2`; none if it never does.
    pub fn rounds_fixed(&self, step: f64, start2: f64, accuracy2: f64) -> Option<u64> {
        let room = accuracy2 - self.floor(step);
        if room <= 0.0 {
            return None;
        }
        let rounds = ((room / start2).ln() / (-step * self.convexity).ln_1p()).max(0.0).ceil() as u64;
        // A contraction to 0 takes one round, which no logarithm tells.
        Some(if rounds == 0 && start2 > room { 1 } else { rounds })
    }

    /// b = 2 L_γ²/μ_γ², the least offset of Theorem 27: twice the squared condition number.
    pub fn offset(&self) -> f64 {
        2.0 * self.smoothness2 / self.convexity.powi(2)
    }

    /// η_t = (2/μ_γ)/(b + t) of round t = 1, 2, …
    pub fn decaying_step(&self, round: u64) -> f64 {
        2.0 / (self.convexity * (self.offset() + round as f64))
    }

    /// ν = max{4V/μ_γ², (b + 1)|x₁ − x*_γ|²}
    fn nu(&self, start2: f64) -> f64 {
        (4.0 * self.variance / self.convexity.powi(2)).max((self.offset() + 1.0) * start2)
    }

    /// Theorem 27: E|x_t − x*_γ|² ≤ ν/(b + t).
    pub fn decaying(&self, round: u64, start2: f64) -> f64 {
        self.nu(start2) / (self.offset() + round as f64)
    }

    /// Rounds of a decaying server rate until Theorem 27 promises E|x − x*_γ|² ≤ `accuracy2`.
    pub fn rounds_decaying(&self, start2: f64, accuracy2: f64) -> u64 {
        (self.nu(start2) / accuracy2 - self.offset()).max(0.0).ceil() as u64
    }

    /// Corollary 28: E|x_t − x*|² ≤ 2ν/(b + t) + 2 σ_c² (1 + σ_A/μ)² (L²/μ²) ε²/(1 − ε)² for γ ≤ ln(1/(1 − ε))/(KL).
    pub fn decaying_to_truth(&self, round: u64, start2: f64, epsilon: f64) -> f64 {
        2.0 * self.decaying(round, start2) + 2.0 * self.scales.distance_keeping(epsilon).powi(2)
    }
}

/// Theorem 29: both rates decay, and the server gets to the true minimiser. For full participation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    scales: Scales,
    steps: u32,
    /// 18 G²/(μ² K M B)
    noise: f64,
}

impl Decay {
    /// For K local steps; none if clients are sampled, for which the theorem lacks a term.
    pub fn new(of: &Ensemble, steps: u32, noise: &Noise) -> Option<Self> {
        let everyone = noise.of_clients(of.len()) == 0.0;
        let scales = of.scales();
        let variance = noise.of_gradients(steps, of.len());
        (everyone && steps > 0).then(|| Self { scales, steps, noise: 18.0 * variance / (scales.convexity * f64::from(steps)).powi(2) })
    }

    /// b = 3κ²
    pub fn offset(&self) -> f64 {
        3.0 * self.scales.condition().powi(2)
    }

    /// γ_t = min{1/(L(b + t)), ln 2/(Kμ)} of round t = 1, 2, …
    pub fn client_step(&self, round: u64) -> f64 {
        let slow = 1.0 / (self.scales.smoothness * (self.offset() + round as f64));
        slow.min(std::f64::consts::LN_2 / (f64::from(self.steps) * self.scales.convexity))
    }

    /// η_t = 3/(μ_t (b + t)), μ_t = φ_{K,μ}(γ_t)
    pub fn server_step(&self, round: u64) -> f64 {
        let convexity = phi(self.steps, self.scales.convexity, self.client_step(round));
        3.0 / (convexity * (self.offset() + round as f64))
    }

    /// E|x_t − x*|² ≤ (2ν + 4 K² σ_c² κ²)/(b + t) with ν = max{18 G²/(μ² K M B), (b + 1)|x₁ − x*(γ₁)|²}, `start2` being
    /// the last square. The paper prints 16 for 4K², which rests on its Corollary 22 and is false for large K; the 18 is
    /// right because μ_t ≥ Kμ/(2 ln 2), not because of the printed μ_t ≥ Kμ/2.
    pub fn bound(&self, round: u64, start2: f64) -> f64 {
        // For K = 1 the minimiser does not move; the proof's constant for K = 2 is kept.
        let k = f64::from(self.steps.max(2));
        let bias = 4.0 * (k * self.scales.centres * self.scales.condition()).powi(2);
        self.over(round, start2, bias)
    }

    /// The bound as the paper prints it, 16 σ_c² κ² for the bias: false for large K, kept to show that.
    pub fn printed_bound(&self, round: u64, start2: f64) -> f64 {
        self.over(round, start2, 16.0 * (self.scales.centres * self.scales.condition()).powi(2))
    }

    fn over(&self, round: u64, start2: f64, bias: f64) -> f64 {
        let nu = self.noise.max((self.offset() + 1.0) * start2);
        (2.0 * nu + bias) / (self.offset() + round as f64)
    }

    /// Rounds until E|x − x*|² ≤ `accuracy2` is promised.
    pub fn rounds(&self, start2: f64, accuracy2: f64) -> u64 {
        (self.bound(0, start2) * self.offset() / accuracy2 - self.offset()).max(0.0).ceil() as u64
    }
}
