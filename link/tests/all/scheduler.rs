//! Desk and agents under a scheduler with a clock of its own, which loses, doubles, delays and reorders every message and
//! kills either side at any step. The oracle: in every round each client's reply is folded at most once, in cohort order, and
//! says exactly what the server knows of it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use motet_core::{ClientId, ModelShape, Precision, Purpose, Rng, Seed, Slot, Wire, whole};
use motet_link::{
    Agent, Ask, Body, Call, Consent, Desk, Digest, Ended, Forgets, HostWork, Limits, MemorySpool, Next, Progress, Reply, ReplyKey,
    Response, Spool, TaskNumber,
};

use crate::counting::{Count, Counting, OneDisk, counted, host};
use crate::every_step::{Fault, Plan};

const CLIENTS: u32 = 4;
const MODEL: ModelShape = ModelShape { dim: 1, precision: Precision::F64 };
/// Of the run; the lease is longer than any silence that is not a death.
const DEADLINE: u64 = 4_000;
const PIECE: usize = 64;

fn limits() -> Limits {
    Limits { whole: PIECE, piece: PIECE, uploads: 2, stalled: Duration::from_millis(500), ..Limits::default() }
}

/// A spool that survives the coordinator, and loses a little of what was not finished.
#[derive(Clone, Default)]
struct Survivor(Arc<Mutex<(MemorySpool, Option<u32>)>>);

impl Survivor {
    fn step<T>(&self, then: impl FnOnce(&mut MemorySpool) -> io::Result<T>) -> io::Result<T> {
        let (spool, fuse) = &mut *self.0.lock().unwrap();
        match fuse {
            Some(0) => return Err(io::Error::other("killed")),
            Some(left) => *left -= 1,
            None => {}
        }
        then(spool)
    }
}

impl Spool for Survivor {
    fn part(&self, key: &ReplyKey) -> io::Result<u64> {
        self.0.lock().unwrap().0.part(key)
    }
    fn append(&mut self, key: &ReplyKey, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.step(|spool| spool.append(key, offset, bytes))
    }
    fn finish(&mut self, key: &ReplyKey, announced: Digest) -> io::Result<bool> {
        self.step(|spool| spool.finish(key, announced))
    }
    fn reply(&mut self, key: &ReplyKey) -> io::Result<Option<Reply>> {
        self.0.lock().unwrap().0.reply(key)
    }
    fn forget(&mut self, gone: &dyn Fn(&ReplyKey) -> bool, how: Forgets) -> io::Result<()> {
        self.step(|spool| spool.forget(gone, how))
    }
}

/// What the coordinator has made durable between two rounds.
#[derive(Clone, Default)]
struct Checkpoint {
    round: u64,
    heard: BTreeMap<u32, Slot>,
    totals: BTreeMap<u32, u64>,
}

/// The coordinator's program: two exchanges a round with everyone; a round that too few answered is tried again.
struct Coordinator {
    desk: Desk,
    now: Checkpoint,
    /// Where the round began.
    begun: Checkpoint,
    attempt: u32,
    exchange: u32,
    /// Of this exchange, in cohort order.
    tasks: Vec<TaskNumber>,
    due: usize,
    answered: Vec<u32>,
}

struct Member {
    agent: Option<Agent<HostWork<Counting, OneDisk>>>,
    disk: OneDisk,
    back_at: u64,
    /// When it speaks next.
    speaks_at: u64,
}

#[derive(Clone)]
pub(crate) enum Parcel {
    Call(u32, Vec<u8>),
    Response(u32, Vec<u8>),
}

#[derive(Default, Debug)]
struct Seen {
    agent_kills: u64,
    desk_kills: u64,
    lost: u64,
    doubled: u64,
    attempts: u64,
    silent: u64,
    late: u64,
    spooled: u64,
}

pub(crate) struct World {
    dice: Rng,
    clock: u64,
    sent: u64,
    parcels: BTreeMap<(u64, u64), Parcel>,
    spool: Survivor,
    saved: Checkpoint,
    starts: u32,
    coordinator: Option<Coordinator>,
    back_at: u64,
    members: Vec<Member>,
    faults: f64,
    seen: Seen,
    pub(crate) plan: Plan,
}

fn run_id() -> Digest {
    Digest::of(b"scheduled")
}

fn bytes(message: &impl Wire) -> Vec<u8> {
    let mut out = vec![];
    message.encode(&mut out);
    out
}

impl World {
    pub(crate) fn new(seed: u64, faults: f64) -> Self {
        let member = || Member { agent: None, disk: OneDisk::default(), back_at: 0, speaks_at: 0 };
        Self {
            dice: Seed(seed).fixed(ClientId(0), Purpose::Fault),
            clock: 1,
            sent: 0,
            parcels: BTreeMap::new(),
            spool: Survivor::default(),
            saved: Checkpoint { round: 1, ..Checkpoint::default() },
            starts: 0,
            coordinator: None,
            back_at: 0,
            members: (0..CLIENTS).map(|_| member()).collect(),
            faults,
            seen: Seen::default(),
            plan: Plan::default(),
        }
    }

    fn chance(&mut self, share: f64) -> bool {
        self.dice.unit() < share * self.faults
    }

    fn below(&mut self, n: u64) -> u64 {
        self.dice.below(n as usize) as u64
    }

    /// Loses, doubles and delays; whatever is delayed is overtaken.
    fn send(&mut self, parcel: impl Fn() -> Parcel) {
        if self.chance(0.05) {
            self.seen.lost += 1;
            return;
        }
        let copies = if self.chance(0.05) { 2 } else { 1 };
        self.seen.doubled += copies - 1;
        for _ in 0..copies {
            let delay = if self.chance(0.02) { self.below(2 * DEADLINE) } else { 1 + self.below(10) };
            self.sent += 1;
            self.parcels.insert((self.clock + delay, self.sent), parcel());
        }
    }

    /// Runs until so many rounds are durable.
    pub(crate) fn run(&mut self, rounds: u64) {
        while self.saved.round <= rounds {
            self.revive();
            self.speak();
            self.deliver();
            self.coordinate();
            self.kill();
            self.clock += 1;
            assert!(self.clock < rounds * 20_000 + 1_000_000, "no progress: {:?}", self.seen);
        }
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.clock)
    }

    fn revive(&mut self) {
        if self.coordinator.is_none() && self.clock >= self.back_at {
            // The start is durable before the first call is answered.
            self.starts += 1;
            self.spool.0.lock().unwrap().1 = None;
            let desk = Desk::new(run_id(), self.starts, 0..CLIENTS, Box::new(self.spool.clone()), limits(), self.now());
            let now = self.saved.clone();
            self.coordinator =
                Some(Coordinator { desk, begun: now.clone(), now, attempt: 0, exchange: 0, tasks: vec![], due: 0, answered: vec![] });
        }
        for client in 0..CLIENTS {
            let nonce = self.dice.next_u64();
            let member = &mut self.members[client as usize];
            if member.agent.is_none() && self.clock >= member.back_at {
                let mark = member.disk.restart();
                let host = host(CLIENTS as usize, Arc::new(member.disk.clone()));
                let work = HostWork::new((ClientId(client), MODEL), host, member.disk.clone(), Consent::default());
                member.agent = Agent::start(work, run_id(), mark, nonce, limits()).ok();
                member.speaks_at = self.clock;
            }
        }
    }

    fn speak(&mut self) {
        for client in 0..CLIENTS {
            let member = &mut self.members[client as usize];
            if let Some(agent) = &member.agent
                && self.clock >= member.speaks_at
            {
                let call = bytes(&agent.call());
                // Once more if nothing is heard.
                member.speaks_at = self.clock + 60;
                self.send(|| Parcel::Call(client, call.clone()));
            }
        }
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.parcels.first_entry()
            && entry.key().0 <= self.clock
        {
            let parcel = entry.remove();
            let fault = self.plan.at(&parcel);
            if !self.befalls(&parcel, fault) {
                continue;
            }
            match parcel.clone() {
                Parcel::Call(client, call) => {
                    let now = self.now();
                    let Some(coordinator) = &mut self.coordinator else { continue };
                    let response = bytes(&coordinator.desk.handle(client, whole::<Call>(&call).unwrap(), now));
                    self.send(|| Parcel::Response(client, response.clone()));
                }
                Parcel::Response(client, response) => {
                    let (clock, nap) = (self.clock, self.below(5));
                    let member = &mut self.members[client as usize];
                    let Some(agent) = &mut member.agent else { continue };
                    // A response that comes late may belong to anything the agent said before, in this life or another.
                    match agent.hear(whole::<Response>(&response).unwrap()) {
                        Ok(Next::Now) => member.speaks_at = clock,
                        Ok(Next::Poll) => member.speaks_at = clock + 5 + nap,
                        Ok(Next::After(pause)) => member.speaks_at = clock + (pause.as_millis() as u64).min(200),
                        // A response to an earlier life; this one is the newest there is.
                        Ok(Next::Ended(Ended::Displaced)) => member.speaks_at = clock,
                        Ok(Next::Ended(why)) => panic!("client {client} ended: {why}"),
                        Err(_) => {
                            self.seen.agent_kills += 1;
                            self.seen.late += agent.late();
                            member.agent = None;
                            member.back_at = clock + nap * 20;
                        }
                    }
                }
            }
            if fault == Some(Fault::DeadAfter) {
                self.dies(&parcel);
            }
        }
    }

    /// What a planned fault does before a parcel is heard; is it heard?
    fn befalls(&mut self, parcel: &Parcel, fault: Option<Fault>) -> bool {
        let mut again = |after: u64| {
            self.sent += 1;
            self.parcels.insert((self.clock + after, self.sent), parcel.clone());
        };
        match fault {
            None | Some(Fault::DeadAfter) => return true,
            Some(Fault::Lost) => {}
            Some(Fault::Late) => again(DEADLINE + 1),
            Some(Fault::Doubled) => {
                again(3);
                return true;
            }
            Some(Fault::DeadBefore) => self.dies(parcel),
        }
        false
    }

    /// Whoever hears this parcel dies, and comes back after a while.
    fn dies(&mut self, parcel: &Parcel) {
        match parcel {
            Parcel::Call(..) => (self.coordinator, self.back_at) = (None, self.clock + 50),
            Parcel::Response(client, _) => {
                let member = &mut self.members[*client as usize];
                (member.agent, member.back_at) = (None, self.clock + 50);
            }
        }
    }

    /// The disk of one side fails at its n-th write from now on, and the side dies of it.
    pub(crate) fn fails_at(&mut self, client: Option<usize>, operation: u32) {
        match client {
            Some(client) => self.members[client].disk.kill_at(operation),
            None => self.spool.0.lock().unwrap().1 = Some(operation),
        }
    }

    fn coordinate(&mut self) {
        let now = self.now();
        let Some(mut coordinator) = self.coordinator.take() else { return };
        match coordinator.step(now, &mut self.seen) {
            Ok(None) => self.coordinator = Some(coordinator),
            Ok(Some(next)) => {
                // Durable before the first ask of the next round; the kill may come on either side of it.
                self.saved = next;
                if coordinator.desk.settled(self.saved.round).is_ok() {
                    self.coordinator = Some(coordinator);
                }
            }
            Err(_) => {}
        }
        if self.coordinator.is_none() {
            self.seen.desk_kills += 1;
            self.back_at = self.clock + self.below(300);
        }
    }

    fn kill(&mut self) {
        for client in 0..CLIENTS as usize {
            if self.chance(0.0005) {
                // Now, or in the middle of what it does next.
                let operation = self.below(4) as u32;
                self.members[client].disk.kill_at(operation);
            }
            if self.chance(0.0005)
                && let Some(agent) = self.members[client].agent.take()
            {
                self.seen.agent_kills += 1;
                self.seen.late += agent.late();
                self.members[client].back_at = self.clock + self.below(300);
            }
        }
        if self.chance(0.0003) && self.coordinator.take().is_some() {
            self.seen.desk_kills += 1;
            self.back_at = self.clock + self.below(300);
        }
        if self.chance(0.0003) {
            let operation = self.below(6) as u32;
            self.spool.0.lock().unwrap().1 = Some(operation);
        }
    }
}

impl Coordinator {
    /// One step; a checkpoint when a round is over. An error is a death.
    fn step(&mut self, now: Duration, seen: &mut Seen) -> io::Result<Option<Checkpoint>> {
        let slot = Slot { round: self.now.round, attempt: self.attempt, exchange: self.exchange };
        if self.tasks.is_empty() {
            // Some asks and replies are longer than a piece.
            let padding = vec![1.0; if self.now.round.is_multiple_of(3) { 40 } else { 1 }];
            let body = Arc::new(Body::new(bytes(&Count { padding })));
            for client in 0..CLIENTS {
                let heard = self.now.heard.get(&client).copied();
                let until = Some(now + Duration::from_millis(DEADLINE));
                let ask = Ask { is_probe: false, slot, heard, floor: None, body: Arc::clone(&body), longest_reply: 4096, until };
                let task = self.desk.ask(client, ask)?;
                seen.spooled += u64::from(self.desk.progress(client, task) == Progress::Answered);
                self.tasks.push(task);
            }
        }
        self.desk.expire(now);
        while self.due < self.tasks.len() {
            let (client, task) = (self.due as u32, self.tasks[self.due]);
            match self.desk.progress(client, task) {
                Progress::Waiting => return Ok(None),
                Progress::Answered => {
                    let Some(reply) = self.desk.take(client, task)? else { panic!("an answered task has a reply") };
                    let reply = counted(&reply.bytes()?);
                    // The oracle: whose reply it is, and that it counts exactly what the server has heard of this client.
                    let total = self.now.totals.entry(client).or_default();
                    *total += 1;
                    assert_eq!((reply.client, reply.total), (client, *total), "at {slot:?}");
                    self.now.heard.insert(client, slot);
                    self.answered.push(client);
                }
                Progress::Closed => seen.silent += 1,
                other => panic!("client {client} at {slot:?}: {other:?}"),
            }
            self.due += 1;
        }
        let answered = std::mem::take(&mut self.answered);
        assert!(answered.is_sorted_by(|a, b| a < b), "one-hot, in cohort order: {answered:?}");
        (self.tasks, self.due) = (vec![], 0);
        if answered.len() < CLIENTS as usize - 1 {
            // Whole or not at all: what was heard in this attempt never happened.
            seen.attempts += 1;
            self.now = self.begun.clone();
            (self.attempt, self.exchange) = (self.attempt + 1, 0);
            return Ok(None);
        }
        self.exchange += 1;
        if self.exchange < 2 {
            return Ok(None);
        }
        (self.attempt, self.exchange) = (0, 0);
        self.now.round += 1;
        self.begun = self.now.clone();
        Ok(Some(self.now.clone()))
    }
}

/// A short run with a fixed seed; the long one is in `tools/link`.
#[test]
fn every_reply_is_folded_once_whatever_is_lost_doubled_delayed_or_killed() {
    let rounds = std::env::var("MOTET_LINK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(300);
    let seeds = std::env::var("MOTET_LINK_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(3);
    for seed in 1..=seeds {
        let mut world = World::new(seed, 1.0);
        world.run(rounds);
        println!("seed {seed}: {rounds} rounds, {} ms of its clock, {:?}", world.clock, world.seen);
        let seen = &world.seen;
        for (what, count) in
            [("agents killed", seen.agent_kills), ("desks killed", seen.desk_kills), ("lost", seen.lost), ("doubled", seen.doubled)]
        {
            assert!(count > 10, "seed {seed}: {what} {count} times only");
        }
        assert!(seen.spooled > 0 && seen.attempts > 0 && seen.silent > 0, "seed {seed}: {seen:?}");
    }
}

/// The oracle can fail: a client that offers its reply before its state is durable is found out.
#[test]
fn an_agent_that_does_not_commit_loses_the_version_that_is_named() {
    let careless = std::panic::catch_unwind(|| {
        let mut world = World::new(1, 1.0);
        world.members.iter_mut().for_each(|member| member.disk = OneDisk::careless());
        world.run(300);
    });
    let said = careless.unwrap_err().downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(said.contains("Lost"), "{said}");
}

#[test]
fn a_calm_network_takes_every_round_at_the_first_attempt() {
    let mut world = World::new(1, 0.0);
    world.run(100);
    assert_eq!((world.seen.attempts, world.seen.silent, world.seen.lost), (0, 0, 0));
    assert!(world.members.iter().all(|member| member.disk.commits() == 1 + 200), "one commit an ask, and one for the start");
}
