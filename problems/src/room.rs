//! What would not fit into memory: sizes are counted before anything is allocated.

use motet_files::{free_memory, told};

/// What is taken to be free where the system does not tell.
const UNTOLD: u64 = 16 << 30;

/// What would not fit into memory, with its size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} would take {} of memory, and {} are free", told(*.needed), told(*.free))]
pub struct Shortage {
    /// What, with its numbers.
    pub what: String,
    /// Bytes it would take; the largest number if there are more than can be counted.
    pub needed: u64,
    /// Bytes there are.
    pub free: u64,
}

/// Refuses what the free memory does not hold: so many things, the product of `factors`, of so many bytes each.
pub(crate) fn afford(what: impl FnOnce() -> String, factors: &[u64], bytes_each: u64) -> Result<(), Shortage> {
    let needed = factors.iter().fold(bytes_each, |product, factor| product.saturating_mul(*factor));
    let free = free_memory().unwrap_or(UNTOLD);
    if needed <= free { Ok(()) } else { Err(Shortage { what: what(), needed, free }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told_with_what_is_free() {
        assert_eq!(afford(|| "a few numbers".into(), &[10, 10], 8), Ok(()));
        let shortage = afford(|| "many numbers".into(), &[u64::MAX, 2], 8).unwrap_err();
        assert_eq!(shortage.needed, u64::MAX);
        assert!(shortage.to_string().starts_with("many numbers would take 18.45 EB of memory, and "), "{shortage}");
        assert_eq!(afford(|| "nothing".into(), &[u64::MAX, 0], 8), Ok(()), "nothing fits everywhere");
    }
}
