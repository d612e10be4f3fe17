//! Populations: clients made from their numbers, and the classes that clients have in proportions of their own.

use motet_core::{Batch, ClientId, Roster, Vector};
use motet_problems::{Folders, Problem, ProblemConfig};

fn build(json: &str) -> Result<Problem, String> {
    let config: ProblemConfig = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    Problem::build_from(&config, &Folders::new("nowhere".into(), None), 0).map_err(|error| error.to_string())
}

fn curvature(problem: &Problem, client: u32) -> f64 {
    problem.population.shard(ClientId(client)).train.constants().smoothness.unwrap()
}

#[test]
fn a_client_is_its_number() {
    let problem = build(r#"{"source": {"kind": "curvatures"}}"#).unwrap();
    assert_eq!(problem.population.roster(), Roster::Unbounded);
    let card = problem.card();
    assert_eq!((card.clients, card.dim, card.about.as_str()), (0, 1, "curvatures, clients without end"));
    for client in [0, 1, 77, u32::MAX] {
        let a = curvature(&problem, client);
        assert_eq!(a.to_bits(), curvature(&problem, client).to_bits());
        assert!((0.5..2.0).contains(&a));
        let f = problem.population.shard(ClientId(client)).into_owned().train;
        let (x, mut g) = (Vector::from(vec![3.0]), Vector::from(vec![0.0]));
        f.gradient(&x, Batch::all(), &mut g);
        assert_eq!((g.at(0), f.value(&x, Batch::all())), (a * 3.0 - 1.0, 0.5 * a * 3.0 * 3.0 - 3.0));
    }
    assert_ne!(curvature(&problem, 0), curvature(&problem, u32::MAX));
}

#[test]
fn curvatures_have_the_density_of_figure_1() {
    let problem = build(r#"{"source": {"kind": "curvatures"}}"#).unwrap();
    let n = 40_000;
    let of: Vec<f64> = (0..n).map(|k| curvature(&problem, k)).collect();
    // E aᵏ = (8/15) ∫ a^{k+1}: 1.4 and 2.125 for k = 1, 2; five standard errors of the mean.
    for (k, expected) in [(1, 1.4), (2, 2.125), (4, 5.6875)] {
        let mean = of.iter().map(|a| a.powi(k)).sum::<f64>() / f64::from(n);
        let square = of.iter().map(|a| a.powi(2 * k)).sum::<f64>() / f64::from(n);
        let error = ((square - mean * mean) / f64::from(n)).sqrt();
        assert!((mean - expected).abs() <= 5.0 * error, "E a^{k} = {mean}, not {expected}");
    }
}

#[test]
fn noise_is_for_training_only_and_has_its_size() {
    let problem = build(r#"{"source": {"kind": "curvatures", "noise": 0.5}}"#).unwrap();
    let f = problem.population.shard(ClientId(3)).into_owned().train;
    let (x, mut g) = (Vector::from(vec![0.0]), Vector::from(vec![0.0]));
    f.gradient(&x, Batch::all(), &mut g);
    assert_eq!(g.at(0), -1.0);
}

#[test]
fn a_counted_population_is_made_on_demand_too() {
    let problem = build(r#"{"source": {"kind": "curvatures", "clients": 342477}}"#).unwrap();
    assert_eq!((problem.population.roster(), problem.card().clients, problem.shards.len()), (Roster::Counted(342_477), 342_477, 0));
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(build(r#"{"source": {"kind": "curvatures", "low": 3}}"#).err().unwrap().contains("at least low = 3"));
    let split = r#"{"source": {"kind": "curvatures"}, "split": {"kind": "iid", "clients": 3}}"#;
    assert!(build(split).err().unwrap().contains("split"));
    assert!(build(r#"{"source": {"kind": "curvatures"}, "model": {"kind": "ridge"}}"#).err().unwrap().contains("model"));
    let one = r#"{"source": {"kind": "gaussian-classes", "clients": 2, "examples": 3, "features": 2, "classes": 1, "alpha": 1}, "model": {"kind": "softmax"}}"#;
    assert!(build(one).err().unwrap().contains("at least 2"));
}

#[test]
fn small_alpha_gives_each_client_few_of_the_gaussian_classes() {
    let with = |alpha: f64| {
        let source = r#"{"source": {"kind": "gaussian-classes", "clients": 100, "examples": 50, "features": 20, "alpha": "#;
        build(&format!(r#"{source}{alpha}}}, "model": {{"kind": "softmax"}}}}"#)).unwrap()
    };
    let (uneven, even) = (with(0.3), with(1000.0));
    assert_eq!((uneven.shards.len(), uneven.card().examples, uneven.start.len()), (100, 5000, 200));
    assert!(uneven.shards.iter().all(|shard| shard.train.samples() == 50));
    // Fifty draws of ten even classes have a total variation of 0.17 by chance alone.
    assert!(even.census.heterogeneity.unwrap() < 0.25 && uneven.census.heterogeneity.unwrap() > 0.5);
    let most = uneven.census.labels.iter().max().unwrap();
    assert!(uneven.census.labels.iter().all(|count| *count > 0) && *most < 1500, "all classes exist: {:?}", uneven.census.labels);
}
