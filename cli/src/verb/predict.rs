//! `motet predict`: a saved model on new examples.

use std::path::PathBuf;

use clap::Args;
use motet::Error;
use motet::predict::{Prediction, SavedModel};

use super::console::Console;

/// Apply a saved model to examples in CSV or LIBSVM.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet predict runs/demo/models/3-flix-alpha=0.5-seed1.safetensors patients.csv --client 2 > predictions.csv\n\nCSV: one line for each example, one column for each feature in the order of training; a first line of names is skipped. Models of tables (`table`, `heart-disease`): a first line of names, which say what is what; gaps, words and scales are as in training, with the mean and deviation of the client's training rows (--client), or of the given examples."
)]
pub(crate) struct PredictArgs {
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
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let model = SavedModel::open(&self.model, self.client)?;
        let all = model.predict(&self.data, &self.drop, &|what| console.aside(what))?;
        console.result(&all.iter().map(Prediction::json).collect::<Vec<_>>(), || {
            all.iter().fold(Prediction::header(&all), |text, line| text + &line.csv())
        });
        Ok(true)
    }
}
