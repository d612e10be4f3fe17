//! What each client keeps away from training.

use motet_core::{Fraction, Seed};

use crate::dice::{self, Step};
use crate::error::ProblemError;

/// Shares of each client's examples that are kept away from training.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holdout {
    /// For choosing (default 0).
    #[serde(default = "nothing")]
    pub validation: Fraction,
    /// For judging (default 0).
    #[serde(default = "nothing")]
    pub test: Fraction,
    /// Is it cut anew for each seed of a run, on the same clients? Repeated splits tell what chance has to do with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redraw: bool,
}

fn nothing() -> Fraction {
    Fraction::new(0.0).expect("0 is a fraction")
}

impl Default for Holdout {
    fn default() -> Self {
        Self { validation: nothing(), test: nothing(), redraw: false }
    }
}

/// One client's rows, each part in the order they had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// For training.
    pub train: Vec<u32>,
    /// For choosing.
    pub validation: Vec<u32>,
    /// For judging.
    pub test: Vec<u32>,
}

impl Holdout {
    /// Cuts every client's rows. Shares round to the nearest number of examples.
    pub fn cut(&self, clients: Vec<Vec<u32>>, seed: Seed) -> Result<Vec<Parts>, ProblemError> {
        self.check()?;
        clients.into_iter().enumerate().map(|(client, rows)| self.cut_one(client, rows, seed)).collect()
    }

    /// Refuses shares that leave nothing.
    pub(crate) fn check(&self) -> Result<(), ProblemError> {
        if *self.validation + *self.test >= 1.0 {
            let value = format!("{{ validation = {}, test = {} }}", self.validation, self.test);
            return Err(ProblemError::Value { key: "holdout", value, wanted: "together they must be below 1".into() });
        }
        Ok(())
    }

    /// How many of a client's examples are for validation, and how many for test.
    pub(crate) fn sizes(&self, client: usize, examples: usize) -> Result<(usize, usize), ProblemError> {
        let share = |of: f64| (of * examples as f64).round() as usize;
        let (validation, test) = (share(*self.validation), share(*self.test));
        if validation + test >= examples {
            return Err(ProblemError::NothingToTrain { client, examples, validation, test });
        }
        Ok((validation, test))
    }

    /// Cuts one client's rows.
    pub(crate) fn cut_one(&self, client: usize, rows: Vec<u32>, seed: Seed) -> Result<Parts, ProblemError> {
        let (validation, test) = self.sizes(client, rows.len())?;
        if validation + test == 0 {
            return Ok(Parts { train: rows, ..Parts::default() });
        }
        // A shuffled list of marks, read along the rows: the order within each part stays.
        let mut marks: Vec<usize> = (0..rows.len()).collect();
        dice::own(seed, Step::Holdout, client).shuffle(&mut marks);
        let mut parts = Parts::default();
        for (row, mark) in rows.into_iter().zip(marks) {
            match mark {
                m if m < test => parts.test.push(row),
                m if m < test + validation => parts.validation.push(row),
                _ => parts.train.push(row),
            }
        }
        Ok(parts)
    }
}
