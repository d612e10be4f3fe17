//! A JPEG or PNG file as bytes: height × width × channels.

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::guard::Budget;

/// A picture with one grey channel or three colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    pub(super) pixels: Vec<u8>,
}

/// The largest side: beyond any data set of small images, and far below what memory holds.
const LARGEST_SIDE: usize = 8192;

impl Picture {
    /// Reads a picture; what it is packed with is told by its first bytes. Its pixels are booked before they are made, for a
    /// few bytes may say "blank" of a wide field. The error says what is wrong.
    pub(super) fn read(bytes: &[u8], channels: usize, budget: &Budget) -> Result<Self, String> {
        let picture = if bytes.starts_with(&[0xff, 0xd8]) {
            jpeg(bytes, budget)?
        } else if bytes.starts_with(&[0x89, b'P', b'N', b'G']) {
            png(bytes, budget)?
        } else {
            return Err("neither a JPEG nor a PNG picture".into());
        };
        Ok(picture.with_channels(channels))
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

fn jpeg(bytes: &[u8], budget: &Budget) -> Result<Picture, String> {
    let options = DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_max_width(LARGEST_SIDE)
        .set_max_height(LARGEST_SIDE)
        .set_strict_mode(true);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| format!("no whole JPEG picture: {error}"))?;
    let (width, height) = decoder.dimensions().ok_or("a JPEG picture without size")?;
    budget.spend(width * height * 3)?;
    let pixels = decoder.decode().map_err(|error| format!("no whole JPEG picture: {error}"))?;
    if pixels.len() != width * height * 3 {
        return Err(format!("{} numbers for {width} x {height} pixels", pixels.len()));
    }
    Ok(Picture { height, width, channels: 3, pixels })
}

fn png(bytes: &[u8], budget: &Budget) -> Result<Picture, String> {
    let wrong = |error: png::DecodingError| format!("no whole PNG picture: {error}");
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(wrong)?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let room = reader.output_buffer_size().filter(|_| width.max(height) <= LARGEST_SIDE);
    let room = room.ok_or_else(|| format!("{width} x {height} pixels are too many"))?;
    budget.spend(room)?;
    let mut pixels = vec![0; room];
    let frame = reader.next_frame(&mut pixels).map_err(wrong)?;
    pixels.truncate(frame.buffer_size());
    // Transparency tells nothing about what is drawn.
    let (channels, pixels) = match frame.color_type.samples() {
        1 => (1, pixels),
        2 => (1, pixels.chunks_exact(2).map(|p| p[0]).collect()),
        4 => (3, pixels.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect()),
        _ => (3, pixels),
    };
    Ok(Picture { height, width, channels, pixels })
}

#[cfg(test)]
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
