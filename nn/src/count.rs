//! How many numbers something takes, in arithmetic that cannot wrap.

use std::ops::{Add, Mul};

/// The most numbers of eight bytes that one block of memory can hold.
const MOST: usize = isize::MAX as usize / 8;

/// A number of numbers. A count that grew beyond what memory can hold says so, whatever it is added to or multiplied with.
///
/// ```
/// use motet_nn::Count;
/// assert_eq!((Count::of(3) * 4 + 5).get(), Some(17));
/// assert_eq!((Count::of(usize::MAX) * 2 + 5).get(), None);
/// assert_eq!((Count::of(usize::MAX) * 2 * 0).get(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(Option<usize>);

impl Count {
    /// Zero.
    pub const ZERO: Self = Self(Some(0));

    /// This many.
    #[inline]
    pub const fn of(numbers: usize) -> Self {
        Self(if numbers <= MOST { Some(numbers) } else { None })
    }

    /// The product of all factors; one if there is none.
    pub fn product(factors: &[usize]) -> Self {
        factors.iter().fold(Self::of(1), |product, factor| product * *factor)
    }

    /// How many; `None` if no memory can hold so many.
    pub const fn get(self) -> Option<usize> {
        self.0
    }

    /// How many, where a caller has made sure that memory can hold them.
    ///
    /// # Panics
    /// If no memory can.
    pub fn known(self) -> usize {
        self.0.expect("sizes were checked where they were given")
    }

    /// The larger one.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.zip(other.0).map(|(a, b)| a.max(b)))
    }

    fn checked(numbers: Option<usize>) -> Self {
        numbers.map_or(Self(None), Self::of)
    }
}

impl From<usize> for Count {
    fn from(numbers: usize) -> Self {
        Self::of(numbers)
    }
}

impl<C: Into<Count>> Add<C> for Count {
    type Output = Self;
    #[inline]
    fn add(self, other: C) -> Self {
        Self::checked(self.0.zip(other.into().0).and_then(|(a, b)| a.checked_add(b)))
    }
}

impl<C: Into<Count>> Mul<C> for Count {
    type Output = Self;
    #[inline]
    fn mul(self, other: C) -> Self {
        Self::checked(self.0.zip(other.into().0).and_then(|(a, b)| a.checked_mul(b)))
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::ZERO, |sum, count| sum + count)
    }
}
