//! How fast ranks reach each other: what `motet bench mpi` measures, and what `motet check --ranks` predicts with.

use std::path::Path;
use std::time::Instant;

use motet_runtime::{Crew, CrewGone};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What messages between ranks take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Ranks that were measured; 0 if nothing was.
    pub ranks: usize,
    /// Seconds that a message of a few bytes takes one way, between rank 0 and the rank farthest from it.
    pub latency: f64,
    /// Bytes a second of long messages between the two.
    pub bandwidth: f64,
    /// Seconds until a message is with the rank farthest from rank 0.
    pub message: Vec<Timed>,
    /// Seconds until a message is with everyone, by MPI's tree.
    pub broadcast: Vec<Timed>,
    /// Seconds until everyone has handed so many bytes to everyone.
    pub all_to_all: Vec<Timed>,
}

/// What so many bytes take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// How many.
    pub bytes: u64,
    /// What they take, the median of several.
    pub seconds: f64,
}

/// Sizes that are measured, and how often.
const SIZES: [(usize, usize); 6] = [(8, 41), (4 << 10, 41), (32 << 10, 21), (128 << 10, 21), (1 << 20, 9), (4 << 20, 5)];

impl Network {
    /// What is taken where nothing was measured: Ethernet of 10 Gbit/s with 50 microseconds.
    pub fn assumed() -> Self {
        Self { ranks: 0, latency: 50e-6, bandwidth: 1.25e9, message: vec![], broadcast: vec![], all_to_all: vec![] }
    }

    /// Measures a crew of at least two. Every rank must call it; rank 0 has the figures, the others nothing.
    pub fn measure(crew: &dyn Crew) -> Result<Option<Self>, CrewGone> {
        let leads = crew.rank() == 0;
        // One way is half of there and back.
        let mut latency = 0.0f64;
        for rank in 1..crew.size() {
            let there = |_: usize| to_and_back(crew, rank, 8);
            latency = latency.max(median(101, there)? / 2.0);
        }
        let mut made = Self { ranks: crew.size(), latency, ..Self::assumed() };
        for (bytes, times) in SIZES {
            let mut slowest = 0.0f64;
            for rank in 1..crew.size() {
                slowest = slowest.max(median(times, |_| to_and_back(crew, rank, bytes))? - latency);
            }
            let everyone = median(times, |_| {
                let began = Instant::now();
                crew.broadcast(&mut if leads { vec![1; bytes] } else { vec![] })?;
                all_are_there(crew)?;
                Ok(began.elapsed().as_secs_f64())
            })?;
            let swapped = median(times, |_| {
                let began = Instant::now();
                crew.swap(vec![vec![1; bytes]; crew.size()])?;
                Ok(began.elapsed().as_secs_f64())
            })?;
            let timed = |seconds: f64| Timed { bytes: bytes as u64, seconds: seconds.max(0.0) };
            made.message.push(timed(slowest));
            made.broadcast.push(timed(everyone - latency));
            made.all_to_all.push(timed(swapped));
        }
        if let [.., less, more] = made.message[..] {
            made.bandwidth = (more.bytes - less.bytes) as f64 / (more.seconds - less.seconds).max(1e-9);
        }
        Ok(leads.then_some(made))
    }

    /// What `motet bench mpi` printed into a file.
    pub fn read(file: &Path) -> Result<Self, Error> {
        const LARGEST: u64 = 1 << 20;
        let wrong = |what: String| Error::Unknown(format!("{}: {what}", file.display()));
        let text = motet_files::read(file, LARGEST).map_err(|cause| wrong(cause.to_string()))?;
        let what = "is not what `motet bench mpi` prints";
        let read: Self = serde_json::from_slice(&text).map_err(|cause| wrong(format!("{what}: {cause}")))?;
        if read.is_sound() { Ok(read) } else { Err(wrong(format!("{what}: times must be positive, and sizes must rise"))) }
    }

    /// Can it be predicted with? Files of others may say anything.
    fn is_sound(&self) -> bool {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let rises = |all: &[Timed]| all.windows(2).all(|pair| pair[0].bytes < pair[1].bytes);
        let sound = |all: &Vec<Timed>| rises(all) && all.iter().all(|t| t.seconds.is_finite() && t.seconds >= 0.0);
        positive(self.latency) && positive(self.bandwidth) && [&self.message, &self.broadcast, &self.all_to_all].into_iter().all(sound)
    }

    /// Seconds until so many bytes are with the rank farthest away.
    pub fn message(&self, bytes: f64) -> f64 {
        between(&self.message, bytes).unwrap_or(self.latency + bytes / self.bandwidth)
    }

    /// Seconds until so many bytes are with everyone of so many ranks.
    pub fn broadcast(&self, bytes: f64, ranks: usize) -> f64 {
        let steps = |ranks: usize| f64::from(usize::BITS - ranks.max(1).saturating_sub(1).leading_zeros());
        match between(&self.broadcast, bytes) {
            Some(seconds) => seconds * steps(ranks) / steps(self.ranks).max(1.0),
            None => steps(ranks) * (self.latency + bytes / self.bandwidth),
        }
    }

    /// Seconds until everyone of so many ranks has handed so many bytes to everyone; none if it was not measured between as many.
    pub fn all_to_all(&self, bytes: f64, ranks: usize) -> Option<f64> {
        between(&self.all_to_all, bytes).filter(|_| ranks == self.ranks)
    }
}

/// The line between the two sizes that were measured next to this one; none if fewer than two were.
fn between(timed: &[Timed], bytes: f64) -> Option<f64> {
    let after = timed.iter().position(|t| t.bytes as f64 >= bytes).unwrap_or(timed.len()).clamp(1, timed.len().max(2) - 1);
    let (a, b) = (timed.get(after - 1)?, timed.get(after)?);
    let slope = (b.seconds - a.seconds) / (b.bytes - a.bytes) as f64;
    Some((a.seconds + slope * (bytes - a.bytes as f64)).max(0.0))
}

/// Bytes from rank 0 to this one, and a few back; nothing for the others.
fn to_and_back(crew: &dyn Crew, rank: usize, bytes: usize) -> Result<f64, CrewGone> {
    let began = Instant::now();
    if crew.rank() == 0 {
        crew.send(rank, &vec![1; bytes])?;
        crew.receive(rank)?;
    } else if crew.rank() == rank {
        crew.receive(0)?;
        crew.send(0, &[1; 8])?;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Everyone tells rank 0 that it is there.
fn all_are_there(crew: &dyn Crew) -> Result<(), CrewGone> {
    match crew.rank() {
        0 => (1..crew.size()).try_for_each(|rank| crew.receive(rank).map(|_| ())),
        _ => crew.send(0, &[1; 8]),
    }
}

/// The middle of so many times; the first, which may set something up, does not count.
fn median(times: usize, mut once: impl FnMut(usize) -> Result<f64, CrewGone>) -> Result<f64, CrewGone> {
    once(0)?;
    let mut all = (0..times).map(once).collect::<Result<Vec<_>, _>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[times / 2])
}

#[cfg(test)]
mod tests {
    use motet_runtime::LocalCrew;

    use super::*;

    #[test]
    fn ranks_that_are_threads_are_measured_and_only_rank_0_knows() {
        let crew = LocalCrew::ranks(3);
        let found: Vec<Option<Network>> = std::thread::scope(|scope| {
            let all: Vec<_> = crew.iter().map(|rank| scope.spawn(|| Network::measure(rank).expect("nobody leaves"))).collect();
            all.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let [Some(made), None, None] = &found[..] else { panic!("{found:?}") };
        assert_eq!((made.ranks, made.message.len(), made.broadcast.len(), made.all_to_all.len()), (3, 6, 6, 6));
        assert!(made.latency > 0.0 && made.bandwidth > 0.0);
        let text = serde_json::to_string(made).expect("numbers");
        assert_eq!(serde_json::from_str::<Network>(&text).expect("what was written").ranks, 3);
    }

    #[test]
    fn times_lie_on_lines_between_what_was_measured() {
        let timed = |points: &[(u64, f64)]| points.iter().map(|&(bytes, seconds)| Timed { bytes, seconds }).collect::<Vec<_>>();
        let message = timed(&[(0, 1.0), (100, 2.0), (200, 5.0)]);
        let made = Network { ranks: 2, message: message.clone(), broadcast: message.clone(), all_to_all: message, ..Network::assumed() };
        assert_eq!([0.0, 50.0, 150.0, 200.0, 300.0].map(|bytes| made.message(bytes)), [1.0, 1.5, 3.5, 5.0, 8.0]);
        // A tree of eight ranks is three steps deep, one of two ranks one.
        assert_eq!((made.broadcast(100.0, 2), made.broadcast(100.0, 8), made.broadcast(100.0, 5)), (2.0, 6.0, 6.0));
        assert_eq!((made.all_to_all(50.0, 2), made.all_to_all(50.0, 3)), (Some(1.5), None), "nobody knows how others fare");
        let assumed = Network::assumed();
        assert_eq!((assumed.message(1.25e9), assumed.broadcast(0.0, 4)), (1.00005, 1e-4));
    }
}
