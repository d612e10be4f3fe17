//! A saved model on new examples.

mod explain;
mod plain;
mod predictions;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_core::{ClientId, Vector};
use motet_problems::source::Encoding;
use motet_problems::{Dataset, Examples, Matrix, NewRows, Targets};
use motet_records::{ModelFile, ReadError, WholeFiles, names};

use crate::bundle::{self, MODEL};
use crate::error::Error;
use crate::passport::Passport;
use explain::{Column, explained};
pub use predictions::{Explanation, Prediction, Predictions};

/// A model out of a file that a run left, or out of a client's bundle, ready to be applied.
pub struct SavedModel {
    file: PathBuf,
    /// The client's number in the file.
    client: Option<usize>,
    passport: Passport,
    x: Vector,
}

/// How a model is applied.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// Columns of a CSV file without fields of a table that are no features, by name or by number from 1.
    pub drop: Vec<String>,
    /// May rows name another client than the model's?
    pub any_client: bool,
    /// Is it said what each column contributes?
    pub explain: bool,
    /// How the letters of a CSV file with a header are written: UTF-8 if nobody says another.
    pub encoding: Option<Encoding>,
}

impl SavedModel {
    /// Opens `RUN/models/*.safetensors`: the personal model of a client, or the shared one. Or a client's bundle, file or folder:
    /// its only model, and then the name of another client is refused.
    pub fn open(path: &Path, client: Option<&str>) -> Result<Self, Error> {
        let file = if path.is_dir() { path.join(MODEL) } else { path.to_path_buf() };
        if path.is_dir() && !file.exists() {
            return Err(wrong(path, "there is no client's bundle in this folder; models of a run are files: RUN/models/*.safetensors"));
        }
        let bytes = sound_bytes(&file)?;
        let models = ModelFile::new(&bytes).map_err(|e| wrong(&file, e))?;
        let passport = models.passport.as_ref().ok_or_else(|| {
            wrong(
                &file,
                "does not say what its models are: it was not written by motet run, or its clients were functions without examples",
            )
        })?;
        let passport: Passport = serde_json::from_str(passport).map_err(|e| wrong(&file, e))?;
        let mut client = client.map(|name| passport.client(name)).transpose().map_err(|e| wrong(&file, e))?;
        let place = client.and_then(|client| u32::try_from(client).ok()).map(ClientId).filter(|_| !passport.bundle);
        let x = models.model(place).map_err(|e| wrong(&file, e))?;
        if passport.bundle {
            client = Some(0);
        }
        Ok(Self { file, client, passport, x })
    }

    /// Applies it to every example of a file. Models of tables take CSV, TSV, JSON lines (and Parquet with its feature) by the
    /// names of the columns; others take LIBSVM text, or CSV in the order of training if the file's name ends so. What the user
    /// should know goes to `say`.
    pub fn predict(&self, data: &Path, how: &How, say: &dyn Fn(&str)) -> Result<Predictions, Error> {
        let csv = data.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        let features = match &self.passport.preparation {
            Some(_) => self.prepared(data, how, say)?,
            None if csv => plain::table(data, &how.drop, self.passport.features)?,
            None => plain::libsvm(data, self.passport.features)?,
        };
        let scores = self.scores(features.clone(), data)?;
        let because = how.explain.then(|| self.explanation(&features, &scores, data)).transpose()?;
        let rows = scores.iter().map(|scores| Prediction::of(scores, self.passport.classes)).collect();
        Ok(Predictions { rows, class_names: self.passport.class_names.clone(), because })
    }

    /// The scores of each example.
    fn scores(&self, features: Matrix, data: &Path) -> Result<Vec<Vec<f64>>, Error> {
        let (count, passport) = (features.rows(), &self.passport);
        // The answers are not known: any will do, they only say what kind they are.
        let targets = match passport.classes {
            Some(classes) => Targets::Classes { labels: vec![0; count], classes },
            None => Targets::Numbers(vec![0.0; count]),
        };
        let examples = Arc::new(Examples::new(Dataset::new(features, targets)).map_err(|e| wrong(data, e))?);
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
            return Err(wrong(&self.file, format!("a {name} model makes no predictions for single examples")));
        };
        Ok(scores.chunks(scores.len() / count.max(1)).map(<[f64]>::to_vec).collect())
    }

    /// What each column contributes to the score of what is predicted.
    fn explanation(&self, features: &Matrix, scores: &[Vec<f64>], data: &Path) -> Result<Explanation, Error> {
        const MOST: usize = 1000;
        if features.cols() > MOST {
            return Err(wrong(&self.file, format!("--explain is for at most {MOST} features, and the model takes {}", features.cols())));
        }
        let columns = match &self.passport.preparation {
            Some(preparation) => Column::of_fields(&preparation.fields),
            None => Column::numbered(features.cols()),
        };
        explained(&columns, features, scores, |changed| self.scores(changed, data))?
            .ok_or_else(|| wrong(&self.file, format!("--explain is for linear models, and a {} is none", self.passport.model.card().name)))
    }

    /// The fields of a table, made features as the client made its own.
    fn prepared(&self, data: &Path, how: &How, say: &dyn Fn(&str)) -> Result<Matrix, Error> {
        let new = NewRows::open(data, how.encoding).map_err(|e| Error::Unknown(e.to_string()))?;
        self.are_the_clients(&new, how)?;
        let preparation = self.passport.preparation.as_ref().expect("asked only of tables");
        let features = preparation.features(&new, self.client).map_err(|e| Error::Unknown(e.to_string()))?;
        if self.client.is_none() {
            if features.rows() < 2 {
                let message = "one example alone has no mean and deviation: name a client with --client, or give more examples";
                return Err(wrong(data, message));
            }
            say(&format!(
                "gaps are filled and scales set by these {} examples, as for a new client; --client takes those of a client's training rows",
                features.rows()
            ));
        }
        Ok(features)
    }

    /// Refuses rows that name another client than the model's.
    fn are_the_clients(&self, new: &NewRows, how: &How) -> Result<(), Error> {
        let Some((client, column)) = self.client.zip(self.passport.client_column.as_deref()) else { return Ok(()) };
        let (Some(own), Some(cells), false) = (self.passport.clients.get(client), new.column(column), how.any_client) else {
            return Ok(());
        };
        let number = |text: &str| text.parse::<f64>().ok();
        let same = |cell: &str| cell == own || number(cell).is_some_and(|value| number(own) == Some(value));
        match cells.iter().enumerate().find_map(|(row, cell)| cell.as_deref().filter(|cell| !same(cell)).map(|cell| (row, cell))) {
            None => Ok(()),
            Some((row, cell)) => Err(Error::Unknown(format!(
                "{}: column `{column}` says \"{cell}\", and the model is that of {}: take that client's model, or pass --any-client",
                new.place(row),
                self.passport.title(client)
            ))),
        }
    }
}

/// The numbers of a model out of a file that a run left: the personal model of a client by its number, or the shared one. Runs may
/// start at them.
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
/// what was written; in a bundle, its card does.
fn sound_bytes(file: &Path) -> Result<Vec<u8>, Error> {
    let bytes = motet_files::read(file, u64::MAX).map_err(|e| wrong(file, e))?;
    let full = fs::canonicalize(file).map_err(|e| wrong(file, e))?;
    let name = full.file_name().unwrap_or_default().to_string_lossy();
    if let Some(folder) = full.parent().filter(|folder| folder.ends_with(names::MODELS)).and_then(Path::parent) {
        let damaged = |damage| ReadError::Damaged { folder: folder.into(), damage, others: 0 };
        WholeFiles::of(folder)?.fit(&format!("{}/{name}", names::MODELS), &bytes).map_err(damaged)?;
    }
    if name == MODEL {
        bundle::fits_its_card(&full, &bytes).map_err(|e| wrong(file, e))?;
    }
    Ok(bytes)
}

pub(crate) fn wrong(path: &Path, reason: impl ToString) -> Error {
    Error::Unknown(format!("{}: {}", path.display(), reason.to_string()))
}
