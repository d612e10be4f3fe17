//! Byzantine clients: who lies, and how. The fleet in `byzantine.rs` does the lying.

use motet_core::{ClientId, Positive, Rng, Vector};
use serde::{Deserialize, Serialize};

/// Some clients whose replies are not what they computed.
///
/// In an experiment file: `byzantine = { attack = "sign-flip", first = 80, count = 20 }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByzantineClients {
    /// What they do.
    pub attack: Attack,
    /// The first of them.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// How strong the attack is; what it multiplies, and the default, depend on the attack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Positive>,
}

/// What liars send instead of v, where v̄ is the mean of what the honest send and s their standard deviation, both by
/// coordinate. Liars know what everybody sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attack {
    /// −scale v; scale 1.
    SignFlip,
    /// −scale v̄, so that the mean points the wrong way; scale 10 (Xie, Koyejo, Gupta 2019).
    InnerProduct,
    /// N(0, scale² I); scale 1.
    Noise,
    /// v̄ − scale s: within the spread of the honest; scale 1.5 (Baruch, Baruch, Goldberg 2019).
    Little,
    /// NaN.
    Nan,
    /// −scale v; scale 10⁶.
    Huge,
}

impl Attack {
    /// As experiment files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Attack::SignFlip => "sign-flip",
            Attack::InnerProduct => "inner-product",
            Attack::Noise => "noise",
            Attack::Little => "little",
            Attack::Nan => "nan",
            Attack::Huge => "huge",
        }
    }
}

impl ByzantineClients {
    /// Does this client lie?
    pub fn lies(&self, client: ClientId) -> bool {
        client.0 >= self.first && client.0 - self.first < self.count
    }

    /// Rewrites one vector of a liar's reply; `honest` are the vectors that the honest send in its place.
    pub fn corrupt(&self, v: &mut Vector, honest: &[&Vector], rng: &mut Rng) {
        let scale = |usual: f64| self.scale.map_or(usual, |scale| *scale);
        match self.attack {
            Attack::SignFlip => v.scale(-scale(1.0)),
            Attack::Huge => v.scale(-scale(1e6)),
            Attack::Nan => v.fill(f64::NAN),
            Attack::Noise => {
                let noise: Vec<f64> = (0..v.len()).map(|_| scale(1.0) * rng.normal()).collect();
                overwrite(v, &noise);
            }
            Attack::InnerProduct => {
                let (mean, _) = moments(v, honest);
                overwrite(v, &mean.iter().map(|m| -scale(10.0) * m).collect::<Vec<_>>());
            }
            Attack::Little => {
                let (mean, deviation) = moments(v, honest);
                overwrite(v, &mean.iter().zip(&deviation).map(|(m, s)| m - scale(1.5) * s).collect::<Vec<_>>());
            }
        }
    }
}

/// Mean and standard deviation by coordinate; without anybody honest, of the vector itself.
fn moments(own: &Vector, honest: &[&Vector]) -> (Vec<f64>, Vec<f64>) {
    if honest.is_empty() {
        return (own.to_f64(), vec![0.0; own.len()]);
    }
    let n = honest.len() as f64;
    let mean: Vec<f64> = (0..own.len()).map(|l| honest.iter().map(|v| v.at(l)).sum::<f64>() / n).collect();
    let spread = |l: usize| (honest.iter().map(|v| (v.at(l) - mean[l]).powi(2)).sum::<f64>() / n).sqrt();
    let deviation = (0..own.len()).map(spread).collect();
    (mean, deviation)
}

fn overwrite(v: &mut Vector, by: &[f64]) {
    *v = Vector::with_precision(by.iter().copied(), v.precision());
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_core::Seed;

    #[test]
    fn each_attack_sends_what_its_formula_says() {
        let honest = [Vector::from(vec![1.0, 0.0]), Vector::from(vec![3.0, 0.0])];
        let honest: Vec<&Vector> = honest.iter().collect();
        let sent = |attack| {
            let mut v = Vector::from(vec![2.0, -1.0]);
            ByzantineClients { attack, first: 0, count: 1, scale: None }.corrupt(&mut v, &honest, &mut Seed(1).server(1, 0));
            v.to_f64()
        };
        assert_eq!(sent(Attack::SignFlip), [-2.0, 1.0]);
        assert_eq!(sent(Attack::Huge), [-2e6, 1e6]);
        assert_eq!(sent(Attack::InnerProduct), [-20.0, 0.0]);
        assert_eq!(sent(Attack::Little), [0.5, 0.0]);
        assert!(sent(Attack::Nan).iter().all(|v| v.is_nan()));
        assert!(sent(Attack::Noise).iter().all(|v| v.is_finite() && v.abs() < 6.0));
    }

    #[test]
    fn attacks_are_called_what_files_call_them() {
        for attack in [Attack::SignFlip, Attack::InnerProduct, Attack::Noise, Attack::Little, Attack::Nan, Attack::Huge] {
            assert_eq!(serde_json::to_value(attack).unwrap(), attack.name());
        }
    }

    #[test]
    fn liars_are_those_from_the_first_on() {
        let liars = ByzantineClients { attack: Attack::Nan, first: 3, count: 2, scale: None };
        assert_eq!([2, 3, 4, 5].map(|k| liars.lies(ClientId(k))), [false, true, true, false]);
    }
}
