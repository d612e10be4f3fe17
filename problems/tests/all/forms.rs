//! Small files in the forms that other programs write: made here, so that no test needs theirs. The fuzzers begin with them too.

use std::io::Write;
#[cfg(feature = "sqlite")]
use std::path::Path;

#[cfg(feature = "sqlite")]
use rusqlite::{Connection, params};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// An array as `numpy.save` writes it.
pub(crate) fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    file.extend(bytes);
    file
}

/// Files stored as they are, as `numpy.savez` does.
pub(crate) fn zipped(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let (at, size, length) = (archive.len() as u32, (bytes.len() as u32).to_le_bytes(), (name.len() as u16).to_le_bytes());
        let mut sum = flate2::Crc::new();
        sum.update(bytes);
        let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &sum.sum().to_le_bytes(), &size, &size, &length].concat();
        archive.extend([b"PK\x03\x04", &common[..], &[0, 0], name.as_bytes(), bytes].concat());
        directory.extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 12], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (at, size, count) =
        ((archive.len() as u32).to_le_bytes(), (directory.len() as u32).to_le_bytes(), (files.len() as u16).to_le_bytes());
    archive.extend(directory);
    archive.extend([b"PK\x05\x06\x00\x00\x00\x00", &count[..], &count, &size, &at, &[0, 0]].concat());
    archive
}

/// An array of IDX: MNIST and its kin.
pub(crate) fn idx(kind: u8, axes: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, kind, axes.len() as u8];
    axes.iter().for_each(|axis| file.extend(axis.to_be_bytes()));
    file.extend(bytes);
    file
}

/// What Python 2 wrote for a dictionary with labels and an array of bytes.
pub(crate) fn pickled(name: &str, labels: &[u8], data: &[u8]) -> Vec<u8> {
    let mut file = b"\x80\x02}q\x00(U\x04dataq\x01cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\x00\x85q\x04U\x01bq\x05\x87q\x06Rq\x07".to_vec();
    file.extend(b"(K\x01K\x02M\x00\x0c\x86q\x08cnumpy\ndtype\nq\x09U\x02u1q\x0aK\x00K\x01\x87q\x0bRq\x0c(K\x03U\x01|q\x0dNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0eb\x89T");
    file.extend((data.len() as u32).to_le_bytes());
    file.extend(data);
    file.extend(b"q\x0ftq\x10bU");
    file.push(name.len() as u8);
    file.extend(name.bytes());
    file.extend(b"q\x11]q\x12(");
    labels.iter().for_each(|&label| file.extend([b'K', label]));
    file.extend(b"eu.");
    file
}

/// A picture of one colour.
#[cfg(feature = "images")]
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&vec![9; (width * height * 3) as usize]).unwrap();
    bytes
}

/// A feature of tf.train.Example.
#[cfg(feature = "sqlite")]
pub(crate) enum Feature<'a> {
    Floats(&'a [f32]),
    Whole(i64),
    Text(&'a str),
}

#[cfg(feature = "sqlite")]
pub(crate) fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = vec![];
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[cfg(feature = "sqlite")]
pub(crate) fn field(number: u8, body: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2][..], &varint(body.len() as u64), body].concat()
}

/// As `tf.train.Example(...).SerializeToString()` has it.
#[cfg(feature = "sqlite")]
pub(crate) fn proto(features: &[(&str, Feature<'_>)]) -> Vec<u8> {
    let entry = |(name, feature): &(&str, Feature<'_>)| {
        let value = match feature {
            Feature::Floats(all) => field(2, &field(1, &all.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())),
            Feature::Whole(one) => field(3, &field(1, &varint(*one as u64))),
            Feature::Text(one) => field(1, &field(1, one.as_bytes())),
        };
        field(1, &[field(1, name.as_bytes()), field(2, &value)].concat())
    };
    field(1, &features.iter().flat_map(entry).collect::<Vec<_>>())
}

/// A file of TensorFlow Federated: split, client, example.
#[cfg(feature = "sqlite")]
pub(crate) fn tff(file: &Path, rows: &[(&str, &str, Vec<u8>)]) {
    let base = Connection::open(file).unwrap();
    base.execute_batch(
        "CREATE TABLE examples (split_name TEXT NOT NULL, client_id TEXT NOT NULL, serialized_example_proto BLOB NOT NULL);
         CREATE INDEX idx_client_id_split ON examples (split_name, client_id);
         CREATE TABLE client_metadata (client_id TEXT NOT NULL, split_name TEXT NOT NULL, num_examples INTEGER NOT NULL);",
    )
    .unwrap();
    for (split, client, example) in rows {
        base.execute("INSERT INTO examples VALUES (?1, ?2, ?3)", params![split, client, example]).unwrap();
    }
    base.execute_batch("INSERT INTO client_metadata SELECT client_id, split_name, COUNT(*) FROM examples GROUP BY client_id, split_name")
        .unwrap();
}

/// A file of FedJAX: client, msgpack, count.
#[cfg(feature = "sqlite")]
pub(crate) fn fedjax(file: &Path, rows: &[(&str, Vec<u8>, i64)]) {
    let base = Connection::open(file).unwrap();
    base.execute_batch(
        "CREATE TABLE federated_data (client_id BLOB NOT NULL PRIMARY KEY, data BLOB NOT NULL, num_examples INTEGER NOT NULL);",
    )
    .unwrap();
    for (client, data, count) in rows {
        let mut packed = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::default());
        packed.write_all(data).unwrap();
        base.execute("INSERT INTO federated_data VALUES (?1, ?2, ?3)", params![client.as_bytes(), packed.finish().unwrap(), count])
            .unwrap();
    }
}

/// An array as `msgpack.ExtType(1, packb((shape, dtype, bytes)))`.
#[cfg(feature = "sqlite")]
pub(crate) fn array(shape: &[u8], kind: &str, bytes: &[u8]) -> Vec<u8> {
    let inner = [
        &[0x93, 0x90 | shape.len() as u8][..],
        shape,
        &[0xa0 | kind.len() as u8],
        kind.as_bytes(),
        &[0xc5],
        &(bytes.len() as u16).to_be_bytes(),
        bytes,
    ]
    .concat();
    [&[0xc8][..], &(inner.len() as u16).to_be_bytes(), &[1], &inner].concat()
}

/// An array of bytes objects, as `msgpack.ExtType(4, packb((shape, list)))`.
#[cfg(feature = "sqlite")]
pub(crate) fn texts(all: &[&str]) -> Vec<u8> {
    let mut inner = vec![0x92, 0x91, all.len() as u8, 0x90 | all.len() as u8];
    all.iter().for_each(|text| inner.extend([&[0xc4, text.len() as u8][..], text.as_bytes()].concat()));
    [&[0xc8][..], &(inner.len() as u16).to_be_bytes(), &[4], &inner].concat()
}

#[cfg(feature = "sqlite")]
pub(crate) fn map(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let entries = arrays.iter().flat_map(|(name, array)| [&[0xa0 | name.len() as u8][..], name.as_bytes(), array].concat());
    [0x80 | arrays.len() as u8].into_iter().chain(entries).collect()
}
