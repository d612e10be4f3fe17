//! The specification's numbers.

use crate::draw::{close, q2};
use motet_theory::{Cohort, Ensemble, EnsembleError, Noise, Scales, Theta, figure, gamma_keeping, phi};

fn at(surrogate: &motet_theory::Surrogate<'_>) -> f64 {
    surrogate.minimiser().unwrap()[0]
}

#[test]
fn eigenvalues_of_local_steps_are_right_on_both_sides_of_one() {
    close(phi(10, 2.0, 0.1), 8.926258176000);
    close(phi(10, 0.5, 0.1), 4.012630607616);
    close(phi(50, 1.0, 0.01), 39.499393286246);
    assert_eq!(phi(5, 2.0, 0.5), 2.0);
    // γλ > 1: (1 − (−1)^3)/1.
    assert_eq!(phi(3, 2.0, 1.0), 2.0);
    // The digits of a tiny γ survive: φ = Kλ − γ λ² K(K−1)/2 + …
    assert!((phi(100, 1.0, 1e-12) - (100.0 - 4950e-12)).abs() < 1e-13);
}

#[test]
fn condition_numbers_and_chi_are_the_specifications() {
    let scales = Scales { smoothness: 2.0, convexity: 0.5, centres: 0.0, curvatures: 0.0 };
    close(scales.condition_all(10, 0.1), 2.224540220338);
    close(scales.condition_last(4, 0.1).unwrap(), 2.388686397434);
    assert_eq!(scales.condition_last(5, 0.1), None, "Corollary 14 ends at 1/(KL)");
    close(Theta::all(10).chi(2.0, 0.1), 0.446312908800);
}

#[test]
fn both_corollaries_on_condition_numbers_are_tight_for_shared_extreme_eigenvectors() {
    let twins = Ensemble::new([(vec![2.0, 0.0, 0.0, 0.5], vec![0.0, 1.0]), (vec![2.0, 0.0, 0.0, 0.5], vec![3.0, 0.0])]).unwrap();
    close(twins.surrogate(0.1, &Theta::all(10)).condition(), 2.224540220338);
    close(twins.surrogate(0.1, &Theta::last(4)).condition(), 2.388686397434);
}

#[test]
fn two_clients_on_a_line_are_as_computed_by_hand() {
    let q2 = q2();
    close(q2.minimiser()[0], 2.0 / 3.0);
    for g in [0.0, 0.1, 0.25, 0.7, 1.1, 1.19] {
        let surrogate = q2.surrogate(g, &Theta::all(2));
        close(at(&surrogate), (4.0 - 3.0 * g) / (6.0 - 5.0 * g));
        close(surrogate.distance().unwrap(), g / (3.0 * (6.0 - 5.0 * g)));
        // The paper prints ½ for 1 in two places.
        assert_eq!(surrogate.every_client_convex(), g < 1.0, "{g}");
    }
    assert!(q2.surrogate(1.21, &Theta::all(2)).minimiser().is_none(), "beyond 6/5 there is no minimiser");
    for (k, x) in [(1, 0.666666666667), (2, 0.714285714286), (3, 0.733333333333), (5, 0.746031746032), (10, 0.749877870054)] {
        let surrogate = q2.surrogate(0.5, &Theta::all(k));
        close(at(&surrogate), x);
        let two = 2f64.powi(k as i32);
        close(surrogate.distance().unwrap(), (two - 2.0) / (6.0 * (2.0 * two - 1.0)));
    }
}

#[test]
fn fixed_points_of_the_named_methods_are_the_specifications() {
    let q2 = q2();
    let fixed = |theta: Theta| at(&q2.surrogate(0.25, &theta));
    close(fixed(Theta::all(3)), 0.698924731183);
    close(fixed(Theta::last(2)), 0.714285714286);
    close(fixed(Theta::last(3)), 0.764705882353);
    close(fixed(Theta::last(5)), 0.858407079646);
    close(fixed(Theta::all(2)), 13.0 / 19.0);
    close(fixed(Theta::given(vec![1.0, 1.0, 1.0])), 0.698924731183);
}

#[test]
fn distances_and_their_bounds_are_the_specifications() {
    let q2 = q2();
    let scales = q2.scales();
    assert_eq!((scales.centres, scales.curvatures), (0.25, 0.5));
    for (g, k, distance, sharp, plain) in
        [(0.25, 2, 0.017543859649, 0.214285714286, 0.25), (0.1, 5, 0.022600593439, 0.300065932456, 0.365540218943)]
    {
        close(q2.surrogate(g, &Theta::all(k)).distance().unwrap(), distance);
        close(scales.distance_all(k, g), sharp);
        close(scales.distance(&Theta::all(k), g), plain);
    }
}

#[test]
fn the_family_of_figure_one_has_its_closed_form() {
    let left =
        [(1, 0.714285714286), (2, 0.748201438849), (5, 0.786126177562), (10, 0.797946980705), (20, 0.799934100164), (50, 0.799999994875)];
    left.iter().for_each(|(k, x)| close(figure::minimiser(*k, 0.5), *x));
    let right = [
        (0.001, 0.715084326483),
        (0.01, 0.722157386231),
        (0.05, 0.749969779793),
        (0.1, 0.773941058860),
        (0.25, 0.797079961938),
        (0.75, 0.799999011958),
        (0.9, 0.800147767937),
        (1.0, 0.815062245951),
        (1.05, 0.954606291),
    ];
    right.iter().for_each(|(gamma, x)| close(figure::minimiser(20, *gamma), *x));
    close(figure::minimiser(20, 0.0), figure::MINIMISER);
    // Both ways of computing agree where they meet.
    assert!((figure::minimiser(20, 0.01) - figure::minimiser(20, 0.00999999999)).abs() < 1e-10);
}

#[test]
fn sampling_one_of_two_clients_has_variance_even_without_noise() {
    let q2 = q2();
    let surrogate = q2.surrogate(0.25, &Theta::all(2));
    let one = Noise { cohort: Cohort::Draws(1), ..Noise::none() };
    close(one.variance(&surrogate, 2, &[0.3]), 0.09765625);
    assert_eq!(Noise::none().variance(&surrogate, 2, &[0.3]), 0.0);
}

#[test]
fn recommended_rates_keep_their_accuracy_and_are_not_timid() {
    let scales = q2().scales();
    for k in [1, 2, 10, 100] {
        for accuracy in [1e-4, 1e-2, 1.0, 1e9] {
            let (plain, sharp) = (scales.gamma_for(k, accuracy), scales.sharp_gamma_for(k, accuracy));
            assert!(plain <= 1.0 / scales.smoothness && sharp < 1.0 / scales.smoothness);
            assert!(scales.distance_all(k, plain.min(sharp)) <= accuracy * (1.0 + 1e-9), "K = {k}, {accuracy}");
            assert!(sharp >= plain.min(0.999 / scales.smoothness) * (1.0 - 1e-9), "K = {k}, {accuracy}: {sharp} < {plain}");
        }
    }
    assert_eq!(gamma_keeping(0.7, 1, 1.0), None, "Lemma 18 ends at 1 - 1/e for one step");
    close(gamma_keeping(0.5, 2, 3.0).unwrap(), 2f64.ln() / 6.0);
}

#[test]
fn numbers_that_are_no_ensemble_are_refused_with_a_reason() {
    let one = |a: Vec<f64>, c: Vec<f64>| Ensemble::new([(a, c)]).unwrap_err().to_string();
    assert!(matches!(Ensemble::new([]), Err(EnsembleError::Empty)));
    assert!(one(vec![1.0, 2.0], vec![0.0]).contains("2 numbers"));
    assert!(one(vec![1.0, 0.0, 0.0, -1.0], vec![0.0; 2]).contains("not positive definite"));
    assert!(one(vec![f64::NAN], vec![0.0]).contains("not positive definite"));
    assert!(Ensemble::weighted([(0.0, vec![1.0], vec![0.0])]).unwrap_err().to_string().contains("must be positive"));
}

#[test]
fn weights_count_as_repeated_clients_do() {
    let weighted = Ensemble::weighted([(2.0, vec![1.0], vec![1.0]), (1.0, vec![2.0], vec![0.5])]).unwrap();
    let repeated = Ensemble::new([(vec![1.0], vec![1.0]), (vec![1.0], vec![1.0]), (vec![2.0], vec![0.5])]).unwrap();
    close(weighted.minimiser()[0], repeated.minimiser()[0]);
    close(weighted.scales().centres, repeated.scales().centres);
    close(weighted.scales().curvatures, repeated.scales().curvatures);
}

#[test]
fn slopes_at_zero_tell_the_centres() {
    let q2 = Ensemble::from_slopes([(vec![1.0], vec![-1.0]), (vec![2.0], vec![-1.0])]).unwrap();
    close(q2.minimiser()[0], 2.0 / 3.0);
    close(q2.mean_centre()[0], 0.75);
    assert_eq!((q2.scales().centres, q2.scales().curvatures), (0.25, 0.5));
}
