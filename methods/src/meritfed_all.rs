//! MeritFed for everyone at once: each client is the target of a model of its own.
//!
//! After Tupitsa, Horváth, Takáč, Gorbunov. *Federated Learning Can Find Friends That Are Advantageous*. 2024; every
//! client as a target is the paper's future work.
//!
//! ```text
//! minimise f_k for every k; f̂_k is the same on k's validation data
//! before   1  x_k = x, w_k = (1/n, …, 1/n) for every k
//! round    2  S_k = everyone; or, between scouting rounds, the clients that weigh most for k
//!          3  one exchange: client i gets x_k of every k with i in S_k and sends g_ki = ∇fᵢ(x_k; Bᵢ), one batch for all
//!          4  mirror steps of all targets together; in each, one exchange:
//!          5     k gets y_k = x_k − γ Σ w_ki g_ki and answers ∇f̂_k(y_k)
//!          6     w_ki ∝ w_ki exp(η γ ⟨∇f̂_k(y_k), g_ki⟩) for i in S_k
//!          7  x_k ← x_k − γ Σ w_ki g_ki
//! ```
//!
//! What a round costs: client i gets and differentiates at most n models and sends at most n gradients; with friends
//! it is the number of targets that keep i, on average `keep`. Each mirror step is one model down and one slope up per
//! client. Exchanges per round are 1 + T, as for one target, not n (1 + T). The server keeps the gradients of each target
//! as one n × d matrix and multiplies it with one vector twice per mirror step: 2 n² d multiplications for all targets.
//! No matrix serves two targets: their gradients are taken at different models. Clients outside S_k keep their
//! weight until they are scouted again. A target that stays silent in line 5 makes no step there.

use std::num::{NonZeroU32, NonZeroU64};

use motet_core::{Abort, Algorithm, ClientId, Deployment, Misfit, ModelShape, Positive, Round, Site, Study, Unsuitable, Vector, wire};
use serde::{Deserialize, Serialize};

use crate::parts::questions::{Ask, Judging, Places, Reply, Validation};
use crate::parts::{BatchSize, Clip, Gradients, Mirror, NOBODY_TO_WEIGH, Search, Simplex, Weighed, simplex_of};
use crate::registry::{Card, Method, Reads};

/// Merit-weighted gradients for every client.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct MeritFedAll {
    /// γ: step size, a number.
    #[serde(alias = "gamma")]
    pub step: Positive,
    /// |Bᵢ|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// How weights are sought: { kind = "md" | "smd" | "zeroth", rate = ..., steps = 10, batch = "all", width = 0.001, warm = true, average = false, gram = false, damp = { after = 400, by = 10 } }.
    pub mirror: Mirror,
    /// What a target judges by: "held-out" (default), "fresh" (a new batch per question) or "training".
    #[serde(default)]
    pub validation: Validation,
    /// Longer gradients are shortened to this length: "none" (default), "median" of those a target gets, or a number.
    #[serde(default)]
    pub clip: Clip,
    /// Each target works only with the clients that weigh most for it: { keep = 20, first = 100, every = 50 }; everyone is tried in the first 100 rounds and every 50th (default: with all clients).
    #[serde(default)]
    pub friends: Option<Friends>,
}

/// Which clients a target works with, instead of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Friends {
    /// How many a target keeps.
    pub keep: NonZeroU32,
    /// Rounds in the beginning in which everyone is tried.
    #[serde(default = "hundred")]
    pub first: u64,
    /// After these, everyone is tried again in every round that this number divides.
    #[serde(default = "fifty")]
    pub every: NonZeroU64,
}

fn hundred() -> u64 {
    100
}

fn fifty() -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(49)
}

impl Friends {
    /// Is everyone tried in this round?
    fn scouting(&self, round: u64) -> bool {
        round <= self.first || (round - self.first).is_multiple_of(self.every.get())
    }

    /// The places of the largest weights, in ascending order.
    fn of(&self, w: &Simplex, among: &[usize]) -> Vec<usize> {
        let (weights, mut places) = (w.weights(), among.to_vec());
        places.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b)));
        places.truncate(self.keep.get() as usize);
        places.sort_unstable();
        places
    }
}

impl Method for MeritFedAll {
    const CARD: Card = Card {
        name: "meritfed-all",
        reads: Reads::Single,
        about: "MeritFed with every client as a target: a model each, all in one round of messages",
        leaves: "a gradient of a batch for each target that it is asked about, in each round; gradients of its own validation loss at candidates",
        paper: "a variant of Tupitsa, Horváth, Takáč, Gorbunov 2024",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.02,"batch":3,"mirror":{"rate":5,"steps":3},"validation":"training","friends":{"keep":2,"first":2,"every":3}}"#,
    };
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// Where all models begin.
        pub start: Vector,
        /// x_k and w_k, by client number
        pub targets: Vec<Weighed>,
    }
}

impl MeritFedAll {
    /// Line 2: for every client, the targets it works for.
    fn wanted(&self, s: &Server, round: &Round<'_, Self>) -> Vec<Vec<usize>> {
        let everyone: Vec<usize> = round.everyone().ids().iter().map(|id| id.0 as usize).collect();
        let mut wanted = vec![vec![]; s.targets.len()];
        for &k in &everyone {
            match self.friends.filter(|friends| !friends.scouting(round.index())) {
                Some(friends) => friends.of(&s.targets[k].w, &everyone).into_iter().for_each(|i| wanted[i].push(k)),
                None => everyone.iter().for_each(|&i| wanted[i].push(k)),
            }
        }
        wanted
    }

    /// Line 3: one matrix of gradients per target.
    fn gather(&self, s: &Server, round: &mut Round<'_, Self>) -> Result<Vec<Gradients>, Abort> {
        let wanted = self.wanted(s, round);
        let mut gradients = vec![Gradients::default(); s.targets.len()];
        let asked = round.everyone().filter(|id| !wanted[id.0 as usize].is_empty()).drop_non_finite();
        let ask = |id: ClientId| Ask::Differentiate { models: wanted[id.0 as usize].iter().map(|&k| s.targets[k].x.clone()).collect() };
        round.ask_each(&asked, ask, |id, reply| {
            if let Reply::Gradients { g } = reply {
                wanted[id.0 as usize].iter().zip(g).for_each(|(&k, g)| gradients[k].push(id, g));
            }
        })?;
        Ok(gradients.into_iter().map(|g| self.clip.applied(g).bring_together()).collect())
    }
}

impl Algorithm for MeritFedAll {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    type Client = Places;

    fn server(&self, start: Vector) -> Server {
        Server { start, targets: vec![] }
    }

    fn client(&self, _: &mut Site<'_>) -> Places {
        Places::default()
    }

    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let equal = simplex_of(&round.everyone());
        s.targets = vec![Weighed { x: s.start.clone(), w: equal.clone() }; equal.len()]; // line 1
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let gradients = self.gather(s, round)?; // lines 2 and 3
        s.targets.iter_mut().for_each(|target| target.w.banish(round.dropped()));
        let begin = |(target, g): (&Weighed, &Gradients)| self.mirror.search(target.w.among(&g.places()), round.index());
        let mut searches: Vec<Search<'_>> = s.targets.iter().zip(&gradients).map(begin).collect();
        let targets = round.everyone().filter(|id| !gradients[id.0 as usize].is_empty());
        for _ in 0..self.mirror.steps {
            let mut questions: Vec<Option<Ask>> = vec![None; searches.len()];
            for k in targets.ids().iter().map(|id| id.0 as usize) {
                questions[k] = searches[k].question(&s.targets[k].x, *self.step, &gradients[k], round.rng()); // lines 4 and 5
            }
            let asked = targets.filter(|id| questions[id.0 as usize].is_some());
            if asked.is_empty() {
                break;
            }
            let mut learnt = Ok(());
            let question = |id: ClientId| questions[id.0 as usize].clone().unwrap_or(Ask::Count {});
            round.ask_each(&asked, question, |id, reply| {
                let k = id.0 as usize;
                let done = searches[k].learn(id.0, *self.step, &gradients[k], &reply); // line 6
                if learnt.is_ok() {
                    learnt = done;
                }
            })?;
            learnt?;
        }
        for k in targets.ids().iter().map(|id| id.0 as usize) {
            s.targets[k].step(*self.step, &gradients[k], searches[k].weights()); // line 7
        }
        Ok(())
    }

    fn answer(&self, me: &mut Places, ask: &Ask, site: &mut Site<'_>) -> Reply {
        me.judge(ask, self.batch, Judging { on: self.validation, batch: self.mirror.batch }, site)
    }

    fn fits(&self, ask: &Ask, reply: &Reply, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.fits(ask, model)
    }

    fn shared<'a>(&self, s: &'a Server, to: ClientId) -> &'a Vector {
        s.targets.get(to.0 as usize).map_or(&s.start, |target| &target.x)
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for MeritFedAll {
    fn merit(&self, s: &Server, target: ClientId) -> Option<Vec<f64>> {
        s.targets.get(target.0 as usize).map(|target| target.w.weights())
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        if clients.is_none() {
            return Err(Unsuitable::WithoutEnd(NOBODY_TO_WEIGH));
        }
        self.mirror.suits(self.validation)
    }

    fn fits_validation(&self) -> bool {
        self.validation != Validation::Training
    }
}
