//! `motet reproduce`: bundled experiments, run and held against their claims.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use motet::core::Outcome;
use motet::records::{Verdict, slug};
use motet::report::claims::judge;
use serde_json::{Value, json};

use super::console::Console;
use super::run::{HowArgs, perform};
use motet::Error;
use motet::bundled::{Bundled, EXPERIMENTS};

/// Run bundled paper experiments and check each one's claims.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet reproduce flix/fig2-mushrooms\n  motet reproduce flix            (all of one paper)\n  motet reproduce --all --size paper --out results"
)]
pub(crate) struct ReproduceArgs {
    /// Which experiments: paper/figure, or a paper for all of its figures
    #[arg(required_unless_present = "all")]
    names: Vec<String>,
    /// All of them
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// How large: quick (minutes) or as in the paper
    #[arg(long, value_enum, default_value_t = Size::Quick)]
    size: Size,
    #[command(flatten)]
    how: HowArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Size {
    Quick,
    Paper,
}

impl ReproduceArgs {
    /// Runs them; false if a claim that must hold does not, or a run failed.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let mut chosen: Vec<Bundled> = vec![];
        match self.all {
            true => chosen.extend(EXPERIMENTS),
            false => self.names.iter().try_for_each(|name| Bundled::find(name).map(|found| chosen.extend(found)))?,
        }
        let parent = self.how.out.clone().unwrap_or_else(|| PathBuf::from("motet-runs/reproduce"));
        let (mut all_hold, mut told) = (true, vec![]);
        for bundled in chosen {
            console.aside(&format!("== {}", bundled.name));
            let experiment = self.how.experiment(bundled.document(self.size == Size::Quick)?, console)?;
            let folder = parent.join(slug(&bundled.name.replace('/', "-")));
            // Its own folder, made by this command: earlier records of the same experiment are replaced.
            let how = HowArgs { overwrite: true, ..self.how.clone() };
            let (claims, file) = (experiment.claims.clone(), experiment.document.file.clone());
            let records = perform(experiment, &how, &folder, console)?;
            if let Err(source) = judge(&claims.0, &records) {
                return Err(Error::Claim { file, source });
            }
            let summary = records.summary.unwrap_or_default();
            let failed = summary.runs.iter().any(|run| matches!(run.outcome, Outcome::Failed { .. }));
            all_hold &= !failed && !summary.claims.iter().any(Verdict::fails);
            // Told as it ends: the next experiment may take minutes, and may fail.
            console.part(|| {
                let title = format!("{}  ({})\n", bundled.name, folder.join("report.html").display());
                summary.claims.iter().map(line).fold(title, |text, claim| text + &claim)
            });
            told.push(json!({ "name": bundled.name, "folder": folder.display().to_string(), "claims": summary.claims.iter().map(entry).collect::<Vec<_>>() }));
        }
        let missing = if self.all { Bundled::missing() } else { vec![] };
        if !missing.is_empty() {
            all_hold = false;
            console.part(|| format!("FAILS: no bundled experiment shows {}, which the papers have", missing.join(", ")));
        }
        console.whole(&json!({ "experiments": told, "missing": missing }));
        Ok(all_hold)
    }
}

fn line(v: &Verdict) -> String {
    let number = |x: Option<f64>| {
        x.map_or("-".into(), |x| if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") })
    };
    let reason = v.reason.as_ref().map_or(String::new(), |r| format!("\n             {r}"));
    format!("  {:9}  {}: {}  [{} against {}]{reason}\n", v.word(), v.claim, v.text, number(v.value), number(v.bound))
}

fn entry(v: &Verdict) -> Value {
    json!({ "claim": v.claim, "text": v.text, "holds": v.holds, "verdict": v.word(), "value": v.value, "bound": v.bound, "interval": v.interval, "reason": v.reason })
}
