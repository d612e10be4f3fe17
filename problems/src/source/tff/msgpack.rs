//! A client of FedJAX: arrays by name, in msgpack with two extensions.
//!
//! ```text
//! map        name → array
//! array      extension 1: [shape, type, bytes in C order]      extension 4: [shape, [text, ...]]
//! ```
//!
//! The first axis of every array counts the examples.

use super::example::{Example, Value};

/// Nothing here is deeper: a map, an array in it, its shape or texts.
const DEEPEST: usize = 4;

/// Reads a client's examples.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Example>, String> {
    let mut rest = bytes;
    let Item::Map(arrays) = item(&mut rest, DEEPEST)? else { return Err("not a map of arrays".into()) };
    if !rest.is_empty() {
        return Err(format!("{} bytes after its end", rest.len()));
    }
    let mut examples: Option<Vec<Example>> = None;
    for (name, array) in arrays {
        let Item::Bytes(name) = name else { return Err("the name of an array is not text".into()) };
        let name = String::from_utf8_lossy(name).into_owned();
        let rows = rows(&array).map_err(|what| format!("array `{name}`: {what}"))?;
        let examples = examples.get_or_insert_with(|| vec![Example::new(); rows.len()]);
        if rows.len() != examples.len() {
            return Err(format!("array `{name}`: {} examples, the one before has {}", rows.len(), examples.len()));
        }
        for (example, value) in examples.iter_mut().zip(rows) {
            example.insert(name.clone(), value);
        }
    }
    examples.ok_or_else(|| "no arrays".into())
}

/// An array as what it has for each example.
fn rows(array: &Item<'_>) -> Result<Vec<Value>, String> {
    let Item::Extension(code, mut inner) = *array else { return Err("no array".into()) };
    let Item::List(parts) = item(&mut inner, DEEPEST)? else { return Err("no array".into()) };
    let (shape, cells) = match (code, &parts[..]) {
        (1, [shape, Item::Bytes(kind), Item::Bytes(bytes)]) => (shape, cells(kind, bytes)?),
        (4, [shape, Item::List(texts)]) => {
            let text = |item: &Item<'_>| if let Item::Bytes(text) = item { Ok(text.to_vec()) } else { Err("a text that is none") };
            (shape, Value::Texts(texts.iter().map(text).collect::<Result<_, _>>()?))
        }
        _ => return Err(format!("an array of the unknown form {code}")),
    };
    let Item::List(axes) = shape else { return Err("no shape".into()) };
    let axis = |item: &Item<'_>| if let Item::Whole(n) = item { usize::try_from(*n).ok() } else { None };
    let axes = axes.iter().map(axis).collect::<Option<Vec<usize>>>().ok_or("no shape")?;
    let (Some(&count), held) = (axes.first(), cells.len()) else { return Err("one number, not one for each example".into()) };
    if axes.iter().try_fold(1usize, |product, &axis| product.checked_mul(axis)) != Some(held) {
        return Err(format!("{held} values for shape {axes:?}"));
    }
    // Without values a shape may say anything; rows of nothing are no examples.
    if held == 0 {
        return Ok(Vec::new());
    }
    let width = held / count;
    Ok(match cells {
        Value::Numbers(all) => all.chunks_exact(width).map(|row| Value::Numbers(row.to_vec())).collect(),
        Value::Whole(all) => all.chunks_exact(width).map(|row| Value::Whole(row.to_vec())).collect(),
        Value::Texts(all) => all.chunks_exact(width).map(|row| Value::Texts(row.to_vec())).collect(),
    })
}

/// Numbers of one of numpy's types.
fn cells(kind: &[u8], bytes: &[u8]) -> Result<Value, String> {
    macro_rules! read {
        ($Type:ty, $into:expr) => {{
            let (chunks, rest) = bytes.as_chunks::<{ size_of::<$Type>() }>();
            if !rest.is_empty() {
                return Err(format!("{} bytes of numbers that have {} each", bytes.len(), size_of::<$Type>()));
            }
            chunks.iter().map(|&chunk| $into(<$Type>::from_le_bytes(chunk))).collect()
        }};
    }
    let single = |value: f64| value as f32;
    Ok(match kind {
        b"float32" => Value::Numbers(read!(f32, f32::from)),
        b"float64" => Value::Numbers(read!(f64, single)),
        b"uint8" | b"bool" => Value::Whole(read!(u8, i64::from)),
        b"int8" => Value::Whole(read!(i8, i64::from)),
        b"int16" => Value::Whole(read!(i16, i64::from)),
        b"uint16" => Value::Whole(read!(u16, i64::from)),
        b"int32" => Value::Whole(read!(i32, i64::from)),
        b"uint32" => Value::Whole(read!(u32, i64::from)),
        b"int64" => Value::Whole(read!(i64, i64::from)),
        b"uint64" => {
            let numbers: Vec<u64> = read!(u64, u64::from);
            let whole = |number| i64::try_from(number).map_err(|_| format!("{number} is more than whole numbers hold here"));
            Value::Whole(numbers.into_iter().map(whole).collect::<Result<_, _>>()?)
        }
        _ => return Err(format!("type {:?}, which this program does not read", String::from_utf8_lossy(kind))),
    })
}

/// One thing of msgpack.
#[derive(Debug)]
enum Item<'a> {
    Whole(i64),
    /// A text, or bytes.
    Bytes(&'a [u8]),
    List(Vec<Item<'a>>),
    Map(Vec<(Item<'a>, Item<'a>)>),
    Extension(i8, &'a [u8]),
    /// Nothing, a truth, a real number: not used here.
    Other,
}

fn item<'a>(from: &mut &'a [u8], depth: usize) -> Result<Item<'a>, String> {
    let depth = depth.checked_sub(1).ok_or("lists in lists in lists")?;
    let first = length(from, 1)? as u8;
    Ok(match first {
        0x00..=0x7f => Item::Whole(i64::from(first)),
        0xe0..=0xff => Item::Whole(i64::from(first as i8)),
        0x80..=0x8f => map(from, usize::from(first & 15), depth)?,
        0x90..=0x9f => list(from, usize::from(first & 15), depth)?,
        0xa0..=0xbf => Item::Bytes(take(from, usize::from(first & 31))?),
        0xc4..=0xc6 => sized(from, 1 << (first - 0xc4))?,
        0xd9..=0xdb => sized(from, 1 << (first - 0xd9))?,
        0xc7..=0xc9 => {
            let long = length(from, 1 << (first - 0xc7))?;
            extension(from, long)?
        }
        0xd4..=0xd8 => extension(from, 1 << (first - 0xd4))?,
        0xcc..=0xcf => Item::Whole(length(from, 1 << (first - 0xcc))? as i64),
        0xd0..=0xd3 => {
            let spare = 64 - (8 << (first - 0xd0));
            Item::Whole((length(from, 1 << (first - 0xd0))? as i64) << spare >> spare)
        }
        0xdc | 0xdd => {
            let count = length(from, 2 << (first - 0xdc))?;
            list(from, count, depth)?
        }
        0xde | 0xdf => {
            let count = length(from, 2 << (first - 0xde))?;
            map(from, count, depth)?
        }
        0xca | 0xcb => take(from, 4 << (first - 0xca)).map(|_| Item::Other)?,
        0xc0..=0xc3 => Item::Other,
    })
}

/// Lengths are not trusted: every thing takes a byte at least, and the bytes end.
fn list<'a>(from: &mut &'a [u8], count: usize, depth: usize) -> Result<Item<'a>, String> {
    (0..count).map(|_| item(from, depth)).collect::<Result<_, _>>().map(Item::List)
}

fn map<'a>(from: &mut &'a [u8], count: usize, depth: usize) -> Result<Item<'a>, String> {
    (0..count).map(|_| Ok((item(from, depth)?, item(from, depth)?))).collect::<Result<_, String>>().map(Item::Map)
}

fn sized<'a>(from: &mut &'a [u8], width: usize) -> Result<Item<'a>, String> {
    let long = length(from, width)?;
    take(from, long).map(Item::Bytes)
}

fn extension<'a>(from: &mut &'a [u8], long: usize) -> Result<Item<'a>, String> {
    let code = length(from, 1)? as i8;
    take(from, long).map(|bytes| Item::Extension(code, bytes))
}

fn take<'a>(from: &mut &'a [u8], long: usize) -> Result<&'a [u8], String> {
    let (taken, rest) = from.split_at_checked(long).ok_or("cut off")?;
    *from = rest;
    Ok(taken)
}

/// A number of so many bytes, the largest first.
fn length(from: &mut &[u8], width: usize) -> Result<usize, String> {
    Ok(take(from, width)?.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of texts with one axis.
    fn texts(axis: u8, texts: &[&[u8]]) -> Vec<u8> {
        let mut inner = vec![0x92, 0x91, axis, 0x90 | texts.len() as u8];
        texts.iter().for_each(|text| inner.extend([&[0xc4, text.len() as u8][..], text].concat()));
        [&[0xc7, inner.len() as u8, 4][..], &inner].concat()
    }

    fn floats(shape: &[u8], values: &[f32]) -> Vec<u8> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let inner = [&[0x93, 0x90 | shape.len() as u8][..], shape, b"\xa7float32", &[0xc4, bytes.len() as u8], &bytes].concat();
        [&[0xc7, inner.len() as u8, 1][..], &inner].concat()
    }

    #[test]
    fn arrays_become_examples() {
        let client = [&b"\x82\xa1t"[..], &texts(2, &[b"a", b"bc"]), b"\xa1x", &floats(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0])].concat();
        let examples = decode(&client).unwrap();
        assert_eq!(examples.len(), 2);
        assert_eq!(examples[1]["t"], Value::Texts(vec![b"bc".to_vec()]));
        assert_eq!(examples[1]["x"], Value::Numbers(vec![3.0, 4.0]));
        for cut in 0..client.len() {
            assert!(decode(&client[..cut]).is_err(), "{cut} bytes");
        }
    }

    #[test]
    fn arrays_that_do_not_fit_are_told() {
        for (client, message) in [
            ([&b"\x81\xa1x"[..], &floats(&[3], &[1.0])].concat(), "array `x`: 1 values for shape [3]"),
            (
                [&b"\x82\xa1t"[..], &texts(1, &[b"a"]), b"\xa1x", &floats(&[2], &[1.0, 2.0])].concat(),
                "array `x`: 2 examples, the one before has 1",
            ),
            (b"\x81\xa1x\x05".to_vec(), "array `x`: no array"),
            (b"\x93\x01\x02\x03".to_vec(), "not a map of arrays"),
            (b"\x80".to_vec(), "no arrays"),
            (b"\x80\x80".to_vec(), "1 bytes after its end"),
            (b"\xdf\xff\xff\xff\xff".to_vec(), "cut off"),
            (vec![0x91; 100], "lists in lists"),
        ] {
            let error = decode(&client).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
