//! `motet advise`: from a table to the answer, and a model for each client.

use std::path::{Path, PathBuf};

use clap::Args;
use motet::advise::{Advice, Advise, ClientAdvice, Data};
use motet::problems::source::{Encoding, Table, TargetKind};
use motet::report::difference;
use motet::{Error, Folder};

use super::console::Console;
use super::number::number;
use super::{elsewhere, of_table};
use crate::progress::Progress;

/// Find out who gains by joining, and leave a model for each client.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet advise hospitals.csv --client hospital --target diagnosis --out advice\n  motet advise hospitals/ --target diagnosis --minutes 5 --budget 20MB\n  motet predict advice/models/hospital-3 new-patients.csv\n\nThe table is CSV or TSV (Parquet too, if motet was built with that feature), or a folder with one table for each client, named after the client. Own models, one model for all, FLIX and Scafflix mixtures, MeritFed and FedAvg with fine-tuning are compared on repeated splits of the same rows. \"join\" and \"stay\" need evidence: an interval of 95 % that excludes zero. Then the chosen method is trained on all rows."
)]
pub(crate) struct AdviseArgs {
    /// The table, or a folder with one for each client
    table: PathBuf,
    /// The column that names each row's client [default for a folder: the names of its files]
    #[arg(long, value_name = "COLUMN")]
    client: Option<String>,
    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    target: String,
    /// How many minutes it may take
    #[arg(long, default_value_t = 2.0, allow_negative_numbers = true, value_parser = number)]
    minutes: f64,
    /// The most bytes that a client may send in all: 20MB, 300 kB, 5000 [default: no limit]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    budget: Option<u64>,
    /// The share of its own model's error that a difference must reach to count, from 0 to 1 [default: 0.01]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = number)]
    worth: Option<f64>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    drop: Vec<String>,
    /// Columns whose numbers are names, such as postcodes
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    categories: Vec<String>,
    /// How the letters of the table are written: utf-8, utf-16, or latin-1 as in many CSV files of Excel [default: utf-8]
    #[arg(long, value_parser = super::encoding)]
    encoding: Option<Encoding>,
    /// Predict the target as a number, even if all its values are whole numbers (which are otherwise taken for classes)
    #[arg(long)]
    numbers: bool,
    /// How many splits to work on at once [default: one for each core]
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Folder for the answer, the models and the experiment [default: the first free motet-runs/advice]
    #[arg(long)]
    out: Option<PathBuf>,
}

impl AdviseArgs {
    /// Prints the answer.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        if self.client.is_none() && !self.table.is_dir() {
            let name = self.table.display();
            return Err(Error::Unknown(format!("{name}: say which column names the client of a row, with --client")));
        }
        let folder = self.out.clone().unwrap_or_else(|| Folder::fresh_name(Path::new("motet-runs"), "advice"));
        let mut table = Table::new(self.table.clone(), self.target.clone());
        table.client.clone_from(&self.client);
        table.drop.clone_from(&self.drop);
        table.categories.clone_from(&self.categories);
        table.encoding = self.encoding;
        if self.numbers {
            table.targets = TargetKind::Numbers;
        }
        let mut question = Advise::new(Data::Table(table)).minutes(self.minutes)?.out(folder.clone());
        if let Some(budget) = self.budget {
            question = question.budget(budget);
        }
        if let Some(worth) = self.worth {
            question = question.worth(worth)?;
        }
        if let Some(threads) = self.threads {
            question = question.threads(threads.into());
        }
        let progress = Progress::new(console.quiet);
        let advice = question.run_observed(&progress);
        progress.finish();
        let advice = advice.map_err(elsewhere).map_err(of_table)?;
        console.result(&advice, || text(&advice, &folder));
        Ok(true)
    }
}

/// For people: a table, what to know, where things are.
fn text(advice: &Advice, folder: &Path) -> String {
    let header = ["client", "rows", "advice", "gain", "95 % interval", "by", "with", "sends"].map(str::to_owned);
    let lines: Vec<[String; 8]> = std::iter::once(header).chain(advice.clients.iter().map(line)).collect();
    let widths: Vec<usize> = (0..8).map(|k| lines.iter().map(|line| line[k].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    let all = &advice.federation;
    let interval = all.interval.map_or(String::new(), |[low, high]| format!(" [{}, {}]", difference(low), difference(high)));
    let metric = advice.clients.first().map_or("", |client| &client.metric);
    let splits = if advice.splits == 1 { "one split".to_owned() } else { format!("{} splits", advice.splits) };
    text += &format!("\nAll together: {}, {}{interval} ({metric}, {splits})\n", all.advice, difference(all.gain));
    advice.notes.iter().for_each(|note| text += &format!("Note: {note}\n"));
    text += &format!("Answer: {}\n", folder.join("advice.html").display());
    if let Some(bundle) = advice.clients.iter().find_map(|client| client.bundle.as_ref()) {
        text += &format!("Deploy: motet predict {} NEW.csv\n", bundle.display());
    }
    text + &format!("Change and run again: motet run {}", advice.experiment)
}

fn line(client: &ClientAdvice) -> [String; 8] {
    let interval = client.interval.map_or("none".to_owned(), |[low, high]| format!("{} to {}", difference(low), difference(high)));
    let with = client.with.iter().filter(|partner| partner.client != client.client).take(2);
    let with = with.map(|partner| format!("{} ({:.0} %)", partner.client, partner.weight * 100.0)).collect::<Vec<_>>().join(", ");
    [
        client.client.clone(),
        client.rows.to_string(),
        client.advice.to_owned(),
        difference(client.gain),
        interval,
        client.offer.clone(),
        with,
        format!("{} B", client.sent_bytes),
    ]
}

/// 20MB, 300 kB, 5000.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is not an amount such as 20MB, 300kB or 5000");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = number * scale;
    if (1.0..=1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        assert_eq!(["20MB", "300 kB", "5000", "1.5MiB"].map(bytes), [Ok(20_000_000), Ok(300_000), Ok(5000), Ok(1_572_864)]);
        for wrong in ["", "MB", "20 miles", "-1MB", "1e5", "0"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
