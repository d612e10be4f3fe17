//! What methods that weigh clients' gradients for a target share.

use motet_core::{Abort, Algorithm, ClientId, Cohort, Round, Unsuitable, Vector, wire};

use crate::parts::questions::{Ask, Reply};
use crate::parts::{Clip, Gradients, Simplex};

wire! {
    /// What the server of one target keeps.
    pub struct Weighed {
        /// x
        pub x: Vector,
        /// w, by client number
        pub w: Simplex,
    }
}

impl Weighed {
    /// Before anybody is known.
    pub fn new(start: Vector) -> Self {
        Self { x: start, w: Simplex::uniform(0) }
    }

    /// Everyone's gradient at x, clipped. Whoever sent none of numbers loses its weight.
    pub fn gather<A: Algorithm<Ask = Ask, Reply = Reply>>(&mut self, round: &mut Round<'_, A>, clip: Clip) -> Result<Gradients, Abort> {
        let gradients = clip.applied(gather_gradients(round, &self.x)?);
        self.w.banish(round.dropped());
        Ok(gradients)
    }

    /// x ← x − γ Σ vᵢ gᵢ, with weights v of those who sent a gradient.
    pub fn walk(&mut self, step: f64, gradients: &Gradients, v: &Simplex) {
        self.x = gradients.step(&self.x, -step, &v.weights());
    }

    /// Like [`walk`](Self::walk), and keeps v as the weights of those who sent a gradient; the others keep theirs.
    pub fn step(&mut self, step: f64, gradients: &Gradients, v: &Simplex) {
        self.walk(step, gradients, v);
        self.w.put_back(&gradients.places(), v);
    }
}

/// The target's own gradient; without it, the round is tried again, unless the target is excluded.
pub fn own_gradient<'a, A: Algorithm>(gradients: &'a Gradients, target: u32, round: &Round<'_, A>) -> Result<&'a Vector, Abort> {
    let silent = Abort::Quorum { asked: round.everyone().len(), answered: gradients.len() };
    gradients.of(ClientId(target)).ok_or_else(|| round.excluded(ClientId(target)).unwrap_or(silent))
}

/// What every method for one target says alike in `impl Algorithm`; the server's state is a [`Weighed`] or has one in a field.
macro_rules! one_target {
    ($server:ty $(, $field:ident)?) => {
        fn client(&self, _: &mut motet_core::Site<'_>) -> $crate::parts::questions::Places {
            Default::default()
        }

        fn fits(
            &self,
            ask: &$crate::parts::questions::Ask,
            reply: &$crate::parts::questions::Reply,
            _: motet_core::ClientId,
            model: motet_core::ModelShape,
        ) -> Result<(), motet_core::Misfit> {
            reply.fits(ask, model)
        }

        fn shared<'a>(&self, s: &'a $server, _: motet_core::ClientId) -> &'a motet_core::Vector {
            &s$(.$field)?.x
        }

        fn deploys(&self, _: motet_core::ClientId) -> motet_core::Deployment<Self> {
            motet_core::Deployment::Shared
        }
    };
}
pub(crate) use one_target;

/// What every method for one target says alike in `impl Study`.
macro_rules! weighs_for_one_target {
    ($server:ty $(, $field:ident)?) => {
        fn target(&self) -> Option<motet_core::ClientId> {
            Some(motet_core::ClientId(self.target))
        }

        fn merit(&self, s: &$server, _: motet_core::ClientId) -> Option<Vec<f64>> {
            Some(s$(.$field)?.w.weights())
        }
    };
}
pub(crate) use weighs_for_one_target;

/// Everyone's stochastic gradient at x, in cohort order. A gradient with NaN or infinity is as good as none.
pub fn gather_gradients<A: Algorithm<Ask = Ask, Reply = Reply>>(round: &mut Round<'_, A>, x: &Vector) -> Result<Gradients, Abort> {
    let mut gradients = Gradients::default();
    round.ask(&round.everyone().drop_non_finite(), Ask::Differentiate { models: vec![x.clone()] }, |id, reply| {
        if let Reply::Gradients { g } = reply {
            g.into_iter().take(1).for_each(|g| gradients.push(id, g));
        }
    })?;
    Ok(gradients)
}

/// Equal weights with a place for every client of the cohort.
pub fn simplex_of(cohort: &Cohort) -> Simplex {
    Simplex::uniform(cohort.ids().iter().map(|id| id.0 as usize + 1).max().unwrap_or(0))
}

/// cos(x, y), from −1 to 1; 0 where one of them is zero.
pub fn cosine(x: &Vector, y: &Vector) -> f64 {
    let (a, b) = (x.norm(), y.norm());
    // Scaled one after the other: the product of two long lengths may overflow.
    let cosine = x.dot(y) / a / b;
    if cosine.is_nan() { 0.0 } else { cosine.clamp(-1.0, 1.0) }
}

/// Is there such a client as a parameter names?
pub fn target_suits(parameter: &'static str, client: u32, clients: Option<u32>) -> Result<(), Unsuitable> {
    match clients {
        Some(n) if client < n => Ok(()),
        Some(n) => Err(Unsuitable::NoSuchClient { parameter, client, last: n.saturating_sub(1) }),
        None => Err(Unsuitable::WithoutEnd(NOBODY_TO_WEIGH)),
    }
}

/// Why a method that weighs clients refuses a population without end.
pub const NOBODY_TO_WEIGH: &str = "a population without end has no clients to weigh";
