//! Letters of a table that is not UTF-8.

use serde::{Deserialize, Serialize};

use crate::error::ProblemError;

/// How the letters of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// As nearly every file is.
    #[serde(rename = "utf-8")]
    Utf8,
    /// Two bytes a letter, as some spreadsheets save "Unicode text".
    #[serde(rename = "utf-16")]
    Utf16,
    /// One byte a letter: Western Europe, with the signs that Windows has besides (Windows-1252).
    #[serde(rename = "latin-1")]
    Latin1,
}

/// The same text in UTF-8. Where nobody says what it is, it must be UTF-8 and tells what else it seems to be.
pub(super) fn decoded(text: Vec<u8>, encoding: Option<Encoding>, file: &str) -> Result<Vec<u8>, ProblemError> {
    let odd = |place: String, what: &str| ProblemError::Odd { file: file.into(), place, what: what.into() };
    let line = |before: &str| format!("line {}", before.matches('\n').count() + 1);
    match encoding {
        Some(Encoding::Latin1) => Ok(text.iter().map(|&byte| latin(byte)).collect::<String>().into_bytes()),
        Some(Encoding::Utf16) => {
            let (pairs, rest) = text.as_chunks::<2>();
            let big = text.starts_with(&[0xfe, 0xff]) || text.first() == Some(&0);
            let units = pairs.iter().map(|&pair| if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) });
            let mut decoded = String::with_capacity(text.len());
            for letter in char::decode_utf16(units) {
                match letter {
                    Ok(letter) => decoded.push(letter),
                    Err(_) => return Err(odd(line(&decoded), "this is not UTF-16 text")),
                }
            }
            if rest.is_empty() { Ok(decoded.into_bytes()) } else { Err(odd("last byte".into(), "UTF-16 text has two bytes a letter")) }
        }
        Some(Encoding::Utf8) | None => {
            if text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff]) || text.iter().take(4).any(|&byte| byte == 0) {
                return Err(odd(
                    "first bytes".into(),
                    "this is UTF-16 and not UTF-8: `encoding = \"utf-16\"` (or --encoding utf-16) reads it",
                ));
            }
            match str::from_utf8(&text) {
                Ok(_) => Ok(text),
                Err(cause) => {
                    let what = "this is not UTF-8 text: say `encoding = \"latin-1\"` or `encoding = \"utf-16\"` (on the command line --encoding latin-1, which Excel's CSV often is), or save it as UTF-8";
                    Err(odd(line(&String::from_utf8_lossy(&text[..cause.valid_up_to()])), what))
                }
            }
        }
    }
}

/// A letter of Windows-1252, which has signs where Latin-1 has none.
fn latin(byte: u8) -> char {
    const SIGNS: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•',
        '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    if (0x80..0xa0).contains(&byte) { SIGNS[usize::from(byte) - 0x80] } else { char::from(byte) }
}
