//! A thousand damages to a folder: each is named or harmless, and none is averaged in.

use std::fs;
use std::path::{Path, PathBuf};

use motet_records::{Records, WholeFiles, names, verify};

use crate::writing::{files, write};

/// Fixed dice (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % n as u64) as usize
    }
}

/// What is done to a file, and what it is then; none if it is removed.
fn damage(bytes: &[u8], dice: &mut Dice) -> (String, Option<Vec<u8>>) {
    let at = dice.below(bytes.len());
    match dice.below(6) {
        0 => ("removed".into(), None),
        1 => (format!("cut at {at}"), Some(bytes[..at].to_vec())),
        2 => {
            // The line around that byte, twice.
            let from = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |k| k + 1);
            let to = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |k| at + k + 1);
            (format!("bytes {from} to {to} doubled"), Some([&bytes[..to], &bytes[from..to], &bytes[to..]].concat()))
        }
        _ => {
            let mut bad = bytes.to_vec();
            bad[at] ^= 1 + dice.below(255) as u8;
            (format!("byte {at} changed to {}", bad[at]), Some(bad))
        }
    }
}

/// Everything that readers give.
fn read(folder: &Path) -> Result<Records, String> {
    let mut records = Records::read(folder).map_err(|e| e.to_string())?;
    records.read_models(folder).map_err(|e| e.to_string())?;
    Ok(records)
}

/// NaN is equal to nothing, but its words are.
fn words(records: &Records) -> String {
    format!("{records:?}")
}

#[test]
fn a_thousand_damages_are_named_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    // What a report leaves is read by nobody here.
    fs::write(folder.path().join("report.html"), "<p>drawn again by motet report</p>\n").unwrap();
    let (all, whole) = (files(folder.path()), words(&read(folder.path()).unwrap()));
    let (mut dice, mut named, mut harmless) = (Dice(17), 0, 0);
    for turn in 0..1000 {
        let path: &PathBuf = &all[dice.below(all.len())];
        let name = path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
        let before = fs::read(path).unwrap();
        let (what, after) = damage(&before, &mut dice);
        match &after {
            Some(bytes) => fs::write(path, bytes).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        let at = format!("turn {turn}: {name}, {what}");
        let found = verify(folder.path()).unwrap();
        match read(folder.path()) {
            // Readers ignore it, and get what was written.
            Ok(records) => {
                assert_eq!(words(&records), whole, "{at}");
                assert!(name == "report.html" || !found.damaged.is_empty() || name == names::CHECKSUMS, "{at}: {found:?}");
                harmless += 1;
            }
            Err(said) => {
                // A damaged checksum may speak of another file, or of none: then the file that it was of is named.
                assert!(said.contains(&name) || name == names::CHECKSUMS, "{at}: {said}");
                assert!(!found.damaged.is_empty(), "{at}: {said}");
                named += 1;
            }
        }
        if name.starts_with(names::MODELS)
            && let Some(bytes) = after
        {
            assert!(WholeFiles::of(folder.path()).unwrap().fit(&name, &bytes).is_err(), "{at}");
        }
        fs::write(path, before).unwrap();
    }
    assert_eq!(words(&read(folder.path()).unwrap()), whole);
    println!("{named} of 1000 damages named, {harmless} in what readers ignore");
    assert!(named > 800 && harmless > 50, "{named} named, {harmless} harmless");
}
