//! IDX files: MNIST, Fashion-MNIST, EMNIST, and the writers of QMNIST.
//!
//! ```text
//! images   00 00 08 03, count, height, width, then bytes        labels   00 00 08 01, count, then bytes
//! writers  00 00 0C 02, count, 8, then numbers of four bytes: digit, series, writer, index, …     (QMNIST)
//! ```
//!
//! Numbers of the headers and of QMNIST have four bytes, the largest first.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use motet_core::{Documented, Kind};
use motet_records::Input;
use serde::{Deserialize, Serialize};

use super::open::{name_of, stream};
use super::{Load, Material, Place};
use crate::data_folder::Folders;
use crate::dataset::{Dataset, Targets, Usage};
use crate::error::ProblemError;
use crate::guard::FileLimit;
use crate::matrix::{Bytes, Matrix};

/// Images in IDX files (MNIST, Fashion-MNIST, EMNIST), with the writers of QMNIST as clients where wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Idx {
    /// The folder with train-images-idx3-ubyte and so on, plain or packed.
    pub path: PathBuf,
    /// What the files' names begin with, as in "emnist-byclass-" (default nothing).
    #[serde(default)]
    pub prefix: String,
    /// "train" (default), "test" (as rows to train on), or "both": then test files are rows to be judged on.
    #[serde(default)]
    pub part: Part,
    /// Clients are the writers of qmnist-train-labels-idx2-int (and -test-). Default: false.
    #[serde(default)]
    pub writers: bool,
    /// Swap rows and columns of each image, as EMNIST wants it (default false).
    #[serde(default)]
    pub transpose: bool,
}

impl Kind for Idx {
    const NAME: &'static str = "idx";
}

/// Which files of a data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// To train on.
    #[default]
    Train,
    /// The test files, taken as rows to train on.
    Test,
    /// Both; the test files are for judging.
    Both,
}

impl Part {
    /// The training files, the test files?
    pub(super) fn wants(self) -> [bool; 2] {
        [self != Part::Test, self != Part::Train]
    }

    /// What rows of the training files and of the test files are for.
    pub(super) fn usages(self) -> [Usage; 2] {
        [Usage::Train, if self == Part::Both { Usage::Test } else { Usage::Train }]
    }
}

/// An IDX file of bytes, or of numbers with four bytes.
struct Array {
    file: String,
    axes: Vec<usize>,
    bytes: Vec<u8>,
}

const BYTES: u8 = 0x08;
const NUMBERS: u8 = 0x0c;

impl Load for Idx {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let mut all = Gathered { limit: place.folders.limit, ..Gathered::default() };
        let ([train, test], usages) = (self.part.wants(), self.part.usages());
        if train {
            self.part_of(&["train"], usages[0], place.folders, &mut all)?;
        }
        if test {
            self.part_of(&["t10k", "test"], usages[1], place.folders, &mut all)?;
        }
        let Gathered { image, pixels, labels, usages, people, inputs, .. } = all;
        let classes = labels.iter().max().map_or(0, |&label| u32::from(label) + 1);
        let features = Matrix::Bytes(Bytes::pixels(image[0] * image[1], pixels));
        let targets = Targets::Classes { labels: labels.into_iter().map(u32::from).collect(), classes };
        let mut dataset = Dataset::new(features, targets);
        if self.part == Part::Both {
            dataset = dataset.with_usages(usages);
        }
        if self.writers {
            let (keys, names) = numbered(&people);
            dataset = dataset.from_clients(keys).named(names);
        }
        Ok(Material::Examples { dataset, inputs })
    }
}

impl Idx {
    /// Images, labels and writers of one part, under the first of the names that there is.
    fn part_of(&self, names: &[&str], lot: Usage, folders: &Folders, all: &mut Gathered) -> Result<(), ProblemError> {
        let file = |middle: &str| self.path.join(format!("{}{middle}", self.prefix));
        let find = |what: &str| {
            let found = names.iter().find_map(|name| folders.find(&file(&format!("{name}-{what}"))).ok());
            found.map_or_else(|| folders.find(&file(&format!("{}-{what}", names[0]))), Ok)
        };
        let images = all.read(&find("images-idx3-ubyte")?, BYTES, 3, None)?;
        let count = images.axes[0];
        if count == 0 || images.axes[1] * images.axes[2] == 0 {
            return Err(ProblemError::NoExamples { file: images.file });
        }
        let size = [images.axes[1], images.axes[2]];
        if !all.pixels.is_empty() && size != all.image {
            let what = format!("images of {} x {}, but those before are {} x {}", size[0], size[1], all.image[0], all.image[1]);
            return Err(odd(&images.file, "byte 8", what));
        }
        all.image = size;
        let labels = all.read(&find("labels-idx1-ubyte")?, BYTES, 1, None)?;
        if labels.axes[0] != count {
            return Err(odd(&labels.file, "byte 4", format!("{} labels for {count} images", labels.axes[0])));
        }
        if self.writers {
            let name = if names[0] == "train" { "qmnist-train-labels-idx2-int" } else { "qmnist-test-labels-idx2-int" };
            let writers = all.read(&folders.find(&self.path.join(name))?, NUMBERS, 2, Some(8))?;
            if writers.axes[0] < count {
                return Err(odd(&writers.file, "byte 4", format!("{} writers for {count} images", writers.axes[0])));
            }
            for (row, (cells, &label)) in writers.bytes.chunks_exact(32).zip(&labels.bytes).enumerate() {
                let cell = |k: usize| u32::from_be_bytes([cells[4 * k], cells[4 * k + 1], cells[4 * k + 2], cells[4 * k + 3]]);
                if cell(0) != u32::from(label) {
                    return Err(odd(&writers.file, &format!("row {row}"), format!("digit {}, but its label is {label}", cell(0))));
                }
                all.people.push((cell(2), cell(1)));
            }
        }
        let pixels = if self.transpose { transposed(&images.bytes, size) } else { images.bytes };
        if all.pixels.is_empty() {
            all.pixels = pixels
        } else {
            all.pixels.extend_from_slice(&pixels)
        }
        all.labels.extend_from_slice(&labels.bytes);
        all.usages.resize(all.labels.len(), lot);
        Ok(())
    }
}

/// What was read so far.
#[derive(Default)]
struct Gathered {
    image: [usize; 2],
    pixels: Vec<u8>,
    labels: Vec<u8>,
    usages: Vec<Usage>,
    /// Writer and series of each image.
    people: Vec<(u32, u32)>,
    inputs: Vec<Input>,
    /// How large a file may be.
    limit: FileLimit,
}

impl Gathered {
    /// Reads one file; `width` is what its second axis must be.
    fn read(&mut self, path: &Path, kind: u8, rank: usize, width: Option<usize>) -> Result<Array, ProblemError> {
        let (mut text, input) = stream(path, self.limit)?;
        self.inputs.push(input);
        let file = name_of(path);
        let unreadable = |cause| ProblemError::Unreadable { file: path.to_path_buf(), cause };
        let mut header = Vec::new();
        text.by_ref().take(4 + 4 * rank as u64).read_to_end(&mut header).map_err(unreadable)?;
        if header.len() < 4 + 4 * rank || header[..4] != [0, 0, kind, rank as u8] {
            let begins: String = header.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            return Err(odd(&file, "byte 0", format!("begins with {begins:?}, but this IDX file must begin with 0000{kind:02x}0{rank}")));
        }
        let axes: Vec<usize> =
            header[4..].chunks_exact(4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]) as usize).collect();
        if width.is_some_and(|width| axes[1] != width) {
            return Err(odd(&file, "byte 8", format!("{} numbers a row instead of 8", axes[1])));
        }
        let size = if kind == NUMBERS { 4u64 } else { 1 };
        let promised = axes.iter().try_fold(size, |product, &axis| product.checked_mul(axis as u64)).filter(|&p| p <= super::LARGEST);
        let Some(promised) = promised else { return Err(odd(&file, "byte 4", format!("axes {axes:?} are more than memory holds"))) };
        // The header may lie: room is made as bytes come.
        let mut bytes = Vec::with_capacity((promised as usize).min(64 << 20));
        text.by_ref().take(promised).read_to_end(&mut bytes).map_err(unreadable)?;
        let mut rest = [0];
        if bytes.len() as u64 != promised || text.read(&mut rest).map_err(unreadable)? != 0 {
            let ends = if bytes.len() as u64 == promised { "goes on" } else { "ends" };
            return Err(odd(&file, &format!("byte {}", header.len() + bytes.len()), format!("{ends} here, but the header says {axes:?}")));
        }
        Ok(Array { file, axes, bytes })
    }
}

fn odd(file: &str, place: &str, what: String) -> ProblemError {
    ProblemError::Odd { file: file.to_owned(), place: place.to_owned(), what }
}

fn transposed(pixels: &[u8], [height, width]: [usize; 2]) -> Vec<u8> {
    let mut turned = vec![0; pixels.len()];
    for (from, to) in pixels.chunks_exact(height * width).zip(turned.chunks_exact_mut(height * width)) {
        for y in 0..height {
            for x in 0..width {
                to[x * height + y] = from[y * width + x];
            }
        }
    }
    turned
}

/// Writers numbered in ascending order, and their names.
fn numbered(people: &[(u32, u32)]) -> (Vec<u32>, Vec<String>) {
    let by_writer: BTreeMap<u32, u32> = people.iter().copied().collect();
    let order: BTreeMap<u32, u32> = by_writer.keys().enumerate().map(|(k, &writer)| (writer, k as u32)).collect();
    // NIST had the first series from its census staff, the fourth from pupils.
    let name = |(writer, series): (&u32, &u32)| match series {
        0 => format!("writer {writer} (staff)"),
        4 => format!("writer {writer} (pupil)"),
        _ => format!("writer {writer} (series {series})"),
    };
    (people.iter().map(|(writer, _)| order[writer]).collect(), by_writer.iter().map(name).collect())
}
