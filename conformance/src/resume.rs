//! A run that was cut goes on to the same bits.

use std::io;
use std::path::Path;
use std::sync::Arc;

use motet_core::{Keeper, Kept, Moment, Next, Reader, Row, Seed, Study, Vector, Wire, train_from};
use motet_runtime::{Disk, Inline};

use crate::trial::Traces;
use crate::{Check, Trial};

/// Cut after any round, with the round after it already on its way: what is found on disk leads to the rows, the states
/// and the bills of a run that nobody disturbed.
#[derive(Clone, Copy, Debug)]
pub struct GoesOnFromEveryMoment;

const SEED: Seed = Seed(7);

impl Check for GoesOnFromEveryMoment {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let plan = trial.plan(SEED);
        let undisturbed = trial.traces(method, &plan, &mut trial.inline(method, SEED))?;
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        for cut in 0..trial.rounds {
            let path = folder.path().join(format!("{cut}"));
            let resumed = cut_and_resume(method, trial, cut, &path).map_err(|e| format!("cut after round {cut}: {e}"))?;
            if let Some(difference) = resumed.parts_from(&undisturbed) {
                return Err(format!("cut after round {cut}, {difference}"));
            }
        }
        Ok(())
    }
}

fn cut_and_resume<A: Study>(method: &Arc<A>, trial: &Trial, cut: u64, path: &Path) -> Result<Traces, String> {
    let said = |e: &dyn std::fmt::Debug| format!("{e:?}");
    let plan = trial.plan(SEED);
    let disk = Arc::new(Disk::<Kept<A::Client>>::create(path, 0).map_err(|e| said(&e))?);
    let mut keeper = Cut { after: cut, disk: Arc::clone(&disk), saved: None };
    let mut rows: Vec<Row> = vec![];
    let start = || Moment::before(&**method, Vector::from(vec![0.0; trial.dim]));
    let mut fleet = Inline::new(trial.host(method, disk, SEED));
    let cut_run = train_from(&**method, start(), &plan, &mut fleet, &mut rows, &mut keeper).map_err(|e| said(&e))?;
    // A run that ended before the cut left nothing to resume.
    let (mut fleet, from) = match keeper.saved.take() {
        Some((moment, index)) => {
            rows.retain(|row| row.round <= cut);
            let disk = Disk::open(path, 0, &[&index]).map_err(|e| said(&e))?;
            let moment = Moment::decode(&mut Reader::new(&moment)).map_err(|e| said(&e))?;
            (Inline::new(trial.host(method, Arc::new(disk), SEED)), moment)
        }
        None => return Ok(Traces::of(&rows, &cut_run)),
    };
    let trained = train_from(&**method, from, &plan, &mut fleet, &mut rows, &mut Untiring).map_err(|e| said(&e))?;
    Ok(Traces::of(&rows, &trained))
}

/// Saves after one round and stops after the next.
struct Cut<C> {
    after: u64,
    disk: Arc<Disk<Kept<C>>>,
    saved: Option<(Vec<u8>, Vec<u8>)>,
}

impl<A: Study> Keeper<A> for Cut<A::Client> {
    fn after(&mut self, moment: &Moment<A>) -> io::Result<Next> {
        if moment.next == self.after + 1 {
            let mut bytes = vec![];
            moment.encode(&mut bytes);
            if bytes.len() as u64 != moment.bytes() {
                return Err(io::Error::other("a moment's length is not what it says"));
            }
            self.saved = Some((bytes, self.disk.commit().map_err(io::Error::other)?));
        }
        Ok(if moment.next > self.after + 1 { Next::Stop } else { Next::GoOn })
    }
}

struct Untiring;

impl<A: Study> Keeper<A> for Untiring {
    fn after(&mut self, _: &Moment<A>) -> io::Result<Next> {
        Ok(Next::GoOn)
    }
}
