//! The header of a method's file against its code: every numbered line of the pseudo-code is cited.

use std::collections::BTreeSet;

/// Lines of a header that no comment cites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncited(pub Vec<u32>);

impl std::fmt::Display for Uncited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no comment cites line {:?} of the header", self.0)
    }
}

impl std::error::Error for Uncited {}

/// Are the numbered lines of the header's pseudo-code all cited in the code, as `line 3`, `lines 2 and 3`,
/// `lines 2, 3 and 5` or `lines 2 to 5`? Gives how many there are.
///
/// ```
/// let source = "//! ```text\n//! round  1  x ← 0\n//!        2  y ← x\n//! ```\nfn f() {} // line 1\n";
/// assert_eq!(motet_conformance::uncited_lines(source).unwrap_err().0, [2]);
/// ```
pub fn uncited_lines(source: &str) -> Result<usize, Uncited> {
    let numbered = numbered(source);
    let cited: BTreeSet<u32> = source.lines().filter(|line| !line.trim_start().starts_with("//!")).flat_map(citations).collect();
    let missing: Vec<u32> = numbered.difference(&cited).copied().collect();
    if missing.is_empty() { Ok(numbered.len()) } else { Err(Uncited(missing)) }
}

/// Numbers at the head of a line of the first text block, with at most one word (`before`, `round`) in front.
fn numbered(source: &str) -> BTreeSet<u32> {
    let header = source.lines().map_while(|line| line.strip_prefix("//!")).skip_while(|line| line.trim() != "```text").skip(1);
    let block = header.take_while(|line| line.trim() != "```");
    block.filter_map(|line| line.split_whitespace().take(2).find_map(|word| word.parse().ok())).collect()
}

/// The numbers after each `line` or `lines` of a comment.
fn citations(code: &str) -> BTreeSet<u32> {
    let mut cited = BTreeSet::new();
    let Some((_, comment)) = code.split_once("//") else { return cited };
    let text = comment.to_lowercase().replace(',', " ");
    let mut words = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).peekable();
    while let Some(word) = words.next() {
        if word != "line" && word != "lines" {
            continue;
        }
        let (mut last, mut range) = (None, false);
        while let Some(word) = words.next_if(|word| matches!(*word, "and" | "to") || word.parse::<u32>().is_ok()) {
            match word.parse::<u32>() {
                Ok(number) => {
                    cited.extend(if range { last.unwrap_or(number)..=number } else { number..=number });
                    (last, range) = (Some(number), false);
                }
                Err(_) => range = word == "to",
            }
        }
    }
    cited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_read_as_people_write_them() {
        let cited = |text: &str| citations(text).into_iter().collect::<Vec<_>>();
        assert_eq!(cited("x += 1; // line 3"), [3]);
        assert_eq!(cited("/// Lines 2 and 3."), [2, 3]);
        assert_eq!(cited("// lines 2, 4 and 7: why"), [2, 4, 7]);
        assert_eq!(cited("// lines 2 to 5"), [2, 3, 4, 5]);
        assert_eq!(cited("// Line 4 divides by n; see line 1"), [1, 4]);
        assert!(cited("let line = 3;").is_empty());
    }

    #[test]
    fn headers_without_numbers_need_no_citations() {
        assert_eq!(uncited_lines("//! A method.\n//!\n//! ```text\n//! x = 1\n//! ```\n"), Ok(0));
    }
}
