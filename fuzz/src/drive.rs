//! Damaged inputs one after another, and what came of them.

use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use motet::core::Seed;

use crate::mutate::mutate;
use crate::target::{Met, Reach, Target};
use crate::usage::processor_time;

/// What came of some inputs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Inputs that were read and used.
    pub taken: u64,
    /// Inputs that were refused with a reason.
    pub refused: u64,
    /// Inputs that were not handled as they should be.
    pub failures: Vec<Failure>,
    /// The longest that one input took of the processor, and which.
    pub slowest: (Duration, u64),
}

/// An input on which a reader panicked, took too long, or answered wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its number: with the seed, everything about it.
    pub case: u64,
    /// What happened.
    pub reason: String,
}

/// No input may take longer of the processor.
const LONGEST: Duration = Duration::from_secs(10);

/// The damaged input of a number; `corpus` and `words` are the target's.
pub fn case(corpus: &[Vec<u8>], words: &[String], head: usize, seed: u64, number: u64) -> Vec<u8> {
    mutate(corpus, words, head, &mut Seed(seed).problem(number))
}

/// Tries the damaged inputs of these numbers. [`silence`] keeps panics from being printed.
pub fn drive(target: &dyn Target, seed: u64, cases: Range<u64>, reach: Reach) -> Report {
    let (corpus, words, head) = (target.corpus(), target.words(), target.head());
    let mut report = Report::default();
    for number in cases {
        report.add(number, target, &case(&corpus, &words, head, seed, number), reach);
    }
    report
}

impl Report {
    /// Tries one more input.
    pub fn add(&mut self, number: u64, target: &dyn Target, input: &[u8], reach: Reach) {
        let began = processor_time();
        let met = catch_unwind(AssertUnwindSafe(|| target.run(input, reach)));
        let took = processor_time().saturating_sub(began);
        match met {
            Ok(Met::Taken) => self.taken += 1,
            Ok(Met::Refused(_)) => self.refused += 1,
            Err(_) => self.failures.push(Failure { case: number, reason: format!("panic: {}", SAID.take()) }),
        }
        if took > LONGEST {
            self.failures.push(Failure { case: number, reason: format!("took {:.1} s of the processor", took.as_secs_f64()) });
        }
        self.slowest = self.slowest.max((took, number));
    }
}

thread_local! {
    /// What the last panic of this thread said.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on panics are not printed but kept for the report.
pub fn silence() {
    std::panic::set_hook(Box::new(|info| SAID.set(info.to_string())));
}
