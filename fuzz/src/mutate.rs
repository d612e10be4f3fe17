//! Ways to damage an input, as time, transport and ill will do.

use motet::core::Rng;

/// No input is longer.
const LONGEST: usize = 900_000;

/// Numbers at the edges of what programs count with.
const EDGES: [&str; 24] = [
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "0.5",
    "255",
    "256",
    "65536",
    "1e6",
    "1000000000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "1e18",
    "1e300",
    "1e999",
    "-1e308",
    "nan",
    "inf",
];

/// One of the inputs, damaged in one place or a few. The first `head` bytes stay.
pub fn mutate(corpus: &[Vec<u8>], words: &[String], head: usize, dice: &mut Rng) -> Vec<u8> {
    let mut whole = corpus[dice.below(corpus.len())].clone();
    let mut bytes = whole.split_off(head.min(whole.len()));
    let other = &corpus[dice.below(corpus.len())];
    let edits = 1 + dice.below(2) * dice.below(4);
    for _ in 0..edits {
        edit(&mut bytes, other.get(head..).unwrap_or_default(), words, dice);
        bytes.truncate(LONGEST);
    }
    whole.extend(bytes);
    whole
}

fn edit(bytes: &mut Vec<u8>, other: &[u8], words: &[String], dice: &mut Rng) {
    let at = dice.below(bytes.len() + 1);
    let span = stretch(bytes.len(), dice);
    match dice.below(16) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        1 if at < bytes.len() => bytes[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, b' ', b'\n', b'"', b'0'][dice.below(10)],
        2 => drop(bytes.splice(at..at, (0..1 + dice.below(8)).map(|_| dice.next_u64() as u8).collect::<Vec<_>>())),
        3 => drop(bytes.drain(span)),
        4 => {
            let copy = bytes[span].to_vec();
            bytes.splice(at..at, copy);
        }
        5 => {
            let copy = bytes[span].to_vec();
            let times = [2, 3, 10, 100, 1000][dice.below(5)];
            bytes.splice(at..at, copy.repeat(times.min(LONGEST / copy.len().max(1))));
        }
        6 => {
            let from = stretch(other.len(), dice);
            bytes.splice(span, other[from].iter().copied());
        }
        7 => bytes.truncate(at),
        8 | 9 if !words.is_empty() => {
            let word = words[dice.below(words.len())].as_bytes();
            // In the place of another word, or between two.
            let place = if dice.coin(0.5) { at..at } else { number_or_word(bytes, at) };
            bytes.splice(place, word.iter().copied());
        }
        10 | 11 => {
            let place = number_or_word(bytes, at);
            bytes.splice(place, EDGES[dice.below(EDGES.len())].bytes());
        }
        12 => {
            let edge =
                [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, u64::MAX >> 1, u64::MAX][dice.below(12)];
            let width = [1, 2, 4, 8][dice.below(4)];
            let number = if dice.coin(0.5) { edge.to_le_bytes()[..width].to_vec() } else { edge.to_be_bytes()[8 - width..].to_vec() };
            if at + width <= bytes.len() {
                bytes.splice(at..at + width, number);
            }
        }
        13 => drop(bytes.drain(line(bytes, at))),
        14 => {
            let (from, to) = (line(bytes, at), dice.below(bytes.len() + 1));
            let copy = bytes[from].to_vec();
            let to = line(bytes, to).start;
            bytes.splice(to..to, copy);
        }
        _ => {
            // Brackets that open and never close, or close what was never open.
            let bracket = [b"[", b"{", b"(", b"]", b"}", b")", b"<", b"\"", b",", b"\t", b";"][dice.below(11)];
            bytes.splice(at..at, bracket.repeat([1, 2, 50, 5000][dice.below(4)]));
        }
    }
}

/// A stretch, mostly a short one.
fn stretch(length: usize, dice: &mut Rng) -> std::ops::Range<usize> {
    let from = dice.below(length + 1);
    let longest = [4, 16, 64, length][dice.below(4)].min(length - from);
    from..from + dice.below(longest + 1)
}

/// The letters and digits around a place.
fn number_or_word(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-+".contains(byte);
    let from = bytes[..at].iter().rposition(|byte| !part(byte)).map_or(0, |before| before + 1);
    let to = bytes[at..].iter().position(|byte| !part(byte)).map_or(bytes.len(), |after| at + after);
    from..to
}

/// The line around a place, with its end.
fn line(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let from = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1);
    let to = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |after| at + after + 1);
    from..to
}

#[cfg(test)]
mod tests {
    use motet::core::Seed;

    use super::*;

    #[test]
    fn damage_is_a_function_of_the_dice_and_leaves_the_head() {
        let corpus = [b"\x01first line 12\nsecond 3.5\n".to_vec(), b"\x01{\"other\": [1, 2]}".to_vec()];
        let words = ["kind".to_owned()];
        let damaged = |k: u64| mutate(&corpus, &words, 1, &mut Seed(7).problem(k));
        let mut changed = 0;
        for k in 0..2000 {
            let input = damaged(k);
            assert_eq!((&input, input[0]), (&damaged(k), 1), "{k}");
            assert!(input.len() <= LONGEST + 1);
            changed += usize::from(!corpus.contains(&input));
        }
        assert!(changed > 1600, "{changed} of 2000 differ");
        assert_eq!(mutate(&[vec![]], &[], 1, &mut Seed(1).problem(0)).len(), mutate(&[vec![]], &[], 1, &mut Seed(1).problem(0)).len());
    }
}
