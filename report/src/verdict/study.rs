//! The evidence in plain numbers.

use super::worth::Worth;
use serde::Serialize;

/// What a verdict rests on: every contender's values, draw by draw and client by client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// Which of an experiment's problems, where a grid makes several.
    pub problem: Option<String>,
    /// What models are judged by, on test data: `test.loss`.
    pub metric: String,
    /// What settings were chosen by, on validation data, where there is any: `validation.loss`.
    pub chosen_by: Option<String>,
    /// The smallest difference that matters.
    pub worth: Worth,
    /// How the draws belong together.
    pub design: Design,
    /// How many draws there are: seeds of independent problems, or splits of one data set.
    pub draws: usize,
    /// What the clients are called, by their place in [`Score::client`].
    pub clients: Vec<String>,
    /// All runs that compete.
    pub contenders: Vec<Contender>,
}

/// How draws belong together, which decides what their spread says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Design {
    /// Every draw has data of its own: the plain t interval over draws.
    Independent {
        /// Is client 3 of one draw the client 3 of the others?
        same_clients: bool,
    },
    /// Every draw cuts the same data anew, and test parts overlap: the interval is widened after Nadeau and Bengio.
    Resplit {
        /// Test examples for each training example.
        test_per_train: f64,
        /// Does client 3 have the same examples in every draw?
        same_clients: bool,
    },
    /// There is one split, and only its test rows can tell what chance does.
    #[default]
    OneSplit,
}

impl Design {
    /// Can a client be followed from draw to draw?
    pub fn same_clients(self) -> bool {
        match self {
            Design::Independent { same_clients } | Design::Resplit { same_clients, .. } => same_clients,
            Design::OneSplit => true,
        }
    }
}

/// One method with one setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contender {
    /// What people call it: `flix α=0.5`.
    pub label: String,
    /// The method it belongs to: contenders of one way are settings of one method, of which validation data choose one.
    pub way: String,
    /// Does each client have its own data only? This is what joining is compared with.
    pub alone: bool,
    /// What was measured. A run that diverged, failed or was cut has no scores: it cannot win.
    pub scores: Vec<Score>,
    /// Why scores are missing, where they are.
    pub fault: Option<String>,
    /// Bytes that a client sends.
    pub sent: f64,
}

/// One client's model in one draw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Which draw, below [`Study::draws`].
    pub draw: usize,
    /// Which client, below the length of [`Study::clients`].
    pub client: usize,
    /// The metric on validation data; none where there are none, and where the method was fitted on them, as MeritFed fits its
    /// weights: there they flatter it beside others.
    pub validation: Option<f64>,
    /// The metric on test data.
    pub test: f64,
    /// Which test rows the model gets right, where right and wrong is what the metric counts.
    pub right: Option<Vec<bool>>,
}
