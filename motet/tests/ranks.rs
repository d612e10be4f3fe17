//! Experiments on several ranks, which are threads of this program: what a cluster does when something cannot be opened, and when the number of
//! ranks changes on the way.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use motet::config::{Document, Experiment};
use motet::core::UpDown;
use motet::records::Records;
use motet::runtime::{Crew, LocalCrew, Pool};
use motet::{Catalogue, Error, Event, Folder, Observer, Simulation};

/// The problem and the rest of the experiment that `tools/kills` disturbs, and its methods, each by itself: every method there is.
fn every_method() -> (String, Vec<String>) {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/kills.toml")).expect("it is in the repository");
    let short = text.replace("seeds = [1, 2]", "seeds = [1]").replace("rounds     = 30", "rounds     = 8");
    let mut parts = short.split("[[method]]").map(str::to_owned);
    let common = parts.next().expect("something").replace("checkpoint = { rounds = 2 }", "checkpoint = { rounds = 1 }");
    assert!(common.contains("rounds     = 8") && common.contains("checkpoint = { rounds = 1 }"), "{common}");
    (common, parts.map(|method| format!("[[method]]{method}")).collect())
}

fn planned(text: &str) -> Simulation {
    let document = Document::parse("ranks.toml", text, PathBuf::new()).expect("an experiment");
    Simulation::on(Experiment::of(document, &Catalogue::standard()).expect("an experiment"), Arc::new(Pool::new(1))).expect("a problem")
}

/// Stops once so many moments could have been kept; before that it is asked once before the run.
struct Patience(AtomicI64);

impl Observer for Patience {
    fn notice(&self, _: Event<'_>) {}
    fn stop(&self) -> bool {
        self.0.fetch_sub(1, Ordering::Relaxed) <= 0
    }
}

const TO_THE_END: i64 = i64::MAX;

/// Begins an experiment in a folder, or goes on with it, on so many ranks, and stops when so many moments are kept.
fn go(text: &str, folder: &Path, ranks: usize, moments: i64) -> Result<Records, Error> {
    go_round(text, folder, ranks, (moments, None))
}

/// The same with a file in the way, at this place of the folder for resuming.
fn go_round(text: &str, folder: &Path, ranks: usize, (moments, in_the_way): (i64, Option<&'static str>)) -> Result<Records, Error> {
    let mut crew = LocalCrew::ranks(ranks).into_iter().map(|rank| Arc::new(rank) as Arc<dyn Crew>);
    let root = crew.next().expect("rank 0");
    let others: Vec<_> = crew
        .map(|rank| {
            let text = text.to_owned();
            thread::spawn(move || planned(&text).spread_over(Arc::clone(&rank)).serve(&rank))
        })
        .collect();
    let (text, folder) = (text.to_owned(), folder.to_owned());
    let first = thread::spawn(move || {
        let simulation = planned(&text);
        let mut output = if Folder::is_unfinished(&folder) {
            Folder::resume(&folder, &simulation.manifest(), &|_| ())?
        } else {
            Folder::create(&folder, false, &simulation.experiment().document)?
        };
        if let Some(file) = in_the_way.map(|place| folder.join("resume").join(place)) {
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, "in the way").expect("a file");
        }
        simulation.spread_over(root).run_observed(&mut output, &Patience(AtomicI64::new(moments)))
    });
    // A rank that waits for ever would keep this test from ever ending.
    let until = Instant::now() + Duration::from_secs(120);
    while !(first.is_finished() && others.iter().all(thread::JoinHandle::is_finished)) {
        assert!(Instant::now() < until, "the job hangs: rank 0 is {}at its end", if first.is_finished() { "" } else { "not " });
        thread::sleep(Duration::from_millis(2));
    }
    for other in others {
        other.join().expect("no rank panics").expect("other ranks are let go");
    }
    first.join().expect("rank 0 does not panic")
}

/// Rows without times, and how every run ended.
fn left(records: Records) -> (String, Vec<(String, UpDown, u64)>) {
    let rows: Vec<_> = records.rows.into_iter().map(|row| motet::core::Row { seconds: None, ..row }).collect();
    let runs = records.summary.expect("it came to its end").runs;
    (format!("{rows:?}"), runs.into_iter().map(|run| (run.digest, run.bits, run.gradients)).collect())
}

#[test]
fn every_method_goes_on_with_another_number_of_ranks_and_back_again() {
    let (common, methods) = every_method();
    assert_eq!(methods.len(), Catalogue::standard().methods().count());
    let parent = tempfile::tempdir().expect("a folder");
    for (k, method) in methods.iter().enumerate() {
        let text = format!("{common}{method}");
        let (alone, folder) = (parent.path().join(format!("alone-{k}")), parent.path().join(format!("moved-{k}")));
        let whole = left(go(&text, &alone, 1, TO_THE_END).unwrap_or_else(|error| panic!("{method}: {error}")));
        // Three checkpoints on three ranks, one on two, one on three, which do not go on from what the first three had.
        for (ranks, moments) in [(3, 3), (2, 1), (3, 1), (3, 1)] {
            match go(&text, &folder, ranks, moments) {
                Err(Error::Interrupted { .. }) => {}
                // What has one round only is over before anybody can stop it.
                Ok(_) if method.contains("one-shot") || method.contains("\"local\"") => break,
                other => panic!("{method} on {ranks} ranks: {:?}", other.map(|_| "it was not stopped")),
            }
        }
        let gone_on = match Folder::is_unfinished(&folder) {
            true => go(&text, &folder, 3, TO_THE_END).unwrap_or_else(|error| panic!("{method}: {error}")),
            false => Records::read(&folder).expect("records"),
        };
        assert_eq!(left(gone_on), whole, "{method}");
    }
}

/// Where the newest checkpoints are damaged, an older one of another number of ranks still has its states.
#[test]
fn what_older_checkpoints_name_is_not_written_over() {
    let (common, methods) = every_method();
    let scafflix = methods.iter().find(|method| method.contains("\"scafflix\"")).expect("Scafflix");
    let (text, parent) = (format!("{common}{scafflix}"), tempfile::tempdir().expect("a folder"));
    let whole = left(go(&text, &parent.path().join("alone"), 1, TO_THE_END).expect("a run"));
    for sizes in [[3, 2, 3], [1, 2, 1]] {
        let folder = parent.path().join(format!("{sizes:?}"));
        for (ranks, moments) in sizes.into_iter().zip([2, 1, 1]) {
            assert!(matches!(go(&text, &folder, ranks, moments), Err(Error::Interrupted { .. })));
        }
        let mut checkpoints: Vec<PathBuf> =
            fs::read_dir(folder.join("resume/run")).expect("it goes on").map(|entry| entry.expect("a file").path()).collect();
        checkpoints.retain(|file| file.extension().is_some_and(|ending| ending == "checkpoint"));
        checkpoints.sort();
        let [_, second, third] = &checkpoints[..] else { panic!("{checkpoints:?}") };
        for damaged in [second, third] {
            fs::write(damaged, "damaged").expect("a file");
        }
        assert_eq!(left(go(&text, &folder, sizes[0], TO_THE_END).expect("a run")), whole, "{sizes:?}");
    }
}

#[test]
fn a_run_that_cannot_be_opened_ends_the_job_with_a_message() {
    let (common, methods) = every_method();
    let (text, parent) = (format!("{common}{}", methods[1]), tempfile::tempdir().expect("a folder"));
    // Nobody has room for states; rank 0 alone has none; rank 1 alone.
    for (name, file) in [("all", "run"), ("first", "run/ranks-2/0"), ("second", "run/ranks-2/1")] {
        let folder = parent.path().join(name);
        let Err(error) = go_round(&text, &folder, 2, (TO_THE_END, Some(file))) else { panic!("{name}: it ran") };
        let error = error.to_string();
        assert!(error.contains("exists") || error.contains("Not a directory"), "{name}: {error}");
    }
}
