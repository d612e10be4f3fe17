//! Falsifiers: for each claim a made-up record on which it holds, and a changed one on which it fails.
//!
//! A claim that no record can contradict shows nothing. So a record is made by rule from the claim's own tree: every run that it
//! selects gets smooth curves for everything that it measures. Bends (one measure of some runs, times a factor) are tried one
//! after the other until the claim holds; then single bends are tried until it fails. A claim for which none is found is one that cannot
//! fail, such as "the largest of these is at least as large as this one of them". Made-up and bent records are records that could be:
//! accuracies and weights end at 0 and 1, what trials choose is one of the values that they try, and what was given stays.

mod bend;
mod synthetic;
mod undecided;

use motet_records::{Manifest, Records, Verdict};

use self::bend::{Bend, begin, bends, grids};
use self::synthetic::made_up;
pub use self::undecided::Undecided;
use super::ast::{Claim, Kind, Node};
use super::book::{Allowance, Book};
use super::error::{ClaimError, Fault, Problem};
use super::eval::View;
use super::parser::read;
use super::scope::Scope;
use super::table::NamedClaim;
use super::tally::Tally;
use super::truth::{Judged, Truth};
use super::verdict::verdict;

/// Evidence that a claim can hold and can fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Falsifier {
    /// The claim's name.
    pub claim: String,
    /// Its text.
    pub text: String,
    /// The verdict on the record on which it holds; none if no such record was found.
    pub holds: Option<Verdict>,
    /// What was changed in the record to make it fail, in words; `None` if nothing that was tried does.
    pub bend: Option<String>,
    /// The verdict on the changed record.
    pub fails: Option<Verdict>,
}

/// What a verdict says of a claim that is contradicted; made-up records are finite, so that only what is never reached is not.
const DISPROVED: [&str; 2] = ["is false", "never reached"];

/// Steps on the way to a record on which the claim holds.
const STEPS: usize = 60;

/// Looks for a record on which the claim holds and for a change to it that makes it fail. `rounds` is how long the planned runs are;
/// settings of theirs change only where they are not decided yet.
pub fn falsify(named: &NamedClaim, manifest: &Manifest, undecided: &Undecided, rounds: u64) -> Result<Falsifier, ClaimError> {
    let within = |fault: Fault| fault.within(Some(&named.name), &named.text);
    let claim = read(&named.text).map_err(within)?;
    let mut records = made_up(&claim, manifest, rounds).map_err(within)?;
    begin(&mut records, undecided);
    let mut search =
        Search { left: Allowance::of_a_search(), claim: &claim, named, bends: bends(&claim, &records, undecided).map_err(within)? };
    search.tilt(&mut records).map_err(within)?;
    let holds = search.agree(&mut records).map_err(within)?;
    let (mut bend, mut fails) = (None, None);
    if let Some((found, verdict)) = search.contradict(&mut records).map_err(within)? {
        (bend, fails) = (Some(found), Some(verdict));
    }
    // What was not tried shows nothing.
    if bend.is_none() && search.left.is_spent() {
        return Err(within(Fault::new(&claim.body.span, Problem::TooMany)));
    }
    Ok(Falsifier { claim: named.name.clone(), text: named.text.clone(), holds, bend, fails })
}

struct Search<'c> {
    /// For all records that are tried together.
    left: Allowance,
    claim: &'c Claim,
    named: &'c NamedClaim,
    /// Everything that can be bent, whole curves first.
    bends: Vec<Bend<'c>>,
}

impl Search<'_> {
    /// Lets curves grow or fall along each grid, where that brings the claim nearer: most claims over a grid are about its order.
    fn tilt(&self, records: &mut Records) -> Result<(), Fault> {
        let mut least = self.shortfall(records)?.0;
        for grid in grids(records) {
            for power in [2, -2] {
                let tilted = grid.tilted(records, power);
                let now = self.shortfall(&tilted)?.0;
                if now < least {
                    (*records, least) = (tilted, now);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Bends the records until the claim holds.
    fn agree(&mut self, records: &mut Records) -> Result<Option<Verdict>, Fault> {
        // Parts of curves are bent only where whole curves do not help; they do not begin to help then.
        let mut partial = false;
        for _ in 0..STEPS {
            let (short, ratios) = self.shortfall(records)?;
            if short == 0.0 {
                return Ok(self.judged(records).filter(|verdict| verdict.word() == "holds"));
            }
            let mut best: Option<(f64, usize, f64)> = None;
            'bends: for (at, bend) in self.bends.iter().enumerate() {
                if bend.is_partial() && !partial {
                    if best.is_some() {
                        break;
                    }
                    partial = true;
                }
                if !bend.is_partial() && partial {
                    continue;
                }
                for factor in factors(&ratios) {
                    let before = bend.apply(records, factor);
                    let now = self.shortfall(records);
                    before.restore(records);
                    // A bent parameter may leave nothing to compare.
                    let Ok((now, _)) = now else { continue };
                    if now < best.map_or(0.999 * short, |(least, ..)| least) {
                        best = Some((now, at, factor));
                    }
                    if now < 0.5 * short {
                        break 'bends;
                    }
                }
            }
            let Some((_, at, factor)) = best else { return Ok(None) };
            self.bends[at].apply(records, factor);
        }
        Ok(None)
    }

    /// The first bend that makes the claim fail, and the verdict on it. What cannot be decided is no failure.
    fn contradict(&self, records: &mut Records) -> Result<Option<(String, Verdict)>, Fault> {
        for bend in &self.bends {
            for factor in [0.5, 2.0, 0.1, 10.0, 1e-2, 1e2, 1e-4, 1e4, 1e-8, 1e8, 1e-12, 1e12] {
                let before = bend.apply(records, factor);
                let verdict = self.judged(records);
                before.restore(records);
                let fails =
                    |v: &Verdict| !v.holds && !v.undecided && v.reason.as_ref().is_some_and(|r| DISPROVED.iter().any(|d| r.contains(d)));
                if let Some(verdict) = verdict.filter(fails) {
                    return Ok(Some((bend.words(self.claim, factor), verdict)));
                }
            }
        }
        Ok(None)
    }

    fn judged(&self, records: &Records) -> Option<Verdict> {
        verdict(self.named, &Book::done(records).within(&self.left)).ok()
    }

    /// How far the claim is from holding: 0 if every comparison that it needs is true. And the ratios of the sides of those
    /// that are not.
    fn shortfall(&self, records: &Records) -> Result<(f64, Vec<f64>), Fault> {
        let book = Book::done(records).within(&self.left);
        let scope = Scope::of(self.claim, &book)?;
        let tally = Tally::of(self.claim, &scope, &book, View::Mean)?;
        if tally.looks.is_empty() {
            return Ok((f64::INFINITY, vec![]));
        }
        let (mut total, mut ratios) = (0.0, vec![]);
        for look in &tally.looks {
            total += missing(&self.claim.body, true, &mut look.comparisons.iter());
            let wrong = look.comparisons.iter().flatten().filter(|judged| judged.truth != Truth::Yes);
            ratios.extend(wrong.map(|judged| (judged.bound / judged.value).abs()).take(4));
        }
        // Far down there are bounds of distances; far up there is the noise of rounding, which says nothing when it is made large.
        ratios.retain(|ratio| (1e-40..=1e9).contains(ratio));
        ratios.truncate(4);
        Ok((total, ratios))
    }
}

/// What is missing for a statement to be true (or false): the sum or the least of what its parts miss.
fn missing<'j>(node: &Node, wanted: bool, comparisons: &mut impl Iterator<Item = &'j Vec<Judged>>) -> f64 {
    let both = |a: f64, b: f64| a + b;
    match &node.kind {
        Kind::Not(a) => missing(a, !wanted, comparisons),
        Kind::And(a, b) | Kind::Or(a, b) => {
            let (a, b) = (missing(a, wanted, comparisons), missing(b, wanted, comparisons));
            if matches!(node.kind, Kind::And(..)) == wanted { both(a, b) } else { a.min(b) }
        }
        _ => {
            let each = comparisons.next().into_iter().flatten().map(|judged| miss(judged, wanted));
            if wanted { each.fold(0.0, both) } else { each.fold(f64::INFINITY, f64::min) }
        }
    }
}

/// How far one comparison is from being true (or false).
fn miss(judged: &Judged, wanted: bool) -> f64 {
    let there = if wanted { Truth::Yes } else { Truth::No };
    // At the border itself there is still something to do, and what is undefined is far away.
    if judged.truth == there { 0.0 } else { judged.margin.abs().clamp(1e-9, 10.0) }
}

/// What a curve is multiplied with: what would make both sides equal, a little more and less, and powers of ten.
fn factors(ratios: &[f64]) -> Vec<f64> {
    let near = ratios.iter().flat_map(|r| [*r, 0.9 * r, 1.1 * r, 1.0 / r, 0.5 * r, 2.0 * r]);
    let mut all: Vec<f64> = near.chain([0.5, 2.0, 0.1, 10.0, 0.98, 1.02, 1e-3, 1e3, 1e-6, 1e6, 1e-9, 1e-12]).collect();
    all.dedup();
    all
}
