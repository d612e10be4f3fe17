//! PlayShakespeare.com's XML: `<play unique="...">`, `<sp>` with `<speaker long="...">` and lines `<l>`.

use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::Speech;
use crate::error::ProblemError;

/// Where a tar says what it is.
const MAGIC: std::ops::Range<usize> = 257..262;

pub(super) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(MAGIC) == Some(b"ustar")
}

/// Every play of a tar, by the names of its files; poems have no speeches.
pub(super) fn read_tar(bytes: &[u8], file: &str) -> Result<Vec<Speech>, ProblemError> {
    let odd = |cause: std::io::Error| ProblemError::Odd { file: file.into(), place: "tar archive".into(), what: cause.to_string() };
    let mut plays = vec![];
    for entry in tar::Archive::new(Cursor::new(bytes)).entries().map_err(odd)? {
        let mut entry = entry.map_err(odd)?;
        let name = entry.path().map_err(odd)?.to_string_lossy().into_owned();
        // Files with holes are left out: a few bytes may say that a terabyte of them is empty.
        if name.ends_with(".xml") && entry.header().entry_type().is_file() {
            let mut text = vec![];
            entry.read_to_end(&mut text).map_err(odd)?;
            if text.len() as u64 != entry.size() {
                return Err(ProblemError::Odd { file: file.into(), place: name, what: "the archive ends within this file".into() });
            }
            plays.push((name, text));
        }
    }
    plays.sort();
    let read = |(name, text): (String, Vec<u8>)| read_play(&text, &format!("{file}: {name}"));
    Ok(plays.into_iter().map(read).collect::<Result<Vec<_>, _>>()?.concat())
}

/// One play; stage directions are left out.
pub(super) fn read_play(text: &[u8], file: &str) -> Result<Vec<Speech>, ProblemError> {
    let mut reader = Reader::from_reader(text);
    let mut scribe = Scribe::default();
    let mut buffer = vec![];
    loop {
        let event = reader.read_event_into(&mut buffer);
        let at = reader.buffer_position();
        let odd = |what: String| ProblemError::Odd { file: file.into(), place: format!("byte {at}"), what };
        let event = event.map_err(|cause| odd(cause.to_string()))?;
        match event {
            Event::Start(tag) => scribe.open(&tag).map_err(odd)?,
            Event::Empty(_) => {}
            Event::End(tag) => scribe.close(tag.name().as_ref()),
            Event::Text(text) => scribe.write(&text.decode().map_err(|cause| odd(cause.to_string()))?),
            Event::GeneralRef(entity) => {
                let name = entity.decode().map_err(|cause| odd(cause.to_string()))?;
                let letter = crate::source::markup::entity(&name).ok_or_else(|| odd(format!("`&{name};` is not an entity")))?;
                scribe.write(letter.encode_utf8(&mut [0; 4]));
            }
            Event::Eof if scribe.depth > 0 => return Err(odd("the file ends within an element".into())),
            Event::Eof => return Ok(scribe.speeches),
            _ => {}
        }
        buffer.clear();
    }
}

/// What was read so far.
#[derive(Default)]
struct Scribe {
    depth: usize,
    play: String,
    role: Option<String>,
    lines: Vec<String>,
    /// Text is taken within a line, and not within a stage direction in it.
    line: bool,
    aside: usize,
    speeches: Vec<Speech>,
}

impl Scribe {
    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        self.depth += 1;
        match tag.name().as_ref() {
            b"play" => self.play = attribute(tag, "unique")?.replace('_', "-"),
            b"speaker" => self.role = Some(plain(&attribute(tag, "long")?)),
            b"l" => {
                self.lines.push(String::new());
                self.line = true;
            }
            b"stage" | b"dir" => self.aside += 1,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &[u8]) {
        self.depth = self.depth.saturating_sub(1);
        match name {
            b"sp" => {
                let lines: Vec<String> = self.lines.drain(..).map(|line| plain(&line)).filter(|line| !line.is_empty()).collect();
                if let Some(role) = self.role.take().filter(|_| !lines.is_empty()) {
                    self.speeches.push(Speech { play: self.play.clone(), role, text: lines.join("\n") });
                }
            }
            b"l" => self.line = false,
            b"stage" | b"dir" => self.aside = self.aside.saturating_sub(1),
            _ => {}
        }
    }

    fn write(&mut self, text: &str) {
        if let Some(line) = self.lines.last_mut().filter(|_| self.line && self.aside == 0) {
            line.push_str(text);
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<String, String> {
    let found = tag.try_get_attribute(name).map_err(|cause| cause.to_string())?;
    let found = found.ok_or_else(|| format!("<{}> has no {name}=\"...\"", String::from_utf8_lossy(tag.name().as_ref())))?;
    Ok(found.unescape_value().map_err(|cause| cause.to_string())?.into_owned())
}

/// Typewriter's characters: straight quotes, dashes as `--`, no accents, one space where there are several.
fn plain(text: &str) -> String {
    let mut typed = String::with_capacity(text.len());
    for letter in text.nfd().filter(|&letter| !is_combining_mark(letter)) {
        match letter {
            '\u{2018}' | '\u{2019}' => typed.push('\''),
            '\u{201c}' | '\u{201d}' => typed.push('"'),
            '\u{2014}' => typed.push_str("--"),
            '\u{2013}' => typed.push('-'),
            '\u{2060}' => {}
            '\u{2026}' => typed.push_str("..."),
            'æ' => typed.push_str("ae"),
            'Æ' => typed.push_str("Ae"),
            'œ' => typed.push_str("oe"),
            'Œ' => typed.push_str("Oe"),
            letter => typed.push(letter),
        }
    }
    typed.split_whitespace().collect::<Vec<_>>().join(" ")
}
