//! Databases of other systems: what is in them by SQLite's own query, examples as the sound one with other numbers.

use rusqlite::Connection;

use super::{Found, Opinion, Plainly, between, opinion, place, same, same_clients, same_labels, same_rows};
use crate::forms::{self, Feature};

/// A label and three numbers in tf.train.Example: the sound one but for these.
fn example(bytes: &[u8]) -> Plainly<(Vec<f64>, u32)> {
    let floats = [1.5f32, 2.25, -7.125];
    let sound = forms::proto(&[("pixels", Feature::Floats(&floats)), ("label", Feature::Whole(3))]);
    let pixels = place(&floats.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>(), &sound);
    let label = sound.len() - 1..sound.len();
    let [pixels, label] = between(bytes, &sound, &[pixels, label])?[..] else { return Err(Opinion::None) };
    // More than seven bits would take another byte.
    let label = Some(u32::from(label[0])).filter(|&label| label < 128).ok_or(Opinion::None)?;
    let numbers = pixels.as_chunks::<4>().0.iter().map(|&four| kept(f32::from_le_bytes(four))).collect();
    Ok((numbers, label))
}

/// What is near so many 255ths is kept as such.
fn kept(value: f32) -> f64 {
    f64::from(value)
}

fn same_examples(examples: &[(String, Vec<u8>)], found: &Found<'_>) -> Plainly<()> {
    let read: Vec<(Vec<f64>, u32)> = examples.iter().map(|(_, bytes)| example(bytes)).collect::<Plainly<_>>()?;
    let clients: Vec<String> = examples.iter().map(|(client, _)| client.clone()).collect();
    same_clients(&clients, found)?;
    same_labels(&read.iter().map(|(_, label)| *label).collect::<Vec<_>>(), found)?;
    same("examples", &read.len(), &found.dataset.len())?;
    let near = |(at, (plain, _)): (usize, &(Vec<f64>, u32))| {
        let ours = super::row(&found.dataset.features, at);
        // Numbers that are all so many 255ths are kept as bytes, which rounds their last digits.
        let rounded = plain.iter().zip(&ours).all(|(plain, ours)| (plain - ours).abs() < 1e-5) && plain.len() == ours.len();
        if rounded { Ok(()) } else { same(&format!("example {at}"), plain, &ours) }
    };
    read.iter().enumerate().try_for_each(near)
}

/// The example of two clients, in a sound file of TensorFlow Federated.
pub(crate) fn tff_example(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion(same_examples(&["ann", "bob"].map(|client| (client.to_owned(), files[0].clone())), found))
}

/// A file of TensorFlow Federated, asked by SQLite.
pub(crate) fn tff_file(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let folder = tempfile::tempdir().map_err(|_| Opinion::None)?;
        let path = folder.path().join("t.sqlite");
        std::fs::write(&path, &files[0]).map_err(|_| Opinion::None)?;
        let asked = || -> rusqlite::Result<Vec<(String, Vec<u8>)>> {
            let base = Connection::open(&path)?;
            let mut query = base.prepare("SELECT client_id, serialized_example_proto FROM examples ORDER BY client_id, rowid")?;
            let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        // What SQLite itself cannot read, or reads as something else than text and bytes, has no plain meaning.
        let examples = asked().map_err(|_| Opinion::None)?;
        same_examples(&examples, found)
    })())
}

/// The arrays of two clients in a sound file of FedJAX: two images of two pixels, and two labels.
pub(crate) fn fedjax_arrays(files: &[Vec<u8>], found: &Found<'_>) -> Opinion {
    opinion((|| {
        let sound =
            forms::map(&[("x", forms::array(&[2, 2], "uint8", &[201, 202, 203, 204])), ("y", forms::array(&[2], "uint8", &[211, 212]))]);
        let holes = [place(&[201, 202, 203, 204], &sound), place(&[211, 212], &sound)];
        let [x, y] = between(&files[0], &sound, &holes)?[..] else { return Err(Opinion::None) };
        let rows: Vec<Vec<f64>> = x.chunks(2).map(|row| row.iter().map(|&byte| super::pixel(byte)).collect()).collect();
        same_rows(&[rows.clone(), rows].concat(), found)?;
        same_clients(&["ann", "ann", "bob", "bob"].map(str::to_owned), found)?;
        same_labels(&[y, y].concat().iter().map(|&label| u32::from(label)).collect::<Vec<_>>(), found)
    })())
}
