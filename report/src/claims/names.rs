//! Is every variable bound, and is every operand of the right sort?

use motet_core::is_quality;

use super::ast::{Claim, Domain, Fold, Kind, Node, What};
use super::error::{Fault, Problem};

/// Known everywhere: the number of clients, the dimension, what is never reached.
pub(super) const CONSTANTS: [&str; 3] = ["n", "d", "inf"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Number,
    Truth,
    Text,
}

impl Sort {
    fn words(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Truth => "something true or false",
            Self::Text => "a text",
        }
    }
}

pub(super) fn resolve(claim: &Claim) -> Result<(), Fault> {
    let mut scope = vec![];
    for binder in &claim.binders {
        if let Domain::Listed(values) = &binder.domain {
            values.iter().try_for_each(|value| wants(value, Sort::Number, &mut scope))?;
        }
        bind(&binder.name.text, &binder.name.span, &mut scope)?;
    }
    if let Some(condition) = &claim.condition {
        wants(condition, Sort::Truth, &mut scope)?;
    }
    wants(&claim.body, Sort::Truth, &mut scope)
}

/// The variable that `over=compressor.k` binds inside: `k`.
pub(super) fn variable_of(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

fn bind(name: &str, span: &super::error::Span, scope: &mut Vec<String>) -> Result<(), Fault> {
    if scope.iter().any(|bound| bound == name) {
        return Err(Fault::new(span, Problem::Taken(name.into())));
    }
    scope.push(name.into());
    Ok(())
}

fn wants(node: &Node, wanted: Sort, scope: &mut Vec<String>) -> Result<(), Fault> {
    let is = sort(node, scope)?;
    if is == wanted {
        return Ok(());
    }
    Err(Fault::new(&node.span, Problem::Sort { is: is.words(), wanted: wanted.words() }))
}

fn sort(node: &Node, scope: &mut Vec<String>) -> Result<Sort, Fault> {
    match &node.kind {
        Kind::Number(_) => Ok(Sort::Number),
        Kind::Text(_) => Ok(Sort::Text),
        Kind::Variable(name) if CONSTANTS.contains(&name.as_str()) || scope.contains(name) => Ok(Sort::Number),
        Kind::Variable(name) => Err(Fault::unknown(&node.span, "name", name, known(scope))),
        Kind::And(..) | Kind::Or(..) | Kind::Not(_) => {
            node.children().into_iter().try_for_each(|child| wants(child, Sort::Truth, scope))?;
            Ok(Sort::Truth)
        }
        Kind::Chain(..) => {
            node.children().into_iter().try_for_each(|child| wants(child, Sort::Number, scope))?;
            Ok(Sort::Truth)
        }
        Kind::Over(fold, body, key) => {
            // Unlike a quantifier, a fold may hide a name: the inner one is meant.
            scope.push(variable_of(&key.text).into());
            wants(body, if *fold == Fold::Share { Sort::Truth } else { Sort::Number }, scope)?;
            scope.pop();
            Ok(if matches!(fold, Fold::Monotone(_)) { Sort::Truth } else { Sort::Number })
        }
        Kind::Measure(measure) => {
            if let What::Best(metric) | What::Worst(metric) = &measure.what
                && !is_quality(&metric.text)
            {
                return Err(Fault::new(&metric.span, Problem::NoQuality(metric.text.clone())));
            }
            for filter in &measure.selector.filters {
                if !matches!(filter.value.kind, Kind::Text(_)) {
                    wants(&filter.value, Sort::Number, scope)?;
                }
            }
            let arguments = node.children().into_iter().skip(measure.selector.filters.len());
            arguments.into_iter().try_for_each(|argument| wants(argument, Sort::Number, scope))?;
            Ok(Sort::Number)
        }
        Kind::Negative(_) | Kind::Arithmetic(..) | Kind::Apply(..) => {
            node.children().into_iter().try_for_each(|child| wants(child, Sort::Number, scope))?;
            Ok(Sort::Number)
        }
    }
}

fn known(scope: &[String]) -> Vec<String> {
    scope.iter().cloned().chain(CONSTANTS.map(Into::into)).collect()
}
