//! Blocks of code in a page: ```` ```sh ```` and so on.

use super::pages::Page;

/// A block, with what stands after the three back-ticks.
pub(crate) struct Block {
    pub(crate) page: String,
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) marks: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Block {
    /// `part=flix` is the mark `part` with the value `flix`; `data` is one without a value.
    pub(crate) fn mark(&self, name: &str) -> Option<&str> {
        self.marks.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

/// The blocks of a page, in order.
pub(crate) fn of(page: &Page) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(Block, String)> = None;
    for (number, line) in page.text.lines().enumerate() {
        let trimmed = line.trim_start();
        match &mut open {
            Some((_, fence)) if trimmed.trim_end() == *fence => blocks.extend(open.take().map(|(block, _)| block)),
            Some((block, _)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            None if trimmed.starts_with("```") => {
                let fence: String = trimmed.chars().take_while(|c| *c == '`').collect();
                let (language, marks) = info(&trimmed[fence.len()..]);
                open = Some((Block { page: page.name(), line: number + 1, language, marks, text: String::new() }, fence));
            }
            None => {}
        }
    }
    assert!(open.is_none(), "{}: a block has no end", page.name());
    blocks
}

/// The page with its blocks left out: what is prose.
pub(crate) fn prose(page: &Page) -> String {
    let mut text = String::new();
    let mut fence: Option<String> = None;
    for line in page.text.lines() {
        let trimmed = line.trim_start();
        match &fence {
            Some(end) if trimmed.trim_end() == *end => fence = None,
            Some(_) => {}
            None if trimmed.starts_with("```") => fence = Some(trimmed.chars().take_while(|c| *c == '`').collect()),
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// `toml part=flix norun="a reason"` → the language and its marks. Rust's own (`rust,no_run`) are left to rustdoc.
fn info(text: &str) -> (String, Vec<(String, String)>) {
    let text = text.trim();
    let (language, mut rest) = text.split_at(text.find([' ', ',']).unwrap_or(text.len()));
    let mut marks = Vec::new();
    while !rest.trim_start_matches([' ', ',']).is_empty() {
        rest = rest.trim_start_matches([' ', ',']);
        let end = rest.find([' ', ',', '=']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let (value, after) = match after.strip_prefix('=') {
            Some(quoted) if quoted.starts_with('"') => quoted[1..].split_once('"').unwrap_or((&quoted[1..], "")),
            Some(plain) => plain.split_at(plain.find([' ', ',']).unwrap_or(plain.len())),
            None => ("", after),
        };
        marks.push((key.to_owned(), value.to_owned()));
        rest = after;
    }
    (language.to_owned(), marks)
}

#[test]
fn marks_of_a_block_are_read() {
    let (language, marks) = info(r#"toml part=flix norun="needs three machines" data"#);
    let expected = [("part", "flix"), ("norun", "needs three machines"), ("data", "")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    assert_eq!((language.as_str(), marks), ("toml", expected.to_vec()));
}
