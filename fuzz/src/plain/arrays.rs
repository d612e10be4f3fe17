//! Arrays of numbers: IDX, and those of numpy.

use super::{
    Found, Opinion, Plainly, different, opinion, pixel, row, same, same_classes, same_clients, same_labels, same_numbers, same_rows,
};

/// Images and labels of IDX, unpacked.
pub(crate) fn idx(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let (axes, pixels) = array_of_idx(&files[0], 3)?;
        let (counts, labels) = array_of_idx(&files[1], 1)?;
        same("images and labels", &axes[0], &counts[0])?;
        same("examples", &axes[0], &found.dataset.len())?;
        let each = axes[1] * axes[2];
        for at in 0..axes[0] {
            let plain: Vec<f64> = pixels[at * each..][..each].iter().map(|&byte| pixel(byte)).collect();
            same_numbers(&format!("image {at}"), &plain, &row(&found.dataset.features, at))?;
        }
        same_labels(&labels.iter().map(|&label| u32::from(label)).collect::<Vec<_>>(), found)
    })())
}

fn array_of_idx(file: &[u8], axes: usize) -> Plainly<(Vec<usize>, &[u8])> {
    if file.starts_with(&[0x1f, 0x8b]) {
        return Err(Opinion::None);
    }
    let [0, 0, 8, count, rest @ ..] = file else { return different("other first bytes") };
    same("axes", &axes, &usize::from(*count))?;
    let Some((sizes, bytes)) = rest.split_at_checked(4 * axes) else { return different("an end before its sizes") };
    let sizes: Vec<usize> = sizes.chunks(4).map(|s| u32::from_be_bytes([s[0], s[1], s[2], s[3]]) as usize).collect();
    let wanted = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
    if wanted == Some(bytes.len()) { Ok((sizes, bytes)) } else { different(format!("{} bytes for {sizes:?}", bytes.len())) }
}

/// The same with the file of writers: eight whole numbers for each image, the third of which is its writer.
pub(crate) fn idx_writers(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let Some([0, 0, 12, 2, sizes @ ..]) = files[2].get(..12) else { return Err(Opinion::None) };
        let (numbers, rest) = files[2][12..].as_chunks::<4>();
        same("bytes that are left", &0, &rest.len())?;
        let numbers: Vec<u32> = numbers.iter().map(|&four| u32::from_be_bytes(four)).collect();
        same("the axis of eight", &[0, 0, 0, 8], &[sizes[4], sizes[5], sizes[6], sizes[7]])?;
        let writers: Vec<String> = numbers.chunks(8).map(|row| row.get(2).map_or_else(String::new, u32::to_string)).collect();
        same_classes(&writers, found.dataset.keys.as_deref().unwrap_or_default())?;
        match idx(&files[..2], found) {
            Opinion::Same => Ok(()),
            other => Err(other),
        }
    })())
}

/// The numbers of an array of numpy whose header is this, least byte first.
fn numbers<'a, const WIDTH: usize>(file: &'a [u8], header: &str) -> Plainly<&'a [[u8; WIDTH]]> {
    let all = file.get(10..).and_then(|rest| rest.strip_prefix(header.as_bytes())).ok_or(Opinion::None)?;
    match all.as_chunks::<WIDTH>() {
        (numbers, []) => Ok(numbers),
        (_, rest) => different(format!("{} bytes too many", rest.len())),
    }
}

const FEATURES: &str = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }\n";

/// An array of features in single precision, with the header that the sound one has; the archive around it is sound.
pub(crate) fn npy(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion(features(&files[0], found))
}

fn features(file: &[u8], found: &Found<'_>) -> Plainly<()> {
    let all: Vec<f64> = numbers::<4>(file, FEATURES)?.iter().map(|&four| f64::from(f32::from_le_bytes(four))).collect();
    same("numbers", &12, &all.len())?;
    same_rows(&all.chunks(3).map(<[f64]>::to_vec).collect::<Vec<_>>(), found)
}

/// An archive of four arrays that are stored as they are, one behind the other.
pub(crate) fn archive(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let (mut rest, mut arrays) = (files[0].as_slice(), vec![]);
        for name in ["x.npy", "y.npy", "client.npy", "part.npy"] {
            // Signature, version, flags, method, time, day, checksum, two sizes, two lengths.
            let Some((header, after)) = rest.split_at_checked(30) else { return Err(Opinion::None) };
            let size = u32::from_le_bytes([header[18], header[19], header[20], header[21]]) as usize;
            let framed = header.starts_with(b"PK\x03\x04\x14\0\0\0\0\0") && header[26..] == [name.len() as u8, 0, 0, 0];
            let Some(after) = after.strip_prefix(name.as_bytes()).filter(|_| framed) else { return Err(Opinion::None) };
            let Some((array, after)) = after.split_at_checked(size) else { return Err(Opinion::None) };
            arrays.push(array);
            rest = after;
        }
        features(arrays[0], found)?;
        let labels = numbers::<8>(arrays[1], "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }\n")?;
        same_labels(&labels.iter().map(|&eight| i64::from_le_bytes(eight) as u32).collect::<Vec<_>>(), found)?;
        let names = numbers::<16>(arrays[2], "{'descr': '<U4', 'fortran_order': False, 'shape': (4,), }\n")?;
        let letters = |name: &[u8; 16]| name.chunks(4).filter_map(|four| char::from_u32(u32::from(four[0]))).collect::<String>();
        same_clients(&names.iter().map(|name| letters(name).trim_end_matches('\0').to_owned()).collect::<Vec<_>>(), found)
    })())
}
