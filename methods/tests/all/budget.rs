//! The budget rule against the specification, and against what FLIX needs.

use crate::lab::{Lab, close, flix};
use motet_methods::parts::budget::{Budget, Profile, diameter2, variance};
use motet_problems::synthetic::formula::lrs;

fn constants(lab: &Lab) -> (Vec<f64>, f64, f64) {
    let smoothness: Vec<f64> = lab.constants().iter().map(|c| c.smoothness.unwrap()).collect();
    let (l, mu) = lab.mixed_constants(&vec![1.0; smoothness.len()]);
    (smoothness, l, mu)
}

fn budget(lab: &Lab, eps: f64) -> Budget {
    let (weights, smoothness, convexity) = constants(lab);
    let anchors = lab.anchors(&flix(&vec![0.0; weights.len()], "zeros"));
    Budget { smoothness, convexity, variance: variance(&weights, &anchors), eps }
}

#[test]
fn both_directions_of_the_rule_are_as_the_specification_says() {
    let lab = Lab::new(lrs(4, 6, 3));
    close(budget(&lab, 1.0).smoothness, 0.423585266558);
    close(budget(&lab, 1.0).variance, 0.698904728046);
    close(budget(&lab, 1.0).growth(), 1.144131791448);
    for (eps, threshold, rounds, alphas) in [
        (1e-2, 0.259917538662, [1, 1, 3, 12], vec![(2, 0.297379919138), (5, 0.445389320078), (10, 0.873212744248)]),
        (1e-3, 0.082193142600, [1, 3, 11, 20], vec![(2, 0.094039787487), (5, 0.140844469696), (10, 0.276134115371)]),
        (1e-4, 0.025991753866, [6, 12, 20, 29], vec![(20, 0.335645321890)]),
    ] {
        let rule = budget(&lab, eps);
        close(rule.threshold(), threshold);
        assert_eq!([0.05, 0.1, 0.3, 1.0].map(|b| rule.rounds(b).unwrap()), rounds);
        alphas.into_iter().for_each(|(rounds, alpha)| close(rule.alpha(rounds), alpha));
        assert_eq!((rule.rounds(0.0), rule.alpha(0), rule.alpha(1000)), (Some(0), 0.0, 1.0));
    }
}

#[test]
fn the_affordable_alpha_needs_no_more_rounds_than_were_given_and_reaches_eps() {
    let lab = Lab::new(lrs(4, 6, 3));
    for eps in [1e-2, 1e-4, 1e-6] {
        let rule = budget(&lab, eps);
        for rounds in 1..40 {
            let alpha = rule.alpha(rounds);
            assert!(rule.rounds(alpha).unwrap() <= rounds);
            assert!(alpha == 1.0 || rule.rounds(alpha * (1.0 + 1e-9)).unwrap() > rounds);
            let gaps = lab.gaps(&flix(&[alpha; 4], "one-shot"), lab.zeros(), rounds - 1);
            assert!(gaps[rounds as usize - 1] <= eps, "{rounds} rounds at {alpha}: {}", gaps[rounds as usize - 1]);
        }
        // The classical count is for the same bound without its square root's saving.
        assert!(rule.classical_rounds().unwrap() + 1 >= rule.rounds(1.0).unwrap());
    }
}

/// 135 rules, from a problem that one step halves to one that a step hardly moves.
#[test]
fn what_a_number_of_rounds_affords_needs_exactly_that_number() {
    for convexity in [0.5, 0.1, 0.001] {
        for eps in [1e-4, 1e-7, 1e-10] {
            for rounds in 1..=15 {
                let rule = Budget { smoothness: 3.6, convexity, variance: 1.01, eps };
                let profile = Profile { largest: 1.0, smoothness: 3.6, diameter2: 3.9, conditioning: convexity / 3.6, eps };
                assert_eq!(rule.rounds(rule.alpha(rounds)), Some(rounds), "{rule:?}");
                assert_eq!(Profile { largest: profile.factor(rounds), ..profile }.steps(), Some(rounds - 1), "{profile:?}");
            }
        }
    }
}

#[test]
fn a_profile_of_alphas_reaches_eps_in_the_steps_of_the_rule() {
    let lab = Lab::new(lrs(4, 6, 3));
    let (_, smoothness, _) = constants(&lab);
    let alpha = [0.1, 0.4, 0.7, 1.0];
    let anchors = lab.anchors(&flix(&alpha, "zeros"));
    close(diameter2(&anchors), 3.184310785617);
    let (la, mua) = lab.mixed_constants(&alpha);
    for eps in [1e-2, 1e-4] {
        let rule = Profile { largest: 1.0, smoothness, diameter2: diameter2(&anchors), conditioning: mua / la, eps };
        let k = rule.steps().unwrap();
        assert_eq!(k, ((smoothness * 3.184310785617 / (2.0 * eps)).ln() / -(1.0 - mua / la).ln()).ceil() as u64);
        assert!(*lab.gaps(&flix(&alpha, "one-shot"), lab.zeros(), k).last().unwrap() <= eps);
        for rounds in [1, 3, 9] {
            let factor = rule.factor(rounds);
            let scaled = alpha.map(|a| a * factor);
            assert!(Profile { largest: factor, ..rule }.steps().unwrap() < rounds);
            assert!(lab.gaps(&flix(&scaled, "one-shot"), lab.zeros(), rounds - 1)[rounds as usize - 1] <= eps);
        }
        assert_eq!((rule.factor(0), rule.factor(10_000)), (0.0, 1.0));
    }
}

#[test]
fn the_ends_of_the_rule_are_numbers() {
    let rule = Budget { smoothness: 1.0, convexity: 0.5, variance: 1.0, eps: 1e-3 };
    let convex = Budget { convexity: 0.0, ..rule };
    assert_eq!((convex.rounds(1.0), convex.classical_rounds()), (None, None));
    close(convex.alpha(9), convex.alpha(1));
    let alike = Budget { variance: 0.0, ..rule };
    assert_eq!((alike.rounds(1.0), alike.alpha(1), alike.classical_rounds()), (Some(1), 1.0, Some(0)));
    let round = Budget { convexity: 1.0, ..rule };
    assert_eq!((round.rounds(1.0), round.alpha(2)), (Some(2), 1.0));
    close(round.alpha(1), 2e-3f64.sqrt());
}
