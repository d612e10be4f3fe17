//! What server and clients say to each other when gradients of F travel compressed.

use motet_core::{Abort, Algorithm, ClientId, Cohort, Mean, Misfit, ModelShape, Positive, Rate, Round, Site, Vector, message};

use super::compress::{Compress, Compressor, Compressors, Opened, Packed, Turn};
use super::{Mixture, Start};

message! {
    /// Server to client.
    pub enum Ask {
        /// For what the step and the start depend on.
        Introduce {
            /// Is xᵢ* wanted too?
            optimum: bool,
        },
        /// For a gradient in full, which both sides remember.
        Remember {
            /// The shared model.
            x: Vector,
        },
        /// For a compressed gradient, or a compressed difference to what is remembered.
        Differentiate {
            /// The shared model.
            x: Vector,
            /// For the dice that both sides throw.
            turn: Turn,
        },
    }
}

message! {
    /// Client to server.
    pub enum Reply {
        /// To `Introduce`.
        Introduction {
            /// αᵢ² Lᵢ, if Lᵢ is known.
            curvature: Option<f64>,
            /// xᵢ*, if wanted.
            optimum: Option<Vector>,
        },
        /// To `Remember`.
        Gradient {
            /// ∇Fᵢ(x)
            g: Vector,
        },
        /// To `Differentiate`.
        Compressed {
            /// C(…)
            packed: Packed,
        },
    }
}

impl Reply {
    /// The answer to `Introduce`, the same in all methods.
    pub fn introduction(mixture: &Mixture<'_>, optimum: bool, site: &mut Site<'_>) -> Self {
        Reply::Introduction { curvature: mixture.curvature(site), optimum: optimum.then(|| mixture.solve.optimum(site)) }
    }

    /// Does this client's reply fit what it was asked, sent with this compressor?
    pub fn fits(&self, ask: &Ask, compressor: &Compressor, from: ClientId, model: ModelShape) -> Result<(), Misfit> {
        match (ask, self) {
            (Ask::Introduce { optimum: wanted }, Reply::Introduction { curvature, optimum }) => {
                Misfit::of_constant("curvature", *curvature)?;
                Misfit::of_optional(optimum.as_ref(), *wanted, model)
            }
            (Ask::Remember { .. }, Reply::Gradient { g }) => g.fits(model),
            (Ask::Differentiate { turn, .. }, Reply::Compressed { packed }) => compressor.fits(packed, &turn.of(from), model),
            _ => Err(Misfit::Variant),
        }
    }
}

/// cᵢ = αᵢ² Lᵢ of those who share.
#[derive(Clone, Debug, PartialEq)]
pub struct Curvatures {
    /// n, with those who do not share.
    pub clients: f64,
    /// By client, ascending.
    pub each: Vec<(ClientId, f64)>,
}

impl Curvatures {
    /// n Lα = Σ cᵢ
    pub fn sum(&self) -> f64 {
        self.each.iter().fold(0.0, |sum, (_, c)| sum + c)
    }

    /// Lq = √(1/n Σ cᵢ²)
    pub fn root_mean_square(&self) -> f64 {
        (self.each.iter().map(|(_, c)| c * c).sum::<f64>() / self.clients).sqrt()
    }

    /// The step of error feedback, by the smallest δ: 1/(Lα + Lq √(b/θ)), θ = 1 − √(1 − δ), b = (1 − δ)/θ.
    pub fn feedback_step(&self, compressors: &Compressors, dim: usize) -> f64 {
        let delta = self.over(|id, _| compressors.of(id).delta(dim), f64::min, 1.0);
        let theta = 1.0 - (1.0 - delta).sqrt();
        self.clients / (self.sum() + self.clients * self.root_mean_square() * (1.0 - delta).sqrt() / theta)
    }

    /// max wᵢ cᵢ
    pub fn largest(&self, weight: impl Fn(ClientId) -> f64) -> f64 {
        self.over(|id, c| weight(id) * c, f64::max, 0.0)
    }

    /// Folds a number of each client that shares.
    pub fn over(&self, of: impl Fn(ClientId, f64) -> f64, with: fn(f64, f64) -> f64, from: f64) -> f64 {
        self.each.iter().fold(from, |so_far, &(id, c)| with(so_far, of(id, c)))
    }
}

/// Before the first round: gathers the constants for `theory`, moves x to the one-shot average if
/// the method starts there, and gives γ. Nobody may stay silent: steps depend on the largest constant.
pub fn introduce<A: Algorithm<Ask = Ask, Reply = Reply>>(
    mixture: &Mixture<'_>,
    step: Rate<Positive>,
    x: &mut Vector,
    round: &mut Round<'_, A>,
    theory: impl FnOnce(&Curvatures) -> Result<f64, Abort>,
) -> Result<f64, Abort> {
    let one_shot = mixture.start == Start::OneShot;
    let sharing = mixture.sharing(round);
    match step {
        Rate::Given(step) if !one_shot => return Ok(*step),
        _ if sharing.is_empty() => return Ok(0.0),
        _ => {}
    }
    let (mut average, mut unknown) = (Mean::like(x), false);
    let mut all = Curvatures { clients: round.everyone().len() as f64, each: vec![] };
    round.ask(&sharing.required(), Ask::Introduce { optimum: one_shot }, |id, reply| {
        let Reply::Introduction { curvature: Some(c), optimum } = reply else { return unknown = true };
        all.each.push((id, c));
        if let Some(optimum) = optimum {
            average.add(c, &optimum);
        }
    })?;
    if unknown {
        return Err(Abort::Unsuited(
            "theory needs the smoothness of the model, which is not known: give step as a number, and a start other than \"one-shot\""
                .into(),
        ));
    }
    if one_shot {
        *x = average.finish();
    }
    match step {
        Rate::Given(step) => Ok(*step),
        Rate::Theory => theory(&all),
    }
}

/// Asks those who share for compressed vectors at x and hands them over, in order. Gives who answered.
pub fn gather<A: Algorithm<Ask = Ask, Reply = Reply>>(
    compressors: &Compressors,
    to: &Cohort,
    x: &Vector,
    round: &mut Round<'_, A>,
    mut each: impl FnMut(ClientId, Opened<'_>),
) -> Result<Cohort, Abort> {
    let turn = Turn { round: round.index(), key: round.rng().next_u64() };
    round.ask(to, Ask::Differentiate { x: x.clone(), turn }, |id, reply| {
        if let Reply::Compressed { packed } = &reply {
            each(id, compressors.of(id).opened(packed, &turn.of(id), x.len()));
        }
    })
}
