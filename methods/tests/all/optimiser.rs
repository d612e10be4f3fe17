//! Server optimisers against the specification's iterates.

use motet_core::{Mean, Precision, Reader, RowUpdate, Seed, SparseMean, Update, Vector, Wire};
use motet_methods::parts::{Momenta, Optimiser};
use serde_json::json;

/// x after each of q = 1, −½, ¼, from 0, with η = 0.1.
fn walk(settings: serde_json::Value) -> Vec<f64> {
    let optimiser: Optimiser = serde_json::from_value(settings).unwrap();
    let (mut x, mut state) = (Vector::from(vec![0.0]), Momenta::default());
    let mut at = |q: f64| {
        optimiser.apply(&mut x, &Vector::from(vec![q]).into(), 0.1, &mut state);
        x.at(0)
    };
    [1.0, -0.5, 0.25].map(&mut at).to_vec()
}

#[test]
fn every_flavour_walks_as_the_specification_says() {
    let cases = [
        (json!({"kind": "sgd", "step": 0.1}), [-0.1, -0.05, -0.075]),
        (json!({"kind": "momentum", "step": 0.1}), [-0.1, -0.14, -0.201]),
        (json!({"kind": "adam", "step": 0.1}), [-0.099990000999900, -0.126620335959765, -0.160658102914439]),
        (
            json!({"kind": "adam", "step": 0.1, "b2": 0.99, "eps": 1e-3, "flavour": "plain"}),
            [-0.099009900990099, -0.134611251826973, -0.187847970541692],
        ),
        (
            json!({"kind": "adam", "step": 0.1, "b2": 0.99, "eps": 1e-3, "flavour": "fedopt"}),
            [-0.099005048882542, -0.134605005352975, -0.187839739653749],
        ),
        (json!({"kind": "adagrad", "step": 0.1}), [-0.099900099900100, -0.055218704604988, -0.077021462621165]),
        (json!({"kind": "yogi", "step": 0.1}), [-0.099990000999900, -0.126550674259947, -0.160408457268741]),
        (
            json!({"kind": "yogi", "step": 0.1, "eps": 1e-3, "flavour": "fedopt"}),
            [-0.099004999875006, -0.134463518569888, -0.187245950231320],
        ),
    ];
    for (settings, theirs) in cases {
        for (ours, theirs) in walk(settings.clone()).into_iter().zip(theirs) {
            assert!((ours - theirs).abs() <= 1e-12, "{settings}: {ours} is not {theirs}");
        }
    }
}

#[test]
fn adagrad_in_the_fedopt_flavour_starts_at_the_square_of_eps() {
    let x = walk(json!({"kind": "adagrad", "step": 0.1, "eps": 0.5, "flavour": "fedopt"}))[0];
    assert!((x + 0.1 / (1.25f64.sqrt() + 0.5)).abs() <= 1e-15, "{x}");
}

#[test]
fn single_precision_follows_double_precision() {
    for kind in ["sgd", "momentum", "adam", "adagrad", "yogi"] {
        let optimiser: Optimiser = serde_json::from_value(json!({"kind": kind, "step": 0.1})).unwrap();
        let (mut wide, mut narrow) = (Vector::from(vec![0.5; 9]), Vector::from(vec![0.5f32; 9]));
        let (mut a, mut b) = (Momenta::default(), Momenta::default());
        for k in 0..20 {
            let q: Vec<f64> = (0..9).map(|l| (f64::from(k * 7 + l)).sin()).collect();
            optimiser.apply(&mut narrow, &Vector::from(q.iter().map(|v| *v as f32).collect::<Vec<_>>()).into(), 0.1, &mut b);
            optimiser.apply(&mut wide, &Vector::from(q).into(), 0.1, &mut a);
        }
        // Twenty steps of single precision: some 1e-6.
        narrow.to_f64().iter().zip(wide.f64s()).for_each(|(n, w)| assert!((n - w).abs() <= 2e-5, "{kind}: {n} {w}"));
    }
}

#[test]
fn the_memory_of_an_optimiser_survives_the_wire() {
    let optimiser: Optimiser = serde_json::from_value(json!({"kind": "yogi", "step": 0.1})).unwrap();
    let (mut x, mut state) = (Vector::from(vec![0.0, 1.0]), Momenta::default());
    optimiser.apply(&mut x, &Vector::from(vec![1.0, 2.0]).into(), 0.1, &mut state);
    let mut bytes = vec![];
    state.encode(&mut bytes);
    assert_eq!(Momenta::decode(&mut Reader::new(&bytes)).unwrap(), state);
    let (mut dims, mut copy) = (vec![], state.clone());
    copy.vectors(&mut |v| dims.push(v.len()));
    assert_eq!(dims, [2, 2], "a NaN in the memory is seen");
}

#[test]
fn settings_are_checked_and_theory_speaks_where_it_can() {
    let read = |v| serde_json::from_value::<Optimiser>(v);
    assert!(read(json!({"kind": "sgd", "step": 0.1, "b": 0.9})).is_err());
    assert!(read(json!({"kind": "adam", "step": 0.1, "b1": 1.5})).is_err());
    assert!(
        read(json!({"kind": "adam", "step": "theory"}))
            .unwrap()
            .suits()
            .err()
            .map(|e| e.to_string())
            .unwrap()
            .contains("give step as a number")
    );
    assert_eq!(read(json!({"kind": "momentum", "step": "theory"})).unwrap().theory(2.0).map(|s| (s * 1e9).round()), Some(5e7));
    assert_eq!(read(json!({"kind": "sgd", "step": "theory"})).unwrap().suits().err().map(|e| e.to_string()), None);
}

#[test]
fn a_gradient_that_is_not_a_number_is_not_hidden() {
    for kind in ["sgd", "momentum", "adam", "adagrad", "yogi"] {
        let optimiser: Optimiser = serde_json::from_value(json!({"kind": kind, "step": 0.1})).unwrap();
        let mut x = Vector::from(vec![0.0]);
        let finite = optimiser.apply(&mut x, &Vector::from(vec![f64::NAN]).into(), 0.1, &mut Momenta::default());
        assert!(!x.is_finite() && !finite, "{kind}");
    }
}

/// The mean of this alone.
fn averaged(q: &Update) -> SparseMean {
    let mut mean = Mean::like(&Vector::zeros(q.dim(), Precision::F64));
    mean.add_update(1.0, q);
    mean.average()
}

/// A few steps with rows of two, of which these are named; the iterates of each step.
fn by_rows(optimiser: &Optimiser, named: &[u32], dense: bool) -> (Vector, Momenta) {
    let (mut x, mut state) = (Vector::from(vec![1.0, -2.0, 3.0, 0.5, 0.0, 4.0]), Momenta::default());
    for t in 0..5u32 {
        let values: Vec<f64> = named.iter().flat_map(|&row| [f64::from(row + t) - 1.5, 0.25 * f64::from(t + 1)]).collect();
        let rows = Update::Rows(RowUpdate::new(6, named.to_vec(), values.into()));
        let q = if dense { Update::Dense(rows.into_dense(Precision::F64)) } else { rows };
        assert!(optimiser.apply(&mut x, &averaged(&q), 0.1, &mut state), "all is finite");
    }
    (x, state)
}

const EVERY: [&str; 8] = [
    r#"{"kind":"sgd","step":0.1}"#,
    r#"{"kind":"momentum","step":0.1}"#,
    r#"{"kind":"adam","step":0.1}"#,
    r#"{"kind":"adam","step":0.1,"flavour":"fedopt"}"#,
    r#"{"kind":"adagrad","step":0.1}"#,
    r#"{"kind":"adagrad","step":0.1,"flavour":"fedopt"}"#,
    r#"{"kind":"yogi","step":0.1}"#,
    r#"{"kind":"yogi","step":0.1,"flavour":"plain"}"#,
];

#[test]
fn an_update_that_names_every_row_is_the_dense_one_bit_by_bit() {
    for text in EVERY {
        let optimiser: Optimiser = serde_json::from_str(text).unwrap();
        assert_eq!(by_rows(&optimiser, &[0, 1, 2], false), by_rows(&optimiser, &[0, 1, 2], true), "{text}");
    }
}

#[test]
fn rows_that_are_not_named_stay_as_they_are() {
    for text in EVERY {
        let optimiser: Optimiser = serde_json::from_str(text).unwrap();
        let (sparse, dense) = (by_rows(&optimiser, &[0, 2], false), by_rows(&optimiser, &[0, 2], true));
        assert_eq!(sparse.0.f64s()[2..4], [3.0, 0.5], "{text}");
        // A row that was never named has no old gradients that could move it: zeros say the same of it. Adagrad's and
        // plain steps are exact even for rows that are named now and then.
        assert_eq!(sparse.0, dense.0, "{text}");
        assert_eq!(sparse.1.t, 5);
    }
}

#[test]
fn rows_named_now_and_then_move_as_the_dense_optimiser_moves_them_and_lazy_ones_do_not() {
    for (text, remembers) in EVERY.into_iter().zip([false, true, true, true, false, false, true, true]) {
        let optimiser: Optimiser = serde_json::from_str(text).unwrap();
        let walk = |optimiser: &Optimiser, dense: bool| {
            let (mut x, mut state) = (Vector::from(vec![1.0; 4]), Momenta::default());
            for row in [0, 1, 0, 1] {
                let rows = Update::Rows(RowUpdate::new(4, vec![row], vec![1.0, -1.0].into()));
                let q = if dense { Update::Dense(rows.into_dense(Precision::F64)) } else { rows };
                optimiser.apply(&mut x, &averaged(&q), 0.1, &mut state);
            }
            (x, state)
        };
        assert_eq!(walk(&optimiser, false), walk(&optimiser, true), "{text}");
        let lazy = serde_json::from_str::<Optimiser>(&text.replace('}', r#","lazy":true}"#));
        assert_eq!(lazy.is_ok(), remembers, "{text}");
        if let Ok(lazy) = lazy {
            assert_ne!(walk(&lazy, false).0, walk(&lazy, true).0, "{text}");
        }
    }
}

/// The step of the issue that found Yogi lazy: one row named once, and then another for a hundred rounds.
#[test]
fn a_row_named_once_goes_on_while_its_momentum_lasts() {
    let walk = |more: serde_json::Value| {
        let mut settings = json!({"kind": "yogi", "step": 0.1, "flavour": "plain"});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let optimiser: Optimiser = serde_json::from_value(settings).unwrap();
        let (mut x, mut state) = (Vector::from(vec![0.0f32; 2]), Momenta::default());
        for row in std::iter::once(0).chain([1; 1500]) {
            let mut q = Mean::like(&x);
            q.add_update(1.0, &Update::Rows(RowUpdate::new(2, vec![row], vec![1.0f32].into())));
            assert!(optimiser.apply(&mut x, &q.average(), 0.1, &mut state));
        }
        (-x.at(0), state.m.unwrap().at(0))
    };
    // m = 0.1 · 0.9ᵗ and v = 0.01: steps of 0.1 · 0.9ᵗ, which add up to 1; the first alone is 0.1.
    let ((papers, m), (lazy, _)) = (walk(json!({})), walk(json!({ "lazy": true })));
    assert!((papers - 1.0).abs() < 1e-3 && (lazy - 0.1).abs() < 1e-4, "{papers} {lazy}");
    assert_eq!(m, 0.0, "what has faded is gone");
}

/// Twenty rows, of which few are named in a round and some are left alone for hundreds: x of the sparse way and of the dense one.
fn apart_by_rows(text: &str, precision: Precision) -> f64 {
    const ROWS: u32 = 20;
    let (optimiser, mut rng): (Optimiser, _) = (serde_json::from_str(text).unwrap(), Seed(7).server(1, 0));
    let start = Vector::zeros(2 * ROWS as usize, precision);
    let ((mut x, mut state), mut plain) = ((start.clone(), Momenta::default()), (start, Momenta::default()));
    let mut apart = 0.0f64;
    for round in 0..1200 {
        // Row r has a chance of 2^-(r + 1)/2, and nothing is named in rounds 300 to 900 but row 0.
        let named: Vec<u32> = (0..ROWS)
            .filter(|&row| rng.unit() < 0.5f64.powf(f64::from(row + 1) / 2.0) && (row == 0 || !(300..900).contains(&round)))
            .collect();
        let q: Vec<f64> = (0..2 * named.len()).map(|_| rng.normal()).collect();
        let q = if precision == Precision::F64 { q.into() } else { q.iter().map(|q| *q as f32).collect::<Vec<_>>().into() };
        let rows = Update::Rows(RowUpdate::new(2 * ROWS as usize, named, q));
        let mean = |q: &Update| {
            let mut mean = Mean::like(&x);
            mean.add_update(1.0, q);
            mean.average()
        };
        let (sparse, dense) = (mean(&rows), mean(&Update::Dense(rows.clone().into_dense(precision))));
        assert!(optimiser.apply(&mut x, &sparse, 0.1, &mut state) && optimiser.apply(&mut plain.0, &dense, 0.1, &mut plain.1), "{text}");
        let largest = plain.0.to_f64().iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        apart = x.to_f64().iter().zip(plain.0.to_f64()).fold(apart, |most, (a, b)| most.max((a - b).abs() / largest));
    }
    apart
}

#[test]
fn rows_left_alone_for_hundreds_of_rounds_are_where_the_dense_optimiser_has_them() {
    for text in EVERY {
        for precision in [Precision::F64, Precision::F32] {
            let apart = apart_by_rows(text, precision);
            assert!(apart <= 1e-6, "{text} {precision:?}: {apart:e}");
        }
        let lazy = text.replace('}', r#","lazy":true}"#);
        if serde_json::from_str::<Optimiser>(&lazy).is_ok() {
            assert!(apart_by_rows(&lazy, Precision::F64) > 1e-3, "{text}: the lazy way is another one");
        }
    }
}
