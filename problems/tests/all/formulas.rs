//! Every number of ALGORITHMS sections 0, 1 and 2 for the formula problems.

// Outside of `#[test]` functions too, a panic is how a test fails.

use std::sync::Arc;

use motet_core::{Batch, Objective, Vector};
use motet_problems::Targets;
use motet_problems::reference::{Part, Reference, minimise};
use motet_problems::synthetic::formula::{lrs, lrs_dataset, q2, q2s, q3};

type Clients = Vec<Arc<dyn Objective>>;

/// 1e-9 relative, or absolute below 1.
fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0), "{ours} is not {theirs}");
}

fn all_close(ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(theirs).for_each(|(o, t)| close(*o, *t));
}

fn local_optima(clients: &Clients) -> Vec<Reference> {
    clients.iter().map(|f| minimise(&[Part { alpha: 1.0, local: None, objective: &**f }], 0).unwrap()).collect()
}

fn mixture(clients: &Clients, alpha: &[f64]) -> Reference {
    let local = local_optima(clients);
    let parts: Vec<Part> =
        clients.iter().zip(alpha).zip(&local).map(|((f, &alpha), l)| Part { alpha, local: Some(&l.x), objective: &**f }).collect();
    minimise(&parts, 0).unwrap()
}

/// (1/n) Σ αᵢ² Lᵢ and (1/n) Σ αᵢ² μᵢ
fn mixed_constants(clients: &Clients, alpha: &[f64]) -> (f64, f64) {
    let mean = |of: fn(motet_core::Constants) -> Option<f64>| {
        clients.iter().zip(alpha).map(|(f, a)| a * a * of(f.constants()).unwrap()).sum::<f64>() / clients.len() as f64
    };
    (mean(|c| c.smoothness), mean(|c| c.convexity))
}

#[test]
fn q2_and_q2s_have_the_weighted_mean_as_optimum() {
    let every = |clients: &Clients| mixture(clients, &[1.0, 1.0]).x.at(0);
    close(every(&q2()), 2.0 / 3.0);
    close(every(&q2s()), 1.0 / 3.0);
}

#[test]
fn q3_has_the_constants_and_the_mixture_of_the_specification() {
    let (clients, alpha) = (q3(), [0.2, 0.5, 1.0]);
    let constants: Vec<_> = clients.iter().map(|f| f.constants()).collect();
    all_close(&constants.iter().map(|c| c.smoothness.unwrap()).collect::<Vec<_>>(), &[4.0, 2.0, 3.618033988750]);
    all_close(&constants.iter().map(|c| c.convexity.unwrap()).collect::<Vec<_>>(), &[1.0, 1.0, 1.381966011250]);
    let (smoothness, convexity) = mixed_constants(&clients, &alpha);
    all_close(&[smoothness, convexity], &[1.426011329583, 0.557322003750]);
    let best = mixture(&clients, &alpha);
    assert!(best.exact);
    all_close(best.x.f64s(), &[-0.738720556603, 1.655070770375]);
    close(best.value, 0.200308043657);
    let deployed = [[0.652255888679, 0.331014154075], [-0.369360278302, 1.327535385187], [-0.738720556603, 1.655070770375]];
    for ((local, alpha), expected) in local_optima(&clients).iter().zip(alpha).zip(deployed) {
        all_close(Vector::mix(alpha, &best.x, &local.x).f64s(), &expected);
    }
}

#[test]
fn lrs_has_the_data_and_constants_of_the_specification() {
    let data = lrs_dataset(4, 6, 3);
    let Targets::Classes { labels, classes: 2 } = &data.targets else { panic!("two classes") };
    let sign = 2.0 * f64::from(labels[0]) - 1.0;
    let first: Vec<f64> = data.features.to_dense().values[..3].iter().map(|a| sign * a).collect();
    all_close(&first, &[1.341470984808, 0.494361998323, 1.130372983482]);
    let smoothness: Vec<f64> = lrs(4, 6, 3).iter().map(|f| f.constants().smoothness.unwrap()).collect();
    all_close(&smoothness, &[0.480816343244, 0.420702804906, 0.399294866529, 0.393527051553]);
    lrs(4, 6, 3).iter().for_each(|f| assert_eq!(f.constants().convexity, Some(0.1)));
}

#[test]
fn lrs_has_the_local_optima_of_the_specification() {
    let optima = local_optima(&lrs(4, 6, 3));
    let x = [
        [0.946695693262, -0.972853224281, 0.905082374216],
        [-0.464082536779, -0.681980948645, 0.381042000497],
        [0.702246155260, -1.269503481209, 0.776286381125],
        [1.120266877505, 0.138975036195, 0.367663284969],
    ];
    let values = [0.348498419514, 0.601210710645, 0.434315838710, 0.518209260500];
    for ((found, x), value) in optima.iter().zip(x).zip(values) {
        all_close(found.x.f64s(), &x);
        close(found.value, value);
    }
}

#[test]
fn lrs_has_the_mixtures_of_the_specification() {
    let clients = lrs(4, 6, 3);
    let unequal = [0.1, 0.4, 0.7, 1.0];
    all_close(&<[f64; 2]>::from(mixed_constants(&clients, &unequal)), &[0.165325537092, 0.0415]);
    close(mixed_constants(&clients, &[0.3; 4]).0, 0.038122673990);
    for (alpha, x, value) in [
        (unequal, [0.762538210469, -0.339102123443, 0.477158539282], 0.512099588205),
        ([0.3; 4], [0.533511273034, -0.719349011794, 0.622785427923], 0.483572800965),
        ([1.0; 4], [0.545035483856, -0.734665873474, 0.634543766213], 0.567047893561),
    ] {
        let best = mixture(&clients, &alpha);
        assert!(best.exact);
        all_close(best.x.f64s(), &x);
        close(best.value, value);
    }
}

#[test]
fn deployed_models_vary_by_the_square_of_what_is_kept() {
    // Proposition 3: for equal α the variance of Tᵢ(x) is (1 − α)² times that of xᵢ*, whatever x.
    let local = local_optima(&lrs(4, 6, 3));
    let x = Vector::from(vec![7.0, -3.0, 0.5]);
    let deployed: Vec<Vector> = local.iter().map(|l| Vector::mix(0.3, &x, &l.x)).collect();
    let mut mean = motet_core::Mean::like(&x);
    deployed.iter().for_each(|t| mean.add(1.0, t));
    let mean = mean.finish();
    close(deployed.iter().map(|t| t.distance2(&mean)).sum::<f64>() / 4.0, 0.350366354521);
}

#[test]
fn the_gradient_at_a_tiny_mixture_is_zero_to_rounding() {
    let clients = lrs(4, 6, 3);
    for alpha in [1e-4, 1e-2, 1.0] {
        let local = local_optima(&clients);
        let best = mixture(&clients, &[alpha; 4]);
        let mut sum = best.x.zeros_like();
        for (f, l) in clients.iter().zip(&local) {
            let mut g = best.x.zeros_like();
            f.gradient(&Vector::mix(alpha, &best.x, &l.x), Batch::all(), &mut g);
            sum.axpy(0.25, &g);
        }
        assert!(best.exact && sum.norm() < 1e-14, "α = {alpha}: {}", sum.norm());
    }
}
