//! What must hold of a run as a whole.

use std::borrow::Cow;
use std::sync::Arc;

use motet_core::{ClientId, Host, Memo, Outcome, Plan, Population, Rhythm, Roster, Row, Seed, Shard, StoreError, Study};
use motet_runtime::{Inline, Memory};

use crate::trial::Traces;
use crate::{Check, Trial};

/// A run of zero rounds ends with one row: the state before the first.
#[derive(Clone, Copy, Debug)]
pub struct ZeroRounds;

impl Check for ZeroRounds {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let plan = Plan { rounds: 0, ..trial.plan(Seed(1)) };
        let (rows, trained) = trial.run(method, &plan, &mut trial.inline(method, Seed(1)))?;
        if trained.outcome != Outcome::Finished || trained.rounds != 0 {
            return Err(format!("{} after {} rounds", trained.outcome, trained.rounds));
        }
        match &rows[..] {
            [row] if row.round == 0 && row.metrics.get("loss").is_some_and(|loss| loss.is_finite()) => Ok(()),
            rows => Err(format!("rows {rows:?}")),
        }
    }
}

/// The same seed gives the same run to the last bit; another seed may give another, and finishes too.
#[derive(Clone, Copy, Debug)]
pub struct SeedDecides;

impl Check for SeedDecides {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let run = |seed| trial.traces(method, &trial.plan(seed), &mut trial.inline(method, seed));
        if let Some(where_) = run(Seed(11))?.parts_from(&run(Seed(11))?) {
            return Err(format!("the same seed twice: {where_}"));
        }
        match run(Seed(12))?.outcome {
            outcome if outcome == Outcome::Finished.to_string() => Ok(()),
            outcome => Err(format!("with another seed the run {outcome}")),
        }
    }
}

/// However often a run is measured, training is the same: final state and ledger are equal, and so are the rows of the rounds
/// that both measured, to the last bit of every total and every note.
#[derive(Clone, Copy, Debug)]
pub struct ProbesChangeNothing;

impl Check for ProbesChangeNothing {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let run = |rhythm| {
            let plan = Plan { rhythm, ..trial.plan(Seed(3)) };
            trial.traces(method, &plan, &mut trial.inline(method, Seed(3)))
        };
        let often = run(Rhythm::Every(1))?;
        for (name, rhythm) in [("never", Rhythm::Never), ("every third round", Rhythm::Every(3)), ("once", Rhythm::At(vec![2]))] {
            let seldom = run(rhythm)?;
            if (&often.server, &often.ledger) != (&seldom.server, &seldom.ledger) {
                return Err(format!("measured every round and {name}, the runs end in different states"));
            }
            if let Some(row) = seldom.rows.iter().find(|row| !often.rows.contains(row)) {
                return Err(format!("measured {name}, a row is not what it is when measured every round:\n  {row}"));
            }
        }
        Ok(())
    }
}

/// A client outside of the roster is judged with the model it would be given, and training never hears of it.
#[derive(Clone, Copy, Debug)]
pub struct JudgesTheUnseen;

/// Everyone's data, but the last is not on the roster.
struct AllButLast(Arc<Vec<Shard>>);

impl Population for AllButLast {
    fn roster(&self) -> Roster {
        Roster::Counted(self.0.len() as u32 - 1)
    }
    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        Ok(Cow::Borrowed(&self.0[client.0 as usize]))
    }
}

impl Check for JudgesTheUnseen {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let stranger = trial.shards.len() as u32 - 1;
        if stranger < 2 {
            return Ok(());
        }
        let run = |unseen: Vec<ClientId>| {
            let population = Arc::new(AllButLast(Arc::clone(&trial.shards)));
            let host = Host::new(Arc::clone(method), population, Arc::new(Memory::default()), Arc::new(Memo::default()), Seed(5));
            trial.run(method, &Plan { unseen, ..trial.plan(Seed(5)) }, &mut Inline::new(host))
        };
        let ((rows, with), (plain, without)) = (run(vec![ClientId(stranger)])?, run(vec![])?);
        let seen = |rows: &[Row]| {
            let mut rows = rows.to_vec();
            rows.iter_mut().for_each(|row| row.metrics.retain(|name, _| !name.starts_with("unseen.")));
            Traces::of(&rows, &with)
        };
        if let Some(where_) = seen(&rows).parts_from(&Traces::of(&plain, &without)) {
            return Err(format!("judging a client who does not train changed the run: {where_}"));
        }
        let judged = rows.iter().all(|row| row.metrics.get("unseen.loss").is_some_and(|loss| loss.is_finite()));
        // A model made for one client is judged on that client alone.
        if judged != method.target().is_none() { Err(format!("rows {rows:?}")) } else { Ok(()) }
    }
}
