//! Local solves against the specification.

use std::sync::Arc;

use crate::lab::mushrooms;
use crate::lab::{Lab, all_close, close, flix};
use motet_core::{Batch, Constants, Meter, Objective, Rows, Vector};
use motet_methods::parts::{Solve, SolveKind};
use motet_problems::synthetic::formula::lrs;

const OPTIMA: [[f64; 3]; 4] = [
    [0.946695693262, -0.972853224281, 0.905082374216],
    [-0.464082536779, -0.681980948645, 0.381042000497],
    [0.702246155260, -1.269503481209, 0.776286381125],
    [1.120266877505, 0.138975036195, 0.367663284969],
];
const VALUES: [f64; 4] = [0.348498419514, 0.601210710645, 0.434315838710, 0.518209260500];

#[test]
fn newton_finds_the_local_optima_of_the_specification() {
    for ((f, x), value) in lrs(4, 6, 3).iter().zip(OPTIMA).zip(VALUES) {
        let mut meter = Meter::new(&**f);
        let solved = Solve::exactly().solve(&mut meter);
        all_close(&solved.x, &x);
        close(meter.value(&solved.x, Rows::All), value);
        assert!(solved.gradient_norm < 1e-13, "{}", solved.gradient_norm);
    }
}

#[test]
fn gradient_descent_stops_at_its_tolerance_near_the_same_optima() {
    for (f, x) in lrs(4, 6, 3).iter().zip(OPTIMA) {
        let solved = Solve::default().solve(&mut Meter::new(&**f));
        assert!(solved.gradient_norm < 1e-6 && solved.steps > 10);
        // |x − x*| ≤ |∇f(x)|/μ with μ = 0.1
        assert!(solved.x.distance2(&Vector::from(x.to_vec())).sqrt() <= 1e-6 / 0.1);
    }
}

#[test]
fn the_number_of_steps_is_limited_and_the_work_is_metered() {
    let f = &lrs(4, 6, 3)[0];
    let mut meter = Meter::new(&**f);
    let solved = Solve { steps: 7, ..Solve::default() }.solve(&mut meter);
    assert_eq!((solved.steps, meter.work().gradients), (7, 7 * 6));
    assert!(solved.gradient_norm >= 1e-6);
}

/// A function that does not know its constants.
struct Secretive(Arc<dyn Objective>);

impl Objective for Secretive {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn samples(&self) -> usize {
        self.0.samples()
    }
    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        self.0.value(x, batch)
    }
    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        self.0.gradient(x, batch, g);
    }
    fn constants(&self) -> Constants {
        Constants::default()
    }
}

#[test]
fn without_constants_a_line_search_and_differences_of_gradients_do() {
    for (f, x) in lrs(4, 6, 3).into_iter().zip(OPTIMA) {
        let f = Secretive(f);
        let x = Vector::from(x.to_vec());
        let searched = Solve::default().solve(&mut Meter::new(&f));
        assert!(searched.gradient_norm < 1e-6 && searched.x.distance2(&x).sqrt() <= 1e-5);
        let newton = Solve { kind: SolveKind::Newton, ..Solve::default() }.solve(&mut Meter::new(&f));
        assert!(newton.steps < 20 && newton.x.distance2(&x).sqrt() <= 1e-5);
    }
}

#[test]
fn mushrooms_in_the_authors_mode_take_the_steps_of_the_released_notebooks() {
    let Some(clients) = mushrooms::as_released() else { return };
    let steps = [238, 228, 285, 215, 241, 192, 274, 209];
    let values = [0.073031, 0.074744, 0.069724, 0.077027, 0.075840, 0.083168, 0.072510, 0.082769];
    for ((f, steps), value) in clients.iter().zip(steps).zip(values) {
        let mut meter = Meter::new(&**f);
        let solved = Solve::default().solve(&mut meter);
        assert_eq!(solved.steps, steps);
        assert!((meter.value(&solved.x, Rows::All) - value).abs() <= 0.5001e-6);
    }
    let lab = Lab::new(clients);
    let smoothness = |i: usize| lab.clients[i].constants().smoothness.unwrap();
    assert!((1.0 / smoothness(0) - 0.27568335862462).abs() <= 0.5001e-14);
    let p = 1.0 / ((0..8).map(smoothness).sum::<f64>() / 8.0 / 0.1).sqrt();
    assert!((p - 0.16883865479367).abs() <= 0.5001e-14);
    let best = lab.optimum(&flix(&[1.0; 8], "zeros"));
    assert!((best.value - 0.084863436).abs() <= 0.5001e-9);
}

fn settings(value: serde_json::Value) -> Solve {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_line_search_can_be_asked_for_and_a_step_can_be_given() {
    let (f, best) = (&lrs(4, 6, 3)[0], Vector::from(OPTIMA[0].to_vec()));
    let search = settings(serde_json::json!({ "kind": "line-search" }));
    let mut meter = Meter::new(&**f);
    assert!(search.solve(&mut meter).x.distance2(&best).sqrt() <= 1e-5);
    assert!(meter.work().values > 0, "it looks at values though L is known");
    let (slow, theory) = (settings(serde_json::json!({ "step": 0.5 })), Solve::default());
    let steps = |solve: Solve| solve.solve(&mut Meter::new(&**f)).steps;
    assert!(steps(slow) > 2 * steps(theory), "1/L is 2.08: a quarter of it takes longer");
}

#[test]
fn passes_of_stochastic_gradients_come_near_the_optimum_and_are_limited() {
    for (f, best) in lrs(4, 6, 3).iter().zip(OPTIMA) {
        let sgd = settings(serde_json::json!({ "kind": "sgd", "epochs": 400, "batch": 2, "step": 0.02 }));
        let mut meter = Meter::new(&**f);
        let solved = sgd.solve(&mut meter);
        let start = Vector::zeros(3, motet_core::Precision::F64).distance2(&Vector::from(best.to_vec()));
        assert!(solved.x.distance2(&Vector::from(best.to_vec())) <= 0.01 * start);
        // Three steps a pass, and the whole gradient after each.
        assert_eq!((solved.steps, meter.work().gradients), (3 * 400, 400 * 12));
        assert_eq!(solved, sgd.solve(&mut Meter::new(&**f)), "fixed dice");
        assert_eq!(Solve { steps: 7, ..sgd }.solve(&mut Meter::new(&**f)).steps, 7);
        let whole = settings(serde_json::json!({ "kind": "sgd", "batch": "all", "step": 2.0 })).solve(&mut Meter::new(&**f));
        assert!(whole.gradient_norm < 1e-6 && whole.steps < 1000, "the tolerance ends it");
    }
}

#[test]
fn patience_ends_a_solve_and_keeps_the_model_that_validates_best() {
    // Trained on one client and validated on another: the path to the first's optimum passes a point that is best for the second.
    let functions = lrs(4, 6, 3);
    let (train, check) = (&*functions[0], &*functions[1]);
    let held = |x: &Vector| check.value(x, Batch::all());
    for kind in ["gd", "line-search", "newton", "sgd"] {
        let whole = settings(match kind {
            "sgd" => serde_json::json!({ "kind": kind, "batch": 3, "epochs": 200, "step": 0.1 }),
            "gd" => serde_json::json!({ "kind": kind, "step": 0.1 }),
            _ => serde_json::json!({ "kind": kind }),
        });
        let watched = Solve { patience: std::num::NonZeroU32::new(3), ..whole };
        let solve = |solve: Solve, check: Option<&mut Meter<'_>>| {
            solve.solve_with(&mut Meter::new(train), check, &mut motet_core::Seed(4).problem(0))
        };
        let mut meter = Meter::new(check);
        let (late, early) = (solve(whole, None), solve(watched, Some(&mut meter)));
        assert!(held(&early.x) <= held(&late.x) && early.steps <= late.steps, "{kind}");
        assert!(kind == "newton" || early.steps < late.steps, "{kind}: {} of {} steps", early.steps, late.steps);
        assert!(meter.work().values > 0);
        assert_eq!(solve(watched, None), late, "{kind}: without validation data nothing changes");
        assert_eq!(solve(whole, Some(&mut Meter::new(check))), late, "{kind}: without patience nobody looks");
    }
}

#[test]
fn different_settings_are_different_solves_in_the_memo() {
    use motet_core::{Plan, Seed};
    let lab = Lab::new(lrs(4, 6, 3));
    let mut seen: Vec<Vector> = vec![];
    for solve in [
        serde_json::json!({ "kind": "sgd", "epochs": 1 }),
        serde_json::json!({ "kind": "sgd", "epochs": 2 }),
        serde_json::json!({ "kind": "sgd", "epochs": 2, "batch": 2 }),
        serde_json::json!({ "kind": "sgd", "epochs": 2, "batch": 2, "step": 0.3 }),
        serde_json::json!({ "steps": 3 }),
    ] {
        let local = motet_methods::local::Local { solve: settings(solve) };
        let _ = lab.run(&local, lab.zeros(), &Plan::new(1, Seed(1)));
        let x = lab.deployed(&local, &lab.zeros()).swap_remove(0);
        assert!(!seen.contains(&x));
        seen.push(x);
    }
}

#[test]
fn fields_that_a_kind_has_no_use_for_are_refused() {
    let read = |text: &str| serde_json::from_str::<Solve>(text).map_err(|e| e.to_string());
    for (text, words) in [
        (r#"{"epochs":3}"#, ["epochs", "\"gd\""]),
        (r#"{"kind":"newton","batch":10}"#, ["batch", "\"newton\""]),
        (r#"{"kind":"newton","step":0.1}"#, ["step", "\"newton\""]),
        (r#"{"kind":"line-search","step":0.1}"#, ["step", "\"line-search\""]),
        (r#"{"kind":"sgd","passes":3}"#, ["passes", "unknown field"]),
    ] {
        let wrong = read(text).unwrap_err();
        assert!(words.iter().all(|word| wrong.contains(word)), "{wrong}");
    }
    let good = read(r#"{"kind":"sgd","epochs":3,"batch":10,"step":0.1,"patience":2,"to":0.001}"#).unwrap();
    assert_eq!(read(&serde_json::to_string(&good).unwrap()), Ok(good));
}
