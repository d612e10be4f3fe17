//! Heart disease in four hospitals (Detrano et al. 1989, the UCI processed files).
//!
//! ```text
//! client       a hospital
//! numbers      age, sex, trestbps, chol, fbs, thalach, exang, oldpeak, ca: gaps filled and standardised by each hospital with its
//!              own training rows only; a blood pressure or cholesterol of 0 is a gap
//! kinds        cp 1..4, restecg 0..2, slope 1..3, thal 3, 6, 7: a column of 0 and 1 for each, all 0 at a gap
//! target       ill (1..4) or not (0); or the five degrees
//! ```
//!
//! No statistic passes between hospitals or from test rows to training ([`crate::prepare`]).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::open::{Opened, name_of, open, shown};
use super::{Load, Material, Place};
use crate::dataset::{Dataset, Targets};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};
use crate::prepare::{Field, Form};
use motet_core::Documented;

/// Heart disease in four hospitals, 22 features; each hospital fills gaps and standardises by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct HeartDisease {
    /// Folder with `processed.HOSPITAL.data`.
    #[serde(default = "folder")]
    pub folder: PathBuf,
    /// Which hospitals (default: cleveland, hungarian, switzerland, va).
    #[serde(default = "all")]
    pub hospitals: Vec<String>,
    /// "ill" (two classes) or "degree" (five). Default: ill.
    #[serde(default)]
    pub target: Diagnosis,
}

impl motet_core::Kind for HeartDisease {
    const NAME: &'static str = "heart-disease";
}

fn folder() -> PathBuf {
    "heart-disease".into()
}
fn all() -> Vec<String> {
    ["cleveland", "hungarian", "switzerland", "va"].map(str::to_owned).to_vec()
}

/// What is to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Diagnosis {
    /// Ill or not.
    #[default]
    Ill,
    /// 0 to 4.
    Degree,
}

/// What a field is.
enum Kind {
    /// A number; of some, 0 means that nobody measured it.
    Number { zero_is_gap: bool },
    /// One of these.
    OneOf(&'static [f64]),
}

const fn measured(zero_is_gap: bool) -> Kind {
    Kind::Number { zero_is_gap }
}

const FIELDS: [(&str, Kind); 13] = [
    ("age", measured(false)),
    ("sex", measured(false)),
    ("cp", Kind::OneOf(&[1.0, 2.0, 3.0, 4.0])),
    ("trestbps", measured(true)),
    ("chol", measured(true)),
    ("fbs", measured(false)),
    ("restecg", Kind::OneOf(&[0.0, 1.0, 2.0])),
    ("thalach", measured(false)),
    ("exang", measured(false)),
    ("oldpeak", measured(false)),
    ("slope", Kind::OneOf(&[1.0, 2.0, 3.0])),
    ("ca", measured(false)),
    ("thal", Kind::OneOf(&[3.0, 6.0, 7.0])),
];

impl Kind {
    fn named(&self, name: &str) -> Field {
        let (form, zero_is_gap) = match self {
            Kind::Number { zero_is_gap } => (Form::Scaled, *zero_is_gap),
            Kind::OneOf(kinds) => (Form::Words(kinds.iter().map(f64::to_string).collect()), false),
        };
        Field { name: name.into(), form, zero_is_gap }
    }
}

impl Load for HeartDisease {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        if self.hospitals.is_empty() {
            let wanted = "at least one hospital is needed".to_owned();
            return Err(ProblemError::Value { key: "source.hospitals", value: "[]".into(), wanted });
        }
        let (mut values, mut labels, mut keys, mut inputs) = (vec![], vec![], vec![], vec![]);
        for (key, hospital) in self.hospitals.iter().enumerate() {
            let path = place.folders.find(&self.folder.join(format!("processed.{hospital}.data")))?;
            let Opened { text, input } = open(&path, place.folders.limit)?;
            let (file, before) = (name_of(&path), labels.len());
            inputs.push(input);
            let lines = text.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
            for (k, line) in lines {
                let odd = |what: String| ProblemError::Odd { file: file.clone(), place: format!("line {}", k + 1), what };
                labels.push(self.patient(line, &mut values).map_err(odd)?);
                keys.push(key as u32);
            }
            if labels.len() == before {
                return Err(ProblemError::NoExamples { file });
            }
        }
        let fields: Vec<Field> = FIELDS.iter().map(|(name, kind)| kind.named(name)).collect();
        let cols = fields.iter().map(|field| field.form.columns()).sum();
        let features = Matrix::Dense(Dense { cols, values: values.into() });
        let classes = if self.target == Diagnosis::Ill { 2 } else { 5 };
        let targets = Targets::Classes { labels, classes };
        let class_names = match self.target {
            Diagnosis::Ill => vec!["healthy".to_owned(), "ill".to_owned()],
            Diagnosis::Degree => (0..classes).map(|degree| degree.to_string()).collect(),
        };
        let dataset = Dataset::new(features, targets).from_clients(keys).named(self.hospitals.clone()).of_classes(class_names);
        Ok(Material::Table { dataset, fields, inputs })
    }
}

impl HeartDisease {
    /// Appends a patient's features and gives his class.
    fn patient(&self, line: &[u8], values: &mut Vec<f64>) -> Result<u32, String> {
        let fields: Vec<&[u8]> = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
        if fields.len() != FIELDS.len() + 1 {
            return Err(format!("{} fields where there should be {}", fields.len(), FIELDS.len() + 1));
        }
        for ((name, kind), written) in FIELDS.iter().zip(&fields) {
            let value = number(name, written)?;
            match kind {
                Kind::Number { zero_is_gap } => values.push(value.filter(|v| !(*zero_is_gap && *v == 0.0)).unwrap_or(f64::NAN)),
                Kind::OneOf(kinds) => {
                    if let Some(value) = value.filter(|v| !kinds.contains(v)) {
                        return Err(format!("{name} = {value} is none of {kinds:?}"));
                    }
                    values.extend(kinds.iter().map(|kind| f64::from(u8::from(value == Some(*kind)))));
                }
            }
        }
        let written = fields[FIELDS.len()];
        let degree = number("target", written)?.filter(|v| [0.0, 1.0, 2.0, 3.0, 4.0].contains(v));
        let degree = degree.ok_or_else(|| format!("target `{}` is not from 0 to 4", shown(written)))? as u32;
        Ok(if self.target == Diagnosis::Ill { degree.min(1) } else { degree })
    }
}

/// A finite number; none for `?`.
fn number(name: &str, written: &[u8]) -> Result<Option<f64>, String> {
    if written == b"?" {
        return Ok(None);
    }
    let value = std::str::from_utf8(written).ok().and_then(|text| text.parse().ok()).filter(|v: &f64| v.is_finite());
    value.map(Some).ok_or_else(|| format!("{name} `{}` is neither a number nor ?", shown(written)))
}
