//! Verdicts: every case, every seed, the noise of the seeds, and in words where a claim fails.

use motet_records::{Manifest, Records, Verdict};

use super::ast::{Kind, Node};
use super::book::Book;
use super::error::{ClaimError, Fault, Problem, nearest};
use super::eval::View;
use super::noise::Noise;
use super::parser::read;
use super::scope::Scope;
use super::table::NamedClaim;
use super::tally::Tally;

/// Looks at claims before an experiment is run: grammar, methods, parameters and their values. `metrics` are
/// the names known to be measured; a name close to one of them is taken for a misspelling, others may be
/// what a method notes.
pub fn check(claims: &[NamedClaim], manifest: &Manifest, metrics: &[String]) -> Result<(), ClaimError> {
    let book = Book::planned(manifest);
    claims.iter().try_for_each(|named| {
        book.renew();
        let checked = read(&named.text).and_then(|claim| {
            Scope::of(&claim, &book)?;
            spelled(&claim.body, metrics)
        });
        checked.map_err(|fault| fault.within(Some(&named.name), &named.text))
    })
}

/// The verdicts on claims, in their order. An error is a claim that cannot be judged; one that fails is a verdict.
pub fn judge(claims: &[NamedClaim], records: &Records) -> Result<Vec<Verdict>, ClaimError> {
    let book = Book::done(records);
    let one = |named: &NamedClaim| {
        book.renew();
        verdict(named, &book).map_err(|fault| fault.within(Some(&named.name), &named.text))
    };
    claims.iter().map(one).collect()
}

fn spelled(node: &Node, metrics: &[String]) -> Result<(), Fault> {
    if let Kind::Measure(measure) = &node.kind
        && let Some(metric) = measure.what.metric()
        && !metrics.contains(&metric.text)
        && nearest(&metric.text, metrics).is_some()
    {
        return Err(Fault::unknown(&metric.span, "metric", &metric.text, metrics.iter().cloned()));
    }
    node.children().into_iter().try_for_each(|child| spelled(child, metrics))
}

/// The verdict on one claim.
pub(super) fn verdict(named: &NamedClaim, book: &Book<'_>) -> Result<Verdict, Fault> {
    let claim = read(&named.text)?;
    let scope = Scope::of(&claim, book)?;
    let tally = |view| {
        book.renew();
        Tally::of(&claim, &scope, book, view)
    };
    // One seed is its own mean.
    let single = scope.seeds.len() < 2;
    let means = tally(View::Mean)?;
    let each = scope.seeds.iter().filter(|_| !single).map(|seed| tally(View::Seed(*seed))).collect::<Result<Vec<_>, _>>()?;
    let mean = (named.seeds.mean || single).then_some(&means);
    let seeds = if named.seeds.share.is_some() { &each[..] } else { &[] };

    let held = seeds.iter().filter(|seed| seed.holds()).count();
    let needed = named.seeds.needed(seeds.len());
    let mean_holds = mean.is_none_or(Tally::holds);
    let holds = mean_holds && held >= needed;
    // The numbers shown are those that decide: the mean, or if only the seeds fail the worst of them.
    let worst_seed = seeds.iter().reduce(|a, b| if b.is_worse_than(a) { b } else { a });
    let shown = if mean_holds && held < needed { worst_seed.or(mean) } else { mean.or(worst_seed) };
    let Some((shown, worst)) = shown.and_then(|tally| Some((tally, tally.worst()?))) else {
        let why = shown.and_then(|tally| tally.passed_over.clone()).unwrap_or_else(|| "it applies to nothing that was measured".into());
        return Err(Fault::new(&claim.body.span, Problem::Empty(why)));
    };
    let noise = Noise::of(&claim.body, &means, &each);
    let undecided = noise.undecided(means.holds());
    let count = (!seeds.is_empty()).then(|| format!("holds for {held} of {} seeds, {needed} needed", seeds.len()));
    let (told, verdict) = match undecided {
        // What is shown is the comparison that the seeds leave open.
        Some(open) => (Some(open.words(&means, each.len())), &open.judged),
        None => ((!holds).then(|| shown.words(&claim, scope.seeds.len())), &worst.judged),
    };
    let reason = told.map(|told| [Some(told), count, named.note.clone()].into_iter().flatten().collect::<Vec<_>>().join("; "));
    Ok(Verdict {
        claim: named.name.clone(),
        text: named.text.clone(),
        holds,
        undecided: undecided.is_some(),
        interval: undecided.map_or_else(|| noise.interval_of(&means), |open| Some(open.interval)),
        value: Some(verdict.value).filter(|v| v.is_finite()),
        bound: Some(verdict.bound).filter(|v| v.is_finite()),
        status: named.status.into(),
        reason,
    })
}
