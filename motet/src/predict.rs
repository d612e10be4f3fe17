//! A saved model on new examples.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_core::{ClientId, Vector};
use motet_problems::{Dataset, Examples, Matrix, Preparation, Source, Targets};
use motet_records::{ModelFile, ReadError, WholeFiles, names};
use serde_json::{Value, json};

use crate::error::Error;
use crate::passport::Passport;

/// A model out of a file that a run left, ready to be applied.
pub struct SavedModel {
    file: PathBuf,
    client: Option<u32>,
    passport: Passport,
    x: Vector,
}

impl SavedModel {
    /// Opens `RUN/models/*.safetensors`: the personal model of a client, or the shared one.
    pub fn open(file: &Path, client: Option<u32>) -> Result<Self, Error> {
        let bytes = sound_bytes(file)?;
        let (passport, x) = read(file, &bytes, client)?;
        Ok(Self { file: file.into(), client, passport, x })
    }

    /// Applies it to every example of a file: LIBSVM text, or CSV if its name ends so. `drop` are columns of a CSV file
    /// that are no features, by name or by number from 1; what the user should know goes to `say`.
    pub fn predict(&self, data: &Path, drop: &[String], say: &dyn Fn(&str)) -> Result<Vec<Prediction>, Error> {
        let passport = &self.passport;
        let csv = data.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        let features = match &passport.preparation {
            Some(preparation) if csv => self.prepared(preparation, data, say)?,
            Some(_) => {
                let message =
                    "the model was trained on a table, whose gaps and scales its clients see to: name a .csv file with its columns";
                return Err(wrong(data, message));
            }
            None if csv => table(data, drop, passport.features)?,
            None => libsvm(data, passport.features)?,
        };
        let count = features.rows();
        // The answers are not known: any will do, they only say what kind they are.
        let targets = match passport.classes {
            Some(classes) => Targets::Classes { labels: vec![0; count], classes },
            None => Targets::Numbers(vec![0.0; count]),
        };
        let examples = Examples::new(Dataset::new(features, targets)).map_err(|e| wrong(data, e))?;
        let examples = Arc::new(examples);
        let (name, unfit) = (passport.model.card().name, |e| wrong(&self.file, e));
        let dim = passport.model.dim(&examples).map_err(unfit)?;
        if dim != self.x.len() {
            return Err(wrong(&self.file, format!("its model has {} numbers, a {name} on these examples {dim}", self.x.len())));
        }
        let objective = passport.model.objective(&examples, 0..count).map_err(unfit)?;
        if objective.buffers().is_some() {
            let message = format!(
                "this {name} normalises by running statistics, which stay with the clients and are in no file of models: \
                 train it with `norm = \"group\"`, which needs none"
            );
            return Err(wrong(&self.file, message));
        }
        let evaluator = passport.model.evaluator(&examples, 0..count).map_err(unfit)?;
        let Some(scores) = evaluator.scores(&self.x) else {
            return Err(wrong(&self.file, format!("a {name} says nothing of single examples")));
        };
        Ok(scores.chunks(scores.len() / count.max(1)).map(|scores| Prediction::of(scores, passport.classes)).collect())
    }

    /// The fields of a table, made features as the client made its own.
    fn prepared(&self, preparation: &Preparation, data: &Path, say: &dyn Fn(&str)) -> Result<Matrix, Error> {
        let text = motet_files::read(data, u64::MAX).map_err(|e| wrong(data, e))?;
        let file = data.display().to_string();
        let features = preparation.features(&text, &file, self.client.map(|client| client as usize));
        let features = features.map_err(|e| Error::Unknown(e.to_string()))?;
        if self.client.is_none() {
            if features.rows() < 2 {
                let message = "one example alone has no mean and deviation: say whose with --client, or give more";
                return Err(wrong(data, message));
            }
            say(&format!(
                "gaps and scales: by these {} examples, as of a client who joins; --client takes what a client's training rows said",
                features.rows()
            ));
        }
        Ok(features)
    }
}

/// The numbers of a model out of a file that a run left: the personal model of a client, or the shared one. Runs may start
/// at them.
///
/// ```
/// use motet::predict::saved_model;
/// use motet::records::Models;
/// use motet::{Run, methods::flix::Flix, problems::synthetic::formula::lrs};
/// let first = Run::new(Flix::mixing(0.5)?, lrs(3, 5, 2)).rounds(5).train()?;
/// let models = Models { run: 0, shared: first.shared, personal: first.personal, passport: None };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("first.safetensors");
/// std::fs::write(&path, models.encode()?)?;
/// let on = Run::new(Flix::mixing(0.5)?, lrs(3, 5, 2)).start(saved_model(&path, None)?).rounds(5).train()?;
/// assert!(on.rows[0].metrics["loss"] < first.rows[0].metrics["loss"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn saved_model(file: &Path, client: Option<u32>) -> Result<Vector, Error> {
    let bytes = sound_bytes(file)?;
    let models = ModelFile::new(&bytes).map_err(|e| wrong(file, e))?;
    models.model(client.map(ClientId)).map_err(|e| wrong(file, e))
}

/// The bytes of a file of models. If it lies among the models of an experiment, the experiment's checksums tell whether it is
/// what was written.
fn sound_bytes(file: &Path) -> Result<Vec<u8>, Error> {
    let bytes = motet_files::read(file, u64::MAX).map_err(|e| wrong(file, e))?;
    let full = fs::canonicalize(file).map_err(|e| wrong(file, e))?;
    let name = full.file_name().unwrap_or_default().to_string_lossy();
    if let Some(folder) = full.parent().filter(|folder| folder.ends_with(names::MODELS)).and_then(Path::parent) {
        let damaged = |damage| ReadError::Damaged { folder: folder.into(), damage, others: 0 };
        WholeFiles::of(folder)?.fit(&format!("{}/{name}", names::MODELS), &bytes).map_err(damaged)?;
    }
    Ok(bytes)
}

/// What the file says about its model, and the model asked for.
fn read(path: &Path, bytes: &[u8], client: Option<u32>) -> Result<(Passport, Vector), Error> {
    let models = ModelFile::new(bytes).map_err(|e| wrong(path, e))?;
    let passport = models.passport.as_ref().ok_or_else(|| {
        wrong(path, "does not say what its models are: it was not written by motet run, or for functions without examples")
    })?;
    let passport: Passport = serde_json::from_str(passport).map_err(|e| wrong(path, e))?;
    let x = models.model(client.map(ClientId)).map_err(|e| wrong(path, e))?;
    Ok((passport, x))
}

fn libsvm(data: &Path, features: u64) -> Result<Matrix, Error> {
    let source: Source = serde_json::from_value(json!({ "kind": "libsvm", "path": data, "features": features, "labels": "numbers" }))
        .map_err(|e| wrong(data, e))?;
    let Some(source) = source.downcast::<motet_problems::source::Libsvm>() else { return Err(wrong(data, "not LIBSVM text")) };
    let (dataset, _) = source.open(&motet_problems::Folders::beside(Path::new(""))).map_err(|e| Error::Unknown(e.to_string()))?;
    Ok(dataset.features)
}

fn table(data: &Path, drop: &[String], features: u64) -> Result<Matrix, Error> {
    let text = motet_files::read_text(data, u64::MAX).map_err(|e| wrong(data, e))?;
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
    let cells = |line: &str| line.split(',').map(|cell| cell.trim().trim_matches('"').to_owned()).collect::<Vec<String>>();
    let first = lines.peek().map(|(_, line)| cells(line)).ok_or_else(|| wrong(data, "has no examples"))?;
    let named = first.iter().any(|cell| cell.parse::<f64>().is_err());
    let place = |column: &String| {
        let by_name = first.iter().position(|name| named && name == column);
        by_name.or(column.parse::<usize>().ok().and_then(|k| k.checked_sub(1)).filter(|k| *k < first.len()))
    };
    let mut dropped = vec![];
    for column in drop {
        let known = if named { first.join(", ") } else { format!("1 to {}", first.len()) };
        dropped.push(place(column).ok_or_else(|| wrong(data, format!("--drop {column}: there is no such column; there are {known}")))?);
    }
    if named {
        lines.next();
    }
    let (mut values, mut count) = (vec![], 0);
    for (at, line) in lines {
        let before = values.len();
        for (k, cell) in cells(line).iter().enumerate().filter(|(k, _)| !dropped.contains(k)) {
            let number = cell.parse::<f64>().ok().filter(|v| v.is_finite());
            values.push(number.ok_or_else(|| wrong(data, format!("line {}, column {}: \"{cell}\" is not a number", at + 1, k + 1)))?);
        }
        let found = values.len() - before;
        if found as u64 != features {
            let message = format!("line {} has {found} numbers, the model takes {}: leave columns out with --drop", at + 1, features);
            return Err(wrong(data, message));
        }
        count += 1;
    }
    if count == 0 {
        return Err(wrong(data, "has no examples"));
    }
    Matrix::dense(features as usize, values).map_err(|e| wrong(data, e))
}

fn wrong(path: &Path, reason: impl ToString) -> Error {
    Error::Unknown(format!("{}: {}", path.display(), reason.to_string()))
}

/// What a model says of one example.
#[derive(Clone, Debug, PartialEq)]
pub enum Prediction {
    /// The most probable class, and the probability of each.
    Class(usize, Vec<f64>),
    /// A number.
    Number(f64),
}

impl Prediction {
    fn of(scores: &[f64], classes: Option<u32>) -> Self {
        match (classes, scores) {
            (None, scores) => Prediction::Number(scores.first().copied().unwrap_or(f64::NAN)),
            (Some(2), [score]) => {
                let share = 1.0 / (1.0 + (-score).exp());
                Prediction::Class(usize::from(*score > 0.0), vec![1.0 - share, share])
            }
            (Some(_), scores) => {
                let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
                let total: f64 = weights.iter().sum();
                let best = (0..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best });
                Prediction::Class(best, weights.iter().map(|w| w / total).collect())
            }
        }
    }

    /// The first line of a CSV file of predictions.
    pub fn header(all: &[Prediction]) -> String {
        match all.first() {
            Some(Prediction::Class(_, shares)) => (0..shares.len()).fold("class".to_owned(), |text, c| text + &format!(",p{c}")) + "\n",
            _ => "prediction\n".into(),
        }
    }

    /// One line of a CSV file.
    pub fn csv(&self) -> String {
        match self {
            Prediction::Number(number) => format!("{number}\n"),
            Prediction::Class(class, shares) => shares.iter().fold(class.to_string(), |line, share| line + &format!(",{share}")) + "\n",
        }
    }

    /// As one JSON object.
    pub fn json(&self) -> Value {
        match self {
            Prediction::Number(number) => json!({ "prediction": number }),
            Prediction::Class(class, shares) => json!({ "class": class, "probabilities": shares }),
        }
    }
}
