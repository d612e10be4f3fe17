//! Rates that fall when the loss no longer does.
//!
//! Charles, Konečný. *On the Outsized Importance of Learning Rates in Local Update Methods*. 2020, section 9.

use std::num::NonZeroU32;

use motet_core::{Fraction, NonNegative, wire};
use serde::{Deserialize, Serialize};

/// When rates fall, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Decay {
    /// Δ: a fall of the loss by less is none.
    pub delta: NonNegative,
    /// W: the loss is averaged over so many rounds.
    pub window: NonZeroU32,
    /// P: rounds without progress before the rates fall.
    pub patience: NonZeroU32,
    /// C: rounds of grace at the start and after each fall.
    pub cooldown: u32,
    /// What the clients' rate is multiplied by.
    pub client_factor: Fraction,
    /// What the server's rate is multiplied by.
    pub server_factor: Fraction,
    /// No rate falls below this.
    pub least: NonNegative,
    /// Which rule: that of the paper or of the released code.
    pub machine: Machine,
}

/// What counts as progress, and from when on patience is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// The released code: progress is measured from the last progress, so that slow, steady descent adds up.
    #[default]
    Released,
    /// The paper to the letter: progress is measured from the least average so far, and descent by less than Δ a round is a plateau.
    Paper,
}

impl Default for Decay {
    fn default() -> Self {
        let (hundred, fraction) = (NonZeroU32::MIN.saturating_add(99), |v| Fraction::new(v).expect("a default between 0 and 1"));
        Self {
            delta: NonNegative::new(1e-4).expect("1e-4 is not negative"),
            window: hundred,
            patience: hundred,
            cooldown: 100,
            client_factor: fraction(0.1),
            server_factor: fraction(0.9),
            least: NonNegative::default(),
            machine: Machine::Released,
        }
    }
}

wire! {
    /// What is remembered of the losses.
    #[derive(PartialEq)]
    pub struct Plateau {
        /// The last losses, at most W, the oldest at `next`.
        window: Vec<f64>,
        /// Where the next loss goes.
        next: u32,
        /// What progress is measured from.
        best: f64,
        /// Rounds without progress.
        wait: u32,
        /// Rounds of grace left.
        cool: u32,
        /// How often the rates have fallen.
        pub falls: u64,
        /// What the clients' rate is multiplied by now.
        pub client: f64,
        /// What the server's rate is multiplied by now.
        pub server: f64,
    }
}

impl Decay {
    /// Before the first loss.
    pub fn begin(&self) -> Plateau {
        Plateau { window: vec![], next: 0, best: f64::INFINITY, wait: 0, cool: self.cooldown, falls: 0, client: 1.0, server: 1.0 }
    }

    /// One more round's loss. The rates have fallen, from the next round on, if this returns true.
    pub fn push(&self, state: &mut Plateau, loss: f64) -> bool {
        let average = state.average(loss, self.window.get());
        let cooling = state.cool > 0;
        let progress = average < state.best - *self.delta;
        match self.machine {
            Machine::Released => {
                if cooling {
                    (state.cool, state.wait) = (state.cool - 1, 0);
                }
                if progress {
                    (state.best, state.wait) = (average, 0);
                } else if state.cool == 0 {
                    state.wait += 1;
                }
            }
            Machine::Paper => {
                state.cool = state.cool.saturating_sub(1);
                state.wait = if cooling || progress { 0 } else { state.wait + 1 };
                state.best = state.best.min(average);
            }
        }
        let fallen = state.wait >= self.patience.get();
        if fallen {
            (state.cool, state.wait) = (self.cooldown, 0);
            state.falls += 1;
            state.client *= *self.client_factor;
            state.server *= *self.server_factor;
        }
        fallen
    }

    /// A client's rate that began as `rate`.
    pub fn client(&self, state: &Plateau, rate: f64) -> f64 {
        (rate * state.client).max(self.least.min(rate))
    }

    /// A server's rate that began as `rate`.
    pub fn server(&self, state: &Plateau, rate: f64) -> f64 {
        (rate * state.server).max(self.least.min(rate))
    }
}

impl Plateau {
    /// The mean of the last W losses with this one; infinite until there are so many.
    fn average(&mut self, loss: f64, size: u32) -> f64 {
        if (self.window.len() as u32) < size {
            self.window.push(loss);
        } else {
            self.window[self.next as usize] = loss;
            self.next = (self.next + 1) % size;
        }
        if (self.window.len() as u32) < size { f64::INFINITY } else { self.window.iter().sum::<f64>() / f64::from(size) }
    }
}
