//! A claim under one view of the seeds: every case, and every comparison in it.

use super::ast::{Claim, Domain, Kind, Node, What};
use super::book::{Allowance, Book, Value};
use super::error::Fault;
use super::eval::{Eval, Halt, View};
use super::scope::Scope;
use super::truth::{Judged, Truth};

/// A claim under one view: all its cases.
pub(super) struct Tally {
    view: View,
    /// Every case, in the order of the claim.
    pub(super) looks: Vec<Look>,
    /// Why the last case that does not exist does not.
    pub(super) passed_over: Option<String>,
}

/// One case.
pub(super) struct Look {
    /// What decides it.
    pub(super) judged: Judged,
    /// `alpha=0.1, e=1e-6`
    pub(super) place: Vec<(String, Value)>,
    /// The comparisons of each chain and each `increasing`, in reading order.
    pub(super) comparisons: Vec<Vec<Judged>>,
}

impl Tally {
    pub(super) fn of(claim: &Claim, scope: &Scope, book: &Book<'_>, view: View) -> Result<Self, Fault> {
        let mut tally = Self { view, looks: vec![], passed_over: None };
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
        eval.book.spend(Allowance::CASE, &claim.body.span)?;
        eval.comparisons.clear();
        let judged = eval.truth(&claim.body)?;
        let place = eval.pins.iter().map(|(k, v)| (k.clone(), v.clone())).chain(eval.variables.iter().cloned()).collect();
        self.looks.push(Look { judged, place, comparisons: std::mem::take(&mut eval.comparisons) });
        Ok(())
    }

    pub(super) fn holds(&self) -> bool {
        !self.looks.is_empty() && self.looks.iter().all(|look| look.judged.truth == Truth::Yes)
    }

    /// The case with the least room.
    pub(super) fn worst(&self) -> Option<&Look> {
        self.looks.iter().reduce(|worst, next| if next.judged.is_worse_than(&worst.judged) { next } else { worst })
    }

    pub(super) fn is_worse_than(&self, other: &Self) -> bool {
        match (self.worst(), other.worst()) {
            (Some(this), Some(that)) => this.judged.is_worse_than(&that.judged),
            (this, _) => this.is_some(),
        }
    }

    /// `alpha=0.1, seed mean: 120 <= 61.667 is false; 2 of 3 cases fail`
    pub(super) fn words(&self, claim: &Claim, seeds: usize) -> String {
        let Some(look) = self.worst() else { return "it applies to nothing that was measured".into() };
        let (judged, place) = (&look.judged, self.place(look, seeds));
        let verdict = if judged.truth == Truth::No { "is false" } else { "cannot be decided" };
        let mut words = format!("{place}{} {verdict}", judged.words());
        if judged.value.is_infinite() || judged.bound.is_infinite() {
            words.push_str(if reaches(&claim.body) { " (infinity: never reached)" } else { " (infinity: diverged)" });
        }
        if self.looks.len() > 1 {
            let failed = self.looks.iter().filter(|look| look.judged.truth != Truth::Yes).count();
            words.push_str(&format!("; {failed} of {} cases fail", self.looks.len()));
        }
        words
    }

    /// `alpha=0.1, seed mean: `
    pub(super) fn place(&self, look: &Look, seeds: usize) -> String {
        let mut place: Vec<_> = look.place.iter().map(|(name, value)| format!("{name}={value}")).collect();
        match self.view {
            View::Seed(seed) => place.push(format!("seed {seed}")),
            _ if seeds > 1 => place.push("seed mean".into()),
            _ => {}
        }
        if place.is_empty() { String::new() } else { format!("{}: ", place.join(", ")) }
    }
}

/// Does the claim ask how long something takes?
fn reaches(node: &Node) -> bool {
    matches!(&node.kind, Kind::Measure(measure) if matches!(measure.what, What::Reach(..))) || node.children().into_iter().any(reaches)
}
