//! Decoders of the pictures that people have: JPEG and PNG.

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::picture::Picture;
use crate::guard::Budget;

/// The largest side: beyond any data set of small images, and far below what memory holds.
const LARGEST_SIDE: usize = 8192;

/// Reads a picture; what it is packed with is told by its first bytes. The error says what is wrong.
pub(super) fn decode(bytes: &[u8], budget: &Budget) -> Result<Picture, String> {
    if bytes.starts_with(&[0xff, 0xd8]) {
        jpeg(bytes, budget)
    } else if bytes.starts_with(&[0x89, b'P', b'N', b'G']) {
        png(bytes, budget)
    } else {
        Err("neither a JPEG nor a PNG picture".into())
    }
}

fn jpeg(bytes: &[u8], budget: &Budget) -> Result<Picture, String> {
    let options = DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_max_width(LARGEST_SIDE)
        .set_max_height(LARGEST_SIDE)
        .set_strict_mode(true);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| format!("not a whole JPEG picture: {error}"))?;
    let (width, height) = decoder.dimensions().ok_or("a JPEG picture without size")?;
    budget.spend(width * height * 3)?;
    let pixels = decoder.decode().map_err(|error| format!("not a whole JPEG picture: {error}"))?;
    if pixels.len() != width * height * 3 {
        return Err(format!("{} numbers for {width} x {height} pixels", pixels.len()));
    }
    Ok(Picture { height, width, channels: 3, pixels })
}

fn png(bytes: &[u8], budget: &Budget) -> Result<Picture, String> {
    let wrong = |error: png::DecodingError| format!("not a whole PNG picture: {error}");
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
