//! Examples in the order of their clients, and what else there is to know of them: all that a problem is made of, whoever has read the
//! files. Ranks of one machine hold it once.

use motet_core::Seed;
use motet_records::Input;
use motet_runtime::{Frame, Shelf};
use serde::{Deserialize, Serialize};

use crate::data_summary::DataSummary;
use crate::dataset::{Dataset, Targets};
use crate::dealt::{Dealt, Sizes};
use crate::identity::Identity;
use crate::matrix::{Bytes, Csr, Dense, Indices, Matrix, Single};
use crate::prepare::Preparation;
use crate::problem_config::ProblemConfig;
use crate::values::Values;

/// Examples, each client's together: training, then validation, then test.
pub(crate) struct Arranged {
    pub(crate) facts: Facts,
    pub(crate) dataset: Dataset,
}

/// What is known of them.
#[derive(Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) split: String,
    pub(crate) census: DataSummary,
    pub(crate) identity: Identity,
    pub(crate) inputs: Vec<Input>,
    pub(crate) preparation: Option<Preparation>,
    /// So many of the clients, the last ones, never train.
    pub(crate) unseen: usize,
    pub(crate) sizes: Vec<Sizes>,
    pub(crate) memory_bytes: u64,
}

/// The first part of a frame; the numbers are the others.
#[derive(Serialize, Deserialize)]
struct Head {
    facts: Facts,
    recoded: bool,
    features: Form,
    targets: Aims,
}

/// What kind of matrix it is.
#[derive(Serialize, Deserialize)]
enum Form {
    Dense { cols: usize },
    Single { cols: usize },
    Bytes { cols: usize, scale: u32, shift: u32 },
    Sparse { cols: usize, narrow: bool, valued: bool },
}

/// What kind of targets they are.
#[derive(Serialize, Deserialize)]
enum Aims {
    Classes(u32),
    Numbers,
    Tags(u32),
}

impl Arranged {
    pub(crate) fn of(mut dealt: Dealt, config: &ProblemConfig, seed: Seed) -> Self {
        let (inputs, preparation) = (std::mem::take(&mut dealt.inputs), dealt.preparation.take());
        let facts = Facts {
            split: dealt.split.into(),
            census: dealt.census(),
            identity: Identity::of(&config.source, &inputs, seed, dealt.owned()),
            inputs,
            preparation,
            unseen: dealt.unseen,
            sizes: dealt.sizes(),
            memory_bytes: dealt.memory_bytes(),
        };
        Self { facts, dataset: dealt.in_order() }
    }

    /// The same where all ranks of this machine find it. What cannot be laid down stays as it is.
    pub(crate) fn laid_on(self, shelf: &Shelf) -> Self {
        let Self { facts, dataset } = self;
        let head = Head { facts, recoded: dataset.recoded, features: Form::of(&dataset.features), targets: Aims::of(&dataset.targets) };
        let text = serde_json::to_vec(&head).unwrap_or_default();
        let parts = [vec![&text[..]], parts_of(&dataset.features), parts_of_targets(&dataset.targets)].concat();
        match shelf.lay(&parts).as_ref().and_then(Self::on) {
            Some(laid) => laid,
            None => Self { facts: head.facts, dataset },
        }
    }

    /// What another rank, or this one, has laid down; none if it is not all there.
    pub(crate) fn on(frame: &Frame) -> Option<Self> {
        let Head { facts, recoded, features, targets } = serde_json::from_slice(frame.part(0)).ok()?;
        let mut from = Numbers { frame, next: 1 };
        let features = features.read(&mut from)?;
        let targets = targets.read(&mut from)?;
        Some(Self { facts, dataset: Dataset::new(features, targets).recoded(recoded) })
    }
}

/// How many bytes ranks of one machine hold once: rows of which every entry is stored.
pub(crate) fn shared_bytes(features: &Matrix) -> u64 {
    match features {
        Matrix::Sparse(_) => 0,
        dense => parts_of(dense).iter().map(|part| part.len() as u64).sum(),
    }
}

/// The lists of a frame, one after the other.
struct Numbers<'a> {
    frame: &'a Frame,
    next: usize,
}

impl Numbers<'_> {
    /// Where they lie.
    fn lent<T: bytemuck::AnyBitPattern + Send + Sync>(&mut self) -> Option<Values<T>> {
        self.next += 1;
        self.frame.lent(self.next - 1).map(Values::lent)
    }

    /// As a list of one's own.
    fn own<T: bytemuck::AnyBitPattern + Send + Sync>(&mut self) -> Option<Vec<T>> {
        self.lent().map(Values::into_vec)
    }
}

impl Form {
    fn of(features: &Matrix) -> Self {
        match features {
            Matrix::Dense(a) => Self::Dense { cols: a.cols },
            Matrix::Single(a) => Self::Single { cols: a.cols },
            Matrix::Bytes(a) => Self::Bytes { cols: a.cols, scale: a.scale.to_bits(), shift: a.shift.to_bits() },
            Matrix::Sparse(a) => Self::Sparse { cols: a.cols, narrow: matches!(a.indices, Indices::U16(_)), valued: a.values.is_some() },
        }
    }

    fn read(self, from: &mut Numbers<'_>) -> Option<Matrix> {
        Some(match self {
            Self::Dense { cols } => Matrix::Dense(Dense { cols, values: from.lent()? }),
            Self::Single { cols } => Matrix::Single(Single { cols, values: from.lent()? }),
            Self::Bytes { cols, scale, shift } => {
                Matrix::Bytes(Bytes { cols, values: from.lent()?, scale: f32::from_bits(scale), shift: f32::from_bits(shift) })
            }
            Self::Sparse { cols, narrow, valued } => Matrix::Sparse(Csr {
                cols,
                starts: from.own()?,
                indices: if narrow { Indices::U16(from.own()?) } else { Indices::U32(from.own()?) },
                values: if valued { Some(from.own()?) } else { None },
            }),
        })
    }
}

impl Aims {
    fn of(targets: &Targets) -> Self {
        match targets {
            Targets::Classes { classes, .. } => Self::Classes(*classes),
            Targets::Numbers(_) => Self::Numbers,
            Targets::Tags { classes, .. } => Self::Tags(*classes),
        }
    }

    fn read(self, from: &mut Numbers<'_>) -> Option<Targets> {
        Some(match self {
            Self::Classes(classes) => Targets::Classes { labels: from.own()?, classes },
            Self::Numbers => Targets::Numbers(from.own()?),
            Self::Tags(classes) => Targets::Tags { starts: from.own()?, tags: from.own()?, classes },
        })
    }
}

fn parts_of(features: &Matrix) -> Vec<&[u8]> {
    use bytemuck::cast_slice;
    match features {
        Matrix::Dense(a) => vec![cast_slice(&a.values)],
        Matrix::Single(a) => vec![cast_slice(&a.values)],
        Matrix::Bytes(a) => vec![&a.values[..]],
        Matrix::Sparse(a) => {
            let indices = match &a.indices {
                Indices::U16(indices) => cast_slice(indices),
                Indices::U32(indices) => cast_slice(indices),
            };
            [cast_slice(&a.starts), indices].into_iter().chain(a.values.as_deref().map(cast_slice)).collect()
        }
    }
}

fn parts_of_targets(targets: &Targets) -> Vec<&[u8]> {
    use bytemuck::cast_slice;
    match targets {
        Targets::Classes { labels, .. } => vec![cast_slice(labels)],
        Targets::Numbers(numbers) => vec![cast_slice(numbers)],
        Targets::Tags { starts, tags, .. } => vec![cast_slice(starts), cast_slice(tags)],
    }
}
