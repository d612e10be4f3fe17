//! The merit ledger: how much each client counted for each target, round by round.
//!
//! `merits.bin` holds one [`Merit`] after another, each preceded by its length in bytes (four, little-endian), appended as
//! the run goes. A record stands for all rounds since the one before: it has the weights after the last of them and their
//! average over all, four bytes each. Weights that jump from round to round are so averaged rightly, however seldom
//! a run is measured. A last record that was being written when the run died is passed over.

use crate::message::{Reader, Wire, WireError, wire};
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

    /// The record as the file holds it.
    pub fn framed(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + self.bytes() as usize);
        (self.bytes() as u32).encode(&mut bytes);
        self.encode(&mut bytes);
        bytes
    }

    /// The records of a file, without an unfinished last one.
    pub fn read_all(bytes: &[u8]) -> Result<Vec<Self>, WireError> {
        let (mut from, mut merits) = (Reader::new(bytes), vec![]);
        while from.left() >= 4 {
            let length = u32::decode(&mut from)? as usize;
            if length > from.left() {
                break;
            }
            let mut record = Reader::new(from.take(length)?);
            let merit = Merit::decode(&mut record)?;
            if record.left() > 0 {
                return Err(WireError::Unsound("a merit record longer than its weights"));
            }
            merits.push(merit);
        }
        Ok(merits)
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
    fn a_ledger_cut_short_loses_its_last_record_only() {
        let merits = [Merit::new(1, 5, 0, &[0.25, 0.75]), Merit::new(1, 6, 0, &[0.5, 0.5])];
        let bytes: Vec<u8> = merits.iter().flat_map(Merit::framed).collect();
        assert_eq!(Merit::read_all(&bytes).unwrap(), merits);
        let first = merits[0].framed().len();
        for end in first..bytes.len() {
            assert_eq!(Merit::read_all(&bytes[..end]).unwrap(), merits[..1], "cut after {end} bytes");
        }
    }

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

    #[test]
    fn damaged_ledgers_are_errors_or_other_numbers_but_never_panics() {
        let bytes = Merit::new(1, 5, 0, &[0.25, 0.75]).framed();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let _ = Merit::read_all(&bad);
            }
        }
    }
}
