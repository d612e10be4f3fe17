//! NPZ: arrays of numpy in a zip archive.
//!
//! `x` has a row for each example (further axes are flattened), `y` its class (whole numbers) or quantity; where there are
//! `client` and `part`, they say whose it is (whole numbers or texts) and what it is for (0 train, 1 validation, 2 test).
//! Bytes stay bytes, `float32` stays in single precision.

use std::collections::BTreeMap;
use std::path::PathBuf;

use motet_core::{Documented, Kind, Positive};
use serde::{Deserialize, Serialize};

use super::numbers::most_classes;
use super::open::{name_of, open};
use super::{Load, Material, Place, zip};
use crate::dataset::{Dataset, Targets, Usage};
use crate::error::ProblemError;
use crate::matrix::{Bytes, Dense, Matrix, Single};

/// Arrays of numpy (.npz): x, y and, where they are there, client and part of each row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Npz {
    /// The file.
    pub path: PathBuf,
    /// Bytes of x are divided by this (default 255, which makes pixels numbers from 0 to 1).
    #[serde(default = "pixels")]
    pub divide: Positive,
}

impl Kind for Npz {
    const NAME: &'static str = "npz";
}

fn pixels() -> Positive {
    Positive::new(255.0).expect("255 is positive")
}

/// An array, its type as numpy writes it, its numbers still bytes.
struct Array {
    kind: char,
    width: usize,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Load for Npz {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let file = place.folders.find(&self.path)?;
        let opened = open(&file, place.folders.limit)?;
        let budget = place.folders.limit.budget(opened.input.bytes);
        let odd = |place: &str, what: String| ProblemError::Odd { file: name_of(&file), place: place.to_owned(), what };
        let (mut arrays, mut twice) = (BTreeMap::new(), None);
        for member in zip::members(&opened.text).map_err(|what| odd("archive", what))? {
            let name = member.name.trim_end_matches(".npy").to_owned();
            if ["x", "y", "client", "part"].contains(&name.as_str()) {
                let array = member.read(&budget).and_then(Array::read).map_err(|what| odd(&name, what))?;
                twice = twice.or_else(|| arrays.contains_key(&name).then(|| name.clone()));
                arrays.insert(name, array);
            }
        }
        if let Some(name) = twice {
            return Err(odd("archive", format!("two arrays are called `{name}`")));
        }
        let mut take = |name: &str| arrays.remove(name);
        let x = take("x").ok_or_else(|| odd("archive", "no array `x`".into()))?;
        let y = take("y").ok_or_else(|| odd("archive", "no array `y`".into()))?;
        let rows = x.shape.first().copied().unwrap_or(0);
        if rows == 0 {
            return Err(ProblemError::NoExamples { file: name_of(&file) });
        }
        let (client, part) = (take("client"), take("part"));
        for (name, array) in [("y", Some(&y)), ("client", client.as_ref()), ("part", part.as_ref())] {
            if let Some(array) = array.filter(|array| array.shape != [rows]) {
                return Err(odd(name, format!("shape {:?} for {rows} rows of `x`", array.shape)));
            }
        }
        let features = x.matrix(rows, *self.divide as f32).map_err(|what| odd("x", what))?;
        let mut dataset = Dataset::new(features, y.targets().map_err(|what| odd("y", what))?);
        if let Some(client) = client {
            let (keys, names) = numbered(client.words().map_err(|what| odd("client", what))?);
            dataset = dataset.from_clients(keys).named(names);
        }
        if let Some(part) = part {
            let lot = |(row, number): (usize, i128)| match number {
                0 => Ok(Usage::Train),
                1 => Ok(Usage::Validation),
                2 => Ok(Usage::Test),
                _ => Err(format!("row {row}: {number} is none of 0 (train), 1 (validation), 2 (test)")),
            };
            let usages = part.whole().and_then(|numbers| numbers.enumerate().map(lot).collect());
            dataset = dataset.with_usages(usages.map_err(|what| odd("part", what))?);
        }
        Ok(Material::Examples { dataset, inputs: vec![opened.input] })
    }
}

impl Array {
    /// `\x93NUMPY`, version, length of the header, `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, numbers.
    fn read(mut bytes: Vec<u8>) -> Result<Self, String> {
        let lengths = match bytes.get(..8) {
            Some([0x93, b'N', b'U', b'M', b'P', b'Y', 1, _]) => 8..10,
            Some([0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _]) => 8..12,
            _ => return Err("not a numpy array: it does not begin with \\x93NUMPY".into()),
        };
        let data = lengths.end;
        let length = bytes.get(lengths).ok_or("cut off within its header")?.iter().rev().fold(0usize, |sum, &b| sum << 8 | usize::from(b));
        let header = data.checked_add(length).and_then(|end| bytes.get(data..end)).ok_or("cut off within its header")?;
        let header = String::from_utf8_lossy(header).into_owned();
        let after = |key: &str| header.split_once(key).map(|(_, rest)| rest.trim_start_matches([':', ' ']));
        let descr = after("'descr'").and_then(|rest| rest.strip_prefix('\'')?.split_once('\'')).ok_or("no type in its header")?.0;
        if after("'fortran_order'").is_none_or(|rest| !rest.starts_with("False")) {
            return Err("stored by columns: save it with numpy.ascontiguousarray".into());
        }
        let axes = after("'shape'").and_then(|rest| rest.strip_prefix('(')?.split_once(')')).ok_or("no shape in its header")?.0;
        let axes = axes.split(',').map(str::trim).filter(|axis| !axis.is_empty());
        let shape: Vec<usize> = axes.map(|axis| axis.parse().map_err(|_| format!("axis `{axis}`"))).collect::<Result<_, _>>()?;
        let mut code = descr.chars();
        let (order, kind) = (code.next().unwrap_or('|'), code.next().unwrap_or('?'));
        let width: usize = code.as_str().parse().map_err(|_| format!("type {descr:?}"))?;
        let width = if kind == 'U' { 4 * width } else { width };
        if order == '>' || !matches!((kind, width), ('u' | 'i', 1 | 2 | 4 | 8) | ('f', 4 | 8) | ('b', 1) | ('S' | 'U', 1..)) {
            return Err(format!("type {descr:?}, which this program does not read"));
        }
        let size = shape.iter().try_fold(width, |product, &axis| product.checked_mul(axis));
        bytes.drain(..data + length);
        if size != Some(bytes.len()) {
            return Err(format!("{} bytes for shape {shape:?} of {descr:?}", bytes.len()));
        }
        Ok(Self { kind, width, shape, bytes })
    }

    fn matrix(self, rows: usize, divide: f32) -> Result<Matrix, String> {
        let cols = self.bytes.len() / self.width / rows;
        Ok(match (self.kind, self.width) {
            ('u', 1) => Matrix::Bytes(Bytes { cols, values: self.bytes.into(), scale: 1.0 / divide, shift: 0.0 }),
            ('f', 4) => {
                let values = self.bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
                Matrix::Single(finite(values, cols, |v: &f32| v.is_finite()).map(|values| Single { cols, values: values.into() })?)
            }
            ('f', _) => {
                let values = self.bytes.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect();
                Matrix::Dense(finite(values, cols, |v: &f64| v.is_finite()).map(|values| Dense { cols, values: values.into() })?)
            }
            _ => Matrix::Dense(Dense { cols, values: self.whole()?.map(|v| v as f64).collect() }),
        })
    }

    fn targets(&self) -> Result<Targets, String> {
        if self.kind == 'f' {
            let numbers: Vec<f64> = match self.width {
                4 => self.bytes.as_chunks::<4>().0.iter().map(|&b| f64::from(f32::from_le_bytes(b))).collect(),
                _ => self.bytes.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect(),
            };
            return finite(numbers, 1, |v| v.is_finite()).map(Targets::Numbers);
        }
        let most = most_classes(self.shape.first().copied().unwrap_or(0));
        let class = |(row, v): (usize, i128)| {
            u32::try_from(v).ok().filter(|&v| v < most).ok_or_else(|| {
                format!("row {row}: class {v}, but classes are numbers from 0 to {}; quantities are stored as floats", most - 1)
            })
        };
        let labels: Vec<u32> = self.whole()?.enumerate().map(class).collect::<Result<_, _>>()?;
        let classes = labels.iter().max().map_or(0, |&label| label + 1);
        Ok(Targets::Classes { labels, classes })
    }

    /// Whole numbers, signed or not, of up to eight bytes.
    fn whole(&self) -> Result<impl Iterator<Item = i128>, String> {
        if !matches!(self.kind, 'u' | 'i' | 'b') {
            return Err("not whole numbers".into());
        }
        let number = move |bytes: &[u8]| {
            let sum = bytes.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
            let spare = 64 - 8 * self.width as u32;
            if self.kind == 'i' { i128::from((sum << spare) as i64 >> spare) } else { i128::from(sum) }
        };
        Ok(self.bytes.chunks_exact(self.width).map(number))
    }

    /// Texts, or whole numbers as texts that sort as numbers do. Letters that are none would make one name of two.
    fn words(&self) -> Result<Vec<String>, String> {
        let text = |(row, bytes): (usize, &[u8])| {
            let text = match self.kind {
                'S' => str::from_utf8(bytes).ok().map(str::to_owned),
                _ => bytes.as_chunks::<4>().0.iter().map(|letter| char::from_u32(u32::from_le_bytes(*letter))).collect::<Option<String>>(),
            };
            // numpy fills up with zeros at the end, and nowhere else.
            let text = text.map(|text| text.trim_end_matches('\0').to_owned());
            text.ok_or_else(|| format!("row {row}: a text with letters that Unicode does not have"))
        };
        match self.kind {
            'S' | 'U' => self.bytes.chunks_exact(self.width).enumerate().map(text).collect(),
            _ => Ok(self.whole()?.map(|number| format!("{number:06}")).collect()),
        }
    }
}

fn finite<T>(values: Vec<T>, cols: usize, sound: impl Fn(&T) -> bool) -> Result<Vec<T>, String> {
    match values.iter().position(|v| !sound(v)) {
        Some(at) => Err(format!("row {}: not a finite number", at / cols.max(1))),
        None => Ok(values),
    }
}

/// Names numbered in order.
fn numbered(words: Vec<String>) -> (Vec<u32>, Vec<String>) {
    let mut order: BTreeMap<&str, u32> = words.iter().map(|word| (word.as_str(), 0)).collect();
    order.values_mut().zip(0..).for_each(|(number, k)| *number = k);
    let keys = words.iter().map(|word| order[word.as_str()]).collect();
    (keys, order.into_keys().map(str::to_owned).collect())
}
