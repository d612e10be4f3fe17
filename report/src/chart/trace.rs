//! Points in pixels → the fewest that look the same.

/// A point in pixels.
pub(crate) type Pixel = (f64, f64);

/// Less than what can be seen, also on a screen with two pixels per pixel.
const TOLERANCE: f64 = 0.15;

/// Drops points that lie on the line between their neighbours (Ramer, Douglas and Peucker): a curve of
/// 10,000 rounds costs as many bytes as it has bends.
pub(crate) fn simplify(points: &[Pixel]) -> Vec<Pixel> {
    if points.len() < 3 {
        return points.to_vec();
    }
    let mut keep = vec![false; points.len()];
    keep[0] = true;
    keep[points.len() - 1] = true;
    let mut spans = vec![(0, points.len() - 1)];
    while let Some((from, to)) = spans.pop() {
        let apart = distances(points[from], points[to]);
        let farther = |most: (usize, f64), k: usize| {
            let apart = apart(points[k]);
            if apart >= most.1 { (k, apart) } else { most }
        };
        let (far, most) = (from + 1..to).fold((from, 0.0), farther);
        if most > TOLERANCE {
            keep[far] = true;
            spans.extend([(from, far), (far, to)]);
        }
    }
    points.iter().zip(keep).filter(|(_, keep)| *keep).map(|(p, _)| *p).collect()
}

/// Path data: lines from point to point.
pub(crate) fn path(points: &[Pixel]) -> String {
    let mut d = String::new();
    for (k, (x, y)) in points.iter().enumerate() {
        d.push(if k == 0 { 'M' } else { 'L' });
        d.push_str(&format!("{x:.1} {y:.2}"));
    }
    d
}

/// The line's height at column `x`, if it passes there.
pub(crate) fn height(points: &[Pixel], x: f64) -> Option<f64> {
    let (a, b) = points.windows(2).map(|w| (w[0], w[1])).find(|(a, b)| a.0 <= x && x <= b.0 && a.0 < b.0)?;
    Some(a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0))
}

/// How far a point lies from the line through `a` and `b`.
fn distances(a: Pixel, b: Pixel) -> impl Fn(Pixel) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx.hypot(dy);
    let scale = if length == 0.0 { 0.0 } else { 1.0 / length };
    move |p: Pixel| {
        let (x, y) = (a.0 - p.0, a.1 - p.1);
        if length == 0.0 { x.hypot(y) } else { (dx * y - dy * x).abs() * scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_keeps_its_ends_and_a_bend_its_corner() {
        let straight: Vec<_> = (0..1000).map(|k| (f64::from(k), 2.0 * f64::from(k))).collect();
        assert_eq!(simplify(&straight), [(0.0, 0.0), (999.0, 1998.0)]);
        let bend: Vec<_> = (0..=100).map(|k| (f64::from(k), f64::from((k - 50).max(0)))).collect();
        assert_eq!(simplify(&bend), [(0.0, 0.0), (50.0, 0.0), (100.0, 50.0)]);
    }

    #[test]
    fn a_simplified_curve_stays_within_the_tolerance() {
        let curve: Vec<_> =
            (0..2000).map(|k| (f64::from(k) / 3.0, 200.0 * (-f64::from(k) / 300.0).exp() + (f64::from(k) / 9.0).sin())).collect();
        let few = simplify(&curve);
        assert!(few.len() < curve.len() / 2, "{}", few.len());
        for (x, y) in curve {
            let drawn = height(&few, x).unwrap();
            assert!((drawn - y).abs() < 0.5, "{x}: {drawn} for {y}");
        }
    }
}
