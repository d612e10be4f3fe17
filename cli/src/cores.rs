//! How many threads a rank has where nothing is said: its share of the cores that it may use.
//!
//! A launcher may let every rank of a machine use all cores, or bind each to some of its own. So ranks that may use the same cores share
//! them, and a rank that is alone on its cores has them all.

use std::fs;
use std::thread;

use motet::runtime::{Crew, CrewGone};

/// The share of this rank. Every rank must call it.
pub(crate) fn share(crew: &dyn Crew) -> Result<usize, CrewGone> {
    let (own, neighbours) = (allowed(), crew.neighbours());
    let to = |rank: usize| if neighbours.contains(&rank) { own.clone() } else { vec![] };
    let heard = crew.swap((0..crew.size()).map(to).collect())?;
    let of_this_machine: Vec<&[u8]> = neighbours.iter().map(|&rank| &*heard[rank]).collect();
    // What this program may use counts bindings, and limits of a container too.
    Ok(divided(thread::available_parallelism().map_or(1, usize::from), &own, &of_this_machine))
}

/// The share of so many cores of a rank that may use these, where the ranks of its machine, it among them, may use those.
fn divided(cores: usize, own: &[u8], all: &[&[u8]]) -> usize {
    let alike = all.iter().filter(|other| **other == own).count();
    (cores / alike.max(1)).max(1)
}

/// Which cores this program may use, as the system writes it; nothing where it does not.
fn allowed() -> Vec<u8> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"));
    line.unwrap_or_default().trim().as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use motet::runtime::LocalCrew;

    use super::*;

    #[test]
    fn ranks_share_the_cores_that_they_have_in_common() {
        // Eight cores for all four; two for each of four; four for each of two pairs.
        assert_eq!(divided(8, b"ff", &[b"ff" as &[u8]; 4]), 2);
        assert_eq!(divided(2, b"c0", &[b"03", b"0c", b"30", b"c0"]), 2);
        assert_eq!(divided(4, b"0f", &[b"0f", b"0f", b"f0", b"f0"]), 2);
        // More ranks than cores.
        assert_eq!(divided(2, b"3", &[b"3" as &[u8]; 5]), 1);
        let crew = LocalCrew::ranks(3);
        let shares: Vec<usize> = thread::scope(|scope| {
            let all: Vec<_> = crew.iter().map(|rank| scope.spawn(|| share(rank).expect("nobody leaves"))).collect();
            all.into_iter().map(|rank| rank.join().expect("no panic")).collect()
        });
        let cores = thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(shares, [(cores / 3).max(1); 3]);
    }
}
