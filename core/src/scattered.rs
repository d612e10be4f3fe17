//! The bytes of a message, of which not all are written.

use std::borrow::Cow;
use std::ops::Range;

use crate::message::{Reader, Wire, WireError};
use crate::vector::{Precision, Vector, View};

/// The bytes of a message whose large vectors stay where they lie: their numbers are written when somebody looks at them, a little
/// at a time. A model that is sent to many, or made durable, is then in memory once.
///
/// ```
/// use motet_core::{Scattered, Vector, Wire};
/// let model = Vector::from(vec![0.5f32; 100_000]);
/// let sent = Scattered::of(&model);
/// assert_eq!(sent.len() as u64, model.bytes());
/// let mut bytes = vec![];
/// model.encode(&mut bytes);
/// assert_eq!(*sent.as_bytes(0..sent.len()), bytes);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scattered {
    written: Vec<u8>,
    /// Vectors, each behind so many of the bytes that are written.
    lent: Vec<(usize, Vector)>,
    len: usize,
}

/// Vectors of fewer bytes are written at once.
const SMALL: usize = 64 << 10;
/// So many bytes are looked at together.
const BLOCK: usize = 64 << 10;

enum Part<'a> {
    Written(&'a [u8]),
    Numbers(&'a Vector),
}

impl Part<'_> {
    fn len(&self) -> usize {
        match self {
            Part::Written(bytes) => bytes.len(),
            Part::Numbers(v) => v.len() * width(v.precision()),
        }
    }

    fn copy(&self, range: Range<usize>, out: &mut Vec<u8>) {
        match self {
            Part::Written(bytes) => out.extend_from_slice(&bytes[range]),
            Part::Numbers(v) => {
                // Whole numbers, of which the first and the last may be cut.
                let (width, begin) = (width(v.precision()), out.len());
                let first = range.start / width;
                match v.view().part(first..range.end.div_ceil(width)) {
                    View::F32(x) => blocks(x, out, f32::to_le_bytes),
                    View::F64(x) => blocks(x, out, f64::to_le_bytes),
                }
                let (before, length) = (range.start - first * width, range.len());
                if before > 0 {
                    out.copy_within(begin + before..begin + before + length, begin);
                }
                out.truncate(begin + length);
            }
        }
    }
}

fn width(precision: Precision) -> usize {
    (precision.bits() / 8) as usize
}

/// Numbers as bytes, a block at a time: one by one the buffer's length would be checked and written for each.
pub(crate) fn blocks<T: Copy, const N: usize>(x: &[T], out: &mut Vec<u8>, bytes: impl Fn(T) -> [u8; N]) {
    out.reserve(N * x.len());
    let mut block = [[0; N]; 64];
    for some in x.chunks(block.len()) {
        block.iter_mut().zip(some).for_each(|(to, v)| *to = bytes(*v));
        out.extend_from_slice(block[..some.len()].as_flattened());
    }
}

impl Scattered {
    /// The bytes of a message.
    pub fn of(message: &impl Wire) -> Self {
        let mut all = Self::default();
        message.scatter(&mut all);
        all
    }

    /// Writes more of them.
    pub fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.written.len();
        write(&mut self.written);
        self.len += self.written.len() - before;
    }

    /// The numbers of a vector, as they lie on the wire, come next.
    pub(crate) fn lend(&mut self, v: &Vector) {
        let numbers = Part::Numbers(v);
        if numbers.len() < SMALL {
            return self.write(|out| numbers.copy(0..numbers.len(), out));
        }
        self.len += numbers.len();
        self.lent.push((self.written.len(), v.clone()));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Some of them, copied only if they are not written yet.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn as_bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        if self.lent.is_empty() {
            return Cow::Borrowed(&self.written[range]);
        }
        let mut out = Vec::with_capacity(range.len());
        self.copy(range, &mut out);
        Cow::Owned(out)
    }

    /// All of them, copied only if they are not written yet.
    pub fn into_bytes(self) -> Vec<u8> {
        if self.lent.is_empty() { self.written } else { self.as_bytes(0..self.len).into_owned() }
    }

    /// Some of them, a block after the other, until there is an error.
    pub fn blocks<E>(&self, range: Range<usize>, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        if self.lent.is_empty() {
            return each(&self.written[range]);
        }
        let (mut block, mut at) = (Vec::with_capacity(BLOCK.min(range.len())), range.start);
        while at < range.end {
            let end = range.end.min(at + BLOCK);
            block.clear();
            self.copy(at..end, &mut block);
            each(&block)?;
            at = end;
        }
        Ok(())
    }

    fn copy(&self, range: Range<usize>, out: &mut Vec<u8>) {
        assert!(range.end <= self.len, "no more is copied than there is");
        let mut begin = 0;
        for part in self.parts() {
            let end = begin + part.len();
            let (from, to) = (range.start.max(begin), range.end.min(end));
            if from < to {
                part.copy(from - begin..to - begin, out);
            }
            begin = end;
        }
    }

    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let before = |k: usize| if k == 0 { 0 } else { self.lent[k - 1].0 };
        let lent = self.lent.iter().enumerate();
        let parts = lent.flat_map(move |(k, (behind, v))| [Part::Written(&self.written[before(k)..*behind]), Part::Numbers(v)]);
        parts.chain([Part::Written(&self.written[before(self.lent.len())..])])
    }
}

impl From<Vec<u8>> for Scattered {
    fn from(written: Vec<u8>) -> Self {
        Self { len: written.len(), written, lent: vec![] }
    }
}

impl From<&[u8]> for Scattered {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

/// As a list of bytes has it: their number, and then they.
impl Wire for Scattered {
    fn bits(&self) -> u64 {
        8 * self.len as u64
    }
    fn bytes(&self) -> u64 {
        4 + self.len as u64
    }
    fn encode(&self, out: &mut Vec<u8>) {
        (self.len as u32).encode(out);
        self.copy(0..self.len, out);
    }
    fn scatter(&self, out: &mut Scattered) {
        out.write(|out| (self.len as u32).encode(out));
        for part in self.parts() {
            match part {
                Part::Written(bytes) => out.write(|out| out.extend_from_slice(bytes)),
                Part::Numbers(v) => out.lend(v),
            }
        }
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let n = u32::decode(from)? as usize;
        Ok(from.take(n)?.into_owned().into())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::fleet::Answer;
    use crate::site::Work;
    use crate::vector::{RowUpdate, Update};

    crate::message! {
        #[derive(PartialEq)]
        enum Sample {
            Nothing {},
            Much { x: Vector, y: Option<Vec<(u32, Vector)>>, flag: bool, z: Update, name: String },
        }
    }

    fn large(count: usize) -> Vector {
        (0..count).map(|k| k as f32 / 7.0).collect::<Vec<f32>>().into()
    }

    fn much() -> Sample {
        let wide: Vector = (0..10_000).map(|k| k as f64 / 3.0).collect::<Vec<f64>>().into();
        let y = vec![(1, large(20_000)), (2, Vector::from(vec![1.0])), (3, wide)];
        Sample::Much { x: large(50_001), y: Some(y), flag: true, z: Update::Dense(large(16_384)), name: "ß".into() }
    }

    fn written(message: &impl Wire) -> Vec<u8> {
        let mut bytes = vec![];
        message.encode(&mut bytes);
        bytes
    }

    #[test]
    fn scattered_bytes_are_the_bytes_wherever_they_are_cut() {
        let answer = Answer::new(much(), Work { gradients: 3, values: 4 });
        let (expected, scattered) = (written(&answer), Scattered::of(&answer));
        assert_eq!(scattered.lent.len(), 4, "large vectors are not written");
        assert_eq!(scattered.len(), expected.len());
        assert_eq!(*scattered.as_bytes(0..expected.len()), expected);
        assert_eq!(scattered.clone().into_bytes(), expected);
        let mut joined = vec![];
        let Ok(()) = scattered.blocks(0..expected.len(), |block| {
            joined.extend_from_slice(block);
            Ok::<_, Infallible>(())
        });
        assert_eq!(joined, expected);
        let ends = [0, 1, 2, 3, 4, 5, 6, 7, 200_003, 200_010, 200_011, 280_019, 280_040, 300_001, expected.len() - 9, expected.len()];
        for (k, &from) in ends.iter().enumerate() {
            for &to in &ends[k..] {
                assert_eq!(*scattered.as_bytes(from..to), expected[from..to], "{from}..{to}");
            }
        }
        assert_eq!(Scattered::of(&Sample::Nothing {}).as_bytes(0..1), vec![0]);
    }

    #[test]
    fn rows_are_scattered_too() {
        let rows = Update::Rows(RowUpdate::new(60_000, (0..30_000).collect(), large(60_000)));
        let scattered = Scattered::of(&rows);
        assert_eq!((scattered.lent.len(), &*scattered.as_bytes(0..scattered.len())), (1, &written(&rows)[..]));
    }

    #[test]
    fn scattered_bytes_in_a_message_are_a_list_of_bytes() {
        let inner = Scattered::of(&much());
        let list = inner.clone().into_bytes();
        assert_eq!(written(&inner), written(&list));
        let outer = Scattered::of(&(7u32, inner));
        assert_eq!((outer.lent.len(), outer.len()), (4, written(&(7u32, list.clone())).len()));
        let bytes = outer.into_bytes();
        let back = <(u32, Scattered)>::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!((back.0, back.1.into_bytes()), (7, list));
    }

    #[test]
    fn a_message_is_read_from_a_stream_as_from_its_bytes() {
        let bytes = written(&much());
        let mut stream = &bytes[..];
        let mut from = Reader::streaming(&mut stream, bytes.len());
        assert_eq!(Sample::decode(&mut from), Ok(much()));
        assert_eq!(from.left(), 0);
        for end in (0..bytes.len()).step_by(997) {
            // It says that it is shorter, and then that it is as long but ends.
            for length in [end, bytes.len()] {
                let mut stream = &bytes[..end];
                assert!(Sample::decode(&mut Reader::streaming(&mut stream, length)).is_err());
            }
        }
    }
}
