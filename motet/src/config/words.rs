//! What serde says is wrong with a value, in the words of people who write experiment files.

use super::document::closest;

/// "invalid type: string "x", expected u64" is "must be a whole number from 0, got "x""; other messages stay as they are, but
/// for a suggestion where a name is unknown.
pub(crate) fn in_plain_words(message: &str) -> String {
    if let Some(told) = mistaken(message) {
        return told;
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("{name} is missing");
    }
    let named = message.strip_prefix("unknown field").map(|rest| format!("unknown key{rest}"));
    with_suggestion(&named.unwrap_or_else(|| message.replacen("unknown variant", "unknown word", 1)))
}

/// Adds "did you mean" to "unknown key `x`, expected one of …".
fn with_suggestion(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match names.split_first() {
        Some((unknown, known)) if message.starts_with("unknown") => match closest(unknown, known.iter().copied()) {
            Some(name) => format!("{message}; did you mean `{name}`?"),
            None => message.to_owned(),
        },
        _ => message.to_owned(),
    }
}

/// A value of another type or range than is wanted.
fn mistaken(message: &str) -> Option<String> {
    let told = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (got, expected) = told.rsplit_once(", expected ")?;
    Some(format!("must be {}, got {}", wanted(expected), given(got)))
}

/// What serde expects, without types of Rust.
fn wanted(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "str" | "path string" => "a text",
        "a sequence" => "a list",
        "a map" => "a table",
        "string or map" => "a word or a table",
        other if other.starts_with("a nonzero u") => "a whole number from 1",
        other if other.starts_with("struct ") => "a table",
        other if other.contains(" tagged enum ") => "a table with a kind, as in { kind = \"...\" }",
        other if other.starts_with("enum ") || other.ends_with(" identifier") => "a word",
        other if other.starts_with("an array of length") || other.starts_with("a tuple of size") || other.starts_with("tuple ") => "a list",
        other => other,
    }
}

/// What serde found: "integer `-5`" is -5.
fn given(got: &str) -> &str {
    match got {
        "map" => "a table",
        "sequence" => "a list",
        "null" | "unit value" | "Option value" => "nothing",
        other => match other.strip_prefix("string ") {
            Some(text) => text,
            None => other.split_once('`').map_or(other, |(_, number)| number.trim_end_matches('`')),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_rust_are_told_in_words() {
        for (said, meant) in [
            ("invalid value: integer `-5`, expected u64", "must be a whole number from 0, got -5"),
            ("invalid value: integer `0`, expected a nonzero u32", "must be a whole number from 1, got 0"),
            ("invalid type: string \"x, expected y\", expected f64", "must be a number, got \"x, expected y\""),
            ("invalid type: floating point `1.5`, expected usize", "must be a whole number from 0, got 1.5"),
            ("invalid type: boolean `true`, expected struct Holdout", "must be a table, got true"),
            ("invalid type: map, expected a string", "must be a text, got a table"),
            ("missing field `rounds`", "`rounds` is missing"),
            ("must be a number from 0 to 1, got 2", "must be a number from 0 to 1, got 2"),
        ] {
            assert_eq!(in_plain_words(said), meant);
        }
    }

    #[test]
    fn misspelt_keys_get_a_suggestion() {
        let text = in_plain_words("unknown field `alhpa`, expected one of `alpha`, `step`");
        assert_eq!(text, "unknown key `alhpa`, expected one of `alpha`, `step`; did you mean `alpha`?");
        assert_eq!(closest("zzzzzz", ["alpha"].into_iter()), None);
    }
}
