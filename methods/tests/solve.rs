//! Local solves against the specification.

#![allow(clippy::unwrap_used)]

mod lab;

use std::sync::Arc;

use lab::mushrooms;
use lab::{Lab, all_close, close, flix};
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
