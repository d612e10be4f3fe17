//! Handwriting: 62 digits and letters as strokes, drawn by writers who each have a hand of their own.
//!
//! ```text
//! writer    slant, aspect, size, pen, and for every letter a form of its own: how each point of the strokes is displaced,
//!           and which of the forms in use (1 with or without a flag, 7 with or without a bar, …)
//! example   class uniform; points displaced once more by `jitter`; drawn with the writer's pen; 28 × 28 bytes
//! ```
//!
//! A plain stroke is a 1 for one writer, an l for the next and an I for the third: what others write helps, and one's own
//! hand decides. `heterogeneity` scales everything that distinguishes writers; 0 is one hand for all.

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, NonNegative, Rng};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, affordable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::{Bytes, Matrix};

/// Drawn digits and letters (62 classes, as FEMNIST has them) by writers with hands of their own; no download.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Handwriting {
    /// How many writers.
    pub writers: NonZeroU32,
    /// Examples per writer.
    pub examples: NonZeroU32,
    /// How many classes: the first of 0-9, A-Z, a-z (default 62).
    #[serde(default = "all")]
    pub classes: NonZeroU32,
    /// How far apart the hands are (default 1); 0 is one hand for all.
    #[serde(default = "one")]
    pub heterogeneity: NonNegative,
    /// How much a writer's own examples differ (default 1).
    #[serde(default = "one")]
    pub jitter: NonNegative,
}

impl Kind for Handwriting {
    const NAME: &'static str = "handwriting";
}

fn all() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(GLYPHS.len() as u32 - 1)
}
fn one() -> NonNegative {
    NonNegative::new(1.0).expect("1 is not negative")
}

const SIDE: usize = 28;

/// By class: the forms in use. Strokes are separated by spaces; each is a list of points, column 0 to 4 and line 0 (top) to 7.
const GLYPHS: [&[&str]; 62] = [
    &["2010010516263645413020", "2010010516263645413020 4006"],
    &["2026", "112026", "112026 1636"],
    &["011030414206 0646", "0110304142240646"],
    &["01103041423323 334445361605", "0110304142334445361605"],
    &["36300444", "0003 0343 3036"],
    &["40000313334445361605"],
    &["4020020516364544331304"],
    &["004016", "004016 1333"],
    &["20100102133344453616050413 3342413020"],
    &["42331302011030414245361605"],
    &["062046 1434"],
    &["06003041423303 3344453606"],
    &["4130100105163645"],
    &["00204145260600"],
    &["40000646 0333"],
    &["400006 0333"],
    &["413010010516364543 4323"],
    &["0006 4046 0343"],
    &["2026", "2026 1030 1636"],
    &["3035261605"],
    &["0006 400346"],
    &["000646"],
    &["0600234046"],
    &["06004640"],
    &["20010526454120", "2010010516263645413020"],
    &["06003041423303"],
    &["20010526454120 3446"],
    &["06003041423303 2346"],
    &["413010010213334445361605"],
    &["0040 2026"],
    &["000516364540"],
    &["002640"],
    &["0016233640"],
    &["0046 4006"],
    &["002340 2326"],
    &["00400646", "00400646 1333"],
    &["4332120305163645 4246"],
    &["0006 0312324345361605"],
    &["4332120305163645"],
    &["4046 4332120305163645"],
    &["04444332120305163645"],
    &["40302126 1232"],
    &["4332120304153544 42463717"],
    &["0006 0312324346"],
    &["2226 2021"],
    &["32362717 3031"],
    &["0006 320436"],
    &["2026", "202536"],
    &["0602 03122326 23324346"],
    &["0602 0312324346"],
    &["22120305163645433222"],
    &["0207 0312324345361605"],
    &["4247 4332120305163645"],
    &["0206 041232"],
    &["43321203143445361605"],
    &["202536 1232"],
    &["0205163645 4246"],
    &["022642"],
    &["0216233642"],
    &["0246 4206"],
    &["0224 4217"],
    &["02420646", "02420646 1434"],
];

/// A point in units of columns and lines.
type Point = [f64; 2];

/// Strokes of a letter.
type Form = Vec<Vec<Point>>;

/// What distinguishes a writer.
struct Hand {
    slant: f64,
    aspect: f64,
    size: f64,
    pen: f64,
    letters: Vec<Form>,
}

impl Load for Handwriting {
    fn redraws(&self) -> Redraws {
        Redraws::Everything
    }

    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        affordable(&[("writers", self.writers), ("examples", self.examples), ("pixels", NonZeroU32::MIN.saturating_add(783))])?;
        affordable_clients(self.writers)?;
        let classes = self.classes.get();
        if classes as usize > GLYPHS.len() {
            let wanted = format!("there are {} digits and letters", GLYPHS.len());
            return Err(ProblemError::Value { key: "source.classes", value: classes.to_string(), wanted });
        }
        let rows = self.writers.get() as usize * self.examples.get() as usize;
        let (mut values, mut labels, mut keys) =
            (Vec::with_capacity(rows * SIDE * SIDE), Vec::with_capacity(rows), Vec::with_capacity(rows));
        for writer in 0..self.writers.get() {
            let mut rng = dice::own(place.seed, Step::Source, writer as usize);
            let hand = Hand::new(*self.heterogeneity, classes as usize, &mut rng);
            for _ in 0..self.examples.get() {
                let class = rng.below(classes as usize);
                values.extend(hand.draw(class, *self.jitter, &mut rng));
                labels.push(class as u32);
                keys.push(writer);
            }
        }
        let names = (0..self.writers.get()).map(|writer| format!("writer {writer}")).collect();
        let features = Matrix::Bytes(Bytes::pixels(SIDE * SIDE, values));
        let dataset = Dataset::new(features, Targets::Classes { labels, classes }).from_clients(keys).named(names);
        Ok(Material::Examples { dataset, inputs: Vec::new() })
    }
}

/// The points of a form in use.
fn form(written: &str) -> Form {
    let digit = |b: u8| f64::from(b.saturating_sub(b'0'));
    let stroke = |word: &str| word.as_bytes().as_chunks::<2>().0.iter().map(|[x, y]| [digit(*x), digit(*y)]).collect();
    written.split(' ').map(stroke).collect()
}

impl Hand {
    fn new(h: f64, classes: usize, rng: &mut Rng) -> Self {
        let (slant, aspect, size, pen) = (0.25 * rng.normal(), 0.15 * rng.normal(), 0.08 * rng.normal(), rng.normal());
        let letter = |forms: &&[&str]| {
            let pick = rng.below(forms.len());
            // Without differences everyone writes the first form.
            let mut points = form(forms[if h > 0.0 { pick } else { 0 }]);
            displace(&mut points, 0.35 * h, rng);
            points
        };
        let letters = GLYPHS[..classes].iter().map(letter).collect();
        Self {
            slant: h * slant,
            aspect: (h * aspect).exp(),
            size: (h * size).exp().min(1.15),
            pen: (1.1 + 0.25 * h * pen).clamp(0.6, 1.8),
            letters,
        }
    }

    /// One example, ink bright on black.
    fn draw(&self, class: usize, jitter: f64, rng: &mut Rng) -> Vec<u8> {
        let mut form = self.letters[class].clone();
        displace(&mut form, 0.13 * jitter, rng);
        let (turn, shift) = (0.06 * jitter * rng.normal(), [0.5 * jitter * rng.normal(), 0.5 * jitter * rng.normal()]);
        let (sin, cos) = (turn.sin(), turn.cos());
        let middle = SIDE as f64 / 2.0;
        for point in form.iter_mut().flatten() {
            // Lines 0 to 7 take twenty pixels, columns 0 to 4 twelve.
            let (y, x) = ((point[1] - 3.2) * 2.9 * self.size, (point[0] - 2.0) * 3.1 * self.size * self.aspect);
            let x = x - self.slant * y;
            *point = [middle + cos * x - sin * y + shift[0], middle + sin * x + cos * y + shift[1]];
        }
        let mut image = vec![0u8; SIDE * SIDE];
        for stroke in &form {
            for pair in stroke.windows(2) {
                self.line(pair[0], pair[1], &mut image);
            }
        }
        image
    }

    /// A line with round ends, grey where it covers a part of a pixel.
    fn line(&self, from: Point, to: Point, image: &mut [u8]) {
        let span = |k: usize| {
            let (low, high) = (from[k].min(to[k]) - self.pen - 1.0, from[k].max(to[k]) + self.pen + 1.0);
            low.clamp(0.0, SIDE as f64) as usize..high.ceil().clamp(0.0, SIDE as f64) as usize
        };
        let along = [to[0] - from[0], to[1] - from[1]];
        let length2 = (along[0] * along[0] + along[1] * along[1]).max(1e-12);
        for y in span(1) {
            for x in span(0) {
                let at = [x as f64 + 0.5 - from[0], y as f64 + 0.5 - from[1]];
                let t = ((at[0] * along[0] + at[1] * along[1]) / length2).clamp(0.0, 1.0);
                let (dx, dy) = (at[0] - t * along[0], at[1] - t * along[1]);
                let ink = (self.pen - (dx * dx + dy * dy).sqrt() + 0.5).clamp(0.0, 1.0);
                let pixel = &mut image[y * SIDE + x];
                *pixel = (*pixel).max((255.0 * ink).round() as u8);
            }
        }
    }
}

/// Every point somewhere near.
fn displace(form: &mut Form, by: f64, rng: &mut Rng) {
    if by > 0.0 {
        form.iter_mut().flatten().flatten().for_each(|number| *number += by * rng.normal());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_made_of_strokes_with_two_points_or_more() {
        for (class, forms) in GLYPHS.iter().enumerate() {
            for written in *forms {
                assert!(written.split(' ').all(|stroke| stroke.len() >= 4 && stroke.len() % 2 == 0), "{class}: {written}");
                assert!(form(written).iter().flatten().all(|p| p[0] <= 4.0 && p[1] <= 7.0), "{class}: {written}");
            }
        }
    }
}
