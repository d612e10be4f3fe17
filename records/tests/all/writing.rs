//! A folder is written, cut back, and every flipped byte in it is found.

use std::fs;
use std::path::Path;

use motet_core::{ClientId, Merit, Row};
use motet_records::{
    ClientRow, Event, EventKind, Format, Lengths, Manifest, ModelFile, Models, Records, RunCard, Summary, Writer, names, verify,
};

fn card() -> RunCard {
    RunCard { label: "flix alpha=0.5".into(), method: "flix".into(), ..RunCard::default() }
}

fn models() -> Models {
    let personal = vec![(ClientId(0), vec![1.0f32, 2.0].into()), (ClientId(3), vec![3.0f32, f32::NAN].into())];
    Models { run: 0, shared: vec![0.5f64, 0.25].into(), personal, passport: Some("{\"features\":2}".into()) }
}

fn row(round: u64) -> Row {
    Row { round, metrics: [("loss".to_owned(), 1.0 / (round + 1) as f64)].into(), ..Row::default() }
}

/// Everything a folder can hold.
pub(crate) fn write(folder: &Path) -> Records {
    let mut writer = Writer::open(folder, Lengths::default()).unwrap();
    let manifest = Manifest { experiment: "e".into(), runs: vec![card()], ..Manifest::default() };
    let client = ClientRow { run: 0, client: 0, name: Some("Ada".into()), examples: 7, metrics: row(2).metrics, ..ClientRow::default() };
    let merit = Merit::new(0, 1, 0, &[0.25, 0.75]);
    let event = Event::now(EventKind::Breach, "a reply of 3 numbers, not 2").in_run(0).in_round(2).about(3);
    writer.experiment("name = \"e\"\n").unwrap();
    writer.manifest(&manifest).unwrap();
    (0..3).for_each(|round| writer.row(&row(round)).unwrap());
    writer.sync().unwrap();
    (3..5).for_each(|round| writer.row(&row(round)).unwrap());
    writer.clients(std::slice::from_ref(&client)).unwrap();
    writer.merit(&merit).unwrap();
    writer.event(&event).unwrap();
    let Models { shared, personal, passport, .. } = models();
    personal.iter().for_each(|(id, model)| writer.model(&card(), *id, model).unwrap());
    writer.models(&card(), &shared, passport).unwrap();
    assert_eq!(fs::read(folder.join(names::model(&card()))).unwrap(), models().encode().unwrap(), "as if written at once");
    let summary = Summary { experiment: "e".into(), ..Summary::default() };
    writer.summary(&summary).unwrap();
    writer.close().unwrap();
    Records {
        manifest,
        summary: Some(summary),
        rows: (0..5).map(row).collect(),
        clients: vec![client],
        merits: vec![merit],
        events: vec![event],
        models: vec![],
    }
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let written = write(folder.path());
    let mut read = Records::read(folder.path()).unwrap();
    assert_eq!(read, written);
    read.read_models(folder.path()).unwrap();
    assert_eq!(read.model(0, None), Some(&vec![0.5f64, 0.25].into()));
    assert_eq!(read.model(0, Some(ClientId(0))), Some(&vec![1.0f32, 2.0].into()));
    assert_eq!(read.model(0, Some(ClientId(1))), None);
    let number = read.model(0, Some(ClientId(3))).unwrap().f32s()[1];
    assert!(number.is_nan(), "numbers of a model that are not finite survive too");
    let bytes = fs::read(folder.path().join(names::model(&card()))).unwrap();
    let file = ModelFile::new(&bytes).unwrap();
    assert_eq!((file.passport.as_deref(), file.clients()), (Some("{\"features\":2}"), vec![ClientId(0), ClientId(3)]));
    let said = file.model(Some(ClientId(1))).unwrap_err().to_string();
    assert_eq!(said, "has no model of client 1: there are 2, counted from 0");
}

pub(crate) fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all = vec![];
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() { all.extend(files(&entry)) } else { all.push(entry) }
    }
    all
}

#[test]
fn a_flipped_byte_in_every_file_is_found_and_the_file_named() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let sound = verify(folder.path()).unwrap();
    assert!(sound.is_sound() && sound.behind.is_empty(), "{sound:?}");
    let files = files(folder.path());
    assert_eq!(files.len(), 9, "{files:?}");
    for path in files {
        let name = path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
        let whole = fs::read(&path).unwrap();
        // Every fifth byte, and the last.
        for at in (0..whole.len()).step_by(5).chain([whole.len() - 1]) {
            let mut bad = whole.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            let found = verify(folder.path()).unwrap();
            assert!(!found.is_sound(), "{name}, byte {at}");
            // A damaged checksum speaks of another file, or none.
            if name != names::CHECKSUMS {
                assert!(found.damaged.len() == 1 && found.damaged[0].span.file == name, "{name}, byte {at}: {found:?}");
                assert!((found.damaged[0].span.from..found.damaged[0].span.to).contains(&(at as u64)));
            }
        }
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(!verify(folder.path()).unwrap().is_sound(), "{name}, cut");
        fs::remove_file(&path).unwrap();
        assert!(!verify(folder.path()).unwrap().is_sound(), "{name}, removed");
        fs::write(&path, &whole).unwrap();
    }
}

/// A file may have holes: eight terabytes that take no room, and half an hour to read.
#[test]
fn a_file_that_was_made_endless_is_named_and_not_read() {
    for name in [names::MANIFEST, names::SUMMARY, names::ROWS, names::CHECKSUMS] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let file = fs::OpenOptions::new().write(true).open(folder.path().join(name)).unwrap();
        // Not every file system has files of this size.
        if file.set_len(1 << 43).is_ok() {
            let found = verify(folder.path());
            assert!(found.is_err() || !found.unwrap().is_sound(), "{name}");
            assert!(Records::read(folder.path()).is_err(), "{name}");
        }
    }
}

#[test]
fn the_open_tail_is_not_covered_yet_and_a_chunk_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), Lengths::default()).unwrap();
    writer.row(&row(1)).unwrap();
    let open = verify(folder.path()).unwrap();
    let length = fs::metadata(folder.path().join(names::ROWS)).unwrap().len();
    assert!(open.damaged.is_empty());
    assert_eq!(open.uncovered.iter().map(|s| (s.file.as_str(), s.from, s.to)).collect::<Vec<_>>(), [(names::ROWS, 0, length)]);
    for round in 0.. {
        writer.row(&row(round)).unwrap();
        if fs::metadata(folder.path().join(names::ROWS)).unwrap().len() > 600 << 10 {
            break;
        }
    }
    let open = verify(folder.path()).unwrap();
    assert!(open.damaged.is_empty() && open.uncovered[0].from > 512 << 10, "{open:?}");
}

#[test]
fn a_folder_cut_back_goes_on_and_its_checksums_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), Lengths::default()).unwrap();
    writer.manifest(&Manifest::default()).unwrap();
    writer.row(&row(1)).unwrap();
    let kept = writer.sync().unwrap();
    writer.row(&row(2)).unwrap();
    writer.event(&Event::now(EventKind::Note, "never happened")).unwrap();
    writer.sync().unwrap();
    writer.row(&row(3)).unwrap();
    drop(writer);
    let mut writer = Writer::open(folder.path(), kept).unwrap();
    writer.manifest(&Manifest { experiment: "again".into(), ..Manifest::default() }).unwrap();
    writer.row(&row(4)).unwrap();
    writer.close().unwrap();
    let found = verify(folder.path()).unwrap();
    assert!(found.is_sound() && found.behind.is_empty(), "{found:?}");
    let records = Records::read(folder.path()).unwrap();
    assert_eq!((records.rows, records.events), (vec![row(1), row(4)], vec![]));
    // A length between two checksums: what has none any more is covered anew.
    let half = Lengths { rows: kept.rows / 2, ..kept };
    Writer::open(folder.path(), half).unwrap().close().unwrap();
    assert!(verify(folder.path()).unwrap().is_sound());
}

#[test]
fn a_kill_between_a_checksum_and_its_file_is_not_damage() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let before = fs::read(folder.path().join(names::MANIFEST)).unwrap();
    let mut writer = Writer::open(folder.path(), Lengths::found(folder.path())).unwrap();
    writer.manifest(&Manifest::default()).unwrap();
    fs::write(folder.path().join(names::MANIFEST), before).unwrap();
    fs::create_dir(folder.path().join("resume")).unwrap();
    fs::write(folder.path().join(names::UNFINISHED), "{}").unwrap();
    let found = verify(folder.path()).unwrap();
    assert!(found.is_sound(), "{found:?}");
    assert_eq!(found.behind, [names::MANIFEST]);
    // An experiment that is done has left nothing behind.
    fs::remove_file(folder.path().join(names::UNFINISHED)).unwrap();
    let said = Records::read(folder.path()).unwrap_err().to_string();
    assert!(said.contains("manifest.json, bytes 0 to 0: is older than its last checksum"), "{said}");
}

#[test]
fn checksums_lead_nowhere_outside_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let path = folder.path().join(names::CHECKSUMS);
    let text = fs::read_to_string(&path).unwrap();
    for name in ["../secret", "/etc/passwd", "models/../../secret", "models/a/b", "report.html"] {
        fs::write(&path, format!("{text}{{\"file\":\"{name}\",\"to\":1,\"sha256\":\"00\"}}\n")).unwrap();
        let found = verify(folder.path()).unwrap();
        assert!(found.damaged.len() == 1 && found.damaged[0].span.file == names::CHECKSUMS, "{name}: {found:?}");
    }
}

/// Rows counted since the row before them; what is read counts since the start, as rows do now.
#[test]
fn rows_of_formats_before_3_are_added_up() {
    let folder = tempfile::tempdir().unwrap();
    let row = |run, round, steps| Row { run, round, attempts: 5, notes: [("steps".to_owned(), steps)].into(), ..Row::default() };
    let lines = [row(0, 0, 1.0), row(1, 0, 7.0), row(0, 5, 2.0)].map(|row| serde_json::to_string(&row).unwrap() + "\n");
    fs::write(folder.path().join(names::ROWS), lines.concat()).unwrap();
    let manifest = serde_json::to_string(&Manifest { format: Format(1), ..Manifest::default() }).unwrap();
    fs::write(folder.path().join(names::MANIFEST), manifest).unwrap();
    let rows = Records::read(folder.path()).unwrap().rows;
    let counted: Vec<_> = rows.iter().map(|row| (row.attempts, row.totals["steps"])).collect();
    assert_eq!(counted, [(5, 1.0), (5, 7.0), (10, 3.0)]);
}

#[test]
fn newer_formats_are_refused_by_their_number() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let path = folder.path().join(names::MANIFEST);
    let newer = fs::read_to_string(&path).unwrap().replace("\"format\": 3", "\"format\": 4").replace("\"problems\"", "\"tasks\"");
    fs::write(&path, newer).unwrap();
    let said = Records::read(folder.path()).unwrap_err().to_string();
    assert!(said.contains("manifest.json: written by format 4, this program reads 1 to 3: use a newer motet"), "{said}");
}
