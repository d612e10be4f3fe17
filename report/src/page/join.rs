//! Should I join? The verdict for every client, in a picture and in one table.

use super::table::{Column, foot, head, number_cell};
use super::verdict::{badge, place, switches};
use crate::clients::MOST_CLIENTS;
use crate::markup::Markup;
use crate::page::tabs::{figure, open_panel};
use crate::verdict::{ClientVerdict, Joining, Verdict, gain};
use crate::{Comparison, figures, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let verdicts = comparison.verdicts();
    let asked = |verdict: &&Verdict| verdict.joining.as_ref().is_some_and(|joining| !joining.clients.is_empty());
    let asked: Vec<Verdict> = verdicts.iter().filter(asked).cloned().collect();
    if asked.is_empty() {
        return;
    }
    m.open("section", &[("id", &"join"), ("data-tabs", &"")]);
    m.element("h2", &[], "Should I join?");
    switches(m, &asked);
    for verdict in &asked {
        let Some(joining) = &verdict.joining else { continue };
        open_panel(m, "div", &[("problem", &place(&asked, verdict)), ("metric", &verdict.metric)]);
        verdict.clients().iter().for_each(|sentence| m.element("p", &[("class", &"lead")], sentence));
        table(m, joining);
        figures::gains(verdict).iter().for_each(|plot| figure(m, plot, &[]));
        m.close();
        m.line();
    }
    let pooled = asked.iter().filter_map(|verdict| verdict.joining.as_ref()).any(is_pooled);
    m.element("p", &[("class", &"muted")], &format!("{NOTE}{}", if pooled { POOLED } else { "" }));
    m.close();
}

const NOTE: &str = "A gain is how much better the model is that the client would take if it joined than its own, on the same test rows; \
     positive is better. The advice rests on p, which takes into account that there are many clients.";

const POOLED: &str = " Pooled is the gain moved towards the mean gain of all clients, with its interval: that interval covers 95 % on average over clients, and less for a client unlike all others.";

fn is_pooled(joining: &Joining) -> bool {
    joining.clients.iter().any(|client| client.pooled.is_some())
}

fn table(m: &mut Markup, joining: &Joining) {
    let pooled = is_pooled(joining);
    let mut columns = vec![
        Column::Word("client"),
        Column::Word("advice"),
        Column::Number("gain, 95 % interval"),
        Column::Number("p"),
        Column::Word("with"),
        Column::Number("alone"),
        Column::Number("joined"),
        Column::Number("sends"),
    ];
    if pooled {
        columns.insert(4, Column::Number("pooled"));
    }
    head(m, &columns, true);
    for client in joining.clients.iter().take(MOST_CLIENTS) {
        row(m, client, pooled);
    }
    foot(m);
    if joining.clients.len() > MOST_CLIENTS {
        let note = format!("The first {MOST_CLIENTS} of {} clients; summary.json has all.", joining.clients.len());
        m.element("p", &[("class", &"muted")], &note);
    }
}

fn row(m: &mut Markup, client: &ClientVerdict, pooled: bool) {
    m.open("tr", &[]);
    m.element("td", &[("class", &"word"), ("data-sort", &client.place)], &client.client);
    m.open("td", &[("class", &"word")]);
    badge(m, client.advice);
    m.close();
    number_cell(m, "", &gain(&client.gain), client.gain.mean);
    number_cell(m, "half last", &client.adjusted_p.map_or_else(|| "–".into(), |p| number::digits(p, 2)), client.adjusted_p.unwrap_or(2.0));
    if pooled {
        let (words, value) = client.pooled.as_ref().map_or_else(|| ("–".to_owned(), 0.0), |p| (gain(p), p.mean));
        number_cell(m, "", &words, value);
    }
    m.element("td", &[("class", &"word")], &client.with);
    number_cell(m, "half", &number::short(client.alone), client.alone);
    number_cell(m, "half", &number::short(client.joined), client.joined);
    number_cell(m, "half last", &number::bytes(client.sent), client.sent);
    m.close();
    m.line();
}
