//! What Scafflix, i-Scaffnew and Scaffnew send and keep.

use motet_core::{ClientId, Misfit, ModelShape, Vector, message, wire};

use super::Met;
use crate::parts::Plateau;
use crate::parts::compress::{Compressors, Packed, Turn};

message! {
    /// Server to client.
    pub enum Ask {
        /// For the constants of line 2.
        Introduce {
            /// Is xᵢ* wanted too?
            optimum: bool,
        },
        /// Here is what line 2 came to.
        Begin {
            /// The step that all have in common, if they do.
            step: Option<f64>,
            /// ε μmin/2 of a target.
            room: Option<f64>,
            /// p
            p: f64,
        },
        /// For ĝᵢ of line 3.
        Differentiate {
            /// x⁰
            x: Vector,
        },
        /// The projection of line 3.
        Project {
            /// Σ αⱼ ĝⱼ / Σ wⱼ
            excess: Vector,
        },
        /// For lines 4 and 5, with the mean that line 8 waits for.
        Advance {
            /// x
            x: Vector,
            /// ℓ
            steps: u32,
        },
        /// The same, with the loss before the first step.
        Assess {
            /// x
            x: Vector,
            /// ℓ
            steps: u32,
            /// What the decay multiplies γᵢ by.
            slow: f64,
        },
        /// The same, for a compressed reply.
        Condense {
            /// x
            x: Vector,
            /// ℓ
            steps: u32,
            /// For the dice that both sides throw.
            turn: Turn,
            /// ρ
            damping: f64,
        },
        /// For lines 4 and 5, with the noise before the first step.
        Gauge {
            /// x
            x: Vector,
            /// ℓ
            steps: u32,
            /// What γᵢ is multiplied by.
            slow: f64,
        },
        /// For line 8, now.
        Settle {
            /// x of line 7.
            mean: Vector,
            /// χ
            gain: f64,
        },
    }
}

message! {
    /// Client to server.
    pub enum Reply {
        /// Line 2.
        Introduction {
            /// Lᵢ
            smoothness: Option<f64>,
            /// Aᵢ
            bound: Option<f64>,
            /// μᵢ
            convexity: Option<f64>,
            /// xᵢ*, if wanted.
            optimum: Option<Vector>,
        },
        /// Line 3.
        Gradient {
            /// ĝᵢ
            g: Vector,
        },
        /// Line 5.
        Moved {
            /// xᵢ
            x: Vector,
        },
        /// Lines 5 and 9.
        Assessed {
            /// xᵢ
            x: Vector,
            /// fᵢ(Tᵢ(x))
            loss: f64,
        },
        /// Line 6.
        Condensed {
            /// Cᵢ(xᵢ − x)
            packed: Packed,
        },
        /// Line 5, and the noise that was met.
        Gauged {
            /// xᵢ
            x: Vector,
            /// γᵢ Ĉᵢ
            noise: f64,
        },
        /// It is done; costs no bits.
        Done {},
    }
}

impl Reply {
    /// Does this client's reply fit what it was asked, sent with these compressors?
    pub(super) fn fits(&self, ask: &Ask, compressors: Option<&Compressors>, from: ClientId, model: ModelShape) -> Result<(), Misfit> {
        match (ask, self) {
            (Ask::Introduce { optimum: wanted }, Reply::Introduction { smoothness, bound, convexity, optimum }) => {
                Misfit::of_constant("smoothness", *smoothness)?;
                Misfit::of_constant("bound", *bound)?;
                Misfit::of_constant("convexity", *convexity)?;
                Misfit::of_optional(optimum.as_ref(), *wanted, model)
            }
            (Ask::Differentiate { .. }, Reply::Gradient { g }) => g.fits(model),
            (Ask::Advance { .. }, Reply::Moved { x }) | (Ask::Assess { .. }, Reply::Assessed { x, .. }) => x.fits(model),
            (Ask::Gauge { .. }, Reply::Gauged { x, noise }) => {
                Misfit::of_constant("noise", Some(*noise))?;
                x.fits(model)
            }
            (Ask::Condense { turn, .. }, Reply::Condensed { packed }) => {
                compressors.map_or(Err(Misfit::Variant), |compressors| compressors.of(from).fits(packed, &turn.of(from), model))
            }
            (Ask::Begin { .. } | Ask::Project { .. } | Ask::Settle { .. }, Reply::Done {}) => Ok(()),
            _ => Err(Misfit::Variant),
        }
    }
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x
        pub x: Vector,
        /// γᵢ of those who introduced themselves, by client number.
        pub steps: Vec<f64>,
        /// p
        pub p: f64,
        /// Of the decay, where there is one.
        pub plateau: Option<Plateau>,
        /// Of a target whose noise is learnt.
        pub met: Option<Met>,
    }
}

wire! {
    /// What a client keeps.
    pub struct Client {
        /// hᵢ
        pub h: Vector,
        /// mᵢ, until line 8 has seen the mean.
        pub sent: Option<Vector>,
        /// γᵢ
        pub step: f64,
        /// p
        pub p: f64,
        /// η of line 8.
        pub pace: f64,
        /// What the decay multiplies γᵢ by.
        pub slow: f64,
    }
}
