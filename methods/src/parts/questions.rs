//! What a server that weighs gradients asks, and how clients answer.
//!
//! Everyone is asked for gradients. A target is also asked how good a model is on its validation data, in two ways:
//! for a slope, or for two values, which say less about the data and never show it another client's gradient.

use motet_core::{Abort, Constants, Misfit, ModelShape, Site, Vector, message, wire};
use serde::{Deserialize, Serialize};

use crate::parts::compress::{Packed, Turn};
use crate::parts::{Amount, BatchSize, MOST_STEPS, Pass};

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
        /// The client has no data for this, or far too many.
        Unable {},
        /// C(Σ g_k)
        Condensed {
            /// What the compressor made of it.
            packed: Packed,
        },
        /// ∇f̂ drawn towards the slope on training data, against few validation data.
        Guarded {
            /// The slope.
            v: Vector,
            /// c where the Hessian is c I everywhere; none where it is not known to be.
            curvature: Option<f64>,
            /// The part of the training data in it.
            share: f64,
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
            (Ask::Validate { .. } | Ask::Describe { .. }, Reply::Guarded { v, curvature, share }) => {
                Misfit::of_constant("curvature", *curvature)?;
                Misfit::of_constant("share", Some(*share))?;
                v.fits(model)
            }
            (Ask::Compare { .. }, Reply::Values { .. }) | (Ask::Count {}, Reply::Counted { .. }) => Ok(()),
            (Ask::Validate { .. } | Ask::Describe { .. } | Ask::Compare { .. }, Reply::Unable {}) => Ok(()),
            (Ask::Work { .. } | Ask::Condense { .. }, Reply::Unable {}) => Ok(()),
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

    /// Σ g_k of some local steps from x, each on the next batch of the client's passes: g₁ itself where there is one step. None
    /// where epochs would be more than [`MOST_STEPS`] steps.
    pub fn work(&mut self, x: &Vector, amount: Amount, step: f64, batch: BatchSize, site: &mut Site<'_>) -> Option<Vector> {
        self.validation.restart();
        let samples = site.train.samples();
        let count = amount.steps(batch, samples).filter(|count| *count <= MOST_STEPS)?;
        let (mut y, mut g, mut sum) = (x.clone(), x.zeros_like(), x.zeros_like());
        for _ in 0..count {
            let rows = self.train.next(batch, samples, &mut site.rng);
            site.train.train_into(&y, rows, site.buffers, &mut g);
            sum.axpy(1.0, &g);
            y.axpy(-step, &g);
        }
        Some(sum)
    }

    /// Answers every question, those of a target too.
    pub fn judge(&mut self, ask: &Ask, batch: BatchSize, by: Judging, site: &mut Site<'_>) -> Reply {
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
        match ask {
            Ask::Validate { y: at } | Ask::Describe { x: at } => {
                let mut v = at.zeros_like();
                let rows = self.validation.next(by.batch, meter.samples(), &mut site.rng);
                meter.gradient_into(at, rows, &mut v);
                if matches!(ask, Ask::Validate { .. }) {
                    Reply::Slope { v }
                } else {
                    Reply::Shape { v, curvature: even(meter.constants()) }
                }
            }
            Ask::Compare { ahead, behind } => {
                let rows = self.validation.next(by.batch, meter.samples(), &mut site.rng);
                Reply::Values { ahead: meter.value(ahead, rows), behind: meter.value(behind, rows) }
            }
            _ => self.answer(ask, batch, site),
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
}

/// c, if the Hessian is c I everywhere: as strongly convex as it is smooth.
pub(crate) fn even(constants: Constants) -> Option<f64> {
    constants.smoothness.filter(|_| constants.smoothness == constants.convexity)
}

/// The error for a client whose epochs have more steps than a round can have.
pub fn too_long(client: u32) -> Abort {
    Abort::Unsuited(format!(
        "local_steps in epochs make more than {MOST_STEPS} steps a round for client {client}: take fewer epochs, a larger batch, or a number of steps"
    ))
}

/// The error for a target that has no data to judge by.
pub fn unable(client: u32) -> Abort {
    Abort::Unsuited(format!(
        "client {client} has no validation data to judge by: give the problem a hold-out, or validation = \"training\" to the method"
    ))
}
