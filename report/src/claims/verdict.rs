//! Verdicts: every case, every seed, and in words where a claim fails.

use motet_records::{Manifest, Records, Verdict};

use super::ast::{Claim, Domain, Kind, Node, What};
use super::book::{Book, Value};
use super::error::{ClaimError, Fault, Problem, nearest};
use super::eval::{Eval, Halt, View};
use super::parser::read;
use super::scope::Scope;
use super::table::NamedClaim;
use super::truth::{Judged, Truth};

/// Looks at claims before an experiment is run: grammar, methods, parameters and their values. `metrics` are
/// the names known to be measured; a name close to one of them is taken for a misspelling, others may be
/// what a method notes.
pub fn check(claims: &[NamedClaim], manifest: &Manifest, metrics: &[String]) -> Result<(), ClaimError> {
    let book = Book::planned(manifest);
    claims.iter().try_for_each(|named| {
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
    let one = |named: &NamedClaim| verdict(named, &book).map_err(|fault| fault.within(Some(&named.name), &named.text));
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

fn verdict(named: &NamedClaim, book: &Book<'_>) -> Result<Verdict, Fault> {
    let claim = read(&named.text)?;
    let scope = Scope::of(&claim, book)?;
    let tally = |view| Tally::of(&claim, &scope, book, view);
    // One seed is its own mean.
    let single = scope.seeds.len() < 2;
    let mean = (named.seeds.mean || single).then(|| tally(View::Mean)).transpose()?;
    let seeds = scope.seeds.iter().filter(|_| !single && named.seeds.share.is_some());
    let seeds = seeds.map(|seed| tally(View::Seed(*seed))).collect::<Result<Vec<_>, _>>()?;

    let held = seeds.iter().filter(|seed| seed.holds()).count();
    let needed = named.seeds.needed(seeds.len());
    let mean_holds = mean.as_ref().is_none_or(Tally::holds);
    let holds = mean_holds && held >= needed;
    // The numbers shown are those that decide: the mean, or if only the seeds fail the worst of them.
    let worst_seed = seeds.iter().reduce(|a, b| if b.is_worse_than(a) { b } else { a });
    let shown = if mean_holds && held < needed { worst_seed.or(mean.as_ref()) } else { mean.as_ref().or(worst_seed) };
    let Some((shown, worst)) = shown.and_then(|tally| Some((tally, tally.worst.as_ref()?))) else {
        let why = shown.and_then(|tally| tally.passed_over.clone()).unwrap_or_else(|| "no case fits".into());
        return Err(Fault::new(&claim.body.span, Problem::Empty(why)));
    };
    let count = (!seeds.is_empty()).then(|| format!("holds for {held} of {} seeds, {needed} needed", seeds.len()));
    let reason = (!holds).then(|| {
        let parts = [Some(shown.words(&claim, scope.seeds.len())), count, named.note.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    });
    Ok(Verdict {
        claim: named.name.clone(),
        text: named.text.clone(),
        holds,
        value: Some(worst.judged.value).filter(|v| v.is_finite()),
        bound: Some(worst.judged.bound).filter(|v| v.is_finite()),
        status: named.status.into(),
        reason,
    })
}

/// A claim under one view: all its cases.
struct Tally {
    view: View,
    looked: usize,
    failed: usize,
    worst: Option<Worst>,
    /// Why the last case that does not exist does not.
    passed_over: Option<String>,
}

struct Worst {
    judged: Judged,
    /// `alpha=0.1, e=1e-6`
    place: Vec<(String, Value)>,
}

impl Tally {
    fn of(claim: &Claim, scope: &Scope, book: &Book<'_>, view: View) -> Result<Self, Fault> {
        let mut tally = Self { view, looked: 0, failed: 0, worst: None, passed_over: None };
        for case in &scope.cases {
            let mut eval = Eval::new(&claim.text, book, &scope.open, view);
            eval.pins = case.clone();
            match tally.quantify(claim, 0, &mut eval) {
                Err(Halt::Fault(fault)) => return Err(fault),
                Err(Halt::Missing(why)) => tally.passed_over = Some(why),
                Err(Halt::Unbound) | Ok(()) => {}
            }
        }
        Ok(tally)
    }

    /// Binds the quantifiers from `at` on, one value after the other, and judges the body under each.
    fn quantify(&mut self, claim: &Claim, at: usize, eval: &mut Eval<'_>) -> Result<(), Halt> {
        let Some(binder) = claim.binders.get(at) else { return self.look(claim, eval) };
        let values = match &binder.domain {
            Domain::Key(key) => eval.domain(&claim.body, key)?,
            Domain::Listed(nodes) => nodes.iter().map(|node| Ok(Value::Number(eval.number(node)?))).collect::<Result<_, Halt>>()?,
        };
        for value in values {
            eval.variables.push((binder.name.text.clone(), value));
            let judged = self.quantify(claim, at + 1, eval);
            eval.variables.pop();
            match judged {
                Err(Halt::Missing(why)) => self.passed_over = Some(why),
                other => other?,
            }
        }
        Ok(())
    }

    fn look(&mut self, claim: &Claim, eval: &mut Eval<'_>) -> Result<(), Halt> {
        if let Some(condition) = &claim.condition
            && eval.truth(condition)?.truth != Truth::Yes
        {
            return Ok(());
        }
        let judged = eval.truth(&claim.body)?;
        self.looked += 1;
        self.failed += usize::from(judged.truth != Truth::Yes);
        if self.worst.as_ref().is_none_or(|worst| judged.is_worse_than(&worst.judged)) {
            let place = eval.pins.iter().map(|(k, v)| (k.clone(), v.clone())).chain(eval.variables.iter().cloned()).collect();
            self.worst = Some(Worst { judged, place });
        }
        Ok(())
    }

    fn holds(&self) -> bool {
        self.looked > 0 && self.failed == 0
    }

    fn is_worse_than(&self, other: &Self) -> bool {
        match (&self.worst, &other.worst) {
            (Some(this), Some(that)) => this.judged.is_worse_than(&that.judged),
            (this, _) => this.is_some(),
        }
    }

    /// `alpha=0.1, seed mean: 120 <= 61.667 is false; 2 of 3 cases fail`
    fn words(&self, claim: &Claim, seeds: usize) -> String {
        let Some(Worst { judged, place }) = &self.worst else { return "no case fits".into() };
        let mut place: Vec<_> = place.iter().map(|(name, value)| format!("{name}={value}")).collect();
        match self.view {
            View::Seed(seed) => place.push(format!("seed {seed}")),
            _ if seeds > 1 => place.push("seed mean".into()),
            _ => {}
        }
        let place = if place.is_empty() { String::new() } else { format!("{}: ", place.join(", ")) };
        let verdict = if judged.truth == Truth::No { "is false" } else { "cannot be decided" };
        let mut words = format!("{place}{} {verdict}", judged.words());
        if judged.value.is_infinite() || judged.bound.is_infinite() {
            words.push_str(if reaches(&claim.body) { " (infinity: never reached)" } else { " (infinity: diverged)" });
        }
        if self.looked > 1 {
            words.push_str(&format!("; {} of {} cases fail", self.failed, self.looked));
        }
        words
    }
}

/// Does the claim ask how long something takes?
fn reaches(node: &Node) -> bool {
    matches!(&node.kind, Kind::Measure(measure) if matches!(measure.what, What::Reach(..))) || node.children().into_iter().any(reaches)
}
