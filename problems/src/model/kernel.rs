//! The two hot loops of logistic gradients. The only file of this crate with `unsafe` code.
#![allow(unsafe_code)]

use motet_core::fastest;

use super::logistic::margin_slope;
use super::scratch::with_list;

/// How many lists are summed side by side: enough additions in flight to hide their latency.
const LANES: usize = 4;

/// Lists of positions whose numbers are to be summed.
///
/// Sorted by length, so that the processor can foresee where a list ends, and interleaved by fours: step k of a group
/// is the k-th positions of its lists. Shorter lists are filled up with the position of an extra zero.
#[derive(Debug)]
pub(super) struct Lists {
    /// Invariant: no position in `steps` is larger. 0..sources are numbers, `sources` is the zero.
    sources: usize,
    /// The lists of one group after those of another.
    order: Vec<u32>,
    /// Steps of each group.
    lengths: Vec<u32>,
    /// The steps of all groups, one after another; four positions in one word, because loads limit the loop over them.
    steps: Vec<u64>,
}

impl Lists {
    /// None if positions do not fit into two bytes.
    ///
    /// # Panics
    /// If a list names a position that is not below `sources`.
    pub(super) fn new(lists: &[&[u16]], sources: usize) -> Option<Self> {
        let zero = u16::try_from(sources).ok()?;
        assert!(lists.iter().all(|list| list.iter().all(|&p| p < zero)), "positions are those of numbers");
        let mut order: Vec<u32> = (0..u32::try_from(lists.len()).ok()?).collect();
        order.sort_by_key(|&list| lists[list as usize].len());
        let (mut lengths, mut steps) = (Vec::new(), Vec::new());
        for group in order.chunks(LANES) {
            let length = group.iter().map(|&list| lists[list as usize].len()).max().unwrap_or(0);
            lengths.push(u32::try_from(length).ok()?);
            let position = |lane: usize, step: usize| group.get(lane).and_then(|&list| lists[list as usize].get(step)).copied();
            let word = |step| (0..LANES).rev().fold(0, |word, lane| word << 16 | u64::from(position(lane, step).unwrap_or(zero)));
            steps.extend((0..length).map(word));
        }
        Some(Self { sources, order, lengths, steps })
    }

    /// out[l] ← out[l] + Σ numbers at the positions of list l, summed in the order of the list.
    pub(super) fn add_sums(&self, numbers: &[f64], out: &mut [f64]) {
        assert_eq!(numbers.len(), self.sources, "one number for each position");
        with_list(|padded| {
            padded.extend_from_slice(numbers);
            padded.push(0.0);
            self.add_padded(padded, out);
        });
    }

    fn add_padded(&self, padded: &[f64], out: &mut [f64]) {
        assert_eq!(padded.len(), self.sources + 1, "one number for each position, and the zero");
        // SAFETY: every position in `steps` is at most `sources` (the invariant, checked by `new`; the fields are
        // private and never written again), and `padded` has `sources + 1` numbers (the assertion above).
        let at = |position: u64| unsafe { *padded.get_unchecked(position as usize) };
        let mut rest = self.steps.as_slice();
        for (group, &length) in self.order.chunks(LANES).zip(&self.lengths) {
            let (steps, later) = rest.split_at(length as usize);
            rest = later;
            let mut sums = [0.0; LANES];
            for four in steps {
                sums[0] += at(four & 0xffff);
                sums[1] += at(four >> 16 & 0xffff);
                sums[2] += at(four >> 32 & 0xffff);
                sums[3] += at(four >> 48);
            }
            for (&list, sum) in group.iter().zip(sums) {
                out[list as usize] += sum;
            }
        }
    }
}

fastest! {
    /// Replaces scores by the slopes of the logistic loss.
    pub(super) fn margin_slopes(targets: &[f64], scores: &mut [f64]) {
        for (score, target) in scores.iter_mut().zip(targets) {
            *score = margin_slope(*target, *score);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_lists_whatever_their_lengths() {
        let lists: Vec<Vec<u16>> = (0..23).map(|l| (0..(l * 7) % 11).map(|k| (l * 5 + k * 3) % 40).collect()).collect();
        let slices: Vec<&[u16]> = lists.iter().map(Vec::as_slice).collect();
        let numbers: Vec<f64> = (0..40).map(|k| f64::from(k).sin()).collect();
        let mut sums = vec![1.0; 23];
        Lists::new(&slices, 40).unwrap().add_sums(&numbers, &mut sums);
        for (list, sum) in lists.iter().zip(sums) {
            let mut expected = 0.0;
            list.iter().for_each(|&p| expected += numbers[usize::from(p)]);
            assert_eq!(sum, 1.0 + expected);
        }
        assert!(Lists::new(&[], 65_536).is_none());
    }

    #[test]
    fn the_last_position_and_the_zero_after_it_are_within_the_numbers() {
        // As many sources as positions of two bytes can name: the zero is at the last of them.
        for sources in [0, 1, 4, 65_535] {
            let all: Vec<u16> = (0..sources).collect();
            let last: Vec<u16> = all.last().copied().into_iter().collect();
            let numbers: Vec<f64> = all.iter().map(|&p| f64::from(p)).collect();
            // Lists of one group have lengths 0, 1 and all: the shorter ones read the zero.
            let mut sums = [0.0; 3];
            Lists::new(&[&last, &[], &all], usize::from(sources)).unwrap().add_sums(&numbers, &mut sums);
            assert_eq!(sums, [last.iter().map(|&p| f64::from(p)).sum(), 0.0, numbers.iter().sum()]);
        }
    }

    #[test]
    #[should_panic(expected = "one number for each position")]
    fn numbers_that_are_too_few_are_refused() {
        Lists::new(&[&[0, 1]], 2).unwrap().add_sums(&[1.0], &mut [0.0]);
    }

    #[test]
    #[should_panic(expected = "positions are those of numbers")]
    fn positions_beyond_the_numbers_are_refused() {
        let _ = Lists::new(&[&[3]], 3);
    }

    #[test]
    fn slopes_have_the_same_bits_on_every_machine() {
        let scores: Vec<f64> = (-2000..2000).map(|k| f64::from(k) * 0.37).chain([f64::NAN, f64::INFINITY]).collect();
        let targets: Vec<f64> = (0..scores.len()).map(|k| (k % 3 % 2) as f64).collect();
        let mut fast = scores.clone();
        margin_slopes(&targets, &mut fast);
        // One at a time, as a machine without wide registers does it.
        let plain = scores.iter().zip(&targets).map(|(score, target)| margin_slope(*target, *score));
        assert!(fast.iter().zip(plain).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
