//! Readers so plain that nobody can be mistaken about them. A damaged file is refused, or what we train on is exactly what the plain
//! reader of its form reads: no number is wrong in silence.
//!
//! They know the usual case only. Where a file uses more of its form than they know (a quoted field, a packed file), they have no opinion.

use std::collections::BTreeMap;

use motet::problems::{Dataset, Field, Form, Indices, Matrix, Targets};
use serde_json::Value;

/// What a source gave.
pub(crate) struct Found<'a> {
    pub(crate) dataset: &'a Dataset,
    /// Of tables: what their columns became.
    pub(crate) fields: &'a [Field],
}

/// Compares the files of a form with what a source made of them.
pub(crate) type Compare = fn(files: &[Vec<u8>], found: &Found<'_>) -> Opinion;

/// What a plain reader thinks of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opinion {
    /// It reads the same.
    Same,
    /// It reads something else, or nothing, and this is what.
    Different(String),
    /// The files use more of their form than it knows.
    None,
}

/// A plain reader's way out: no opinion, or something that it reads otherwise.
type Plainly<T> = Result<T, Opinion>;

fn opinion(compared: Plainly<()>) -> Opinion {
    compared.err().unwrap_or(Opinion::Same)
}

fn different<T>(what: impl Into<String>) -> Plainly<T> {
    Err(Opinion::Different(what.into()))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, plain: &T, ours: &T) -> Plainly<()> {
    if plain == ours { Ok(()) } else { different(format!("{what}: plainly {plain:?}, and we have {ours:?}")) }
}

/// A row of any matrix as numbers.
fn row(features: &Matrix, at: usize) -> Vec<f64> {
    match features {
        Matrix::Dense(all) => all.values[at * all.cols..][..all.cols].to_vec(),
        Matrix::Single(all) => all.values[at * all.cols..][..all.cols].iter().map(|&v| f64::from(v)).collect(),
        Matrix::Bytes(all) => {
            all.values[at * all.cols..][..all.cols].iter().map(|&v| f64::from(all.scale * f32::from(v) + all.shift)).collect()
        }
        Matrix::Sparse(all) => {
            let mut row = vec![0.0; all.cols];
            for at in all.starts[at]..all.starts[at + 1] {
                let column = match &all.indices {
                    Indices::U16(narrow) => usize::from(narrow[at]),
                    Indices::U32(wide) => wide[at] as usize,
                };
                row[column] = all.values.as_ref().map_or(1.0, |values| values[at]);
            }
            row
        }
    }
}

/// Equal labels are one class, and different ones are different classes.
fn same_classes(plain: &[String], ours: &[u32]) -> Plainly<()> {
    same("labels", &plain.len(), &ours.len())?;
    let (mut class_of, mut label_of) = (BTreeMap::new(), BTreeMap::new());
    for (label, class) in plain.iter().zip(ours) {
        same(&format!("the class of label {label}"), class_of.entry(label).or_insert(class), &class)?;
        same(&format!("the label of class {class}"), label_of.entry(class).or_insert(label), &label)?;
    }
    Ok(())
}

fn same_numbers(what: &str, plain: &[f64], ours: &[f64]) -> Plainly<()> {
    same(&format!("numbers of {what}"), &plain.len(), &ours.len())?;
    let equal = |(a, b): &(&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    match plain.iter().zip(ours).position(|pair| !equal(&pair)) {
        Some(at) => different(format!("number {at} of {what}: plainly {}, and we have {}", plain[at], ours[at])),
        None => Ok(()),
    }
}

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

/// Images and labels of IDX, unpacked.
pub(crate) fn idx(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let (axes, pixels) = array_of_idx(&files[0], 3)?;
        let (counts, labels) = array_of_idx(&files[1], 1)?;
        same("images and labels", &axes[0], &counts[0])?;
        same("examples", &axes[0], &found.dataset.len())?;
        let each = axes[1] * axes[2];
        for at in 0..axes[0] {
            let plain: Vec<f64> = pixels[at * each..][..each].iter().map(|&byte| f64::from(f32::from(byte) * (1.0 / 255.0))).collect();
            same_numbers(&format!("image {at}"), &plain, &row(&found.dataset.features, at))?;
        }
        match &found.dataset.targets {
            Targets::Classes { labels: classes, .. } => same("labels", &labels.iter().map(|&l| u32::from(l)).collect(), classes),
            _ => different("no classes"),
        }
    })())
}

fn array_of_idx(file: &[u8], axes: usize) -> Plainly<(Vec<usize>, &[u8])> {
    if file.starts_with(&[0x1f, 0x8b]) {
        return Err(Opinion::None);
    }
    let [0, 0, 8, count, rest @ ..] = file else { return different("other first bytes") };
    same("axes", &axes, &usize::from(*count))?;
    let Some((sizes, bytes)) = rest.split_at_checked(4 * axes) else { return different("an end before its sizes") };
    let sizes: Vec<usize> = sizes.chunks(4).map(|s| u32::from_be_bytes([s[0], s[1], s[2], s[3]]) as usize).collect();
    let wanted = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
    if wanted == Some(bytes.len()) { Ok((sizes, bytes)) } else { different(format!("{} bytes for {sizes:?}", bytes.len())) }
}

/// A label and three planes of 32 by 32, image after image.
pub(crate) fn cifar(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        if files[0].starts_with(&[0x1f, 0x8b]) {
            return Err(Opinion::None);
        }
        let (images, rest) = files[0].as_chunks::<3073>();
        if !rest.is_empty() {
            return different(format!("{} bytes too many", rest.len()));
        }
        same("examples", &images.len(), &found.dataset.len())?;
        for (at, image) in images.iter().enumerate() {
            // Ours have the colours of a pixel side by side.
            let colour = |k: usize| image[1 + 1024 * (k % 3) + k / 3];
            let plain: Vec<f64> = (0..3072).map(|k| f64::from(f32::from(colour(k)) * (1.0 / 255.0))).collect();
            same_numbers(&format!("image {at}"), &plain, &row(&found.dataset.features, at))?;
        }
        match &found.dataset.targets {
            Targets::Classes { labels, .. } => same("labels", &images.iter().map(|image| u32::from(image[0])).collect(), labels),
            _ => different("no classes"),
        }
    })())
}

/// An array of numpy in single precision, with the header that the sound one has.
pub(crate) fn npy(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    const HEADER: &[u8] = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }\n";
    opinion((|| {
        let numbers = files[0].get(10..).and_then(|rest| rest.strip_prefix(HEADER)).ok_or(Opinion::None)?;
        let numbers: Vec<f64> = numbers.chunks(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect();
        same("numbers", &12, &numbers.len())?;
        (0..4).try_for_each(|at| same_numbers(&format!("example {at}"), &numbers[3 * at..][..3], &row(&found.dataset.features, at)))
    })())
}

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
