//! From a problem to a trained, personalised federation in one screen.
//!
//! `cargo run --release --example quickstart`

#![allow(clippy::print_stdout)] // an example shows what it does

use motet::Run;
use motet::methods::flix::Flix;
use motet::problems::synthetic::formula::lrs;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for alpha in [1.0, 0.5, 0.1] {
        // Ten clients with twenty examples each, logistic regression in dimension 12. Each deploys alpha * shared + (1 - alpha) * own.
        let run = Run::new(Flix::mixing(alpha)?, lrs(10, 20, 12)).rounds(50).seed(1).train()?;
        let (first, last) = (run.rows[0].metrics["loss"], run.rows[50].metrics["loss"]);
        println!("alpha {alpha}: loss {first:.4} -> {last:.4} in {} rounds, {} bits up", run.rounds, run.rows[50].bits.up);
        assert!(last < first);
    }
    Ok(())
}

#[test]
fn runs() {
    main().expect("the example");
}
