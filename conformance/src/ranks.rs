//! What must not depend on how many ranks the clients are spread over.

use std::sync::Arc;
use std::thread;

use motet_core::{ClientVersions, Outcome, Seed, StoreError, Study};
use motet_runtime::{Crew, Frozen, Homes, Keeps, LocalCrew, Memory, Pool, Ranks, serve};

use crate::trial::Traces;
use crate::{Check, Trial};

const SEED: Seed = Seed(7);

/// Rows, ledger and final state are equal to the last bit inline and on so many ranks, clients living where the costs say.
#[derive(Clone, Copy, Debug)]
pub struct EqualOnAnyNumberOfRanks;

/// Keeps nothing: these runs are not resumed.
struct Unkept;

impl Keeps for Unkept {
    fn commit(&self) -> Result<(u64, Vec<u8>), StoreError> {
        Ok((0, vec![]))
    }
    fn release(&self, _: u64) {}
}

impl Check for EqualOnAnyNumberOfRanks {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let reference = trial.traces(method, &trial.plan(SEED), &mut trial.inline(method, SEED))?;
        if reference.outcome != Outcome::Finished.to_string() {
            return Err(format!("the reference run {}", reference.outcome));
        }
        let uneven = vec![5, 1, 1, 9, 2, 2];
        for (ranks, costs) in [(1, vec![]), (2, vec![]), (3, uneven.clone()), (5, vec![]), (8, vec![1; 6])] {
            // All sums are added up by all ranks, however little that pays.
            let traces = on_ranks(method, trial, (ranks, costs), 0)?;
            if let Some(where_) = reference.parts_from(&traces) {
                return Err(format!("inline against {ranks} ranks: {where_}"));
            }
        }
        let traces = on_ranks(method, trial, (3, uneven), u64::MAX)?;
        reference.parts_from(&traces).map_or(Ok(()), |where_| Err(format!("inline against 3 ranks with all sums at rank 0: {where_}")))
    }
}

fn on_ranks<A: Study>(method: &Arc<A>, trial: &Trial, (ranks, costs): (usize, Vec<u64>), together: u64) -> Result<Traces, String> {
    let mut crew = LocalCrew::ranks(ranks).into_iter();
    let root: Arc<dyn Crew> = Arc::new(crew.next().ok_or("a crew of nobody")?);
    thread::scope(|scope| {
        let served: Vec<_> = crew
            .map(|member| {
                // Every rank has a store of its own: a client whose state is elsewhere would begin anew.
                let host = trial.host::<A>(method, Arc::new(Frozen::<ClientVersions<A::Client>>::default()), SEED);
                scope.spawn(move || serve(&host, &Pool::new(1 + member.rank() % 2), &member, &Unkept))
            })
            .collect();
        let host = trial.host::<A>(method, Arc::new(Memory::default()), SEED);
        let mut fleet = Ranks::new(host, Arc::new(Pool::new(1)), root, Homes::new(ranks, costs)).adding_up_together_from(together);
        let traces = trial.traces(method, &trial.plan(SEED), &mut fleet);
        drop(fleet);
        for rank in served {
            rank.join().map_err(|_| "a rank panicked")?.map_err(|error| error.to_string())?;
        }
        traces
    })
}

/// Bytes of an order of another program, or of a damaged one, end the rank with a message and not with a panic.
#[derive(Clone, Copy, Debug)]
pub struct RanksSurviveNonsense;

impl Check for RanksSurviveNonsense {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        survives_nonsense(method, trial)
    }
}

fn survives_nonsense<A: Study>(method: &Arc<A>, trial: &Trial) -> Result<(), String> {
    for nonsense in [vec![], vec![200], vec![0; 3], vec![0, 255, 255, 255, 255, 255, 255, 255]] {
        let mut crew = LocalCrew::ranks(2).into_iter();
        let (Some(root), Some(member)) = (crew.next(), crew.next()) else { return Err("a crew of two".into()) };
        let host = trial.host::<A>(method, Arc::new(Memory::default()), SEED);
        root.send(1, &nonsense).map_err(|e| e.to_string())?;
        match serve(&host, &Pool::new(1), &member, &Unkept) {
            Ok(()) => return Err(format!("{nonsense:?} was taken for an order to leave")),
            Err(error) if error.to_string().contains("an order of rank 0 cannot be read") => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}
