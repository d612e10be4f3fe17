//! Compressors: mean and variance as stated, and bits as booked.

use motet_core::{ClientId, ModelShape, Precision, Reader, Rng, Seed, Vector, Wire};
use motet_methods::parts::compress::{COMPRESSORS, Compress, Compressor, Compressors, Key, Packed, Turn};
use proptest::prelude::*;

fn compressor(json: &str) -> Compressor {
    serde_json::from_str(json).unwrap()
}

fn every() -> Vec<Compressor> {
    let all = [
        r#"{"kind":"identity"}"#,
        r#"{"kind":"rand-k","k":3}"#,
        r#"{"kind":"rand-k","k":0.2}"#,
        r#"{"kind":"rand-k","k":0.4,"indices":"sent"}"#,
        r#"{"kind":"bernoulli","q":0.3}"#,
        r#"{"kind":"bernoulli","q":0.6,"indices":"sent"}"#,
        r#"{"kind":"top-k","k":4}"#,
        r#"{"kind":"qsgd","levels":1}"#,
        r#"{"kind":"qsgd","levels":4}"#,
        r#"{"kind":"natural"}"#,
        r#"{"kind":"cyclic","k":2}"#,
    ];
    all.map(compressor).to_vec()
}

fn key(draw: u64) -> Key {
    Turn { round: 1 + draw % 7, key: draw }.of(ClientId(draw as u32 % 5))
}

fn normal(rng: &mut Rng, dim: usize) -> Vector {
    Vector::from((0..dim).map(|_| rng.normal()).collect::<Vec<_>>())
}

fn open(c: &Compressor, packed: &Packed, key: &Key, precision: Precision) -> Vector {
    let mut x = Vector::zeros(packed.dim(), precision);
    c.opened(packed, key, packed.dim()).add_to(1.0, &mut x);
    x
}

/// (|mean C(x) − x|², mean |C(x) − x|²) over many draws.
fn moments(c: &Compressor, x: &Vector, draws: u64) -> (f64, f64) {
    let mut rng = Seed(9).server(1, 0);
    let (mut mean, mut spread) = (x.zeros_like(), 0.0);
    for draw in 0..draws {
        let key = key(draw.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let sent = open(c, &c.compress(x, &key, &mut rng), &key, x.precision());
        spread += sent.distance2(x) / draws as f64;
        mean.axpy(1.0 / draws as f64, &sent);
    }
    (mean.distance2(x), spread)
}

#[test]
fn unbiased_compressors_are_right_in_the_mean_and_as_noisy_as_they_say() {
    let x = normal(&mut Seed(2).server(1, 0), 50);
    let draws = 4000;
    for c in every().into_iter().filter(|c| c.unbiased() && c.name() != "cyclic") {
        let (bias2, variance) = moments(&c, &x, draws);
        let stated = c.omega(50).unwrap() * x.norm2();
        assert!(variance <= 1.05 * stated + 1e-12, "{c:?}: variance {variance}, at most {stated}");
        // The square of the mean's error is variance/draws in the mean; a bias would not fade with the draws.
        assert!(bias2 <= 3.0 * variance / draws as f64 + 1e-18, "{c:?}: bias² {bias2}, variance {variance}");
        if matches!(c.name(), "rand-k" | "bernoulli") {
            assert!((variance / stated - 1.0).abs() < 0.05, "{c:?}: the constant is exact, {variance} is not {stated}");
        }
    }
}

#[test]
fn natural_and_qsgd_have_the_variances_of_the_specification() {
    let (mut rng, mut sums) = (Seed(3).server(1, 0), [0.0; 3]);
    let all = [r#"{"kind":"natural"}"#, r#"{"kind":"qsgd","levels":4}"#, r#"{"kind":"qsgd","levels":1}"#].map(compressor);
    for _ in 0..40 {
        let x = normal(&mut rng, 50);
        for (sum, c) in sums.iter_mut().zip(&all) {
            *sum += moments(c, &x, 300).1 / x.norm2() / 40.0;
        }
        let one: f64 = x.f64s().iter().map(|x| x.abs()).sum();
        let s1 = moments(&all[2], &x, 300).1 / x.norm2();
        assert!((s1 / (one / x.norm() - 1.0) - 1.0).abs() < 0.1, "s = 1 has |x|₁/|x| − 1, not {s1}");
    }
    for (ours, theirs) in sums.iter().zip([0.082, 0.52, 4.67]) {
        assert!((ours / theirs - 1.0).abs() < 0.06, "{ours} is not {theirs}");
    }
    // The worst number for natural compression is 4/3: exactly 1/8.
    let worst = Vector::from(vec![4.0 / 3.0; 100]);
    assert!((moments(&all[0], &worst, 2000).1 / worst.norm2() - 0.125).abs() < 0.002);
}

#[test]
fn top_k_contracts_by_its_delta_and_keeps_the_largest() {
    let (c, mut rng) = (compressor(r#"{"kind":"top-k","k":0.3}"#), Seed(4).server(1, 0));
    assert!(!c.unbiased() && c.delta(10) == 0.3);
    for _ in 0..100 {
        let x = normal(&mut rng, 10);
        let sent = open(&c, &c.compress(&x, &key(0), &mut rng), &key(0), Precision::F64);
        assert!(sent.distance2(&x) <= 0.7 * x.norm2());
        let least = sent.f64s().iter().filter(|v| **v != 0.0).fold(f64::MAX, |m, v| m.min(v.abs()));
        let dropped = x.f64s().iter().zip(sent.f64s()).filter(|(_, s)| **s == 0.0).fold(0.0, |m: f64, (x, _)| m.max(x.abs()));
        assert!(least >= dropped);
    }
    let ties = c.compress(&Vector::from(vec![1.0; 10]), &key(0), &mut rng);
    assert_eq!(open(&c, &ties, &key(0), Precision::F64).f64s()[..4], [1.0, 1.0, 1.0, 0.0]);
}

#[test]
fn unbiased_compressors_contract_when_divided_by_one_plus_omega() {
    let c = compressor(r#"{"kind":"rand-k","k":3}"#);
    assert_eq!((c.omega(12), c.delta(12)), (Some(3.0), 0.25));
}

#[test]
fn clients_and_rounds_throw_independent_masks() {
    let c = compressor(r#"{"kind":"rand-k","k":5}"#);
    let mask = |round, key, client| c.mask(100, &Turn { round, key }.of(ClientId(client))).unwrap();
    let base = mask(1, 7, 0);
    assert_eq!(base, mask(1, 7, 0));
    assert!(base != mask(1, 7, 1) && base != mask(2, 7, 0) && base != mask(1, 8, 0));
}

#[test]
fn bits_are_what_the_specification_counts() {
    let bits = |c: &str, x: Vector| compressor(c).compress(&x, &key(1), &mut Seed(1).server(1, 0)).bits();
    let (wide, narrow) = (Vector::from(vec![1.3f64; 100]), Vector::from(vec![1.3f32; 100]));
    assert_eq!(bits(r#"{"kind":"identity"}"#, wide.clone()), 6400);
    assert_eq!(bits(r#"{"kind":"rand-k","k":20}"#, wide.clone()), 20 * 64);
    assert_eq!(bits(r#"{"kind":"rand-k","k":20,"indices":"sent"}"#, wide.clone()), 20 * (64 + 7));
    assert_eq!(bits(r#"{"kind":"top-k","k":0.2}"#, wide.clone()), 20 * (64 + 7));
    assert_eq!(bits(r#"{"kind":"qsgd","levels":4}"#, wide.clone()), 64 + 100 * (1 + 3));
    assert_eq!(bits(r#"{"kind":"natural"}"#, wide), 100 * 12);
    assert_eq!(bits(r#"{"kind":"natural"}"#, narrow.clone()), 100 * 9);
    assert_eq!(bits(r#"{"kind":"rand-k","k":20}"#, narrow), 20 * 32);
    let listed = COMPRESSORS.card("natural").unwrap().about;
    assert!(listed.contains("9 bits of a 32-bit number and 12 of a 64-bit one"), "`motet list` says: {listed}");
}

#[test]
fn every_compressor_of_the_list_is_tested_and_written_as_it_was_read() {
    let tested: std::collections::BTreeSet<&str> = every().iter().map(Compressor::name).collect();
    assert_eq!(tested, COMPRESSORS.cards().map(|card| card.name).collect());
    let text = r#"{"kind":"rand-k","k":0.4,"indices":"sent"}"#;
    assert_eq!(serde_json::to_string(&compressor(text)).unwrap(), text);
    let shuffled = r#"{"indices":"sent","k":0.4,"kind":"rand-k"}"#;
    assert_eq!(compressor(shuffled), compressor(text));
    assert_ne!(compressor(r#"{"kind":"rand-k","k":0.4}"#), compressor(text));
    let error = serde_json::from_str::<Compressor>(r#"{"kind":"randk","k":1}"#).unwrap_err().to_string();
    assert!(error.starts_with("unknown variant `randk`, expected one of `identity`, `rand-k`"), "{error}");
}

#[test]
fn what_is_not_a_number_of_coordinates_is_refused_with_the_reason() {
    for k in ["0", "-1", "2.5"] {
        let error = serde_json::from_str::<Compressor>(&format!(r#"{{"kind":"top-k","k":{k}}}"#)).unwrap_err().to_string();
        assert!(error.contains("a whole number or a share"), "{error}");
    }
    assert!(serde_json::from_str::<Compressor>(r#"{"kind":"top-k","k":1,"q":2}"#).is_err(), "unknown keys are errors");
}

#[test]
fn a_list_gives_each_client_its_own() {
    let list: Compressors = serde_json::from_str(r#"[{"kind":"identity"},{"kind":"rand-k","k":1}]"#).unwrap();
    assert_eq!((list.omega(ClientId(0), 4), list.omega(ClientId(1), 4)), (0.0, 3.0));
    assert_eq!(list.suits(Some(2), false).err().map(|e| e.to_string()), None);
    assert_eq!(list.suits(Some(3), false).err().map(|e| e.to_string()).unwrap(), "compressor lists 2 clients, the problem has 3");
    let back: Compressors = serde_json::from_str(&serde_json::to_string(&list).unwrap()).unwrap();
    assert_eq!(back, list);
    let biased: Compressors = serde_json::from_str(r#"{"kind":"top-k","k":1}"#).unwrap();
    assert!(
        biased.suits(Some(2), false).err().map(|e| e.to_string()).unwrap().contains("biased")
            && biased.suits(Some(2), true).err().map(|e| e.to_string()).is_none()
    );
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0,
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => (1u64..1 << 52).prop_map(f64::from_bits),
        1 => Just(f64::MAX),
        1 => Just(-1e300),
        1 => Just(1e-300),
    ]
}

fn round_trip(packed: &Packed) -> Packed {
    let mut bytes = vec![];
    packed.encode(&mut bytes);
    assert_eq!(bytes.len() as u64, packed.bytes(), "the length is known beforehand");
    assert!(8 * packed.bytes() >= packed.bits() && packed.bytes() <= packed.bits().div_ceil(8) + 13, "framing is small");
    let mut from = Reader::new(&bytes);
    let back = Packed::decode(&mut from).unwrap();
    assert_eq!(from.left(), 0);
    let mut again = vec![];
    back.encode(&mut again);
    assert_eq!(bytes, again);
    for end in 0..bytes.len() {
        assert!(Packed::decode(&mut Reader::new(&bytes[..end])).is_err(), "cut at {end}");
    }
    back
}

fn finite(packed: &mut Packed) -> bool {
    let mut finite = true;
    packed.vectors(&mut |v| finite &= v.is_finite());
    finite
}

proptest! {
    #[test]
    fn every_packed_vector_survives_the_wire(x in prop::collection::vec(number(), 1..40), draw: u64, narrow: bool) {
        let x: Vector = if narrow { x.iter().map(|&v| v.clamp(-1e38, 1e38) as f32).collect::<Vec<_>>().into() } else { x.into() };
        for c in every() {
            let packed = c.compress(&x, &key(draw), &mut Seed(draw).server(1, 0));
            prop_assert_eq!(&round_trip(&packed), &packed);
            let sent = open(&c, &packed, &key(draw), x.precision());
            if matches!(c.name(), "natural" | "top-k") {
                prop_assert!(sent.is_finite(), "{:?} makes {:?} of {:?}", c, sent, x);
            }
        }
    }

    #[test]
    fn zeros_stay_zero(dim in 1usize..40, draw: u64) {
        for c in every() {
            let packed = c.compress(&Vector::from(vec![0.0; dim]), &key(draw), &mut Seed(draw).server(1, 0));
            prop_assert!(open(&c, &round_trip(&packed), &key(draw), Precision::F64).f64s().iter().all(|v| *v == 0.0));
        }
    }

    #[test]
    fn what_is_not_finite_never_hides(mut x in prop::collection::vec(-1.0..1.0, 1..40), at: prop::sample::Index, draw: u64, which in 0..3) {
        let at = at.index(x.len());
        x[at] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][which as usize];
        for c in every() {
            let mut packed = c.compress(&x.clone().into(), &key(draw), &mut Seed(draw).server(1, 0));
            prop_assert!(!finite(&mut packed) && !finite(&mut round_trip(&packed)), "{:?}", c);
        }
    }

    #[test]
    fn what_a_compressor_sends_fits_its_model_and_no_other(x in prop::collection::vec(-1.0..1.0, 2..20), draw: u64) {
        let model = |dim: usize, precision: Precision| ModelShape { dim, precision };
        for c in every() {
            let packed = c.compress(&x.clone().into(), &key(draw), &mut Seed(draw).server(1, 0));
            let fits = |model: ModelShape| c.fits(&packed, &key(draw), model).is_ok();
            prop_assert!(fits(model(x.len(), Precision::F64)), "{:?}", c);
            prop_assert!(!fits(model(x.len() - 1, Precision::F64)) && !fits(model(x.len() + 1, Precision::F64)), "{:?}", c);
            prop_assert!(!fits(model(x.len(), Precision::F32)), "{:?}", c);
        }
    }

    #[test]
    fn damaged_bytes_never_panic(x in prop::collection::vec(-1.0..1.0, 1..20), at: prop::sample::Index, bit in 0..8) {
        for c in every() {
            let mut bytes = vec![];
            c.compress(&x.clone().into(), &key(1), &mut Seed(1).server(1, 0)).encode(&mut bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= 1u8 << bit;
            // Whatever decodes and fits can be opened and added.
            let mut sum = Vector::from(vec![0.0; x.len()]);
            let packed = Packed::decode(&mut Reader::new(&bytes)).ok().filter(|packed| c.fits(packed, &key(1), ModelShape::of(&sum)).is_ok());
            if let Some(packed) = packed {
                c.opened(&packed, &key(1), x.len()).add_to(1.0, &mut sum);
            }
        }
    }
}
