//! The commands, one file each.

mod advise;
mod bench;
mod check;
mod claims;
mod console;
mod data;
mod demo;
mod how;
mod join;
mod list;
mod number;
mod predict;
mod report;
mod reproduce;
mod results;
mod run;
mod serve;
mod study;

pub(crate) use advise::AdviseArgs;
pub(crate) use bench::BenchArgs;
pub(crate) use check::CheckArgs;
pub(crate) use console::{Console, Format, printable};
pub(crate) use data::DataArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use join::JoinArgs;
pub(crate) use list::ListArgs;
pub(crate) use predict::PredictArgs;
pub(crate) use report::ReportArgs;
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use results::ResultsArgs;
pub(crate) use run::RunArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use study::StudyArgs;

/// A folder that is taken, said by commands that overwrite nothing.
fn elsewhere(error: motet::Error) -> motet::Error {
    match error {
        motet::Error::Taken(folder) => {
            motet::Error::Unknown(format!("{} exists and is not empty: choose another folder with --out", folder.display()))
        }
        other => other,
    }
}

/// What is wrong with a table that no experiment names, without the sections of one: `client = "wo": the columns are …`.
fn of_table(error: motet::Error) -> motet::Error {
    match error {
        motet::Error::Problem { file, key, source } if key.is_empty() => {
            motet::Error::Unknown(format!("{file}: {}", source.to_string().replace("[problem] source.", "")))
        }
        other => other,
    }
}

/// Refuses what is no folder with records.
fn recorded(folder: &std::path::Path) -> Result<(), motet::Error> {
    let wrong = |what: &str| motet::Error::Unknown(format!("{}: {what}", folder.display()));
    match folder.metadata() {
        Ok(found) if found.is_dir() && !folder.join(motet::records::names::MANIFEST).exists() => {
            Err(wrong("there are no records in this folder"))
        }
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(wrong("this is a file, and the folder of an experiment is wanted")),
        Err(_) => Err(wrong("there is no such folder")),
    }
}

/// The name of an encoding, as experiment files have it.
fn encoding(name: &str) -> Result<motet::problems::source::Encoding, String> {
    serde_json::from_value(name.into()).map_err(|_| format!("\"{name}\" is not utf-8, utf-16 or latin-1"))
}
