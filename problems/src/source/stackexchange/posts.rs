//! One pass over a Posts.xml: `<row Id=".." PostTypeId="1|2" ParentId=".." OwnerUserId=".." Tags=".." Title=".." Body=".." />`.

use std::io::BufRead;

use quick_xml::events::{BytesStart, Event};

use crate::error::ProblemError;
use crate::source::markup::without_tags;
use crate::source::open::shown;
use crate::source::words::{Lexicon, words};

/// A question or an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Post {
    pub(super) id: u64,
    /// The question, if this is an answer.
    pub(super) parent: Option<u64>,
    /// Number of the user on his site; none if he is gone, and then only a question's tags are of use.
    pub(super) user: Option<i64>,
    pub(super) tags: Vec<String>,
    /// Words of each sentence, none of them empty; a bag is one.
    pub(super) words: Vec<Vec<u32>>,
}

/// Reads posts and counts their words.
pub(super) struct Reader<'a> {
    /// Cut at full stops?
    pub(super) sentences: bool,
    pub(super) lexicon: &'a mut Lexicon,
}

impl Reader<'_> {
    pub(super) fn read(&mut self, text: impl BufRead, file: &str) -> Result<Vec<Post>, ProblemError> {
        let mut reader = quick_xml::Reader::from_reader(text);
        let (mut posts, mut buffer, mut row, mut depth) = (vec![], vec![], 0usize, 0usize);
        loop {
            let event = reader.read_event_into(&mut buffer);
            let at = reader.buffer_position();
            let odd = |what: String| ProblemError::Odd { file: file.into(), place: format!("row {row} (byte {at})"), what };
            match event.map_err(|cause| odd(cause.to_string()))? {
                Event::Start(tag) if depth == 0 && tag.name().as_ref() != b"posts" => {
                    let name = shown(tag.name().as_ref());
                    return Err(odd(format!("<{name}> is where <posts> should begin: this is not a Posts.xml")));
                }
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                Event::Empty(tag) if tag.name().as_ref() == b"row" => {
                    row += 1;
                    let odd = |what: String| ProblemError::Odd { file: file.into(), place: format!("row {row} (byte {at})"), what };
                    posts.extend(self.post(&tag).map_err(odd)?);
                }
                Event::Eof if depth > 0 => return Err(odd("the file ends before </posts>".into())),
                Event::Eof if row == 0 => return Err(ProblemError::NoExamples { file: file.into() }),
                Event::Eof => return Ok(posts),
                _ => {}
            }
            buffer.clear();
        }
    }

    /// What a row says; nothing if it is no question or answer.
    fn post(&mut self, row: &BytesStart<'_>) -> Result<Option<Post>, String> {
        let (mut post, mut kind, mut user) = (Post::default(), None, None);
        let (mut id, mut title, mut body) = (None, String::new(), String::new());
        for attribute in row.attributes() {
            let attribute = attribute.map_err(|cause| cause.to_string())?;
            let name = attribute.key.as_ref();
            if !matches!(name, b"Id" | b"PostTypeId" | b"ParentId" | b"OwnerUserId" | b"Tags" | b"Title" | b"Body") {
                continue;
            }
            let value = attribute.unescape_value().map_err(|cause| cause.to_string())?;
            match name {
                b"Id" => id = Some(whole("Id", &value)?),
                b"PostTypeId" => kind = Some(whole("PostTypeId", &value)?),
                b"ParentId" => post.parent = Some(whole("ParentId", &value)?),
                b"OwnerUserId" => {
                    user = Some(value.parse().map_err(|_| format!("OwnerUserId=\"{}\" is not a number", shown(value.as_bytes())))?)
                }
                b"Tags" => post.tags = value.split(['<', '>', '|']).filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
                b"Title" => title = value.into_owned(),
                _ => body = value.into_owned(),
            }
        }
        post.id = id.ok_or("the row has no Id")?;
        let kind = kind.ok_or("the row has no PostTypeId")?;
        if kind != 1 && kind != 2 {
            return Ok(None);
        }
        if kind == 2 && post.parent.is_none() {
            return Err("an answer without ParentId".into());
        }
        post.user = user;
        // A question may have been split off another; its own tags count.
        post.parent = post.parent.filter(|_| kind == 2);
        if user.is_none() {
            return Ok(Some(post));
        }
        let text = format!("{title}\n{}", without_tags(&body));
        let cuts = |letter: char| self.sentences && matches!(letter, '.' | '?' | '!' | '\n' | ';' | ':');
        post.words = text.split(cuts).map(|part| words(part).map(|word| self.lexicon.see(word)).collect()).collect();
        post.words.retain(|sentence: &Vec<u32>| !sentence.is_empty());
        Ok(Some(post))
    }
}

fn whole(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{name}=\"{}\" is not a whole number", shown(value.as_bytes())))
}
