//! Numbers of a matrix: one's own, or memory that somebody else keeps.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Numbers in one piece. A clone shares them; who writes gets numbers of its own first.
///
/// ```
/// use std::sync::Arc;
/// use motet_problems::Values;
/// let own = Values::from(vec![1.0, 2.0]);
/// let mut other = own.clone(); // nothing is copied …
/// assert_eq!(own.as_ptr(), other.as_ptr());
/// other[0] = 3.0; // … until somebody writes
/// assert_eq!((&own[..], &other[..]), (&[1.0, 2.0][..], &[3.0, 2.0][..]));
/// // Whatever keeps numbers, such as a file that is mapped into memory, may lend them.
/// let lent: Values<f64> = Values::lent(Arc::new([4.0, 5.0]));
/// assert_eq!(lent, [4.0, 5.0]);
/// ```
pub struct Values<T>(Kept<T>);

enum Kept<T> {
    Own(Arc<Vec<T>>),
    Lent(Arc<dyn AsRef<[T]> + Send + Sync>),
}

impl<T> Values<T> {
    /// Numbers that somebody else keeps, where they lie. They must not change.
    pub fn lent(keeper: Arc<dyn AsRef<[T]> + Send + Sync>) -> Self {
        Self(Kept::Lent(keeper))
    }
}

impl<T: Clone> Values<T> {
    /// The numbers as a list of one's own, to write and to make longer.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Kept::Lent(lent) = &self.0 {
            self.0 = Kept::Own(Arc::new((**lent).as_ref().to_vec()));
        }
        match &mut self.0 {
            Kept::Own(own) => Arc::make_mut(own),
            Kept::Lent(_) => unreachable!("what was lent has just been copied"),
        }
    }

    /// The numbers as a list, without copying them if nobody else has them.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Kept::Own(own) => Arc::unwrap_or_clone(own),
            Kept::Lent(lent) => (*lent).as_ref().to_vec(),
        }
    }
}

impl<T> Deref for Values<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Kept::Own(own) => own,
            Kept::Lent(lent) => (**lent).as_ref(),
        }
    }
}

impl<T: Clone> DerefMut for Values<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.to_mut()
    }
}

impl<T> Clone for Values<T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Kept::Own(own) => Kept::Own(Arc::clone(own)),
            Kept::Lent(lent) => Kept::Lent(Arc::clone(lent)),
        })
    }
}

impl<T> From<Vec<T>> for Values<T> {
    fn from(own: Vec<T>) -> Self {
        Self(Kept::Own(Arc::new(own)))
    }
}

impl<T> FromIterator<T> for Values<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        numbers.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Values<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Values<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for Values<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        **self == *other
    }
}

impl<T: PartialEq> PartialEq<Vec<T>> for Values<T> {
    fn eq(&self, other: &Vec<T>) -> bool {
        **self == **other
    }
}
