//! A method of your own, and a `motet` that knows it: SignGD with majority vote, one bit a coordinate goes up.
//!
//! `cargo run --release --example own_method -- run examples/signs.toml` on the experiment beside this file. Tuning, claims, `list`, checkpoints and the report know the method too.

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
        let mut votes = vec![0.0f64; x.len()];
        round.ask(&round.everyone(), Differentiate { x: x.clone() }, |_, reply| {
            votes.iter_mut().zip(reply.up).for_each(|(vote, up)| *vote += if up { 1.0 } else { -1.0 });
        })?;
        x.axpy(-*self.step, &Vector::with_precision(votes.iter().map(|v| v.signum()), x.precision()));
        Ok(())
    }
    fn answer(&self, _: &mut (), ask: &Differentiate, site: &mut Site<'_>) -> Signs {
        Signs { up: site.train.gradient(&ask.x).to_f64().iter().map(|g| *g > 0.0).collect() }
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
        leaves: "the sign of each coordinate of a gradient of all its examples, in each round",
        paper: "Bernstein, Wang, Azizzadenesheli, Anandkumar 2018",
        parameters: Self::PARAMETERS,
        example: r#"{"step":0.01}"#,
    };
}

fn main() -> std::process::ExitCode {
    motet_cli::main_with(Catalogue::standard().method::<Majority>())
}

#[test]
fn an_experiment_names_it_and_it_keeps_every_promise() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (concat!(env!("CARGO_MANIFEST_DIR"), "/examples/signs.toml"), folder.path().join("out"));
    let words = ["motet", "run", file, "--out", out.to_str().expect("a path in UTF-8")];
    assert_eq!(motet_cli::main_of(&Catalogue::standard().method::<Majority>(), words), 0);
    let summary = std::fs::read_to_string(out.join("summary.json")).expect("a summary");
    assert!(summary.contains("majority step=0.1") && summary.contains("test.accuracy") && out.join("report.html").exists());
    motet_conformance::examine(&serde_json::from_str::<Majority>(Majority::CARD.example).expect("an example")).expect("the suite holds");
}
