//! Does a reply fit the ask it answers? Looked at before anything is made of it: whoever is at the other end of a wire
//! may send anything.

use crate::message::{Reader, Wire, WireError};
use crate::vector::{Precision, Vector};

/// How many numbers a model has, and how wide they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelShape {
    /// d
    pub dim: usize,
    /// Width of the numbers.
    pub precision: Precision,
}

impl ModelShape {
    /// The shape of this model.
    pub fn of(x: &Vector) -> Self {
        Self { dim: x.len(), precision: x.precision() }
    }
}

impl Wire for ModelShape {
    fn bits(&self) -> u64 {
        8 * self.bytes()
    }
    fn bytes(&self) -> u64 {
        9
    }
    fn encode(&self, out: &mut Vec<u8>) {
        (self.dim as u64).encode(out);
        (self.precision == Precision::F64).encode(out);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let dim = usize::try_from(u64::decode(from)?).map_err(|_| WireError::Unsound("a model too large"))?;
        Ok(Self { dim, precision: if bool::decode(from)? { Precision::F64 } else { Precision::F32 } })
    }
}

/// Why a reply does not fit.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Misfit {
    /// Another variant answers this ask.
    #[error("not what was asked for")]
    Variant,
    /// A vector of another length.
    #[error("a vector of {got} numbers where the model has {expected}")]
    Length {
        /// As it was sent.
        got: usize,
        /// As it should be.
        expected: usize,
    },
    /// A vector of another precision.
    #[error("numbers of {} bits where the model has {}", got.bits(), expected.bits())]
    Precision {
        /// As it was sent.
        got: Precision,
        /// As it should be.
        expected: Precision,
    },
    /// Too many or too few of something.
    #[error("{got} {what} where {expected} were asked for")]
    Count {
        /// Of what.
        what: &'static str,
        /// As many were sent.
        got: usize,
        /// As many were asked for.
        expected: usize,
    },
    /// A number out of its range.
    #[error("a {what} of {value}")]
    Number {
        /// Its name.
        what: &'static str,
        /// As it was sent.
        value: f64,
    },
    /// Well-formed, but not for this model.
    #[error("{0}")]
    Unsound(&'static str),
}

impl Misfit {
    /// Is this the vector that was asked for, and none where none was?
    pub fn of_optional(v: Option<&Vector>, wanted: bool, model: ModelShape) -> Result<(), Misfit> {
        match v {
            Some(v) if wanted => v.fits(model),
            None if !wanted => Ok(()),
            _ => Err(Misfit::Count { what: "vectors", got: v.is_some().into(), expected: wanted.into() }),
        }
    }

    /// Are these as many vectors as were asked for, and each a model?
    pub fn of_list(list: &[Vector], expected: usize, model: ModelShape) -> Result<(), Misfit> {
        if list.len() != expected {
            return Err(Misfit::Count { what: "vectors", got: list.len(), expected });
        }
        list.iter().try_for_each(|v| v.fits(model))
    }

    /// Is a constant of a function, such as its smoothness, at least zero where it is known?
    pub fn of_constant(what: &'static str, value: Option<f64>) -> Result<(), Misfit> {
        match value {
            Some(value) if value.is_nan() || value < 0.0 => Err(Misfit::Number { what, value }),
            _ => Ok(()),
        }
    }
}

/// Are all vectors of a message models?
pub fn all_fit<T: Wire>(message: &mut T, model: ModelShape) -> Result<(), Misfit> {
    let mut misfit = None;
    message.vectors(&mut |x| misfit = misfit.or(x.fits(model).err()));
    misfit.map_or(Ok(()), Err)
}

impl Vector {
    /// Has it the length and precision of the model?
    #[inline]
    pub fn fits(&self, model: ModelShape) -> Result<(), Misfit> {
        let (got, precision) = (self.len(), self.precision());
        if got != model.dim {
            return Err(Misfit::Length { got, expected: model.dim });
        }
        if precision != model.precision {
            return Err(Misfit::Precision { got: precision, expected: model.precision });
        }
        Ok(())
    }
}

/// Why a client's reply cannot be used: a breach of the protocol by that client.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplyError {
    /// The bytes are no reply.
    #[error(transparent)]
    Bytes(#[from] WireError),
    /// There are bytes behind the reply.
    #[error("{0} bytes left over")]
    LeftOver(usize),
    /// It is a reply, but not to what was asked.
    #[error("{kind}: {misfit}")]
    Misfit {
        /// What was sent.
        kind: &'static str,
        /// What is wrong with it.
        misfit: Misfit,
    },
}

/// A message that is all of these bytes.
pub fn whole<T: Wire>(bytes: &[u8]) -> Result<T, ReplyError> {
    whole_of(Reader::new(bytes))
}

/// A message that is all that is left to read.
pub fn whole_of<T: Wire>(mut from: Reader<'_>) -> Result<T, ReplyError> {
    let message = T::decode(&mut from)?;
    match from.left() {
        0 => Ok(message),
        left => Err(ReplyError::LeftOver(left)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_read_as_sentences() {
        let model = ModelShape { dim: 3, precision: Precision::F64 };
        let said = |misfit: Result<(), Misfit>| misfit.err().map_or(String::new(), |misfit| misfit.to_string());
        assert_eq!(said(Vector::from(vec![0.0; 4]).fits(model)), "a vector of 4 numbers where the model has 3");
        assert_eq!(said(Vector::from(vec![0.0f32; 3]).fits(model)), "numbers of 32 bits where the model has 64");
        assert_eq!(said(Misfit::of_list(&[], 2, model)), "0 vectors where 2 were asked for");
        assert_eq!(said(Misfit::of_constant("smoothness", Some(-2.0))), "a smoothness of -2");
        let error = ReplyError::Misfit { kind: "Gradient", misfit: Misfit::Variant };
        assert_eq!(error.to_string(), "Gradient: not what was asked for");
    }

    #[test]
    fn what_was_not_asked_for_does_not_fit() {
        let model = ModelShape { dim: 1, precision: Precision::F64 };
        let x = Vector::from(vec![1.0]);
        assert!(Misfit::of_optional(Some(&x), true, model).is_ok() && Misfit::of_optional(None, false, model).is_ok());
        assert!(Misfit::of_optional(Some(&x), false, model).is_err() && Misfit::of_optional(None, true, model).is_err());
    }
}
