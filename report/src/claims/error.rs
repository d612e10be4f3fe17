//! What can be wrong with a claim, and where in its text.

use std::fmt;
use std::ops::Range;

/// Where in the text of a claim, in bytes.
pub(super) type Span = Range<usize>;

/// A claim that cannot be read, or that speaks of something the records do not have.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimError {
    /// The claim's name, where it has one.
    pub claim: Option<String>,
    /// The claim's text.
    pub text: String,
    /// Where in the text, in bytes.
    pub span: Range<usize>,
    /// What is wrong.
    pub problem: Box<Problem>,
}

/// What is wrong with a claim.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A character the language does not use.
    #[error("`{0}` means nothing here")]
    Character(char),
    /// A quotation without an end.
    #[error("the quotation is not closed")]
    Unclosed,
    /// A number that no `f64` can hold.
    #[error("the number is out of range")]
    Range,
    /// More than anyone can read.
    #[error("the claim is too long or nested too deeply; make it several claims")]
    TooLong,
    /// More than any machine can look at.
    #[error("the claim asks for more comparisons than can be made; shorten its lists, or make it several claims")]
    TooMany,
    /// Something else should stand here.
    #[error("expected {wanted}, found {found}")]
    Expected {
        /// What would be right.
        wanted: String,
        /// What is there.
        found: String,
    },
    /// A name nobody knows.
    #[error("unknown {what} `{name}`{}", hint(name, known))]
    Unknown {
        /// What kind of name.
        what: &'static str,
        /// As written.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// A name that already means something.
    #[error("`{0}` is already bound; choose another name")]
    Taken(String),
    /// A function without something it needs.
    #[error("`{function}` needs {needs}")]
    Incomplete {
        /// Which function.
        function: &'static str,
        /// What is missing.
        needs: &'static str,
    },
    /// A truth where a number belongs, or the reverse.
    #[error("this is {is}, but {wanted} belongs here")]
    Sort {
        /// What is there.
        is: &'static str,
        /// What should be.
        wanted: &'static str,
    },
    /// No run has the wanted value of a parameter.
    #[error("no run of `{selector}` has {filter}; there is {}", list(there))]
    NoMatch {
        /// The selector as written.
        selector: String,
        /// The filter as written.
        filter: String,
        /// Values that exist.
        there: Vec<String>,
    },
    /// Several runs of one seed where one is meant.
    #[error("this means several things at once: {}; add a filter", list(.0))]
    Ambiguous(Vec<String>),
    /// A parameter with fewer than two values in the runs the claim speaks of.
    #[error("`{0}` does not vary here: its runs have at most one value of it")]
    Constant(String),
    /// The best of something that is neither good nor bad.
    #[error("`{0}` is a coordinate of the model: no value of it is better than another; compare `final` or `average` with a number")]
    NoQuality(String),
    /// A parameter whose values are not numbers, used as one.
    #[error("`{name}` is {value}, not a number")]
    NotNumber {
        /// The variable or parameter.
        name: String,
        /// Its value.
        value: String,
    },
    /// Selectors that leave the same parameters open, with no value in common.
    #[error("the runs compared have no value in common for {}; pin one with a filter", list(.0))]
    Disjoint(Vec<String>),
    /// Nothing to judge.
    #[error("nothing to judge: {0}")]
    Empty(String),
}

/// A problem and its place; the text is added at the border of the module.
#[derive(Debug)]
pub(super) struct Fault {
    span: Span,
    problem: Box<Problem>,
}

impl Fault {
    pub(super) fn new(span: &Span, problem: Problem) -> Self {
        Self { span: span.clone(), problem: Box::new(problem) }
    }

    /// A name nobody knows, with those that exist.
    pub(super) fn unknown(span: &Span, what: &'static str, name: &str, known: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let known = known.into_iter().map(Into::into).collect();
        Self::new(span, Problem::Unknown { what, name: name.into(), known })
    }

    pub(super) fn within(self, claim: Option<&str>, text: &str) -> ClaimError {
        ClaimError { claim: claim.map(Into::into), text: text.into(), span: self.span, problem: self.problem }
    }
}

impl ClaimError {
    /// Where the problem starts: characters from the start of the text, the first is 1.
    pub fn column(&self) -> usize {
        self.text.get(..self.span.start).unwrap_or(&self.text).chars().count() + 1
    }
}

impl std::error::Error for ClaimError {}

impl fmt::Display for ClaimError {
    /// One line: where, the text around the place with the place in brackets, and the problem.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.claim {
            write!(f, "claim \"{}\", ", excerpt(name, LONGEST))?;
        }
        let start = self.text.get(..self.span.start).unwrap_or(&self.text);
        let marked = self.text.get(self.span.clone()).unwrap_or("");
        let rest = self.text.get(self.span.end..).unwrap_or("");
        let before: String = start.chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
        let cut = if before.len() < start.len() { "…" } else { "" };
        let (before, marked, after) = (excerpt(&before, AROUND), excerpt(marked, LONGEST), excerpt(rest, AROUND));
        let problem = excerpt(&self.problem.to_string(), LONGEST_PROBLEM);
        write!(f, "column {}, {cut}{before}>>{marked}<<{after}: {problem}", self.column())
    }
}

/// Characters of a name, or of the place, that are shown.
const LONGEST: usize = 60;
/// Characters that are shown before and behind the place.
const AROUND: usize = 80;
/// Characters that are shown of what is wrong; a list of a dozen names fits.
const LONGEST_PROBLEM: usize = 600;

/// The first so many characters, all of them visible.
fn excerpt(text: &str, most: usize) -> String {
    let shown: String = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if shown.len() < text.len() { shown + "…" } else { shown }
}

/// "; did you mean `x`?" if a known name is close, otherwise all known names.
fn hint(name: &str, known: &[String]) -> String {
    match nearest(name, known) {
        Some(close) => format!("; did you mean `{close}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; there is {}", list(known)),
    }
}

/// The known name that `name` is probably a misspelling of.
pub(super) fn nearest<'k>(name: &str, known: &'k [String]) -> Option<&'k String> {
    // Nobody misspells a name at this length, and the distance takes memory by the product of the lengths.
    if name.chars().count() > LONGEST {
        return None;
    }
    let far = (name.chars().count() / 3).max(1);
    let distance = |other: &String| strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase());
    // One letter is close to every other letter, and says nothing.
    let near = |(d, k): &(usize, &String)| *d <= far && *d < k.chars().count();
    known.iter().map(|k| (distance(k), k)).filter(near).min_by_key(|(d, _)| *d).map(|(_, k)| k)
}

/// At most a dozen names, so that a message stays one line.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut text = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.is_empty() {
        text.push_str("nothing");
    } else if names.len() > SHOWN {
        text.push_str(&format!(", … ({} in all)", names.len()));
    }
    text
}
