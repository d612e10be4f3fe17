//! One model for all, own models, or a mixture: the answer in three numbers and one picture.

use motet_core::larger_is_better;

use crate::figures;
use crate::markup::Markup;
use crate::mixture::{Contest, Role, better, gain, judging};
use crate::page::tabs::{Switch, figure, legend, open_panel};
use crate::{Comparison, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let metrics: Vec<&str> =
        judging(comparison.metrics()).into_iter().filter(|metric| Contest::new(comparison, metric).is_some()).collect();
    if metrics.is_empty() {
        return;
    }
    m.open("section", &[("id", &"contest"), ("data-tabs", &"")]);
    m.element("h2", &[], "One model for all, own models, or a mixture?");
    let choices = metrics.iter().map(|metric| ((*metric).to_owned(), figures::title(metric))).collect();
    m.open("div", &[("class", &"controls")]);
    Switch { name: "metric", about: "judged by", choices }.write(m);
    m.close();
    for metric in metrics {
        if let Some(contest) = Contest::new(comparison, metric) {
            open_panel(m, "div", &[("metric", metric)]);
            tiles(m, comparison, &contest);
            m.element("p", &[("class", &"lead")], &answer(&contest));
            m.close();
        }
        if let Some(plot) = figures::over_alpha(comparison, metric) {
            legend(m, metric, &plot.lines);
            figure(m, &plot, &[("metric", metric)]);
        }
    }
    m.close();
}

fn tiles(m: &mut Markup, comparison: &Comparison<'_>, contest: &Contest) {
    let ways = [(Role::Local, contest.local), (Role::Mixture, contest.mixture), (Role::Global, contest.global)];
    let best = ways.iter().filter_map(|(_, way)| way.map(|w| w.1)).reduce(|a, b| if better(&contest.metric, b, a) { b } else { a });
    m.open("div", &[("class", &"tiles")]);
    for (role, way) in ways {
        let Some((group, value)) = way else { continue };
        m.open("div", &[("class", &if Some(value) == best { "tile best" } else { "tile" })]);
        m.element("h3", &[], if role == Role::Mixture { "best mixture" } else { role.title() });
        m.element("p", &[("class", &"value")], &number::short(value));
        m.element("p", &[("class", &"muted")], &format!("{}, {}", figures::title(&contest.metric), comparison.groups[group].label));
        m.close();
    }
    m.close();
}

/// What the numbers say, whichever way it came out.
fn answer(contest: &Contest) -> String {
    let metric = &contest.metric;
    let Some((_, mixture)) = contest.mixture else {
        return "No mixture was trained: try values of α between 0 and 1.".into();
    };
    let compared = |(_, rival): (usize, f64), name: &str| {
        let gain = gain(metric, mixture, rival);
        let up = larger_is_better(metric) == (gain > 0.0);
        format!("{} % {} {name}", number::digits(100.0 * gain.abs(), 2), if up { "above" } else { "below" })
    };
    let parts: Vec<String> = [contest.local.map(|r| compared(r, "own models")), contest.global.map(|r| compared(r, "one model for all"))]
        .into_iter()
        .flatten()
        .collect();
    let beats = [contest.local, contest.global].into_iter().flatten().all(|(_, rival)| better(metric, mixture, rival));
    let (won, of) = contest.wins;
    let seeds = match of {
        0 | 1 => String::new(),
        of => format!(" It beats {} in {won} of {of} seeds.", if parts.len() > 1 { "both" } else { "it" }),
    };
    let verdict = if beats { "The mixture wins" } else { "Here the mixture does not win" };
    format!("{verdict}: its {} is {}.{seeds}", figures::title(metric), parts.join(" and "))
}
