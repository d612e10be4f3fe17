//! A few images of a few clients, as people look at them.

use crate::dataset::{Dataset, Targets};
use crate::holdout::Parts;
use crate::matrix::Matrix;

/// Some of a client's images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Album {
    /// The client's number.
    pub client: usize,
    /// The first of those it trains on.
    pub pictures: Vec<Snapshot>,
}

/// An image as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The file's bytes, in PNG.
    pub png: Vec<u8>,
    /// Pixels from top to bottom, and from left to right.
    pub size: [usize; 2],
    /// Its class, where it has one.
    pub label: Option<u32>,
}

/// How many clients, and how many images of each.
pub const SHOWN: [usize; 2] = [12, 12];

/// Images of the first clients, if rows of features are images with these axes, or why they cannot be shown. None without the feature
/// `images`.
pub(crate) fn albums(clients: &[Parts], data: &Dataset, axes: [usize; 3]) -> Result<Vec<Album>, String> {
    let album = |(client, parts): (usize, &Parts)| {
        let pictures = parts.train.iter().take(SHOWN[1]).map(|&row| snapshot(data, row as usize, axes));
        Ok(Album { client, pictures: pictures.collect::<Result<_, String>>()? })
    };
    let shown = if cfg!(feature = "images") { SHOWN[0] } else { 0 };
    clients.iter().enumerate().take(shown).map(album).collect()
}

fn snapshot(data: &Dataset, row: usize, size: [usize; 3]) -> Result<Snapshot, String> {
    let shades = shades(&data.features, row).ok_or("sparse rows are not images")?;
    let png = png_file(&shades, size)?;
    let label = match &data.targets {
        Targets::Classes { labels, .. } => Some(labels[row]),
        _ => None,
    };
    Ok(Snapshot { png, size: [size[0], size[1]], label })
}

/// Pixels as a file, which must have one channel or three.
#[cfg(feature = "images")]
fn png_file(pixels: &[u8], [height, width, channels]: [usize; 3]) -> Result<Vec<u8>, String> {
    let color = match channels {
        1 => png::ColorType::Grayscale,
        3 => png::ColorType::Rgb,
        _ => return Err(format!("they have {channels} channels, and pictures have one or three")),
    };
    let side = |pixels: usize| u32::try_from(pixels).map_err(|_| format!("a side of {pixels} pixels is too long for a picture"));
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side(width)?, side(height)?);
    encoder.set_color(color);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels)).map_err(|error| error.to_string())?;
    Ok(file)
}

/// Nothing writes files of pictures in a program that was built without them.
#[cfg(not(feature = "images"))]
fn png_file(_: &[u8], _: [usize; 3]) -> Result<Vec<u8>, String> {
    Err("this program was built without the feature `images`".into())
}

/// The numbers of a row as bytes: from 0 to 1 where all lie there, else from the least to the largest. Sparse rows are no images.
fn shades(features: &Matrix, row: usize) -> Option<Vec<u8>> {
    let numbers: Vec<f32> = match features {
        Matrix::Bytes(bytes) => bytes.row(row).iter().map(|&byte| bytes.worth(byte)).collect(),
        Matrix::Single(single) => single.values[row * single.cols..][..single.cols].to_vec(),
        Matrix::Dense(dense) => dense.values[row * dense.cols..][..dense.cols].iter().map(|&v| v as f32).collect(),
        Matrix::Sparse(_) => return None,
    };
    let least = numbers.iter().copied().fold(0.0f32, f32::min);
    let most = numbers.iter().copied().fold(1.0f32, f32::max);
    Some(numbers.iter().map(|v| (255.0 * (v - least) / (most - least)).round() as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Single;

    #[cfg(feature = "images")]
    #[test]
    fn the_first_images_a_client_trains_on_are_files_with_their_pixels() {
        let features = Matrix::Bytes(crate::matrix::Bytes::pixels(6, (0..18).map(|k| 10 * k).collect()));
        let data = Dataset::new(features, Targets::Classes { labels: vec![0, 1, 2], classes: 3 });
        let parts = [Parts { train: vec![2, 0], test: vec![1], ..Parts::default() }];
        let two_channels = albums(&parts, &data, [1, 3, 2]).unwrap_err();
        assert_eq!(two_channels, "they have 2 channels, and pictures have one or three");
        let albums = albums(&parts, &data, [2, 3, 1]).unwrap();
        let [first, second] = &albums[0].pictures[..] else { panic!("two to train on") };
        assert_eq!((first.label, second.label, first.size), (Some(2), Some(0), [2, 3]));
        let mut reader = png::Decoder::new(std::io::Cursor::new(&first.png)).read_info().unwrap();
        let mut pixels = vec![0; 6];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels, [120, 130, 140, 150, 160, 170]);
    }

    #[test]
    fn numbers_beyond_one_are_spread_over_the_shades() {
        let features = Matrix::Single(Single { cols: 3, values: vec![-1.0, 0.0, 3.0].into() });
        assert_eq!(shades(&features, 0), Some(vec![0, 64, 255]));
    }
}
