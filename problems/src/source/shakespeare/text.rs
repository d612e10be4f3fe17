//! Speeches in JSON lines, and in text where a line `Speaker:` begins each block.

use serde::Deserialize;

use super::Speech;
use crate::error::ProblemError;
use crate::source::open::shown;

/// What a line has; act and scene are not used.
#[derive(Deserialize)]
struct Line {
    play: String,
    role: String,
    text: String,
}

/// One object a line, with `play`, `role` and `text`.
pub(super) fn read_json_lines(bytes: &[u8], file: &str) -> Result<Vec<Speech>, ProblemError> {
    let lines = bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = |(k, line): (usize, &[u8])| match serde_json::from_slice::<Line>(line) {
        Ok(Line { play, role, text }) => Ok(Speech { play, role, text }),
        Err(cause) => Err(ProblemError::Odd {
            file: file.into(),
            place: format!("line {}", k + 1),
            what: format!("{cause}; each line must be {{\"play\": ..., \"role\": ..., \"text\": ...}}"),
        }),
    };
    lines.map(read).collect()
}

/// Blocks with empty lines between them, the first line of each `Speaker:`. One play, or many without their names.
pub(super) fn read_speaker_lines(bytes: &[u8], file: &str) -> Result<Vec<Speech>, ProblemError> {
    let odd = |line: usize, what: String| ProblemError::Odd { file: file.into(), place: format!("line {line}"), what };
    let text = std::str::from_utf8(bytes).map_err(|cause| {
        let line = bytes[..cause.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        odd(line, "this is not UTF-8 text".into())
    })?;
    let (mut speeches, mut lines): (Vec<Speech>, Vec<&str>) = (vec![], vec![]);
    let mut speaker: Option<&str> = None;
    for (k, line) in text.lines().map(str::trim_end).enumerate().chain([(usize::MAX - 1, "")]) {
        match (speaker, line) {
            (None, "") => {}
            (None, line) => {
                let role = line.strip_suffix(':').filter(|role| !role.is_empty());
                let wanted = || odd(k + 1, format!("`{}` begins a speech, and is not `Speaker:`", shown(line.as_bytes())));
                speaker = Some(role.ok_or_else(wanted)?);
            }
            (Some(role), "") => {
                if !lines.is_empty() {
                    speeches.push(Speech { play: String::new(), role: role.into(), text: lines.join("\n") });
                }
                lines.clear();
                speaker = None;
            }
            (Some(_), line) => lines.push(line),
        }
    }
    Ok(speeches)
}
