//! Wrong input: one clear line and exit code 2, and nothing is written.

mod stage;

use stage::{SMALL, Stage};

/// Runs an experiment that must be refused and returns what was said.
fn refused(stage: &Stage, args: &[&str]) -> String {
    let output = stage.motet(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?} said {said}");
    assert!(output.stdout.is_empty(), "{args:?} printed a result");
    assert_eq!(said.trim_end().lines().count(), 1, "{args:?} said {said}");
    for word in ["panicked", "u64", "f64", "u32", "usize", "i64", " enum", "nonzero", "sequence", "invalid type", "invalid value"] {
        assert!(!said.contains(word), "{args:?}: \"{word}\" is no word for people: {said}");
    }
    assert!(!stage.path().join("motet-runs").exists(), "{args:?} left something behind");
    said
}

fn refused_text(text: &str) -> String {
    let stage = Stage::new();
    stage.write("e.toml", text);
    refused(&stage, &["run", "e.toml"])
}

fn contains_all(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "\"{part}\" is not in: {said}");
    }
}

/// Ranks of a program that knows nothing of ranks would each do everything, into one folder.
#[cfg(not(feature = "mpi"))]
#[test]
fn ranks_of_a_program_without_mpi_are_refused_and_only_the_first_says_so() {
    let stage = Stage::new();
    stage.write("e.toml", SMALL);
    let started = |rank: &str, args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_motet"));
        command.args(args).current_dir(stage.path()).env("OMPI_COMM_WORLD_SIZE", "3").env("OMPI_COMM_WORLD_RANK", rank);
        let output = command.output().expect("the binary runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = started("0", &["run", "e.toml", "--out", "out"]);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    contains_all(&said, &["3 ranks were started", "without the feature `mpi`", "--features mpi"]);
    assert_eq!(started("2", &["run", "e.toml", "--out", "out"]), (Some(2), String::new()));
    // A line that is misspelt is told once, too.
    assert!(started("0", &["run", "e.toml", "--ot", "out"]).1.contains("--ot"));
    assert_eq!(started("1", &["run", "e.toml", "--ot", "out"]), (Some(2), String::new()));
    assert!(!stage.path().join("out").exists());
}

/// SMALL on a LIBSVM file.
fn on_file(path: &str, clients: u32) -> String {
    let source = SMALL.find("source").expect("a source");
    let end = SMALL.find("[run]").expect("a run");
    let problem = format!(
        "source = {{ kind = 'libsvm', path = '{path}' }}\nsplit = {{ kind = 'contiguous', clients = {clients} }}\nmodel = {{ kind = 'logistic', l2 = 0.1 }}\n\n"
    );
    format!("{}{problem}{}", &SMALL[..source], &SMALL[end..])
}

#[test]
fn a_missing_experiment_file() {
    contains_all(&refused(&Stage::new(), &["run", "nowhere.toml"]), &["nowhere.toml", "No such file"]);
}

#[test]
fn a_cluster_that_cannot_be() {
    let stage = Stage::new();
    stage.write("e.toml", SMALL);
    let ask = |more: &[&str]| refused(&stage, &[&["check", "e.toml", "--ranks", "2"], more].concat());
    contains_all(&ask(&["--nodes", "3"]), &["--nodes 3", "2 ranks"]);
    contains_all(&ask(&["--network", "nowhere.json"]), &["nowhere.json"]);
    let network = |latency: &str, message: &str| {
        format!(r#"{{"ranks": 2, "latency": {latency}, "bandwidth": 1e9, "message": [{message}], "broadcast": [], "all_to_all": []}}"#)
    };
    let twice = r#"{"bytes": 8, "seconds": 1}, {"bytes": 8, "seconds": 1}"#;
    for text in ["", "{}", "[]", &network("-1", ""), &network("1e999", ""), &network("1e-6", twice), &network("1e-6", r#"{"bytes": 8}"#)] {
        stage.write("network.json", text);
        contains_all(&ask(&["--network", "network.json"]), &["network.json", "is not what `motet bench mpi` prints"]);
    }
    // Nobody is there to send messages to.
    contains_all(&refused(&stage, &["bench", "mpi"]), &["at least two ranks"]);
}

#[test]
fn a_missing_data_file() {
    contains_all(&refused_text(&on_file("no-such-data", 2)), &["e.toml: problem.source.path: no file `no-such-data`", "MOTET_DATA"]);
    let stage = Stage::new();
    stage.write("mushrooms", "1 1:0.5\n");
    stage.write("e.toml", &on_file("mushroms", 2));
    let parts = ["did you mean `mushrooms`? Set MOTET_DATA", "`motet data import`"];
    contains_all(&refused(&stage, &["run", "e.toml"]), &parts);
}

#[test]
fn an_empty_data_file() {
    let stage = Stage::new();
    stage.write("void.txt", "");
    stage.write("e.toml", &on_file("void.txt", 2));
    contains_all(&refused(&stage, &["run", "e.toml"]), &["void.txt", "no examples"]);
}

#[test]
fn letters_in_a_data_file() {
    let stage = Stage::new();
    stage.write("odd.txt", "1 1:0.5\n-1 2:zwei\n");
    stage.write("e.toml", &on_file("odd.txt", 2));
    contains_all(&refused(&stage, &["run", "e.toml"]), &["odd.txt", "line 2", "zwei"]);
}

#[test]
fn more_clients_than_rows() {
    let stage = Stage::new();
    stage.write("few.txt", "1 1:0.5\n-1 2:1\n");
    stage.write("e.toml", &on_file("few.txt", 3));
    contains_all(&refused(&stage, &["run", "e.toml"]), &["3", "2"]);
}

#[test]
fn alpha_out_of_range() {
    let said = refused_text(&SMALL.replace("[1.0, 0.5]", "[1.5]"));
    contains_all(&said, &["e.toml", "method[2].alpha", "from 0 to 1", "1.5"]);
}

#[test]
fn an_unknown_method() {
    let said = refused_text(&SMALL.replace("\"flix\"", "\"flux\""));
    contains_all(&said, &["method[2].kind", "flux", "did you mean \"flix\"?"]);
}

#[test]
fn an_unknown_key_at_every_level() {
    contains_all(&refused_text(&SMALL.replace("seeds =", "seedz =")), &["seedz", "did you mean \"seeds\"?"]);
    contains_all(&refused_text(&SMALL.replace("rounds =", "round =")), &["run", "unknown key `round`", "did you mean `rounds`?"]);
    contains_all(
        &refused_text(&SMALL.replace("kind  = \"flix\"", "kind  = \"flix\"\nsteps = 3")),
        &["method[2]", "`steps`", "did you mean `step`?"],
    );
    contains_all(&refused_text(&SMALL.replace("intercept", "intrecept")), &["problem", "intrecept", "did you mean `intercept`?"]);
}

#[test]
fn a_negative_number_of_rounds() {
    contains_all(&refused_text(&SMALL.replace("rounds = 20", "rounds = -1")), &["run.rounds", "-1"]);
}

/// Each message names the whole key and says in words for people what would be right.
#[test]
fn values_of_the_wrong_type_or_range() {
    let stage = Stage::new();
    stage.write("rows.txt", "1 1:0.5\n-1 2:1\n1 1:2\n-1 2:3\n");
    stage.write("e.toml", SMALL);
    stage.write("f.toml", &on_file("rows.txt", 2));
    for (file, set, message) in [
        ("e.toml", "run.rounds=-5", "run.rounds: must be a whole number from 0, got -5"),
        ("e.toml", "run.rounds=1.5", "run.rounds: must be a whole number from 0, got 1.5"),
        ("e.toml", "run.rounds=many", "run.rounds: must be a whole number from 0, got \"many\""),
        ("e.toml", "run.quorum=2", "run.quorum: must be a number from 0 to 1, got 2"),
        ("e.toml", "run.models=1", "run.models: must be true or false, got 1"),
        ("e.toml", "run.probe=3", "run.probe: must be a table, got 3"),
        ("e.toml", "run.probe.at=[1, -2]", "run.probe.at[2]: must be a whole number from 0, got -2"),
        ("e.toml", "run.stop={ gap = \"small\" }", "run.stop.gap: must be a number, got \"small\""),
        ("e.toml", "run.reference=on", "run.reference: unknown word `on`, expected `auto` or `off`"),
        ("e.toml", "name=5", "name: must be a text, got 5"),
        ("e.toml", "seeds=3", "seeds: must be a list, got 3"),
        ("e.toml", "seeds=[1, -1]", "seeds[2]: must be a whole number from 0, got -1"),
        ("e.toml", "problem.source.clients=-3", "problem.source.clients: must be a whole number from 1, got -3"),
        ("e.toml", "problem.source.clients=0", "problem.source.clients: must be a whole number from 1, got 0"),
        ("e.toml", "problem.source.heterogeneity=\"much\"", "problem.source.heterogeneity: must be a number, got \"much\""),
        ("e.toml", "problem.model.l2=-1", "problem.model.l2: must be zero or a positive number, got -1"),
        ("e.toml", "problem.model.intercept=3", "problem.model.intercept: must be true or false, got 3"),
        ("e.toml", "problem.holdout.test=1.5", "problem.holdout.test: must be a number from 0 to 1, got 1.5"),
        ("e.toml", "problem.seed=-1", "problem.seed: must be a whole number from 0, or \"run\", got -1"),
        ("e.toml", "problem.model.kind=logistics", "problem.model.kind: unknown word `logistics`"),
        (
            "f.toml",
            "problem.split={ kind = \"dirichlet\", clients = 2, alpha = -1 }",
            "problem.split.alpha: must be a positive number, got -1",
        ),
        ("e.toml", "method[2].step=-1", "method[2].step: must be a positive number, got -1"),
        ("e.toml", "method[2].alpha=true", "method[2].alpha: "),
        ("e.toml", "method[2].solve.steps=-1", "method[2].solve.steps: must be a whole number from 0 to 4294967295, got -1"),
        ("e.toml", "method[2]={ kind = \"fedavg\", step = 0.1, batch = -1 }", "method[2].batch: must be "),
        (
            "e.toml",
            "method[2]={ kind = \"fedavg\", step = 0.1, sampling = { clients = -1 } }",
            "method[2].sampling: must be a whole number from 0",
        ),
        (
            "e.toml",
            "method[2]={ kind = \"dcgd\", compressor = { kind = \"rand-k\", k = -1 } }",
            "method[2].compressor.k: k must be a whole number",
        ),
        ("e.toml", "method[2]={ kind = \"fedavg\" }", "method[2]: needs a step"),
        ("e.toml", "method=3", "method: must be a list"),
        ("e.toml", "run.store=disk", "run.store: must be a table with a kind"),
        ("e.toml", "=3", "--set: =3: must be key=value"),
        ("e.toml", "report.csv=yes", "report.csv: must be true or false, got \"yes\""),
        ("e.toml", "report.worth=7", "report.worth: must be a number from 0 to 1, got 7"),
    ] {
        let said = refused(&stage, &["run", file, "--set", set]);
        assert!(said.contains(message), "{set}: {said}");
    }
}

#[test]
fn names_that_nothing_here_has() {
    let stage = Stage::new();
    stage.write("e.toml", SMALL);
    for (set, message) in [
        ("run.stop={ gapp = 1e-3 }", "run.stop.gapp: nothing of this name is measured; did you mean \"gap\"?"),
        ("run.stop={ \"test.acuracy.worst\" = 0.9 }", "did you mean \"test.accuracy.worst\"?"),
        ("run.stop={ bits = 9 }", "There are bits_up, gradients, iterations, gap"),
        (
            "report.over=[\"alhpa\"]",
            "report.over: no method here has a parameter \"alhpa\", and the problem has no such value; did you mean \"alpha\"?",
        ),
        ("report.over=[\"source.client\"]", "report.over: "),
        ("rounds=3", "unknown key; did you mean \"run.rounds\"?"),
        ("method.alhpa=0.3", "no method here has `alhpa` (they are local, flix); did you mean `alpha`?"),
        ("privacy.secure_sum=true", "privacy: secure sums and differential privacy are planned and not built yet"),
    ] {
        let said = refused(&stage, &["run", "e.toml", "--set", set]);
        assert!(said.contains(message), "{set}: {said}");
    }
    for set in [
        "run.stop={ \"unseen.test.accuracy.weighted\" = 2 }",
        "run.stop={ iterations = 3 }",
        "report.over=[\"source.clients\"]",
        "method.alpha=0.3",
    ] {
        assert!(stage.motet(&["check", "e.toml", "--quiet", "--set", set]).status.success(), "{set}");
    }
}

#[test]
fn numbers_of_the_command_line() {
    let stage = Stage::new();
    stage.write("e.toml", SMALL);
    stage.write("t.csv", "who,x,y\na,1,0\n");
    for (args, message) in [
        (&["run", "e.toml", "--seed", "-1"][..], "\"-1\" is not a whole number from 0"),
        (&["run", "e.toml", "--threads", "-2"], "-2 is not in 1..=1024"),
        (&["advise", "t.csv", "--client", "who", "--target", "y", "--minutes", "-1"], "minutes = -1: must be above 0"),
        (&["advise", "t.csv", "--client", "who", "--target", "y", "--minutes", "two"], "\"two\" is not a number"),
        (&["advise", "t.csv", "--client", "who", "--target", "y", "--worth", "-1"], "worth = -1: must be from 0 to 1"),
        (&["advise", "t.csv", "--client", "who", "--target", "y", "--budget", "-20MB"], "\"-20MB\" is not an amount"),
        (&["advise", "nope.csv", "--client", "who", "--target", "y"], "motet advise: no file `nope.csv`"),
        (&["advise", "t.csv", "--client", "wo", "--target", "y"], "motet advise: client = \"wo\": the columns are `who`, `x`, `y`"),
        (&["data", "schema", "t.csv", "--target", "z"], "t.csv: target = \"z\": the columns are"),
        (&["predict", ".", "t.csv"], ".: there is no client's bundle in this folder"),
        (&["report", "nope"], "nope: there is no such folder"),
        (&["report", "e.toml"], "e.toml: this is a file, and the folder of an experiment is wanted"),
        (&["results", "nope"], "nope: there is no such folder"),
        (&["report", "."], ".: there are no records in this folder"),
        (&["run", "--resume", "nope"], "nope: there is no such folder"),
        (&["bench", "tiny", "--rounds", "0"], "\"0\" is not a whole number from 1"),
    ] {
        let output = stage.motet(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(message), "{args:?}: {said}");
    }
}

#[test]
fn an_empty_grid() {
    contains_all(&refused_text(&SMALL.replace("[1.0, 0.5]", "[]")), &["method[2].alpha.grid", "at least one value"]);
}

#[test]
fn a_list_of_alphas_of_the_wrong_length() {
    let said = refused_text(&SMALL.replace("{ grid = [1.0, 0.5] }", "{ per_client = [0.1, 0.2] }"));
    contains_all(&said, &["method[2]", "2 clients", "has 6"]);
}

#[test]
fn a_claim_that_is_not_one() {
    let said = refused_text(&SMALL.replace("final(flix, gap)", "finl(flix, gap)"));
    contains_all(&said, &["claims", "did you mean `final`?", ">>finl<<(flix, gap)"]);
}

#[test]
fn a_folder_with_other_contents() {
    let stage = Stage::new();
    stage.write("e.toml", SMALL);
    std::fs::create_dir(stage.path().join("mine")).unwrap();
    std::fs::write(stage.path().join("mine/thesis.tex"), "precious").unwrap();
    for extra in [&[][..], &["--overwrite"]] {
        let said = refused(&stage, &[&["run", "e.toml", "--out", "mine"], extra].concat());
        contains_all(&said, &["mine", "not empty", "--out"]);
    }
    assert_eq!(std::fs::read_dir(stage.path().join("mine")).unwrap().count(), 1);
}

#[test]
fn a_setting_that_sets_nothing() {
    let stage = Stage::new();
    stage.write("e.toml", SMALL);
    contains_all(&refused(&stage, &["run", "e.toml", "--set", "rounds"]), &["--set", "key=value"]);
    contains_all(&refused(&stage, &["run", "e.toml", "--set", "run.rounds=many"]), &["run.rounds", "many"]);
}

#[test]
fn names_nobody_knows() {
    contains_all(
        &refused(&Stage::new(), &["reproduce", "flix/fig2-mushroom"]),
        &["flix/fig2-mushroom", "did you mean \"flix/fig2-mushrooms\"?"],
    );
    contains_all(&refused(&Stage::new(), &["report", "nowhere"]), &["nowhere"]);
}

#[test]
fn a_run_that_fails_says_why_on_standard_error() {
    let stage = Stage::new();
    // A network knows no smoothness, which the step of theory needs.
    let start = SMALL.find("model ").expect("a model");
    let end = SMALL.find("[run]").expect("a run");
    let text = format!("{}model = {{ kind = 'mlp', sizes = [3] }}\n{}", &SMALL[..start], &SMALL[end..]);
    stage.write("e.toml", text.split("[claims]").next().expect("what stands before the claims"));
    let output = stage.motet(&["run", "e.toml", "--seed", "1", "--quiet"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    contains_all(&said, &["motet: run \"flix alpha=1.0\", seed 1: failed in round 0: ", "smoothness"]);
    assert!(!output.stdout.is_empty(), "the result is printed as well");
}

#[test]
fn numbers_that_cannot_be_counted_with_are_named_in_their_file() {
    let stage = Stage::new();
    stage.write("far.txt", "1 1:0.5\n-1 2:3\n1 1:2 2:-1e300\n-1 1:1\n");
    stage.write("e.toml", &on_file("far.txt", 2));
    contains_all(&refused(&stage, &["run", "e.toml"]), &["far.txt, example 3, feature 2: -1e300 is too large"]);
    let network = on_file("far.txt", 2).replace("{ kind = 'logistic', l2 = 0.1 }", "{ kind = 'mlp', sizes = [3] }");
    stage.write("e.toml", &network);
    stage.write("far.txt", "1 1:0.5\n-1 2:3\n1 1:2 2:-1e30\n-1 1:1\n");
    contains_all(&refused(&stage, &["run", "e.toml"]), &["`mlp` counts in single precision", "-1e30", "scale the features"]);
    stage.write("e.toml", &network.replace("sizes = [3] }", "sizes = [3] }\nholdout = { test = 0.5 }"));
    stage.write("far.txt", "1 1:0.5\n-1 2:3\n1 1:2 2:-1e18\n-1 1:1\n");
    let output = stage.motet(&["check", "e.toml"]);
    assert_ne!(output.status.code(), Some(101), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_label_that_is_no_text() {
    contains_all(&refused_text(&SMALL.replace("kind = \"local\"", "kind = \"local\"\nlabel = 3")), &["method[1].label", "a text", "3"]);
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_named_and_not_waited_for() {
    let stage = Stage::new();
    let made = std::process::Command::new("mkfifo").arg(stage.path().join("pipe.csv")).status();
    if !made.is_ok_and(|made| made.success()) {
        eprintln!("no mkfifo here: pipes were not tried");
        return;
    }
    stage.write("rows.csv", "1,2,3\n");
    for args in [
        &["run", "pipe.csv"][..],
        &["check", "pipe.csv"],
        &["data", "show", "pipe.csv"],
        &["predict", "pipe.csv", "rows.csv"],
        &["run", "--resume", "pipe.csv"],
        &["join", "pipe.csv"],
    ] {
        contains_all(&refused(&stage, args), &["pipe.csv"]);
    }
    contains_all(&refused(&stage, &["run", "pipe.csv"]), &["is a pipe (FIFO): only regular files are read"]);
    contains_all(&refused(&stage, &["run", "/dev/zero"]), &["is a device"]);
    // A model that was saved, and examples that never come.
    stage.write("e.toml", &SMALL.replace("rounds = 20", "rounds = 2\nmodels = true"));
    assert!(stage.motet(&["run", "e.toml", "--seed", "1", "--out", "done", "--quiet"]).status.success());
    let model = std::fs::read_dir(stage.path().join("done/models")).expect("models").next().expect("one").expect("a file").path();
    contains_all(&refused(&stage, &["predict", &model.display().to_string(), "pipe.csv"]), &["pipe.csv", "a pipe"]);
    // Records that are a pipe.
    for name in ["rows.jsonl", "manifest.json", "checksums.jsonl", "summary.json"] {
        let path = stage.path().join("done").join(name);
        let kept = std::fs::read(&path).expect("it is there");
        std::fs::remove_file(&path).expect("it is ours");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().is_ok_and(|made| made.success()));
        for verb in ["report", "results"] {
            let output = stage.motet(&[verb, "done"]);
            assert_eq!(output.status.code(), Some(2), "{verb} with {name}: {}", String::from_utf8_lossy(&output.stderr));
        }
        assert_ne!(stage.motet(&["check", "done"]).status.code(), Some(0), "{name}");
        std::fs::remove_file(&path).expect("it is ours");
        std::fs::write(&path, kept).expect("it is ours");
    }
    assert!(stage.motet(&["check", "done"]).status.success());
}
