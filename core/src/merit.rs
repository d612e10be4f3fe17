//! The merit ledger: how much each client counted for each target, round by round.
//!
//! `merits.bin` holds one [`Merit`] after another, each preceded by its length in bytes (four, little-endian): four bytes
//! per weight, appended as the run goes. A last record that was being written when the run died is passed over.

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
    }
}

impl Merit {
    /// Rounds the weights to single precision.
    pub fn new(run: usize, round: u64, target: u32, weights: &[f64]) -> Self {
        let narrow: Vec<f32> = weights.iter().map(|w| *w as f32).collect();
        Self { run: run as u32, round, target, weights: narrow.into() }
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
