//! What becomes of a client's gradient before it steps: clipping, weight decay, Adam. All of it stays with the client.

use motet_core::{Fraction, NonNegative, Positive, Vector, View, ViewMut};
use serde::{Deserialize, Serialize};

use super::schedule::power;

/// How local steps differ from plain ones; by default they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Direction {
    /// Longer gradients are shortened to this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<Positive>,
    /// λ: this much of the model is added to the gradient; with Adam to the direction, as AdamW has it.
    pub weight_decay: NonNegative,
    /// Adam, begun anew for each ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adam: Option<Adam>,
}

/// m ← b₁ m + (1 − b₁) g, v ← b₂ v + (1 − b₂) g², direction m̂/(√v̂ + ε), both corrected for their start at 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Adam {
    /// b₁
    pub b1: Fraction,
    /// b₂
    pub b2: Fraction,
    /// ε
    pub eps: Positive,
}

impl Default for Adam {
    /// As Kingma and Ba propose.
    fn default() -> Self {
        let fraction = |value: f64| Fraction::new(value).expect("a default between 0 and 1");
        Self { b1: fraction(0.9), b2: fraction(0.999), eps: Positive::new(1e-8).expect("1e-8 is positive") }
    }
}

/// What Adam remembers during one ask.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    moments: Option<(Vector, Vector)>,
    steps: u64,
}

impl Direction {
    /// Are local steps plain?
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// g, a gradient at y, becomes the direction to step against.
    pub fn turn(&self, y: &Vector, g: &mut Vector, walk: &mut Walk) {
        if let Some(longest) = self.clip {
            let length = g.norm();
            if length > *longest {
                g.scale(*longest / length);
            }
        }
        if let Some(adam) = self.adam {
            walk.steps += 1;
            let (m, v) = walk.moments.get_or_insert_with(|| (g.zeros_like(), g.zeros_like()));
            adam.turn(g, m, v, walk.steps);
        }
        if *self.weight_decay > 0.0 {
            g.axpy(*self.weight_decay, y);
        }
    }
}

impl Adam {
    fn turn(&self, g: &mut Vector, m: &mut Vector, v: &mut Vector, t: u64) {
        let (b1, b2) = (*self.b1, *self.b2);
        m.scale(b1);
        m.axpy(1.0 - b1, g);
        let (first, second) = (1.0 - power(b1, t), 1.0 - power(b2, t));
        macro_rules! run {
            ($g:expr, $m:expr, $v:expr, $T:ty) => {
                for ((g, m), v) in $g.iter_mut().zip($m).zip($v) {
                    *v = b2 as $T * *v + (1.0 - b2) as $T * *g * *g;
                    *g = *m / first as $T / ((*v / second as $T).sqrt() + *self.eps as $T);
                }
            };
        }
        match (g.view_mut(), m.view(), v.view_mut()) {
            (ViewMut::F32(g), View::F32(m), ViewMut::F32(v)) => run!(g, m, v, f32),
            (ViewMut::F64(g), View::F64(m), ViewMut::F64(v)) => run!(g, m, v, f64),
            _ => unreachable!("the moments were made like the gradient"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(steps: &Direction, y: f64, gradients: &[f64]) -> Vec<f64> {
        let mut walk = Walk::default();
        let turn = |g: &f64| {
            let mut g = Vector::from(vec![*g, 0.0]);
            steps.turn(&Vector::from(vec![y, 0.0]), &mut g, &mut walk);
            g.at(0)
        };
        gradients.iter().map(turn).collect()
    }

    #[test]
    fn plain_steps_change_nothing_and_clipping_only_what_is_long() {
        assert_eq!(turned(&Direction::default(), 7.0, &[3.0, -1.0]), [3.0, -1.0]);
        let clip = Direction { clip: Some(Positive::new(2.0).expect("positive")), ..Direction::default() };
        assert_eq!(turned(&clip, 7.0, &[3.0, -1.0, -8.0]), [2.0, -1.0, -2.0]);
    }

    #[test]
    fn weight_decay_adds_a_share_of_the_model() {
        let decay = Direction { weight_decay: NonNegative::new(0.1).expect("not negative"), ..Direction::default() };
        assert_eq!(turned(&decay, 5.0, &[3.0]), [3.5]);
    }

    #[test]
    fn adam_follows_its_formula() {
        let adam = Direction { adam: Some(Adam::default()), ..Direction::default() };
        // Corrected, the first step is the sign; the second by hand.
        let got = turned(&adam, 0.0, &[4.0, -2.0]);
        assert!((got[0] - 1.0).abs() < 1e-8);
        let (m, v) = ((0.9 * 0.4 - 0.2) / (1.0 - 0.81), (0.999 * 0.016 + 0.004) / (1.0 - 0.998001));
        assert!((got[1] - m / f64::sqrt(v)).abs() < 1e-7, "{got:?}");
    }
}
