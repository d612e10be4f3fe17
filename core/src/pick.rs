//! A client's own choice of αᵢ: one number, sought on its validation data, without communication.

/// Places looked at first: 0, 0.1, …, 1.
const GRID: usize = 10;
/// α is found to about this.
const NEAR: f64 = 1e-3;

/// Where on [0, 1] a function is least: the best of eleven places, then golden section between its neighbours. What is not
/// a number is never best; of equals the smallest is taken, which shares least.
pub(crate) fn pick(mut value: impl FnMut(f64) -> f64) -> f64 {
    let mut value = |alpha: f64| Some(value(alpha)).filter(|v| !v.is_nan()).unwrap_or(f64::INFINITY);
    let seen: Vec<f64> = (0..=GRID).map(|k| value(k as f64 / GRID as f64)).collect();
    let best = (0..=GRID).reduce(|a, b| if seen[b] < seen[a] { b } else { a }).unwrap_or(0);
    let (mut low, mut high) = (best.saturating_sub(1) as f64 / GRID as f64, (best + 1).min(GRID) as f64 / GRID as f64);
    let (mut found, mut least) = (best as f64 / GRID as f64, seen[best]);
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    while high - low > NEAR {
        for (alpha, value) in [(left, at_left), (right, at_right)] {
            if value < least {
                (found, least) = (alpha, value);
            }
        }
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = value(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = value(right);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::pick;

    #[test]
    fn the_least_place_is_found_between_the_places_of_the_grid_and_at_the_ends() {
        for best in [0.0, 0.123, 0.5, 0.678, 1.0] {
            assert!((pick(|a| (a - best) * (a - best)) - best).abs() < 2e-3, "{best}");
        }
    }

    #[test]
    fn where_nothing_matters_nothing_is_shared_and_nan_is_never_best() {
        assert_eq!(pick(|_| 1.0), 0.0);
        assert_eq!(pick(|_| f64::NAN), 0.0);
        assert!((pick(|a| if a < 0.35 { f64::NAN } else { a }) - 0.35).abs() < 2e-3);
    }
}
