//! Final metrics against the parameters that the experiment names.

use crate::markup::Markup;
use crate::page::tabs::{Switch, figure, legend};
use crate::{Comparison, figures, sweep};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    for parameter in sweep::parameters(comparison) {
        let plots = sweep::plots(comparison, &parameter);
        if plots.is_empty() {
            continue;
        }
        m.open("section", &[("id", &format!("over-{}", figures::file_name(&parameter))), ("data-tabs", &"")]);
        m.element("h2", &[], &format!("Against {parameter}"));
        m.open("div", &[("class", &"controls")]);
        let choices = plots.iter().map(|(metric, _)| (metric.clone(), figures::title(metric))).collect();
        Switch { name: "metric", about: "show", choices }.write(m);
        m.close();
        for (metric, plot) in &plots {
            legend(m, metric, &plot.lines);
            figure(m, plot, &[("metric", metric)]);
        }
        m.close();
    }
}
