//! Tables and lines of text with numbers in them.

use std::collections::BTreeMap;
use std::io::Read;

use motet::problems::{Form, Targets};

use super::{Found, Opinion, Plainly, different, opinion, row, same, same_classes, same_labels, same_numbers, same_rows};

/// `label index:value …`, a line for each example.
pub(crate) fn libsvm(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let text = String::from_utf8_lossy(&files[0]);
        let (mut labels, mut rows) = (vec![], vec![]);
        for line in text.split('\n') {
            let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
            let Some(label) = words.next() else { continue };
            let Ok(label) = label.parse::<f64>() else { return different(format!("label {label}")) };
            let mut row = BTreeMap::new();
            for word in words {
                let pair = word.split_once(':').and_then(|(index, value)| Some((index.parse::<usize>().ok()?, value.parse::<f64>().ok()?)));
                let Some((index, value)) = pair else { return different(format!("pair {word}")) };
                if row.insert(index, value).is_some() {
                    return different(format!("index {index} stands twice"));
                }
            }
            labels.push(label);
            rows.push(row);
        }
        same("examples", &rows.len(), &found.dataset.len())?;
        for (at, plain) in rows.iter().enumerate() {
            let mut ours = row(&found.dataset.features, at);
            for (index, value) in plain {
                let Some(place) = index.checked_sub(1).and_then(|column| ours.get_mut(column)) else {
                    return different(format!("example {at} has index {index}"));
                };
                same(&format!("example {at}, index {index}"), value, place)?;
                *place = 0.0;
            }
            same_numbers(&format!("what else example {at} has"), &vec![0.0; ours.len()], &ours)?;
        }
        match &found.dataset.targets {
            Targets::Numbers(numbers) => same_numbers("labels", &labels, numbers),
            Targets::Classes { labels: classes, .. } => {
                same_classes(&labels.iter().map(|l| (l + 0.0).to_string()).collect::<Vec<_>>(), classes)
            }
            Targets::Tags { .. } => different("tags"),
        }
    })())
}

/// A table with a header, the columns `who` and `grade`, in UTF-8.
pub(crate) fn table(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    std::str::from_utf8(&files[0]).map_or(Opinion::None, |text| opinion(cells(text, found)))
}

/// The same in UTF-16, the lesser byte first.
pub(crate) fn table_utf16(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    let [0xff, 0xfe, rest @ ..] = files[0].as_slice() else { return Opinion::None };
    let units: Vec<u16> = rest.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])).collect();
    String::from_utf16(&units).map_or(Opinion::None, |text| opinion(cells(&text, found)))
}

/// The same in Latin-1, as far as it has no letters that Windows has in other places.
pub(crate) fn table_latin1(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    if files[0].iter().any(|byte| (0x80..0xa0).contains(byte)) || files[0].starts_with(&[0xff, 0xfe]) || files[0].starts_with(&[0xfe, 0xff])
    {
        return Opinion::None;
    }
    opinion(cells(&files[0].iter().map(|&byte| char::from(byte)).collect::<String>(), found))
}

const GAPS: [&str; 8] = ["", "?", "na", "n/a", "nan", "null", "none", "-"];

fn cells(text: &str, found: &Found<'_>) -> Plainly<()> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lone_return = text.replace("\r\n", "\n").contains('\r');
    if text.contains('"') || lone_return || text.starts_with(['\n', '\r']) {
        return Err(Opinion::None);
    }
    let mut lines = text.split('\n').map(|line| line.trim_end_matches('\r')).filter(|line| !line.is_empty());
    let header = lines.next().ok_or(Opinion::Different("no header".into()))?;
    let by = ['\t', ';', ','].into_iter().find(|by| header.contains(*by)).unwrap_or(',');
    let split = |line: &str| line.split(by).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let names = split(header);
    let rows: Vec<Vec<String>> = lines.map(split).collect();
    if let Some(ragged) = rows.iter().position(|row| row.len() != names.len()) {
        return different(format!("row {ragged} has {} cells, and the header {}", rows[ragged].len(), names.len()));
    }
    same("rows", &rows.len(), &found.dataset.len())?;
    let mut first = 0;
    let mut left: Vec<&String> = names.iter().filter(|name| !["who", "grade"].contains(&name.as_str())).collect();
    for field in found.fields {
        let Some(place) = left.iter().position(|name| **name == field.name) else { return different(format!("a field {}", field.name)) };
        left.remove(place);
        let column = names.iter().position(|name| *name == field.name).unwrap_or_default();
        let width = if let Form::Words(words) = &field.form { words.len() } else { 1 };
        for (at, cells) in rows.iter().enumerate() {
            let plain = plain_cell(&cells[column], &field.form)?;
            same_numbers(&format!("row {at}, {}", field.name), &plain, &row(&found.dataset.features, at)[first..first + width])?;
        }
        first += width;
    }
    same("columns that became nothing", &vec![], &left)?;
    let of = |wanted: &str| {
        let column = names.iter().position(|name| name == wanted).ok_or_else(|| Opinion::Different(format!("no column {wanted}")))?;
        Ok(rows.iter().map(|row| row[column].clone()).collect::<Vec<_>>())
    };
    same_classes(&of("who")?, found.dataset.keys.as_deref().unwrap_or_default())?;
    match &found.dataset.targets {
        Targets::Numbers(numbers) => {
            let plain: Plainly<Vec<f64>> = of("grade")?.iter().map(|cell| number(cell)).collect();
            same_numbers("grade", &plain?, numbers)
        }
        Targets::Classes { labels, .. } => {
            // 1 and 1.0 are one class.
            let plain = of("grade")?.into_iter().map(|cell| cell.parse::<f64>().map_or(cell, |number| (number + 0.0).to_string()));
            same_classes(&plain.collect::<Vec<_>>(), labels)
        }
        Targets::Tags { .. } => different("tags"),
    }
}

fn number(cell: &str) -> Plainly<f64> {
    let read = cell.parse().or_else(|_| cell.replace(',', ".").parse());
    read.or_else(|_| different(format!("a number {cell}")))
}

/// What a cell says, in the columns of its field.
fn plain_cell(cell: &str, form: &Form) -> Plainly<Vec<f64>> {
    let is_gap = GAPS.iter().any(|gap| cell.eq_ignore_ascii_case(gap));
    match form {
        Form::Number | Form::Scaled if is_gap => Ok(vec![f64::NAN]),
        Form::Number | Form::Scaled => Ok(vec![number(cell)?]),
        Form::Words(words) if is_gap => Ok(vec![0.0; words.len()]),
        Form::Words(words) => {
            let flags: Vec<f64> = words.iter().map(|word| f64::from(u8::from(word == cell))).collect();
            if flags.iter().sum::<f64>() == 1.0 { Ok(flags) } else { different(format!("the word {cell}, once")) }
        }
    }
}

/// The same lines, packed by gzip.
pub(crate) fn libsvm_gz(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    // Whose first bytes are others is no packed file, but lines.
    if !files[0].starts_with(&[0x1f, 0x8b]) {
        return libsvm(files, found);
    }
    let mut text = vec![];
    match flate2::read::MultiGzDecoder::new(&files[0][..]).read_to_end(&mut text) {
        Ok(_) => libsvm(&[text], found),
        Err(cause) => Opinion::Different(format!("no packed file: {cause}")),
    }
}

/// What each field of a hospital's file is: a number, one whose 0 is a gap, or one of these kinds.
const HEART: [&[f64]; 13] =
    [&[], &[], &[1.0, 2.0, 3.0, 4.0], &[0.0], &[0.0], &[], &[0.0, 1.0, 2.0], &[], &[], &[], &[1.0, 2.0, 3.0], &[], &[3.0, 6.0, 7.0]];

/// Two hospitals of the heart-disease files: thirteen fields and a degree, a patient in a line.
pub(crate) fn heart(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let (mut rows, mut labels, mut keys) = (vec![], vec![], vec![]);
        for (key, file) in files.iter().enumerate() {
            let text = std::str::from_utf8(file).map_err(|_| Opinion::Different("no text".into()))?;
            for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
                let cells: Vec<Option<f64>> = line.split(',').map(|cell| cell.trim().parse().ok()).collect();
                let Some((degree, cells)) = cells.split_last() else { return different("an empty line") };
                same("fields", &HEART.len(), &cells.len())?;
                let mut row = vec![];
                for (cell, kind) in cells.iter().zip(HEART) {
                    match kind {
                        [] => row.push(cell.unwrap_or(f64::NAN)),
                        [gap] => row.push(cell.filter(|v| v != gap).unwrap_or(f64::NAN)),
                        kinds => row.extend(kinds.iter().map(|kind| f64::from(u8::from(*cell == Some(*kind))))),
                    }
                }
                rows.push(row);
                labels.push(u32::from(*degree != Some(0.0)));
                keys.push(key as u32);
            }
        }
        same_rows(&rows, found)?;
        same("hospitals", &Some(keys), &found.dataset.keys)?;
        same_labels(&labels, found)
    })())
}
