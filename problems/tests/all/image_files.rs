//! Sources of images: small files that the test writes, damaged ones, and the real ones where they are.

use std::fs;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use motet_problems::{DataSummary, Folders, Matrix, Problem, ProblemConfig, ProblemError, Targets};
use serde_json::{Value, json};

use crate::forms::{gzip, idx, pickled, png};

/// The clients of a source with a split of its own or one client for all.
fn census(folder: &Path, source: Value, extra: Value) -> Result<DataSummary, ProblemError> {
    let mut problem = json!({ "source": source });
    problem.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let config: ProblemConfig = serde_json::from_value(problem).unwrap();
    DataSummary::of(&config, &Folders::new(PathBuf::from("nowhere"), Some(folder.to_path_buf())), 0)
}

fn one() -> Value {
    json!({"split": {"kind": "iid", "clients": 1}})
}

fn refused(folder: &Path, source: Value) -> String {
    census(folder, source, one()).unwrap_err().to_string()
}

/// Three images of 2 x 2 to train on by writers 7, 3, 7, one for test by writer 9.
fn small_mnist() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
    write("train-images-idx3-ubyte.gz", gzip(&idx(8, &[3, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255])));
    write("train-labels-idx1-ubyte.gz", gzip(&idx(8, &[3], &[1, 0, 2])));
    write("t10k-images-idx3-ubyte", idx(8, &[1, 2, 2], &[1; 4]));
    write("t10k-labels-idx1-ubyte", idx(8, &[1], &[2]));
    let writers =
        |rows: &[[u32; 8]]| idx(12, &[rows.len() as u32, 8], &rows.iter().flatten().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>());
    let row = |digit: u32, series: u32, writer: u32| [digit, series, writer, 0, 0, 0, 0, 0];
    write("qmnist-train-labels-idx2-int", writers(&[row(1, 0, 7), row(0, 4, 3), row(2, 0, 7)]));
    // More rows than test images, as QMNIST has.
    write("qmnist-test-labels-idx2-int", writers(&[row(2, 4, 9), row(5, 4, 9)]));
    folder
}

#[test]
fn idx_files_are_read_with_their_writers() {
    let folder = small_mnist();
    let plain = census(folder.path(), json!({"kind": "idx", "path": ""}), one()).unwrap();
    assert_eq!((plain.features, plain.labels), (4, vec![1, 1, 1]));
    let source = json!({"kind": "idx", "path": "", "part": "both", "writers": true});
    let writers = census(folder.path(), source.clone(), json!({})).unwrap();
    let seen: Vec<_> = writers.clients.iter().map(|c| (c.name.clone().unwrap(), c.train, c.test)).collect();
    assert_eq!(seen, [("writer 3 (pupil)".to_owned(), 1, 0), ("writer 7 (staff)".to_owned(), 2, 0)]);
    assert_eq!((writers.left_out, writers.unseen.len()), (1, 0));
    // One row is too little to keep some and be judged on others.
    let error = census(folder.path(), source, json!({"unseen": {"test": 0.5}})).unwrap_err().to_string();
    assert!(error.contains("no clients for test alone"), "{error}");
    let both = census(folder.path(), json!({"kind": "idx", "path": "", "part": "both"}), one()).unwrap();
    assert_eq!((both.clients[0].train, both.clients[0].test), (3, 1));
}

#[test]
fn damaged_idx_files_are_named_with_the_place() {
    let folder = small_mnist();
    let damage = |name: &str, bytes: Vec<u8>, source: Value, parts: &[&str]| {
        let (file, whole) = (folder.path().join(name), fs::read(folder.path().join(name)).unwrap());
        fs::write(&file, bytes).unwrap();
        let error = refused(folder.path(), source);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        fs::write(&file, whole).unwrap();
    };
    let (train, writers) = (json!({"kind": "idx", "path": ""}), json!({"kind": "idx", "path": "", "writers": true}));
    let (images, labels) = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz");
    damage(images, idx(8, &[3, 2, 2], &[0; 11]), train.clone(), &[images, "byte 27: ends here", "[3, 2, 2]"]);
    damage(images, idx(8, &[3, 2, 2], &[0; 13]), train.clone(), &[images, "byte 28: goes on here"]);
    damage(images, idx(8, &[u32::MAX; 3], &[0; 4]), train.clone(), &[images, "byte 4", "more than memory holds"]);
    damage(images, idx(8, &[3], &[0; 3]), train.clone(), &[images, "byte 0", "must begin with 00000803"]);
    damage(images, vec![], train.clone(), &[images, "byte 0"]);
    damage(images, gzip(&[7; 999])[..9].to_vec(), train.clone(), &["cannot read", images]);
    damage(images, idx(8, &[0, 2, 2], &[]), train.clone(), &["no examples"]);
    damage(labels, idx(8, &[2], &[0; 2]), train, &[labels, "2 labels for 3 images"]);
    let wrong = idx(12, &[3, 8], &[0; 96]);
    damage("qmnist-train-labels-idx2-int", wrong, writers.clone(), &["qmnist-train", "row 0: digit 0, but its label is 1"]);
    damage("qmnist-train-labels-idx2-int", idx(12, &[3, 7], &[0; 84]), writers, &["7 numbers a row instead of 8"]);
    assert!(refused(folder.path(), json!({"kind": "idx", "path": "elsewhere"})).contains("no file `elsewhere/train-images-idx3-ubyte`"));
}

/// An image of one red, one green, one blue plane.
fn planes(red: u8) -> Vec<u8> {
    [[red; 1024], [2; 1024], [3; 1024]].concat()
}

#[test]
fn cifar_is_the_same_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), bytes).unwrap();
    };
    let record = |labels: &[u8], red: u8| [labels, &planes(red)].concat();
    write("binary/data_batch_1.bin", &[record(&[4], 10), record(&[9], 20)].concat());
    write("binary/test_batch.bin", &record(&[0], 30));
    write("binary/readme.html", b"<p>");
    write("python/data_batch_1", &pickled("labels", &[4, 9], &[planes(10), planes(20)].concat()));
    write("python/test_batch", &pickled("labels", &[0], &planes(30)));
    let labels = |name: &str| census(folder.path(), json!({"kind": "cifar", "path": name, "part": "both"}), one()).unwrap();
    for form in ["binary", "python"] {
        let found = labels(form);
        assert_eq!((found.features, found.clients[0].train, found.labels), (3072, 2, vec![0, 0, 0, 0, 1, 0, 0, 0, 0, 1]), "{form}");
    }
    write("hundred/train.bin", &[record(&[19, 99], 1), record(&[0, 7], 1)].concat());
    let fine = census(folder.path(), json!({"kind": "cifar", "path": "hundred"}), one()).unwrap();
    let coarse = census(folder.path(), json!({"kind": "cifar", "path": "hundred", "labels": "coarse"}), one()).unwrap();
    assert_eq!((fine.labels.len(), fine.labels[99], coarse.labels.len(), coarse.labels[19]), (100, 1, 20, 1));
    // In an archive, the same.
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    archive.append_dir_all("cifar-10-batches-bin", folder.path().join("binary")).unwrap();
    write("cifar-10-binary.tar.gz", &archive.into_inner().unwrap().finish().unwrap());
    assert_eq!(labels("cifar-10-binary.tar.gz").labels, labels("binary").labels);
}

#[test]
fn pictures_in_folders_have_their_folder_as_class() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["train/dog/1.png", "train/cat/1.png", "train/cat/2.png", "test/dog/1.png", "train/cat/notes.txt"] {
        fs::create_dir_all(folder.path().join("pets").join(name).parent().unwrap()).unwrap();
        fs::write(folder.path().join("pets").join(name), png(4, 3)).unwrap();
    }
    let found = census(folder.path(), json!({"kind": "cifar", "path": "pets", "part": "both"}), one()).unwrap();
    assert_eq!((found.features, found.clients[0].train, found.clients[0].test, found.labels), (36, 3, 1, vec![2, 2]));
    let grey = census(folder.path(), json!({"kind": "cifar", "path": "pets", "channels": 1}), one()).unwrap();
    assert_eq!((grey.features, grey.labels), (12, vec![2, 1]));
    fs::write(folder.path().join("pets/train/dog/2.png"), png(5, 3)).unwrap();
    let error = refused(folder.path(), json!({"kind": "cifar", "path": "pets"}));
    assert!(error.contains("pets, train/dog/2.png: 3 x 5 pixels, but the images before have 3 x 4"), "{error}");
    fs::write(folder.path().join("pets/train/dog/2.png"), &png(4, 3)[..40]).unwrap();
    assert!(refused(folder.path(), json!({"kind": "cifar", "path": "pets"})).contains("train/dog/2.png: not a whole PNG"));
}

#[test]
fn damaged_batches_are_named_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let trial = |name: &str, bytes: &[u8]| {
        let place = folder.path().join("cifar");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(name), bytes).unwrap();
        let error = refused(folder.path(), json!({"kind": "cifar", "path": "cifar"}));
        fs::remove_dir_all(place).unwrap();
        error
    };
    let record = [&[4u8][..], &planes(1)].concat();
    assert!(trial("data_batch_1.bin", &record[..3000]).contains("data_batch_1.bin: 3000 bytes are not whole images of 3073"));
    assert!(trial("data_batch_1.bin", &[&[10u8][..], &planes(1)].concat()).contains("image 0 has label 10"));
    let whole = pickled("labels", &[4], &planes(1));
    // Cut anywhere, a pickle is an error and nothing worse.
    for cut in [0, 1, 2, 30, 100, 200, 1000, whole.len() - 3] {
        assert!(trial("data_batch_1", &whole[..cut]).contains("data_batch_1: not a pickle"), "{cut}");
    }
    assert!(trial("data_batch_1", &pickled("names", &[4], &planes(1))).contains("neither `labels` nor `fine_labels`"));
    assert!(trial("data_batch_1", &pickled("labels", &[4, 5], &planes(1))).contains("3072 bytes of images for 2 labels"));
    assert!(trial("data_batch_1", b"\x80\x02\xffq").contains("operation 0xff is not known"));
    assert!(trial("readme", b"nothing").contains("no examples"));
    fs::write(folder.path().join("half.tar.gz"), &gzip(&[1; 2000])[..20]).unwrap();
    assert!(refused(folder.path(), json!({"kind": "cifar", "path": "half.tar.gz"})).contains("half.tar.gz"));
}

/// `MOTET_DATA`, else the shared folder beside the workspace, if it has these files.
fn real(name: &str) -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let found = std::env::var_os("MOTET_DATA").map_or(shared, PathBuf::from);
    if !found.join(name).exists() {
        println!("note: no {name} in {}; set MOTET_DATA to test on it", found.display());
        return None;
    }
    Some(found)
}

#[test]
fn the_real_mnist_has_the_counts_of_its_readme() {
    let Some(data) = real("mnist-writers") else { return };
    let source = json!({"kind": "idx", "path": "mnist-writers", "part": "both", "writers": true});
    let found = census(&data, source, json!({"unseen": {"test": 0.5}})).unwrap();
    assert_eq!((found.features, found.clients.len(), found.unseen.len(), found.left_out), (784, 539, 297, 0));
    let mut sizes: Vec<u64> = found.clients.iter().map(|client| client.train).collect();
    sizes.sort_unstable();
    assert_eq!((sizes[0], sizes[269], sizes[538], sizes.iter().sum::<u64>()), (19, 116, 131, 60_000));
    assert_eq!(found.unseen.iter().map(|client| client.train + client.test).sum::<u64>(), 10_000);
    let staff: u64 = found.clients.iter().filter(|c| c.name.as_ref().unwrap().ends_with("(staff)")).map(|c| c.train).sum();
    assert_eq!(staff, 30_950);
}

#[test]
fn the_real_cifar_has_the_counts_of_its_readme() {
    let Some(data) = real("cifar10/cifar10-jpeg.tar.gz") else { return };
    let source = json!({"kind": "cifar", "path": "cifar10-jpeg.tar.gz", "part": "test"});
    let found = census(&data, source, one()).unwrap();
    assert_eq!((found.features, found.labels), (3072, vec![1000; 10]));
}

#[test]
fn the_real_omniglot_has_the_counts_of_its_readme() {
    let Some(data) = real("omniglot-small") else { return };
    let zips = ["images_background_small1.zip", "images_background_small2.zip"];
    let of = |paths: &[&str]| census(&data, json!({"kind": "omniglot", "paths": paths}), json!({})).unwrap();
    let (first, second, both) = (of(&zips[..1]), of(&zips[1..]), of(&zips));
    let images = |census: &DataSummary| census.clients.iter().map(|client| client.train).sum::<u64>();
    assert_eq!((first.labels.len(), images(&first), first.clients.len()), (136, 2720, 100));
    assert_eq!((second.labels.len(), images(&second), second.clients.len()), (156, 3120, 100));
    // Latin and Greek are in both.
    assert_eq!((both.labels.len(), images(&both), both.clients.len()), (136 + 156 - 26 - 24, 5840 - 20 * 50, 160));
    assert!(both.labels.iter().all(|&count| count == 20));
    assert_eq!(both.clients[0].name.as_deref(), Some("Balinese, drawer 1"));
}

#[test]
fn broken_zips_are_errors() {
    let Some(data) = real("omniglot-small") else { return };
    let whole = fs::read(data.join("omniglot-small/images_background_small1.zip")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for cut in [0, 10, 5000, whole.len() - 10] {
        fs::write(folder.path().join("cut.zip"), &whole[..cut]).unwrap();
        let error = refused(folder.path(), json!({"kind": "omniglot", "paths": ["cut.zip"]}));
        assert!(error.contains("cut.zip, archive: not a zip archive"), "{error}");
    }
    let mut bent = whole.clone();
    // The first picture's bytes come after its local header.
    bent[400..440].fill(0xff);
    fs::write(folder.path().join("bent.zip"), bent).unwrap();
    assert!(
        refused(folder.path(), json!({"kind": "omniglot", "paths": ["bent.zip"]})).contains("bent.zip, images_background_small1/Balinese")
    );
}

/// Share of `judged` rows whose nearest row of `known` has the same label.
fn nearest(known: &[(Vec<u8>, u32)], judged: &[(Vec<u8>, u32)]) -> f64 {
    let apart = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum::<u64>();
    let right = judged.iter().filter(|(image, label)| known.iter().min_by_key(|(k, _)| apart(k, image)).unwrap().1 == *label).count();
    right as f64 / judged.len() as f64
}

#[test]
fn writers_are_helped_by_others_and_more_by_their_own_hand() {
    let config = |h: f64| -> ProblemConfig {
        let source = json!({"kind": "handwriting", "writers": 12, "examples": 160, "heterogeneity": h, "jitter": 1.5});
        serde_json::from_value(json!({"source": source, "model": {"kind": "softmax"}})).unwrap()
    };
    let compare = |h: f64| {
        let data = config(h).source.examples(0).unwrap();
        let (Matrix::Bytes(images), Targets::Classes { labels, .. }) = (&data.features, &data.targets) else { panic!("bytes and classes") };
        let writer = |k: usize| (k * 160..(k + 1) * 160).map(|row| (images.row(row).to_vec(), labels[row])).collect::<Vec<_>>();
        let (own, judged) = (writer(0)[..60].to_vec(), writer(0)[60..].to_vec());
        let others: Vec<_> = (1..12).flat_map(writer).collect();
        let all = [own.clone(), others.clone()].concat();
        [nearest(&own, &judged), nearest(&others, &judged), nearest(&all, &judged)]
    };
    let [own, others, all] = compare(1.0);
    println!("own {own}, others {others}, all {all}");
    assert!(all > others + 0.05 && all > own + 0.05, "own {own}, others {others}, all {all}");
    // In one hand for all, own examples are worth no more than others'.
    let [own, others, all] = compare(0.0);
    assert!((all - others).abs() < 0.05 && others > own, "own {own}, others {others}, all {all}");
    assert!(Problem::build(&config(1.0), Path::new("."), 0).is_ok());
}
