//! From a problem to a trained, personalised federation in one screen.
//!
//! `cargo run --release --example quickstart`

#![allow(clippy::print_stdout)] // an example shows what it does

use std::sync::Arc;

use motet::core::{Host, Memo, Plan, Population, Seed, Shard, train};
use motet::methods::flix::Flix;
use motet::problems::synthetic::formula::lrs;
use motet::runtime::{Inline, Memory};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Ten clients with twenty examples each: logistic regression in dimension 12.
    let shards: Vec<Shard> = lrs(10, 20, 12).into_iter().map(Shard::new).collect();
    let start = motet::core::Vector::from(vec![0.0; 12]);
    let clients: Arc<dyn Population> = Arc::new(shards);

    for alpha in ["1.0", "0.5", "0.1"] {
        // Each client deploys α·shared + (1 − α)·own.
        let method: Arc<Flix> = Arc::new(serde_json::from_str(&format!(r#"{{"alpha":{alpha}}}"#))?);
        let host = Host::new(Arc::clone(&method), Arc::clone(&clients), Arc::new(Memory::default()), Arc::<Memo>::default(), Seed(1));

        let mut rows = vec![];
        let trained = train(&*method, start.clone(), &Plan::new(50, Seed(1)), &mut Inline::new(host), &mut rows)?;

        let (first, last) = (&rows[0].metrics["loss"], &rows[50].metrics["loss"]);
        println!("alpha {alpha}: loss {first:.4} -> {last:.4} in {} rounds, {} bits up", trained.rounds, rows[50].bits.up);
        assert!(last < first);
    }
    Ok(())
}

#[test]
fn runs() {
    main().expect("the example");
}
