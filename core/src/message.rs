//! What crosses the wire, and what it costs.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

use crate::scattered::{Scattered, blocks};
use crate::vector::{Precision, Vector, View, ViewMut};

/// A field of a message or state: bytes and their cost.
pub trait Wire: Sized {
    /// What a paper would count: the numbers, without framing.
    fn bits(&self) -> u64;
    /// The exact length of what `encode` writes.
    fn bytes(&self) -> u64;
    /// Lossless.
    fn encode(&self, out: &mut Vec<u8>);
    /// The same bytes, for whoever sends or keeps them a little at a time. Worth writing where there may be a large vector inside.
    fn scatter(&self, out: &mut Scattered) {
        out.write(|out| self.encode(out));
    }
    /// Never panics and never allocates more than the bytes it was handed.
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError>;
    /// Visits every vector inside: guards, clipping and attacks work on any message.
    fn vectors(&mut self, _each: &mut dyn FnMut(&mut Vector)) {}
}

/// A whole message: one struct, or an enum of named variants. Written with [`message!`](crate::message!).
pub trait Message: Wire + Clone + Send + Sync + 'static {
    /// Name of the struct or variant; the ledger's key.
    fn kind(&self) -> &'static str;
}

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// They end early.
    #[error("the bytes end early")]
    Short,
    /// A tag nobody knows.
    #[error("unknown variant {0}")]
    UnknownVariant(u8),
    /// Well-formed but impossible.
    #[error("the bytes hold {0}")]
    Unsound(&'static str),
}

/// Bytes being read.
pub struct Reader<'a>(Source<'a>);

enum Source<'a> {
    Bytes(&'a [u8]),
    Stream { from: &'a mut dyn Read, left: usize },
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({} bytes left)", self.left())
    }
}

/// So many bytes of a stream are looked at together.
const BLOCK: usize = 64 << 10;

impl<'a> Reader<'a> {
    /// From the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Source::Bytes(bytes))
    }

    /// The next `length` bytes of a stream: a large vector is then in memory once. A stream that fails has ended for the reader;
    /// whoever made it knows better.
    pub fn streaming(from: &'a mut dyn Read, length: usize) -> Self {
        Self(Source::Stream { from, left: length })
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<Cow<'a, [u8]>, WireError> {
        match &mut self.0 {
            Source::Bytes(bytes) => cut(bytes, n).map(Cow::Borrowed),
            Source::Stream { left, .. } if *left < n => Err(WireError::Short),
            Source::Stream { .. } => {
                let mut bytes = vec![0; n];
                self.fill(&mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// The next bytes, as many as there is room for.
    pub fn fill(&mut self, out: &mut [u8]) -> Result<(), WireError> {
        match &mut self.0 {
            Source::Bytes(bytes) => out.copy_from_slice(cut(bytes, out.len())?),
            Source::Stream { from, left } => {
                *left = left.checked_sub(out.len()).ok_or(WireError::Short)?;
                from.read_exact(out).map_err(|_| WireError::Short)?;
            }
        }
        Ok(())
    }

    /// The next `n` numbers as they lie on the wire.
    fn numbers(&mut self, n: usize, precision: Precision) -> Result<Vector, WireError> {
        let length = n.checked_mul(precision.bits() as usize / 8).ok_or(WireError::Short)?;
        if let Source::Bytes(bytes) = &mut self.0 {
            return Ok(Vector::from_le_bytes(cut(bytes, length)?, precision));
        }
        if length > self.left() {
            return Err(WireError::Short);
        }
        let mut x = Vector::zeros(n, precision);
        let mut block = vec![0; BLOCK.min(length)];
        match x.view_mut() {
            ViewMut::F32(x) => self.numbers_into(x, &mut block, f32::from_le_bytes)?,
            ViewMut::F64(x) => self.numbers_into(x, &mut block, f64::from_le_bytes)?,
        }
        Ok(x)
    }

    fn numbers_into<T, const N: usize>(&mut self, x: &mut [T], block: &mut [u8], of: impl Fn([u8; N]) -> T) -> Result<(), WireError> {
        for some in x.chunks_mut((block.len() / N).max(1)) {
            let bytes = &mut block[..N * some.len()];
            self.fill(bytes)?;
            some.iter_mut().zip(bytes.as_chunks().0).for_each(|(x, bytes)| *x = of(*bytes));
        }
        Ok(())
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        match &self.0 {
            Source::Bytes(bytes) => bytes.len(),
            Source::Stream { left, .. } => *left,
        }
    }
}

fn cut<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8], WireError> {
    let (head, tail) = bytes.split_at_checked(n).ok_or(WireError::Short)?;
    *bytes = tail;
    Ok(head)
}

macro_rules! wire_number {
    ($($t:ty)*) => {$(
        impl Wire for $t {
            fn bits(&self) -> u64 { 8 * size_of::<$t>() as u64 }
            fn bytes(&self) -> u64 { size_of::<$t>() as u64 }
            fn encode(&self, out: &mut Vec<u8>) { out.extend_from_slice(&self.to_le_bytes()); }
            fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
                let mut bytes = [0; size_of::<$t>()];
                from.fill(&mut bytes)?;
                Ok(<$t>::from_le_bytes(bytes))
            }
        }
    )*};
}
wire_number!(u8 u16 u32 u64 i64 f32 f64);

impl Wire for () {
    fn bits(&self) -> u64 {
        0
    }
    fn bytes(&self) -> u64 {
        0
    }
    fn encode(&self, _: &mut Vec<u8>) {}
    fn decode(_: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(())
    }
}

impl Wire for bool {
    fn bits(&self) -> u64 {
        1
    }
    fn bytes(&self) -> u64 {
        1
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        match u8::decode(from)? {
            0 => Ok(false),
            1 => Ok(true),
            tag => Err(WireError::UnknownVariant(tag)),
        }
    }
}

impl Wire for String {
    fn bits(&self) -> u64 {
        8 * self.len() as u64
    }
    fn bytes(&self) -> u64 {
        4 + self.len() as u64
    }
    fn encode(&self, out: &mut Vec<u8>) {
        (self.len() as u32).encode(out);
        out.extend_from_slice(self.as_bytes());
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let n = u32::decode(from)? as usize;
        String::from_utf8(from.take(n)?.into_owned()).map_err(|_| WireError::Unsound("text that is not UTF-8"))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn bits(&self) -> u64 {
        1 + self.as_ref().map_or(0, Wire::bits)
    }
    fn bytes(&self) -> u64 {
        1 + self.as_ref().map_or(0, Wire::bytes)
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.is_some().encode(out);
        if let Some(v) = self {
            v.encode(out);
        }
    }
    fn scatter(&self, out: &mut Scattered) {
        out.write(|out| self.is_some().encode(out));
        if let Some(v) = self {
            v.scatter(out);
        }
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(if bool::decode(from)? { Some(T::decode(from)?) } else { None })
    }
    fn vectors(&mut self, each: &mut dyn FnMut(&mut Vector)) {
        if let Some(v) = self {
            v.vectors(each);
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn bits(&self) -> u64 {
        self.iter().map(Wire::bits).sum()
    }
    fn bytes(&self) -> u64 {
        4 + self.iter().map(Wire::bytes).sum::<u64>()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        (self.len() as u32).encode(out);
        self.iter().for_each(|v| v.encode(out));
    }
    fn scatter(&self, out: &mut Scattered) {
        out.write(|out| (self.len() as u32).encode(out));
        self.iter().for_each(|v| v.scatter(out));
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let n = u32::decode(from)? as usize;
        // Each element takes at least a byte: a short message cannot claim many.
        if n > from.left() {
            return Err(WireError::Short);
        }
        let mut items = Vec::new();
        for _ in 0..n {
            items.push(T::decode(from)?);
        }
        Ok(items)
    }
    fn vectors(&mut self, each: &mut dyn FnMut(&mut Vector)) {
        self.iter_mut().for_each(|v| v.vectors(each));
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn bits(&self) -> u64 {
        self.0.bits() + self.1.bits()
    }
    fn bytes(&self) -> u64 {
        self.0.bytes() + self.1.bytes()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }
    fn scatter(&self, out: &mut Scattered) {
        self.0.scatter(out);
        self.1.scatter(out);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok((A::decode(from)?, B::decode(from)?))
    }
    fn vectors(&mut self, each: &mut dyn FnMut(&mut Vector)) {
        self.0.vectors(each);
        self.1.vectors(each);
    }
}

/// One word holds the length and, in its top bit, the precision.
const WIDE: u32 = 1 << 31;

/// The word before a vector's numbers.
fn head_of(v: &Vector) -> u32 {
    let n = u32::try_from(v.len()).ok().filter(|n| n & WIDE == 0).expect("vectors have fewer than 2^31 numbers");
    if v.precision() == Precision::F64 { n | WIDE } else { n }
}

impl Wire for Vector {
    fn bits(&self) -> u64 {
        self.precision().bits() * self.len() as u64
    }
    fn bytes(&self) -> u64 {
        4 + self.bits() / 8
    }
    fn encode(&self, out: &mut Vec<u8>) {
        head_of(self).encode(out);
        match self.view() {
            View::F32(x) => blocks(x, out, f32::to_le_bytes),
            View::F64(x) => blocks(x, out, f64::to_le_bytes),
        }
    }
    fn scatter(&self, out: &mut Scattered) {
        out.write(|out| head_of(self).encode(out));
        out.lend(self);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let head = u32::decode(from)?;
        let (n, precision) = ((head & !WIDE) as usize, if head & WIDE == 0 { Precision::F32 } else { Precision::F64 });
        from.numbers(n, precision)
    }
    fn vectors(&mut self, each: &mut dyn FnMut(&mut Vector)) {
        each(self);
    }
}

/// A struct or enum of named fields that can cross the wire or sleep in a store: derives `Clone`,
/// `Debug` and [`Wire`].
///
/// ```
/// use motet_core::{Reader, Vector, Wire, wire};
/// wire! {
///     /// A client's memory.
///     #[derive(PartialEq)]
///     pub struct Memory {
///         /// hᵢ
///         pub h: Vector,
///         /// Rounds taken part in.
///         pub rounds: u32,
///     }
/// }
/// let memory = Memory { h: vec![1.0, 2.0].into(), rounds: 3 };
/// let mut bytes = vec![];
/// memory.encode(&mut bytes);
/// assert_eq!(Memory::decode(&mut Reader::new(&bytes)), Ok(memory));
/// ```
#[macro_export]
macro_rules! wire {
    ($(#[$m:meta])* $v:vis enum $name:ident { $($(#[$vm:meta])* $variant:ident { $($(#[$fm:meta])* $field:ident : $ty:ty),* $(,)? }),+ $(,)? }) => {
        $(#[$m])* #[derive(Clone, Debug)]
        $v enum $name { $($(#[$vm])* $variant { $($(#[$fm])* $field: $ty),* }),+ }
        impl $crate::Wire for $name {
            fn bits(&self) -> u64 {
                match self { $(Self::$variant { $($field),* } => 0 $(+ $crate::Wire::bits($field))*),+ }
            }
            fn bytes(&self) -> u64 {
                match self { $(Self::$variant { $($field),* } => 1 $(+ $crate::Wire::bytes($field))*),+ }
            }
            #[allow(unused_assignments, unused_mut)]
            fn encode(&self, out: &mut Vec<u8>) {
                let mut tag = 0u8;
                $( if let Self::$variant { $($field),* } = self { out.push(tag); $($crate::Wire::encode($field, out);)* return; } tag += 1; )+
            }
            #[allow(unused_assignments, unused_mut)]
            fn scatter(&self, out: &mut $crate::Scattered) {
                let mut tag = 0u8;
                $( if let Self::$variant { $($field),* } = self { out.write(|out| out.push(tag)); $($crate::Wire::scatter($field, out);)* return; } tag += 1; )+
            }
            #[allow(unused_assignments, unused_mut)]
            fn decode(from: &mut $crate::Reader<'_>) -> Result<Self, $crate::WireError> {
                let got = <u8 as $crate::Wire>::decode(from)?;
                let mut tag = 0u8;
                $( if got == tag { return Ok(Self::$variant { $($field: $crate::Wire::decode(from)?),* }); } tag += 1; )+
                Err($crate::WireError::UnknownVariant(got))
            }
            fn vectors(&mut self, _each: &mut dyn FnMut(&mut $crate::Vector)) {
                match self { $(Self::$variant { $($field),* } => { $($crate::Wire::vectors($field, _each);)* }),+ }
            }
        }
    };
    ($(#[$m:meta])* $v:vis struct $name:ident { $($(#[$fm:meta])* $fv:vis $field:ident : $ty:ty),* $(,)? }) => {
        $(#[$m])* #[derive(Clone, Debug)]
        $v struct $name { $($(#[$fm])* $fv $field: $ty),* }
        impl $crate::Wire for $name {
            fn bits(&self) -> u64 { 0 $(+ $crate::Wire::bits(&self.$field))* }
            fn bytes(&self) -> u64 { 0 $(+ $crate::Wire::bytes(&self.$field))* }
            fn encode(&self, _out: &mut Vec<u8>) { $($crate::Wire::encode(&self.$field, _out);)* }
            fn scatter(&self, _out: &mut $crate::Scattered) { $($crate::Wire::scatter(&self.$field, _out);)* }
            fn decode(_from: &mut $crate::Reader<'_>) -> Result<Self, $crate::WireError> {
                Ok(Self { $($field: $crate::Wire::decode(_from)?),* })
            }
            fn vectors(&mut self, _each: &mut dyn FnMut(&mut $crate::Vector)) {
                $($crate::Wire::vectors(&mut self.$field, _each);)*
            }
        }
    };
}
pub(crate) use crate::wire;

/// A [`wire!`](crate::wire!) type that is a message: the name of the struct, or of each variant, is the ledger's key.
///
/// ```
/// use motet_core::{Message, Vector, Wire, message};
/// message! {
///     /// What the server asks.
///     pub enum Ask {
///         /// For ∇fᵢ(x).
///         Differentiate { /** Where. */ x: Vector },
///         /// For Lᵢ.
///         Constants {},
///     }
/// }
/// let ask = Ask::Differentiate { x: vec![0.0; 10].into() };
/// assert_eq!((ask.kind(), ask.bits()), ("Differentiate", 640));
/// ```
#[macro_export]
macro_rules! message {
    ($(#[$m:meta])* $v:vis enum $name:ident { $($(#[$vm:meta])* $variant:ident { $($body:tt)* }),+ $(,)? }) => {
        $crate::wire! { $(#[$m])* $v enum $name { $($(#[$vm])* $variant { $($body)* }),+ } }
        impl $crate::Message for $name {
            fn kind(&self) -> &'static str { match self { $(Self::$variant { .. } => stringify!($variant)),+ } }
        }
    };
    ($(#[$m:meta])* $v:vis struct $name:ident { $($body:tt)* }) => {
        $crate::wire! { $(#[$m])* $v struct $name { $($body)* } }
        impl $crate::Message for $name {
            fn kind(&self) -> &'static str { stringify!($name) }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    message! {
        #[derive(PartialEq)]
        enum Sample {
            Nothing {},
            Much { x: Vector, y: Option<Vec<(u32, Vector)>>, flag: bool, name: String },
        }
    }

    fn much() -> Sample {
        Sample::Much {
            x: vec![1.5, f64::MIN_POSITIVE / 2.0].into(),
            y: Some(vec![(7, vec![0.5f32].into()), (8, Vec::<f32>::new().into())]),
            flag: true,
            name: "ß".into(),
        }
    }

    #[test]
    fn messages_survive_the_wire_and_their_length_is_known_beforehand() {
        for sent in [Sample::Nothing {}, much()] {
            let mut bytes = vec![];
            sent.encode(&mut bytes);
            assert_eq!(bytes.len() as u64, sent.bytes());
            let mut from = Reader::new(&bytes);
            assert_eq!(Sample::decode(&mut from), Ok(sent));
            assert_eq!(from.left(), 0);
        }
    }

    #[test]
    fn damaged_bytes_are_errors_not_panics() {
        let mut bytes = vec![];
        much().encode(&mut bytes);
        for end in 0..bytes.len() {
            assert!(Sample::decode(&mut Reader::new(&bytes[..end])).is_err());
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let _ = Sample::decode(&mut Reader::new(&bad)); // must return
            }
        }
        assert_eq!(Sample::decode(&mut Reader::new(&[9])), Err(WireError::UnknownVariant(9)));
    }

    #[test]
    fn every_vector_inside_is_visited() {
        let mut dims = vec![];
        much().vectors(&mut |v| dims.push(v.len()));
        assert_eq!(dims, [2, 1, 0]);
    }
}
