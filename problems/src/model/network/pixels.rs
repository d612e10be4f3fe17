//! What happens to an image on its way into a network: cut, mirrored, normalised.

use motet_core::Rng;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize as Derive, Serialize, Serializer};

use super::ModelError;

/// How pixels are scaled.
#[derive(Clone, Debug, PartialEq)]
pub enum Normalise {
    /// `"image"`: each image to mean 0 and deviation 1 over all its numbers; the deviation is at least 1/√numbers.
    Image,
    /// `"imagenet"`: by the channels of ImageNet, for three channels from 0 to 1.
    ImageNet,
    /// `{ mean = [..], std = [..] }`: by channel.
    Channels(Channels),
}

/// Mean and deviation of each channel.
#[derive(Clone, Debug, PartialEq, Serialize, Derive)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Subtracted.
    #[serde(serialize_with = "shortest")]
    pub mean: Vec<f32>,
    /// Divided by.
    #[serde(serialize_with = "shortest")]
    pub std: Vec<f32>,
}

/// As people write them: 0.4914 and not the double nearest to a single 0.4914, whatever the numbers are written to.
fn shortest<S: Serializer>(numbers: &[f32], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(numbers.iter().map(|number| number.to_string().parse::<f64>().unwrap_or(f64::from(*number))))
}

impl Serialize for Normalise {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Normalise::Image => to.serialize_str("image"),
            Normalise::ImageNet => to.serialize_str("imagenet"),
            Normalise::Channels(channels) => channels.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Normalise {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Normalise;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"image\", \"imagenet\" or { mean = [..], std = [..] }")
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Normalise, E> {
                match word {
                    "image" => Ok(Normalise::Image),
                    "imagenet" => Ok(Normalise::ImageNet),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(word), &self)),
                }
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Normalise, M::Error> {
                Channels::deserialize(MapAccessDeserializer::new(map)).map(Normalise::Channels)
            }
        }
        from.deserialize_any(Either)
    }
}

/// What training makes of an image by chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Derive)]
#[serde(deny_unknown_fields, default)]
pub struct Augment {
    /// Height and width of a part cut at a place of the dice; of the centre when judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crop: Option<usize>,
    /// Mirrored left to right, by a fair coin.
    pub flip: bool,
}

/// All of it, checked against the image.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct Pixels {
    height: usize,
    width: usize,
    channels: usize,
    cut: [usize; 2],
    flip: bool,
    scale: Scale,
}

#[derive(Clone, Debug, PartialEq)]
enum Scale {
    None,
    Image,
    Channels(Channels),
}

impl Pixels {
    /// For images of height × width × channels.
    pub(super) fn new(
        model: &'static str,
        image: &[usize],
        normalise: Option<&Normalise>,
        augment: Option<&Augment>,
    ) -> Result<Self, ModelError> {
        let &[height, width, channels] = image else {
            return Err(ModelError::Pixels { model, wrong: "images have height, width and channels".into() });
        };
        let wrong = |wrong: String| Err(ModelError::Pixels { model, wrong });
        let Augment { crop, flip } = augment.copied().unwrap_or_default();
        if let Some(side) = crop.filter(|&side| side == 0 || side > height || side > width) {
            return wrong(format!("augment.crop = {side}: images are {height} x {width}"));
        }
        let scale = match normalise {
            None => Scale::None,
            Some(Normalise::Image) => Scale::Image,
            Some(Normalise::ImageNet) => Scale::Channels(Channels { mean: vec![0.485, 0.456, 0.406], std: vec![0.229, 0.224, 0.225] }),
            Some(Normalise::Channels(by)) => Scale::Channels(by.clone()),
        };
        if let Scale::Channels(by) = &scale {
            if by.mean.len() != channels || by.std.len() != channels {
                return wrong(format!("normalise: {} means and {} deviations for {channels} channel(s)", by.mean.len(), by.std.len()));
            }
            if !by.mean.iter().chain(&by.std).all(|v| v.is_finite()) || !by.std.iter().all(|&v| v > 0.0) {
                return wrong("normalise: means must be numbers and deviations positive".into());
            }
        }
        let cut = crop.map_or([height, width], |side| [side, side]);
        Ok(Self { height, width, channels, cut, flip, scale })
    }

    /// Height, width, channels as the network sees them.
    pub(super) fn shape(&self) -> [usize; 3] {
        [self.cut[0], self.cut[1], self.channels]
    }

    /// Does it change anything?
    pub(super) fn acts(&self) -> bool {
        self.flip || self.scale != Scale::None || self.cut != [self.height, self.width]
    }

    /// Changes the image at the end of the list, which begins at `at`. No dice: as when judged.
    pub(super) fn apply(&self, at: usize, numbers: &mut Vec<f32>, dice: Option<&mut Rng>) {
        let [tall, wide] = self.cut;
        let (down, across, mirrored) = match dice {
            Some(dice) => {
                let (spare_down, spare_across) = (self.height - tall + 1, self.width - wide + 1);
                let place = if spare_down * spare_across > 1 { dice.below(spare_down * spare_across) } else { 0 };
                (place / spare_across, place % spare_across, self.flip && dice.below(2) == 1)
            }
            None => ((self.height - tall) / 2, (self.width - wide) / 2, false),
        };
        let line = wide * self.channels;
        for y in 0..tall {
            // A line never moves to where a later one still lies.
            let from = at + ((y + down) * self.width + across) * self.channels;
            numbers.copy_within(from..from + line, at + y * line);
        }
        numbers.truncate(at + tall * line);
        let image = &mut numbers[at..];
        if mirrored {
            for line in image.chunks_exact_mut(line) {
                for left in 0..wide / 2 {
                    for c in 0..self.channels {
                        line.swap(left * self.channels + c, (wide - 1 - left) * self.channels + c);
                    }
                }
            }
        }
        match &self.scale {
            Scale::None => {}
            Scale::Image => standardise(image),
            Scale::Channels(by) => {
                for pixel in image.chunks_exact_mut(self.channels) {
                    pixel.iter_mut().zip(by.mean.iter().zip(&by.std)).for_each(|(v, (mean, std))| *v = (*v - mean) / std);
                }
            }
        }
    }
}

/// To mean 0 and deviation 1. An image of one colour has none: it becomes 0.
fn standardise(image: &mut [f32]) {
    let count = image.len() as f64;
    let mean = image.iter().map(|&v| f64::from(v)).sum::<f64>() / count;
    let variance = image.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / count;
    let scale = 1.0 / variance.sqrt().max(1.0 / count.sqrt());
    image.iter_mut().for_each(|v| *v = ((f64::from(*v) - mean) * scale) as f32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_core::Seed;

    fn pixels(json: &str, crop: Option<usize>, flip: bool) -> Pixels {
        let normalise: Option<Normalise> = serde_json::from_str(json).unwrap();
        Pixels::new("cnn", &[4, 6, 2], normalise.as_ref(), Some(&Augment { crop, flip })).unwrap()
    }

    /// Channel 0 is 10 · line + column, channel 1 its negative.
    fn image() -> Vec<f32> {
        (0..24).flat_map(|k| [(10 * (k / 6) + k % 6) as f32, -((10 * (k / 6) + k % 6) as f32)]).collect()
    }

    #[test]
    fn judged_images_are_cut_at_the_centre_and_never_mirrored() {
        let mut list = vec![7.0];
        list.extend(image());
        pixels("null", Some(2), true).apply(1, &mut list, None);
        assert_eq!(list, [7.0, 12.0, -12.0, 13.0, -13.0, 22.0, -22.0, 23.0, -23.0]);
    }

    #[test]
    fn training_cuts_every_place_and_mirrors_half_of_the_time() {
        let (mut dice, mut seen, of) = (Seed(3).problem(0), std::collections::BTreeSet::new(), pixels("null", Some(3), true));
        for _ in 0..400 {
            let mut list = image();
            of.apply(0, &mut list, Some(&mut dice));
            assert_eq!(list.len(), 18);
            let step = list[2] - list[0];
            assert!(step.abs() == 1.0 && list[6] - list[0] == 10.0 && list[1] == -list[0], "{list:?}");
            seen.insert((list[0].min(list[4]) as i32, step as i32));
        }
        // Two places down, four across, two sides; each is missed with probability (15/16)^400 = 6e-12.
        assert_eq!(seen.len(), 16);
    }

    #[test]
    fn channels_and_images_are_normalised() {
        let mut list = image();
        pixels(r#"{"mean": [1.0, 2.0], "std": [2.0, 4.0]}"#, None, false).apply(0, &mut list, None);
        assert_eq!((list[0], list[1], list[4], list[5]), (-0.5, -0.5, 0.5, -1.0));
        let mut list = image();
        pixels("\"image\"", None, false).apply(0, &mut list, None);
        let (sum, squares) = list.iter().fold((0.0, 0.0), |(s, q), &v| (s + v, q + v * v));
        assert!(sum.abs() < 1e-4 && (squares / 48.0 - 1.0).abs() < 1e-5);
        let mut flat = vec![5.0; 48];
        pixels("\"image\"", None, false).apply(0, &mut flat, None);
        assert_eq!(flat, [0.0; 48]);
    }

    #[test]
    fn what_does_not_fit_the_image_is_named() {
        let message = |json: &str, crop| {
            let normalise: Option<Normalise> = serde_json::from_str(json).unwrap();
            Pixels::new("cnn", &[4, 6, 2], normalise.as_ref(), Some(&Augment { crop, flip: false })).unwrap_err().to_string()
        };
        assert!(message("null", Some(5)).contains("augment.crop = 5: images are 4 x 6"));
        assert!(message("\"imagenet\"", None).contains("3 means and 3 deviations for 2 channel(s)"));
        assert!(message(r#"{"mean": [0, 0], "std": [1, 0]}"#, None).contains("deviations positive"));
        assert!(serde_json::from_str::<Normalise>("\"both\"").unwrap_err().to_string().contains("\"imagenet\""));
    }
}
