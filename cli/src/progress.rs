//! What people see while they wait: a bar on a terminal, a line per run elsewhere, nothing if asked.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use motet_core::{Row, RunSummary};

/// Where a run stands. Everything goes to standard error.
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
}

impl Progress {
    /// A bar if standard error is a terminal, plain lines if it is not.
    pub fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let style = ProgressStyle::with_template("{prefix:.bold} {wide_bar} {pos}/{len} rounds  {msg}  {eta} left");
        let bar = (!quiet && terminal).then(|| ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())));
        Self { bar, lines: !quiet && !terminal }
    }

    /// A run begins.
    pub fn begin(&self, label: &str, seed: u64, rounds: u64) {
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_length(rounds);
            bar.set_prefix(format!("{label} seed {seed}"));
            bar.set_message("");
        }
    }

    /// What is going on before the first round.
    pub fn say(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
    }

    /// A round was measured.
    pub fn row(&self, row: &Row) {
        if let Some(bar) = &self.bar {
            bar.set_position(row.round);
            let shown = ["gap", "test.loss", "loss"].iter().find_map(|name| row.metrics.get(*name).map(|value| (name, value)));
            if let Some((name, value)) = shown {
                bar.set_message(format!("{name} {value:.3e}"));
            }
        }
    }

    /// A run ended.
    pub fn end(&self, run: &RunSummary) {
        let gap = ["gap", "test.loss", "loss"].iter().find_map(|name| run.last.get(*name).map(|value| format!("{name} {value:.4e}")));
        let line = format!(
            "{} seed {}: {}, {} rounds, {} in {:.2} s",
            run.label,
            run.seed,
            run.outcome,
            run.rounds,
            gap.unwrap_or_default(),
            run.seconds
        );
        self.tell(&line);
    }

    /// Something that stays on the screen.
    pub fn tell(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None if self.lines => eprintln!("{line}"),
            None => {}
        }
    }

    /// All is done.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
