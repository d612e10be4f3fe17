//! Names of classes and clients, one for each row.

use std::collections::{BTreeMap, BTreeSet};

use super::error::DataError;
use crate::source::in_natural_order;

/// A name for each row, made `from` a list of words or whole numbers, or given as codes of a list of names.
///
/// Clients and classes are numbered in ascending order of their names: by value if all are numbers, else by letters. Codes
/// keep their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// Words; numbers among them may be written as text.
    Words(Vec<String>),
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Places in a list of names, as categorical columns of data frames have them.
    Coded {
        /// By row.
        codes: Vec<u32>,
        /// By code; each is used.
        names: Vec<String>,
    },
}

impl Names {
    /// How many rows have a name.
    pub fn len(&self) -> usize {
        match self {
            Names::Words(words) => words.len(),
            Names::Integers(integers) => integers.len(),
            Names::Coded { codes, .. } => codes.len(),
        }
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The code of each row, and the name of each code.
    pub(super) fn coded(self) -> Result<(Vec<u32>, Vec<String>), DataError> {
        match self {
            Names::Words(words) => Ok(in_natural_order(&words)),
            Names::Integers(integers) => {
                let different: BTreeSet<i64> = integers.iter().copied().collect();
                let places: BTreeMap<i64, u32> = different.iter().copied().zip(0..).collect();
                let codes = integers.into_iter().map(|integer| places[&integer]).collect();
                Ok((codes, different.iter().map(i64::to_string).collect()))
            }
            Names::Coded { codes, names } => {
                let mut used = vec![false; names.len()];
                for (row, &code) in codes.iter().enumerate() {
                    *used.get_mut(code as usize).ok_or(DataError::Code { row, code, names: names.len() })? = true;
                }
                if let Some(unused) = used.iter().position(|used| !used) {
                    return Err(DataError::Unused { name: names[unused].clone() });
                }
                let mut seen = BTreeSet::new();
                if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
                    return Err(DataError::SameName { name: twice.clone() });
                }
                Ok((codes, names))
            }
        }
    }
}

impl From<Vec<String>> for Names {
    fn from(words: Vec<String>) -> Self {
        Names::Words(words)
    }
}

impl From<Vec<&str>> for Names {
    fn from(words: Vec<&str>) -> Self {
        Names::Words(words.into_iter().map(str::to_owned).collect())
    }
}

impl From<Vec<i64>> for Names {
    fn from(integers: Vec<i64>) -> Self {
        Names::Integers(integers)
    }
}

/// Makes names from narrower whole numbers and truth values.
macro_rules! from_integers {
    ($($narrow:ty),*) => {
        $(impl From<Vec<$narrow>> for Names {
            fn from(integers: Vec<$narrow>) -> Self {
                Names::Integers(integers.into_iter().map(i64::from).collect())
            }
        })*
    };
}

from_integers!(i32, u32, u8, bool);
