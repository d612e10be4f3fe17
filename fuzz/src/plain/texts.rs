//! Texts: LEAF's JSON, plays as lines, comments.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use motet::problems::{Matrix, Targets};
use serde_json::Value;

use super::{Found, Opinion, Plainly, different, opinion, row, same, same_classes, same_clients, same_labels, same_numbers, same_rows};

/// LEAF's JSON: `{"user_data": {"ann": {"x": [[0.5, 1]], "y": [3]}}}`.
pub(crate) fn leaf(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        // Keys that stand twice, of which the last is kept there.
        let text = std::str::from_utf8(&files[0]).map_err(|_| Opinion::None)?;
        let Ok(all) = serde_json::from_str::<Value>(text) else { return different("no JSON") };
        let users = all["user_data"].as_object().ok_or(Opinion::Different("no users".into()))?;
        let keys = found.dataset.keys.as_deref().unwrap_or_default();
        let Targets::Classes { labels, .. } = &found.dataset.targets else { return Err(Opinion::None) };
        let (mut seen, mut plain_labels, mut classes) = (0, vec![], vec![]);
        for (key, name) in found.dataset.names.iter().enumerate() {
            let Some(user) = users.get(name) else { return different(format!("a user {name}")) };
            let (x, y) = (user["x"].as_array(), user["y"].as_array());
            let (Some(x), Some(y)) = (x, y) else { return different(format!("no lists of {name}")) };
            let ours: Vec<usize> = (0..keys.len()).filter(|&at| keys[at] as usize == key).collect();
            same(&format!("examples of {name}"), &(x.len(), y.len()), &(ours.len(), ours.len()))?;
            for ((x, y), at) in x.iter().zip(y).zip(ours) {
                let numbers: Vec<f64> = x.as_array().into_iter().flatten().map(|v| v.as_f64().unwrap_or(f64::NAN)).collect();
                let numbers: Vec<f64> = match &found.dataset.features {
                    Matrix::Dense(_) | Matrix::Sparse(_) => numbers,
                    // In single precision.
                    Matrix::Single(_) => numbers.into_iter().map(|v| f64::from(v as f32)).collect(),
                    // Pixels are kept as bytes where all of them are so many 255ths, but for their last digit in single precision.
                    Matrix::Bytes(_) => {
                        let byte = |v: f64| f64::from(((255.0 * v).round() as f32) * (1.0 / 255.0));
                        numbers.into_iter().map(|v| if (byte(v) - v).abs() < 1e-6 { byte(v) } else { v }).collect()
                    }
                };
                same_numbers(&format!("an example of {name}"), &numbers, &row(&found.dataset.features, at))?;
                plain_labels.push(y.as_f64().map_or_else(|| y.to_string(), |y| (y + 0.0).to_string()));
                classes.push(labels[at]);
                seen += 1;
            }
        }
        same("examples", &seen, &found.dataset.len())?;
        same_classes(&plain_labels, &classes)
    })())
}

/// Names, texts and targets of LEAF's users, in the order of their names.
fn leaf_examples(file: &[u8]) -> Plainly<Vec<(String, Value, Value)>> {
    let text = std::str::from_utf8(file).map_err(|_| Opinion::None)?;
    let Ok(all) = serde_json::from_str::<Value>(text) else { return different("no JSON") };
    let Some(users) = all["user_data"].as_object() else { return different("no users") };
    let lists = |(name, user): (&String, &Value)| {
        let (x, y) = (user["x"].as_array().cloned().unwrap_or_default(), user["y"].as_array().cloned().unwrap_or_default());
        x.into_iter().zip(y).map(|(x, y)| (name.clone(), x, y)).collect::<Vec<_>>()
    };
    // Ours are in the order of the file, which a table of names does not keep: one user is enough here.
    if users.len() == 1 { Ok(users.iter().flat_map(lists).collect()) } else { Err(Opinion::None) }
}

/// LEAF's letters by number, and the number of all others.
const LETTERS: &str = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";

/// LEAF's Shakespeare: a text, and the letter that follows it.
pub(crate) fn leaf_texts(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let examples = leaf_examples(&files[0])?;
        let number = |letter: char| LETTERS.chars().position(|known| known == letter).unwrap_or(LETTERS.chars().count());
        let mut rows = vec![];
        for (_, x, y) in &examples {
            let (Some(x), Some(y)) = (x.as_str(), y.as_str()) else { return Err(Opinion::None) };
            rows.push(x.chars().chain(y.chars()).map(|letter| number(letter) as f64).collect::<Vec<_>>());
        }
        same_rows(&rows, found)?;
        same_clients(&examples.into_iter().map(|(name, ..)| name).collect::<Vec<_>>(), found)
    })())
}

/// Which of the most frequent words each text has, equal counts by alphabet.
fn bags(texts: &[Vec<String>], most: usize, trained: usize) -> Vec<Vec<f64>> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    texts[..trained].iter().flatten().for_each(|word| *counts.entry(word).or_default() += 1);
    let mut order: Vec<(Reverse<usize>, &String)> = counts.into_iter().map(|(word, count)| (Reverse(count), word)).collect();
    order.sort();
    order.truncate(most);
    texts.iter().map(|text| order.iter().map(|(_, word)| f64::from(u8::from(text.contains(word)))).collect()).collect()
}

/// LEAF's Sent140: the fifth of a list of texts, and a class.
pub(crate) fn leaf_words(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let examples = leaf_examples(&files[0])?;
        let (mut texts, mut labels) = (vec![], vec![]);
        for (_, x, y) in &examples {
            let said = x.as_array().and_then(|list| list.get(4)?.as_str()).or(x.as_str()).ok_or(Opinion::None)?;
            let part = |letter: char| letter.is_alphanumeric() || letter == '\'';
            let words =
                said.to_lowercase().split(|letter| !part(letter)).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
            texts.push(words);
            labels.push(y.as_u64().ok_or(Opinion::None)? as u32);
        }
        same_rows(&bags(&texts, 4, texts.len()), found)?;
        same_labels(&labels, found)
    })())
}

/// The letters of TensorFlow Federated's Shakespeare in its order: the first is token 1.
const TOKENS: &str = "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r";

/// Speeches as (role, text) against rows of five tokens: begin, letters, end; each row begins with the last token of the one before.
fn same_speeches(speeches: &[(String, String)], found: &Found<'_>) -> Plainly<()> {
    let last = TOKENS.chars().count() as u32;
    let token = |letter: char| TOKENS.chars().position(|known| known == letter).map_or(last + 1, |at| at as u32 + 1);
    let mut roles: Vec<(&String, Vec<u32>)> = vec![];
    for (role, text) in speeches {
        let at = roles.iter().position(|(known, _)| *known == role).unwrap_or(roles.len());
        if at == roles.len() {
            roles.push((role, vec![]));
        }
        roles[at].1.extend([last + 2].into_iter().chain(text.chars().map(token)).chain([last + 3]));
    }
    let (mut rows, mut clients) = (vec![], vec![]);
    // Who says nothing is left out: the source asks for one letter.
    for (role, stream) in roles.iter().filter(|(role, _)| speeches.iter().any(|(own, text)| own == *role && !text.is_empty())) {
        for from in (0..stream.len().saturating_sub(1)).step_by(4) {
            let mut row: Vec<f64> = stream[from..].iter().take(5).map(|&token| f64::from(token)).collect();
            row.resize(5, 0.0);
            rows.push(row);
            clients.push((*role).clone());
        }
    }
    same_rows(&rows, found)?;
    same_clients(&clients, found)
}

/// A play as JSON, a speech in a line.
pub(crate) fn play_lines(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let text = std::str::from_utf8(&files[0]).map_err(|_| Opinion::None)?;
        if !text.trim_start().starts_with('{') {
            return Err(Opinion::None);
        }
        let mut speeches = vec![];
        for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
            let Ok(line) = serde_json::from_str::<Value>(line) else { return different("a line that is no JSON") };
            let (Some(play), Some(role), Some(text)) = (line["play"].as_str(), line["role"].as_str(), line["text"].as_str()) else {
                return Err(Opinion::None);
            };
            let role = if play.is_empty() { role.to_owned() } else { format!("{play}: {role}") };
            speeches.push((role, text.to_owned()));
        }
        same_speeches(&speeches, found)
    })())
}

/// A play as blocks of lines, the first of which is `Speaker:`.
pub(crate) fn play_blocks(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let text = std::str::from_utf8(&files[0]).map_err(|_| Opinion::None)?;
        if text.contains('\r') || text.trim_start().starts_with(['{', '<']) || text.starts_with('\u{feff}') {
            return Err(Opinion::None);
        }
        let lines = text.split('\n').map(str::trim_end).collect::<Vec<_>>().join("\n");
        let blocks = lines.split("\n\n").map(|block| block.trim_start_matches('\n').trim_end_matches('\n'));
        let speeches = blocks.filter_map(|block| {
            let (role, text) = block.split_once('\n')?;
            Some((role.strip_suffix(':').unwrap_or(role).to_owned(), text.to_owned()))
        });
        same_speeches(&speeches.collect::<Vec<_>>(), found)
    })())
}

/// Comments with one label each, as bags of the three most frequent words in training.
pub(crate) fn comments(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let (mut texts, mut labels, mut trained) = (vec![], vec![], 0);
        for (part, file) in files[..3].iter().enumerate() {
            let text = std::str::from_utf8(file).map_err(|_| Opinion::None)?;
            // Words with signs in them have rules of their own.
            if text.contains(['\'', '\u{2019}', '+', '#', '\r']) {
                return Err(Opinion::None);
            }
            for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
                let cells: Vec<&str> = line.split('\t').collect();
                same("cells", &3, &cells.len())?;
                // Several labels leave a comment out.
                let Ok(label) = cells[1].trim().parse::<u32>() else { continue };
                let words = cells[0].split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
                texts.push(words.map(str::to_lowercase).collect::<Vec<_>>());
                labels.push(label);
            }
            if part == 0 {
                trained = texts.len();
            }
        }
        let mut plain = bags(&texts, 3, trained);
        plain.iter_mut().for_each(|row| row.resize(3, 0.0));
        same_rows(&plain, found)?;
        same_labels(&labels, found)
    })())
}
