//! Comparisons and what follows from them.

use std::cmp::Ordering;

use super::ast::Relation;
use super::book::near;

/// Does something hold? `Unknown` where nothing was shown: both sides never reached, or undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    No,
    Unknown,
    Yes,
}

/// A statement that was looked at, with the comparison that decided it.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) truth: Truth,
    pub(super) value: f64,
    pub(super) bound: f64,
    pub(super) relation: Relation,
    pub(super) tolerance: f64,
    /// How far from the border, as a part of the larger side; negative on the wrong one.
    pub(super) margin: f64,
    /// Where along `over=` the comparison stands.
    pub(super) place: Option<String>,
}

impl Judged {
    pub(super) fn compare(value: f64, relation: Relation, bound: f64, tolerance: f64) -> Self {
        let scale = value.abs().max(bound.abs()).max(f64::MIN_POSITIVE);
        let slack = match relation {
            Relation::Less | Relation::AtMost => bound + tolerance - value,
            Relation::Equal => tolerance - (value - bound).abs(),
            Relation::Unequal => (value - bound).abs() - tolerance,
            Relation::AtLeast | Relation::Greater => value - (bound - tolerance),
        };
        let undecided = value.is_nan() || bound.is_nan() || tolerance.is_nan() || (value.is_infinite() && value == bound);
        // Rounding decides nothing: what agrees to nine digits is equal, and so never less.
        let level = match relation {
            Relation::Less | Relation::AtMost => near(value, bound + tolerance),
            Relation::Equal | Relation::Unequal => near(value, bound) || near((value - bound).abs(), tolerance),
            Relation::AtLeast | Relation::Greater => near(value, bound - tolerance),
        };
        let truth = match relation {
            _ if undecided => Truth::Unknown,
            Relation::AtMost | Relation::Equal | Relation::AtLeast => (level || slack > 0.0).into(),
            Relation::Less | Relation::Unequal | Relation::Greater => (!level && slack > 0.0).into(),
        };
        let margin = match () {
            () if undecided => f64::NEG_INFINITY,
            () if scale.is_infinite() => slack.clamp(-1.0, 1.0),
            () => slack / scale,
        };
        Self { truth, value, bound, relation, tolerance, margin, place: None }
    }

    /// Two values that need not differ.
    pub(super) fn tie(value: f64, relation: Relation, bound: f64) -> Self {
        Self { truth: Truth::Yes, value, bound, relation, tolerance: 0.0, margin: 0.0, place: None }
    }

    /// The one that matters for "both hold".
    pub(super) fn worse(self, other: Self) -> Self {
        if other.is_worse_than(&self) { other } else { self }
    }

    /// The one that matters for "either holds".
    pub(super) fn better(self, other: Self) -> Self {
        if other.rank(&self).is_gt() { other } else { self }
    }

    pub(super) fn is_worse_than(&self, other: &Self) -> bool {
        self.rank(other).is_lt()
    }

    fn rank(&self, other: &Self) -> Ordering {
        self.truth.cmp(&other.truth).then(self.margin.total_cmp(&other.margin))
    }

    /// Is this the same comparison, perhaps turned round by a `not`?
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let numbers = |judged: &Self| [judged.value, judged.bound].map(f64::to_bits);
        numbers(self) == numbers(other) && self.place == other.place
    }

    /// The opposite, said as a comparison of its own: not (a < b) is a >= b.
    pub(super) fn not(self) -> Self {
        let (truth, relation, tolerance) = (self.truth.not(), self.relation.opposite(), self.tolerance);
        let tolerance = if matches!(relation, Relation::Equal | Relation::Unequal) { tolerance } else { -tolerance };
        Self { truth, relation, tolerance, margin: -self.margin, ..self }
    }

    /// `120 <= 61.67`
    pub(super) fn words(&self) -> String {
        let mut words = format!("{} {} {}", show(self.value), self.relation.sign(), show(self.bound));
        if self.tolerance != 0.0 {
            words.push_str(&format!(" +- {}", show(self.tolerance)));
        }
        if let Some(place) = &self.place {
            words.push_str(&format!(" ({place})"));
        }
        words
    }
}

impl Truth {
    pub(super) fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Unknown => Self::Unknown,
            Self::Yes => Self::No,
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// Five digits, in the shorter of the two notations.
pub(super) fn show(number: f64) -> String {
    if number.is_nan() {
        return "undefined".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "infinity" } else { "-infinity" }.into();
    }
    let short: f64 = format!("{number:.4e}").parse().unwrap_or(number);
    let (plain, power) = (format!("{short}"), format!("{short:e}"));
    if plain.len() <= power.len().max(7) { plain } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_things_never_reached_show_nothing_and_neither_does_the_negation() {
        let both = Judged::compare(f64::INFINITY, Relation::AtMost, f64::INFINITY, 0.0);
        assert_eq!(both.truth, Truth::Unknown);
        assert_eq!(both.not().truth, Truth::Unknown);
        assert_eq!(Judged::compare(3.0, Relation::Less, f64::INFINITY, 0.0).truth, Truth::Yes);
        assert_eq!(Judged::compare(f64::INFINITY, Relation::Equal, 3.0, 2.0).truth, Truth::No);
    }

    #[test]
    fn numbers_are_shown_short() {
        assert_eq!(["0.0001", "1e-6", "1e-4"].map(|t| show(t.parse().unwrap())), ["0.0001", "1e-6", "0.0001"]);
        assert_eq!(show(123456789.0), "1.2346e8");
        assert_eq!(show(61.666666), "61.667");
    }
}
