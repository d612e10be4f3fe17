//! Made-up images whose clients draw the same classes in their own hand.
//!
//! ```text
//! client i     Pᵢc = (Pc + h Vᵢc) / √(1 + h²),   Pc, Vᵢc: smooth random patterns of variance 1
//! example      class c uniform,   x = s Pᵢc + z,   z ~ N(0, I)
//! ```
//!
//! s is `signal`, h `heterogeneity`: with h = 0 all clients draw alike.

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Documented, Kind, NonNegative, Positive, Rng, Seed};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, countable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::{Matrix, Single};
use crate::on_demand::ClientExamples;

/// Made-up images of a few classes, which every client draws in its own hand. Each example has a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct SyntheticImages {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Examples per client.
    pub examples: NonZeroU32,
    /// Height and width in pixels (default 28).
    #[serde(default = "side")]
    pub side: NonZeroU32,
    /// Numbers per pixel (default 1).
    #[serde(default = "one")]
    pub channels: NonZeroU32,
    /// How many classes (default 10).
    #[serde(default = "ten")]
    pub classes: NonZeroU32,
    /// How far apart the clients' hands are (default: 0, all alike).
    #[serde(default = "alike")]
    pub heterogeneity: NonNegative,
    /// How much stronger than the noise the patterns are (default 1).
    #[serde(default = "even")]
    pub signal: Positive,
}

impl Kind for SyntheticImages {
    const NAME: &'static str = "synthetic-images";
}

fn side() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(27)
}
fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}
fn ten() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(9)
}
fn alike() -> NonNegative {
    NonNegative::new(0.0).expect("0 is not negative")
}
fn even() -> Positive {
    Positive::new(1.0).expect("1 is positive")
}

impl Load for SyntheticImages {
    fn redraws(&self) -> Redraws {
        Redraws::Everything
    }

    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        affordable(&[("examples", self.examples), ("side", self.side), ("side", self.side), ("channels", self.channels)])?;
        affordable(&[("classes", self.classes), ("side", self.side), ("side", self.side), ("channels", self.channels)])?;
        countable_clients(Some(self.clients))?;
        let shared = self.patterns(&mut dice::shared(place.seed, Step::Source));
        Ok(Material::Clients { clients: Arc::new(Clients { of: self.clone(), seed: place.seed, shared }), inputs: Vec::new() })
    }
}

/// All of them, as a recipe.
struct Clients {
    of: SyntheticImages,
    seed: Seed,
    /// One pattern per class.
    shared: Vec<f64>,
}

impl ClientExamples for Clients {
    fn clients(&self) -> u32 {
        self.of.clients.get()
    }

    fn rows(&self, _: u32) -> u32 {
        self.of.examples.get()
    }

    fn outline(&self) -> Dataset {
        self.of.dataset(Vec::new(), Vec::new())
    }

    fn examples(&self, client: u32) -> Result<Dataset, ProblemError> {
        let (h, s) = (*self.of.heterogeneity, *self.of.signal);
        let (scale, cols, rows) = (s / (1.0 + h * h).sqrt(), self.of.cols(), self.of.examples.get() as usize);
        let mut rng = dice::own(self.seed, Step::Source, client as usize);
        let own = if h > 0.0 { self.of.patterns(&mut rng) } else { vec![0.0; self.shared.len()] };
        let (mut values, mut labels) = (Vec::with_capacity(rows * cols), Vec::with_capacity(rows));
        for _ in 0..rows {
            let class = rng.below(self.of.classes.get() as usize);
            let pattern = self.shared[class * cols..][..cols].iter().zip(&own[class * cols..][..cols]);
            values.extend(pattern.map(|(p, v)| (scale * (p + h * v) + rng.normal()) as f32));
            labels.push(class as u32);
        }
        Ok(self.of.dataset(values, labels))
    }
}

impl SyntheticImages {
    fn cols(&self) -> usize {
        self.side.get() as usize * self.side.get() as usize * self.channels.get() as usize
    }

    fn dataset(&self, values: Vec<f32>, labels: Vec<u32>) -> Dataset {
        let features = Matrix::Single(Single { cols: self.cols(), values: values.into() });
        Dataset::new(features, Targets::Classes { labels, classes: self.classes.get() })
    }

    /// One pattern per class: a few random waves, of variance 1 over the pixels, so that neighbours resemble each other as
    /// they do in images.
    fn patterns(&self, rng: &mut Rng) -> Vec<f64> {
        const WAVES: usize = 4;
        let (side, channels) = (self.side.get() as usize, self.channels.get() as usize);
        let mut all = Vec::with_capacity(self.classes.get() as usize * side * side * channels);
        for _ in 0..self.classes.get() {
            let waves: Vec<[f64; 3]> = (0..WAVES * channels).map(|_| [rng.normal(), rng.normal(), rng.unit()]).collect();
            for y in 0..side {
                for x in 0..side {
                    for wave in waves.chunks_exact(WAVES) {
                        let at = |k: usize| k as f64 / side as f64;
                        let sum: f64 = wave.iter().map(|[across, down, phase]| (6.0 * (across * at(x) + down * at(y) + phase)).sin()).sum();
                        // Each sine has mean square ½.
                        all.push(sum / (0.5 * WAVES as f64).sqrt());
                    }
                }
            }
        }
        all
    }
}
