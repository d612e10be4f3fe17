//! The fleet of rank 0: some clients here, the others where their ranks are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use motet_core::{
    Abort, Adding, Algorithm, Asks, ClientId, Fleet, Host, LastReplies, Participants, Probe, Received, Roster, Score, Sent, Slot,
    StoreError, Traffic, Vector, Wave, Wire, Work, sum_by_exchange, whole,
};

use super::orders::{Call, Entry, Inbox, Order, tell};
use super::serve::leave;
use super::sums::{Head, SumOrder, at_once, joined, pays, together};
use super::times::{Times, nanoseconds};
use super::{Crew, CrewGone, Homes, TOGETHER_FROM};
use crate::pool::Pool;
use crate::threads::Threads;

/// Serves clients on all ranks of a crew. Those of rank 0 are served by its threads, the others by [`serve`](super::serve) on
/// their ranks; without a crew, all are rank 0's.
pub struct Ranks<A: Algorithm> {
    alone: Threads<A>,
    team: Option<Arc<Team<A>>>,
}

impl<A: Algorithm> Ranks<A> {
    /// All clients of the host, on the pool's threads.
    pub fn alone(host: Host<A>, pool: Arc<Pool>) -> Self {
        Self { alone: Threads::new(host, pool), team: None }
    }

    /// All clients of the host, spread over a crew whose other ranks serve hosts with the same data. They are told to leave when this
    /// goes.
    pub fn new(host: Host<A>, pool: Arc<Pool>, crew: Arc<dyn Crew>, homes: Homes) -> Self {
        assert_eq!(crew.size(), homes.ranks(), "homes are those of this crew");
        if crew.size() == 1 {
            return Self::alone(host, pool);
        }
        let inboxes = (0..crew.size()).map(|_| Inbox::default()).collect();
        let seen = Mutex::new(Seen { large: false, anywhere: None, sparse: false, inboxes });
        let alone = Threads::new(host.clone(), Arc::clone(&pool));
        Self {
            alone,
            team: Some(Arc::new(Team {
                host: Arc::new(host),
                pool,
                crew,
                homes,
                seen,
                times: Mutex::default(),
                together_from: TOGETHER_FROM,
            })),
        }
    }

    /// The same, where all ranks add up as soon as so many bytes of replies would come to rank 0. No number depends on it.
    pub fn adding_up_together_from(mut self, bytes: u64) -> Self {
        if let Some(team) = self.team.as_mut().and_then(Arc::get_mut) {
            team.together_from = bytes;
        }
        self
    }

    /// The other ranks, where there are any.
    pub fn team(&self) -> Option<Arc<Team<A>>> {
        self.team.clone()
    }
}

/// A crew at work for one run, as rank 0 sees it.
pub struct Team<A: Algorithm> {
    host: Arc<Host<A>>,
    pool: Arc<Pool>,
    crew: Arc<dyn Crew>,
    homes: Homes,
    seen: Mutex<Seen>,
    /// Of clients who can work anywhere.
    times: Mutex<Times>,
    together_from: u64,
}

/// What rank 0 has learnt of the others.
struct Seen {
    /// Has any rank seen a large state?
    large: bool,
    /// Can clients of this method work anywhere? Known once somebody was asked.
    anywhere: Option<bool>,
    /// Were some vectors of a sum some rows only?
    sparse: bool,
    /// By rank: what has arrived of it.
    inboxes: Vec<Inbox>,
}

impl<A: Algorithm> Team<A> {
    /// xᵢ* of some clients, each solved where it lives; by position.
    pub fn anchors(&self, of: &[ClientId]) -> Result<Vec<Vector>, Abort> {
        let calls = self.calls_home(of.iter().map(|&id| (id, None)));
        tell(&*self.crew, &Order::Anchors { calls: calls.clone() }, |_| ())?;
        let (host, ids) = (Arc::clone(&self.host), of.to_vec());
        let mut anchors = vec![None; of.len()];
        self.gather(&calls, move |k| host.anchor(ids[k]).map(Some), vector, |k, anchor| anchors[k] = Some(anchor))?;
        anchors.into_iter().map(|anchor| anchor.ok_or_else(|| Abort::Closed("a local optimum is missing".into()))).collect()
    }

    /// Makes the states of all other ranks durable: by rank, from 1, the number of that version and what finds them again.
    pub fn commit(&self) -> Result<Vec<(u64, Vec<u8>)>, Abort> {
        tell(&*self.crew, &Order::Commit {}, |_| ())?;
        let calls: Vec<Call> = (1..self.crew.size() as u32).map(|rank| Call { client: 0, heard: None, rank }).collect();
        let mut kept = vec![];
        let read = |bytes: &[u8]| {
            let (generation, index) =
                bytes.split_first_chunk::<8>().ok_or_else(|| Abort::Closed("a rank's states are cut short".into()))?;
            Ok((u64::from_le_bytes(*generation), index.to_vec()))
        };
        self.gather(&calls, |_| Ok(None), read, |_, part| kept.push(part))?;
        Ok(kept)
    }

    /// Versions of other ranks' states before this one are needed no more.
    pub fn release(&self, oldest: u64) -> Result<(), Abort> {
        Ok(tell(&*self.crew, &Order::Release { oldest }, |_| ())?)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls_home(&self, clients: impl Iterator<Item = (ClientId, Option<Slot>)>) -> Vec<Call> {
        clients.map(|(id, heard)| Call { client: id.0, heard, rank: self.homes.of(id) }).collect()
    }

    /// Who sees to each client of a wave.
    fn calls(&self, wave: &Wave<'_, A::Ask>) -> Result<Vec<Call>, Abort> {
        let mut heard = wave.heard.reader();
        let named = wave.to.iter().map(|&id| (id, heard.of(id)));
        let known = self.seen().anywhere;
        let anywhere = match (known, wave.to.first()) {
            (Some(known), _) => known,
            (None, Some(first)) => *self.seen().anywhere.insert(self.host.serves_anywhere(*first)?),
            (None, None) => false,
        };
        if !anywhere {
            return Ok(self.calls_home(named));
        }
        let ranks = self.homes.spread(&self.times().costs(wave.to, &self.homes));
        Ok(named.zip(ranks).map(|((id, heard), rank)| Call { client: id.0, heard, rank }).collect())
    }

    /// Makes what this rank has to make, takes in what the others send, and hands all over in the order called. The first failure
    /// of any rank ends it when everyone has said what it had to say.
    fn gather<T: Send + 'static>(
        &self,
        calls: &[Call],
        make: impl Fn(usize) -> Result<Option<T>, StoreError> + Send + Sync + 'static,
        read: impl Fn(&[u8]) -> Result<T, Abort>,
        mut each: impl FnMut(usize, T),
    ) -> Result<(), Abort> {
        let Seen { inboxes, large, .. } = &mut *self.seen();
        let crew = &*self.crew;
        let own: Vec<usize> = (0..calls.len()).filter(|&k| calls[k].rank == 0).collect();
        let mut line = Line { calls, inboxes, crew, made: VecDeque::new(), due: 0, failed: None };
        self.pool.scatter(
            own.len(),
            move |k| make(own[k]),
            |_, made| {
                line.made.push_back(made.map_err(Abort::from));
                line.hand_over(false, &read, &mut each);
            },
        );
        line.hand_over(true, &read, &mut each);
        let mut failed = line.failed;
        for rank in (1..crew.size()).filter(|&rank| calls.iter().any(|call| call.rank as usize == rank)) {
            match inboxes[rank].next(crew, rank) {
                Ok(Entry::End { large: seen }) => *large |= seen,
                Ok(_) => failed = failed.take().or(Some(Abort::Closed(format!("rank {rank} says more than it was asked")))),
                Err(gone) => failed = failed.take().or(Some(gone.into())),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Sends each rank what its clients are asked, where each is asked something else.
    fn send_each<T: Wire>(&self, calls: &[Call], of: impl Fn(usize) -> T) -> Result<(), Abort> {
        for rank in 1..self.crew.size() {
            let (mut message, mut any) = (vec![], false);
            for (k, _) in calls.iter().enumerate().filter(|(_, call)| call.rank as usize == rank) {
                of(k).encode(&mut message);
                any = true;
            }
            if any {
                self.crew.send(rank, &message)?;
            }
        }
        Ok(())
    }

    fn exchange(&self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        self.host.expect(wave.to);
        let calls = self.calls(&wave)?;
        let order = Order::Exchange { slot, calls: calls.clone(), same: matches!(wave.asks, Asks::Same(_)) };
        let (same, asks) = match wave.asks {
            Asks::Same(ask) => {
                tell(&*self.crew, &order, |message| ask.encode(message))?;
                (true, vec![ask.clone()])
            }
            Asks::Each(asks) => {
                tell(&*self.crew, &order, |_| ())?;
                self.send_each(&calls, |k| asks[k].clone())?;
                (false, asks.to_vec())
            }
        };
        let (host, own) = (Arc::clone(&self.host), calls.clone());
        let answer = move |k: usize| {
            let (ask, began) = (if same { &asks[0] } else { &asks[k] }, Instant::now());
            let answer = host.answer(own[k].id(), slot, own[k].heard, ask)?.ok();
            Ok(answer.map(|answer| (nanoseconds(began.elapsed()), Ok(answer))))
        };
        let read = |bytes: &[u8]| {
            let (took, answer) = bytes.split_first_chunk().ok_or_else(|| Abort::Closed("a reply is cut short".into()))?;
            Ok((u64::from_le_bytes(*took), whole(answer)))
        };
        let (mut times, anywhere) = (self.times(), self.seen().anywhere == Some(true));
        self.gather(&calls, answer, read, |k, (took, received)| {
            if anywhere {
                times.learn(calls[k].client, took);
            }
            each(wave.to[k], received);
        })
    }

    /// Lets all ranks add up a sum; false, and nothing is added, if it has to be done reply by reply.
    fn sum(&self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<bool, Abort> {
        let (Asks::Same(ask), false) = (wave.asks, self.seen().sparse) else { return Ok(false) };
        // Who is where takes longer to find out than that there is too little to add.
        if !pays(adding.model(), wave.to.len(), self.together_from) {
            return Ok(false);
        }
        let calls = self.calls(&wave)?;
        if !pays(adding.model(), calls.iter().filter(|call| call.rank > 0).count(), self.together_from) {
            return Ok(false);
        }
        self.host.expect(wave.to);
        let weights = adding.weights().iter().map(|[first, second]| (*first, *second)).collect();
        let of = SumOrder { slot, calls, weights, model: adding.model(), at_once: at_once(adding.model(), self.pool.threads()) };
        let order = Order::Sum { of };
        tell(&*self.crew, &order, |message| ask.encode(message))?;
        let Order::Sum { of } = order else { return Ok(false) };
        let (mut over, mut unusual, mut sparse, mut failed) = (vec![], false, false, None::<Abort>);
        let (mut times, anywhere) = (self.times(), self.seen().anywhere == Some(true));
        let mut hear = |k: usize, entry: Entry<'_>| match entry {
            // Whoever must answer is asked again.
            Entry::Nothing => unusual |= adding.is_required(),
            Entry::Bytes(bytes) => match whole::<Head>(bytes) {
                Ok(head) => {
                    if anywhere {
                        times.learn(wave.to[k].0, head.took);
                    }
                    (unusual, sparse) = (unusual || head.tally.is_none(), sparse || head.sparse);
                    over.extend(head.tally.map(|tally| (sent(wave.to[k], head), tally)));
                }
                Err(error) => failed = failed.take().or(Some(Abort::Closed(error.to_string()))),
            },
            Entry::Failed(error) => failed = failed.take().or(Some(error.into())),
            Entry::End { .. } => failed = failed.take().or(Some(Abort::Closed("a rank ended early".into()))),
        };
        let own = together((&self.host, &self.pool, &*self.crew), &of, &Arc::new(ask.clone()), adding.onto(), &mut hear)?;
        let (sums, large) = joined(own, &*self.crew)?;
        let mut seen = self.seen();
        (seen.large, seen.sparse) = (seen.large || large, sparse);
        failed.map_or(Ok(()), Err)?;
        if !unusual {
            adding.complete(sums, over);
        }
        Ok(!unusual)
    }

    fn round_closed(&self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        // Small states are forgotten when the client is next asked.
        if !self.seen().large && !self.host.keeps_large_states() {
            return Ok(());
        }
        let calls = self.calls_home(clients.map(|id| (id, heard.of(id))));
        tell(&*self.crew, &Order::RoundClosed { calls: calls.clone() }, |_| ())?;
        Ok(calls.iter().filter(|call| call.rank == 0).try_for_each(|call| self.host.settle(call.id(), call.heard))?)
    }

    /// Scores clients where they live.
    pub fn probe(&self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        self.host.expect(probe.to);
        let calls = self.calls_home(probe.to.iter().map(|&id| (id, probe.heard.of(id))));
        let models: Vec<&Vector> = probe.to.iter().map(|&id| (probe.shared)(id)).collect();
        // Most methods hand everyone the same model: it goes out once.
        let same = models.windows(2).all(|pair| std::ptr::eq(pair[0], pair[1]));
        let (round, look, reference) = (probe.round, probe.look, probe.reference.cloned());
        let order = Order::Probe { round, calls: calls.clone(), look, reference: reference.clone(), same };
        let first = models.first().filter(|_| same);
        tell(&*self.crew, &order, |message| first.iter().for_each(|model| model.encode(message)))?;
        if !same {
            self.send_each(&calls, |k| models[k].clone())?;
        }
        let own: Vec<(Call, Vector)> = calls.iter().zip(&models).map(|(call, model)| (*call, (*model).clone())).collect();
        let host = Arc::clone(&self.host);
        let score = move |k: usize| {
            let (call, model) = &own[k];
            host.score(call.id(), call.heard, round, model, reference.as_ref(), look)
        };
        let read = |bytes: &[u8]| whole(bytes).map_err(|error| Abort::Closed(error.to_string()));
        self.gather(&calls, score, read, |k, score| each(probe.to[k], score))
    }
}

impl<A: Algorithm> Drop for Team<A> {
    fn drop(&mut self) {
        // Whoever is gone needs no telling.
        let _ = leave(&*self.crew);
    }
}

/// What clients have for rank 0, in the order called, wherever it comes from.
struct Line<'a, T> {
    calls: &'a [Call],
    inboxes: &'a mut [Inbox],
    crew: &'a dyn Crew,
    /// What this rank has made, and nobody has been handed yet.
    made: VecDeque<Result<Option<T>, Abort>>,
    due: usize,
    failed: Option<Abort>,
}

impl<T> Line<'_, T> {
    /// Hands over what is there, up to the first that is not. Waits for other ranks only when it is told to, once this one has nothing left to do: of
    /// two ranks with one thread each, one would watch the other work.
    fn hand_over(&mut self, wait: bool, read: &impl Fn(&[u8]) -> Result<T, Abort>, each: &mut impl FnMut(usize, T)) {
        while let Some(call) = self.calls.get(self.due) {
            let rank = call.rank as usize;
            let found = match (rank, wait) {
                (0, _) => match self.made.pop_front() {
                    Some(made) => made,
                    None => return,
                },
                (_, true) => said(rank, self.inboxes[rank].next(self.crew, rank), read),
                (_, false) => match self.inboxes[rank].next_if_there(self.crew, rank).transpose() {
                    Some(entry) => said(rank, entry, read),
                    None => return,
                },
            };
            match found {
                Ok(Some(found)) if self.failed.is_none() => each(self.due, found),
                Ok(_) => {}
                Err(error) => self.failed = self.failed.take().or(Some(error)),
            }
            self.due += 1;
        }
    }
}

/// What another rank has for one client.
fn said<T>(rank: usize, entry: Result<Entry<'_>, CrewGone>, read: &impl Fn(&[u8]) -> Result<T, Abort>) -> Result<Option<T>, Abort> {
    match entry {
        Ok(Entry::Nothing) => Ok(None),
        Ok(Entry::Bytes(bytes)) => read(bytes).map(Some),
        Ok(Entry::Failed(error)) => Err(error.into()),
        Ok(Entry::End { .. }) => Err(Abort::Closed(format!("rank {rank} ended early"))),
        Err(gone) => Err(gone.into()),
    }
}

/// What came from a client whose vectors went elsewhere.
fn sent(client: ClientId, head: Head) -> Sent {
    let Head { kind, bits, bytes, gradients, values, .. } = head;
    Sent { client, work: Work { gradients, values }, kind: kind.into(), traffic: Traffic { bits, bytes } }
}

/// A vector that another rank sent.
fn vector(bytes: &[u8]) -> Result<Vector, Abort> {
    whole(bytes).map_err(|error| Abort::Closed(error.to_string()))
}

impl<A: Algorithm> Fleet<A> for Ranks<A> {
    fn roster(&self) -> Roster {
        self.alone.roster()
    }

    fn is_there(&self, _: Slot, _: ClientId) -> bool {
        true
    }

    fn is_steady(&self) -> bool {
        true
    }

    fn participants(&self) -> Option<&dyn Participants> {
        None
    }

    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        match &self.team {
            Some(team) => team.exchange(slot, wave, each),
            None => self.alone.exchange(slot, wave, each),
        }
    }

    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        if let Some(team) = &self.team
            && team.sum(slot, wave, adding)?
        {
            return Ok(());
        }
        sum_by_exchange(self, slot, wave, adding)
    }

    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        match &self.team {
            Some(team) => team.round_closed(clients, heard),
            None => self.alone.round_closed(clients, heard),
        }
    }

    /// Nobody keeps the clock of a deployment here.
    fn elapsed(&mut self) -> f64 {
        0.0
    }

    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        match &self.team {
            Some(team) => team.probe(probe, each),
            None => self.alone.probe(probe, each),
        }
    }
}
