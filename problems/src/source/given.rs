//! Data of a program, where an experiment names them.

use motet_core::{Documented, Kind};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place};
use crate::error::ProblemError;
use crate::own_data::{DataError, OwnData, UNNAMED};

/// Data that a program has in memory and gives to the experiment: rows and labels, or the columns of a data frame.
///
/// A file can only name them; [`Given::filled`] puts them in. What is written back says what the data were, so that an
/// experiment does not go on with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// What the program calls the data (default "data").
    #[serde(default = "unnamed")]
    pub name: String,
    /// How many rows there must be (default: any number).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// How many features a row must have (default: any number).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<u64>,
    /// The SHA-256 that all values must have (default any).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(skip)]
    data: Option<OwnData>,
}

impl Kind for Given {
    const NAME: &'static str = "given";
}

fn unnamed() -> String {
    UNNAMED.into()
}

impl Given {
    /// These data.
    pub fn of(data: OwnData) -> Self {
        Self { data: Some(data.clone()), ..Self::described(&data) }
    }

    /// What these data are, without them.
    pub(crate) fn described(data: &OwnData) -> Self {
        Self {
            name: data.name().to_owned(),
            rows: Some(data.rows() as u64),
            features: Some(data.features() as u64),
            sha256: Some(data.input().sha256.clone()),
            data: None,
        }
    }

    /// Puts these data in, if they are as the source demands.
    pub fn filled(&self, data: OwnData) -> Result<Self, ProblemError> {
        let found = Self::of(data);
        let differs = |key, told: Option<&str>, found: Option<&str>| match told.filter(|_| told != found) {
            Some(told) => {
                let wanted = format!("the program gives data with {}", found.unwrap_or_default());
                Err(ProblemError::Value { key, value: told.to_owned(), wanted })
            }
            None => Ok(()),
        };
        let text = |number: Option<u64>| number.map(|number| number.to_string());
        differs("source.name", Some(&self.name), Some(&found.name))?;
        differs("source.rows", text(self.rows).as_deref(), text(found.rows).as_deref())?;
        differs("source.features", text(self.features).as_deref(), text(found.features).as_deref())?;
        differs("source.sha256", self.sha256.as_deref(), found.sha256.as_deref())?;
        Ok(found)
    }
}

impl Load for Given {
    fn load(&self, _: &Place<'_>) -> Result<Material, ProblemError> {
        match &self.data {
            Some(data) => Ok(data.clone().into()),
            None => Err(DataError::NotGiven { name: self.name.clone() }.into()),
        }
    }
}
