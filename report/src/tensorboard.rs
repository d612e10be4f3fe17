//! Event files that TensorBoard reads: one folder for each run, one scalar for each metric and row.
//!
//! An event file is a list of records: the length (eight bytes), its masked CRC-32C, a protocol buffer, its masked CRC-32C. Of the buffers
//! only three fields are needed, so that they are written by hand: `Event { wall_time = 1, step = 2, file_version = 3 | summary = 5 }`,
//! `Summary { value = 1 }` and `Value { tag = 1, simple_value = 2 }`.

use std::fs;
use std::path::{Path, PathBuf};

use motet_records::{Records, slug};

use crate::render::RenderError;

/// Writes `tensorboard/<label>-seed<seed>/events.out.tfevents.…` for every run into a folder; returns what was written.
///
/// Steps are rounds. A row's time is when the experiment was begun, and the seconds of training up to the row.
pub fn tensorboard(records: &Records, out: &Path) -> Result<Vec<PathBuf>, RenderError> {
    let started = records.manifest.started.map_or(0, |time| time.seconds());
    let mut written = vec![];
    for card in records.manifest.runs.iter().filter(|card| card.trial.is_none()) {
        let mut events = Events::new(started as f64);
        for row in records.rows_of(card.run) {
            let counts = [("bits_up", row.bits.up as f64), ("gradients", row.gradients as f64)];
            let metrics = row.metrics.iter().map(|(name, value)| (name.as_str(), *value));
            events.row(started as f64 + row.seconds.unwrap_or(0.0), row.round, metrics.chain(counts));
        }
        let folder = out.join("tensorboard").join(format!("{}-{}-seed{}", card.run, slug(&card.label), card.seed));
        fs::create_dir_all(&folder).map_err(|source| RenderError::Write { path: folder.clone(), source })?;
        let path = folder.join(format!("events.out.tfevents.{started}.motet"));
        fs::write(&path, events.0).map_err(|source| RenderError::Write { path: path.clone(), source })?;
        written.push(path);
    }
    Ok(written)
}

/// The bytes of an event file.
struct Events(Vec<u8>);

impl Events {
    fn new(time: f64) -> Self {
        let (mut events, mut version) = (Self(vec![]), vec![]);
        field(3, b"brain.Event:2", &mut version);
        events.event(time, 0, &version);
        events
    }

    /// The metrics of a round; TensorBoard has single precision.
    fn row<'a>(&mut self, time: f64, round: u64, values: impl Iterator<Item = (&'a str, f64)>) {
        let mut all = vec![];
        for (tag, value) in values {
            let mut one = vec![];
            field(1, tag.as_bytes(), &mut one);
            one.push((2 << 3) | FIXED32);
            one.extend((value as f32).to_le_bytes());
            field(1, &one, &mut all);
        }
        let mut summary = vec![];
        field(5, &all, &mut summary);
        self.event(time, round, &summary);
    }

    fn event(&mut self, time: f64, step: u64, rest: &[u8]) {
        let mut event = vec![(1 << 3) | FIXED64];
        event.extend(time.to_le_bytes());
        event.push(2 << 3);
        varint(step, &mut event);
        event.extend(rest);
        let length = (event.len() as u64).to_le_bytes();
        self.0.extend(length);
        self.0.extend(masked(&length).to_le_bytes());
        self.0.extend(&event);
        self.0.extend(masked(&event).to_le_bytes());
    }
}

/// Kinds of fields: eight bytes, a length and so many bytes, four bytes.
const FIXED64: u8 = 1;
const BYTES: u64 = 2;
const FIXED32: u8 = 5;

fn field(number: u64, bytes: &[u8], out: &mut Vec<u8>) {
    varint((number << 3) | BYTES, out);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Seven bits a byte, the lowest first; the eighth says that more follow.
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 128 {
        out.push((value & 127) as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// CRC-32C, turned and shifted: a checksum of a checksum would be weak.
fn masked(bytes: &[u8]) -> u32 {
    let crc = !bytes.iter().fold(!0u32, |crc, byte| TABLE[((crc ^ u32::from(*byte)) & 255) as usize] ^ (crc >> 8));
    crc.rotate_right(15).wrapping_add(0xA282_EAD8)
}

const TABLE: [u32; 256] = table();

/// What each byte does to the remainder by Castagnoli's polynomial.
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_castagnolis() {
        // The check value of CRC-32C is that of the digits 1 to 9.
        assert_eq!(masked(b"123456789"), 0xE306_9283u32.rotate_right(15).wrapping_add(0xA282_EAD8));
    }

    #[test]
    fn an_event_file_is_these_bytes() {
        let mut events = Events::new(1.0);
        let first = events.0.len();
        events.row(2.0, 300, [("loss", 0.5)].into_iter());
        let record = &events.0[first..];
        assert_eq!(record[..8], 27u64.to_le_bytes());
        let event = &record[12..39];
        // wall_time = 2, step = 300, summary { value { tag = "loss", simple_value = 0.5 } }
        let wanted = [&[9u8][..], &2f64.to_le_bytes(), &[16, 0xAC, 2, 42, 13, 10, 11, 10, 4], b"loss", &[21], &0.5f32.to_le_bytes()];
        assert_eq!(event, wanted.concat());
        assert_eq!(record[39..], masked(event).to_le_bytes());
    }
}
