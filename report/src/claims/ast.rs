//! The tree of a claim.

use super::error::Span;

/// A claim that was read: quantifiers and what is said under them.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub(super) text: String,
    /// `for a in alpha, e in [1e-4, 1e-6]`
    pub(super) binders: Vec<Binder>,
    /// `where a < 1`
    pub(super) condition: Option<Node>,
    pub(super) body: Node,
}

impl Claim {
    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A name and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Binder {
    pub(super) name: Word,
    pub(super) domain: Domain,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Domain {
    /// Every value of a parameter, or of `round`.
    Key(Word),
    Listed(Vec<Node>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    /// Stands in filters only.
    Text(String),
    Variable(String),
    Negative(Box<Node>),
    Arithmetic(char, Box<Node>, Box<Node>),
    /// `a <= b < c`
    Chain(Box<Node>, Vec<Link>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Apply(Elementary, Vec<Node>),
    /// `max(body, over=key)`
    Over(Fold, Box<Node>, Word),
    Measure(Box<Measure>),
}

/// One comparison of a chain: the operator, the right side, and how much it may be missed by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    pub(super) relation: Relation,
    pub(super) right: Node,
    pub(super) tolerance: Option<Tolerance>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tolerance {
    pub(super) amount: Node,
    /// A percentage of the right side.
    pub(super) percent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Less,
    AtMost,
    Equal,
    Unequal,
    AtLeast,
    Greater,
}

impl Relation {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::AtLeast => ">=",
            Self::Greater => ">",
        }
    }

    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Less => Self::AtLeast,
            Self::AtMost => Self::Greater,
            Self::Equal => Self::Unequal,
            Self::Unequal => Self::Equal,
            Self::AtLeast => Self::Less,
            Self::Greater => Self::AtMost,
        }
    }
}

/// Functions of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elementary {
    Abs,
    Ceil,
    Floor,
    Log10,
    Max,
    Min,
    Sqrt,
}

/// Functions of an expression as a parameter runs through its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Min,
    Max,
    ArgMin,
    ArgMax,
    /// The part of the values for which a condition holds.
    Share,
    /// Each value in this relation to the next.
    Monotone(Relation),
}

/// A number read off the runs of a selector.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    pub(super) what: What,
    pub(super) selector: Selector,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// `rounds_to(…, metric=threshold)`
    Reach(Axis, Word, Node),
    /// `at(…, metric, axis=budget)`
    At(Word, Axis, Node),
    /// The last row, or the mean of these clients at the end.
    Final(Word, Option<Clients>),
    Start(Word),
    Best(Word),
    Worst(Word),
    Slope(Word, Window),
    Average(Word, Window),
    Deviation(Word, Window),
    /// max k · metric(k)
    Envelope(Word, Window),
    /// Total weight of these clients.
    Weight(Who, Window),
    /// Total of what the method noted.
    Note(Word, Window),
    Parameter(Word),
    /// What trials chose for a parameter.
    Chosen(Word),
    Rounds,
}

/// What a curve can be read against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Round,
    /// Uplink.
    Bits,
    /// Uplink bits / 64.
    Floats,
    Gradients,
}

/// Which rounds: all those given, or the last so many.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Window {
    pub(super) from: Option<Node>,
    pub(super) to: Option<Node>,
    pub(super) last: Option<Node>,
}

/// Which clients.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Who {
    Clients(Clients),
    Group(String),
}

/// First and last id, both included.
pub(super) type Clients = std::ops::RangeInclusive<u32>;

/// Which runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selector {
    /// Its number in the claim, in reading order.
    pub(super) id: usize,
    pub(super) span: Span,
    pub(super) pick: Pick,
    pub(super) filters: Vec<Filter>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pick {
    Any,
    Method(String),
    Label(String),
}

/// `alpha=0.1`, `alpha<1`
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filter {
    pub(super) key: Word,
    pub(super) relation: Relation,
    pub(super) value: Node,
    pub(super) span: Span,
}

impl Node {
    /// The nodes directly below, those inside selectors included.
    pub(super) fn children(&self) -> Vec<&Node> {
        match &self.kind {
            Kind::Number(_) | Kind::Text(_) | Kind::Variable(_) => vec![],
            Kind::Negative(a) | Kind::Not(a) | Kind::Over(_, a, _) => vec![a],
            Kind::Arithmetic(_, a, b) | Kind::And(a, b) | Kind::Or(a, b) => vec![a, b],
            Kind::Chain(a, links) => {
                let right = links.iter().flat_map(|l| std::iter::once(&l.right).chain(l.tolerance.as_ref().map(|t| &t.amount)));
                std::iter::once(&**a).chain(right).collect()
            }
            Kind::Apply(_, arguments) => arguments.iter().collect(),
            Kind::Measure(measure) => measure.selector.filters.iter().map(|f| &f.value).chain(measure.what.arguments()).collect(),
        }
    }
}

impl What {
    fn arguments(&self) -> Vec<&Node> {
        match self {
            Self::Reach(_, _, x) | Self::At(_, _, x) => vec![x],
            Self::Slope(_, w)
            | Self::Average(_, w)
            | Self::Deviation(_, w)
            | Self::Envelope(_, w)
            | Self::Weight(_, w)
            | Self::Note(_, w) => [&w.from, &w.to, &w.last].into_iter().flatten().collect(),
            Self::Final(..) | Self::Start(_) | Self::Best(_) | Self::Worst(_) | Self::Parameter(_) | Self::Chosen(_) | Self::Rounds => {
                vec![]
            }
        }
    }

    /// The metric it reads, if it reads one from the rows.
    pub(super) fn metric(&self) -> Option<&Word> {
        match self {
            Self::Reach(_, m, _) | Self::At(m, ..) | Self::Final(m, _) | Self::Start(m) | Self::Best(m) | Self::Worst(m) => Some(m),
            Self::Slope(m, _) | Self::Average(m, _) | Self::Deviation(m, _) | Self::Envelope(m, _) => Some(m),
            Self::Weight(..) | Self::Note(..) | Self::Parameter(_) | Self::Chosen(_) | Self::Rounds => None,
        }
    }
}
