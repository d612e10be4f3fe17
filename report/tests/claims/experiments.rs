//! Every shape of claim in EXPERIMENTS, true and false.

use motet_core::Row;
use serde_json::json;

use crate::made::{ALPHAS, Made, flix_and_scafflix};

#[test]
fn a1_effect_of_alpha() {
    flix_and_scafflix().table(&[
        ("for k in round: increasing(at(flix, gap, round=k), over=alpha)", true),
        ("for k in round: decreasing(at(flix, gap, round=k), over=alpha)", false),
        ("slope(flix[alpha=1], gap) == slope(flix[alpha=0.01], gap) +- 5%", true),
        ("slope(flix[alpha=1], gap) == slope(scafflix[alpha=1], gap) +- 5%", false),
        ("slope(flix, gap) == -1/20 +- 1e-9", true),
        ("slope(flix, gap, from=10, to=20) == -1/20 +- 1e-9", true),
        ("for a in alpha: rounds_to(flix[alpha=a/10], gap=1e-6) == rounds_to(flix[alpha=a], gap=1e-4) +- 2", true),
        ("for a in alpha: rounds_to(flix[alpha=a/10], gap=1e-6) == rounds_to(flix[alpha=a], gap=1e-5) +- 2", false),
    ]);
}

/// gap = a² max(10^(-k K/2000), floor(K)); DIANA has no floor.
fn compressed() -> Made {
    let mut made = Made::new();
    for alpha in [1.0, 0.1] {
        for k in [4.0, 12.0, 20.0] {
            let floor: f64 = if k < 20.0 { 1e-3 / k } else { 0.0 };
            let curve = move |t: f64| 10f64.powf(-t * (k + 10.0) / 600.0);
            made.run("dcgd", json!({"alpha": alpha, "k": k}), 1, 300, &[("gap", &move |t| alpha * alpha * curve(t).max(floor))]);
            made.run("diana", json!({"alpha": alpha, "k": k}), 1, 800, &[("gap", &move |t| alpha * alpha * curve(t))]);
        }
    }
    // Fewer floats with smaller k: k per round.
    let ks: Vec<f64> = made.0.manifest.runs.iter().map(|card| card.params["k"].as_f64().expect("a number")).collect();
    for row in &mut made.0.rows {
        row.bits.up = row.round * 64 * ks[row.run] as u64;
    }
    made
}

#[test]
fn a2_a3_compression() {
    compressed().table(&[
        ("for t in [100, 200, 300]: nonincreasing(at(diana, gap, round=t), over=k)", true),
        ("for t in [100, 200, 300]: increasing(at(diana, gap, round=t), over=alpha)", true),
        ("for t in [100]: increasing(at(diana, gap, round=t), over=k)", false),
        ("rounds_to(diana[k>=0.2*d], gap=1e-8) < inf", true),
        ("rounds_to(dcgd[k<d], gap=1e-8) < inf", false),
        ("min(at(diana[k<d], gap, floats=3000), over=k) < at(diana[k=d], gap, floats=3000)", true),
        ("floats_to(diana[k=4], gap=1e-8) < floats_to(diana[k=20], gap=1e-8)", true),
        ("nonincreasing(final(dcgd, gap), over=k)", true),
        ("for a in alpha: a^2/3 <= final(dcgd[alpha=a, k<d], gap) / final(dcgd[alpha=1], gap) <= 3*a^2", true),
        ("for a in alpha: a^3/3 <= final(dcgd[alpha=a], gap) / final(dcgd[alpha=1], gap) <= 3*a^3", false),
        ("final(diana[k<d], gap) < final(dcgd, gap)", true),
    ]);
}

#[test]
fn a4_envelope() {
    let mut made = Made::new();
    for alpha in [1.0, 0.1] {
        made.run("flix", json!({"alpha": alpha}), 1, 1000, &[("gap", &move |k| alpha / (k + 10.0))]);
        made.run("slow", json!({"alpha": alpha}), 1, 1000, &[("gap", &move |k| alpha / (k + 10.0).sqrt())]);
    }
    made.table(&[
        ("for k in round: k * at(flix, gap, round=k) <= 3 * 100 * at(flix, gap, round=100)", true),
        ("for k in round: k * at(slow, gap, round=k) <= 3 * 100 * at(slow, gap, round=100)", false),
        ("envelope(flix, gap) <= 3 * 100 * at(flix, gap, round=100)", true),
        ("envelope(slow, gap, from=100) <= 3 * 100 * at(slow, gap, round=100)", false),
    ]);
}

#[test]
fn a5_to_a8_optima_inside_the_grid() {
    let mut made = Made::new();
    for (alpha, mse, recall) in [(0.0, 0.057, 0.888), (0.2, 0.02, 0.91), (0.6, 0.0017, 0.88), (0.8, 0.003, 0.83), (1.0, 0.045, 0.768)] {
        made.run("flix", json!({"alpha": alpha}), 1, 2, &[("test.mse", &move |_| mse), ("test.recall@5", &move |_| recall)]);
    }
    made.run("fomaml", json!({}), 1, 2, &[("test.recall@5", &|_| 0.622)]).run("reptile", json!({}), 1, 2, &[("test.recall@5", &|_| 0.59)]);
    for (alpha, step) in [(0.2, 5e5), (1.0, 5e3)] {
        for tried in [5e3, 5e4, 5e5] {
            let loss = move |_| f64::ln(tried / step).abs();
            made.run("tuned", json!({"alpha": alpha, "step": tried}), 1, 2, &[("validation.loss", &loss)]);
        }
    }
    made.table(&[
        (
            "min(final(flix[alpha>=0.2, alpha<=0.8], test.mse), over=alpha) <= 0.5 * min(final(flix[alpha=0], test.mse), final(flix[alpha=1], test.mse))",
            true,
        ),
        ("0.5 <= argmin(final(flix, test.mse), over=alpha) <= 0.8", true),
        ("final(flix[alpha>=0.2, alpha<=0.8], test.recall@5) > max(final(fomaml, test.recall@5), final(reptile, test.recall@5))", true),
        ("0 < argmax(final(flix, test.recall@5), over=alpha) < 1", true),
        ("max(final(flix, test.recall@5), over=alpha) >= final(fomaml, test.recall@5)", true),
        ("nonincreasing(argmin(final(tuned, validation.loss), over=step), over=alpha)", true),
        (
            "argmin(final(tuned[alpha=1], validation.loss), over=step) <= argmin(final(tuned[alpha=0.2], validation.loss), over=step) / 10",
            true,
        ),
        ("increasing(argmin(final(tuned, validation.loss), over=step), over=alpha)", false),
    ]);
}

#[test]
fn b1_double_acceleration() {
    let mut made = flix_and_scafflix();
    // Four and six steps by turns: 5 a round in all.
    for row in &mut made.0.rows {
        row.totals.insert("steps".into(), (5 * row.round + row.round % 2) as f64);
    }
    made.table(&[
        ("rounds_to(scafflix, gap=1e-6) <= rounds_to(flix, gap=1e-6) / 3", true),
        ("nondecreasing(rounds_to(flix, gap=1e-6), over=alpha) and nondecreasing(rounds_to(scafflix, gap=1e-6), over=alpha)", true),
        ("note(scafflix, steps) / rounds(scafflix) == 1 / param(scafflix, p) +- 25%", true),
        ("note(scafflix, steps) / rounds(scafflix) == 2 / param(scafflix, p) +- 25%", false),
        ("for r in [10, 50, 200]: at(scafflix, gap, round=r) <= at(flix, gap, round=r)", true),
    ]);
}

/// 150 clients in three groups; weights in the rows and, for one method, at the end.
fn mean_estimation() -> Made {
    let mut made = Made::new();
    made.run("meritfed", json!({"solver": "md"}), 1, 50, &[("error", &|k| 0.0005 + 1.0 / (1.0 + k).powi(4))]);
    made.run("meritfed", json!({"solver": "smd"}), 1, 50, &[("error", &|k| 0.00051 + 1.0 / (1.0 + k).powi(4))]);
    made.run("sgd-ideal", json!({}), 1, 50, &[("error", &|_| 0.0033)]).run("sgd-full", json!({}), 1, 50, &[("error", &|_| 0.117)]);
    made.run("fedadp", json!({}), 1, 50, &[("error", &|_| 0.0104), ("weight.group.3", &|k| if k > 30.0 { 0.1 } else { 0.3 })]);
    made.run("tawt", json!({}), 1, 50, &[("error", &|_| 0.0132)]);
    for client in 0..150 {
        made.client(client, "weight", if client == 0 { 0.995 } else { 0.005 / 149.0 });
    }
    let weigh = |row: &mut Row| {
        for client in 0..150 {
            let weight = [0.107, 0.0049, 0.0][usize::from(client >= 5) + usize::from(client >= 100)];
            row.metrics.insert(format!("weight.{client}"), weight);
        }
    };
    made.0.rows.iter_mut().filter(|row| row.run < 2).for_each(weigh);
    made
}

#[test]
fn c1_mean_estimation() {
    mean_estimation().table(&[
        ("final(meritfed, error) < 0.2 * final(sgd-ideal, error) and final(sgd-ideal, error) < final(fedadp, error)", true),
        ("max(final(fedadp, error), final(tawt, error)) < 0.2 * final(sgd-full, error)", true),
        ("final(meritfed[solver=\"md\"], error) == final(meritfed[solver=\"smd\"], error) +- 5%", true),
        ("final(meritfed[solver=\"md\"], error) == final(meritfed[solver=\"smd\"], error) +- 1%", false),
        ("weight(meritfed, clients=100..149) < 0.02", true),
        ("weight(meritfed, clients=0..99) > 0.98", true),
        ("weight(meritfed, clients=0..4) / 5 > 10 * weight(meritfed, clients=5..99) / 95", true),
        ("weight(meritfed, clients=0..4) / 5 > 30 * weight(meritfed, clients=5..99) / 95", false),
        ("weight(tawt, clients=0) > 0.99", true),
        ("0.08 <= weight(fedadp, group=3, last=20) <= 0.13", true),
        ("0.08 <= weight(fedadp, group=3, from=0) <= 0.13", false),
        ("final(tawt, weight, clients=1..149) < 0.001", true),
    ]);
}

#[test]
fn d1_to_d4_trajectories() {
    let mut made = Made::new();
    for gamma in [0.1, 0.5, 1.0] {
        let x = move |k: f64| 0.8 + 0.001 / gamma * if k % 2.0 == 0.0 { 1.0 } else { -1.0 } - 10f64.powf(-k / 10.0);
        let params = json!({"gamma": gamma, "steps": 20});
        made.run("local-update", params, 1, 1000, &[("x", &x), ("loss", &move |k| 1.0 / (1.0 + gamma * k) + gamma / 50.0)]);
    }
    made.table(&[
        ("abs(average(local-update[gamma=0.5], x, from=501) - 0.7999) < 0.003", true),
        ("average(local-update, x, from=501) == 0.8 +- 0.003", true),
        ("average(local-update, x, from=501) == 5/7 +- 0.003", false),
        ("decreasing(deviation(local-update, x, from=501), over=gamma)", true),
        ("argmin(at(local-update, loss, round=10), over=gamma) > argmin(final(local-update, loss), over=gamma)", true),
        (
            "final(local-update[gamma=1], loss) >= min(final(local-update[gamma < argmin(at(local-update, loss, round=10), over=gamma)], loss), over=gamma)",
            true,
        ),
        (
            "share(at(local-update[gamma=1], loss, round=round) < at(local-update[gamma=0.1], loss, round=round), over=round) > 0.5",
            false,
        ),
        ("for w in [0, 500]: decreasing(deviation(local-update, x, from=w+1, to=w+499), over=gamma)", true),
    ]);
}

#[test]
fn d5_d7_constant_and_decaying_rates() {
    let mut made = Made::new();
    for (gamma, eta, loss) in [(0.0, 0.03, 0.41), (0.01, 0.03, 0.4), (0.1, 0.1, 0.45)] {
        made.run("local-update", json!({"gamma": gamma, "eta": eta}), 1, 20, &[("loss", &move |_| loss)]);
    }
    made.run("local-update-decay", json!({"gamma": 1.0}), 1, 20, &[("loss", &|_| 0.405)]);
    made.table(&[
        ("final(local-update-decay, loss) <= 1.02 * min(final(local-update, loss), over=gamma)", true),
        ("final(local-update-decay, loss) <= min(final(local-update, loss), over=gamma)", false),
        ("max(final(local-update, loss), over=gamma) - min(final(local-update, loss), over=gamma) < 0.06", true),
        ("average(local-update-decay, loss, last=10) <= 0.41", true),
    ]);
}

#[test]
fn every_alpha_of_the_grid_is_one_case() {
    let made = flix_and_scafflix();
    let reason = made.judge("final(flix, gap) < 0").reason.unwrap();
    assert!(reason.ends_with(&format!("{0} of {0} cases fail", ALPHAS.len())), "{reason}");
}
