//! Bytes from anywhere: decoding returns, never panics, and believes no length it cannot see.

#![allow(clippy::unwrap_used)]

use std::borrow::Cow;

use motet_core::{
    Answer, ClientVersions, LastReplies, Ledger, Mean, ModelShape, Precision, ProbeRequest, Reader, ReplyError, RowUpdate, Score, Slot,
    Update, Vector, Wire, Work, whole,
};
use proptest::prelude::*;

fn encoded(value: &impl Wire) -> Vec<u8> {
    let mut bytes = vec![];
    value.encode(&mut bytes);
    assert_eq!(bytes.len() as u64, value.bytes(), "the length is known beforehand");
    bytes
}

/// What decodes was there: its encoding is as long as what was read, or it is an error.
fn sound<T: Wire>(bytes: &[u8]) {
    let mut from = Reader::new(bytes);
    if let Ok(value) = T::decode(&mut from) {
        let read = bytes.len() - from.left();
        assert!(encoded(&value).len() <= read, "{} bytes grew from {read}", value.bytes());
    }
}

fn sound_as_anything(bytes: &[u8]) {
    sound::<Vector>(bytes);
    sound::<Update>(bytes);
    sound::<LastReplies>(bytes);
    sound::<Score>(bytes);
    sound::<ClientVersions<()>>(bytes);
    sound::<ClientVersions<f64>>(bytes);
    sound::<ClientVersions<Vector>>(bytes);
    sound::<Answer<Vector>>(bytes);
    sound::<Ledger>(bytes);
    sound::<ProbeRequest>(bytes);
    sound::<Slot>(bytes);
    sound::<Option<Vec<(u32, String)>>>(bytes);
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -10.0..10.0, Just(0.0), Just(-0.0), Just(f64::NAN), Just(f64::MIN_POSITIVE / 4.0)]
}

fn vector() -> impl Strategy<Value = Vector> {
    let wide = prop::collection::vec(number(), 0..20).prop_map(Vector::from);
    let narrow = prop::collection::vec(any::<f32>(), 0..20).prop_map(Vector::from);
    prop_oneof![wide, narrow]
}

/// Some rows of a model of `count` rows of `width` finite numbers.
fn row_update() -> impl Strategy<Value = (usize, Update)> {
    (1usize..8, 1usize..5).prop_flat_map(|(count, width)| {
        let picked = prop::collection::btree_set(0..count as u32, 0..=count);
        picked.prop_flat_map(move |rows| {
            let values = prop::collection::vec(-1e3..1e3, rows.len() * width);
            let rows: Vec<u32> = rows.into_iter().collect();
            values.prop_map(move |values| (count * width, Update::Rows(RowUpdate::new(count * width, rows.clone(), values.into()))))
        })
    })
}

fn score() -> impl Strategy<Value = Score> {
    let metric = ("[a-z.]{0,12}", number(), any::<u64>()).prop_map(|(name, value, examples)| (Cow::Owned(name), value, examples));
    let parts = (any::<u64>(), number(), prop::option::of(number()), prop::option::of(vector()), prop::collection::vec(metric, 0..4));
    parts.prop_map(|(examples, loss, distance, model, metrics)| Score {
        examples,
        loss,
        distance,
        gradient: None,
        model,
        metrics,
        ..Score::default()
    })
}

/// Lossless to the last bit, NaN included: the same bytes again, none left over.
fn survives<T: Wire>(value: &T) {
    let bytes = encoded(value);
    let mut from = Reader::new(&bytes);
    let back = T::decode(&mut from).unwrap();
    assert_eq!((from.left(), encoded(&back)), (0, bytes));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        sound_as_anything(&bytes);
    }

    #[test]
    fn small_numbers_in_the_bytes_reach_deeper(bytes in prop::collection::vec(prop_oneof![0u8..4, Just(128), Just(255)], 0..200)) {
        sound_as_anything(&bytes);
    }

    #[test]
    fn damaged_messages_never_panic(score in score(), (_, update) in row_update(), at in any::<prop::sample::Index>(), flip in 1u8..) {
        for bytes in [encoded(&score), encoded(&update), encoded(&vec![update.clone()])] {
            let mut damaged = bytes.clone();
            damaged[at.index(bytes.len())] ^= flip;
            sound_as_anything(&damaged);
            sound_as_anything(&bytes[..at.index(bytes.len())]);
        }
    }

    #[test]
    fn what_is_sent_arrives_to_the_last_bit(vector in vector(), score in score(), (_, update) in row_update(), gradients in any::<u64>()) {
        survives(&vector);
        survives(&score);
        survives(&update);
        survives(&Update::Dense(vector.clone()));
        survives(&Answer::new(vector, Work { gradients, values: 3 }));
    }

    #[test]
    fn a_mean_is_the_sum_in_the_order_of_the_calls(terms in prop::collection::vec((0.1..10.0, prop::array::uniform3(-1e6..1e6)), 1..30)) {
        let mut mean = Mean::like(&Vector::from(vec![0.0; 3]));
        let (mut sum, mut weight) = ([0.0; 3], 0.0);
        for (w, v) in &terms {
            mean.add(*w, &Vector::from(v.to_vec()));
            (0..3).for_each(|l| sum[l] += w * v[l]);
            weight += w;
        }
        prop_assert_eq!(mean.weight(), weight);
        prop_assert_eq!(mean.finish().to_f64(), sum.map(|s| s * (1.0 / weight)).to_vec());
    }

    #[test]
    fn rows_act_as_the_dense_vector_they_stand_for((dim, update) in row_update(), a in -3.0..3.0) {
        let dense = update.clone().into_dense(Precision::F64);
        prop_assert_eq!(dense.len(), dim);
        let start = Vector::from((0..dim).map(|l| l as f64 - 2.0).collect::<Vec<_>>());
        let (mut by_rows, mut by_all) = (start.clone(), start.clone());
        update.add_to(a, &mut by_rows);
        by_all.axpy(a, &dense);
        prop_assert_eq!(by_rows.f64s(), by_all.f64s());
        let (mut few, mut all) = (Mean::like(&start), Mean::like(&start));
        few.add_update(2.0, &update);
        all.add(2.0, &dense);
        prop_assert_eq!(few.finish(), all.finish());
    }

    /// What fits a model can be added to it; what does not is told by what is wrong with it, and nobody panics.
    #[test]
    fn what_fits_can_be_added((dim, update) in row_update(), sent in 0usize..40, wide in any::<bool>()) {
        let precision = if wide { Precision::F64 } else { Precision::F32 };
        for update in [update, Update::Dense(Vector::zeros(sent, precision))] {
            for (dim, precision) in [(dim, Precision::F64), (dim + 1, Precision::F64), (dim - 1, Precision::F64), (dim, Precision::F32), (sent, precision)] {
                let model = ModelShape { dim, precision };
                let (fits, mut mean) = (update.fits(model), Mean::like(&Vector::zeros(dim, precision)));
                let narrow = match &update { Update::Dense(v) => v.precision(), Update::Rows(r) => r.values().precision() };
                prop_assert_eq!(fits.is_ok(), update.dim() == dim && narrow == precision);
                if fits.is_ok() {
                    mean.add_update(1.0, &update);
                    prop_assert_eq!(mean.finish().len(), dim);
                }
            }
        }
    }

    /// Rows whose numbers were changed behind their back are found out.
    #[test]
    fn rows_of_another_length_do_not_fit((dim, mut update) in row_update(), longer in 1usize..9) {
        let model = ModelShape { dim, precision: Precision::F64 };
        let Update::Rows(rows) = &update else { unreachable!("row updates have rows") };
        let (count, was) = (rows.rows().len(), rows.values().len());
        update.vectors(&mut |v| *v = Vector::zeros(v.len() + longer, Precision::F64));
        let inside = count > 0 && (was + longer) % count == 0 && {
            let Update::Rows(rows) = &update else { unreachable!("row updates have rows") };
            (*rows.rows().last().unwrap() as usize + 1) * ((was + longer) / count) <= dim
        };
        prop_assert_eq!(update.fits(model).is_ok(), inside);
    }

    #[test]
    fn every_byte_of_a_message_is_used(sent in vector(), more in prop::collection::vec(any::<u8>(), 1..5)) {
        let mut bytes = encoded(&sent);
        prop_assert!(whole::<Vector>(&bytes).is_ok());
        bytes.extend(&more);
        prop_assert!(matches!(whole::<Vector>(&bytes), Err(ReplyError::LeftOver(left)) if left == more.len()));
    }
}

#[test]
fn a_length_that_is_not_there_is_not_believed() {
    // Each claims billions of numbers and holds none: decoding fails at once instead of making room.
    let claim = u32::MAX.to_le_bytes();
    for kind in 0..3u8 {
        let bytes: Vec<u8> = match kind {
            0 => claim.to_vec(),
            1 => [&[0][..], &claim].concat(),
            _ => [&[1][..], &u64::MAX.to_le_bytes(), &claim].concat(),
        };
        assert!(Vector::decode(&mut Reader::new(&claim)).is_err());
        assert!(Update::decode(&mut Reader::new(&bytes)).is_err());
        assert!(LastReplies::decode(&mut Reader::new(&claim)).is_err());
        assert!(ClientVersions::<Vector>::decode(&mut Reader::new(&bytes)).is_err());
        assert!(Vec::<Vector>::decode(&mut Reader::new(&claim)).is_err());
    }
    let score = [&[0; 16][..], &[0, 0, 0], &claim].concat();
    assert!(Score::decode(&mut Reader::new(&score)).is_err());
}
