//! A compressed vector as it crosses the wire.

use motet_core::{Misfit, ModelShape, Precision, Reader, Scattered, Vector, View, ViewMut, Wire, WireError};

use super::bits::{bytes, pack, unpack, width};

/// A compressed vector.
///
/// [`Wire::bits`] is the length of its payload, packed bit by bit; what `encode` writes is that,
/// rounded up to bytes, and a few bytes that tell form, dimension and count.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    dim: u32,
    form: Form,
}

/// The ways numbers are packed.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// Every number in full.
    Whole(Vector),
    /// Some numbers in full; both sides know where they belong.
    Seeded(Vector),
    /// Some numbers in full, each with its coordinate in ⌈log₂ d⌉ bits, ascending.
    Indexed(Vec<u32>, Vector),
    /// One norm in full; for each coordinate a sign and one of `most` + 1 levels.
    Levels { norm: Vector, most: u32, codes: Vec<u8> },
    /// Signed powers of two: a sign and the exponent of the vector's precision, no mantissa.
    Powers(Vector),
}

/// What the messages of a compressor look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Every number in full.
    Whole,
    /// So many numbers in full.
    Some(usize),
    /// A norm, and a level of so many for each number.
    Levels(u32),
    /// Signed powers of two.
    Powers,
}

impl Packed {
    /// All numbers as they are.
    pub fn whole(v: Vector) -> Self {
        Self { dim: v.len() as u32, form: Form::Whole(v) }
    }

    /// These numbers of a vector of `dim`, at coordinates that both sides know.
    pub fn seeded(dim: usize, values: Vector) -> Self {
        Self { dim: dim as u32, form: Form::Seeded(values) }
    }

    /// These numbers at these coordinates, ascending.
    pub fn indexed(dim: usize, coordinates: Vec<u32>, values: Vector) -> Self {
        assert_eq!(coordinates.len(), values.len(), "one coordinate for each number");
        Self { dim: dim as u32, form: Form::Indexed(coordinates, values) }
    }

    /// `norm · level / most` for each (sign, level); `norm` has one number.
    pub fn levels(norm: Vector, most: u32, dim: usize, levels: impl Iterator<Item = (bool, u32)>) -> Self {
        let mut codes = Vec::with_capacity(bytes(dim as u64 * u64::from(level_width(most))) as usize);
        pack(levels.map(|(negative, level)| u64::from(level) << 1 | u64::from(negative)), level_width(most), &mut codes);
        Self { dim: dim as u32, form: Form::Levels { norm, most, codes } }
    }

    /// Signed powers of two; mantissas are cut off.
    pub fn powers(mut v: Vector) -> Self {
        cut_mantissas(&mut v);
        Self { dim: v.len() as u32, form: Form::Powers(v) }
    }

    /// d
    pub fn dim(&self) -> usize {
        self.dim as usize
    }

    /// Must the receiver throw dice to know the coordinates?
    pub fn is_seeded(&self) -> bool {
        matches!(self.form, Form::Seeded(_))
    }

    /// Is this a vector of that shape, packed as the method's compressor packs? What was decoded is sound in itself; whether it
    /// is what this method sends is known here alone.
    pub fn fits(&self, model: ModelShape, sends: impl FnOnce() -> Sends) -> Result<(), Misfit> {
        if self.dim() != model.dim {
            return Err(Misfit::Length { got: self.dim(), expected: model.dim });
        }
        let (got, expected) = (self.precision(), model.precision);
        if got != expected {
            return Err(Misfit::Precision { got, expected });
        }
        // What was sent whole needs no dice.
        if let Form::Whole(v) = &self.form {
            return v.fits(model);
        }
        match (&self.form, sends()) {
            (Form::Powers(v), Sends::Powers) => v.fits(model),
            (Form::Seeded(v), Sends::Some(expected)) => counted(v.len(), expected),
            (Form::Indexed(at, v), Sends::Some(expected)) => counted(at.len(), expected).and(counted(v.len(), expected)),
            (Form::Levels { norm, most, .. }, Sends::Levels(levels)) if *most == levels => counted(norm.len(), 1),
            _ => Err(Misfit::Unsound("a vector that was packed in another way than the method's")),
        }
    }

    /// x ← x + a·self, in time of what was sent. `mask` gives the coordinates that both sides know.
    ///
    /// # Panics
    /// If it does not fit x or the mask.
    pub fn add_to(&self, a: f64, x: &mut Vector, mask: Option<&[u32]>) {
        assert!(self.dim() == x.len() && self.precision() == x.precision(), "compressed vectors have the shape of the model");
        match &self.form {
            Form::Whole(v) | Form::Powers(v) => x.axpy(a, v),
            Form::Indexed(at, values) => scatter(a, at, values, x),
            Form::Seeded(values) => {
                let at = mask.expect("numbers without coordinates come from a compressor that knows them");
                assert_eq!(at.len(), values.len(), "one coordinate for each number");
                scatter(a, at, values, x);
            }
            Form::Levels { norm, most, codes } => {
                let (norm, most) = (norm.at(0), f64::from(*most));
                let of = |code: u64| if code & 1 == 1 { -1.0 } else { 1.0 } * norm * ((code >> 1) as f64 / most);
                let each = unpack(codes, level_width(most as u32)).map(of);
                match x.view_mut() {
                    ViewMut::F32(x) => x.iter_mut().zip(each).for_each(|(x, v)| *x += (a * v) as f32),
                    ViewMut::F64(x) => x.iter_mut().zip(each).for_each(|(x, v)| *x += a * v),
                }
            }
        }
    }

    fn precision(&self) -> Precision {
        match &self.form {
            Form::Whole(v) | Form::Seeded(v) | Form::Indexed(_, v) | Form::Powers(v) | Form::Levels { norm: v, .. } => v.precision(),
        }
    }

    /// Bits that are packed without gaps, behind the numbers in full.
    fn packed_bits(&self) -> u64 {
        match &self.form {
            Form::Whole(_) | Form::Seeded(_) => 0,
            Form::Indexed(at, _) => at.len() as u64 * u64::from(width(self.dim.into())),
            Form::Levels { most, .. } => u64::from(self.dim) * u64::from(level_width(*most)),
            Form::Powers(v) => v.len() as u64 * u64::from(power_width(v.precision())),
        }
    }
}

/// So many numbers, and no others?
fn counted(got: usize, expected: usize) -> Result<(), Misfit> {
    if got == expected { Ok(()) } else { Err(Misfit::Count { what: "numbers", got, expected }) }
}

/// Sign and level.
fn level_width(most: u32) -> u32 {
    1 + width(u64::from(most) + 1)
}

/// Sign and exponent: 9 bits of 32, 12 of 64.
fn power_width(precision: Precision) -> u32 {
    match precision {
        Precision::F32 => 9,
        Precision::F64 => 12,
    }
}

fn scatter(a: f64, at: &[u32], values: &Vector, x: &mut Vector) {
    match (values.view(), x.view_mut()) {
        (View::F32(v), ViewMut::F32(x)) => at.iter().zip(v).for_each(|(&l, v)| x[l as usize] += a as f32 * v),
        (View::F64(v), ViewMut::F64(x)) => at.iter().zip(v).for_each(|(&l, v)| x[l as usize] += a * v),
        _ => unreachable!("precisions were compared before"),
    }
}

/// Keeps sign and exponent. Below the normal numbers that is zero, and NaN becomes infinity.
fn cut_mantissas(v: &mut Vector) {
    match v.view_mut() {
        ViewMut::F32(v) => v.iter_mut().for_each(|v| *v = f32::from_bits(v.to_bits() >> 23 << 23)),
        ViewMut::F64(v) => v.iter_mut().for_each(|v| *v = f64::from_bits(v.to_bits() >> 52 << 52)),
    }
}

impl Wire for Packed {
    fn bits(&self) -> u64 {
        self.packed_bits()
            + match &self.form {
                Form::Whole(v) | Form::Seeded(v) | Form::Indexed(_, v) | Form::Levels { norm: v, .. } => v.bits(),
                Form::Powers(_) => 0,
            }
    }

    fn bytes(&self) -> u64 {
        let plain = match &self.form {
            Form::Whole(v) => return 1 + v.bytes(),
            Form::Seeded(v) | Form::Indexed(_, v) => 4 + v.bytes(),
            Form::Levels { norm, .. } => 8 + norm.bytes(),
            Form::Powers(_) => 5,
        };
        1 + plain + bytes(self.packed_bits())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match &self.form {
            Form::Whole(v) => {
                out.push(0);
                v.encode(out);
            }
            Form::Seeded(v) => {
                out.push(1);
                self.dim.encode(out);
                v.encode(out);
            }
            Form::Indexed(at, v) => {
                out.push(2);
                self.dim.encode(out);
                v.encode(out);
                pack(at.iter().map(|&l| l.into()), width(self.dim.into()), out);
            }
            Form::Levels { norm, most, codes } => {
                out.push(3);
                self.dim.encode(out);
                most.encode(out);
                norm.encode(out);
                out.extend_from_slice(codes);
            }
            Form::Powers(v) => {
                out.push(4);
                self.dim.encode(out);
                (v.precision() == Precision::F64).encode(out);
                match v.view() {
                    View::F32(x) => pack(x.iter().map(|x| (x.to_bits() >> 23).into()), 9, out),
                    View::F64(x) => pack(x.iter().map(|x| x.to_bits() >> 52), 12, out),
                }
            }
        }
    }

    fn scatter(&self, out: &mut Scattered) {
        match &self.form {
            Form::Whole(v) => {
                out.write(|out| out.push(0));
                v.scatter(out);
            }
            Form::Seeded(v) => {
                out.write(|out| {
                    out.push(1);
                    self.dim.encode(out);
                });
                v.scatter(out);
            }
            _ => out.write(|out| self.encode(out)),
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let tag = u8::decode(from)?;
        if tag == 0 {
            return Ok(Self::whole(Vector::decode(from)?));
        }
        if tag > 4 {
            return Err(WireError::UnknownVariant(tag));
        }
        let dim = u32::decode(from)?;
        let form = match tag {
            1 => Form::Seeded(few(dim, from)?),
            2 => {
                let values = few(dim, from)?;
                let width = width(dim.into());
                let body = from.take(bytes(values.len() as u64 * u64::from(width)) as usize)?;
                let at: Vec<u32> = unpack(&body, width).take(values.len()).map(|l| l as u32).collect();
                if at.windows(2).any(|w| w[0] >= w[1]) || at.last().is_some_and(|&l| l >= dim) || !clean(&body, at.len(), width) {
                    return Err(WireError::Unsound("coordinates that do not ascend inside the vector"));
                }
                Form::Indexed(at, values)
            }
            3 => {
                let (most, norm) = (u32::decode(from)?, Vector::decode(from)?);
                let width = level_width(most);
                let codes = from.take(bytes(u64::from(dim) * u64::from(width)) as usize)?;
                let sound = unpack(&codes, width).take(dim as usize).all(|code| code >> 1 <= u64::from(most));
                if norm.len() != 1 || most == 0 || !sound || !clean(&codes, dim as usize, width) {
                    return Err(WireError::Unsound("levels beyond the last"));
                }
                Form::Levels { norm, most, codes: codes.into_owned() }
            }
            _ => {
                let precision = if bool::decode(from)? { Precision::F64 } else { Precision::F32 };
                let width = power_width(precision);
                let body = from.take(bytes(u64::from(dim) * u64::from(width)) as usize)?;
                if !clean(&body, dim as usize, width) {
                    return Err(WireError::Unsound("bits behind the last number"));
                }
                let codes = unpack(&body, width).take(dim as usize);
                Form::Powers(match precision {
                    Precision::F32 => codes.map(|c| f32::from_bits((c as u32) << 23)).collect::<Vec<_>>().into(),
                    Precision::F64 => codes.map(|c| f64::from_bits(c << 52)).collect::<Vec<_>>().into(),
                })
            }
        };
        Ok(Self { dim, form })
    }

    fn vectors(&mut self, each: &mut dyn FnMut(&mut Vector)) {
        match &mut self.form {
            Form::Whole(v) | Form::Seeded(v) | Form::Indexed(_, v) | Form::Levels { norm: v, .. } => each(v),
            Form::Powers(v) => {
                each(v);
                cut_mantissas(v);
            }
        }
    }
}

/// At most `dim` numbers.
fn few(dim: u32, from: &mut Reader<'_>) -> Result<Vector, WireError> {
    let values = Vector::decode(from)?;
    if values.len() <= dim as usize { Ok(values) } else { Err(WireError::Unsound("more numbers than coordinates")) }
}

/// Are the bits that fill up the last byte zero?
fn clean(body: &[u8], count: usize, width: u32) -> bool {
    let used = count as u64 * u64::from(width) % 8;
    used == 0 || body.last().is_none_or(|last| last >> used == 0)
}
