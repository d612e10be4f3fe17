//! Which pictures a report has, and what is in them.

use motet_core::larger_is_better;

use crate::chart::{Draw, LEAST, Level, Line, Mark, Note, Plot, Scale, Style, styles};
use crate::compare::{Axis, Comparison, Curve, Point, is_variant, largest, least, mean};
use crate::mixture::{AlphaCurve, Station, alpha_curves, better, judging};
use crate::verdict::{Estimate, Verdict};
use crate::{number, sweep};

/// The style of every group, the same in all pictures.
pub(crate) fn group_styles(comparison: &Comparison<'_>) -> Vec<Style> {
    let alpha = |g: &crate::Group<'_>| g.alpha().map(|a| a.to_string());
    let series: Vec<_> = comparison.groups.iter().map(|g| (g.method(), alpha(g))).collect();
    styles(&series)
}

/// Every picture, for files of their own: variants (worst clients, weighted) against rounds only.
pub(crate) fn all(comparison: &Comparison<'_>) -> Vec<Plot> {
    let mut plots: Vec<Plot> = vec![];
    for metric in comparison.metrics() {
        let axes = if is_variant(metric) { &Axis::ALL[..1] } else { comparison.axes() };
        plots.extend(axes.iter().filter_map(|&axis| curves(comparison, metric, axis)));
    }
    for metric in judging(comparison.metrics()) {
        plots.extend(over_alpha(comparison, metric));
    }
    plots.extend(comparison.verdicts().iter().filter(|verdict| verdict.problem.is_none()).filter_map(gains));
    for parameter in sweep::parameters(comparison) {
        plots.extend(sweep::plots(comparison, &parameter).into_iter().map(|(_, plot)| plot));
    }
    plots.extend(crate::page::tuning_plots(comparison));
    plots
}

/// A metric against an axis. None if it was never measured.
pub(crate) fn curves(comparison: &Comparison<'_>, metric: &str, axis: Axis) -> Option<Plot> {
    let styles = group_styles(comparison);
    let found = comparison.curves(metric, axis);
    let drawn: Vec<&Curve> = found.iter().flatten().collect();
    let log = is_log(metric, &drawn);
    if drawn.is_empty() {
        return None;
    }
    // Nothing that can be shown is an empty frame; its caption says why.
    let levels = levels(comparison, metric);
    let y = vertical(&drawn, &levels, log).unwrap_or_else(|| Scale::log(LEAST, 1.0));
    let end = drawn.iter().filter_map(|c| c.points.last()).map(|p| p.x).fold(0.0, f64::max);
    let line = |(group, curve): (usize, &Option<Curve>)| {
        let curve = curve.as_ref()?;
        Some(Line {
            group,
            label: curve.label.clone(),
            style: styles[group],
            draw: Draw::Curve,
            points: marks(curve, end),
            bound: curve.bound.clone(),
        })
    };
    let lines: Vec<Line> = found.iter().enumerate().filter_map(line).collect();
    Some(Plot {
        name: format!("{}-{}", file_name(metric), axis.key()),
        title: format!("{} against {}", title(metric), axis.title()),
        x: (axis.title().into(), horizontal(&drawn, axis)),
        y: (title(metric), y),
        unit: axis.unit(),
        caption: caption(comparison, &drawn, metric, log),
        notes: vec![],
        levels,
        lines,
    })
}

/// What the experiment's `[report] marks` says of a metric.
fn levels(comparison: &Comparison<'_>, metric: &str) -> Vec<Level> {
    let mut levels: Vec<Level> = vec![];
    for (_, records) in comparison.folders {
        let Some(marks) = records.manifest.resolved["report"]["marks"][metric].as_object() else { continue };
        for (label, value) in marks.iter().filter_map(|(label, value)| Some((label, value.as_f64()?))) {
            if !levels.iter().any(|l| l.label == *label && l.value == value) {
                levels.push(Level { label: label.clone(), value });
            }
        }
    }
    levels
}

/// A final metric against α: the ends are own models and one model for all. None unless runs differ by α.
pub(crate) fn over_alpha(comparison: &Comparison<'_>, metric: &str) -> Option<Plot> {
    let curves = alpha_curves(comparison, metric);
    let stations = || curves.iter().flat_map(|c| &c.stations);
    let values = || stations().flat_map(|s| &s.values).copied();
    let best = stations().reduce(|a, b| if better(metric, mean(&b.values), mean(&a.values)) { b } else { a })?;
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let room = 0.12 * (high - low); // for the notes
    let y =
        if low > 0.0 && high / low > 20.0 { Scale::log(low / 1.5, high * 1.5) } else { Scale::linear_to_ticks(low - room, high + room) };
    let line = |(k, curve): (usize, &AlphaCurve)| Line {
        group: k,
        label: curve.label.clone(),
        style: Style { colour: k, dash: 0, mark: k },
        draw: Draw::Stations,
        points: curve.stations.iter().map(station).collect(),
        bound: vec![],
    };
    Some(Plot {
        name: format!("alpha-{}", file_name(metric)),
        title: format!("final {} against α", title(metric)),
        x: ("α: how much of the shared model each client takes".into(), alpha_scale(stations().map(|s| s.alpha))),
        y: (format!("final {}", title(metric)), y),
        lines: curves.iter().enumerate().map(line).collect(),
        notes: alpha_notes(&curves, best, metric),
        levels: vec![],
        unit: "α =",
        caption: format!(
            "Each point is a finished training{}. {} is better.",
            if stations().any(|s| s.values.len() > 1) { ": mean over seeds, with least and largest" } else { "" },
            if larger_is_better(metric) { "Higher" } else { "Lower" }
        ),
    })
}

/// What each client gains by joining, with its interval, the least first. None if nobody is alone or clients are not followed.
pub(crate) fn gains(verdict: &Verdict) -> Option<Plot> {
    let joining = verdict.joining.as_ref().filter(|joining| joining.clients.len() > 1)?;
    let mut gains: Vec<&Estimate> = joining.clients.iter().map(|client| &client.gain).collect();
    gains.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    let point = |(k, gain): (usize, &&Estimate)| {
        let [low, high] = gain.interval.unwrap_or([gain.mean; 2]);
        Mark { x: (k + 1) as f64, y: gain.mean, low, high, faded: false }
    };
    let points: Vec<Mark> = gains.iter().enumerate().map(point).collect();
    let (low, high) = points.iter().fold((0.0, 0.0), |(low, high): (f64, f64), p| (low.min(p.low), high.max(p.high)));
    let style = Style { colour: 0, dash: 0, mark: 0 };
    let line = Line { group: 0, label: "gain".into(), style, draw: Draw::Dots, points, bound: vec![] };
    let level = Level { label: "no difference".into(), value: 0.0 };
    let whiskers = if gains.iter().any(|gain| gain.interval.is_some()) { " with its own 95 % interval" } else { "" };
    Some(Plot {
        name: format!("clients-{}", file_name(&verdict.metric)),
        title: format!("gain in {} per client, by joining", title(&verdict.metric)),
        x: ("clients, sorted by what they gain".into(), Scale::counted(0.5, gains.len() as f64 + 0.5)),
        y: (format!("gain in {}", title(&verdict.metric)), Scale::linear_to_ticks(low, high)),
        notes: vec![],
        levels: vec![level],
        unit: "",
        caption: format!("Each dot is a client{whiskers}. Above zero, joining serves it better."),
        lines: vec![line],
    })
}

/// `test.loss.worst` → `test loss, worst tenth of the clients`
pub(crate) fn title(metric: &str) -> String {
    let (base, variant) = match (metric.strip_suffix(".worst"), metric.strip_suffix(".weighted")) {
        (Some(base), _) => (base, ", worst tenth of the clients"),
        (_, Some(base)) => (base, ", weighted by examples"),
        _ => (metric, ""),
    };
    let base = match base {
        "gap" => "gap F(x) − F*".into(),
        "distance" => "squared distance to the optimum".into(),
        "grad_norm2" => "squared gradient norm".into(),
        "loss" => "training loss".into(),
        other => other.replace(['.', '_'], " "),
    };
    format!("{base}{variant}")
}

/// Letters, digits and dashes. Different metrics of one report stay different: what is replaced is spelt out.
pub(crate) fn file_name(metric: &str) -> String {
    let spell = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '_' => c.to_string(),
        '.' => "-".into(),
        c => format!("_{:x}", u32::from(c)),
    };
    metric.chars().map(spell).collect()
}

/// Models that take no rounds, like own ones, are a level to compare with: their one point is drawn out to the `end`.
fn marks(curve: &Curve, end: f64) -> Vec<Mark> {
    let all = curve.points.iter().map(|p| p.seeds).max().unwrap_or(0);
    let mark = |p: &Point| Mark { x: p.x, y: p.mean, low: p.low, high: p.high, faded: p.seeds < all };
    let mut marks: Vec<Mark> = curve.points.iter().map(mark).collect();
    if let [only] = marks[..]
        && curve.points[0].round == 0
        && end > only.x
    {
        marks = vec![Mark { x: 0.0, ..only }, Mark { x: end, ..only }];
    }
    marks
}

fn station(station: &Station) -> Mark {
    Mark { x: station.alpha, y: mean(&station.values), low: least(&station.values), high: largest(&station.values), faded: false }
}

fn is_log(metric: &str, curves: &[&Curve]) -> bool {
    if ["gap", "distance", "grad_norm2"].contains(&metric) {
        return true;
    }
    let values = || curves.iter().filter(|c| !c.diverged).flat_map(|c| &c.points).map(|p| p.mean).filter(|v| v.is_finite());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    !larger_is_better(metric) && low > 0.0 && high > 20.0 * low
}

/// Diverged runs may leave the picture at the top: they must not flatten the others.
fn vertical(curves: &[&Curve], levels: &[Level], log: bool) -> Option<Scale> {
    let shown = |v: &f64| v.is_finite() && (!log || *v > LEAST);
    let of = |c: &Curve| c.points.iter().flat_map(|p| [p.mean, p.low, p.high]).filter(shown).collect::<Vec<_>>();
    let first = curves.iter().filter_map(|c| c.points.iter().map(|p| p.mean).find(shown));
    let steady = curves.iter().filter(|c| !c.diverged).flat_map(|c| of(c));
    let top = first.chain(steady).reduce(f64::max)?;
    let cap = if log { 10.0 * top } else { top + top.abs() };
    let values = || curves.iter().flat_map(|c| of(c)).map(|v| v.min(cap)).chain(levels.iter().map(|l| l.value).filter(shown));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if !log {
        return Some(Scale::linear_to_ticks(low, high));
    }
    let promised = curves.iter().filter_map(|c| c.bound.first()).map(|b| b.1).filter(|b| *b < 1e3 * high).fold(high, f64::max);
    Some(Scale::log(low, promised))
}

/// From zero; logarithmic where one run's total is lost beside another's, as with compression.
fn horizontal(curves: &[&Curve], axis: Axis) -> Scale {
    let ends = || curves.iter().filter_map(|c| c.points.last()).map(|p| p.x).filter(|x| *x > 0.0);
    let (least, most) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    let starts = || curves.iter().flat_map(|c| &c.points).map(|p| p.x).filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
    if axis != Axis::Rounds && most > 50.0 * least { Scale::log(starts(), most) } else { Scale::linear(0.0, most) }
}

/// Linear for grids like 0, 0.1, …, 1; logarithmic for 1, 0.1, 0.01, ….
fn alpha_scale(alphas: impl Iterator<Item = f64>) -> Scale {
    let alphas: Vec<f64> = alphas.collect();
    let least = alphas.iter().copied().filter(|a| *a > 0.0).fold(f64::INFINITY, f64::min);
    let most = alphas.iter().copied().fold(0.0, f64::max);
    match most / least >= 30.0 {
        true if alphas.contains(&0.0) => Scale::log_and_zero(least, most),
        true => Scale::log(least, most),
        false => Scale::linear(-0.03, most.max(1.0) + 0.03),
    }
}

fn alpha_notes(curves: &[AlphaCurve], best: &Station, metric: &str) -> Vec<Note> {
    let mut notes = vec![];
    for (alpha, text, anchor) in [(0.0, "own models", "start"), (1.0, "one model for all", "end")] {
        let stations = curves.iter().flat_map(|c| &c.stations).filter(|s| s.alpha == alpha);
        // The topmost whisker: words above it cover nothing.
        let top = stations.flat_map(|s| &s.values).copied().reduce(f64::max);
        notes.extend(top.map(|y| Note { x: alpha, y, text: text.into(), anchor, ring: false, below: false }));
    }
    if best.alpha > 0.0 && best.alpha < 1.0 {
        let text = format!("{} mean: α = {}", if larger_is_better(metric) { "largest" } else { "least" }, number::short(best.alpha));
        notes.push(Note { x: best.alpha, y: mean(&best.values), text, anchor: "middle", ring: true, below: !larger_is_better(metric) });
    }
    notes
}

fn caption(comparison: &Comparison<'_>, curves: &[&Curve], metric: &str, log: bool) -> String {
    let mut parts = vec![];
    if comparison.groups.iter().any(|g| g.runs.len() > 1) {
        parts.push("Lines are means over seeds, bands reach from the least to the largest.".to_owned());
    }
    let partial = |c: &&&Curve| c.points.last().map(|p| p.seeds) < c.points.iter().map(|p| p.seeds).max();
    if curves.iter().any(|c| partial(&c)) {
        parts.push("A line fades where not all seeds got that far.".to_owned());
    }
    if curves.len() > 1 && curves.iter().any(|c| c.points.len() == 1 && c.points[0].round == 0) {
        parts.push("Methods that take no rounds are drawn as horizontal lines.".to_owned());
    }
    if curves.iter().any(|c| !c.bound.is_empty()) {
        let promises = comparison.groups.iter().flat_map(|g| &g.runs).filter_map(|r| r.card.promise.as_ref());
        let mut sources: Vec<&str> = promises.filter(|p| p.metric == metric).map(|p| p.source.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        parts.push(format!("Thin dashed lines: what the theorem promises ({}).", sources.join("; ")));
    }
    let optima = comparison.groups.iter().flat_map(|g| &g.runs).filter_map(|r| r.card.optimum.as_ref());
    let mut guesses: Vec<&str> = optima.filter(|o| metric == "gap" && !o.exact).map(|o| o.how.as_str()).collect();
    guesses.dedup();
    if let Some(how) = guesses.first() {
        parts.push(format!("F* is the best value known, not a minimum to machine precision: {how}."));
    }
    if log && curves.iter().flat_map(|c| &c.points).any(|p| p.mean <= LEAST) {
        parts.push(format!("Values of {} or less are not drawn.", number::short(LEAST)));
    }
    parts.join(" ")
}
