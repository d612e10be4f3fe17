//! What a server that weighs gradients asks, and how clients answer.
//!
//! Everyone is asked for gradients. A target is also asked how good a model is on its validation data, in two ways:
//! for a slope, or for two values, which say less about the data and never show it another client's gradient.

use motet_core::{Abort, ClientId, Constants, Meter, Misfit, ModelShape, Purpose, Rng, Rows, Seed, Site, Vector, message, wire};
use serde::{Deserialize, Serialize};

use crate::parts::compress::{Packed, Turn};
use crate::parts::{Amount, BatchSize, Pass};

message! {
    /// Server to client.
    pub enum Ask {
        /// For stochastic gradients of fᵢ.
        Differentiate {
            /// Where: one model, or one per target.
            models: Vec<Vector>,
        },
        /// For the slope of the target's validation loss.
        Validate {
            /// The candidate.
            y: Vector,
        },
        /// For the slope of the target's validation loss, and how it bends.
        Describe {
            /// The model to start from.
            x: Vector,
        },
        /// For two values of the target's validation loss, on the same examples.
        Compare {
            /// The candidate on one side.
            ahead: Vector,
            /// The candidate on the other.
            behind: Vector,
        },
        /// For the number of examples.
        Count {},
        /// For the sum of the gradients of some local steps.
        Work {
            /// Where they begin.
            x: Vector,
        },
        /// The same, compressed.
        Condense {
            /// Where they begin.
            x: Vector,
            /// For the dice that both sides throw.
            turn: Turn,
        },
        /// Is one candidate better than the other, on validation data that nothing was sought with?
        Decide {
            /// The new one.
            ahead: Vector,
            /// The old one.
            behind: Vector,
        },
    }
}

message! {
    /// Client to server.
    pub enum Reply {
        /// ∇fᵢ(x; B) for each model asked about.
        Gradients {
            /// In the order asked.
            g: Vec<Vector>,
        },
        /// ∇f̂(y)
        Slope {
            /// The gradient of the validation loss.
            v: Vector,
        },
        /// ∇f̂(x) and what ∇²f̂ is
        Shape {
            /// The gradient of the validation loss.
            v: Vector,
            /// c where the Hessian is c I everywhere; none where it is not known to be.
            curvature: Option<f64>,
        },
        /// f̂ at both candidates.
        Values {
            /// On one side.
            ahead: f64,
            /// On the other.
            behind: f64,
        },
        /// How many examples there are.
        Counted {
            /// mᵢ
            samples: u64,
        },
        /// The client has no data for this.
        Unable {},
        /// C(Σ g_k)
        Condensed {
            /// What the compressor made of it.
            packed: Packed,
        },
        /// By how much the new candidate is better, and how far that can be trusted.
        Decided {
            /// Mean of f̂(behind) − f̂(ahead).
            gain: f64,
            /// Its standard error; infinite where there are too few examples.
            error: f64,
            /// How many differences it is the mean of.
            groups: u32,
        },
    }
}

impl Reply {
    /// Does it fit what was asked?
    pub fn fits(&self, ask: &Ask, model: ModelShape) -> Result<(), Misfit> {
        match (ask, self) {
            (Ask::Differentiate { models }, Reply::Gradients { g }) => Misfit::of_list(g, models.len(), model),
            (Ask::Work { .. }, Reply::Gradients { g }) => Misfit::of_list(g, 1, model),
            (Ask::Validate { .. }, Reply::Slope { v }) => v.fits(model),
            (Ask::Describe { .. }, Reply::Shape { v, curvature }) => {
                Misfit::of_constant("curvature", *curvature)?;
                v.fits(model)
            }
            (Ask::Compare { .. }, Reply::Values { .. })
            | (Ask::Count {}, Reply::Counted { .. })
            | (Ask::Decide { .. }, Reply::Decided { .. }) => Ok(()),
            (Ask::Validate { .. } | Ask::Describe { .. } | Ask::Compare { .. } | Ask::Decide { .. }, Reply::Unable {}) => Ok(()),
            _ => Err(Misfit::Variant),
        }
    }
}

/// Which data the target judges candidates on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validation {
    /// An extra set, kept from training; batches run through it in shuffled passes that begin anew each round.
    #[default]
    HeldOut,
    /// The same set as a stream: every question is put to a new, independent batch. With a set without end the
    /// target never sees an example twice.
    Fresh,
    /// Its training data.
    Training,
}

wire! {
    /// Where a client stands in its data.
    #[derive(PartialEq, Default)]
    pub struct Places {
        train: Pass,
        validation: Pass,
    }
}

impl Places {
    /// Answers [`Ask::Differentiate`] and [`Ask::Count`]: one batch for all models. Nobody else's question is known.
    pub fn answer(&mut self, ask: &Ask, batch: BatchSize, site: &mut Site<'_>) -> Reply {
        match ask {
            Ask::Differentiate { models } => {
                self.validation.restart();
                let rows = self.train.next(batch, site.train.samples(), &mut site.rng);
                Reply::Gradients { g: site.train.gradients(models, rows) }
            }
            Ask::Count {} => Reply::Counted { samples: site.train.samples() as u64 },
            _ => Reply::Unable {},
        }
    }

    /// Σ g_k of some local steps from x, each on the next batch of the client's passes: g₁ itself where there is one step.
    pub fn work(&mut self, x: &Vector, amount: Amount, step: f64, batch: BatchSize, site: &mut Site<'_>) -> Vector {
        self.validation.restart();
        let samples = site.train.samples();
        let count = match (amount, batch) {
            (Amount::Steps(steps), _) => steps.get(),
            (Amount::Epochs(epochs), BatchSize::Of(size)) => epochs.get() * (samples.div_ceil(size.max(1) as usize) as u32).max(1),
            (Amount::Epochs(epochs), BatchSize::All) => epochs.get(),
        };
        let (mut y, mut g, mut sum) = (x.clone(), x.zeros_like(), x.zeros_like());
        for _ in 0..count {
            site.train.gradient_into(&y, self.train.next(batch, samples, &mut site.rng), &mut g);
            sum.axpy(1.0, &g);
            y.axpy(-step, &g);
        }
        sum
    }

    /// Answers every question, those of a target too.
    pub fn judge(&mut self, ask: &Ask, batch: BatchSize, by: Judging, site: &mut Site<'_>) -> Reply {
        let (id, seed) = (site.id, site.seed);
        let meter = match by.on {
            Validation::Training => &mut site.train,
            Validation::HeldOut | Validation::Fresh => match &mut site.validation {
                Some(meter) if meter.samples() > 0 => meter,
                _ => return self.answer(ask, batch, site),
            },
        };
        if by.on == Validation::Fresh {
            self.validation.restart();
        }
        let parts = parted(seed, id, meter.samples(), by.kept);
        let sought = parts.as_ref().map(|(sought, _)| &sought[..]);
        match ask {
            Ask::Validate { y: at } | Ask::Describe { x: at } => {
                let mut v = at.zeros_like();
                let own = self.next(by.batch, sought, meter.samples(), &mut site.rng);
                meter.gradient_into(at, own.rows(), &mut v);
                if matches!(ask, Ask::Validate { .. }) {
                    Reply::Slope { v }
                } else {
                    Reply::Shape { v, curvature: even(meter.constants()) }
                }
            }
            Ask::Compare { ahead, behind } => {
                let own = self.next(by.batch, sought, meter.samples(), &mut site.rng);
                Reply::Values { ahead: meter.value(ahead, own.rows()), behind: meter.value(behind, own.rows()) }
            }
            Ask::Decide { ahead, behind } => {
                parts.map_or(Reply::Decided { gain: 0.0, error: f64::INFINITY, groups: 0 }, |(_, kept)| paired(meter, &kept, ahead, behind))
            }
            _ => self.answer(ask, batch, site),
        }
    }

    /// The next batch of all validation examples, or of a part of them.
    fn next<'a>(&'a mut self, batch: BatchSize, part: Option<&'a [u32]>, samples: usize, rng: &mut Rng) -> Drawn<'a> {
        let Some(part) = part else { return Drawn::Of(self.validation.next(batch, samples, rng)) };
        match self.validation.next(batch, part.len(), rng) {
            Rows::All => Drawn::Of(Rows::Only(part)),
            Rows::Only(places) => Drawn::Made(places.iter().map(|&k| part[k as usize]).collect()),
        }
    }
}

/// What a target judges by.
#[derive(Clone, Copy, Debug)]
pub struct Judging {
    /// Which data.
    pub on: Validation,
    /// How many of them a question.
    pub batch: BatchSize,
    /// The share kept for [`Ask::Decide`].
    pub kept: f64,
}

/// A batch of a part, which has to be made, or one that is there.
enum Drawn<'a> {
    Of(Rows<'a>),
    Made(Vec<u32>),
}

impl Drawn<'_> {
    fn rows(&self) -> Rows<'_> {
        match self {
            Drawn::Of(rows) => *rows,
            Drawn::Made(rows) => Rows::Only(rows),
        }
    }
}

/// The examples that weights are sought with, and those that decide: drawn once for each seed. None where nothing is kept, or where
/// there are too few to part.
fn parted(seed: Seed, client: ClientId, samples: usize, kept: f64) -> Option<(Vec<u32>, Vec<u32>)> {
    if kept <= 0.0 || samples < 2 {
        return None;
    }
    let mut order: Vec<u32> = (0..samples as u32).collect();
    seed.fixed(client, Purpose::Entry).shuffle(&mut order);
    let kept = ((kept * samples as f64).round() as usize).clamp(1, samples - 1);
    let kept = order.split_off(samples - kept);
    Some((order, kept))
}

/// So many groups of examples tell the noise of a mean well enough, however many examples there are.
const GROUPS: usize = 50;

/// Mean and standard error of f̂(behind) − f̂(ahead), of differences over the same examples.
fn paired(meter: &mut Meter<'_>, rows: &[u32], ahead: &Vector, behind: &Vector) -> Reply {
    let groups = rows.len().min(GROUPS);
    let mut difference = |k: usize| {
        let some = Rows::Only(&rows[k * rows.len() / groups..(k + 1) * rows.len() / groups]);
        meter.value(behind, some) - meter.value(ahead, some)
    };
    let each: Vec<f64> = (0..groups).map(&mut difference).collect();
    let gain = each.iter().sum::<f64>() / groups as f64;
    let squares: f64 = each.iter().map(|d| (d - gain).powi(2)).sum();
    let error = if groups < 2 { f64::INFINITY } else { (squares / (groups - 1) as f64 / groups as f64).sqrt() };
    Reply::Decided { gain, error, groups: groups as u32 }
}

/// c, if the Hessian is c I everywhere: as strongly convex as it is smooth.
fn even(constants: Constants) -> Option<f64> {
    constants.smoothness.filter(|_| constants.smoothness == constants.convexity)
}

/// What a server does with a client that cannot judge.
pub fn unable(client: u32) -> Abort {
    Abort::Unsuited(format!(
        "client {client} has no validation data to judge by: give the problem a hold-out, or validation = \"training\" to the method"
    ))
}
