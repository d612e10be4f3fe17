//! The curves: every metric against every axis, one shown at a time.

use crate::chart::sample;
use crate::compare::is_variant;
use crate::figures::{self, group_styles};
use crate::markup::Markup;
use crate::page::tabs::{Switch, figure};
use crate::{Axis, Comparison};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    m.open("section", &[("id", &"curves"), ("data-tabs", &"")]);
    m.element("h2", &[], "Training");
    let mut metrics: Vec<&str> = comparison.metrics().into_iter().filter(|metric| is_shown(metric)).collect();
    // What is not convex has no gap, and its loss says little: people ask how many are right.
    if comparison.is_nonconvex()
        && let Some(at) = metrics.iter().position(|metric| *metric == "test.accuracy")
    {
        metrics[..=at].rotate_right(1);
    }
    if metrics.is_empty() {
        m.element("p", &[("class", &"muted")], "Nothing was measured yet.");
        m.close();
        return;
    }
    m.open("div", &[("class", &"controls")]);
    let choices = metrics.iter().map(|metric| ((*metric).to_owned(), figures::title(metric))).collect();
    Switch { name: "metric", about: "show", choices }.write(m);
    let choices = comparison.axes().iter().map(|axis| (axis.key().to_owned(), words(*axis).to_owned())).collect();
    Switch { name: "axis", about: "against", choices }.write(m);
    m.close();
    m.open("div", &[("class", &"beside")]);
    m.open("div", &[("class", &"pictures")]);
    for metric in &metrics {
        for &axis in comparison.axes() {
            if let Some(plot) = figures::curves(comparison, metric, axis) {
                figure(m, &plot, &[("metric", metric), ("axis", axis.key())]);
            }
        }
    }
    m.close();
    legend(m, comparison);
    m.close();
    m.close();
}

fn legend(m: &mut Markup, comparison: &Comparison<'_>) {
    m.open("ul", &[("class", &"legend")]);
    for (at, (group, style)) in comparison.groups.iter().zip(group_styles(comparison)).enumerate() {
        m.open("li", &[]);
        m.open("button", &[("type", &"button"), ("data-legend", &at), ("aria-pressed", &"true"), ("title", &"show or hide")]);
        m.raw(&sample(style));
        m.element("span", &[], &group.label);
        m.close();
        m.close();
    }
    m.close();
}

fn words(axis: Axis) -> &'static str {
    match axis {
        Axis::Rounds => "rounds",
        Axis::FloatsUp => "floats up",
        Axis::BitsUp => "bits up",
        Axis::Gradients => "gradient evaluations",
        Axis::Deployed => "seconds of the deployment",
    }
}

/// Variants on validation data are for choosing parameters, not for looking at.
fn is_shown(metric: &str) -> bool {
    !(metric.starts_with("validation.") && is_variant(metric))
}
