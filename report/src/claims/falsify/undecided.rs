//! Settings that nobody gave as a number: a budget, an estimate, trials or clients decide them, so that a record may have other values.

use std::collections::BTreeMap;

/// By label of a run and path of a parameter: the values it may have; any where none are listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Undecided(BTreeMap<String, BTreeMap<String, Vec<f64>>>);

impl Undecided {
    /// The parameter of the runs with this label is not decided; it becomes one of these values, or any if there are none.
    pub fn may_be(&mut self, label: &str, parameter: &str, values: Vec<f64>) {
        self.0.entry(label.to_owned()).or_default().insert(parameter.to_owned(), values);
    }

    /// The path that a claim means by this name, and the values, where it is not decided.
    pub(super) fn of(&self, label: &str, name: &str) -> Option<(&str, &[f64])> {
        let ending = format!(".{name}");
        let mut all = self.0.get(label)?.iter();
        all.find(|(path, _)| *path == name || path.ends_with(&ending)).map(|(path, values)| (path.as_str(), values.as_slice()))
    }
}

/// What comes closest to a number among the values; the number itself where any will do, but for shares of a model, which end at 0 and 1.
pub(super) fn nearest(path: &str, number: f64, values: &[f64]) -> f64 {
    let apart = |value: &f64| if *value > 0.0 && number > 0.0 { (value / number).ln().abs() } else { f64::MAX.min((value - number).abs()) };
    let found = values.iter().copied().min_by(|a, b| apart(a).total_cmp(&apart(b)));
    found.unwrap_or(if path == "alpha" { number.clamp(0.0, 1.0) } else { number })
}
