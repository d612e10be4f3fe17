//! Data of your own: rows you have in memory, split by whom they belong to, under a bundled model.
//!
//! `cargo run --release --example own_data`

#![allow(clippy::print_stdout)] // an example shows what it does

use std::sync::Arc;

use motet::core::{Host, Memo, Plan, Population, Seed, Shard, train};
use motet::methods::flix::Flix;
use motet::problems::{Dataset, Examples, Matrix, ModelConfig, Targets};
use motet::runtime::{Inline, Memory};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Three shops, four days each: (temperature, holiday) → umbrellas sold. Shops sell differently.
    let rows = [[14.0, 0.0], [9.0, 1.0], [21.0, 0.0], [17.0, 1.0]];
    let (mut values, mut sold) = (vec![], vec![]);
    for shop in 0..3 {
        for [temperature, holiday] in rows {
            values.extend([temperature / 10.0, holiday]);
            sold.push(5.0 - temperature / 10.0 + f64::from(shop) * holiday);
        }
    }
    let dataset = Dataset::new(Matrix::dense(2, values)?, Targets::Numbers(sold));
    let examples = Arc::new(Examples::new(dataset)?);

    // Each shop is a range of the rows; the data are held once.
    let model: ModelConfig = serde_json::from_str(r#"{"kind":"ridge","l2":0.01,"intercept":true}"#)?;
    let shops = (0..3).map(|k| Ok(Shard::new(model.objective(&examples, 4 * k..4 * (k + 1))?)));
    let shops: Vec<Shard> = shops.collect::<Result<_, motet::problems::ModelError>>()?;
    let shops: Arc<dyn Population> = Arc::new(shops);

    let mut losses = vec![];
    for alpha in ["1.0", "0.5"] {
        let method: Arc<Flix> = Arc::new(serde_json::from_str(&format!(r#"{{"alpha":{alpha}}}"#))?);
        let host = Host::new(Arc::clone(&method), Arc::clone(&shops), Arc::new(Memory::default()), Arc::<Memo>::default(), Seed(1));
        let mut rows = vec![];
        train(&*method, model.start(&examples, Seed(1))?, &Plan::new(2000, Seed(1)), &mut Inline::new(host), &mut rows)?;
        losses.push(rows[2000].metrics["loss"]);
        println!("alpha {alpha}: mean loss of the shops {:.5}", losses[losses.len() - 1]);
    }
    assert!(losses[1] < losses[0], "a mixture fits shops that differ");
    Ok(())
}

#[test]
fn runs() {
    main().expect("the example");
}
