//! Folds: an expression as a parameter, or the round, runs through its values.

use std::collections::BTreeSet;

use super::ast::{Fold, Node, Relation, Word};
use super::book::{Allowance, Value};
use super::curve::at_floor;
use super::error::{Fault, Problem};
use super::eval::{Eval, Halt, selectors};
use super::names::variable_of;
use super::truth::{Judged, Truth};

impl Eval<'_> {
    /// `min`, `max`, `argmin`, `argmax`, `share`.
    pub(super) fn fold(&mut self, fold: Fold, body: &Node, key: &Word) -> Result<f64, Halt> {
        if fold == Fold::Share {
            // Conditions inside of a share are counted: what is compared is the share.
            let before = self.comparisons.len();
            let held = self.each(body, key, |eval| Ok(eval.truth(body)?.truth == Truth::Yes));
            self.comparisons.truncate(before);
            let held = held?;
            return Ok(held.iter().filter(|(_, held)| *held).count() as f64 / held.len() as f64);
        }
        let points = self.each(body, key, |eval| eval.number(body))?;
        if points.iter().any(|(_, number)| number.is_nan()) {
            return Ok(f64::NAN);
        }
        let least = matches!(fold, Fold::Min | Fold::ArgMin);
        let better = |a: f64, b: f64| if least { a < b } else { a > b };
        // Of equals the first, so that the answer does not depend on rounding elsewhere.
        let (place, number) =
            points.into_iter().reduce(|best, next| if better(next.1, best.1) { next } else { best }).ok_or(Halt::Unbound)?;
        match (fold, place) {
            (Fold::Min | Fold::Max, _) => Ok(number),
            (_, Value::Number(place)) => Ok(place),
            (_, other) => Err(Fault::new(&key.span, Problem::NotNumber { name: key.text.clone(), value: other.to_string() }).into()),
        }
    }

    /// `increasing` and its kin: every step from one value to the next larger one.
    pub(super) fn monotone(&mut self, fold: Fold, body: &Node, key: &Word) -> Result<Judged, Halt> {
        let Fold::Monotone(relation) = fold else { unreachable!("sorts were checked when the claim was read") };
        let points = self.each(body, key, |eval| eval.number(body))?;
        let (mut worst, mut each): (Option<Judged>, Vec<Judged>) = (None, vec![]);
        for pair in points.windows(2) {
            let [(here, a), (next, b)] = pair else { continue };
            self.book.spend(Allowance::STEP, &key.span)?;
            let mut step = step(*a, relation, *b);
            step.place = Some(format!("{0}={here}, then {0}={next}", key.text));
            each.push(step.clone());
            worst = Some(match worst {
                Some(before) => before.worse(step),
                None => step,
            });
        }
        self.comparisons.push(each);
        worst.ok_or_else(|| Halt::Missing(format!("fewer than two values of {} can be compared", key.text)))
    }

    /// The body at every value of the parameter, in rising order; values for which a run is missing are left out.
    fn each<T>(&mut self, body: &Node, key: &Word, at: impl FnMut(&mut Self) -> Result<T, Halt>) -> Result<Vec<(Value, T)>, Halt> {
        let full = if key.text == "round" { "round".into() } else { self.book.key(key)? };
        let outer = self.pins.remove(&full);
        let points = self.points(body, key, &full, at);
        self.pins.extend(outer.map(|value| (full, value)));
        points
    }

    fn points<T>(
        &mut self,
        body: &Node,
        key: &Word,
        full: &str,
        mut at: impl FnMut(&mut Self) -> Result<T, Halt>,
    ) -> Result<Vec<(Value, T)>, Halt> {
        let (mut points, mut missing) = (vec![], None);
        for value in self.domain(body, key)? {
            self.book.spend(Allowance::STEP, &key.span)?;
            self.pins.insert(full.into(), value.clone());
            self.variables.push((variable_of(&key.text).into(), value.clone()));
            let found = at(self);
            self.variables.pop();
            self.pins.remove(full);
            match found {
                Ok(found) => points.push((value, found)),
                Err(Halt::Missing(why)) => missing = Some(why),
                Err(halt) => return Err(halt),
            }
        }
        if points.is_empty() {
            return Err(Halt::Missing(missing.unwrap_or_else(|| format!("{} has no values here", key.text))));
        }
        Ok(points)
    }

    /// The values a parameter has in the runs that the body speaks of. `round` has the rounds that all of
    /// them measured.
    pub(super) fn domain(&mut self, body: &Node, key: &Word) -> Result<Vec<Value>, Halt> {
        let mut inside = vec![];
        selectors(body, &mut inside);
        let mut runs = vec![];
        for selector in inside {
            runs.extend(self.runs(selector)?);
        }
        if key.text != "round" {
            let key = self.book.key(key)?;
            let values: BTreeSet<_> = runs.iter().map(|run| run.value(&key)).filter(|value| **value != Value::Absent).collect();
            return Ok(values.into_iter().cloned().collect());
        }
        let Some((first, others)) = runs.split_first() else { return Ok(vec![]) };
        self.book.spend(first.rows.len() as u64, &key.span)?;
        let everywhere = |round: &u64| others.iter().all(|run| run.rows.binary_search_by_key(round, |row| row.round).is_ok());
        Ok(first.rows.iter().map(|row| row.round).filter(everywhere).map(|round| Value::Number(round as f64)).collect())
    }
}

/// From one value to the next. Two gaps at the floor are not compared, and two values that were both never
/// reached are no step up or down.
fn step(a: f64, relation: Relation, b: f64) -> Judged {
    let strict = matches!(relation, Relation::Less | Relation::Greater);
    if (at_floor(a) && at_floor(b)) || (!strict && a == b) {
        return Judged::tie(a, relation, b);
    }
    Judged::compare(a, relation, b, 0.0)
}
