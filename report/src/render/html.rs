//! The report: one page that needs nothing but itself.

use crate::chart::Theme;
use crate::markup::Markup;
use crate::render::File;
use crate::{Comparison, page};

const STYLE: &str = include_str!("../page/page.css");
const SCRIPT: &str = include_str!("../page/page.js");

pub(crate) fn files(comparison: &Comparison<'_>) -> Vec<File> {
    vec![File { name: "report.html".into(), content: document(comparison) }]
}

fn document(comparison: &Comparison<'_>) -> String {
    page(&page::name(comparison), |m| {
        for section in page::SECTIONS {
            section(m, comparison);
            m.line();
        }
    })
}

/// A page in the house style around what `write` writes.
pub(crate) fn page(title: &str, write: impl FnOnce(&mut Markup)) -> String {
    let mut m = Markup::default();
    m.raw("<!doctype html>\n");
    m.open("html", &[("lang", &"en")]);
    m.open("head", &[]);
    m.leaf("meta", &[("charset", &"utf-8")]);
    m.leaf("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
    m.leaf("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
    m.element("title", &[], &format!("{title} · Motet"));
    let (light, dark) = Theme::properties();
    m.open("style", &[]);
    m.raw(&STYLE.replace("/* series: light */", &light).replace("/* series: dark */", &dark));
    m.close();
    m.close();
    m.line();
    m.open("body", &[]);
    m.open("main", &[]);
    write(&mut m);
    m.close();
    // A comment to the script, a marked section to XML: the page is both.
    m.raw("<script>//<![CDATA[\n");
    m.raw(SCRIPT);
    m.raw("//]]></script>");
    m.finish() + "\n"
}
