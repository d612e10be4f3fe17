//! One number that is written in several ways, as 1 and 1.0 are where tables of several programs were put together.

use super::cell::Decimal;
use super::columns::number;
use crate::error::ProblemError;
use crate::source::open::shown;

/// Different words with their numbers, in the order of those; equal numbers by the length of their words.
fn in_order<'a>(words: impl Iterator<Item = (f64, &'a str)>) -> Vec<(f64, &'a str)> {
    // Zero has no sign.
    let mut all: Vec<(f64, &str)> = words.map(|(number, word)| (number + 0.0, word)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| (a.1.len(), a.1).cmp(&(b.1.len(), b.1))));
    all.dedup();
    all
}

/// Classes by number, each called by the shortest way to write it. Nothing if every number is written in one way only.
pub(super) fn by_value(words: &[String], numbers: &[f64]) -> Option<(Vec<u32>, Vec<String>)> {
    let mut classes = in_order(numbers.iter().copied().zip(words.iter().map(String::as_str)));
    let ways = classes.len();
    classes.dedup_by(|next, first| next.0 == first.0);
    (classes.len() < ways).then(|| {
        let label = |number: &f64| classes.partition_point(|(smaller, _)| smaller < number) as u32;
        (numbers.iter().map(label).collect(), classes.iter().map(|(_, word)| (*word).to_owned()).collect())
    })
}

/// Two different words that are one number, if there are any.
pub(super) fn two_of_one<'a>(words: impl Iterator<Item = &'a str>, decimal: Decimal) -> Option<[&'a str; 2]> {
    let known = in_order(words.filter_map(|word| Some((number(word, decimal)?, word))));
    known.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| [pair[0].1, pair[1].1])
}

/// Clients whose names are one number would be one client to some people and two to others.
pub(super) fn one_name_each(column: &str, words: &[String], file: &str) -> Result<(), ProblemError> {
    let Some([a, b]) = two_of_one(words.iter().map(String::as_str), Decimal::Point) else { return Ok(()) };
    let (column, a, b) = (shown(column.as_bytes()), shown(a.as_bytes()), shown(b.as_bytes()));
    let what = format!(
        "`{a}` and `{b}` are one number and two names of clients: write them alike if they are one client, or with a letter if not"
    );
    Err(ProblemError::Odd { file: file.into(), place: format!("column `{column}`"), what })
}
