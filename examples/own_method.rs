//! A method of your own: the whole of it, and a run.
//!
//! SignGD with majority vote: one bit a coordinate goes up. `cargo run --release --example own_method`

#![allow(clippy::print_stdout)] // an example shows what it does

use std::sync::Arc;

use motet::core::{
    Abort, Algorithm, ClientId, Host, Memo, Misfit, ModelShape, Plan, Population, Round, Seed, Shard, Site, Vector, message, train,
};
use motet::problems::synthetic::formula::lrs;
use motet::runtime::{Memory, Pool, Threads};

struct Majority {
    step: f64,
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
        let mut votes = vec![0i32; x.len()];
        round.ask(&round.everyone(), Differentiate { x: x.clone() }, |_, reply| {
            votes.iter_mut().zip(reply.up).for_each(|(vote, up)| *vote += if up { 1 } else { -1 });
        })?;
        let signs: Vec<f64> = votes.iter().map(|v| f64::from(v.signum())).collect();
        x.axpy(-self.step, &Vector::from(signs));
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
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clients: Arc<dyn Population> = Arc::new(lrs(9, 20, 12).into_iter().map(Shard::new).collect::<Vec<_>>());
    let method = Arc::new(Majority { step: 0.01 });
    let host = Host::new(Arc::clone(&method), clients, Arc::new(Memory::default()), Arc::<Memo>::default(), Seed(1));
    let mut rows = vec![];
    train(&*method, vec![0.0; 12].into(), &Plan::new(60, Seed(1)), &mut Threads::new(host, Arc::new(Pool::all_cores())), &mut rows)?;
    println!("loss {:.4} -> {:.4}, {} bits up", rows[0].metrics["loss"], rows[60].metrics["loss"], rows[60].bits.up);
    assert_eq!(rows[60].bits.up, 60 * 9 * 12); // one bit a coordinate, client and round
    Ok(())
}

#[test]
fn runs() {
    main().expect("the example");
}
