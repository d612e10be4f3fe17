//! An experiment: what a document means.

use motet_methods::{CARDS, Method, Visitor};
use motet_problems::ProblemConfig;
use motet_report::claims::Claims;
use serde_json::{Map, Value, json};

use super::budget::BudgetRule;
use super::document::{ConfigError, Document, closest};
use super::grid::expand;
use super::sections::{ReportSection, RunSection};

/// A checked experiment: problems × methods × seeds, one run each.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name; also the name of its folder.
    pub name: String,
    /// One line for people.
    pub about: Option<String>,
    /// Other names it is asked for by: figures that show the same runs.
    pub also: Vec<String>,
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
    /// Name in the list of methods.
    pub kind: String,
    /// Parameters, every default filled in.
    pub params: Map<String, Value>,
    /// What decides `alpha` once the problem is known; until then `params` holds a stand-in.
    pub budget: Option<BudgetRule>,
    /// For people: kind and what distinguishes it from its siblings.
    pub label: String,
    /// Where it stands in the file, for errors.
    pub key: String,
}

const SECTIONS: &[&str] = &["name", "about", "also", "seeds", "problem", "run", "method", "report", "claims", "quick"];

impl Experiment {
    /// Understands a document.
    pub fn new(document: Document) -> Result<Self, ConfigError> {
        let root = &document.root;
        if let Some(unknown) = root.keys().find(|key| !SECTIONS.contains(&key.as_str())) {
            let hint = closest(unknown, SECTIONS.iter().copied()).map_or(String::new(), |name| format!("; did you mean \"{name}\"?"));
            return Err(document.wrong(unknown, format!("unknown key{hint} There are: {}", SECTIONS.join(", "))));
        }
        let take = |key: &str| root.get(key).cloned();
        let needed = |key: &str| take(key).ok_or_else(|| document.wrong(key, "is missing"));
        let seeds: Vec<u64> = take("seeds").map_or(Ok(vec![1]), |v| document.section("seeds", v))?;
        if seeds.is_empty() {
            return Err(document.wrong("seeds", "must list at least one seed, got []"));
        }
        let run: RunSection = document.section("run", needed("run")?)?;
        if let Some(metric) = run.stop.iter().find(|(_, v)| v.is_nan()).map(|(k, _)| k) {
            return Err(document.wrong(&format!("run.stop.{metric}"), "must be a number, got NaN"));
        }
        Ok(Self {
            name: document.section("name", take("name").unwrap_or_else(|| json!("experiment")))?,
            about: take("about").map(|v| document.section("about", v)).transpose()?,
            also: take("also").map_or(Ok(vec![]), |v| document.section("also", v))?,
            seeds,
            problems: problems(&document, &needed("problem")?)?,
            run,
            methods: methods(&document, &needed("method")?)?,
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
        if let Some(claims) = self.document.root.get("claims") {
            resolved["claims"] = claims.clone();
        }
        resolved
    }
}

impl MethodEntry {
    /// The table of the experiment file, defaults filled in.
    fn written(&self) -> Value {
        let mut table = Map::new();
        table.insert("kind".into(), json!(self.kind));
        table.extend(self.params.clone());
        if let Some(rule) = &self.budget {
            table.insert("alpha".into(), rule.written());
        }
        Value::Object(table)
    }
}

fn problems(document: &Document, value: &Value) -> Result<Vec<Variant<ProblemConfig>>, ConfigError> {
    let choices = expand(value).map_err(|path| document.wrong(&format!("problem.{path}"), EMPTY_GRID))?;
    let read =
        |choice: super::grid::Choice| Ok(Variant { config: document.section("problem", choice.value)?, label: describe(&choice.chosen) });
    choices.into_iter().map(read).collect()
}

const EMPTY_GRID: &str = "must be a list of at least one value, as in { grid = [1.0, 0.1] }";

fn methods(document: &Document, value: &Value) -> Result<Vec<MethodEntry>, ConfigError> {
    let Value::Array(tables) = value else {
        return Err(document.wrong("method", "must be a list: write [[method]] with two brackets"));
    };
    let mut entries = vec![];
    for (k, table) in tables.iter().enumerate() {
        let key = format!("method[{}]", k + 1);
        for choice in expand(table).map_err(|path| document.wrong(&format!("{key}.{path}"), EMPTY_GRID))? {
            entries.push(method(document, &key, choice)?);
        }
    }
    if entries.is_empty() {
        return Err(document.wrong("method", "must list at least one method"));
    }
    distinguish(&mut entries);
    Ok(entries)
}

fn method(document: &Document, key: &str, choice: super::grid::Choice) -> Result<MethodEntry, ConfigError> {
    let Value::Object(mut table) = choice.value else { return Err(document.wrong(key, "must be a table")) };
    let kind = match table.shift_remove("kind") {
        Some(Value::String(kind)) => kind,
        Some(other) => return Err(document.wrong(&format!("{key}.kind"), format!("must be the name of a method, got {other}"))),
        None => return Err(document.wrong(key, format!("needs a kind: one of {}", names()))),
    };
    let label = match table.shift_remove("label") {
        Some(Value::String(label)) => label,
        _ => [kind.clone(), describe(&choice.chosen)].join(" ").trim_end().to_owned(),
    };
    let budget = BudgetRule::take(document, key, &mut table)?;
    let mut track = serde_path_to_error::Track::new();
    let value = Value::Object(table);
    let params = motet_methods::with(&kind, serde_path_to_error::Deserializer::new(&value, &mut track), Resolve).map_err(|_| {
        let hint = closest(&kind, CARDS.iter().map(|c| c.name)).map_or(String::new(), |name| format!("; did you mean \"{name}\"?"));
        document.wrong(&format!("{key}.kind"), format!("unknown method \"{kind}\"{hint} There are: {}", names()))
    })?;
    let params = params.map_err(|e: serde_json::Error| {
        let path = track.path().to_string();
        let key = if path == "." { key.to_owned() } else { format!("{key}.{path}") };
        document.wrong(&key, super::document::with_suggestion(&e.to_string()))
    })?;
    Ok(MethodEntry { kind, params, budget, label, key: key.to_owned() })
}

fn names() -> String {
    CARDS.iter().map(|c| c.name).collect::<Vec<_>>().join(", ")
}

/// Fills in defaults by a round trip through the method's type.
struct Resolve;

impl Visitor for Resolve {
    type Out = Map<String, Value>;
    fn visit<M: Method>(self, method: M) -> Self::Out {
        match serde_json::to_value(&method) {
            Ok(Value::Object(params)) => params,
            _ => Map::new(),
        }
    }
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
        let same = entries[..k].iter().filter(|e| e.label == label || e.label.starts_with(&format!("{label} #"))).count();
        if same > 0 {
            entries[k].label = format!("{label} #{}", same + 1);
        }
    }
}
