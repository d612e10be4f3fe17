//! Files that would eat stack, time or memory: each is refused by name, in time that its bytes bound.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use motet_problems::{DataSummary, Folders, ProblemConfig, data_files, import};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::files::folder_with;
use crate::forms::{gzip, npy, zipped};

fn census(folder: &Path, source: Value, extra: Value) -> Result<DataSummary, String> {
    let mut problem = json!({ "source": source, "split": {"kind": "iid", "clients": 1} });
    problem.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let config: ProblemConfig = serde_json::from_value(problem).unwrap();
    DataSummary::of(&config, &Folders::new(folder.to_path_buf(), None), 0).map_err(|error| error.to_string())
}

fn refused(folder: &Path, source: Value) -> String {
    census(folder, source, json!({})).unwrap_err()
}

/// Zeros that are more than the smallest file may unpack to.
fn zeros() -> Vec<u8> {
    vec![0; 65 << 20]
}

fn packed_zeros() -> [(&'static str, Vec<u8>); 3] {
    let mut bzip2 = bzip2::write::BzEncoder::new(vec![], bzip2::Compression::fast());
    bzip2.write_all(&zeros()).unwrap();
    let mut xz = xz2::write::XzEncoder::new(vec![], 0);
    xz.write_all(&zeros()).unwrap();
    [("bomb.gz", gzip(&zeros())), ("bomb.bz2", bzip2.finish().unwrap()), ("bomb.xz", xz.finish().unwrap())]
}

#[test]
fn a_few_bytes_that_unpack_to_many_are_refused_and_the_key_that_allows_them_is_named() {
    for (name, bytes) in packed_zeros() {
        let folder = folder_with(&[(name, &bytes), ("leaf.json", &bytes)]);
        // All at once, and as it streams by.
        for source in
            [json!({"kind": "libsvm", "path": name}), json!({"kind": "cifar", "path": name}), json!({"kind": "leaf", "path": "leaf.json"})]
        {
            let error = refused(folder.path(), source.clone());
            if source["kind"] == "libsvm" {
                assert!(error.contains("unpack to more than 64 MiB") && error.contains("file_gib = 1"), "{error}");
            }
            // Allowed, it is what it is: zeros.
            let allowed = census(folder.path(), source, json!({"file_gib": 1})).unwrap_err();
            assert!(!allowed.contains("unpack"), "{allowed}");
        }
    }
    // What streams by is counted as it comes: a tar whose first file is larger than the rest of the archive would be.
    let mut tar = tar::Builder::new(vec![]);
    let mut header = tar::Header::new_gnu();
    header.set_size(65 << 20);
    header.set_cksum();
    tar.append_data(&mut header, "data_batch_1.bin", &zeros()[..]).unwrap();
    let folder = folder_with(&[("bomb.tar.gz", &gzip(&tar.into_inner().unwrap()))]);
    let error = refused(folder.path(), json!({"kind": "cifar", "path": "bomb.tar.gz"}));
    assert!(error.contains("unpack to more than 64 MiB"), "{error}");
}

/// An archive with one deflated file, named so many times in its directory.
fn deflated(name: &str, bytes: &[u8], times: usize) -> Vec<u8> {
    let mut packer = flate2::write::DeflateEncoder::new(vec![], flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    let packed = packer.finish().unwrap();
    let sizes = [(packed.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    let sums = [&sum.sum().to_le_bytes()[..], &sizes].concat();
    let common = [&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0][..], &sums, &(name.len() as u16).to_le_bytes()].concat();
    let mut archive = [b"PK\x03\x04", &common[..], &[0, 0], name.as_bytes(), &packed].concat();
    let entry = [b"PK\x01\x02\x14\x00", &common[..], &[0; 16], name.as_bytes()].concat();
    let (at, size, count) = (archive.len() as u32, (entry.len() * times) as u32, (times as u16).to_le_bytes());
    archive.extend(entry.repeat(times));
    archive.extend([b"PK\x05\x06\x00\x00\x00\x00", &count[..], &count, &size.to_le_bytes(), &at.to_le_bytes(), &[0, 0]].concat());
    archive
}

#[test]
fn zip_archives_have_one_budget_for_all_that_is_in_them() {
    let large = deflated("x.npy", &npy("|u1", "(1, 68157440)", &zeros()), 1);
    // A megabyte, a thousand times over.
    let often = deflated("x.npy", &npy("|u1", "(1, 1048576)", &vec![0; 1 << 20]), 1000);
    let folder = folder_with(&[("large.npz", &large), ("often.npz", &often)]);
    for path in ["large.npz", "often.npz"] {
        let error = refused(folder.path(), json!({"kind": "npz", "path": path}));
        assert!(error.contains("unpack to more than 64 MiB"), "{error}");
    }
}

#[test]
fn blank_pictures_are_counted_before_they_are_drawn() {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, 8192, 8192);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.write_header().unwrap().write_image_data(&vec![0; 1024 * 8192]).unwrap();
    let folder = folder_with(&[("pictures/a/1.png", &png), ("pictures/a/2.png", &png)]);
    let error = refused(folder.path(), json!({"kind": "cifar", "path": "pictures"}));
    assert!(error.contains("unpack to more than 64 MiB"), "{error}");
}

#[cfg(unix)]
#[test]
fn pipes_devices_and_links_that_go_round_are_refused_by_name() {
    use std::os::unix::fs::symlink;
    let folder = folder_with(&[("leaf/a.json", b"{}"), ("photos/cats/1.png", b"none"), ("elsewhere/2.png", b"none")]);
    let at = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").args([at("pipe"), at("leaf/b.json"), at("photos/cats/2.png")]).status().unwrap();
    assert!(made.success());
    symlink("/dev/zero", at("endless")).unwrap();
    for (path, what) in [("pipe", "a pipe (FIFO)"), ("endless", "a device"), ("/dev/zero", "a device")] {
        for kind in ["libsvm", "npz", "tff", "cifar", "leaf", "shakespeare"] {
            let error = refused(folder.path(), json!({"kind": kind, "path": path}));
            assert!(error.contains(&format!("{path}` is {what}: only regular files are read")), "{kind}: {error}");
        }
        let error = import(&[at(path)], "mine", &at("data")).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let leaf = || refused(folder.path(), json!({"kind": "leaf", "path": "leaf"}));
    fs::remove_file(at("leaf/a.json")).unwrap();
    assert!(leaf().contains("b.json` is a pipe"), "{}", leaf());
    let cifar = || refused(folder.path(), json!({"kind": "cifar", "path": "photos"}));
    assert!(cifar().contains("2.png` is a pipe"), "{}", cifar());
    fs::remove_file(at("photos/cats/2.png")).unwrap();
    // A folder in itself, a folder twice, a folder and a file from elsewhere, a link to itself.
    for (to, link, what) in [
        ("..", "photos/cats/up", "read twice, or for ever"),
        ("cats", "photos/dogs", "read twice, or for ever"),
        ("../elsewhere", "photos/dogs", "out of its folder"),
        ("../../elsewhere/2.png", "photos/cats/2.png", "out of its folder"),
        ("2.png", "photos/cats/2.png", "cannot read"),
    ] {
        symlink(to, at(link)).unwrap();
        let (error, name) = (cifar(), link.rsplit('/').next().unwrap());
        assert!(error.contains(what) && error.contains(name), "{link}: {error}");
        fs::remove_file(at(link)).unwrap();
    }
    // A link inside of the folder is followed.
    symlink("1.png", at("photos/cats/3.png")).unwrap();
    assert!(cifar().contains("neither a JPEG nor a PNG picture"), "{}", cifar());
    symlink("nowhere", at("photos/dangling")).unwrap();
    assert_eq!(data_files(&at("photos")).unwrap().len(), 2, "what leads nowhere is no file");
}

#[test]
fn a_file_of_nothing_but_holes_is_not_read_into_memory() {
    let folder = tempfile::tempdir().unwrap();
    fs::File::create(folder.path().join("holes.csv")).unwrap().set_len(1 << 42).unwrap();
    let error = refused(folder.path(), json!({"kind": "table", "path": "holes.csv", "target": "y"}));
    assert!(error.contains("it has more than 16 GiB; `[problem] file_gib` allows more"), "{error}");
}

#[test]
fn a_tar_with_files_of_holes_gives_none_of_them() {
    let mut header = tar::Header::new_gnu();
    header.set_path("play.xml").unwrap();
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_size(0);
    header.as_gnu_mut().unwrap().realsize[..11].copy_from_slice(b"77777777777");
    header.set_cksum();
    let folder = folder_with(&[("plays.tar", &[header.as_bytes(), &[0; 1024][..]].concat())]);
    let error = refused(folder.path(), json!({"kind": "shakespeare", "path": "plays.tar"}));
    assert!(error.contains("no examples") || error.contains("plays.tar"), "{error}");
}

#[test]
fn rows_that_sqlite_would_compute_are_refused() {
    let metadata = "CREATE TABLE client_metadata (client_id TEXT, split_name TEXT, num_examples INTEGER);
        INSERT INTO client_metadata VALUES ('ann', 'train', 1);";
    let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT 'train' AS split_name, 'ann' AS client_id,
        zeroblob(1000000000) AS serialized_example_proto FROM c";
    for (text, what) in [
        (format!("{metadata} CREATE VIEW examples AS {endless};"), "`examples` is a view"),
        (
            format!(
                "CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB);
                 CREATE VIEW client_metadata AS {endless};"
            ),
            "`client_metadata` is a view",
        ),
        (
            format!(
                "{metadata} CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB AS (zeroblob(1000000000)));
                 INSERT INTO examples VALUES ('train', 'ann');"
            ),
            "`examples` has a column that is computed",
        ),
        (
            "CREATE VIEW federated_data AS SELECT 'ann' AS client_id, zeroblob(1000000000) AS data, 1 AS num_examples".to_owned(),
            "`federated_data` is a view",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        Connection::open(folder.path().join("d.sqlite")).unwrap().execute_batch(&text).unwrap();
        let error = refused(folder.path(), json!({"kind": "tff", "path": "d.sqlite"}));
        assert_eq!(error, format!("d.sqlite, SQLite: {what}: only tables that hold their rows are read"));
    }
}

#[test]
fn clients_of_fedjax_have_one_budget_for_all() {
    let mut zlib = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::fast());
    zlib.write_all(&zeros()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let base = Connection::open(folder.path().join("d.sqlite")).unwrap();
    base.execute_batch("CREATE TABLE federated_data (client_id BLOB, data BLOB, num_examples INTEGER)").unwrap();
    base.execute("INSERT INTO federated_data VALUES ('ann', ?1, 1)", [zlib.finish().unwrap()]).unwrap();
    drop(base);
    let error = refused(folder.path(), json!({"kind": "tff", "path": "d.sqlite"}));
    assert!(error.contains("zlib") && error.contains("unpack to more than 64 MiB"), "{error}");
}

#[test]
fn pages_that_lead_to_each_other_come_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sqlite");
    let base = Connection::open(&path).unwrap();
    base.execute_batch(
        "PRAGMA page_size = 512; CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB);
         CREATE TABLE client_metadata (client_id TEXT, split_name TEXT, num_examples INTEGER);
         WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20000) INSERT INTO client_metadata SELECT n, 'train', 1 FROM c;",
    )
    .unwrap();
    let root: i64 = base.query_row("SELECT rootpage FROM sqlite_master WHERE name = 'client_metadata'", [], |row| row.get(0)).unwrap();
    drop(base);
    // Seven inner pages, each of which names the next in all its places, and the last a leaf: a tree of few bytes and
    // billions of rows.
    let mut bytes = fs::read(&path).unwrap();
    let page = |number: usize| (number - 1) * 512..number * 512;
    let inner = bytes[page(root as usize)].to_vec();
    assert_eq!(inner[0], 5, "an inner page");
    let cells = usize::from(u16::from_be_bytes([inner[3], inner[4]]));
    let places: Vec<usize> =
        (0..cells).map(|k| usize::from(u16::from_be_bytes([inner[12 + 2 * k], inner[13 + 2 * k]]))).chain([8]).collect();
    let mut leaf = root as usize;
    while bytes[page(leaf)][0] == 5 {
        let first = page(leaf).start + usize::from(u16::from_be_bytes([bytes[page(leaf)][12], bytes[page(leaf)][13]]));
        leaf = u32::from_be_bytes(bytes[first..first + 4].try_into().unwrap()) as usize;
    }
    let leading_to = |next: usize| {
        let mut made = inner.clone();
        places.iter().for_each(|&at| made[at..at + 4].copy_from_slice(&(next as u32).to_be_bytes()));
        made
    };
    let pages = bytes.len() / 512;
    bytes[page(root as usize)].copy_from_slice(&leading_to(pages + 1));
    for level in 1..=6 {
        bytes.extend(leading_to(if level < 6 { pages + level + 1 } else { leaf }));
    }
    bytes[28..32].copy_from_slice(&((pages + 6) as u32).to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let started = std::time::Instant::now();
    let error = refused(folder.path(), json!({"kind": "tff", "path": "d.sqlite"}));
    assert_eq!(error, "d.sqlite, SQLite: its rows are more than its bytes can hold: the file is damaged");
    assert!(started.elapsed().as_secs() < 10);
}

#[test]
fn labels_that_are_no_classes_cost_no_memory() {
    let x = || ("x.npy", npy("|u1", "(2, 1)", &[1, 2]));
    let y = |labels: [u64; 2]| ("y.npy", npy("<u8", "(2,)", &labels.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()));
    let folder = tempfile::tempdir().unwrap();
    for label in [16_777_215, 1 << 16, u64::MAX] {
        fs::write(folder.path().join("a.npz"), zipped(&[x(), y([0, label])])).unwrap();
        let error = refused(folder.path(), json!({"kind": "npz", "path": "a.npz"}));
        assert_eq!(
            error,
            format!("a.npz, y: row 1: class {label}, but classes are numbers from 0 to 65535; quantities are stored as floats")
        );
    }
    // LEAF cannot say which of both it means; a model of classes refuses quantities.
    fs::write(folder.path().join("l.json"), r#"{"user_data": {"a": {"x": [[1.0], [2.0]], "y": [0, 16777215]}}}"#).unwrap();
    assert_eq!(census(folder.path(), json!({"kind": "leaf", "path": "l.json"}), json!({})).unwrap().labels, [0u64; 0]);
}

#[test]
fn whole_numbers_beyond_half_of_the_range_stay_positive() {
    let bytes: Vec<u8> = [1u64 << 63, u64::MAX].iter().flat_map(|v| v.to_le_bytes()).collect();
    let folder = tempfile::tempdir().unwrap();
    let files =
        [("x.npy", npy("<u8", "(2, 1)", &bytes)), ("y.npy", npy("|u1", "(2,)", &[0, 1])), ("client.npy", npy("<u8", "(2,)", &bytes))];
    fs::write(folder.path().join("a.npz"), zipped(&files)).unwrap();
    let source: motet_problems::Source =
        serde_json::from_value(json!({"kind": "npz", "path": folder.path().join("a.npz").to_str().unwrap()})).unwrap();
    let found = source.examples(0).unwrap();
    assert_eq!(found.names, ["18446744073709551615", "9223372036854775808"].map(String::from));
    let motet_problems::Matrix::Dense(dense) = &found.features else { panic!("{:?}", found.features) };
    assert_eq!(dense.values, [9_223_372_036_854_775_808.0, 18_446_744_073_709_551_615.0]);
}
