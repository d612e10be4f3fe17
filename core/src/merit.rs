//! The merit ledger: how much each client counted for each target, round by round.
//!
//! A record stands for all rounds since the one before: it has the weights after the last of them and their average over
//! all. Weights that jump from round to round are so averaged rightly, however seldom a run is measured.

use crate::message::wire;
use crate::vector::Vector;

wire! {
    /// Everybody's weight for one target after one round.
    #[derive(PartialEq)]
    pub struct Merit {
        /// Which run of the experiment.
        pub run: u32,
        /// After this round.
        pub round: u64,
        /// Whose model the weights are for.
        pub target: u32,
        /// By client number, in single precision.
        pub weights: Vector,
        /// Rounds since the record before, this one included.
        pub rounds: u64,
        /// The weights averaged over these rounds; absent if it is one.
        pub mean: Option<Vector>,
    }
}

impl Merit {
    /// A record of one round; rounds the weights to single precision.
    pub fn new(run: usize, round: u64, target: u32, weights: &[f64]) -> Self {
        Self { run: run as u32, round, target, weights: narrow(weights.iter().copied()), rounds: 1, mean: None }
    }

    /// The same record, standing for all rounds of a tally.
    pub(crate) fn over(self, tally: &Tally) -> Self {
        let mean = || narrow(tally.sums.iter().map(|sum| sum / tally.rounds as f64));
        Self { rounds: tally.rounds, mean: (tally.rounds > 1).then(mean), ..self }
    }

    /// The average over the rounds it stands for.
    pub fn average(&self) -> &Vector {
        self.mean.as_ref().unwrap_or(&self.weights)
    }
}

fn narrow(weights: impl Iterator<Item = f64>) -> Vector {
    weights.map(|w| w as f32).collect::<Vec<f32>>().into()
}

wire! {
    /// One target's weights, summed over the rounds since the last record.
    #[derive(PartialEq)]
    pub(crate) struct Tally {
        rounds: u64,
        sums: Vec<f64>,
    }
}

impl Tally {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self { rounds: 0, sums: vec![] }
    }

    /// One more round.
    pub(crate) fn add(&mut self, weights: &[f64]) {
        self.rounds += 1;
        self.sums.resize(self.sums.len().max(weights.len()), 0.0);
        self.sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stands_for_all_rounds_of_its_tally() {
        let mut tally = Tally::new();
        [[0.0, 1.0], [0.25, 0.75], [0.5, 0.5]].iter().for_each(|w| tally.add(w));
        let merit = Merit::new(0, 9, 0, &[0.5, 0.5]).over(&tally);
        assert_eq!((merit.rounds, merit.average().f32s(), merit.weights.f32s()), (3, &[0.25, 0.75][..], &[0.5, 0.5][..]));
        let mut once = Tally::new();
        once.add(&[0.5, 0.5]);
        assert_eq!(Merit::new(0, 9, 0, &[0.5, 0.5]).over(&once), Merit::new(0, 9, 0, &[0.5, 0.5]), "one round is its own average");
    }
}
