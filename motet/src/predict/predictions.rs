//! What a model says of examples, for people and programs.

use serde_json::{Map, Value, json};

/// What a model says of the examples of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// One for each example.
    pub rows: Vec<Prediction>,
    /// What the classes are called; empty where they have numbers only.
    pub class_names: Vec<String>,
    /// What each column contributed, where it was asked for.
    pub because: Option<Explanation>,
}

/// What a model says of one example.
#[derive(Clone, Debug, PartialEq)]
pub enum Prediction {
    /// The most probable class, and the probability of each.
    Class(usize, Vec<f64>),
    /// A number.
    Number(f64),
}

/// What columns contribute to a linear model's score: the log odds of the second of two classes, the score of the predicted one
/// of several, or the number itself. Together with the base they add up to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Of each example: the score of one whose features are all 0, and what each column adds.
    pub rows: Vec<(f64, Vec<f64>)>,
}

impl Prediction {
    pub(super) fn of(scores: &[f64], classes: Option<u32>) -> Self {
        match (classes, scores) {
            (None, scores) => Prediction::Number(scores.first().copied().unwrap_or(f64::NAN)),
            (Some(2), [score]) => {
                // Each from the score itself: what one leaves of 1 has no digits where it is small.
                let odds = (-score.abs()).exp();
                let (large, small) = (1.0 / (1.0 + odds), odds / (1.0 + odds));
                let second = *score > 0.0;
                Prediction::Class(usize::from(second), if second { vec![small, large] } else { vec![large, small] })
            }
            (Some(_), scores) => {
                let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
                let total: f64 = weights.iter().sum();
                Prediction::Class(best(scores), weights.iter().map(|w| w / total).collect())
            }
        }
    }
}

/// The first of the largest scores.
pub(super) fn best(scores: &[f64]) -> usize {
    (0..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best })
}

impl Predictions {
    /// A CSV file: the class by its name with the probability of each, or the number; then what columns contributed.
    pub fn csv(&self) -> String {
        let mut header = match self.rows.first() {
            Some(Prediction::Class(_, shares)) => {
                let share = |class| if self.class_names.is_empty() { format!("p{class}") } else { format!("p({})", self.class(class)) };
                std::iter::once("class".to_owned()).chain((0..shares.len()).map(share)).collect()
            }
            _ => vec!["prediction".to_owned()],
        };
        if let Some(because) = &self.because {
            header.push("because(base)".into());
            header.extend(because.columns.iter().map(|column| format!("because({column})")));
        }
        let mut text = line(&header);
        for (at, row) in self.rows.iter().enumerate() {
            let mut cells = match row {
                Prediction::Number(number) => vec![number.to_string()],
                Prediction::Class(class, shares) => {
                    std::iter::once(self.class(*class)).chain(shares.iter().map(f64::to_string)).collect::<Vec<_>>()
                }
            };
            if let Some((base, parts)) = self.because.as_ref().map(|because| &because.rows[at]) {
                cells.push(base.to_string());
                cells.extend(parts.iter().map(f64::to_string));
            }
            text += &line(&cells);
        }
        text
    }

    /// One JSON object for each example.
    pub fn json(&self) -> Vec<Value> {
        let of = |(at, row): (usize, &Prediction)| {
            let mut object = match row {
                Prediction::Number(number) => Map::from_iter([("prediction".to_owned(), json!(number))]),
                Prediction::Class(class, shares) if self.class_names.is_empty() => {
                    Map::from_iter([("class".to_owned(), json!(class)), ("probabilities".to_owned(), json!(shares))])
                }
                Prediction::Class(class, shares) => {
                    let shares: Map<String, Value> = shares.iter().enumerate().map(|(c, share)| (self.class(c), json!(share))).collect();
                    Map::from_iter([("class".to_owned(), json!(self.class(*class))), ("probabilities".to_owned(), json!(shares))])
                }
            };
            if let Some(because) = &self.because {
                let (base, parts) = &because.rows[at];
                let parts: Map<String, Value> = because.columns.iter().cloned().zip(parts.iter().map(|part| json!(part))).collect();
                object.insert("because".into(), json!({ "base": base, "columns": parts }));
            }
            Value::Object(object)
        };
        self.rows.iter().enumerate().map(of).collect()
    }

    /// What a class is called.
    fn class(&self, class: usize) -> String {
        self.class_names.get(class).cloned().unwrap_or_else(|| class.to_string())
    }
}

/// Cells of a CSV file, quoted where they must be.
fn line(cells: &[String]) -> String {
    let quoted =
        |cell: &String| if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.clone() };
    cells.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::Prediction;

    #[test]
    fn the_smaller_of_two_probabilities_has_all_its_digits() {
        for score in [-600.0, -40.0, -1.0, 0.0, 1.0, 40.0, 600.0f64] {
            let Prediction::Class(class, shares) = Prediction::of(&[score], Some(2)) else { panic!("no class") };
            assert_eq!(class, usize::from(score > 0.0));
            assert!((shares[0] + shares[1] - 1.0).abs() < 1e-15);
            assert!(((shares[1] / shares[0]).ln() - score).abs() <= 1e-12 * score.abs().max(1.0), "{score}: {shares:?}");
        }
    }
}
