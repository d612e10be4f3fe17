//! `motet predict`: a saved model on new examples.

use std::path::PathBuf;

use clap::Args;
use motet::Error;
use motet::predict::{How, SavedModel};
use motet::problems::source::Encoding;

use super::console::Console;

/// Apply a saved model to examples in CSV, JSON lines or LIBSVM.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet predict advice/models/hospital-3 patients.csv > predictions.csv\n  motet predict advice/models/hospital-3 patients.jsonl --explain --as jsonl\n  motet predict runs/demo/models/3-flix-alpha=0.5-seed1.safetensors patients.csv --client 2\n\nA model that was trained on a table finds columns by their names. It treats gaps, words and scales as in training, with the mean and deviation of the client's training rows (of the given examples if no client is named). Rows that name another client than the model's are refused. A model that was trained on plain numbers takes LIBSVM text, or CSV with one column for each feature in the order of training."
)]
pub(crate) struct PredictArgs {
    /// A client's bundle, or a file of models: `RUN/models/*.safetensors`
    model: PathBuf,
    /// The examples: CSV, TSV, JSON lines, or LIBSVM text
    data: PathBuf,
    /// Whose personal model, by name [default: the bundle's owner; of a file of models, the shared one]
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Take rows that name another client than the model's
    #[arg(long)]
    any_client: bool,
    /// Say what each column contributes to the score of a linear model
    #[arg(long)]
    explain: bool,
    /// How predictions are written
    #[arg(long = "as", value_enum, default_value_t = Form::Csv)]
    form: Form,
    /// Columns of a CSV file to leave out, by name or by number from 1; only for models that do not know the names of their columns
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    drop: Vec<String>,
    /// How the letters of the table are written: utf-8, utf-16, or latin-1 as in many CSV files of Excel [default: utf-8]
    #[arg(long, value_parser = super::encoding)]
    encoding: Option<Encoding>,
}

/// How predictions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// A table with a header.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

impl PredictArgs {
    /// Prints one line for each example.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let model = SavedModel::open(&self.model, self.client.as_deref())?;
        let how = How { drop: self.drop.clone(), any_client: self.any_client, explain: self.explain, encoding: self.encoding };
        let all = model.predict(&self.data, &how, &|what| console.aside(what))?;
        console.result(&all.json(), || match self.form {
            Form::Csv => all.csv(),
            Form::Jsonl => all.json().iter().map(|object| format!("{object}\n")).collect(),
        });
        Ok(true)
    }
}
