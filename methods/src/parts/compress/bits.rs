//! Whole numbers of a few bits each, packed without gaps, lowest bit first.

/// How many bits tell `values` different values apart: ⌈log₂ values⌉.
pub(super) fn width(values: u64) -> u32 {
    64 - values.saturating_sub(1).leading_zeros()
}

/// How many bytes hold so many bits.
pub(super) fn bytes(bits: u64) -> u64 {
    bits.div_ceil(8)
}

/// Packs `codes` of `width` ≤ 33 bits each behind `out`.
pub(super) fn pack(codes: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut held, mut count) = (0u64, 0);
    for code in codes {
        held |= code << count;
        count += width;
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(held as u8);
    }
}

/// What `pack` packed; ends where the bytes end.
pub(super) fn unpack(bytes: &[u8], width: u32) -> impl Iterator<Item = u64> + '_ {
    let (mut held, mut count, mut rest) = (0u64, 0, bytes.iter());
    std::iter::from_fn(move || {
        while count < width {
            held |= u64::from(*rest.next()?) << count;
            count += 8;
        }
        let code = held & ((1 << width) - 1);
        held >>= width;
        count -= width;
        Some(code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_tell_all_values_apart_and_no_more() {
        assert_eq!([1, 2, 3, 4, 5, 8, 9, 112].map(width), [0, 1, 2, 2, 3, 3, 4, 7]);
    }

    #[test]
    fn packed_numbers_come_back() {
        for width in [1, 2, 7, 9, 12, 20, 33] {
            let codes: Vec<u64> = (0..50u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - width)).collect();
            let mut out = vec![];
            pack(codes.iter().copied(), width, &mut out);
            assert_eq!(out.len() as u64, bytes(50 * u64::from(width)));
            assert_eq!(unpack(&out, width).take(50).collect::<Vec<_>>(), codes);
        }
    }
}
