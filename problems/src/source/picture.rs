//! A picture as bytes: height × width × channels.

#[cfg(feature = "images")]
use super::decode::decode;

use crate::guard::Budget;

/// A picture with one grey channel or three colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    pub(super) pixels: Vec<u8>,
}

/// Stands in for the decoders, which are not part of this program.
#[cfg(not(feature = "images"))]
fn decode(_: &[u8], _: &Budget) -> Result<Picture, String> {
    Err("this motet was built without the feature `images`, which JPEG and PNG pictures need".into())
}

impl Picture {
    /// Reads a JPEG or PNG file, with this many channels. Its pixels are booked before they are made, for a few bytes may say
    /// "blank" of a wide field. The error says what is wrong.
    pub(super) fn read(bytes: &[u8], channels: usize, budget: &Budget) -> Result<Self, String> {
        Ok(decode(bytes, budget)?.with_channels(channels))
    }

    pub(super) fn with_channels(self, channels: usize) -> Self {
        let pixels = match (self.channels, channels) {
            (1, 3) => self.pixels.iter().flat_map(|&grey| [grey; 3]).collect(),
            // The weights of television: what people see as equally bright.
            (3, 1) => {
                let grey = |c: &[u8]| ((299 * u32::from(c[0]) + 587 * u32::from(c[1]) + 114 * u32::from(c[2]) + 500) / 1000) as u8;
                self.pixels.chunks_exact(3).map(grey).collect()
            }
            _ => return self,
        };
        Self { channels, pixels, ..self }
    }

    /// A smaller picture of side × side: each pixel is the mean of what lies under it.
    #[cfg(feature = "images")]
    pub(super) fn shrunk(&self, side: usize) -> Vec<u8> {
        let mut small = Vec::with_capacity(side * side * self.channels);
        // Pixel k of the small one covers k·long .. (k + 1)·long of units in which the large one's pixels are `side` wide.
        let span = |k: usize, long: usize| {
            let (from, to) = (k * long, (k + 1) * long);
            (from / side..to.div_ceil(side)).map(move |p| (p, (to.min((p + 1) * side) - from.max(p * side)) as u64))
        };
        for y in 0..side {
            for x in 0..side {
                for c in 0..self.channels {
                    let (mut sum, mut weight) = (0, 0);
                    for (py, wy) in span(y, self.height) {
                        for (px, wx) in span(x, self.width) {
                            sum += wy * wx * u64::from(self.pixels[(py * self.width + px) * self.channels + c]);
                            weight += wy * wx;
                        }
                    }
                    small.push(((sum + weight / 2) / weight) as u8);
                }
            }
        }
        small
    }
}

#[cfg(test)]
#[cfg(feature = "images")]
mod tests {
    use super::*;
    use crate::guard::FileLimit;

    fn read(bytes: &[u8], channels: usize) -> Result<Picture, String> {
        Picture::read(bytes, channels, &FileLimit::default().budget(bytes.len() as u64))
    }

    fn written(width: u32, height: u32, color: png::ColorType, pixels: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(color);
        encoder.write_header().unwrap().write_image_data(pixels).unwrap();
        bytes
    }

    #[test]
    fn pictures_are_read_and_shrunk() {
        let grey = written(3, 2, png::ColorType::Grayscale, &[0, 30, 60, 90, 120, 150]);
        let picture = read(&grey, 3).unwrap();
        assert_eq!((picture.height, picture.width, &picture.pixels[3..6]), (2, 3, &[30; 3][..]));
        // Every pixel under the one that is left: the mean.
        assert_eq!(read(&grey, 1).unwrap().shrunk(1), [75]);
        let colours = written(1, 1, png::ColorType::Rgba, &[200, 100, 50, 7]);
        assert_eq!(read(&colours, 3).unwrap().pixels, [200, 100, 50]);
        assert_eq!(read(&colours, 1).unwrap().pixels, [124]);
    }

    #[test]
    fn broken_pictures_are_errors() {
        let whole = written(9, 9, png::ColorType::Grayscale, &[7; 81]);
        for cut in [3, 20, whole.len() - 20] {
            assert!(read(&whole[..cut], 1).is_err(), "{cut}");
        }
        assert!(read(&[0xff, 0xd8, 0xff, 0xe0, 0, 16], 3).is_err());
        assert!(read(b"GIF89a", 3).unwrap_err().contains("neither"));
    }
}
