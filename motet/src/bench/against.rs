//! A workload beside the same one in another library, by turns.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use motet_runtime::Pool;
use serde::{Deserialize, Serialize};

use super::{WORKLOADS, Workload, median};
use crate::error::Error;

/// The peers' side. It travels inside the program; `tools/peer.py` is the same file.
const SCRIPT: &str = include_str!("peer.py");

/// How much faster we are than a peer.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Which workload.
    pub workload: &'static str,
    /// Library and version.
    pub peer: String,
    /// How often each side was timed.
    pub turns: usize,
    /// Their seconds over ours, turn by turn.
    pub ratio: Ratio,
    /// Our seconds a round, the middle of all turns.
    pub seconds_per_round: f64,
    /// Theirs.
    pub peer_seconds_per_round: f64,
    /// The memory of all their processes, where the system tells.
    pub peer_memory_mb: Option<f64>,
}

/// The middle of some ratios and the range they lie in.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ratio {
    /// The middle one.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Ratio {
    fn of(mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        let at = |k: usize| ratios.get(k).copied().unwrap_or(f64::NAN);
        Self { median: median(ratios.clone()), least: at(0), most: at(ratios.len().saturating_sub(1)) }
    }
}

impl Workload {
    /// The workloads that a peer can do too.
    pub fn has_peer(self) -> bool {
        self.rounds_per_turn().is_some()
    }

    /// So many that a turn takes a second or two; of the two small workloads, less than a fifth of one.
    fn rounds_per_turn(self) -> Option<u64> {
        match self {
            Workload::Cnn | Workload::Lstm | Workload::Resnet | Workload::Bert => Some(3),
            Workload::Tiny | Workload::Logistic => Some(300),
            _ => None,
        }
    }

    /// Times it beside the same workload in the libraries of a Python environment: PyTorch for networks (one process of one thread
    /// for each of our threads), numpy for `tiny`, scipy for `logistic`. Both sides take turns, and each begins every other one.
    pub fn compare(self, environment: &Path, pool: &Arc<Pool>, rounds: Option<u64>, turns: usize) -> Result<Comparison, Error> {
        let name = WORKLOADS.iter().find(|(workload, ..)| *workload == self).map_or("", |(_, name, _)| name);
        let Some(rounds) = self.rounds_per_turn().map(|usual| rounds.unwrap_or(usual)) else {
            let known: Vec<&str> = WORKLOADS.iter().filter(|(workload, ..)| workload.has_peer()).map(|(_, name, _)| *name).collect();
            return Err(Error::Unknown(format!("`{name}` has no peer to be compared with: choose one of {}", known.join(", "))));
        };
        let mut peer = Peer::start(environment, name, pool.threads(), rounds)?;
        let (mut ours, mut theirs, mut memory) = (vec![], vec![], None);
        for turn in 0..turns {
            let mut mine = || -> Result<(), Error> {
                let timing = self.time(pool, Some(rounds))?;
                ours.push(timing.get("seconds_per_round").and_then(serde_json::Value::as_f64).unwrap_or(f64::NAN));
                Ok(())
            };
            if turn % 2 == 0 {
                mine()?;
            }
            let answer = peer.turn()?;
            theirs.push(answer.seconds_per_round);
            memory = answer.memory_mb;
            if turn % 2 == 1 {
                mine()?;
            }
        }
        let ratio = Ratio::of(theirs.iter().zip(&ours).map(|(theirs, ours)| theirs / ours).collect());
        let (seconds_per_round, peer_seconds_per_round) = (median(ours), median(theirs));
        let peer = peer.name.clone();
        Ok(Comparison { workload: name, peer, turns, ratio, seconds_per_round, peer_seconds_per_round, peer_memory_mb: memory })
    }
}

/// A running peer: warm, and idle between its turns.
struct Peer {
    name: String,
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Holds the script while it runs.
    _folder: tempfile::TempDir,
}

#[derive(Deserialize)]
struct Ready {
    peer: String,
}

#[derive(Deserialize)]
struct Answer {
    seconds_per_round: f64,
    memory_mb: Option<f64>,
}

impl Peer {
    fn start(environment: &Path, workload: &str, processes: usize, rounds: u64) -> Result<Self, Error> {
        let python = environment.join("bin").join("python");
        if !python.is_file() {
            let shown = environment.display();
            return Err(Error::Unknown(format!(
                "--against {shown}: there is no {}: make an environment with `python3 -m venv {shown}` and `{shown}/bin/pip install torch scipy`",
                python.display()
            )));
        }
        let folder = tempfile::tempdir().map_err(|source| Error::Write { path: std::env::temp_dir(), source })?;
        let script = folder.path().join("peer.py");
        motet_files::replace(&script, SCRIPT.as_bytes()).map_err(|source| Error::Write { path: script.clone(), source })?;
        let mut child = Command::new(&python)
            .arg(&script)
            .args([workload, "--processes", &processes.to_string(), "--rounds", &rounds.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| Error::Unknown(format!("{}: cannot be run: {e}", python.display())))?;
        let (Some(asks), Some(answers)) = (child.stdin.take(), child.stdout.take()) else { unreachable!("both were asked for above") };
        let mut peer = Self { name: String::new(), child, asks, answers: BufReader::new(answers), _folder: folder };
        peer.name = peer.read::<Ready>()?.peer;
        Ok(peer)
    }

    fn turn(&mut self) -> Result<Answer, Error> {
        self.asks.write_all(b"\n").and_then(|()| self.asks.flush()).map_err(|e| odd(&e))?;
        self.read()
    }

    fn read<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, Error> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| odd(&e))?;
        if line.is_empty() {
            return Err(odd(&"it ended early; what it says is above. Networks need `pip install torch`, logistic `pip install scipy`"));
        }
        serde_json::from_str(&line).map_err(|e| odd(&e))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends by itself when nobody asks any more; one that does not is of no use either.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn odd(e: &dyn std::fmt::Display) -> Error {
    Error::Unknown(format!("the peer cannot be compared with: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_range_of_ratios() {
        let ratio = Ratio::of(vec![2.0, 1.0, 4.0]);
        assert_eq!((ratio.median, ratio.least, ratio.most), (2.0, 1.0, 4.0));
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        let pool = Arc::new(Pool::new(1));
        let wrong = |workload: Workload| workload.compare(Path::new("/nowhere/at/all"), &pool, None, 1).unwrap_err();
        assert_eq!(
            wrong(Workload::Mlp).to_string(),
            "`mlp` has no peer to be compared with: choose one of logistic, cnn, lstm, resnet, bert, tiny"
        );
        let missing = wrong(Workload::Cnn);
        assert!(missing.to_string().starts_with("--against /nowhere/at/all: there is no /nowhere/at/all/bin/python: make an"), "{missing}");
        assert_eq!(missing.exit_code(), 2);
    }

    /// A stand-in for Python that speaks as the script does.
    #[cfg(unix)]
    #[test]
    fn a_peer_is_asked_by_turns_and_one_that_ends_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("bin/python");
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        let write = |text: &str| {
            std::fs::write(&python, text).unwrap();
            std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        write(
            "#!/bin/sh\necho '{\"peer\": \"slow 1.0\"}'\nwhile read -r _; do echo '{\"seconds_per_round\": 1000.0, \"memory_mb\": null}'; done\n",
        );
        let pool = Arc::new(Pool::new(1));
        let compared = Workload::Tiny.compare(folder.path(), &pool, Some(1), 3).unwrap();
        assert_eq!((compared.peer.as_str(), compared.turns, compared.peer_seconds_per_round), ("slow 1.0", 3, 1000.0));
        assert!(
            compared.ratio.least > 1000.0 && compared.ratio.least <= compared.ratio.median && compared.ratio.median <= compared.ratio.most
        );
        write("#!/bin/sh\nexit 1\n");
        let ended = Workload::Tiny.compare(folder.path(), &pool, Some(1), 1).unwrap_err().to_string();
        assert!(ended.contains("it ended early"), "{ended}");
    }
}
