//! What a run keeps to go on from: checkpoints whose checksum fits, client states, local solves, and who is done.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use motet::runtime::Checkpoints;
use motet::{Document, Event, Experiment, Folder, Observer, Simulation};

use super::experiments::{catalogue, pool, small};
use crate::target::{Met, Reach, Target};

/// Experiments that were stopped: the first byte of an input says which, the second which of its files is damaged.
#[derive(Default)]
pub(super) struct Checkpointed {
    stopped: OnceLock<Vec<Stopped>>,
}

/// An experiment that was stopped, and the files it left to go on from.
struct Stopped {
    document: Document,
    folder: tempfile::TempDir,
    files: Vec<Left>,
}

struct Left {
    name: String,
    bytes: Vec<u8>,
    /// The number of a checkpoint: its bytes are the body, around which a checksum goes that fits.
    checkpoint: Option<u64>,
}

/// Stops in the second round.
struct Impatient(std::cell::Cell<u32>);

impl Observer for Impatient {
    fn notice(&self, event: Event<'_>) {
        if matches!(event, Event::Row(_)) {
            self.0.set(self.0.get() + 1);
        }
    }

    fn stop(&self) -> bool {
        self.0.get() > 1
    }
}

impl Checkpointed {
    fn stopped(&self) -> &[Stopped] {
        self.stopped.get_or_init(|| small().iter().filter_map(|text| stop(text)).collect())
    }
}

fn simulation(document: &Document) -> Result<Simulation, motet::Error> {
    Simulation::on(Experiment::of(document.clone(), catalogue())?, pool())
}

fn stop(text: &str) -> Option<Stopped> {
    let text = text.replace("seeds = [1, 2]", "seeds = [1]");
    let mut document = Document::parse("fuzz.toml", &text, "nowhere".into()).expect("a small experiment is one");
    for (key, value) in
        [("run.checkpoint", serde_json::json!({"rounds": 1})), ("run.store", serde_json::json!({"kind": "disk", "memory": "0 B"}))]
    {
        document.assign(key, &value).expect("a key of every experiment");
    }
    let parent = tempfile::tempdir().expect("a temporary folder");
    let folder = parent.path().join("run");
    // Not every method suits every problem.
    let simulation = simulation(&document).ok()?;
    let mut output = Folder::create(&folder, false, &document).expect("a new folder");
    // Whatever ends before it can be stopped leaves nothing to go on from.
    let ended = simulation.run_observed(&mut output, &Impatient(0.into()));
    drop(output);
    if ended.is_ok() || !Folder::is_unfinished(&folder) {
        return None;
    }
    let mut files = vec![];
    let room = folder.join("resume");
    for found in Checkpoints::new(&room.join("run")).find().ok()?.whole {
        files.push(Left { name: "run".into(), bytes: found.body, checkpoint: Some(found.number) });
    }
    for name in ["resume/run/states", "resume/solves-0", "resume/finished.jsonl", "resume/experiment.json"] {
        if let Ok(bytes) = fs::read(folder.join(name)) {
            files.push(Left { name: name.into(), bytes, checkpoint: None });
        }
    }
    Some(Stopped { document, folder: parent, files })
}

impl Target for Checkpointed {
    fn name(&self) -> String {
        "checkpoints".into()
    }

    fn corpus(&self) -> Vec<Vec<u8>> {
        let all = self.stopped().iter().enumerate();
        all.flat_map(|(k, stopped)| {
            stopped.files.iter().enumerate().map(move |(at, file)| [&[k as u8, at as u8][..], &file.bytes].concat())
        })
        .collect()
    }

    fn words(&self) -> Vec<String> {
        vec![]
    }

    fn head(&self) -> usize {
        2
    }

    fn run(&self, input: &[u8], _: Reach) -> Met {
        let ([which, at, ..], all) = (input, self.stopped()) else { return Met::nothing() };
        let stopped = &all[*which as usize % all.len()];
        let file = &stopped.files[*at as usize % stopped.files.len()];
        let copy = tempfile::tempdir().expect("a temporary folder");
        let folder = copy.path().join("run");
        copy_all(&stopped.folder.path().join("run"), &folder).expect("a copy");
        match file.checkpoint {
            Some(number) => drop(Checkpoints::new(&folder.join("resume/run")).save(number, &(&input[2..]).into()).expect("a checkpoint")),
            None => fs::write(folder.join(&file.name), &input[2..]).expect("a file"),
        }
        let simulation = simulation(&stopped.document).expect("it was begun");
        match Folder::resume(&folder, &simulation.manifest(), &|_| ()) {
            Ok(mut output) => Met::of(simulation.run(&mut output)),
            Err(error) => Met::of(Err::<(), _>(error)),
        }
    }
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let to = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() { copy_all(&path, &to)? } else { fs::copy(&path, &to).map(|_| ())? }
    }
    Ok(())
}
