//! What people see while they wait: a bar on a terminal, a line per run elsewhere, nothing if asked.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use motet::core::Row;
use motet::records::RunSummary;
use motet::{Event, Observer};

use crate::interrupt;
use crate::verb::printable;

/// Where a run stands. Everything goes to standard error.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
}

impl Progress {
    /// A bar if standard error is a terminal, plain lines if it is not. From now on Ctrl-C asks for a stop.
    pub(crate) fn new(quiet: bool) -> Self {
        interrupt::listen();
        let terminal = std::io::stderr().is_terminal();
        let style = ProgressStyle::with_template("{prefix:.bold} {wide_bar} {pos}/{len} rounds  {msg}  {eta} left");
        let bar = (!quiet && terminal).then(|| ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())));
        Self { bar, lines: !quiet && !terminal }
    }

    fn begin(&self, label: &str, seed: u64, rounds: u64) {
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_length(rounds);
            bar.set_prefix(printable(&format!("{label} seed {seed}")));
            bar.set_message("");
        }
    }

    /// What is going on before the first round.
    fn say(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(printable(what));
        }
    }

    fn row(&self, row: &Row) {
        if let Some(bar) = &self.bar {
            bar.set_position(row.round);
            let shown = ["gap", "test.loss", "loss"].iter().find_map(|name| row.metrics.get(*name).map(|value| (name, value)));
            if let Some((name, value)) = shown {
                bar.set_message(format!("{name} {value:.3e}"));
            }
        }
    }

    fn end(&self, run: &RunSummary) {
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
    fn tell(&self, line: &str) {
        let line = printable(line);
        match &self.bar {
            Some(bar) => bar.println(line),
            None if self.lines => eprintln!("{line}"),
            None => {}
        }
    }

    /// All is done.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn notice(&self, event: Event<'_>) {
        match event {
            Event::Begin { label, seed, rounds } => self.begin(label, seed, rounds),
            Event::Working(what) => self.say(what),
            Event::Row(row) => self.row(row),
            Event::End(run) => self.end(run),
            Event::Note(line) => self.tell(line),
        }
    }

    fn stop(&self) -> bool {
        interrupt::requested()
    }
}
