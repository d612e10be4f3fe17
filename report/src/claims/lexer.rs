//! Text → tokens with their places.

use super::error::{Fault, Problem, Span};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Name(&'t str),
    Number(f64),
    /// Between double quotes; there are no escapes.
    Text(&'t str),
    Sign(&'static str),
}

/// Longer ones first: the first that fits is taken.
const SIGNS: [&str; 24] =
    ["+-", "<=", ">=", "==", "!=", "..", "±", "<", ">", "=", "+", "-", "*", "/", "^", "%", "(", ")", "[", "]", ",", ":", ".", "@"];

/// Bounds the depth of the tree, and with it the stack.
const MOST_TOKENS: usize = 800;

pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, Span)>, Fault> {
    let mut found = vec![];
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        }
        let (token, length) = token(&text[at..], next).map_err(|problem| Fault::new(&(at..at + next.len_utf8()), problem))?;
        found.push((token, at..at + length));
        at += length;
        if found.len() > MOST_TOKENS {
            return Err(Fault::new(&(0..text.len()), Problem::TooLong));
        }
    }
    Ok(found)
}

/// The token that `rest` starts with, and its length.
fn token(rest: &str, first: char) -> Result<(Token<'_>, usize), Problem> {
    if first.is_alphabetic() || first == '_' {
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        return Ok((Token::Name(&rest[..length]), length));
    }
    if first.is_ascii_digit() {
        let length = number_length(rest.as_bytes());
        let number = rest[..length].parse::<f64>().ok().filter(|x| x.is_finite()).ok_or(Problem::Range)?;
        return Ok((Token::Number(number), length));
    }
    if first == '"' {
        let length = rest[1..].find('"').ok_or(Problem::Unclosed)?;
        return Ok((Token::Text(&rest[1..1 + length]), length + 2));
    }
    let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign)).ok_or(Problem::Character(first))?;
    Ok((Token::Sign(if sign == "±" { "+-" } else { sign }), sign.len()))
}

/// `12`, `1.5`, `1e-6`; the dots of `5..9` are not part of the number.
fn number_length(rest: &[u8]) -> usize {
    let digits = |from: usize| rest.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(0);
    if rest.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(rest.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_before_ranges_names_and_bare_exponents() {
        let kinds = |text| tokens(text).unwrap().into_iter().map(|(t, _)| t).collect::<Vec<_>>();
        assert_eq!(kinds("5..9"), [Token::Number(5.0), Token::Sign(".."), Token::Number(9.0)]);
        assert_eq!(kinds("1.5e-6"), [Token::Number(1.5e-6)]);
        assert_eq!(kinds("2e"), [Token::Number(2.0), Token::Name("e")]);
        assert_eq!(kinds("a +- 2%"), [Token::Name("a"), Token::Sign("+-"), Token::Number(2.0), Token::Sign("%")]);
    }
}
