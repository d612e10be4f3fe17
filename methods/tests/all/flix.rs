//! FLIX against its specification: iterates, bits, and the methods it reduces to.

use std::sync::Arc;

use crate::lab::mushrooms;
use crate::lab::{Lab, all_close, flix, printed};
use motet_core::{Batch, ClientId, Facts, Objective, Outcome, Plan, Rate, Seed, Stop, Study, Vector, train};
use motet_methods::flix::Flix;
use motet_problems::synthetic::formula::{lrs, q3};
use motet_runtime::{Inline, Lossy};

const Q3_ALPHA: [f64; 3] = [0.2, 0.5, 1.0];
const LRS_ALPHA: [f64; 4] = [0.1, 0.4, 0.7, 1.0];

#[test]
fn q3_walks_as_the_specification_says() {
    let (lab, method) = (Lab::new(q3()), flix(&Q3_ALPHA, "one-shot"));
    all_close(&lab.iterate(&method, 0), &[-0.808323168503, 1.808323168503]);
    all_close(&lab.iterate(&method, 1), &[-0.786551287250, 1.738259286735]);
    all_close(&lab.iterate(&method, 10), &[-0.739042955078, 1.655623224407]);
    let gaps = lab.gaps(&method, lab.zeros(), 10);
    crate::lab::close(gaps[0], 0.209044386350 - 0.200308043657);
    printed(gaps[1], 2.803132566e-3);
    printed(gaps[10], 1.245458044e-7);
}

#[test]
fn lrs_walks_as_the_specification_says() {
    let lab = Lab::new(lrs(4, 6, 3));
    let unequal = flix(&LRS_ALPHA, "one-shot");
    all_close(&lab.iterate(&unequal, 0), &[0.834060902132, -0.369387969868, 0.493828751686]);
    all_close(&lab.iterate(&unequal, 5), &[0.764913520946, -0.340127219124, 0.477176070737]);
    let gaps = lab.gaps(&unequal, lab.zeros(), 5);
    printed(gaps[0], 2.612987015e-4);
    printed(gaps[5], 2.725709257e-7);
    let global = flix(&[1.0; 4], "one-shot");
    all_close(&lab.iterate(&global, 5), &[0.546343832352, -0.734138499661, 0.632663358027]);
    printed(lab.gaps(&global, lab.zeros(), 5)[5], 4.909084600e-7);
    let equal = flix(&[0.3; 4], "one-shot");
    all_close(&lab.iterate(&equal, 0), &[0.579106864678, -0.712306889508, 0.619790473281]);
    all_close(&lab.iterate(&equal, 5), &[0.535567004968, -0.719800711942, 0.621516375150]);
    printed(lab.gaps(&equal, lab.zeros(), 0)[0], 2.220257881e-5);
}

#[test]
fn q3_deploys_the_models_of_the_specification() {
    let (lab, method) = (Lab::new(q3()), flix(&Q3_ALPHA, "zeros"));
    let best = lab.optimum(&method).x.unwrap();
    let expected = [[0.652255888679, 0.331014154075], [-0.369360278302, 1.327535385187], [-0.738720556603, 1.655070770375]];
    lab.deployed(&method, &best).iter().zip(expected).for_each(|(model, theirs)| all_close(model, &theirs));
}

/// The smallest k with gap ≤ ε, for four ε.
fn rounds_until(gaps: &[f64]) -> [usize; 4] {
    [1e-2, 1e-4, 1e-6, 1e-8].map(|goal| gaps.iter().position(|gap| *gap <= goal).expect("the goal is reached"))
}

fn gaps_to_1e8(lab: &Lab, method: &Flix) -> Vec<f64> {
    let stop = vec![Stop { metric: "gap".into(), value: 1e-8 }];
    let plan = Plan { reference: Some(lab.optimum(method)), stop, ..Plan::new(400, Seed(1)) };
    lab.run(method, lab.zeros(), &plan).0.iter().map(|row| row.metrics["gap"]).collect()
}

#[test]
fn mushrooms_take_as_many_rounds_as_the_specification_says() {
    let Some(clients) = mushrooms::corrected() else { return };
    let lab = Lab::new(clients);
    for (alpha, from_ones, from_average, gap) in [
        (1.0, [103, 184, 266, 347], [13, 59, 123, 194], 16.697867695),
        (0.1, [23, 103, 185, 266], [0, 11, 60, 125], 0.310711852),
        (0.01, [0, 23, 103, 185], [0, 0, 10, 61], 0.002557146),
    ] {
        let gaps = gaps_to_1e8(&lab, &flix(&[alpha; 8], "ones"));
        assert!((gaps[0] - gap).abs() <= 0.5001e-9, "the gap at the start of α = {alpha} is {}", gaps[0]);
        assert_eq!(rounds_until(&gaps), from_ones, "from ones, α = {alpha}");
        assert_eq!(rounds_until(&gaps_to_1e8(&lab, &flix(&[alpha; 8], "one-shot"))), from_average, "from x_avg, α = {alpha}");
    }
}

#[test]
fn with_alpha_one_it_is_gradient_descent_bit_by_bit() {
    let clients = lrs(4, 6, 3);
    let mut x = vec![0.0; 3];
    let smoothness = clients.iter().fold(0.0, |sum, f| sum + f.constants().smoothness.unwrap());
    let step = 4.0 / smoothness;
    for _ in 0..25 {
        let mut sum = vec![0.0; 3];
        for f in &clients {
            let mut g = Vector::from(vec![0.0; 3]);
            f.gradient(&Vector::from(x.clone()), Batch::all(), &mut g);
            sum.iter_mut().zip(g.f64s()).for_each(|(s, g)| *s += g);
        }
        x.iter_mut().zip(&sum).for_each(|(x, s)| *x -= step * (s * (1.0 / 4.0)));
    }
    assert_eq!(Lab::new(clients).iterate(&flix(&[1.0; 4], "zeros"), 25).f64s(), x);
}

fn count(trained: &motet_core::Trained<Flix>, kind: &str) -> u64 {
    trained.ledger.entries().iter().filter(|e| e.kind == kind).map(|e| e.count).sum()
}

#[test]
fn clients_that_share_nothing_are_never_asked_and_deploy_their_own_optimum() {
    let (lab, method) = (Lab::new(lrs(4, 6, 3)), flix(&[0.0, 0.5, 0.0, 1.0], "one-shot"));
    let (_, trained) = lab.run(&method, lab.zeros(), &Plan::new(7, Seed(1)));
    assert_eq!((count(&trained, "Introduce"), count(&trained, "Introduction")), (2, 2));
    assert_eq!((count(&trained, "Differentiate"), count(&trained, "Gradient")), (14, 14));
    assert!(trained.heard.of(ClientId(0)).is_none() && trained.heard.of(ClientId(3)).is_some());
    let (deployed, anchors) = (lab.deployed(&method, &trained.server.x), lab.anchors(&method));
    assert_eq!((&deployed[0], &deployed[2]), (&anchors[0], &anchors[2]));
    assert_eq!(deployed[3], trained.server.x);
}

#[test]
fn clients_that_share_nothing_still_count_in_the_average() {
    let lab = Lab::new(q3());
    let method = Flix { step: Rate::Given(0.3.try_into().unwrap()), ..flix(&[0.0, 0.5, 1.0], "zeros") };
    // x¹ = γ/n Σ αᵢ² Aᵢ cᵢ = 0.3/3 (¼ (0, 1) + (−1, 3))
    all_close(&lab.iterate(&method, 1), &[-0.1, 0.325]);
}

#[test]
fn if_nobody_shares_nothing_is_sent() {
    let (lab, method) = (Lab::new(lrs(4, 6, 3)), flix(&[0.0; 4], "one-shot"));
    let (rows, trained) = lab.run(&method, lab.zeros(), &Plan::new(3, Seed(1)));
    assert_eq!(trained.outcome, Outcome::Finished);
    assert!(trained.ledger.entries().iter().all(|e| e.count == 0), "{:?}", trained.ledger);
    assert_eq!(rows[0].metrics, rows[3].metrics);
}

#[test]
fn it_starts_where_it_is_told() {
    let (lab, model) = (Lab::new(q3()), Vector::from(vec![5.0, 6.0]));
    for (start, expected) in [("model", [5.0, 6.0]), ("zeros", [0.0, 0.0]), ("ones", [1.0, 1.0])] {
        let (_, trained) = lab.run(&flix(&Q3_ALPHA, start), model.clone(), &Plan::new(0, Seed(1)));
        assert_eq!(trained.server.x.f64s(), expected, "{start}");
    }
}

#[test]
fn a_given_step_is_taken_and_asks_nobody_for_constants() {
    let lab = Lab::new(q3());
    let method = Flix { step: Rate::Given(0.25.try_into().unwrap()), ..flix(&[1.0; 3], "zeros") };
    let (_, trained) = lab.run(&method, lab.zeros(), &Plan::new(1, Seed(1)));
    assert_eq!(count(&trained, "Introduce"), 0);
    // ∇f(0) = −(1/3) Σ Aᵢ cᵢ = −(1/3) ((1, 0) + (0, 1) + (−1, 3))
    all_close(&trained.server.x, &[0.0, 0.25 * 4.0 / 3.0]);
}

#[test]
fn every_round_costs_one_vector_up_and_one_down_per_client() {
    let (lab, method) = (Lab::new(lrs(4, 6, 3)), flix(&LRS_ALPHA, "zeros"));
    let (rows, _) = lab.run(&method, lab.zeros(), &Plan::new(5, Seed(1)));
    for pair in rows.windows(2) {
        assert_eq!(pair[1].bits.up - pair[0].bits.up, 4 * 3 * 64);
        assert_eq!(pair[1].bits.down - pair[0].bits.down, 4 * 3 * 64);
        assert_eq!(pair[1].gradients - pair[0].gradients, 4 * 6);
    }
}

#[test]
fn it_promises_the_rate_of_theorem_2_where_the_theorem_holds() {
    let lab = Lab::new(q3());
    let (smoothness, convexity) = lab.mixed_constants(&Q3_ALPHA);
    let constants = lab.constants();
    let (l, m): (Vec<_>, Vec<_>) = constants.iter().map(|c| (c.smoothness.unwrap(), c.convexity.unwrap())).unzip();
    let promise = |method: &Flix, convexity: &[f64]| method.promise(&Facts::new(&l, convexity, 2)).map(|p| p.factor);
    let method = flix(&Q3_ALPHA, "zeros");
    crate::lab::close(promise(&method, &m).unwrap(), 1.0 - convexity / smoothness);
    let given = |step: f64| Flix { step: Rate::Given(step.try_into().unwrap()), ..method.clone() };
    crate::lab::close(promise(&given(0.5 / smoothness), &m).unwrap(), 1.0 - 0.5 * convexity / smoothness);
    assert_eq!(promise(&given(1.5 / smoothness), &m), None, "the theorem says nothing of longer steps");
    assert_eq!(promise(&method, &[0.0; 3]), None, "nor of functions that are not strongly convex");
}

#[test]
fn a_list_of_the_wrong_length_is_refused() {
    let method = flix(&Q3_ALPHA, "zeros");
    assert_eq!(method.suits(Some(3)).err().map(|e| e.to_string()), None);
    assert_eq!(method.suits(Some(4)).err().map(|e| e.to_string()).unwrap(), "alpha lists 3 clients, the problem has 4");
    assert!(method.suits(None).err().map(|e| e.to_string()).unwrap().contains("no end"));
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
}

#[test]
fn theory_without_constants_fails_with_advice() {
    let lab = Lab::new(q3().into_iter().map(|f| Arc::new(Secretive(f)) as Arc<dyn Objective>).collect());
    let (_, trained) = lab.run(&flix(&[1.0; 3], "zeros"), lab.zeros(), &Plan::new(3, Seed(1)));
    let Outcome::Failed { round: 0, reason } = trained.outcome else { panic!("{}", trained.outcome) };
    assert!(reason.contains("give step as a number"), "{reason}");
}

#[test]
fn the_step_of_theory_is_that_of_those_who_answered() {
    // All clients alike: whoever stays silent while the constants are gathered, 1/Lα is the same.
    let lab = Lab::new(vec![Arc::clone(&q3()[2]); 12]);
    let method = Arc::new(flix(&[0.5; 12], "zeros"));
    let step = |fleet: &mut dyn motet_core::Fleet<Flix>| {
        let plan = Plan { quorum: 0.5, ..Plan::new(0, Seed(1)) };
        train(&*method, lab.zeros(), &plan, fleet, &mut vec![]).unwrap()
    };
    let whole = step(&mut Inline::new(lab.host(&method)));
    let lossy = step(&mut Lossy::new(Inline::new(lab.host(&method)), 0.3, Seed(5)));
    assert!(count(&lossy, "Introduction") < 12, "some reply was lost");
    crate::lab::close(lossy.server.step, whole.server.step);
}
