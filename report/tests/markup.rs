//! Pages and pictures are well-formed, whatever people call their runs.

mod sample;

use motet_core::{Metrics, Row};
use motet_records::{Manifest, ProblemCard, Records, RunCard, Status, Summary, Verdict};
use motet_report::{Comparison, OUTPUTS};
use proptest::prelude::*;

/// Checks that elements nest, attributes are quoted and nothing is left unescaped.
fn well_formed(text: &str) -> Result<(), String> {
    let mut rest = text.strip_prefix("<!doctype html>").unwrap_or(text);
    let mut open: Vec<&str> = vec![];
    while let Some(at) = rest.find(['<', '&']) {
        if rest[at..].starts_with('&') {
            let end = rest[at..].find(';').ok_or("an & without its ;")?;
            let name = &rest[at + 1..at + end];
            if !["amp", "lt", "gt", "quot", "#39"].contains(&name) {
                return Err(format!("unknown entity {name}"));
            }
            rest = &rest[at + end + 1..];
            continue;
        }
        if let Some(section) = rest[at..].strip_prefix("<![CDATA[") {
            rest = &section[section.find("]]>").ok_or("an open section")? + 3..];
            continue;
        }
        let end = rest[at..].find('>').ok_or("an open tag")?;
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes something else"));
            }
        } else {
            attributes(tag)?;
            if !tag.ends_with('/') {
                open.push(tag.split(' ').next().unwrap_or(tag));
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}

fn attributes(tag: &str) -> Result<(), String> {
    let tag = tag.trim_end_matches('/');
    let Some((_, mut rest)) = tag.split_once(' ') else { return Ok(()) };
    let mut seen = vec![];
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").ok_or_else(|| format!("attribute without a value: {tag}"))?;
        if name.contains([' ', '"']) || seen.contains(&name) {
            return Err(format!("attribute {name:?} in {tag}"));
        }
        seen.push(name);
        let (_, after) = value.split_once('"').ok_or_else(|| format!("open attribute: {tag}"))?;
        rest = after.trim_start();
    }
    Ok(())
}

fn check(folders: &[(String, Records)]) {
    let comparison = Comparison::new(folders);
    for file in OUTPUTS.iter().flat_map(|output| (output.files)(&comparison)) {
        if file.name.ends_with(".svg") || file.name.ends_with(".html") {
            well_formed(&file.content).unwrap_or_else(|why| panic!("{}: {why}", file.name));
            assert!(!file.content.contains("NaN") && !file.content.contains(">inf"), "{}", file.name);
        }
    }
}

#[test]
fn the_sample_report_is_well_formed_and_fetches_nothing() {
    let folders = [("sample".to_owned(), sample::records())];
    check(&folders);
    let comparison = Comparison::new(&folders);
    let page = (OUTPUTS[0].files)(&comparison).remove(0).content;
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "src=", "href=", "@import", "url(http"] {
        assert!(!outside.contains(word), "{word}");
    }
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

#[test]
fn the_checker_itself_sees_what_is_wrong() {
    for wrong in ["<a>", "<a></b>", "<a b=c></a>", "a & b", "<a b=\"1\" b=\"2\"/>", "<p>1 < 2</p>"] {
        assert!(well_formed(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn names_that_look_like_markup_are_text() {
    let evil = "</script><script>alert('x')</script>\"&\u{1}";
    check(&[(evil.to_owned(), named(evil, &[1.0, 0.5]))]);
    let folders = [(evil.to_owned(), named(evil, &[1.0, 0.5]))];
    let page = (OUTPUTS[0].files)(&Comparison::new(&folders)).remove(0).content;
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("<script>").count(), 1);
}

/// An experiment in which everything people can name has this name.
fn named(name: &str, values: &[f64]) -> Records {
    let params = [(name.to_owned(), name.into()), ("alpha".to_owned(), 0.5.into())].into_iter().collect();
    let card = |run, method: &str| RunCard { run, label: format!("{name} {run}"), method: method.into(), params, ..RunCard::default() };
    let claim = Verdict {
        claim: name.into(),
        text: name.into(),
        bound: Some(f64::NAN),
        status: Status::May,
        reason: Some(name.into()),
        ..Verdict::default()
    };
    let metrics = |value: f64| -> Metrics { [(name.to_owned(), value), ("test.loss".to_owned(), value)].into() };
    let row = |(round, value): (usize, &f64)| Row { round: round as u64, metrics: metrics(*value), ..Row::default() };
    Records {
        manifest: Manifest {
            motet: name.into(),
            experiment: name.into(),
            resolved: name.into(),
            problems: vec![ProblemCard { about: name.into(), ..ProblemCard::default() }],
            runs: vec![card(0, name)],
            ..Manifest::default()
        },
        summary: Some(Summary { claims: vec![claim], ..Summary::default() }),
        rows: values.iter().enumerate().map(row).collect(),
        ..Records::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_name_and_any_numbers_give_well_formed_files(name in "\\PC{0,40}|[<>&\"'\\x00-\\x1f]{0,12}", values in proptest::collection::vec(any::<f64>(), 0..12)) {
        check(&[(name.clone(), named(&name, &values))]);
    }
}
