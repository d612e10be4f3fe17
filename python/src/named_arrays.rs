//! Arrays by name: states and messages of methods that are written in Python.

use motet::core::{Precision, Reader, Vector, Wire, WireError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{array, vector};

/// Name → array, in the order given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NamedArrays(Vec<(String, Vector)>);

impl NamedArrays {
    /// A single one.
    pub(crate) fn one(name: &str, array: Vector) -> Self {
        Self(vec![(name.to_owned(), array)])
    }

    /// Of a dictionary; nothing of `None`. Numbers alone are arrays of one.
    pub(crate) fn of(dict: &Bound<'_, PyAny>) -> PyResult<Self> {
        if dict.is_none() {
            return Ok(Self::default());
        }
        let mut all = vec![];
        for (name, value) in dict.cast::<PyDict>()? {
            // An array of one is an array: NumPy warns who takes it as a number.
            let alone = value.getattr_opt("shape")?.is_none_or(|shape| shape.len().is_ok_and(|n| n == 0));
            let number = if alone { value.extract::<f64>().ok() } else { None };
            let value = number.map_or_else(|| vector(&value), |number| Ok(Vector::from(vec![number])))?;
            all.push((name.extract()?, value));
        }
        Ok(Self(all))
    }

    /// As a dictionary of copies.
    pub(crate) fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.0.iter().try_for_each(|(name, value)| dict.set_item(name, array(py, value)))?;
        Ok(dict)
    }

    /// The same numbers, all of one width.
    pub(crate) fn with_precision(self, precision: Precision) -> Self {
        let narrowed = |x: Vector| if x.precision() == precision { x } else { Vector::with_precision(x.to_f64(), precision) };
        Self(self.0.into_iter().map(|(name, x)| (name, narrowed(x))).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Vector> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, array)| array)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Wire for NamedArrays {
    /// The numbers alone: names are framing, which both sides know.
    fn bits(&self) -> u64 {
        self.0.iter().map(|(_, array)| array.bits()).sum()
    }
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Vec::decode(from).map(Self)
    }
    fn vectors(&mut self, each: &mut dyn FnMut(&mut Vector)) {
        self.0.iter_mut().for_each(|(_, array)| each(array));
    }
}
