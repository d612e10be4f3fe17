//! A method of your own: the whole of it, and a `motet` that knows it. SignGD with majority vote: one bit a coordinate goes up.
//!
//! `cargo run --release --example own_method -- run signs.toml`, with `kind = "majority"` in the file; without words it runs the
//! experiment below. Tuning, claims, `list`, checkpoints and the report know the method too.

#![allow(clippy::print_stdout)] // an example shows what it does

use motet::Catalogue;
use motet::core::{Abort, Algorithm, ClientId, Deployment, Documented, Misfit, ModelShape, Positive, Round, Site, Study, Vector, message};
use motet::methods::{Card, Method, Reads};

/// Signs of gradients, by majority.
#[derive(Clone, serde::Serialize, serde::Deserialize, Documented)]
#[documented(crate = motet::core)]
#[serde(deny_unknown_fields)]
struct Majority {
    /// What every coordinate moves in a round.
    step: Positive,
}

message! { struct Differentiate { x: Vector } }
message! { struct Signs { up: Vec<bool> } }

impl Algorithm for Majority {
    type Ask = Differentiate;
    type Reply = Signs;
    type Server = Vector;
    type Client = ();

    fn server(&self, start: Vector) -> Vector {
        start
    }
    fn client(&self, _: &mut Site<'_>) {}
    fn round(&self, x: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let mut votes = vec![0.0; x.len()];
        round.ask(&round.everyone(), Differentiate { x: x.clone() }, |_, reply| {
            votes.iter_mut().zip(reply.up).for_each(|(vote, up)| *vote += if up { 1.0 } else { -1.0 });
        })?;
        x.axpy(-*self.step, &Vector::from(votes.iter().map(|v: &f64| v.signum()).collect::<Vec<_>>()));
        Ok(())
    }
    fn answer(&self, _: &mut (), ask: &Differentiate, site: &mut Site<'_>) -> Signs {
        Signs { up: site.train.gradient(&ask.x).f64s().iter().map(|g| *g > 0.0).collect() }
    }
    fn fits(&self, _: &Differentiate, reply: &Signs, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        let (got, expected) = (reply.up.len(), model.dim);
        if got == expected { Ok(()) } else { Err(Misfit::Length { got, expected }) }
    }
    fn shared<'a>(&self, x: &'a Vector, _: ClientId) -> &'a Vector {
        x
    }
    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for Majority {}

impl Method for Majority {
    const CARD: Card = Card {
        name: "majority",
        reads: Reads::Single,
        about: Self::ABOUT,
        paper: "Bernstein, Wang, Azizzadenesheli, Anandkumar 2018",
        parameters: Self::PARAMETERS,
        example: r#"{"step":0.01}"#,
    };
}

const EXPERIMENT: &str = r#"
name = "signs"
problem = { source = { kind = "synthetic", clients = 9, features = 8, examples = 60 }, holdout = { test = 0.3 }, model = { kind = "logistic" } }
run = { rounds = 60 }
method = [{ kind = "majority", step = { grid = [0.01, 0.1] } }, { kind = "flix", alpha = 0.5 }]
"#;

fn main() -> std::process::ExitCode {
    match std::env::args().len() {
        1 => demonstrate(&std::env::temp_dir().join("motet-own-method")).into(),
        _ => motet_cli::main_with(Catalogue::standard().method::<Majority>()),
    }
}

fn demonstrate(folder: &std::path::Path) -> u8 {
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(folder.join("signs.toml"), EXPERIMENT)).expect("a folder to write to");
    let [file, out] = ["signs.toml", "out"].map(|name| folder.join(name).display().to_string());
    motet_cli::main_of(&Catalogue::standard().method::<Majority>(), ["motet", "run", &file, "--out", &out, "--overwrite"])
}

#[test]
fn runs() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(demonstrate(folder.path()), 0);
    let summary = std::fs::read_to_string(folder.path().join("out/summary.json")).expect("a summary");
    assert!(summary.contains("majority step=0.1") && summary.contains("test.accuracy") && folder.path().join("out/report.html").exists());
}
