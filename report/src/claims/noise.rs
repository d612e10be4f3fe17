//! Which claims the spread over seeds leaves undecided.
//!
//! Every comparison of a claim is made for each seed too. The differences of its two sides, seed by seed, have a 95 % interval
//! for their mean. A comparison holds beyond the noise if the whole interval is on its side of the border, fails beyond the noise if the
//! whole interval is on the other side, and is open in between. `and`, `or` and `not` carry that on: an open part leaves the claim
//! open unless the other parts decide it.

use super::ast::{Kind, Node, Relation};
use super::tally::{Look, Tally};
use super::truth::{Judged, Truth, show};
use crate::verdict::{Design, Estimate};

/// A claim in the light of the spread over seeds.
pub(super) struct Noise {
    /// What is sure.
    truth: Truth,
    /// The open comparison with the least room, where one leaves the claim open.
    open: Option<Open>,
    /// (case, chain, link) of a comparison → its interval, where all seeds have it.
    intervals: Vec<Vec<Vec<Option<[f64; 2]>>>>,
}

/// A comparison that the seeds leave open.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) judged: Judged,
    /// Which case of the claim.
    look: usize,
    /// The 95 % interval of left minus right.
    pub(super) interval: [f64; 2],
}

impl Noise {
    pub(super) fn of(body: &Node, means: &Tally, seeds: &[Tally]) -> Self {
        let mut noise = Self { truth: Truth::Yes, open: None, intervals: vec![] };
        for (at, look) in means.looks.iter().enumerate() {
            // The same case under every seed; a case that some seed does not have is decided by the mean.
            let twins: Option<Vec<&Look>> =
                seeds.iter().map(|seed| seed.looks.get(at).filter(|l| l.place == look.place).or_else(|| same_place(seed, look))).collect();
            let twins = twins.filter(|twins| twins.len() > 1).unwrap_or_default();
            let (mut truths, mut intervals) = (vec![], vec![]);
            for (chain, comparisons) in look.comparisons.iter().enumerate() {
                let (mut sure, mut wide) = (vec![], vec![]);
                for (link, judged) in comparisons.iter().enumerate() {
                    let each: Option<Vec<&Judged>> = twins.iter().map(|twin| twin.comparisons.get(chain)?.get(link)).collect();
                    let spread = each.filter(|each| !each.is_empty()).and_then(|each| Spread::of(judged, &each));
                    sure.push(spread.as_ref().map_or(judged.truth, |spread| spread.truth));
                    if let Some(spread) = &spread
                        && spread.truth == Truth::Unknown
                        && noise.open.as_ref().is_none_or(|open| judged.is_worse_than(&open.judged))
                    {
                        noise.open = Some(Open { judged: judged.clone(), look: at, interval: spread.interval });
                    }
                    wide.push(spread.map(|spread| spread.interval));
                }
                truths.push(sure);
                intervals.push(wide);
            }
            noise.truth = noise.truth.min(combine(body, &mut truths.into_iter()));
            noise.intervals.push(intervals);
        }
        noise
    }

    /// The comparison that leaves the claim open, if one does: what is sure is not what the means say.
    pub(super) fn undecided(&self, means_hold: bool) -> Option<&Open> {
        self.open.as_ref().filter(|_| (self.truth == Truth::Yes) != means_hold || self.truth == Truth::Unknown)
    }

    /// The interval of the comparison that decides.
    pub(super) fn interval_of(&self, means: &Tally) -> Option<[f64; 2]> {
        let (at, look) = means.looks.iter().enumerate().reduce(|a, b| if b.1.judged.is_worse_than(&a.1.judged) { b } else { a })?;
        let places = look.comparisons.iter().zip(&self.intervals[at]).flat_map(|(comparisons, wide)| comparisons.iter().zip(wide));
        places.into_iter().find(|(judged, _)| judged.is_same(&look.judged)).and_then(|(_, interval)| *interval)
    }
}

impl Open {
    /// `seed mean: 0.83 > 0.5 is within the noise of 3 seeds: the difference is from -0.1 to 0.76 (95 %)`
    pub(super) fn words(&self, means: &Tally, seeds: usize) -> String {
        let [low, high] = self.interval.map(show);
        let place = means.place(&means.looks[self.look], seeds);
        format!("{place}{} is within the noise of {seeds} seeds: the difference is from {low} to {high} (95 %)", self.judged.words())
    }
}

/// One comparison over all seeds.
struct Spread {
    truth: Truth,
    interval: [f64; 2],
}

impl Spread {
    /// None if a side is not finite in some seed, or all seeds agree to the last digit: then the mean decides.
    fn of(mean: &Judged, each: &[&Judged]) -> Option<Self> {
        let scale = mean.value.abs().max(mean.bound.abs());
        let interval = |of: &dyn Fn(&Judged) -> f64| paired_interval(&each.iter().map(|judged| of(judged)).collect::<Vec<_>>(), scale);
        let difference = interval(&|judged| judged.value - judged.bound)?;
        // The same with the right side loosened by the tolerance, which may differ from seed to seed.
        let above = interval(&|judged| judged.value - judged.bound - judged.tolerance).unwrap_or(difference);
        let below = interval(&|judged| judged.value - judged.bound + judged.tolerance).unwrap_or(difference);
        let side = |[low, high]: [f64; 2]| match () {
            () if high < 0.0 => Truth::Yes,
            () if low > 0.0 => Truth::No,
            () => Truth::Unknown,
        };
        let at_most = side(above);
        let at_least = side([-below[1], -below[0]]);
        let truth = match mean.relation {
            Relation::Less | Relation::AtMost => at_most,
            Relation::Greater | Relation::AtLeast => at_least,
            Relation::Equal => at_most.min(at_least),
            Relation::Unequal => at_most.min(at_least).not(),
        };
        Some(Self { truth, interval: difference })
    }
}

/// The 95 % interval of the mean of differences that were measured seed by seed, between numbers of this size.
fn paired_interval(differences: &[f64], scale: f64) -> Option<[f64; 2]> {
    let finite = differences.iter().all(|d| d.is_finite());
    let draws = Design::Independent { same_clients: true };
    // Rounding is no noise: what agrees to nine digits is equal.
    finite.then(|| Estimate::over_draws(differences, draws).interval)?.filter(|[low, high]| high - low > 2e-9 * scale)
}

fn same_place<'t>(tally: &'t Tally, look: &Look) -> Option<&'t Look> {
    tally.looks.iter().find(|other| other.place == look.place)
}

/// Truth of a statement from the truth of its comparisons, in reading order.
fn combine(node: &Node, comparisons: &mut impl Iterator<Item = Vec<Truth>>) -> Truth {
    match &node.kind {
        Kind::And(a, b) => combine(a, comparisons).min(combine(b, comparisons)),
        Kind::Or(a, b) => combine(a, comparisons).max(combine(b, comparisons)),
        Kind::Not(a) => combine(a, comparisons).not(),
        _ => comparisons.next().and_then(|links| links.into_iter().min()).unwrap_or(Truth::Unknown),
    }
}
