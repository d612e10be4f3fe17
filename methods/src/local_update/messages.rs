//! What LocalUpdate and the methods of its family send and keep.

use motet_core::{Addend, Misfit, ModelShape, Update, Vector, message, wire};

use super::Spreads;
use crate::parts::{Momenta, Plateau};

message! {
    /// Server to client.
    pub enum Ask {
        /// For the constants of line 1.
        Introduce {},
        /// For lines 4 to 7.
        Train {
            /// The shared model.
            x: Vector,
        },
        /// For lines 4 to 7, with a client step that is not the first one.
        TrainAt {
            /// The shared model.
            x: Vector,
            /// γ
            gamma: f64,
        },
        /// For lines 4 to 7, and what bounds the spreads of Theorem 17.
        Explore {
            /// The shared model.
            x: Vector,
            /// γ
            gamma: f64,
            /// Of v, where Hessians are asked about.
            signs: Option<u64>,
        },
    }
}

message! {
    /// Client to server.
    pub enum Reply {
        /// Line 1.
        Introduction {
            /// Lᵢ
            smoothness: Option<f64>,
            /// μᵢ
            convexity: Option<f64>,
        },
        /// Line 7.
        Update {
            /// qᵢ
            q: Update,
        },
        /// Line 7, where clients count by what they worked on.
        Weighed {
            /// qᵢ
            q: Update,
            /// Examples differentiated.
            examples: u32,
        },
        /// Lines 4 and 7.
        Assessed {
            /// qᵢ
            q: Update,
            /// ℓᵢ
            loss: f64,
        },
        /// Lines 4 and 7, where clients count by what they worked on.
        AssessedWeighed {
            /// qᵢ
            q: Update,
            /// Examples differentiated.
            examples: u32,
            /// ℓᵢ
            loss: f64,
        },
        /// Line 7, with what bounds the spreads of Theorem 17.
        Explored {
            /// qᵢ
            q: Update,
            /// |∇fᵢ(x)|²/μᵢ²
            far2: f64,
            /// Aᵢ v, where it was asked for.
            bent: Option<Vector>,
        },
    }
}

impl Reply {
    /// With what the method wants of it, and nothing else.
    pub(super) fn new(q: Update, examples: Option<u32>, loss: Option<f64>) -> Self {
        match (examples, loss) {
            (None, None) => Reply::Update { q },
            (Some(examples), None) => Reply::Weighed { q, examples },
            (None, Some(loss)) => Reply::Assessed { q, loss },
            (Some(examples), Some(loss)) => Reply::AssessedWeighed { q, examples, loss },
        }
    }

    /// Does it fit what was asked, with the number of examples and the loss where they are wanted, and nowhere else?
    pub(super) fn fits(&self, ask: &Ask, weighed: bool, assessed: bool, model: ModelShape) -> Result<(), Misfit> {
        match (ask, self) {
            (Ask::Introduce {}, Reply::Introduction { smoothness, convexity }) => {
                Misfit::of_constant("smoothness", *smoothness)?;
                Misfit::of_constant("convexity", *convexity)
            }
            (Ask::Train { .. } | Ask::TrainAt { .. }, reply) => {
                let (q, sent) = match reply {
                    Reply::Introduction { .. } | Reply::Explored { .. } => return Err(Misfit::Variant),
                    Reply::Update { q } => (q, (false, false)),
                    Reply::Weighed { q, .. } => (q, (true, false)),
                    Reply::Assessed { q, .. } => (q, (false, true)),
                    Reply::AssessedWeighed { q, .. } => (q, (true, true)),
                };
                if sent == (weighed, assessed) { q.fits(model) } else { Err(Misfit::Variant) }
            }
            (Ask::Explore { signs, .. }, Reply::Explored { q, far2, bent }) => {
                Misfit::of_constant("squared distance", Some(*far2))?;
                Misfit::of_optional(bent.as_ref(), signs.is_some(), model)?;
                q.fits(model)
            }
            _ => Err(Misfit::Variant),
        }
    }

    /// qᵢ, what it counts for, and ℓᵢ; none for an introduction.
    pub(super) fn addend(&self) -> Option<Addend<'_>> {
        match self {
            Reply::Introduction { .. } => None,
            Reply::Update { q } => Some(Addend::counting(1.0).update(q)),
            Reply::Weighed { q, examples } => Some(Addend::counting((*examples).into()).update(q)),
            Reply::Assessed { q, loss } => Some(Addend::counting(1.0).update(q).number(*loss)),
            Reply::AssessedWeighed { q, examples, loss } => Some(Addend::counting((*examples).into()).update(q).number(*loss)),
            Reply::Explored { q, far2, bent } => {
                let own = Addend::counting(1.0).update(q).plain(*far2);
                Some(bent.iter().fold(own, |own, bent| own.vector(bent).plain(bent.norm2())))
            }
        }
    }
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x
        pub x: Vector,
        /// Of the optimiser; its t is the number of steps taken.
        pub momenta: Momenta,
        /// L = max Lᵢ and μ = min μᵢ, where the rates depend on them.
        pub constants: Option<(f64, f64)>,
        /// Of the decay, where there is one.
        pub plateau: Option<Plateau>,
        /// Of a client step that is learnt.
        pub spreads: Option<Spreads>,
    }
}
