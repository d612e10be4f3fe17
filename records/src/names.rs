//! Names of the files in an experiment's folder.

use crate::manifest::RunCard;

/// What is planned.
pub const MANIFEST: &str = "manifest.json";
/// What came of it.
pub const SUMMARY: &str = "summary.json";
/// Measured rounds, one a line.
pub const ROWS: &str = "rows.jsonl";
/// Clients at the end of their run, one a line.
pub const CLIENTS: &str = "clients.jsonl";
/// Who counted how much for whom.
pub const MERITS: &str = "merits.bin";
/// What happened beside the rounds, one a line.
pub const EVENTS: &str = "events.jsonl";
/// What every other file held when it was written.
pub const CHECKSUMS: &str = "checksums.jsonl";
/// The experiment as it was written.
pub const EXPERIMENT: &str = "experiment.toml";
/// The folder of final models.
pub const MODELS: &str = "models";

/// A file that is there until the experiment is finished.
pub const UNFINISHED: &str = "resume/experiment.json";

/// Files that only grow.
pub const STREAMS: [&str; 4] = [ROWS, CLIENTS, MERITS, EVENTS];
/// Files that are replaced as a whole.
pub const WHOLE: [&str; 3] = [MANIFEST, SUMMARY, EXPERIMENT];

/// The file of a run's models, in its folder.
pub fn model(card: &RunCard) -> String {
    format!("{MODELS}/{}-{}-seed{}.safetensors", card.run, slug(&card.label), card.seed)
}

/// A label as a file name: ASCII letters, digits and `.-_=`. European letters lose their marks, or become two.
pub fn slug(label: &str) -> String {
    let mut slug = String::new();
    for c in label.chars() {
        match plain(c) {
            Some(letters) => slug += letters,
            None if c.is_ascii_alphanumeric() || ".-_=".contains(c) => slug.push(c),
            // The mark of the letter before, where it is written as one of its own.
            None if ('\u{300}'..'\u{370}').contains(&c) => {}
            None => slug.push('-'),
        }
    }
    slug.truncate(80);
    if slug.trim_matches(['.', '-']).is_empty() { "experiment".into() } else { slug }
}

/// What stands for a letter of a European language where there are none but those of ASCII.
fn plain(letter: char) -> Option<&'static str> {
    #[rustfmt::skip]
    const LETTERS: [(&str, &str); 51] = [
        ("ä", "ae"), ("Ä", "Ae"), ("ö", "oe"), ("Ö", "Oe"), ("ü", "ue"), ("Ü", "Ue"), ("ß", "ss"), ("æ", "ae"), ("Æ", "Ae"), ("œ", "oe"),
        ("Œ", "Oe"), ("þ", "th"), ("Þ", "Th"), ("àáâãåāăą", "a"), ("ÀÁÂÃÅĀĂĄ", "A"), ("çćĉċč", "c"), ("ÇĆĈĊČ", "C"), ("ďđð", "d"),
        ("ĎĐÐ", "D"), ("èéêëēĕėęě", "e"), ("ÈÉÊËĒĔĖĘĚ", "E"), ("ĝğġģ", "g"), ("ĜĞĠĢ", "G"), ("ĥħ", "h"), ("ĤĦ", "H"), ("ìíîïĩīĭįı", "i"),
        ("ÌÍÎÏĨĪĬĮİ", "I"), ("ĵ", "j"), ("Ĵ", "J"), ("ķ", "k"), ("Ķ", "K"), ("ĺļľŀł", "l"), ("ĹĻĽĿŁ", "L"), ("ñńņň", "n"), ("ÑŃŅŇ", "N"),
        ("òóôõøōŏő", "o"), ("ÒÓÔÕØŌŎŐ", "O"), ("ŕŗř", "r"), ("ŔŖŘ", "R"), ("śŝşšș", "s"), ("ŚŜŞŠȘ", "S"), ("ţťŧț", "t"), ("ŢŤŦȚ", "T"),
        ("ùúûũūŭůűų", "u"), ("ÙÚÛŨŪŬŮŰŲ", "U"), ("ŵ", "w"), ("Ŵ", "W"), ("ýÿŷ", "y"), ("ÝŸŶ", "Y"), ("źżž", "z"), ("ŹŻŽ", "Z"),
    ];
    LETTERS.iter().find(|(marked, _)| marked.contains(letter)).map(|(_, plain)| *plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_file_names() {
        assert_eq!(slug("flix alpha=0.1"), "flix-alpha=0.1");
        assert_eq!(slug("../.."), "experiment");
        assert_eq!(slug("a/b\\c:d"), "a-b-c-d");
        assert_eq!(slug("Filiale Süd, Köln"), "Filiale-Sued--Koeln");
        assert_eq!(slug("Œuvre de Besançon; Łódź; Málaga"), "Oeuvre-de-Besancon--Lodz--Malaga");
        assert_eq!(slug("Cafe\u{301} 北京"), "Cafe---");
        assert_eq!(slug(&"ü".repeat(60)).len(), 80);
    }
}
