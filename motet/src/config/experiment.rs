//! An experiment: what a document means.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_problems::ProblemConfig;
use motet_report::claims::Claims;
use serde_json::{Map, Value, json};

use super::budget::BudgetRule;
use super::document::{ConfigError, Document, closest};
use super::durability::free_memory;
use super::estimate::EstimateRules;
use super::grid::{count, expand};
use super::names;
use super::pick::PickRule;
use super::sections::{ReportSection, RunSection};
use super::size::Size;
use super::tune::TuneRule;
use super::words::in_plain_words;
use crate::catalogue::{Catalogue, Misread};
use crate::error::Error;
use crate::method::AnyMethod;

/// A checked experiment: problems × methods × seeds, one run each.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name; also the name of its folder.
    pub name: String,
    /// One line for people.
    pub about: Option<String>,
    /// Other names by which it can be found: figures that show the same runs.
    pub also: Vec<String>,
    /// Which figures, tables and statements of a paper it shows, by their short names: `A5`.
    pub entries: Vec<String>,
    /// What differs from the paper, in words.
    pub deviations: Vec<String>,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// The problems: one, unless `[problem]` holds a grid.
    pub problems: Vec<Variant<ProblemConfig>>,
    /// `[run]`
    pub run: RunSection,
    /// The methods, grids expanded.
    pub methods: Vec<MethodEntry>,
    /// `[report]`
    pub report: ReportSection,
    /// `[claims]`
    pub claims: Claims,
    /// Where it came from, for errors and relative paths.
    pub document: Document,
}

/// One choice of a grid.
#[derive(Clone, Debug)]
pub struct Variant<T> {
    /// The checked value.
    pub config: T,
    /// What distinguishes it from its siblings: `split.clients=8`; empty if there are none.
    pub label: String,
}

/// A method with its parameters.
#[derive(Clone, Debug)]
pub struct MethodEntry {
    /// The method itself.
    pub method: Arc<dyn AnyMethod>,
    /// What decides its αᵢ once the problem is known; until then the method has a stand-in.
    pub budget: Option<BudgetRule>,
    /// What is estimated once the problem is known; until then the method has stand-ins.
    pub estimates: EstimateRules,
    /// Do clients pick their own αᵢ when training is over? The method has those it is trained with.
    pub pick: Option<PickRule>,
    /// Values that trials choose from; until then the method has the first of them.
    pub tune: Option<Tune>,
    /// For people: kind and what distinguishes it from its siblings.
    pub label: String,
    /// Where it stands in the file, for errors.
    pub key: String,
}

/// Values to choose from, each checked.
#[derive(Clone, Debug)]
pub struct Tune {
    /// What decides.
    pub rule: TuneRule,
    /// Parameter → value, and the method with these; at least one.
    pub candidates: Vec<(Map<String, Value>, MethodEntry)>,
}

const SECTIONS: &[&str] =
    &["name", "about", "also", "entries", "deviations", "seeds", "problem", "run", "method", "report", "claims", "quick"];

/// Keys of sections that people write at the top: `--set rounds=10`.
const OF_RUN: &[&str] =
    &["rounds", "probe", "stop", "quorum", "not_finite", "attempts", "reference", "models", "checkpoint", "store", "tune"];
const OF_PROBLEM: &[&str] = &["source", "split", "holdout", "unseen", "model", "weights", "byzantine", "devices", "schema"];

fn unknown_section(unknown: &str) -> String {
    if unknown == "privacy" {
        return "secure sums and differential privacy are planned and not built yet: leave this section out".into();
    }
    let hint = match [("run", OF_RUN), ("problem", OF_PROBLEM)].iter().find(|(_, keys)| keys.contains(&unknown)) {
        Some((section, _)) => format!("; did you mean \"{section}.{unknown}\"?"),
        None => closest(unknown, SECTIONS.iter().copied()).map_or(".".to_owned(), |name| format!("; did you mean \"{name}\"?")),
    };
    format!("unknown key{hint} There are: {}", SECTIONS.join(", "))
}

impl Experiment {
    /// Understands the text of an experiment file. Files that it names are looked for in the working folder and in the data
    /// folder.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::new(Document::parse("experiment", text, PathBuf::new())?)
    }

    /// Reads and understands an experiment file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::new(Document::read(path)?)
    }

    /// Understands a document, its claims too.
    pub fn new(document: Document) -> Result<Self, Error> {
        Self::of(document, &Catalogue::standard())
    }

    /// Like [`new`](Self::new), with the methods, sources and models of a catalogue.
    pub fn of(document: Document, catalogue: &Catalogue) -> Result<Self, Error> {
        let _known = catalogue.enter();
        let experiment = Self::understood(document, catalogue)?;
        names::check(&experiment, catalogue)?;
        for claim in &experiment.claims.0 {
            motet_report::claims::parse(&claim.text).map_err(|source| Error::Claim { file: experiment.document.file.clone(), source })?;
        }
        Ok(experiment)
    }

    fn understood(document: Document, catalogue: &Catalogue) -> Result<Self, ConfigError> {
        let root = &document.root;
        if let Some(unknown) = root.keys().find(|key| !SECTIONS.contains(&key.as_str())) {
            return Err(document.wrong(unknown, unknown_section(unknown)));
        }
        let take = |key: &str| root.get(key).cloned();
        let needed = |key: &str| take(key).ok_or_else(|| document.wrong(key, "is missing"));
        let seeds: Vec<u64> = take("seeds").map_or(Ok(vec![1]), |v| document.section("seeds", v))?;
        if seeds.is_empty() {
            return Err(document.wrong("seeds", "must list at least one seed, got []"));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = seeds.iter().find(|seed| !seen.insert(**seed)) {
            return Err(document.wrong("seeds", format!("lists {twice} more than once: equal seeds give equal runs, which count as one")));
        }
        let run: RunSection = document.section("run", needed("run")?)?;
        if let Some(metric) = run.stop.iter().find(|(_, v)| v.is_nan()).map(|(k, _)| k) {
            return Err(document.wrong(&format!("run.stop.{metric}"), "must be a number, got NaN"));
        }
        let (problem, method) = (needed("problem")?, needed("method")?);
        let runs = affordable(&document, [&problem, &method], seeds.len())?;
        affordable_rows(&document, &run, runs)?;
        Ok(Self {
            name: document.section("name", take("name").unwrap_or_else(|| json!(document.stem())))?,
            about: take("about").map(|v| document.section("about", v)).transpose()?,
            entries: take("entries").map_or(Ok(vec![]), |v| document.section("entries", v))?,
            deviations: take("deviations").map_or(Ok(vec![]), |v| document.section("deviations", v))?,
            also: take("also").map_or(Ok(vec![]), |v| document.section("also", v))?,
            seeds,
            problems: problems(&document, &problem)?,
            methods: methods(&From { document: &document, catalogue }, &method, run.tune.as_ref())?,
            run,
            report: document.section("report", take("report").unwrap_or_else(|| json!({})))?,
            claims: document.section("claims", take("claims").unwrap_or_else(|| json!({})))?,
            document,
        })
    }

    /// Everything, defaults filled in, as the manifest keeps it.
    pub fn resolved(&self) -> Value {
        let methods: Vec<Value> = self.methods.iter().map(MethodEntry::written).collect();
        let problems: Vec<Value> = self.problems.iter().map(|p| serde_json::to_value(&p.config).unwrap_or(Value::Null)).collect();
        let mut resolved = json!({ "name": self.name, "seeds": self.seeds, "problem": problems, "run": self.run, "method": methods, "report": self.report });
        for key in ["about", "entries", "deviations", "claims"] {
            if let Some(value) = self.document.root.get(key) {
                resolved[key] = value.clone();
            }
        }
        resolved
    }
}

impl MethodEntry {
    /// Name in the list of methods.
    pub fn kind(&self) -> &'static str {
        self.method.card().name
    }

    /// The table of the experiment file, defaults filled in.
    fn written(&self) -> Value {
        let mut table = Map::new();
        table.insert("kind".into(), json!(self.kind()));
        table.extend(self.method.params());
        if let Some(rule) = &self.budget {
            table.insert("alpha".into(), rule.written());
        }
        self.estimates.write(&mut table);
        if let Some(rule) = &self.pick {
            table.insert("alpha".into(), rule.written());
        }
        if let Some(tune) = &self.tune {
            tune.rule.values.iter().for_each(|(name, _)| drop(table.shift_remove(name)));
            table.insert("tune".into(), json!(tune.rule));
        }
        Value::Object(table)
    }
}

/// The most runs of one experiment. All of them, and every problem, are in memory at once, and a report of more is not read.
const MOST_RUNS: usize = 10_000;

const FEWER: &str = "list fewer values, or make it several experiments";

/// What a row takes in memory until the report is written.
const ROW_BYTES: u64 = 500;

/// Counts the rows, which are all kept until the end. Where a rule stops the runs nobody knows how many there will be.
fn affordable_rows(document: &Document, run: &RunSection, runs: usize) -> Result<(), ConfigError> {
    let rows = run.rows().saturating_mul(runs as u64);
    let bytes = rows.saturating_mul(ROW_BYTES);
    match free_memory() {
        Some(free) if run.stop.is_empty() && bytes > free => {
            let made = format!("{runs} runs of {} rounds leave {rows} rows", run.rounds);
            let needs = format!("needs about {} of memory, and {} are free", Size(bytes), Size(free));
            Err(document.wrong("run.rounds", format!("{made}, which {needs}: measure less often with run.probe.every")))
        }
        _ => Ok(()),
    }
}

/// Counts the runs before any grid is expanded.
fn affordable(document: &Document, [problem, method]: [&Value; 2], seeds: usize) -> Result<usize, ConfigError> {
    let problems = count(problem);
    let methods = method.as_array().map_or(1, |tables| tables.iter().map(count).fold(0, usize::saturating_add));
    let runs = problems.saturating_mul(methods).saturating_mul(seeds);
    if runs <= MOST_RUNS {
        return Ok(runs);
    }
    let (key, _) = [("method", methods), ("problem", problems), ("seeds", seeds)]
        .into_iter()
        .fold(("", 0), |most, next| if next.1 > most.1 { next } else { most });
    let made = format!("{problems} problems x {methods} methods x {seeds} seeds make {runs} runs");
    Err(document.wrong(key, format!("{made}, and an experiment can have {MOST_RUNS}: {FEWER}")))
}

fn problems(document: &Document, value: &Value) -> Result<Vec<Variant<ProblemConfig>>, ConfigError> {
    let choices = expand(value).map_err(|path| document.wrong(&format!("problem.{path}"), EMPTY_GRID))?;
    let read =
        |choice: super::grid::Choice| Ok(Variant { config: document.section("problem", choice.value)?, label: describe(&choice.chosen) });
    choices.into_iter().map(read).collect()
}

const EMPTY_GRID: &str = "must be a list of at least one value, as in { grid = [1.0, 0.1] }";

/// Where methods are read from.
struct From<'a> {
    document: &'a Document,
    catalogue: &'a Catalogue,
}

impl From<'_> {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.catalogue.methods().map(|card| card.name)
    }

    fn listed(&self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }
}

fn methods(from: &From<'_>, value: &Value, tune: Option<&TuneRule>) -> Result<Vec<MethodEntry>, ConfigError> {
    let (document, catalogue) = (from.document, from.catalogue);
    let Value::Array(tables) = value else {
        return Err(document.wrong("method", "must be a list: write [[method]] with two brackets"));
    };
    let kinds: Vec<&str> = tables.iter().filter_map(|table| table.get("kind").and_then(Value::as_str)).collect();
    for (name, _) in tune.iter().flat_map(|rule| &rule.values) {
        if !kinds.iter().any(|kind| catalogue.knows(kind, name)) {
            let known = catalogue.methods().filter(|card| kinds.contains(&card.name)).flat_map(|card| card.parameters.names());
            let hint = closest(name, known).map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
            return Err(document.wrong(&format!("run.tune.{name}"), format!("no method here has this parameter{hint}")));
        }
    }
    let (mut entries, mut trials) = (vec![], 0);
    for (k, table) in tables.iter().enumerate() {
        let key = format!("method[{}]", k + 1);
        for mut choice in expand(table).map_err(|path| document.wrong(&format!("{key}.{path}"), EMPTY_GRID))? {
            let kind = choice.value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
            under_one_name(from, &key, &kind, &mut choice.value)?;
            let words = take_tune_words(&mut choice.value);
            // `finetune` has a parameter of this name, which is its own.
            let taken = catalogue.knows(&kind, "tune");
            let own = choice.value.as_object_mut().filter(|_| !taken).and_then(|table| table.shift_remove("tune"));
            let own: Option<TuneRule> = match own {
                Some(Value::Bool(false)) => {
                    entries.push(method(from, &key, choice)?);
                    continue;
                }
                Some(rule) => Some(document.section(&format!("{key}.tune"), rule)?),
                None => None,
            };
            // What `[run]` says is for the methods that have these parameters; what a method says is for itself.
            let rule = match (own, tune) {
                (Some(rule), _) => Some((rule, format!("{key}.tune"))),
                (None, Some(rule)) => rule.restricted(|name| catalogue.knows(&kind, name)).map(|rule| (rule, "run.tune".to_owned())),
                (None, None) => None,
            };
            let rule = rule.map(|(rule, at)| (rule.renamed(|name| catalogue.canonical(&kind, name)), at));
            let rule = match (rule, words.first()) {
                (Some((rule, at)), Some(_)) => Some((rule.with_steps(&words), at)),
                (None, Some(word)) => Some((TuneRule::of_steps(&words, document.root.get("problem")), format!("{key}.{word}"))),
                (rule, None) => rule,
            };
            let Some((rule, at)) = rule else {
                entries.push(method(from, &key, choice)?);
                continue;
            };
            trials += rule.count();
            if trials > MOST_RUNS {
                return Err(
                    document.wrong(&at, format!("makes {trials} trials up to {key}, and an experiment can have {MOST_RUNS}: {FEWER}"))
                );
            }
            entries.push(candidates(from, &key, &at, &choice, &rule)?);
        }
    }
    if entries.is_empty() {
        return Err(document.wrong("method", "must list at least one method"));
    }
    distinguish(&mut entries);
    Ok(entries)
}

/// Writes what a method's table says under the names that the method has for it: `gamma = 0.1` of FedAvg is its `step`.
fn under_one_name(from: &From<'_>, key: &str, kind: &str, table: &mut Value) -> Result<(), ConfigError> {
    let Value::Object(table) = table else { return Ok(()) };
    let names: Vec<String> = table.keys().cloned().collect();
    for name in names {
        let Some(canonical) = from.catalogue.canonical(kind, &name).filter(|canonical| *canonical != name) else { continue };
        if table.contains_key(&canonical) {
            let both = format!("is another name of {canonical}, which is given too: leave one of them out");
            return Err(from.document.wrong(&format!("{key}.{name}"), both));
        }
        // In its place: the order of keys is that of the file.
        let renamed = std::mem::take(table).into_iter().map(|(key, value)| (if key == name { canonical.clone() } else { key }, value));
        *table = renamed.collect();
    }
    Ok(())
}

/// Takes out the steps that are to be found: `step = "tune"`.
fn take_tune_words(table: &mut Value) -> Vec<&'static str> {
    let Value::Object(table) = table else { return vec![] };
    let asked = |name: &&str| table.get(*name).and_then(Value::as_str) == Some("tune");
    let words: Vec<&'static str> = ["step", "server_step"].into_iter().filter(asked).collect();
    words.iter().for_each(|name| drop(table.shift_remove(*name)));
    words
}

/// A method whose values are to be chosen, each of them checked as if it stood in the method's own table.
fn candidates(from: &From<'_>, key: &str, at: &str, choice: &super::grid::Choice, rule: &TuneRule) -> Result<MethodEntry, ConfigError> {
    let (document, mut all) = (from.document, vec![]);
    for values in rule.combinations() {
        let mut choice = choice.clone();
        let tell = |message: String| document.wrong(at, format!("{message} (tried for {key} with {})", listed(&values)));
        for (name, value) in &values {
            super::document::assign(&mut choice.value, name, value).map_err(&tell)?;
        }
        let mut entry = method(from, key, choice).map_err(|e| match e {
            ConfigError::Value { message, .. } => tell(message),
            other => other,
        })?;
        entry.label = format!("{} {}", entry.label, listed(&values));
        all.push((values, entry));
    }
    let mut choice = choice.clone();
    for (name, value) in &all[0].0 {
        super::document::assign(&mut choice.value, name, value).map_err(|message| document.wrong(at, message))?;
    }
    let mut entry = method(from, key, choice)?;
    entry.tune = Some(Tune { rule: rule.clone(), candidates: all });
    Ok(entry)
}

/// What serde says of a method's table, with what would be right.
fn with_advice(message: &str) -> String {
    if !message.starts_with("missing field `step`") {
        return in_plain_words(message);
    }
    "needs a step, the length of a client's steps: step = \"tune\" tries eight from 0.001 to 3 and takes the best; to choose a number yourself, take about 1/L for convex models (`motet check` prints L for flix and related methods), and for networks mostly something between 0.01 and 0.3"
        .to_owned()
}

/// `step=0.1 eta=2`
fn listed(values: &Map<String, Value>) -> String {
    describe(&values.iter().map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>())
}

fn method(from: &From<'_>, key: &str, choice: super::grid::Choice) -> Result<MethodEntry, ConfigError> {
    let document = from.document;
    let Value::Object(mut table) = choice.value else { return Err(document.wrong(key, "must be a table")) };
    let kind = match table.shift_remove("kind") {
        Some(Value::String(kind)) => kind,
        Some(other) => return Err(document.wrong(&format!("{key}.kind"), format!("must be the name of a method, got {other}"))),
        None => return Err(document.wrong(key, format!("needs a kind: one of {}", from.listed()))),
    };
    let named = table.get("label").is_some_and(Value::is_string);
    let mut label = match table.shift_remove("label") {
        Some(Value::String(label)) => label,
        Some(other) => return Err(document.wrong(&format!("{key}.label"), format!("must be a text, got {other}"))),
        None => [kind.clone(), describe(&choice.chosen)].join(" ").trim_end().to_owned(),
    };
    let budget = BudgetRule::take(document, key, &mut table)?;
    let estimates = EstimateRules::take(document, key, &mut table)?;
    let pick = PickRule::take(document, key, &mut table)?;
    if pick.is_some() && !named && !label.contains("alpha=") {
        label.push_str(" alpha=validation");
    }
    let read = from.catalogue.read_method(&kind, &Value::Object(table.clone()));
    if let (Err(_), Some((name, instead))) = (&read, estimates.online()) {
        table.insert(name.to_owned(), instead);
        if from.catalogue.read_method(&kind, &Value::Object(table)).is_ok() {
            let why = format!("{kind} does not learn {name} in rounds: leave online out, and the estimate is made before the first");
            return Err(document.wrong(&format!("{key}.{name}.estimate.online"), why));
        }
    }
    let method = read.map_err(|e| match e {
        Misread::Unknown(_) => {
            let hint = closest(&kind, from.names()).map_or(".".to_owned(), |name| format!("; did you mean \"{name}\"?"));
            document.wrong(&format!("{key}.kind"), format!("unknown method \"{kind}\"{hint} There are: {}", from.listed()))
        }
        Misread::Value { path, message } => {
            let key = if path.is_empty() { key.to_owned() } else { format!("{key}.{path}") };
            document.wrong(&key, with_advice(&message))
        }
    })?;
    Ok(MethodEntry { method, budget, estimates, pick, tune: None, label, key: key.to_owned() })
}

/// `alpha=0.1 step=2`
fn describe(chosen: &[(String, Value)]) -> String {
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    chosen.iter().map(|(key, value)| format!("{key}={}", text(value))).collect::<Vec<_>>().join(" ")
}

/// Two entries of one label get numbers: records must tell them apart.
fn distinguish(entries: &mut [MethodEntry]) {
    for k in 1..entries.len() {
        let label = entries[k].label.clone();
        let numbered = format!("{label} #");
        let same = entries[..k].iter().filter(|e| e.label == label || e.label.starts_with(&numbered)).count();
        if same > 0 {
            entries[k].label = format!("{label} #{}", same + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(method: &str) -> Result<Experiment, String> {
        let text = format!(
            "name = 'e'\n[problem]\nsource = {{ kind = 'lrs', clients = 3, examples = 6, dim = 2 }}\n[run]\nrounds = 2\n[[method]]\n{method}"
        );
        let document = Document::parse("e.toml", &text, std::path::PathBuf::new()).map_err(|e| e.to_string())?;
        Experiment::of(document, &Catalogue::standard()).map_err(|e| e.to_string())
    }

    #[test]
    fn letters_of_papers_and_former_names_mean_the_one_name() {
        for (written, meant) in [
            ("kind = 'fedavg'\ngamma = 0.1\nsteps = 3", "kind = 'fedavg'\nstep = 0.1\nlocal_steps = 3"),
            ("kind = 'flix-fedavg'\nalpha = 0.5\nclient_step = 0.1", "kind = 'flix-fedavg'\nalpha = 0.5\nstep = 0.1"),
            ("kind = 'scaffnew'\nparticipation = { clients = 2 }", "kind = 'scaffnew'\nsampling = { clients = 2 }"),
            ("kind = 'apfl'\nalpha = 0.5\nstep = 0.1", "kind = 'apfl'\nown_share = 0.5\nstep = 0.1"),
        ] {
            let params = |text: &str| experiment(text).unwrap().methods[0].method.params();
            assert_eq!(params(written), params(meant));
        }
        let twice = experiment("kind = 'fedavg'\ngamma = 0.1\nstep = 0.1").unwrap_err();
        assert!(twice.contains("method[1].gamma") && twice.contains("another name of step"), "{twice}");
    }

    #[test]
    fn a_step_is_found_where_it_is_asked_for_and_a_missing_one_says_how() {
        for word in ["step", "gamma"] {
            let found = experiment(&format!("kind = 'fedavg'\n{word} = 'tune'")).unwrap();
            let tune = found.methods[0].tune.as_ref().unwrap();
            assert_eq!((tune.rule.values[0].0.as_str(), tune.candidates.len(), tune.rule.by.as_str()), ("step", 8, "loss"));
        }
        let missing = experiment("kind = 'fedavg'").unwrap_err();
        assert!(missing.contains("step = \"tune\"") && missing.contains("1/L"), "{missing}");
    }
}
