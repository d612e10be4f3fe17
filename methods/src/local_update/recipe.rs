//! LocalUpdate with every setting decided, and what does not go together.

use motet_core::{NonNegative, Positive, Rate, Sampling, Unsuitable};

use super::preset::Common;
use super::settings::{Draw, Send, Theta};
use super::spreads::{self, Accuracy};
use crate::parts::{Amount, BatchSize, Decay, MOST_STEPS, Optimiser, Schedule, Shape, Start, Weights};

/// LocalUpdate with every setting decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Θ
    pub theta: Theta,
    /// K, unless Θ is a list.
    pub steps: Option<Amount>,
    /// γ
    pub gamma: Schedule<NonNegative>,
    /// What γ is learnt for, in place of the one above.
    pub accuracy: Option<Accuracy>,
    /// What the server does with q.
    pub server: Rule,
    /// The weight of qᵢ in the mean.
    pub weights: Weights,
    /// What qᵢ is.
    pub send: Send,
    /// Share of the examples kept for the last gradient.
    pub hold: f64,
    /// Is the last gradient carried back through the steps before it?
    pub exact: bool,
    /// Steps a client takes from x before it deploys.
    pub adapt: u32,
    /// Is the loss measured before training?
    pub loss: bool,
    /// Of both rates.
    pub decay: Option<Decay>,
    /// The rest.
    pub common: Common,
}

/// What the server does with q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// x ← x − η q
    Rate(Schedule<Positive>),
    /// An optimiser with a step of its own.
    Optimiser(Optimiser),
    /// x ← x − s q, where qᵢ = x − y is how far a client went: at s = 1 the mean of the clients' last models. Nobody adds up
    /// gradients beside taking steps.
    Tied(f64),
    /// Both or none were given.
    Unclear,
}

impl Rule {
    /// The server's rule, of which exactly one must be given.
    pub fn either(eta: Option<Schedule<Positive>>, optimiser: Option<Optimiser>) -> Self {
        match (eta, optimiser) {
            (Some(eta), None) => Rule::Rate(eta),
            (None, Some(optimiser)) => Rule::Optimiser(optimiser),
            _ => Rule::Unclear,
        }
    }
}

impl Recipe {
    /// One gradient per client, and nothing else.
    pub fn new(gamma: Schedule<NonNegative>, server: Rule, common: Common) -> Self {
        Self {
            theta: Theta::All,
            steps: None,
            gamma,
            accuracy: None,
            weights: Weights::Uniform,
            send: if matches!(server, Rule::Tied(_)) { Send::Deltas } else { Send::Gradients },
            server,
            hold: 0.0,
            exact: false,
            adapt: 0,
            loss: false,
            decay: None,
            common,
        }
    }

    /// How much a client works.
    pub(super) fn amount(&self) -> Amount {
        match (&self.theta, self.steps) {
            (Theta::Each(weights), _) => {
                let count = u32::try_from(weights.len()).ok().and_then(std::num::NonZeroU32::new);
                count.map_or(Amount::default(), Amount::Steps)
            }
            (_, steps) => steps.unwrap_or_default(),
        }
    }

    /// K, if it is a number.
    pub(super) fn count(&self) -> Option<u32> {
        match self.amount() {
            Amount::Steps(steps) => Some(steps.get()),
            Amount::Epochs(_) => None,
        }
    }

    fn eta(&self) -> Option<Schedule<Positive>> {
        match self.server {
            Rule::Rate(eta) => Some(eta),
            _ => None,
        }
    }

    /// Does a rate depend on the problem's constants?
    pub(super) fn asks_theory(&self) -> bool {
        let eta = self.eta().is_some_and(|eta| eta.start == Rate::Theory);
        self.gamma.start == Rate::Theory || self.accuracy.is_some() || eta
    }

    /// Is qᵢ known from where the client's steps end, as Σ g_k = (x − y)/γ is?
    pub(super) fn only_sums(&self, gamma: f64) -> bool {
        self.theta == Theta::All && !self.exact && gamma > 0.0 && self.common.local.is_plain()
    }

    /// Do rates change from round to round?
    pub(super) fn varies(&self) -> bool {
        self.decay.is_some()
            || self.asks_theory()
            || self.gamma.shape != Shape::Constant
            || self.eta().is_some_and(|e| e.shape != Shape::Constant)
    }

    /// Do the settings go together, and with so many clients?
    pub(super) fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.amount().suits(if matches!(self.theta, Theta::Each(_)) { "the length of theta" } else { "local_steps" })?;
        Unsuitable::beyond("adapt", self.adapt, MOST_STEPS)?;
        if let (Draw::Replacement, BatchSize::Of(size)) = (self.common.draw, self.common.batch) {
            Unsuitable::beyond("batch (with replacement)", size, MOST_STEPS)?;
        }
        self.misfits().into_iter().try_for_each(|(wrong, why)| Unsuitable::when(wrong, why))?;
        self.misfit_of_theory(clients).map_or(Ok(()), |why| Err(Unsuitable::Setting(why)))?;
        let everyone = self.common.sampling == Sampling::Everyone;
        self.accuracy.map_or(Ok(()), |accuracy| spreads::suits(accuracy, everyone, self.loss))?;
        self.gamma.suits()?;
        self.eta().map_or(Ok(()), |eta| eta.suits())?;
        if let Rule::Optimiser(optimiser) = &self.server {
            let theory = "theory has no step for a server optimiser here: give step as a number";
            Unsuitable::when(optimiser.step() == Rate::Theory, theory)?;
            optimiser.suits()?;
        }
        self.weights.suits(&self.common.sampling)?;
        self.common.sampling.suits(clients)
    }

    fn misfits(&self) -> [(bool, &'static str); 10] {
        let epochs = matches!(self.amount(), Amount::Epochs(_));
        let listed = matches!(self.theta, Theta::Each(_));
        [
            (self.server == Rule::Unclear, "give server_step (plain steps) or optimiser, one of the two"),
            (listed && self.steps.is_some(), "theta lists its weights, one per step: leave local_steps out"),
            (
                epochs && self.common.draw == Draw::Replacement,
                "epochs are passes over the examples: local_steps = K goes with draw = \"replacement\"",
            ),
            (epochs && self.hold > 0.0, "hold keeps examples for the last of K steps: give local_steps as a number"),
            (self.hold >= 1.0, "hold is the share of the examples kept for the last gradient: below 1"),
            (self.send == Send::Deltas && self.theta != Theta::All, "deltas add up all gradients: theta = \"1:K\""),
            (
                self.send == Send::Deltas && self.gamma.given().is_some_and(|g| *g == 0.0),
                "deltas are zero at step = 0: send = \"gradients\"",
            ),
            (self.exact && !self.common.local.is_plain(), "second derivatives are those of plain steps: leave local out"),
            (self.asks_theory() && !self.common.local.is_plain(), "theory is about plain steps: leave local out"),
            (self.common.start == Start::OneShot, "start is \"model\", \"zeros\" or \"ones\" here"),
        ]
    }

    fn misfit_of_theory(&self, clients: Option<u32>) -> Option<String> {
        let (gamma, eta) = (self.gamma.start == Rate::Theory, self.eta().is_some_and(|eta| eta.start == Rate::Theory));
        if !self.asks_theory() {
            return None;
        }
        let plain = self.gamma.shape == Shape::Constant;
        let cases = [
            (gamma && !(eta && plain), "step = \"theory\" is Theorem 29: it goes with server_step = \"theory\""),
            (!plain, "theory takes step as one number"),
            (self.theta != Theta::All || self.count().is_none(), "theory knows theta = \"1:K\" with a number of steps"),
            (self.send == Send::Deltas, "theory is about sums of gradients: send = \"gradients\""),
            (gamma && self.adapt > 0, "adapt takes steps of a given length: give step as a number"),
            (
                self.accuracy.is_some() && self.weights != Weights::Uniform,
                "a step that is learnt counts clients alike: weights = \"uniform\"",
            ),
            (clients.is_none(), "theory asks every client for its constants, and the population has no end: give the rates as numbers"),
        ];
        cases.into_iter().find_map(|(wrong, why)| wrong.then(|| why.to_owned()))
    }
}
