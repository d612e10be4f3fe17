//! Data of your own: rows you have in memory, each with a label and a client, under a bundled model.
//!
//! `cargo run --release --example own_data`

#![allow(clippy::print_stdout)] // an example shows what it does

use motet::Run;
use motet::methods::flix::Flix;
use motet::problems::{Holdout, LabelledRows};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Three shops, four days each: (temperature, holiday) → umbrellas sold. Shops sell differently.
    let days = [[14.0, 0.0], [9.0, 1.0], [21.0, 0.0], [17.0, 1.0]];
    let (mut rows, mut sold, mut shops) = (vec![], vec![], vec![]);
    for (extra, shop) in ["harbour", "market", "station"].into_iter().enumerate() {
        for [temperature, holiday] in days {
            rows.push(vec![temperature / 10.0, holiday]);
            sold.push(5.0 - temperature / 10.0 + extra as f64 * holiday);
            shops.push(shop);
        }
    }
    let data = LabelledRows::dense(rows).numbers(sold).clients(shops).named("umbrellas").check()?;
    let model = serde_json::from_str(r#"{"kind": "ridge", "l2": 0.01, "intercept": true}"#)?;
    let problem = data.problem(model, Holdout::default(), 1)?;

    let mut losses = vec![];
    for alpha in [1.0, 0.5] {
        let run = Run::new(Flix::mixing(alpha)?, &problem).rounds(2000).seed(1).train()?;
        losses.push(run.rows[2000].metrics["loss"]);
        println!("alpha {alpha}: mean loss of the shops {:.5}", losses[losses.len() - 1]);
    }
    assert!(losses[1] < losses[0], "a mixture fits shops that differ");
    Ok(())
}

#[test]
fn runs() {
    main().expect("the example");
}
