//! What theory expects of local training and of individual steps: gradient descent, FLIX, Scaffnew and Scafflix on the
//! constants of one problem.
//!
//! Gradient descent on F falls by 1 − μ/L a round (FLIX Theorem 2). Scaffnew and Scafflix fall by 1 − 1/κ an iteration
//! and communicate once in √κ of them, with κ = max Lᵢ / min μᵢ for the common step of Scaffnew and max Lᵢ/μᵢ for Scafflix
//! (Yi, Condat, Richtárik 2023, Theorem 1 and Section 4).

use serde::Serialize;

use super::budget::steps_enough;

/// What theory expects of each method on one problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlook {
    /// max Lᵢ/μᵢ
    pub kappa_max: f64,
    /// max Lᵢ / min μᵢ
    pub kappa_global: f64,
    /// The client with the largest Lᵢ/μᵢ, for which Scafflix communicates as often as it does.
    pub bottleneck: u32,
    /// How far each bound has to fall, of its start.
    pub eps: f64,
    /// Gradient descent, FLIX, Scaffnew and Scafflix.
    pub methods: [Forecast; 4],
}

/// What theory expects of one method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// As in the list of methods, but for `gd`: FLIX with α = 1.
    pub method: &'static str,
    /// The condition number of its rate.
    pub kappa: f64,
    /// Communications per iteration.
    pub p: f64,
    /// Communications, on average over the coins.
    pub rounds: u64,
    /// Local steps of each client.
    pub iterations: u64,
}

/// The forecast for clients with these Lᵢ, μᵢ and αᵢ. None if nobody shares or somebody who does is not strongly convex.
pub fn outlook(smoothness: &[f64], convexity: &[f64], alpha: &[f64], eps: f64) -> Option<Outlook> {
    let clients = || smoothness.iter().zip(convexity).zip(alpha).map(|((&l, &mu), &a)| (l, mu, a)).enumerate();
    let sharing = || clients().filter(|(_, (_, _, a))| *a > 0.0);
    if sharing().next().is_none() || sharing().any(|(_, (l, mu, _))| mu <= 0.0 || !l.is_finite()) {
        return None;
    }
    let (bottleneck, kappa_max) =
        sharing().fold((0, 0.0), |worst, (i, (l, mu, _))| if l / mu > worst.1 { (i as u32, l / mu) } else { worst });
    let steepest = clients().fold(0.0, |most: f64, (_, (l, ..))| most.max(l));
    let flattest = clients().fold(f64::INFINITY, |least: f64, (_, (_, mu, _))| least.min(mu));
    let kappa_global = steepest / flattest;
    let mixed = |weight: fn(f64) -> f64| {
        let (l, mu) = clients().fold((0.0, 0.0), |(sl, sm), (_, (l, mu, a))| (sl + weight(a) * l, sm + weight(a) * mu));
        l / mu
    };
    let methods = [
        Forecast::of("gd", mixed(|_| 1.0), false, eps),
        Forecast::of("flix", mixed(|a| a * a), false, eps),
        Forecast::of("scaffnew", kappa_global, true, eps),
        Forecast::of("scafflix", kappa_max, true, eps),
    ];
    Some(Outlook { kappa_max, kappa_global, bottleneck, eps, methods })
}

impl Forecast {
    fn of(method: &'static str, kappa: f64, local: bool, eps: f64) -> Self {
        let p = if local { kappa.sqrt().recip() } else { 1.0 };
        // At κ = 1 one iteration is enough.
        let each = -(-kappa.recip()).ln_1p();
        let enough = |each: f64| steps_enough(-eps.ln(), each).unwrap_or(u64::MAX).max(1);
        Self { method, kappa, p, rounds: enough(each / p), iterations: enough(each) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_its_own_spares_each_client_the_curvature_of_others() {
        let of = |alpha: &[f64]| outlook(&[100.0, 1.0, 50.0], &[10.0, 0.1, 0.1], alpha, 1e-6).unwrap();
        let all = of(&[0.5, 0.5, 0.5]);
        assert_eq!((all.kappa_max, all.kappa_global, all.bottleneck), (500.0, 1000.0, 2));
        assert!(all.methods[3].rounds < all.methods[2].rounds && all.methods[3].iterations < all.methods[2].iterations);
        assert_eq!(all.methods[0].kappa, all.methods[1].kappa, "a common alpha scales L and mu alike");
        let without = of(&[1.0, 1.0, 0.0]);
        assert_eq!((without.kappa_max, without.bottleneck), (10.0, 0), "who shares nothing holds nobody up");
        assert_eq!(outlook(&[1.0], &[0.0], &[1.0], 1e-6), None);
        assert_eq!(outlook(&[1.0], &[1.0], &[1.0], 1e-6).map(|one| one.methods[3].rounds), Some(1));
    }
}
