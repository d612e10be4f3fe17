//! What has to be known to use a saved model again.

use std::sync::Arc;

use motet_problems::{ModelConfig, Preparation, Problem, ProblemConfig, ProblemError};
use serde::{Deserialize, Serialize};

/// What has to be known to use a model again, beside its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Passport {
    /// What is fitted.
    pub(crate) model: ModelConfig,
    /// Numbers of an example.
    pub(crate) features: u64,
    /// Classes to tell apart; none if numbers are predicted.
    pub(crate) classes: Option<u32>,
    /// What the classes are called, where the data say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) class_names: Vec<String>,
    /// What the clients are called, by number, where the data say it. In a bundle: its owner alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) clients: Vec<String>,
    /// The column of a table that names the client of a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_column: Option<String>,
    /// The column of a table that is predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// How fields of a table became features, where clients did that by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preparation: Option<Arc<Preparation>>,
    /// Is it one client's bundle? Then its only model is that client's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) bundle: bool,
}

impl Passport {
    /// Of a problem on examples; none if its clients brought functions of their own.
    pub(crate) fn of(config: &ProblemConfig, problem: &Problem) -> Result<Option<Self>, ProblemError> {
        let Some(model) = config.model.clone() else { return Ok(None) };
        let classes = problem.census.labels.len() as u32;
        let columns = problem.census.columns.clone();
        let (client_column, target) = columns.map_or((None, None), |columns| (columns.client, Some(columns.target)));
        let prefix = client_column.as_ref().map(|column| format!("{column} ")).unwrap_or_default();
        let name = |name: String| name.strip_prefix(&prefix).map(str::to_owned).unwrap_or(name);
        Ok(Some(Self {
            model,
            features: problem.census.features,
            classes: (classes > 0).then_some(classes),
            class_names: problem.census.classes.clone(),
            clients: problem.client_names().into_iter().map(name).collect(),
            client_column,
            target,
            preparation: problem.prepared()?,
            bundle: false,
        }))
    }

    /// As a file of models holds it.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("a passport has only names as keys")
    }

    /// What one client needs, and nothing of the others.
    pub(crate) fn of_client(&self, client: usize) -> Self {
        Self {
            clients: self.clients.get(client).cloned().into_iter().collect(),
            preparation: self.preparation.as_ref().map(|all| Arc::new(all.of_client(client))),
            bundle: true,
            ..self.clone()
        }
    }

    /// A client for people: "hospital 3".
    pub(crate) fn title(&self, client: usize) -> String {
        match (self.clients.get(client), &self.client_column) {
            (Some(name), Some(column)) => format!("{column} {name}"),
            (Some(name), None) => name.clone(),
            (None, _) => format!("client {client}"),
        }
    }

    /// The number of a client by its name, as a row has it or as pages write it. Where clients have no names, their numbers count.
    pub(crate) fn client(&self, name: &str) -> Result<usize, String> {
        if self.clients.is_empty() {
            return name.parse().map_err(|_| format!("has no model of client \"{name}\": its clients are numbers, from 0"));
        }
        let found = (0..self.clients.len()).find(|&k| self.clients[k] == name || self.title(k) == name);
        found.ok_or_else(|| {
            const SHOWN: usize = 20;
            let names = self.clients.iter().take(SHOWN).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
            let more = if self.clients.len() > SHOWN { ", …" } else { "" };
            format!("has no model of client \"{name}\": there are {names}{more}")
        })
    }
}
