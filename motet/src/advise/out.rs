//! What advice leaves in its folder.
//!
//! ```text
//! advice.html         the answer
//! advice.json         the answer for programs, with the whole verdict
//! experiment.toml     what was run, to be changed and run again
//! experiment/         its records and its report, all splits together
//! models/<client>/    what each client deploys
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use motet_records::{Records, Summary, slug};
use motet_report::{AdviceLine, AdvicePage, cautions, render, verdict};
use serde_json::json;

use super::draft::Draft;
use super::refit::Refitted;
use super::splits::Split;
use super::{Advice, Data};
use crate::bundle;
use crate::config::{Document, Experiment};
use crate::error::Error;
use crate::recorders::{Folder, Recorder};

/// Writes the answer and what it rests on; the report of all splits only if it can be drawn `by` this moment.
pub(super) fn write(
    folder: &Path,
    draft: &Draft,
    splits: &[Split],
    advice: &mut Advice,
    models: Vec<Refitted>,
    data: &Data,
    by: Instant,
) -> Result<(), Error> {
    let unwritten = |source| Error::Write { path: folder.to_path_buf(), source };
    fs::create_dir_all(folder).map_err(unwritten)?;
    let seeds: Vec<u64> = splits.iter().map(|split| split.seed).collect();
    let document = draft.document(&seeds)?;
    let path = folder.join("experiment.toml");
    motet_files::replace(&path, document.text.as_bytes()).map_err(unwritten)?;
    advice.experiment = path.display().to_string();
    bundles(folder, advice, models)?;
    let experiment = folder.join("experiment");
    let drawn = record(&experiment, document, &advice.records, by)?;
    if !drawn {
        advice.notes.push(format!("there was no time to draw the report of the splits: motet report {} draws it", experiment.display()));
    }
    let text = serde_json::to_string_pretty(&json!({ "advice": &*advice, "verdict": advice.verdict }));
    let text = text.expect("an advice has text keys");
    motet_files::replace(&folder.join("advice.json"), (text + "\n").as_bytes()).map_err(unwritten)?;
    motet_files::replace(&folder.join("advice.html"), page(advice, data, drawn).as_bytes()).map_err(unwritten)
}

/// One folder for each client, named after it.
fn bundles(folder: &Path, advice: &mut Advice, models: Vec<Refitted>) -> Result<(), Error> {
    let mut taken = BTreeSet::new();
    for Refitted { client, mut card, passport, x } in models {
        let name = slug(&card.client);
        // Two names may look alike as names of folders, also where letters have no case.
        let fresh = |k: usize| if k == 1 { name.clone() } else { format!("{name}-{k}") };
        let name = (1..).map(fresh).find(|name| taken.insert(name.to_lowercase())).unwrap_or_default();
        let path = folder.join("models").join(name);
        let shown = path.display().to_string();
        let shown = if shown.contains(' ') { format!("\"{shown}\"") } else { shown };
        card.usage = format!("motet predict {shown} NEW.csv");
        bundle::write(&path, card, &passport, x)?;
        advice.clients[client].bundle = Some(path);
    }
    Ok(())
}

/// The records of all splits as those of one experiment.
pub(super) fn together(draft: &Draft, splits: &[Split]) -> Result<Records, Error> {
    let seeds: Vec<u64> = splits.iter().map(|split| split.seed).collect();
    let mut all = Records::default();
    let mut summary = Summary::default();
    for (draw, split) in splits.iter().enumerate() {
        let of = &split.records;
        let (runs, problems, tunings) = (all.manifest.runs.len(), all.manifest.problems.len(), summary.tuning.len());
        if draw == 0 {
            all.manifest = motet_records::Manifest { runs: vec![], problems: vec![], ..of.manifest.clone() };
            all.manifest.resolved = Experiment::new(draft.document(&seeds)?)?.resolved();
        }
        all.manifest.problems.extend(of.manifest.problems.iter().cloned());
        all.manifest.runs.extend(of.manifest.runs.iter().cloned().map(|mut card| {
            card.run += runs;
            card.problem += problems;
            if let Some(trial) = &mut card.trial {
                trial.tuning += tunings;
                trial.from = trial.from.map(|from| from + runs);
            }
            card
        }));
        let moved = |run: usize| run + runs;
        all.rows.extend(of.rows.iter().cloned().map(|row| motet_core::Row { run: moved(row.run), ..row }));
        all.clients.extend(of.clients.iter().cloned().map(|row| motet_records::ClientRow { run: moved(row.run), ..row }));
        all.merits.extend(of.merits.iter().cloned().map(|merit| motet_core::Merit { run: merit.run + runs as u32, ..merit }));
        all.events.extend(of.events.iter().cloned().map(|event| motet_records::Event { run: event.run.map(moved), ..event }));
        if let Some(of) = &of.summary {
            summary.experiment.clone_from(&of.experiment);
            summary.finished = of.finished;
            summary.runs.extend(of.runs.iter().cloned());
            summary.tuning.extend(of.tuning.iter().cloned().map(|mut tuning| {
                tuning.problem += problems;
                tuning.trials.iter_mut().for_each(|trial| trial.run += runs);
                tuning
            }));
        }
    }
    all.summary = Some(summary.clone());
    let named = [(summary.experiment.clone(), all)];
    (summary.verdict, summary.cautions) = (verdict::written(&verdict::of_records(&named)), cautions(&named));
    let [(_, mut all)] = named;
    all.summary = Some(summary);
    Ok(all)
}

/// Writes records as an experiment would have, and draws the report if there is time for it: it takes about as long as writing the
/// records does, and twice that is kept.
fn record(folder: &Path, document: Document, records: &Records, by: Instant) -> Result<bool, Error> {
    let begun = Instant::now();
    let mut to = Folder::create(folder, false, &document)?;
    let unwritten = |source| Error::Write { path: folder.to_path_buf(), source };
    to.begin(&records.manifest)?;
    records.rows.iter().try_for_each(|row| to.row(row)).map_err(unwritten)?;
    records.merits.iter().try_for_each(|merit| to.merit(merit)).map_err(unwritten)?;
    records.events.iter().try_for_each(|event| to.event(event)).map_err(unwritten)?;
    to.clients(&records.clients)?;
    if let Some(summary) = &records.summary {
        to.summary(summary)?;
    }
    let drawn = Instant::now() + begun.elapsed().mul_f64(2.0) < by;
    if drawn {
        render(&[(records.manifest.experiment.clone(), records.clone())], folder).map_err(|e| Error::Report(e.to_string()))?;
    }
    to.end()?;
    to.workplace().clear();
    Ok(drawn)
}

/// The page whose first screen is the answer.
fn page(advice: &Advice, data: &Data, report: bool) -> String {
    let of = match data {
        Data::Table(table) => table.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        Data::Given(data) => data.name().to_owned(),
    };
    let line = |client: &super::ClientAdvice| AdviceLine {
        client: client.client.clone(),
        advice: client.advice.into(),
        offer: client.offer.clone(),
        gain: client.gain,
        interval: client.interval,
        accuracy: client.accuracy,
        sent: client.sent_bytes as f64,
        with: client.with.iter().filter(|p| p.client != client.client).take(3).map(|p| (p.client.clone(), p.weight)).collect(),
        rows: client.rows,
        bundle: client.bundle.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned()),
        why: client.why.clone(),
    };
    AdvicePage {
        of,
        metric: advice.clients.first().map(|client| client.metric.clone()).unwrap_or_default(),
        splits: advice.splits,
        federation: (advice.federation.advice.into(), advice.federation.gain, advice.federation.interval),
        lines: advice.clients.iter().map(line).collect(),
        notes: advice.notes.clone(),
        report,
    }
    .html()
}
