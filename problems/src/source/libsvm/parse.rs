//! One pass over the bytes of a LIBSVM file, straight into compressed rows.

use super::labels::Labels;
use crate::error::{LARGEST_INDEX, LineFault};
use crate::matrix::{Csr, Indices};
use crate::source::open::shown;

/// Rows read so far.
pub(super) struct Parser {
    labels: Labels,
    features: Option<u32>,
    /// Largest index seen.
    largest: u32,
    /// How many bytes the text has.
    bytes: usize,
    starts: Vec<usize>,
    indices: Indices,
    /// Absent as long as every value is 1.
    values: Option<Vec<f64>>,
    /// As many non-zeros as there can be: colons in the text.
    capacity: usize,
}

impl Parser {
    /// Room for all of `text` at once; nothing grows later.
    pub(super) fn new(text: &[u8], labels: Labels, features: Option<u32>) -> Self {
        let count = |wanted: u8| text.iter().filter(|&&byte| byte == wanted).count();
        let capacity = count(b':');
        let mut starts = Vec::with_capacity(count(b'\n') + 2);
        starts.push(0);
        Self {
            labels,
            features,
            largest: 0,
            bytes: text.len(),
            starts,
            indices: Indices::U16(Vec::with_capacity(capacity)),
            values: None,
            capacity,
        }
    }

    /// Reads every line, or says which is wrong and why.
    pub(super) fn run(&mut self, text: &[u8]) -> Result<(), (usize, LineFault)> {
        for (k, line) in text.split(|&byte| byte == b'\n').enumerate() {
            self.line(line).map_err(|fault| (k + 1, fault))?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> (Csr, Labels) {
        let cols = self.features.unwrap_or(self.largest) as usize;
        self.starts.shrink_to_fit();
        (Csr { cols, starts: self.starts, indices: self.indices, values: self.values }, self.labels)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), LineFault> {
        let content = line.iter().position(|&byte| byte == b'#').map_or(line, |comment| &line[..comment]);
        let mut words = content.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(label) = words.next() else { return Ok(()) };
        self.labels.add(number(label).ok_or_else(|| LineFault::Label(shown(label)))?)?;
        let mut previous = 0;
        for word in words {
            previous = self.pair(word, previous)?;
        }
        self.starts.push(self.stored());
        Ok(())
    }

    /// One `index:value`; returns its index.
    fn pair(&mut self, word: &[u8], previous: u32) -> Result<u32, LineFault> {
        let Some(colon) = word.iter().position(|&byte| byte == b':') else { return Err(LineFault::Pair(shown(word))) };
        let (digits, written) = (&word[..colon], &word[colon + 1..]);
        let index = whole(digits).ok_or_else(|| LineFault::Index(shown(digits)))?;
        match index {
            0 => return Err(LineFault::Zero),
            _ if index == previous => return Err(LineFault::Duplicate(index)),
            _ if index < previous => return Err(LineFault::Unsorted { index, previous }),
            _ => {}
        }
        if let Some(features) = self.features.filter(|&features| index > features) {
            return Err(LineFault::BeyondFeatures { index, features });
        }
        // A model has a number for each: a line of twenty bytes must not ask for gigabytes.
        if self.features.is_none() && index as usize > self.bytes.max(ALWAYS_READ) {
            return Err(LineFault::FarBeyond { index, bytes: self.bytes });
        }
        let value = number(written).ok_or_else(|| LineFault::Value { index, value: shown(written) })?;
        self.largest = self.largest.max(index);
        if value != 0.0 {
            self.store(index - 1, value);
        }
        Ok(index)
    }

    fn store(&mut self, column: u32, value: f64) {
        if value != 1.0 && self.values.is_none() {
            let mut values = Vec::with_capacity(self.capacity);
            values.resize(self.stored(), 1.0);
            self.values = Some(values);
        }
        if let Some(values) = &mut self.values {
            values.push(value);
        }
        match (&mut self.indices, u16::try_from(column)) {
            (Indices::U16(narrow), Ok(column)) => narrow.push(column),
            (Indices::U32(wide), _) => wide.push(column),
            (Indices::U16(narrow), Err(_)) => {
                let mut wide = Vec::with_capacity(self.capacity);
                wide.extend(narrow.iter().map(|&column| u32::from(column)));
                wide.push(column);
                self.indices = Indices::U32(wide);
            }
        }
    }

    /// How many non-zeros are stored.
    fn stored(&self) -> usize {
        match &self.indices {
            Indices::U16(narrow) => narrow.len(),
            Indices::U32(wide) => wide.len(),
        }
    }
}

/// Indices up to this one are taken in any file.
const ALWAYS_READ: usize = 1 << 20;

/// A finite number.
fn number(word: &[u8]) -> Option<f64> {
    // Most values of most files: bags of words and one-hot codes.
    if word == b"1" {
        return Some(1.0);
    }
    std::str::from_utf8(word).ok()?.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A whole number up to the largest index.
fn whole(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    let value = digits.iter().try_fold(0, |value: u32, &digit| digit.is_ascii_digit().then(|| 10 * value + u32::from(digit - b'0')))?;
    (value <= LARGEST_INDEX).then_some(value)
}
