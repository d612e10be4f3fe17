//! HTML within XML: tags away, entities to letters.

/// The letter of an entity without its `&` and `;`: a number, or one of the names in common use.
pub(super) fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "ndash" => '\u{2013}',
        "mdash" => '\u{2014}',
        "hellip" => '\u{2026}',
        "lsquo" => '\u{2018}',
        "rsquo" => '\u{2019}',
        "ldquo" => '\u{201c}',
        "rdquo" => '\u{201d}',
        _ => return None,
    })
}

/// Text without its tags; a block's end ends a line. A `<` or `&` that begins nothing stays as it is.
pub(super) fn without_tags(html: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(html.len()), html);
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = if rest.starts_with('<') { tag(rest, &mut text) } else { reference(rest, &mut text) };
        let taken = taken.unwrap_or_else(|| {
            text.push_str(&rest[..1]);
            1
        });
        rest = &rest[taken..];
    }
    text.push_str(rest);
    text
}

/// Skips a tag; gives its length.
fn tag(rest: &str, text: &mut String) -> Option<usize> {
    if !rest[1..].starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/' || letter == '!') {
        return None;
    }
    let end = rest.find('>')?;
    let name = rest[1..end].trim_start_matches('/').to_ascii_lowercase();
    let block = ["p", "br", "li", "pre", "div", "ul", "ol", "blockquote", "h1", "h2", "h3", "h4", "hr", "tr"];
    let whole = name.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
    if block.contains(&whole) {
        text.push('\n');
    }
    Some(end + 1)
}

/// Writes an entity's letter; gives the entity's length.
fn reference(rest: &str, text: &mut String) -> Option<usize> {
    // The longest name above has six letters, the longest number seven digits.
    let end = rest.char_indices().take(10).find(|(_, letter)| *letter == ';')?.0;
    text.push(entity(&rest[1..end])?);
    Some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_go_and_entities_become_letters() {
        let html = "<p>1 < 2 &amp;&amp; x &lt; y&#39;s</p><a href=\"u\">link</a> & so&hellip;<";
        assert_eq!(without_tags(html), "\n1 < 2 && x < y's\nlink & so\u{2026}<");
        assert_eq!(entity("#xe9"), Some('é'));
        assert_eq!((entity("#xd800"), entity("nothing")), (None, None));
    }
}
