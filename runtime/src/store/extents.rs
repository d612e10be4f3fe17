//! Which parts of a file are taken.

use std::collections::BTreeMap;

use motet_core::wire;

wire! {
    /// Where a record lies, and how to know that it is whole.
    #[derive(Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) struct Place {
        /// First unit.
        pub(super) start: u64,
        /// How many bytes.
        pub(super) length: u64,
        /// CRC-32 of the bytes.
        pub(super) checksum: u32,
    }
}

/// Places begin at multiples of this many bytes.
const UNIT: u64 = 256;

impl Place {
    /// Where its bytes begin.
    pub(super) fn offset(&self) -> u64 {
        self.start * UNIT
    }

    /// Is it a part of a file of so many bytes?
    pub(super) fn lies_within(&self, bytes: u64) -> bool {
        self.start.checked_mul(UNIT).and_then(|offset| offset.checked_add(self.length)).is_some_and(|end| end <= bytes)
    }

    fn units(&self) -> u64 {
        self.length.div_ceil(UNIT).max(1)
    }
}

/// The free parts of a file. States of one method are mostly of one size, so a place that is given back fits the next
/// record; what does not fit is cut, and the file grows where nothing is large enough.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// Length → where such parts begin, all in units.
    free: BTreeMap<u64, Vec<u64>>,
    end: u64,
}

impl Extents {
    /// Everything but `used` is free.
    pub(super) fn around(mut used: Vec<Place>) -> Self {
        used.sort_unstable();
        let mut extents = Self::default();
        for place in used {
            if place.start > extents.end {
                extents.give(extents.end, place.start - extents.end);
            }
            extents.end = extents.end.max(place.start + place.units());
        }
        extents
    }

    /// A place for so many bytes.
    pub(super) fn take(&mut self, length: u64, checksum: u32) -> Place {
        let mut place = Place { start: self.end, length, checksum };
        let units = place.units();
        let fitting = self.free.range(units..).next().map(|(&size, _)| size);
        match fitting.and_then(|size| Some((size, self.pop(size)?))) {
            Some((size, start)) => {
                place.start = start;
                if size > units {
                    self.give(start + units, size - units);
                }
            }
            None => self.end += units,
        }
        place
    }

    /// Gives a place back.
    pub(super) fn release(&mut self, place: Place) {
        self.give(place.start, place.units());
    }

    fn give(&mut self, start: u64, units: u64) {
        self.free.entry(units).or_default().push(start);
    }

    fn pop(&mut self, size: u64) -> Option<u64> {
        let starts = self.free.get_mut(&size)?;
        let start = starts.pop();
        if starts.is_empty() {
            self.free.remove(&size);
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_never_overlap_and_are_used_again() {
        let mut extents = Extents::default();
        let (a, b) = (extents.take(1000, 0), extents.take(1, 0));
        assert_eq!((a.start, b.start, extents.end), (0, 4, 5));
        extents.release(a);
        let (c, d, e) = (extents.take(600, 0), extents.take(200, 0), extents.take(300, 0));
        assert_eq!((c.start, d.start, e.start, extents.end), (0, 3, 5, 7), "three of the four units, then the fourth, then the end");
    }

    #[test]
    fn a_file_found_again_has_its_gaps_free() {
        let used = vec![Place { start: 7, length: 256, checksum: 0 }, Place { start: 2, length: 512, checksum: 0 }];
        let mut extents = Extents::around(used);
        assert_eq!(extents.end, 8);
        assert_eq!(extents.take(512, 0).start, 0, "before the first");
        assert_eq!(extents.take(700, 0).start, 4, "between the two");
        assert_eq!(extents.take(256, 0).start, 8, "behind the last");
    }
}
