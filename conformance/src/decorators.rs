//! A fleet around another one forwards everything that is asked of it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use motet_core::{
    Abort, Addend, Adding, Algorithm, Answer, Asks, ClientId, Deployment, Fleet, LastReplies, Misfit, ModelShape, Participants, Plan,
    Probe, ProbeRequest, Received, ReplyError, Rhythm, Roster, Round, Score, Seed, Site, Slot, Study, Vector, Wave, Work, message, train,
};

message! {
    /// The ask that decorators are tried with; a [`Witness`] answers it.
    pub struct Knock {}
}

message! {
    /// The reply to a [`Knock`].
    pub struct Knocked {
        /// The client's number.
        pub by: u32,
    }
}

/// A method that nobody runs: its messages are what decorators are tried with.
#[derive(Clone, Copy, Debug)]
pub struct Knocking;

impl Algorithm for Knocking {
    type Ask = Knock;
    type Reply = Knocked;
    type Server = Vector;
    type Client = ();

    fn server(&self, start: Vector) -> Vector {
        start
    }
    fn client(&self, _: &mut Site<'_>) {}
    fn round(&self, _: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        round.sum(&round.everyone(), Knock {}, |_| 1.0).map(|_| ())
    }
    fn answer(&self, (): &mut (), _: &Knock, site: &mut Site<'_>) -> Knocked {
        Knocked { by: site.id.0 }
    }
    fn fits(&self, _: &Knock, _: &Knocked, _: ClientId, _: ModelShape) -> Result<(), Misfit> {
        Ok(())
    }
    fn addend<'r>(&self, reply: &'r Knocked) -> Option<Addend<'r>> {
        Some(Addend::counting(f64::from(reply.by)))
    }
    fn shared<'a>(&self, x: &'a Vector, _: ClientId) -> &'a Vector {
        x
    }
    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for Knocking {}

/// A fleet whose every answer can be told from what a decorator might say by itself, and which remembers what it was asked.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    told: Rc<RefCell<Vec<String>>>,
}

const SLOT: Slot = Slot { round: 3, attempt: 1, exchange: 2 };
const CLIENTS: [ClientId; 3] = [ClientId(4), ClientId(2), ClientId(9)];

/// How often somebody has come, as a witness says.
const CHANGES: u64 = 11;

impl Participants for Witness {
    fn gone(&self) -> Vec<(ClientId, String)> {
        vec![]
    }
    fn is_away(&self, _: ClientId) -> bool {
        false
    }
    fn changes(&self) -> u64 {
        CHANGES
    }
    fn wait(&self, _: u64) -> Result<(), Abort> {
        Ok(())
    }
}

impl Fleet<Knocking> for Witness {
    fn roster(&self) -> Roster {
        Roster::Listed(Arc::new(CLIENTS))
    }
    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        slot == SLOT && client == CLIENTS[0]
    }
    fn is_steady(&self) -> bool {
        false
    }
    fn participants(&self) -> Option<&dyn Participants> {
        Some(self)
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, Knock>, each: &mut dyn FnMut(ClientId, Received<Knocked>)) -> Result<(), Abort> {
        self.told.borrow_mut().push(format!("exchange {slot:?} {:?}", wave.to));
        for &id in wave.to {
            let answer = Answer::new(Knocked { by: id.0 }, Work::default());
            each(id, if id == CLIENTS[1] { Err(ReplyError::LeftOver(1)) } else { Ok(answer) });
        }
        Ok(())
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, Knock>, _: &mut Adding<'_, Knocking>) -> Result<(), Abort> {
        self.told.borrow_mut().push(format!("sum {} {:?}", slot.round, wave.to));
        Ok(())
    }
    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, _: &LastReplies) -> Result<(), Abort> {
        self.told.borrow_mut().push(format!("round_closed {:?}", clients.collect::<Vec<_>>()));
        Ok(())
    }
    fn elapsed(&mut self) -> f64 {
        2.5
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        self.told.borrow_mut().push(format!("probe {:?}", probe.to));
        probe.to.iter().for_each(|&id| each(id, Score { loss: f64::from(id.0), ..Score::default() }));
        Ok(())
    }
}

/// Does a decorator, in a setting in which it changes nothing, forward everything to the fleet inside? If not, what it dropped.
pub fn forwards_everything<F: Fleet<Knocking>>(wrap: impl FnOnce(Witness) -> F) -> Result<(), String> {
    let witness = Witness::default();
    let mut fleet = wrap(witness.clone());
    let expect = |what: &str, holds: bool| if holds { Ok(()) } else { Err(format!("{what} is not forwarded")) };
    expect("roster", fleet.roster() == witness.roster())?;
    expect("is_there", fleet.is_there(SLOT, CLIENTS[0]) && !fleet.is_there(SLOT, CLIENTS[1]))?;
    expect("is_steady", !fleet.is_steady())?;
    expect("participants", fleet.participants().is_some_and(|participants| participants.changes() == CHANGES))?;
    let (heard, mut came) = (LastReplies::default(), vec![]);
    let wave = Wave { to: &CLIENTS, asks: Asks::Same(&Knock {}), heard: &heard };
    let mut each = |id: ClientId, received: Received<Knocked>| came.push((id, received.map(|answer| answer.reply.by)));
    fleet.exchange(SLOT, wave, &mut each).map_err(|e| e.to_string())?;
    expect("exchange", came == [(CLIENTS[0], Ok(4)), (CLIENTS[1], Err(ReplyError::LeftOver(1))), (CLIENTS[2], Ok(9))])?;
    fleet.round_closed(&mut CLIENTS.into_iter(), &heard).map_err(|e| e.to_string())?;
    expect("elapsed", fleet.elapsed() == 2.5)?;
    let (x, mut losses) = (Vector::from(vec![0.0]), vec![]);
    let probe = Probe { round: 1, to: &CLIENTS, shared: &|_| &x, heard: &heard, look: ProbeRequest::default(), reference: None };
    fleet.probe(&probe, &mut |_, score| losses.push(score.loss)).map_err(|e| e.to_string())?;
    expect("probe", losses == [4.0, 2.0, 9.0])?;
    // A round that asks for a sum; that nobody is in it ends the run, which is not the point.
    let plan = Plan { attempts: 1, rhythm: Rhythm::Never, ..Plan::new(1, Seed(1)) };
    train(&Knocking, x, &plan, &mut fleet, &mut vec![]).map_err(|e| e.to_string())?;
    let told = [
        format!("exchange {SLOT:?} {CLIENTS:?}"),
        format!("sum 1 {CLIENTS:?}"),
        format!("round_closed {CLIENTS:?}"),
        format!("probe {CLIENTS:?}"),
    ];
    for told in told {
        expect(&told, witness.told.borrow().contains(&told))?;
    }
    Ok(())
}
