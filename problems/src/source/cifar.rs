//! CIFAR-10 and CIFAR-100 in every form people have them, and any folder of pictures by class.
//!
//! A tar archive (packed or not) or a folder of one of these forms:
//!
//! ```text
//! pictures   [train/ | test/] <class>/<name>.jpg|jpeg|png                  classes by name
//! binary     data_batch_*.bin, test_batch.bin                             label, 3072 bytes
//!            train.bin, test.bin (CIFAR-100)                              coarse label, fine label, 3072 bytes
//! Python     data_batch_*, test_batch; train, test (CIFAR-100)            pickles
//! ```
//!
//! Binary and Python forms keep an image's three colours apart; here they lie together, pixel by pixel.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::entries::{Entry, entries};
use super::idx::Part;
use super::picture::Picture;
use super::{Load, Material, Place, pickle};
use crate::dataset::{Dataset, Targets, Usage};
use crate::error::ProblemError;
use crate::matrix::{Bytes, Matrix};
use motet_core::{Documented, Kind};

/// CIFAR-10 or CIFAR-100 (binary, Python, pictures), or any pictures in a folder for each class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Cifar {
    /// A tar archive, packed or not, or a folder.
    pub path: PathBuf,
    /// "train" (default), "test" (as rows to train on), or "both": then test images are rows to be judged on.
    #[serde(default)]
    pub part: Part,
    /// Which labels of CIFAR-100: "fine" (default) or "coarse".
    #[serde(default)]
    pub labels: LabelLevel,
    /// Numbers per pixel: 3 (default) or 1.
    #[serde(default = "three")]
    pub channels: u32,
}

impl Kind for Cifar {
    const NAME: &'static str = "cifar";
}

fn three() -> u32 {
    3
}

/// Which of the labels that CIFAR-100 has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelLevel {
    /// A hundred.
    #[default]
    Fine,
    /// Twenty.
    Coarse,
}

/// What kind of file an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Picture,
    Ten,
    Hundred,
    Pickle,
}

/// Numbers of a CIFAR image.
const IMAGE: usize = 3072;

impl Load for Cifar {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        if self.channels != 1 && self.channels != 3 {
            return Err(ProblemError::Value {
                key: "source.channels",
                value: self.channels.to_string(),
                wanted: "pictures have 1 or 3".into(),
            });
        }
        let ([train, test], usages) = (self.part.wants(), self.part.usages());
        let of = |path: &str| sort(path).filter(|(_, for_test)| if *for_test { test } else { train });
        let mut all = Gathered { channels: self.channels as usize, level: self.labels, ..Gathered::default() };
        let inputs = entries(
            place.folders,
            &self.path,
            |path| of(path).is_some(),
            |entry| match of(entry.path) {
                Some((form, for_test)) => all.add(form, &entry, usages[usize::from(for_test)]),
                None => Ok(()),
            },
        )?;
        if all.labels.is_empty() {
            return Err(ProblemError::NoExamples { file: self.path.display().to_string() });
        }
        let usages = std::mem::take(&mut all.usages);
        let dataset = all.finish();
        let dataset = if self.part == Part::Both { dataset.with_usages(usages) } else { dataset };
        Ok(Material::Examples { dataset, inputs })
    }
}

/// What an entry is by its name, and whether it is for test; `None` if it is none of ours.
fn sort(path: &str) -> Option<(Form, bool)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let (name, folders) = parts.split_last()?;
    let batch = |name: &str| match name {
        "test_batch" => Some(true),
        _ => name.strip_prefix("data_batch_").map(|_| false),
    };
    if name.starts_with('.') {
        return None;
    }
    if let Some(stem) = name.strip_suffix(".bin") {
        return match stem {
            "train" => Some((Form::Hundred, false)),
            "test" => Some((Form::Hundred, true)),
            _ => batch(stem).map(|test| (Form::Ten, test)),
        };
    }
    match name.rsplit_once('.') {
        Some((_, end)) if ["jpg", "jpeg", "png"].contains(&end.to_ascii_lowercase().as_str()) => {
            (!folders.is_empty()).then(|| (Form::Picture, folders.contains(&"test")))
        }
        Some(_) => None,
        None => match *name {
            "train" => Some((Form::Pickle, false)),
            "test" => Some((Form::Pickle, true)),
            _ => batch(name).map(|test| (Form::Pickle, test)),
        },
    }
}

/// What was read so far.
#[derive(Default)]
struct Gathered {
    channels: usize,
    level: LabelLevel,
    /// Numbers of an image, once there is one.
    size: Option<[usize; 2]>,
    pixels: Vec<u8>,
    labels: Vec<u32>,
    usages: Vec<Usage>,
    /// Classes of pictures, by name, numbered as they came.
    names: BTreeMap<String, u32>,
}

impl Gathered {
    fn add(&mut self, form: Form, entry: &Entry<'_>, lot: Usage) -> Result<(), String> {
        match form {
            Form::Picture => self.picture(entry)?,
            Form::Ten => self.records(entry.bytes, 1)?,
            Form::Hundred => self.records(entry.bytes, 2)?,
            Form::Pickle => self.pickle(entry.bytes)?,
        }
        self.usages.resize(self.labels.len(), lot);
        Ok(())
    }

    fn picture(&mut self, entry: &Entry<'_>) -> Result<(), String> {
        let picture = Picture::read(entry.bytes, self.channels, entry.budget)?;
        self.sized(picture.height, picture.width)?;
        self.pixels.extend_from_slice(&picture.pixels);
        let class = entry.path.rsplit('/').nth(1).unwrap_or_default();
        let next = self.names.len() as u32;
        let number = match self.names.get(class) {
            Some(&number) => number,
            None => *self.names.entry(class.to_owned()).or_insert(next),
        };
        self.labels.push(number);
        Ok(())
    }

    fn sized(&mut self, height: usize, width: usize) -> Result<(), String> {
        match self.size {
            Some(size) if size != [height, width] => {
                Err(format!("{height} x {width} pixels, but the images before have {} x {}", size[0], size[1]))
            }
            _ => {
                self.size = Some([height, width]);
                Ok(())
            }
        }
    }

    /// Records of `labels` bytes and an image.
    fn records(&mut self, bytes: &[u8], labels: usize) -> Result<(), String> {
        let record = labels + IMAGE;
        if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
            return Err(format!(
                "{} bytes are not whole images of {record}: byte {} begins one that does not end",
                bytes.len(),
                bytes.len() / record * record
            ));
        }
        for (row, record) in bytes.chunks_exact(record).enumerate() {
            let label = record[if labels == 2 && self.level == LabelLevel::Fine { 1 } else { 0 }];
            let classes = self.classes(labels == 2);
            if u32::from(label) >= classes {
                return Err(format!("image {row} has label {label}, but there are {classes} classes"));
            }
            self.image(&record[labels..], u32::from(label))?;
        }
        Ok(())
    }

    fn classes(&self, hundred: bool) -> u32 {
        match (hundred, self.level) {
            (false, _) => 10,
            (true, LabelLevel::Fine) => 100,
            (true, LabelLevel::Coarse) => 20,
        }
    }

    fn pickle(&mut self, bytes: &[u8]) -> Result<(), String> {
        let batch = pickle::read(bytes)?;
        let named = |name| batch.get(name).and_then(pickle::Value::numbers);
        let (labels, classes) = match named("labels") {
            Some(labels) => (labels, 10),
            None => {
                let name = if self.level == LabelLevel::Fine { "fine_labels" } else { "coarse_labels" };
                (named(name).ok_or_else(|| format!("neither `labels` nor `{name}` in it"))?, self.classes(true))
            }
        };
        let data = batch.get("data").and_then(pickle::Value::longest_text).ok_or("no `data` in it")?;
        if data.len() != labels.len() * IMAGE {
            return Err(format!("{} bytes of images for {} labels: each has {IMAGE}", data.len(), labels.len()));
        }
        for (row, (image, label)) in data.chunks_exact(IMAGE).zip(labels).enumerate() {
            let label = u32::try_from(label).ok().filter(|&label| label < classes);
            self.image(image, label.ok_or_else(|| format!("image {row} has a label that is not below {classes}"))?)?;
        }
        Ok(())
    }

    /// One image with its colours apart.
    fn image(&mut self, planes: &[u8], label: u32) -> Result<(), String> {
        self.sized(32, 32)?;
        let (red, rest) = planes.split_at(IMAGE / 3);
        let (green, blue) = rest.split_at(IMAGE / 3);
        let colours = red.iter().zip(green.iter().zip(blue)).flat_map(|(&r, (&g, &b))| [r, g, b]);
        if self.channels == 3 {
            self.pixels.extend(colours);
        } else {
            let pixels: Vec<u8> = colours.collect();
            self.pixels.extend(Picture { height: 32, width: 32, channels: 3, pixels }.with_channels(1).pixels);
        }
        self.labels.push(label);
        Ok(())
    }

    fn finish(self) -> Dataset {
        let [height, width] = self.size.unwrap_or_default();
        let mut labels = self.labels;
        let classes = if self.names.is_empty() {
            // Of CIFAR's own forms; a part of them may lack a class.
            let largest = labels.iter().max().map_or(0, |&label| label + 1);
            if largest <= 10 { 10 } else { largest.max(if self.level == LabelLevel::Coarse { 20 } else { 100 }) }
        } else {
            let sorted: BTreeMap<u32, u32> = self.names.values().zip(0..).map(|(&came, place)| (came, place)).collect();
            labels.iter_mut().for_each(|label| *label = sorted[label]);
            self.names.len() as u32
        };
        Dataset::new(Matrix::Bytes(Bytes::pixels(height * width * self.channels, self.pixels)), Targets::Classes { labels, classes })
    }
}
