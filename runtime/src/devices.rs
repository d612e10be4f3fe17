//! What clients run on: when they are there, how fast they are, what their line carries. The fleet in
//! `deployed.rs` keeps the clock.

use motet_core::{ClientId, Fraction, NonNegative, Positive, Purpose, Seed, Slot, Work};
use serde::{Deserialize, Serialize};

/// The devices of a deployment.
///
/// In an experiment file:
/// `devices = { available = 0.9, dropout = 0.05, speed = 2000, up = 1e6, down = 5e6, latency = 0.05, spread = 0.5, deadline = 30 }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Devices {
    /// How probable it is that a client is there in a round. Round 0, before the first, lasts until everyone was there: that is when
    /// clients enrol.
    pub available: Fraction,
    /// How probable it is that a reply is lost.
    pub dropout: Fraction,
    /// Examples a second that the typical device differentiates or evaluates; no time at all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<Positive>,
    /// Bytes a second to the server; no time at all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Positive>,
    /// Bytes a second from the server; no time at all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Positive>,
    /// Seconds from one end of the line to the other.
    pub latency: NonNegative,
    /// s: how much devices differ; speed and line of each are the typical ones times eˢᶻ with a normal z of its own.
    pub spread: NonNegative,
    /// Seconds after which the server no longer waits for a reply, but for round 0; it waits for ever if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Positive>,
}

impl Default for Devices {
    fn default() -> Self {
        let none = NonNegative::new(0.0).expect("0 is not negative");
        Self {
            available: Fraction::new(1.0).expect("1 is a fraction"),
            dropout: Fraction::new(0.0).expect("0 is a fraction"),
            speed: None,
            up: None,
            down: None,
            latency: none,
            spread: none,
            deadline: None,
        }
    }
}

impl Devices {
    /// Is everyone there in every round, and waited for?
    pub fn is_steady(&self) -> bool {
        *self.available >= 1.0 && self.deadline.is_none()
    }

    /// Is a client there in this attempt at a round?
    pub fn is_there(&self, seed: Seed, slot: Slot, client: ClientId) -> bool {
        let attempt = Slot { exchange: 0, ..slot };
        slot.round == 0 || *self.available >= 1.0 || seed.dice(attempt, client.0, Purpose::Device).coin(*self.available)
    }

    /// Is its reply lost, when it was asked `again` times before in this slot?
    pub fn is_lost(&self, seed: Seed, slot: Slot, client: ClientId, again: u32) -> bool {
        if *self.dropout <= 0.0 {
            return false;
        }
        let mut dice = seed.dice(slot, client.0, Purpose::Fault);
        (0..again).for_each(|_| {
            dice.unit();
        });
        dice.coin(*self.dropout)
    }

    /// Seconds from asking a client to hearing it. Its device is the same in all runs.
    pub fn seconds(&self, client: ClientId, down: u64, work: Work, up: u64) -> f64 {
        let mut dice = Seed(0).fixed(client, Purpose::Device);
        let mut own = || (*self.spread * dice.normal()).exp();
        let took = |amount: u64, rate: Option<Positive>, own: f64| rate.map_or(0.0, |rate| amount as f64 / (*rate * own));
        let (computing, line) = (own(), own());
        2.0 * *self.latency
            + took(down, self.down, line)
            + took(work.gradients + work.values, self.speed, computing)
            + took(up, self.up, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(text: &str) -> Devices {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn seconds_are_line_and_work_and_latency() {
        let typical = devices(r#"{"speed":100,"up":1000,"down":4000,"latency":0.5}"#);
        let work = Work { gradients: 150, values: 50 };
        assert_eq!(typical.seconds(ClientId(3), 8000, work, 500), 1.0 + 2.0 + 2.0 + 0.5);
        let spread = Devices { spread: NonNegative::new(0.7).unwrap(), ..typical };
        let each: Vec<f64> = (0..2000).map(|k| spread.seconds(ClientId(k), 8000, work, 500)).collect();
        assert_eq!(each[7], spread.seconds(ClientId(7), 8000, work, 500), "a device stays what it is");
        // The median of e^(−0.7 z) is 1; sums of two such have a median near 2 × 2.1 + 1.
        let mut sorted = each.clone();
        sorted.sort_by(f64::total_cmp);
        assert!((4.5..7.5).contains(&sorted[1000]) && sorted[1900] > 1.5 * sorted[1000], "{} {}", sorted[1000], sorted[1900]);
    }

    #[test]
    fn availability_and_dropout_are_as_probable_as_they_say_and_repeat_themselves() {
        let d = devices(r#"{"available":0.8,"dropout":0.3}"#);
        let slot = |round| Slot { round, attempt: 0, exchange: 1 };
        let count = |holds: &dyn Fn(u64) -> bool| (1..=20_000).filter(|k| holds(*k)).count() as f64 / 20_000.0;
        // Five standard deviations of 20,000 coins are 0.016.
        assert!((count(&|k| d.is_there(Seed(1), slot(k), ClientId(4))) - 0.8).abs() < 0.016);
        assert!((count(&|k| d.is_lost(Seed(1), slot(k), ClientId(4), 0)) - 0.3).abs() < 0.017);
        assert!((count(&|k| d.is_lost(Seed(1), slot(k), ClientId(4), 3)) - 0.3).abs() < 0.017);
        assert!((0..99).all(|k| d.is_lost(Seed(1), slot(k), ClientId(4), 2) == d.is_lost(Seed(1), slot(k), ClientId(4), 2)));
    }
}
