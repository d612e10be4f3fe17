//! A problem's examples as tables, one for each client, and the schema that they share.

use std::fmt::Write as _;

use motet_records::slug;

use crate::data_folder::Folders;
use crate::dataset::{Dataset, Targets};
use crate::error::ProblemError;
use crate::prepare::{Field, Form};
use crate::problem::raw;
use crate::problem_config::ProblemConfig;
use crate::schema::{Schema, SchemaColumn};

/// Tables as text, in the order of the clients' numbers, which is also that of their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// What the tables look like.
    pub schema: Schema,
    /// Name and CSV.
    pub clients: Vec<(String, String)>,
}

/// What the column to predict is called where the data do not say.
const TARGET: &str = "target";

impl Exported {
    /// The examples of a problem as a run with this seed deals them.
    pub fn of(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let (dealt, fields) = raw(config, folders, run)?;
        let dataset = dealt.dataset();
        let fields = fields.unwrap_or_else(|| plain(dataset.features.cols()));
        let schema = schema(config, dataset, &fields)?;
        let rows = table(dataset, &fields, &schema)?;
        let header =
            format!("{},{}\n", fields.iter().map(|field| quoted(&field.name)).collect::<Vec<_>>().join(","), quoted(&schema.target));
        let names = dealt.census().clients.into_iter().map(|client| client.name);
        let seats = dealt.owned().collect::<Vec<_>>();
        let digits = seats.len().saturating_sub(1).to_string().len();
        let client = |(k, (rows_of, name)): (usize, (Vec<u32>, Option<String>))| {
            let name = name.map_or_else(|| format!("client-{k:0digits$}"), |name| format!("{k:0digits$}-{}", slug(&name)));
            (name, rows_of.iter().fold(header.clone(), |text, &row| text + &rows[row as usize]))
        };
        Ok(Self { clients: seats.into_iter().zip(names).enumerate().map(client).collect(), schema })
    }
}

/// Columns x1, x2, … of numbers that nobody changes.
fn plain(columns: usize) -> Vec<Field> {
    (1..=columns).map(|k| Field { name: format!("x{k}"), form: Form::Number, zero_is_gap: false }).collect()
}

fn schema(config: &ProblemConfig, dataset: &Dataset, fields: &[Field]) -> Result<Schema, ProblemError> {
    let classes = match &dataset.targets {
        Targets::Numbers(_) => vec![],
        Targets::Classes { classes, .. } if dataset.class_names.len() == *classes as usize => dataset.class_names.clone(),
        Targets::Classes { classes, .. } => (0..*classes).map(|class| class.to_string()).collect(),
        Targets::Tags { .. } => {
            let wanted = "examples with tags have no table of one column to predict".to_owned();
            return Err(ProblemError::Value { key: "source", value: format!("{:?}", config.source.name()), wanted });
        }
    };
    let word = |field: &Field| if let Form::Words(words) = &field.form { words.clone() } else { vec![] };
    let target = dataset.columns.as_ref().map_or_else(|| TARGET.to_owned(), |columns| columns.target.clone());
    let numbered = dataset.columns.is_none();
    let schema = Schema {
        target,
        classes,
        columns: if numbered {
            vec![]
        } else {
            fields.iter().map(|field| SchemaColumn { name: field.name.clone(), words: word(field) }).collect()
        },
        inputs: numbered.then_some(fields.len() as u32),
        standardise: fields.iter().any(|field| field.form == Form::Scaled),
    };
    schema.check()?;
    Ok(schema)
}

/// Every row as a line.
fn table(dataset: &Dataset, fields: &[Field], schema: &Schema) -> Result<Vec<String>, ProblemError> {
    let dense = dataset.features.to_dense();
    let lines = (0..dataset.len()).map(|row| {
        let values = &dense.values[row * dense.cols..(row + 1) * dense.cols];
        let (mut line, mut at) = (String::new(), 0);
        for field in fields {
            match &field.form {
                Form::Words(words) => {
                    let word = words.iter().zip(&values[at..]).find(|(_, flag)| **flag == 1.0);
                    line.push_str(&word.map_or_else(String::new, |(word, _)| quoted(word)));
                    at += words.len();
                }
                Form::Number | Form::Scaled => {
                    if !values[at].is_nan() {
                        let _ = write!(line, "{}", values[at]);
                    }
                    at += 1;
                }
            }
            line.push(',');
        }
        let target = match &dataset.targets {
            Targets::Classes { labels, .. } => quoted(&schema.classes[labels[row] as usize]),
            Targets::Numbers(numbers) => numbers[row].to_string(),
            Targets::Tags { .. } => String::new(),
        };
        line + &target + "\n"
    });
    Ok(lines.collect())
}

/// A field of CSV.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r', ';', '\t']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
