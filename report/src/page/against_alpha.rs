//! A final metric against α: own models at one end, one model for all at the other.

use crate::markup::Markup;
use crate::mixture::judging_as_the_verdict;
use crate::page::tabs::{Switch, figure, legend};
use crate::{Comparison, figures};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let metrics = judging_as_the_verdict(comparison, comparison.metrics());
    let plots: Vec<_> = metrics.into_iter().filter_map(|metric| Some((metric, figures::over_alpha(comparison, metric)?))).collect();
    if plots.is_empty() {
        return;
    }
    m.open("section", &[("id", &"alpha"), ("data-tabs", &"")]);
    m.element("h2", &[], "One model for all, own models, or a mixture?");
    m.open("div", &[("class", &"controls")]);
    let choices = plots.iter().map(|(metric, _)| ((*metric).to_owned(), figures::title(metric))).collect();
    Switch { name: "metric", about: "show", choices }.write(m);
    m.close();
    for (metric, plot) in &plots {
        legend(m, metric, &plot.lines);
        figure(m, plot, &[("metric", metric)]);
    }
    m.close();
}
