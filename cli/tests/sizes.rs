//! Sizes that no machine holds, and amounts of work without an end: refused in one line, from `check` and from `run`, before
//! memory or time is spent.
#![cfg(unix)]

mod stage;

use std::process::{Command, Output};

use stage::Stage;

/// Runs the binary with 6 GB of addresses and ten seconds of processor time.
fn limited(stage: &Stage, args: &[&str]) -> Output {
    let script = r#"ulimit -c 0 && ulimit -v 6000000 && ulimit -t 10 && exec "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_motet")]).args(args).current_dir(stage.path());
    command.output().expect("a shell")
}

/// What is said to an experiment that must be refused, by `check` and by `run` alike.
fn refused(text: &str, more: &[&str]) -> String {
    let stage = Stage::new();
    stage.write("e.toml", text);
    let said = ["check", "run"].map(|verb| {
        let output = limited(&stage, &[&[verb, "e.toml"], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{verb} of {:.400} said {said:.1000}", text);
        assert_eq!(said.trim_end().lines().count(), 1, "{verb} said {said:.2000}");
        assert!(said.len() < 2000, "{} characters: {said:.2000}", said.len());
        assert!(output.stdout.is_empty() && !stage.path().join("motet-runs").exists(), "{verb} of {:.400} left something", text);
        said
    });
    said[0].clone()
}

fn contains_all(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "\"{part}\" is not in: {said}");
    }
}

const SYNTHETIC: &str = "{ kind = 'synthetic', clients = 4, features = 4, examples = 10, heterogeneity = 1.0 }";
const IMAGES: &str = "{ kind = 'synthetic-images', clients = 2, examples = 4, side = 12 }";
const TEXT: &str = "{ kind = 'synthetic-text', clients = 2, examples = 4, length = 6 }";
const LOGISTIC: &str = "{ kind = 'logistic', l2 = 0.1 }";

fn experiment(source: &str, model: &str, method: &str) -> String {
    let model = if model.is_empty() { String::new() } else { format!("model = {model}\n") };
    format!("[problem]\nsource = {source}\n{model}[run]\nrounds = 2\n[[method]]\n{method}\n")
}

#[test]
fn models_that_no_memory_holds() {
    for (source, model) in [
        (SYNTHETIC, "{ kind = 'mlp', sizes = [9223372036854775807] }"),
        (SYNTHETIC, "{ kind = 'mlp', sizes = [300000, 300000] }"),
        (IMAGES, "{ kind = 'cnn', channels = [9223372036854775807, 1] }"),
        (IMAGES, "{ kind = 'cnn', channels = [4000000000, 4000000000] }"),
        (IMAGES, "{ kind = 'cnn', hidden = 1000000000 }"),
        (IMAGES, "{ kind = 'resnet18', width = 4000000000 }"),
        (IMAGES, "{ kind = 'resnet18', width = 20000 }"),
        (TEXT, "{ kind = 'bert', hidden = 1000000000000 }"),
        (TEXT, "{ kind = 'bert', vocabulary = 1000000000000 }"),
        (TEXT, "{ kind = 'bert', layers = 1000000000000 }"),
        (TEXT, "{ kind = 'char-lstm', hidden = 1000000000000 }"),
        (TEXT, "{ kind = 'char-lstm', vocabulary = 1000000000 }"),
        (TEXT, "{ kind = 'word-lstm', embedding = 9223372036854775807 }"),
    ] {
        let said = refused(&experiment(source, model, "kind = 'flix'\nalpha = 0.5"), &[]);
        contains_all(&said, &["e.toml: problem: "]);
    }
    let said = refused(&experiment(SYNTHETIC, "{ kind = 'mlp', sizes = [30000, 30000] }", "kind = 'flix'\nalpha = 0.5"), &[]);
    contains_all(&said, &["model `mlp`", "parameters of 4 bytes", "of memory", "are free"]);
}

#[test]
fn sources_that_no_memory_holds() {
    for (source, model) in [
        ("{ kind = 'synthetic', clients = 1000000000, features = 1, examples = 1, heterogeneity = 1.0 }", LOGISTIC),
        (
            "{ kind = 'synthetic', clients = 4, features = 4, examples = 10, classes = 1000000000, heterogeneity = 1.0 }",
            "{ kind = 'softmax' }",
        ),
        (
            "{ kind = 'gaussian-classes', clients = 4, features = 4, examples = 10, classes = 1000000000, alpha = 0.5 }",
            "{ kind = 'softmax' }",
        ),
        ("{ kind = 'gaussian-classes', clients = 1000000000, features = 1, examples = 1, alpha = 0.5 }", "{ kind = 'softmax' }"),
        ("{ kind = 'synthetic-images', clients = 2, examples = 4, side = 12, classes = 1000000000 }", "{ kind = 'cnn' }"),
        ("{ kind = 'synthetic-text', clients = 2, examples = 4, length = 6, vocabulary = 1000000000 }", "{ kind = 'char-lstm' }"),
        ("{ kind = 'synthetic-tags', clients = 2, examples = 4, words = 1000000000, tags = 5 }", "{ kind = 'tags' }"),
        ("{ kind = 'synthetic-tags', clients = 2, examples = 4, words = 10, tags = 1000000000 }", "{ kind = 'tags' }"),
        ("{ kind = 'synthetic-posts', clients = 2, words = 1000000000, tags = 1 }", ""),
        ("{ kind = 'synthetic-posts', clients = 1000000000, words = 100, tags = 5 }", ""),
        ("{ kind = 'handwriting', writers = 1000000000, examples = 1 }", "{ kind = 'softmax' }"),
        ("{ kind = 'curvatures', clients = 1000000000 }", ""),
    ] {
        let said = refused(&experiment(source, model, "kind = 'minibatch-sgd'\neta = 0.1"), &[]);
        contains_all(&said, &["e.toml: problem: [problem] source"]);
    }
}

#[test]
fn rounds_without_an_end() {
    let theta = vec!["1.0"; 1_000_000].join(", ");
    for (method, names) in [
        ("kind = 'fedprox'\nmu = 0.1\nstep = 0.1\nsteps = 1000000000", "steps is 1000000000"),
        ("kind = 'fedprox'\nmu = 0.1\nstep = 0.1\nsteps = { epochs = 4000000000 }", "steps is 4000000000"),
        ("kind = 'local-update'\ngamma = 0.1\neta = 0.1\nsteps = 4000000000", "steps is 4000000000"),
        ("kind = 'local-update'\ngamma = 0.1\neta = 0.1\nadapt = 4000000000", "adapt is 4000000000"),
        (&format!("kind = 'local-update'\ngamma = 0.1\neta = 0.1\ntheta = [{theta}]"), "the length of theta is 1000000"),
        ("kind = 'maml'\ngamma = 0.1\neta = 0.1\ninner = 1000000000", "steps is 1000000001"),
        ("kind = 'flix-fedavg'\nalpha = 0.5\nclient_step = 0.1\nepochs = 4000000000", "epochs is 4000000000"),
        ("kind = 'per-fedavg'\ninner_step = 0.1\nstep = 0.1\nsteps = 1000000000", "steps is 1000000000"),
        ("kind = 'pfedme'\nlambda = 1.0\nstep = 0.1\ninner_step = 0.1\ninner_steps = 1000000000", "inner_steps is 1000000000"),
        ("kind = 'finetune'\nstep = 0.1\ntune = 1000000000", "tune is 1000000000"),
        ("kind = 'scafflix'\nalpha = 0.5\ncoin = { every = 4000000000 }", "coin.every is 4000000000"),
        ("kind = 'scafflix'\nalpha = 0.5\np = 1e-12", "p = 1e-12"),
        ("kind = 'l2gd'\nlambda = 1.0\np = 1e-12", "p = 1e-12"),
        ("kind = 'flix-sgd'\nalpha = 0.5\nsampling = { replacement = 4000000000 }", "sampling.replacement is 4000000000"),
        (
            "kind = 'flix-sgd'\nalpha = 0.5\nsampling = { importance = { clients = 4000000000, q = [1, 1, 1, 1] } }",
            "sampling.importance.clients is 4000000000",
        ),
    ] {
        contains_all(&refused(&experiment(SYNTHETIC, LOGISTIC, method), &[]), &["e.toml: method[1]: ", names]);
    }
    let endless = experiment("{ kind = 'curvatures' }", "", "kind = 'minibatch-sgd'\neta = 0.1\nsampling = { clients = 4000000000 }");
    contains_all(&refused(&endless, &[]), &["sampling.clients is 4000000000", "at most 1000000"]);
}

#[test]
fn lists_of_other_clients_than_there_are() {
    let list = |value: &str| vec![value; 1_000_000].join(", ");
    let per_client = format!("kind = 'flix'\nalpha = {{ per_client = [{}] }}", list("0.5"));
    contains_all(&refused(&experiment(SYNTHETIC, LOGISTIC, &per_client), &[]), &["method[1]", "1000000 clients", "has 4"]);
    let q = format!("kind = 'flix-sgd'\nalpha = 0.5\nsampling = {{ importance = {{ clients = 2, q = [{}] }} }}", list("0.5"));
    contains_all(&refused(&experiment(SYNTHETIC, LOGISTIC, &q), &[]), &["method[1]", "1000000 clients", "has 4"]);
    contains_all(
        &refused(&experiment(SYNTHETIC, LOGISTIC, "kind = 'sgd-ideal'\nstep = 0.1\nfriends = [0, 4000000000]"), &[]),
        &["method[1]", "friends", "4000000000"],
    );
}

#[test]
fn more_runs_than_anyone_reads() {
    let grid = |count: usize| vec!["0.5"; count].join(", ");
    let many = format!("kind = 'flix'\nalpha = {{ grid = [{}] }}", grid(480_000));
    contains_all(&refused(&experiment(SYNTHETIC, LOGISTIC, &many), &[]), &["e.toml: method: ", "480000 runs", "10000", "fewer values"]);
    // A billion combinations are counted, not made.
    let [a, b, c] = [(); 3].map(|()| grid(1000));
    let product =
        format!("kind = 'flix'\nalpha = {{ grid = [{a}] }}\nstep = {{ grid = [{b}] }}\nsolve = {{ kind = 'gd', to = {{ grid = [{c}] }} }}");
    contains_all(&refused(&experiment(SYNTHETIC, LOGISTIC, &product), &[]), &["1000000000 runs"]);
    let seeds: Vec<String> = (0..480_000).map(|seed| seed.to_string()).collect();
    let seeds = format!("seeds = [{}]\n{}", seeds.join(", "), experiment(SYNTHETIC, LOGISTIC, "kind = 'flix'\nalpha = 0.5"));
    contains_all(&refused(&seeds, &[]), &["e.toml: seeds: ", "480000 runs"]);
    let tuned = format!("kind = 'flix'\nalpha = 0.5\ntune = {{ step = [{}], alpha = [{}] }}", grid(10_000), grid(10_000));
    contains_all(&refused(&experiment(SYNTHETIC, LOGISTIC, &tuned), &[]), &["method[1].tune", "10000 combinations"]);
    let rows = experiment(SYNTHETIC, LOGISTIC, "kind = 'flix'\nalpha = 0.5").replace("rounds = 2", "rounds = 4000000000");
    contains_all(&refused(&rows, &[]), &["run.rounds", "4000000002 rows", "are free", "run.probe.every"]);
}

#[test]
fn a_seed_that_is_listed_twice() {
    let text = format!("seeds = [1, 2, 1]\n{}", experiment(SYNTHETIC, LOGISTIC, "kind = 'flix'\nalpha = 0.5"));
    contains_all(&refused(&text, &[]), &["e.toml: seeds: lists 1 more than once"]);
}

#[test]
fn long_claims_and_deep_keys() {
    let small = experiment(SYNTHETIC, LOGISTIC, "kind = 'flix'\nalpha = 0.5");
    let claim = format!("{small}[claims]\n\"long\" = \"finl({}\"\n", "x".repeat(100_000));
    contains_all(&refused(&claim, &[]), &["e.toml: claims: ", "column"]);
    let deep = format!("{}=1", vec!["a"; 40_000].join("."));
    contains_all(&refused(&small, &["--set", &deep]), &["--set", "40000 parts", "at most 32"]);
}

#[test]
fn the_largest_number_of_rounds_can_be_checked() {
    let stage = Stage::new();
    let text = experiment(SYNTHETIC, LOGISTIC, "kind = 'flix'\nalpha = 0.5");
    stage.write("e.toml", &text.replace("rounds = 2", "rounds = 9223372036854775807\nprobe = { every = 0 }"));
    let output = limited(&stage, &["check", "e.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_check_waits_for_no_local_solve_without_an_end() {
    let stage = Stage::new();
    for (alpha, solve, says) in [
        ("0.5", "{ steps = 4000000000, to = 1e-300 }", "theory: gap falls"),
        // What a budget affords is found while the runs are planned.
        (
            "{ budget = { rounds = 5, eps = 1e-4 } }",
            "{ kind = 'sgd', step = 1e-9, to = 1e-300, steps = 4000000000 }",
            "what the budget affords is not known: it takes local solves of more than 5 s",
        ),
    ] {
        stage.write("e.toml", &experiment(SYNTHETIC, LOGISTIC, &format!("kind = 'flix'\nalpha = {alpha}\nsolve = {solve}")));
        let output = limited(&stage, &["check", "e.toml", "--threads", "1"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        contains_all(&String::from_utf8_lossy(&output.stdout), &["local solves: none was finished in 5 s", says]);
    }
}
