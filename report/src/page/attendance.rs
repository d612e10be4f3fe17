//! Who was there in a study between machines, how long they were waited for, and what went over the wire.

use std::collections::BTreeMap;

use motet_records::{Attendance, Event, EventKind, Records};

use super::table::{Column, foot, head, number_cell};
use crate::markup::Markup;
use crate::{Comparison, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let studies = comparison.folders.iter().map(|(_, records)| records).filter(|records| is_study(records));
    for (at, records) in studies.enumerate() {
        let id = if at == 0 { "attendance".to_owned() } else { format!("attendance-{at}") };
        m.open("section", &[("id", &id)]);
        m.element("h2", &[], "Who was there");
        table(m, records);
        m.element("p", &[("class", &"muted")], NOTE);
        if let Some(sentence) = wire(records) {
            m.element("p", &[], &sentence);
        }
        m.close();
    }
}

const NOTE: &str = "Waiting is from an ask to the last byte of its reply. Asks, replies and waiting are counted from a coordinator's start to the \
     end of a run: a coordinator that was killed in a run has forgotten what it counted of it before. The other columns count lines of \
     events.jsonl.";

fn is_study(records: &Records) -> bool {
    records.events.iter().any(|event| matches!(event.kind, EventKind::Joined | EventKind::Attended))
}

/// What is told of one participant.
#[derive(Default)]
struct Presence {
    joined: u32,
    left: u32,
    late: u32,
    lost: u32,
    refused: u32,
    sums: Attendance,
}

impl Presence {
    fn add(&mut self, event: &Event) {
        match event.kind {
            EventKind::Joined => self.joined += 1,
            EventKind::Left => self.left += 1,
            EventKind::Late => self.late += 1,
            EventKind::Lost => self.lost += 1,
            EventKind::Refused | EventKind::Breach => self.refused += 1,
            EventKind::Attended => {
                let Attendance { tasks, answered, waited_us, longest_us, down, up, measuring } = event.attendance.unwrap_or_default();
                let sums = &mut self.sums;
                sums.tasks += tasks;
                sums.answered += answered;
                sums.waited_us += waited_us;
                sums.longest_us = sums.longest_us.max(longest_us);
                sums.down += down;
                sums.up += up;
                sums.measuring += measuring;
            }
            EventKind::Note | EventKind::Resumed => {}
        }
    }
}

fn table(m: &mut Markup, records: &Records) {
    let mut present: BTreeMap<u32, Presence> = BTreeMap::new();
    for event in &records.events {
        if let Some(client) = event.client {
            present.entry(client).or_default().add(event);
        }
    }
    let columns = [
        Column::Word("participant"),
        Column::Number("came"),
        Column::Number("left"),
        Column::Number("late"),
        Column::Number("lost"),
        Column::Number("refused"),
        Column::Number("asks"),
        Column::Number("answered"),
        Column::Number("waited, mean"),
        Column::Number("at most"),
        Column::Number("received"),
        Column::Number("sent"),
    ];
    head(m, &columns, true);
    for (client, presence) in &present {
        row(m, &name(records, *client), *client, presence);
    }
    foot(m);
}

fn row(m: &mut Markup, name: &str, client: u32, presence: &Presence) {
    m.open("tr", &[]);
    m.element("td", &[("class", &"word"), ("data-sort", &client)], name);
    let Presence { joined, left, late, lost, refused, sums } = presence;
    for count in [joined, left, late, lost, refused] {
        number_cell(m, "", &count.to_string(), f64::from(*count));
    }
    for count in [sums.tasks, sums.answered] {
        number_cell(m, "", &count.to_string(), count as f64);
    }
    let mean = sums.waited_us as f64 / sums.answered.max(1) as f64 / 1e6;
    for seconds in [mean, sums.longest_us as f64 / 1e6] {
        number_cell(m, "", &format!("{seconds:.3} s"), seconds);
    }
    for bytes in [sums.down, sums.up] {
        number_cell(m, "", &number::bytes(bytes as f64), bytes as f64);
    }
    m.close();
    m.line();
}

fn name(records: &Records, client: u32) -> String {
    let named = records.clients.iter().find(|row| row.client == client).and_then(|row| row.name.clone());
    named.unwrap_or_else(|| format!("client {client}"))
}

/// Bytes on the wire against booked bits.
fn wire(records: &Records) -> Option<String> {
    let all = records.events.iter().filter(|event| event.client.is_none()).filter_map(|event| event.attendance);
    let (mut down, mut up, mut measuring) = (0, 0, 0);
    for wire in all {
        (down, up, measuring) = (down + wire.down, up + wire.up, measuring + wire.measuring);
    }
    let booked: u64 = records.summary.iter().flat_map(|summary| &summary.runs).map(|run| run.bits.up + run.bits.down).sum();
    let booked = booked as f64 / 8.0;
    if up + down == 0 || booked == 0.0 {
        return None;
    }
    let [wire, measured] = [(up + down) as f64, measuring as f64];
    let over = 100.0 * ((wire - measured) / booked - 1.0);
    Some(format!(
        "Over the wire went {} from participants and {} to them, TLS and HTTP included; {} of it were measurements, which nobody books. \
         The methods booked {}: the rest of the wire is {over:+.1} % of that.",
        number::bytes(up as f64),
        number::bytes(down as f64),
        number::bytes(measured),
        number::bytes(booked)
    ))
}
