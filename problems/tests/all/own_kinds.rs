//! Sources, splits and models from outside of the repository, from the text of an experiment to a problem.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use motet_core::kind::NameTaken;
use motet_core::{Batch, Documented, Evaluator, Kind, Objective, Rng, Vector};
use motet_problems::{
    Dataset, DatasetError, Deal, Examples, Load, MODELS, Material, Matrix, Model, ModelConfig, ModelError, Partition, Place, Problem,
    ProblemConfig, ProblemError, SOURCES, SPLITS, Source, Split, Targets, Usage,
};
use serde::{Deserialize, Serialize};

/// The whole numbers from 1, each with its double.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
struct Doubles {
    /// How many there are.
    count: u32,
    /// Words that are written first and change nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aside: Vec<String>,
}

impl Kind for Doubles {
    const NAME: &'static str = "doubles";
}

impl Load for Doubles {
    fn load(&self, _: &Place<'_>) -> Result<Material, ProblemError> {
        if self.count == 0 {
            return Err(ProblemError::Own("doubles of nothing: count from 1".into()));
        }
        let numbers: Vec<f64> = (1..=self.count).map(f64::from).collect();
        let doubles = numbers.iter().map(|x| 2.0 * x).collect();
        let features = Matrix::dense(1, numbers).map_err(DatasetError::from)?;
        Ok(Material::Examples { dataset: Dataset::new(features, Targets::Numbers(doubles)), inputs: vec![] })
    }
}

/// Odd rows for one client, even rows for the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
struct ByTurns {}

impl Kind for ByTurns {
    const NAME: &'static str = "by-turns";
}

impl Deal for ByTurns {
    fn deal(&self, data: &Dataset, _: &mut Rng) -> Result<Partition, ProblemError> {
        let (odd, even) = data.rows_for(Usage::Train).into_iter().partition(|row| row % 2 == 0);
        Ok(Partition::new(vec![odd, even], data.len()))
    }
}

/// Ridge regression by another name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
struct Slope {
    /// What the loss is multiplied by.
    times: f64,
}

impl Kind for Slope {
    const NAME: &'static str = "slope";
}

impl Model for Slope {
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        match data.classes() {
            Some(_) => Err(ModelError::Unsuitable { model: Self::NAME, why: "targets must be numbers".into() }),
            None => Ok(1),
        }
    }
    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        Arc::new(Line { times: self.times, data, rows })
    }
    fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator> {
        Arc::new(Line { times: self.times, data, rows })
    }
}

struct Line {
    times: f64,
    data: Arc<Examples>,
    rows: Range<usize>,
}

impl Objective for Line {
    fn dim(&self) -> usize {
        1
    }
    fn samples(&self) -> usize {
        self.rows.len()
    }
    fn value(&self, x: &Vector, _: Batch<'_>) -> f64 {
        let Matrix::Dense(features) = self.data.features() else { panic!("the source gives a dense matrix") };
        let miss = |row: usize| (x.at(0) * features.values[row] - self.data.targets()[row]).powi(2);
        self.times * self.rows.clone().map(miss).sum::<f64>()
    }
    fn gradient(&self, _: &Vector, _: Batch<'_>, _: &mut Vector) {
        panic!("these tests only ask for values")
    }
}

impl Evaluator for Line {
    fn examples(&self) -> usize {
        self.rows.len()
    }
    fn metrics(&self, x: &Vector, _: Option<&Vector>) -> Vec<(&'static str, f64)> {
        vec![("loss", self.value(x, Batch::all()))]
    }
}

const TEXT: &str = r#"{"source":{"kind":"doubles","count":5},"split":{"kind":"by-turns"},"model":{"kind":"slope","times":10.0},"seed":0}"#;

#[test]
fn own_kinds_are_read_built_and_written_like_the_others() {
    let (mut sources, mut splits, mut models) = (SOURCES.clone(), SPLITS.clone(), MODELS.clone());
    sources.add::<Doubles>().unwrap();
    splits.add::<ByTurns>().unwrap();
    models.add::<Slope>().unwrap();
    let _here = (sources.enter(), splits.enter(), models.enter());

    let config: ProblemConfig = serde_json::from_str(TEXT).unwrap();
    assert_eq!(serde_json::to_string(&config).unwrap(), TEXT);
    assert_eq!(config.source, Source::new(Doubles { count: 5, aside: vec![] }));
    assert_ne!(config.source, Source::new(Doubles { count: 6, aside: vec![] }));
    assert_eq!(config.source.downcast::<Doubles>().map(|source| source.count), Some(5));

    let problem = Problem::build(&config, Path::new(""), 1).unwrap();
    assert_eq!(problem.about, "doubles, by-turns split, slope");
    let values: Vec<f64> = problem.shards.iter().map(|shard| shard.train.value(&Vector::from(vec![1.0]), Batch::all())).collect();
    // Each x is missed by x: 1 + 9 + 25 and 4 + 16, times 10.
    assert_eq!(values, [350.0, 200.0]);

    let nothing = TEXT.replace(r#""count":5"#, r#""count":0"#);
    let error = Problem::build(&serde_json::from_str(&nothing).unwrap(), Path::new(""), 1).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "[problem] doubles of nothing: count from 1");
}

#[test]
fn own_kinds_are_known_only_where_their_list_was_entered() {
    let parse = || serde_json::from_str::<Split>(r#"{"kind":"by-turns"}"#).map_err(|error| error.to_string());
    let mut splits = SPLITS.clone();
    splits.add::<ByTurns>().unwrap();
    assert!(parse().unwrap_err().contains("unknown variant `by-turns`, expected one of `contiguous`"));
    let outer = splits.enter();
    assert!(parse().is_ok());
    // A thread has its own scope.
    std::thread::scope(|scope| assert!(scope.spawn(parse).join().unwrap().is_err()));
    let inner = SPLITS.enter();
    assert!(parse().is_err(), "the list that was entered last counts");
    drop(outer);
    assert!(parse().is_err(), "guards may be dropped in any order");
    drop(inner);
    assert!(parse().is_err());
    assert_eq!(splits.add::<ByTurns>(), Err(NameTaken("by-turns")));
}

#[test]
fn what_an_own_kind_does_not_know_is_refused() {
    let mut models = MODELS.clone();
    models.add::<Slope>().unwrap();
    let _here = models.enter();
    let refused = |text: &str| serde_json::from_str::<ModelConfig>(text).unwrap_err().to_string();
    assert!(refused(r#"{"kind":"slope","times":1,"time":2}"#).starts_with("in `time`: unknown field `time`, expected `times`"));
    assert!(refused(r#"{"kind":"slope"}"#).starts_with("missing field `times`"));
    assert!(refused(r#"{"times":1}"#).starts_with("missing field `kind`"));
    assert!(refused(r#"{"kind":3}"#).contains("expected the name of a kind"));
    assert!(refused(r#""slope""#).starts_with("invalid type: string \"slope\""));
}

#[test]
fn lists_of_every_kind_have_unique_names_and_say_something_of_every_parameter() {
    let cards = [SOURCES.cards().collect::<Vec<_>>(), SPLITS.cards().collect(), MODELS.cards().collect()];
    for list in cards {
        let mut names: Vec<&str> = list.iter().map(|card| card.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), list.len());
        for card in list {
            assert!(!card.about.is_empty() && card.parameters.iter().all(|p| !p.about.is_empty() && !p.kind.is_empty()), "{}", card.name);
        }
    }
}
