//! `motet predict`: a saved model on new examples.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use motet_core::Vector;
use motet_problems::{Dataset, Examples, Matrix, Preparation, Source, Targets};
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use serde_json::{Value, json};

use super::console::Console;
use crate::error::Error;
use crate::models::{PASSPORT, Passport};

/// Apply a saved model to examples in CSV or LIBSVM.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet predict runs/demo/models/3-flix-alpha=0.5-seed1.safetensors patients.csv --client 2 > predictions.csv\n\nCSV: one line for each example, one column for each feature in the order of training; a first line of names is skipped. Models of tables (`table`, `heart-disease`): a first line of names, which say what is what; gaps, words and scales are as in training, with the mean and deviation of the client's training rows (--client), or of the given examples."
)]
pub struct PredictArgs {
    /// A file of models: `RUN/models/*.safetensors`
    model: PathBuf,
    /// The examples: LIBSVM text, or CSV if its name ends so
    data: PathBuf,
    /// Whose personal model [default: the shared one]
    #[arg(long)]
    client: Option<u32>,
    /// Columns of a CSV file that are no features, by name or by number from 1
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    drop: Vec<String>,
}

impl PredictArgs {
    /// Prints one line for each example.
    pub fn execute(&self, console: Console) -> Result<bool, Error> {
        let bytes = fs::read(&self.model).map_err(|e| wrong(&self.model, e))?;
        let (passport, x) = self.open(&bytes)?;
        let csv = self.data.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        let features = match &passport.preparation {
            Some(preparation) if csv => self.prepared(preparation, console)?,
            Some(_) => {
                let message =
                    "the model was trained on a table, whose gaps and scales its clients see to: name a .csv file with its columns";
                return Err(wrong(&self.data, message));
            }
            None if csv => self.table(&passport)?,
            None => self.libsvm(&passport)?,
        };
        let count = features.rows();
        // The answers are not known: any will do, they only say what kind they are.
        let targets = match passport.classes {
            Some(classes) => Targets::Classes { labels: vec![0; count], classes },
            None => Targets::Numbers(vec![0.0; count]),
        };
        let examples = Examples::new(Dataset::new(features, targets)).map_err(|e| wrong(&self.data, e))?;
        let examples = Arc::new(examples);
        let dim = passport.model.dim(&examples).map_err(|e| wrong(&self.model, e))?;
        if dim != x.len() {
            return Err(wrong(
                &self.model,
                format!("its model has {} numbers, a {} on these examples {dim}", x.len(), passport.model.card().name),
            ));
        }
        let name = passport.model.card().name;
        let objective = passport.model.objective(&examples, 0..count).map_err(|e| wrong(&self.model, e))?;
        if objective.buffers().is_some() {
            let message = format!(
                "this {name} normalises by running statistics, which stay with the clients and are in no file of models: \
                 train it with `norm = \"group\"`, which needs none"
            );
            return Err(wrong(&self.model, message));
        }
        let exam = passport.model.exam(&examples, 0..count).map_err(|e| wrong(&self.model, e))?;
        let Some(scores) = exam.scores(&x) else {
            return Err(wrong(&self.model, format!("a {name} says nothing of single examples")));
        };
        let said: Vec<Said> = scores.chunks(scores.len() / count.max(1)).map(|scores| Said::of(scores, passport.classes)).collect();
        console.result(&said.iter().map(Said::json).collect::<Vec<_>>(), || {
            said.iter().fold(Said::header(&said), |text, line| text + &line.csv())
        });
        Ok(true)
    }

    /// What the file says about its model, and the model asked for.
    fn open(&self, bytes: &[u8]) -> Result<(Passport, Vector), Error> {
        let (_, about) = SafeTensors::read_metadata(bytes).map_err(|e| wrong(&self.model, format!("not a file of models: {e}")))?;
        let passport = about.metadata().as_ref().and_then(|all| all.get(PASSPORT));
        let passport = passport.ok_or_else(|| {
            wrong(&self.model, "does not say what its models are: it was not written by motet run, or for functions without examples")
        })?;
        let passport: Passport = serde_json::from_str(passport).map_err(|e| wrong(&self.model, e))?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| wrong(&self.model, e))?;
        let name = self.client.map_or_else(|| "shared".to_owned(), |client| format!("client.{client}"));
        let tensor = file.tensor(&name).map_err(|_| {
            let clients = file.names().iter().filter(|n| n.starts_with("client.")).count();
            wrong(&self.model, format!("has no model of client {}: there are {clients}, counted from 0", self.client.unwrap_or(0)))
        })?;
        let data = tensor.data();
        let x = match tensor.dtype() {
            Dtype::F32 => Vector::from(data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect::<Vec<f32>>()),
            Dtype::F64 => {
                let number = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
                Vector::from(data.chunks_exact(8).map(number).collect::<Vec<f64>>())
            }
            other => return Err(wrong(&self.model, format!("{name} is {other:?}, not numbers of 32 or 64 bits"))),
        };
        Ok((passport, x))
    }

    /// The fields of a table, made features as the client made its own.
    fn prepared(&self, preparation: &Preparation, console: Console) -> Result<Matrix, Error> {
        let text = fs::read(&self.data).map_err(|e| wrong(&self.data, e))?;
        let file = self.data.display().to_string();
        let features = preparation.features(&text, &file, self.client.map(|client| client as usize));
        let features = features.map_err(|e| Error::Unknown(e.to_string()))?;
        if self.client.is_none() {
            if features.rows() < 2 {
                let message = "one example alone has no mean and deviation: say whose with --client, or give more";
                return Err(wrong(&self.data, message));
            }
            console.aside(&format!(
                "gaps and scales: by these {} examples, as of a client who joins; --client takes what a client's training rows said",
                features.rows()
            ));
        }
        Ok(features)
    }

    fn libsvm(&self, passport: &Passport) -> Result<Matrix, Error> {
        let source: Source =
            serde_json::from_value(json!({ "kind": "libsvm", "path": self.data, "features": passport.features, "labels": "numbers" }))
                .map_err(|e| wrong(&self.data, e))?;
        let Some(source) = source.downcast::<motet_problems::source::Libsvm>() else { return Err(wrong(&self.data, "not LIBSVM text")) };
        let (dataset, _) = source.open(&motet_problems::Folders::beside(Path::new(""))).map_err(|e| Error::Unknown(e.to_string()))?;
        Ok(dataset.features)
    }

    fn table(&self, passport: &Passport) -> Result<Matrix, Error> {
        let text = fs::read_to_string(&self.data).map_err(|e| wrong(&self.data, e))?;
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
        let cells = |line: &str| line.split(',').map(|cell| cell.trim().trim_matches('"').to_owned()).collect::<Vec<String>>();
        let first = lines.peek().map(|(_, line)| cells(line)).ok_or_else(|| wrong(&self.data, "has no examples"))?;
        let named = first.iter().any(|cell| cell.parse::<f64>().is_err());
        let place = |column: &String| {
            let by_name = first.iter().position(|name| named && name == column);
            by_name.or(column.parse::<usize>().ok().and_then(|k| k.checked_sub(1)).filter(|k| *k < first.len()))
        };
        let mut dropped = vec![];
        for column in &self.drop {
            let known = if named { first.join(", ") } else { format!("1 to {}", first.len()) };
            dropped.push(
                place(column).ok_or_else(|| wrong(&self.data, format!("--drop {column}: there is no such column; there are {known}")))?,
            );
        }
        if named {
            lines.next();
        }
        let (mut values, mut count) = (vec![], 0);
        for (at, line) in lines {
            let before = values.len();
            for (k, cell) in cells(line).iter().enumerate().filter(|(k, _)| !dropped.contains(k)) {
                let number = cell.parse::<f64>().ok().filter(|v| v.is_finite());
                values.push(
                    number.ok_or_else(|| wrong(&self.data, format!("line {}, column {}: \"{cell}\" is not a number", at + 1, k + 1)))?,
                );
            }
            let found = values.len() - before;
            if found as u64 != passport.features {
                let message =
                    format!("line {} has {found} numbers, the model takes {}: leave columns out with --drop", at + 1, passport.features);
                return Err(wrong(&self.data, message));
            }
            count += 1;
        }
        if count == 0 {
            return Err(wrong(&self.data, "has no examples"));
        }
        Matrix::dense(passport.features as usize, values).map_err(|e| wrong(&self.data, e))
    }
}

fn wrong(path: &Path, reason: impl ToString) -> Error {
    Error::Unknown(format!("{}: {}", path.display(), reason.to_string()))
}

/// What a model says of one example.
enum Said {
    /// The class, and the share of each.
    Class(usize, Vec<f64>),
    Number(f64),
}

impl Said {
    fn of(scores: &[f64], classes: Option<u32>) -> Self {
        match (classes, scores) {
            (None, scores) => Said::Number(scores.first().copied().unwrap_or(f64::NAN)),
            (Some(2), [score]) => {
                let share = 1.0 / (1.0 + (-score).exp());
                Said::Class(usize::from(*score > 0.0), vec![1.0 - share, share])
            }
            (Some(_), scores) => {
                let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
                let total: f64 = weights.iter().sum();
                let best = (0..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best });
                Said::Class(best, weights.iter().map(|w| w / total).collect())
            }
        }
    }

    fn header(all: &[Said]) -> String {
        match all.first() {
            Some(Said::Class(_, shares)) => (0..shares.len()).fold("class".to_owned(), |text, c| text + &format!(",p{c}")) + "\n",
            _ => "prediction\n".into(),
        }
    }

    fn csv(&self) -> String {
        match self {
            Said::Number(number) => format!("{number}\n"),
            Said::Class(class, shares) => shares.iter().fold(class.to_string(), |line, share| line + &format!(",{share}")) + "\n",
        }
    }

    fn json(&self) -> Value {
        match self {
            Said::Number(number) => json!({ "prediction": number }),
            Said::Class(class, shares) => json!({ "class": class, "probabilities": shares }),
        }
    }
}
