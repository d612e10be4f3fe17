//! Pictures: CIFAR's forms, and PNG as it is written here.

use std::io::Read;

use super::{Found, Opinion, Plainly, between, different, opinion, pixel, place, row, same, same_labels, same_numbers};
use crate::forms;

/// A label and three planes of 32 by 32, image after image.
pub(crate) fn cifar(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        if files[0].starts_with(&[0x1f, 0x8b]) {
            return Err(Opinion::None);
        }
        let (images, rest) = files[0].as_chunks::<3073>();
        if !rest.is_empty() {
            return different(format!("{} bytes too many", rest.len()));
        }
        same("examples", &images.len(), &found.dataset.len())?;
        for (at, image) in images.iter().enumerate() {
            // Ours have the colours of a pixel side by side.
            let colour = |k: usize| image[1 + 1024 * (k % 3) + k / 3];
            let plain: Vec<f64> = (0..3072).map(|k| pixel(colour(k))).collect();
            same_numbers(&format!("image {at}"), &plain, &row(&found.dataset.features, at))?;
        }
        same_labels(&images.iter().map(|image| u32::from(image[0])).collect::<Vec<_>>(), found)
    })())
}

/// What Python wrote of two images: the sound pickle with other labels and pixels.
pub(crate) fn pickle(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let data: Vec<u8> = (0..6144u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let sound = forms::pickled("labels", &[211, 212], &data);
        let labels = place(&[b'K', 211, b'K', 212], &sound);
        let holes = [place(&data, &sound), labels.start + 1..labels.start + 2, labels.start + 3..labels.start + 4];
        let [data, first, second] = between(&files[0], &sound, &holes)?[..] else { return Err(Opinion::None) };
        let binary = [first, &data[..3072], second, &data[3072..]].concat();
        match cifar(&[binary], found) {
            Opinion::Same => Ok(()),
            other => Err(other),
        }
    })())
}

/// The file of records that a tar begins with.
pub(crate) fn cifar_tar(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    let tar = files[0].as_slice();
    // An ordinary file is of the kind 0, the letter or, in older archives, the number.
    let named = tar.starts_with(b"cifar/data_batch_1.bin\0") && matches!(tar.get(156), Some(0 | b'0'));
    let size = tar.get(124..135).and_then(|octal| usize::from_str_radix(std::str::from_utf8(octal).ok()?.trim_matches('\0'), 8).ok());
    match size.filter(|_| named).and_then(|size| tar.get(512..512 + size)) {
        // Behind it, nothing but what fills the archive up.
        Some(file) if tar[512 + file.len()..].iter().all(|&byte| byte == 0) => cifar(&[file.to_vec()], found),
        _ => Opinion::None,
    }
}

/// Width and pixels of a PNG of eight bits and three colours, row by row and not interlaced.
fn drawn(png: &[u8]) -> Plainly<(usize, Vec<u8>)> {
    let mut rest = png.strip_prefix(b"\x89PNG\r\n\x1a\n").ok_or(Opinion::None)?;
    let (mut packed, mut header) = (vec![], None);
    while let Some((start, after)) = rest.split_at_checked(8) {
        let length = u32::from_be_bytes([start[0], start[1], start[2], start[3]]) as usize;
        let Some((body, after)) = after.split_at_checked(length) else { return Err(Opinion::None) };
        match &start[4..] {
            b"IHDR" if header.is_none() && length == 13 => header = Some(body),
            b"IDAT" => packed.extend(body),
            b"IEND" => break,
            _ => return Err(Opinion::None),
        }
        rest = after.get(4..).ok_or(Opinion::None)?;
    }
    let Some([0, 0, 0, width, 0, 0, 0, height, 8, 2, 0, 0, 0]) = header else { return Err(Opinion::None) };
    let (width, height) = (usize::from(*width), usize::from(*height));
    let mut lines = vec![];
    if flate2::read::ZlibDecoder::new(&packed[..]).read_to_end(&mut lines).is_err() || lines.len() != height * (1 + 3 * width) {
        return Err(Opinion::None);
    }
    let mut pixels: Vec<u8> = vec![];
    for line in lines.chunks(1 + 3 * width) {
        let above = pixels.len().checked_sub(3 * width);
        for (k, &byte) in line[1..].iter().enumerate() {
            let left = if k < 3 { 0 } else { pixels[pixels.len() - 3] };
            let up = above.map_or(0, |above| pixels[above + k]);
            let corner = above.filter(|_| k >= 3).map_or(0, |above| pixels[above + k - 3]);
            let guess = match line[0] {
                0 => 0,
                1 => left,
                2 => up,
                3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
                4 => {
                    let sum = i16::from(left) + i16::from(up) - i16::from(corner);
                    // Of equally near ones the left one, and then the one above.
                    [left, up, corner].into_iter().min_by_key(|&c| (sum - i16::from(c)).abs()).unwrap_or(left)
                }
                _ => return Err(Opinion::None),
            };
            pixels.push(byte.wrapping_add(guess));
        }
    }
    Ok((width, pixels))
}

/// A folder with one PNG.
pub(crate) fn png(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let plain: Vec<f64> = drawn(&files[0])?.1.into_iter().map(pixel).collect();
        same_numbers("the picture", &plain, &row(&found.dataset.features, 0))
    })())
}

/// A PNG of one class and a JPEG of another, of which nothing is said: reading one takes a cosine transform.
pub(crate) fn pictures(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    match png(files, found) {
        Opinion::Same => opinion(same_labels(&[0, 1], found)),
        other => other,
    }
}

/// Letters of eight by eight pixels, shrunk to four by four, ink bright.
pub(crate) fn omniglot(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let (width, pixels) = drawn(&files[0])?;
        if width != 8 || pixels.len() != 192 {
            return Err(Opinion::None);
        }
        let grey: Vec<u64> =
            pixels.chunks(3).map(|c| (299 * u64::from(c[0]) + 587 * u64::from(c[1]) + 114 * u64::from(c[2]) + 500) / 1000).collect();
        let mean = |k: usize| {
            let corner = 16 * (k / 4) + 2 * (k % 4);
            (grey[corner] + grey[corner + 1] + grey[corner + 8] + grey[corner + 9] + 2) / 4
        };
        let plain: Vec<f64> = (0..16).map(|k| pixel(255 - mean(k) as u8)).collect();
        (0..2).try_for_each(|at| same_numbers(&format!("letter {at}"), &plain, &row(&found.dataset.features, at)))
    })())
}
