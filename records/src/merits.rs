//! The file of the merit ledger: `merits.bin`.
//!
//! It holds one [`Merit`] after another, each preceded by its length in bytes (four, little-endian), appended as the run
//! goes. A record stands for all rounds since the one before: it has the weights after the last of them and their average
//! over all, four bytes each. Weights that jump from round to round are so averaged rightly, however seldom a run is measured.
//! A last record that was being written when the run died is passed over.

use motet_core::{Merit, Reader, Wire, WireError};

/// A record as the file holds it.
pub(crate) fn framed(merit: &Merit) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + merit.bytes() as usize);
    (merit.bytes() as u32).encode(&mut bytes);
    merit.encode(&mut bytes);
    bytes
}

/// The records of a file, without an unfinished last one.
pub(crate) fn read_all(bytes: &[u8]) -> Result<Vec<Merit>, WireError> {
    let (mut from, mut merits) = (Reader::new(bytes), vec![]);
    while from.left() >= 4 {
        let length = u32::decode(&mut from)? as usize;
        if length > from.left() {
            break;
        }
        let record = from.take(length)?;
        let mut record = Reader::new(&record);
        let merit = Merit::decode(&mut record)?;
        if record.left() > 0 {
            return Err(WireError::Unsound("a merit record longer than its weights"));
        }
        merits.push(merit);
    }
    Ok(merits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_cut_short_loses_its_last_record_only() {
        let merits = [Merit::new(1, 5, 0, &[0.25, 0.75]), Merit::new(1, 6, 0, &[0.5, 0.5])];
        let bytes: Vec<u8> = merits.iter().flat_map(framed).collect();
        assert_eq!(read_all(&bytes).unwrap(), merits);
        let first = framed(&merits[0]).len();
        for end in first..bytes.len() {
            assert_eq!(read_all(&bytes[..end]).unwrap(), merits[..1], "cut after {end} bytes");
        }
    }

    #[test]
    fn damaged_ledgers_are_errors_or_other_numbers_but_never_panics() {
        let bytes = framed(&Merit::new(1, 5, 0, &[0.25, 0.75]));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let _ = read_all(&bad);
            }
        }
    }
}
