//! What an agent does with tasks: the client's half of a method, on a state that survives.

use std::io;
use std::path::Path;
use std::sync::Arc;

use motet_core::{
    Algorithm, ClientId, ClientVersions, Host, ModelShape, ProbeRequest, ReplyError, Scattered, Score, Silence, Slot, State, Store, Vector,
    Wire, all_fit, whole, wire,
};
use motet_runtime::{Checkpoints, Disk, KEPT};

use crate::agent::{Mark, Outcome, Work};
use crate::call::TaskHead;
use crate::payload::{Body, Payload};

wire! {
    /// What a probe asks of one client.
    pub(crate) struct ProbeAsk {
        pub(crate) look: ProbeRequest,
        pub(crate) shared: Vector,
        pub(crate) reference: Option<Vector>,
    }
}

/// What a participant lets the coordinator see of its measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Losses and metrics.
    pub scores: bool,
    /// Gradients, and the personal model itself.
    pub vectors: bool,
}

impl Default for Consent {
    /// Scores, but nothing that a model could be read from.
    fn default() -> Self {
        Self { scores: true, vectors: false }
    }
}

/// Makes a client's state durable together with the agent's mark.
pub trait Keep {
    /// Both or neither.
    fn commit(&mut self, mark: Mark) -> io::Result<()>;
}

/// Answers tasks with a [`Host`].
pub struct HostWork<A: Algorithm, K> {
    client: ClientId,
    model: ModelShape,
    host: Host<A>,
    keep: K,
    consent: Consent,
    on_model: Option<Box<dyn FnMut(Vector) + Send>>,
}

impl<A: Algorithm, K: Keep> HostWork<A, K> {
    /// This client of the host, whose states are in the store that `keep` makes durable, and whose models have this shape.
    pub fn new((client, model): (ClientId, ModelShape), host: Host<A>, keep: K, consent: Consent) -> Self {
        Self { client, model, host, keep, consent, on_model: None }
    }

    /// The same, and the client's own model is given to `on_model` whenever a probe asks for it, whether or not it may leave.
    #[must_use]
    pub fn with_model(self, on_model: Box<dyn FnMut(Vector) + Send>) -> Self {
        Self { on_model: Some(on_model), ..self }
    }

    /// What a coordinator asks, all of whose vectors are models.
    fn read<T: Wire>(&self, ask: &[u8]) -> Result<T, ReplyError> {
        let mut ask: T = whole(ask)?;
        all_fit(&mut ask, self.model).map_err(|misfit| ReplyError::Misfit { kind: "a model", misfit })?;
        Ok(ask)
    }

    fn exchange(&self, slot: Slot, named: (Option<Slot>, Option<Slot>), ask: &[u8]) -> io::Result<Outcome> {
        let ask: A::Ask = match self.read(ask) {
            Ok(ask) => ask,
            Err(error) => return Ok(declined("ask", &error)),
        };
        Ok(match self.host.answer_keeping(self.client, slot, named, &ask).map_err(io::Error::other)? {
            Ok(answer) => Outcome::Reply(Body::of(&answer)),
            Err(Silence::Lost) => Outcome::Lost,
            Err(Silence::Late) => Outcome::Declined(Silence::Late.to_string()),
        })
    }

    fn probe(&mut self, round: u64, heard: Option<Slot>, ask: &[u8]) -> io::Result<Outcome> {
        let ask: ProbeAsk = match self.read(ask) {
            Ok(ask) => ask,
            Err(error) => return Ok(declined("probe", &error)),
        };
        let Consent { scores, vectors } = self.consent;
        let kept = ask.look.model && self.on_model.is_some();
        if !scores && !kept {
            return Ok(Outcome::Declined(NO_SCORES.into()));
        }
        let look = ProbeRequest { gradient: ask.look.gradient && vectors, model: kept || ask.look.model && vectors, ..ask.look };
        let score = self.host.score(self.client, heard, round, &ask.shared, ask.reference.as_ref(), look).map_err(io::Error::other)?;
        let Some(mut score): Option<Score> = score else { return Ok(Outcome::Lost) };
        if let (Some(on_model), Some(model)) = (&mut self.on_model, &score.model) {
            on_model(model.clone());
        }
        if !vectors {
            score.model = None;
        }
        Ok(if scores { Outcome::Reply(Body::of(&score)) } else { Outcome::Declined(NO_SCORES.into()) })
    }
}

fn declined(what: &str, error: &ReplyError) -> Outcome {
    Outcome::Declined(format!("the {what} cannot be read: {error}"))
}

const NO_SCORES: &str = "this participant shows no scores";

impl<A: Algorithm, K: Keep> Work for HostWork<A, K> {
    fn answer(&mut self, head: &TaskHead, begins_again: bool, ask: &[u8]) -> io::Result<Outcome> {
        if begins_again {
            self.host.rewind(self.client, head.heard).map_err(io::Error::other)?;
        }
        if head.is_probe { self.probe(head.slot.round, head.heard, ask) } else { self.exchange(head.slot, (head.heard, head.floor), ask) }
    }

    fn commit(&mut self, mark: Mark) -> io::Result<()> {
        self.keep.commit(mark)
    }
}

/// A client's states in a folder: `states`, and the last three indices that find them again, each with its mark.
pub struct FolderKeep<S: State> {
    client: ClientId,
    store: Arc<Disk<ClientVersions<S>>>,
    indices: Checkpoints,
    generations: Vec<u64>,
    last: Option<Mark>,
}

wire! {
    struct Kept {
        mark: Mark,
        index: Payload,
    }
}

impl<S: State> FolderKeep<S> {
    /// Opens a folder, or makes it. The mark is the one last committed.
    pub fn open(folder: &Path, client: ClientId) -> io::Result<(Self, Mark)> {
        std::fs::create_dir_all(folder)?;
        let indices = Checkpoints::new(&folder.join("index"));
        let found = indices.find()?.whole;
        let kept = found.iter().map(|f| whole::<Kept>(&f.body).map_err(io::Error::other)).collect::<io::Result<Vec<_>>>()?;
        let indices_kept: Vec<_> = kept.iter().map(|k| k.index.as_bytes()).collect();
        let (path, bodies) = (folder.join("states"), indices_kept.iter().map(|index| &**index).collect::<Vec<_>>());
        let store = if kept.is_empty() {
            Disk::create(&path, u64::MAX)?
        } else {
            Disk::open(&path, u64::MAX, &bodies).map_err(io::Error::other)?
        };
        let (mark, generations) = (kept.first().map(|k| k.mark), found.iter().rev().map(|f| f.number).collect());
        Ok((Self { client, store: Arc::new(store), indices, generations, last: mark }, mark.unwrap_or_default()))
    }

    /// Where the states are, for the host.
    pub fn store(&self) -> Arc<dyn Store<ClientVersions<S>>> {
        Arc::clone(&self.store) as _
    }
}

impl<S: State> Keep for FolderKeep<S> {
    fn commit(&mut self, mark: Mark) -> io::Result<()> {
        // A client without state has nothing to lose: only a new life of either side is worth a write.
        let same_lives = self.last.is_some_and(|last| (last.session, last.newest.start) == (mark.session, mark.newest.start));
        if same_lives && self.store.read(self.client).map_err(io::Error::other)?.is_none() {
            return Ok(());
        }
        let index = Payload::from(self.store.commit().map_err(io::Error::other)?);
        let generation = self.store.generation();
        self.indices.save(generation, &Scattered::of(&Kept { mark, index }))?;
        self.last = Some(mark);
        self.generations.push(generation);
        let gone = self.generations.len().saturating_sub(KEPT);
        self.generations.drain(..gone);
        self.store.release(self.generations[0]);
        Ok(())
    }
}
