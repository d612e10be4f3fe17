//! Who has what, as a picture: each client's labels as a row of shades.

use std::fmt::Write as _;

use crate::albums::{Album, sheet};
use crate::chart::text;
use crate::markup::Markup;
use crate::number;
use crate::render::page;

/// One client's data in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSummary {
    /// What it is called.
    pub name: String,
    /// Examples to train on, to choose on, to be judged on.
    pub sizes: [u64; 3],
    /// Examples by class or tag.
    pub labels: Vec<u64>,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 150.0;
const BOTTOM: f64 = 26.0;
const SHADES: usize = 8;
/// More rows than this make a picture that nobody reads.
const MOST_ROWS: usize = 200;
/// More columns than this are narrower than a pixel; the most frequent labels are shown.
const MOST_COLUMNS: usize = 200;
/// Longer names are cut.
const NAME: usize = 24;

/// The labels that are shown: all, or the most frequent in their order.
fn shown_labels(clients: &[ClientSummary]) -> Vec<usize> {
    let count = clients.iter().map(|client| client.labels.len()).max().unwrap_or(0);
    let total = |label: usize| clients.iter().filter_map(|client| client.labels.get(label)).sum::<u64>();
    let mut labels: Vec<usize> = (0..count).collect();
    if count > MOST_COLUMNS {
        labels.sort_by_key(|&label| std::cmp::Reverse(total(label)));
        labels.truncate(MOST_COLUMNS);
        labels.sort_unstable();
    }
    labels
}

/// Which of the shades a share of a client's examples has: by its root, so that a hundredth can still be seen.
fn shade(count: u64, all: u64) -> usize {
    if count == 0 { 0 } else { ((count as f64 / all.max(1) as f64).sqrt() * SHADES as f64).ceil() as usize }.min(SHADES)
}

/// Clients × labels as SVG: dark is a large share of the client's examples.
pub fn label_map(clients: &[ClientSummary], title: &str) -> String {
    let (labels, rows) = (shown_labels(clients), clients.len().min(MOST_ROWS));
    let cell = (WIDTH - LEFT) / labels.len().max(1) as f64;
    let height = (520.0 / rows.max(1) as f64).clamp(3.0, 22.0);
    let total = height * rows as f64 + BOTTOM;
    let mut m = Markup::default();
    let view = format!("0 0 {WIDTH} {total:.0}");
    m.open(
        "svg",
        &[("xmlns", &"http://www.w3.org/2000/svg"), ("viewBox", &view), ("role", &"img"), ("class", &"heat"), ("width", &"100%")],
    );
    m.element("title", &[], title);
    for level in 1..=SHADES {
        let mut path = String::new();
        for (row, client) in clients.iter().take(rows).enumerate() {
            let all = client.labels.iter().sum();
            for (column, &label) in labels.iter().enumerate() {
                if client.labels.get(label).is_some_and(|&count| shade(count, all) == level) {
                    let (x, y) = (LEFT + cell * column as f64, height * row as f64);
                    let _ = write!(path, "M{x:.2} {y:.1}h{cell:.2}v{height:.1}h-{cell:.2}z");
                }
            }
        }
        if !path.is_empty() {
            let strength = format!("{:.2}", level as f64 / SHADES as f64);
            m.leaf("path", &[("d", &path), ("fill", &"currentColor"), ("fill-opacity", &strength)]);
        }
    }
    // Names where there is room for them: every row, or every tenth.
    let step = (9.0 / height).ceil() as usize;
    for (row, client) in clients.iter().take(rows).enumerate().step_by(step.max(1)) {
        text(&mut m, LEFT - 6.0, height * (row as f64 + 0.5) + 3.5, "end", &short(&client.name));
    }
    let below = height * rows as f64 + 16.0;
    text(&mut m, LEFT, below, "start", &format!("label {}", labels.first().copied().unwrap_or(0)));
    text(&mut m, WIDTH, below, "end", &labels.last().map_or_else(String::new, usize::to_string));
    m.finish()
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME { name.into() } else { name.chars().take(NAME - 1).chain(['…']).collect() }
}

/// A page about one problem's clients: the facts, the picture, images where there are some, and a table. `about` has one line per
/// fact.
pub fn data_page(title: &str, about: &[(String, String)], clients: &[ClientSummary], albums: &[Album]) -> String {
    page(title, |m| {
        m.open("header", &[]);
        m.element("h1", &[], title);
        m.open("dl", &[("class", &"facts")]);
        for (name, value) in about {
            m.open("div", &[]);
            m.element("dt", &[], name);
            m.element("dd", &[], value);
            m.close();
        }
        m.close();
        m.close();
        m.line();
        if clients.iter().any(|client| !client.labels.is_empty()) {
            m.open("section", &[("id", &"labels")]);
            m.element("h2", &[], "Who has which labels");
            m.open("figure", &[]);
            m.raw(&label_map(clients, "Share of each client's examples by label"));
            let cut =
                if clients.len() > MOST_ROWS { format!(" The first {MOST_ROWS} of {} clients.", clients.len()) } else { String::new() };
            m.element(
                "figcaption",
                &[],
                &format!("Each row is a client, each column a label; darkest is all of a client's examples.{cut}"),
            );
            m.close();
            m.close();
        }
        if !albums.is_empty() {
            sheet(m, albums);
        }
        write_table(m, clients);
    })
}

fn write_table(m: &mut Markup, clients: &[ClientSummary]) {
    m.open("section", &[("id", &"clients")]);
    m.element("h2", &[], "Clients");
    m.open("div", &[("class", &"scroll tall")]);
    m.open("table", &[("class", &"stack"), ("data-sortable", &"")]);
    m.open("thead", &[]);
    m.open("tr", &[]);
    m.element("th", &[("class", &"word")], "client");
    ["train", "validation", "test", "labels it has"].iter().for_each(|column| m.element("th", &[], column));
    m.close();
    m.close();
    m.open("tbody", &[]);
    for client in clients {
        m.open("tr", &[]);
        m.element("td", &[("class", &"word")], &client.name);
        client.sizes.iter().for_each(|&size| m.element("td", &[], &number::count(size)));
        m.element("td", &[], &client.labels.iter().filter(|&&count| count > 0).count().to_string());
        m.close();
        m.line();
    }
    m.close();
    m.close();
    m.close();
    m.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str, labels: &[u64]) -> ClientSummary {
        ClientSummary { name: name.into(), sizes: [labels.iter().sum(), 0, 0], labels: labels.to_vec() }
    }

    #[test]
    fn a_client_with_one_label_is_darkest_there_and_blank_elsewhere() {
        let svg = label_map(&[client("a<b", &[4, 0]), client("b", &[2, 2])], "t");
        // One cell of full strength; the two halves of the other client share a shade of √½.
        assert_eq!(svg.matches("fill-opacity=\"1.00\"").count(), 1);
        assert_eq!(svg.matches("fill-opacity=\"0.75\"").count(), 1);
        assert_eq!(svg.matches("v22.0").count(), 3);
        assert!(svg.contains("a&lt;b") && svg.starts_with("<svg"));
    }

    #[test]
    fn very_many_labels_are_cut_to_the_most_frequent() {
        let mut labels = vec![1; 500];
        labels[499] = 9;
        let shown = shown_labels(&[client("a", &labels)]);
        assert_eq!((shown.len(), shown.last()), (MOST_COLUMNS, Some(&499)));
    }
}
