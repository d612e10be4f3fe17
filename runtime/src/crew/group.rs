//! Some of the ranks of a crew, as a crew of their own.

use std::ops::Range;
use std::sync::Arc;

use super::{Crew, CrewGone};

/// Neighbouring ranks that work on something while the others do something else. Rank 0 of the group is its first rank.
pub struct Group {
    all: Arc<dyn Crew>,
    ranks: Range<usize>,
}

impl Group {
    /// These ranks of a crew; whoever makes it is one of them.
    ///
    /// # Panics
    /// If it is not.
    pub fn of(all: Arc<dyn Crew>, ranks: Range<usize>) -> Self {
        assert!(ranks.contains(&all.rank()) && ranks.end <= all.size(), "a group is made by its members");
        Self { all, ranks }
    }

    /// So many groups of neighbours, each as large as the others or larger by one.
    pub fn dealt(ranks: usize, groups: usize) -> Vec<Range<usize>> {
        (0..groups).map(|k| k * ranks / groups..(k + 1) * ranks / groups).collect()
    }
}

impl Crew for Group {
    fn rank(&self) -> usize {
        self.all.rank() - self.ranks.start
    }

    fn size(&self) -> usize {
        self.ranks.len()
    }

    fn neighbours(&self) -> Vec<usize> {
        let inside = self.all.neighbours().into_iter().filter(|rank| self.ranks.contains(rank));
        inside.map(|rank| rank - self.ranks.start).collect()
    }

    /// By a tree: whoever has the message hands it on to as many as had it before.
    fn broadcast(&self, message: &mut Vec<u8>) -> Result<(), CrewGone> {
        let mut reach = 1;
        while reach < self.size() {
            if (reach..2 * reach).contains(&self.rank()) {
                *message = self.receive(self.rank() - reach)?;
            } else if self.rank() < reach && self.rank() + reach < self.size() {
                self.send(self.rank() + reach, message)?;
            }
            reach *= 2;
        }
        Ok(())
    }

    fn send(&self, to: usize, message: &[u8]) -> Result<(), CrewGone> {
        self.all.send(self.ranks.start + to, message).map_err(|_| CrewGone(to))
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, CrewGone> {
        self.all.receive(self.ranks.start + from).map_err(|_| CrewGone(from))
    }

    fn look_for(&self, from: usize) -> Result<Option<Vec<u8>>, CrewGone> {
        self.all.look_for(self.ranks.start + from).map_err(|_| CrewGone(from))
    }

    fn swap(&self, mut messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CrewGone> {
        let me = self.rank();
        let mut inbox = vec![vec![]; self.size()];
        inbox[me] = std::mem::take(&mut messages[me]);
        // Everyone goes through the others in the same order, and of two the first sends first: nobody waits in a circle.
        for other in (0..self.size()).filter(|&other| other != me) {
            if me < other {
                self.send(other, &messages[other])?;
                inbox[other] = self.receive(other)?;
            } else {
                inbox[other] = self.receive(other)?;
                self.send(other, &messages[other])?;
            }
        }
        Ok(inbox)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::LocalCrew;

    #[test]
    fn groups_speak_among_themselves() {
        for (ranks, groups) in [(2, 2), (3, 2), (8, 3), (7, 1)] {
            let dealt = Group::dealt(ranks, groups);
            assert_eq!(dealt.iter().map(|group| group.len()).sum::<usize>(), ranks);
            std::thread::scope(|scope| {
                for member in LocalCrew::ranks(ranks) {
                    let mine = dealt.iter().find(|group| group.contains(&member.rank())).cloned();
                    scope.spawn(move || {
                        let first = mine.clone().map(|group| group.start);
                        let group = Group::of(Arc::new(member), mine.unwrap_or(0..0));
                        let mut said = if group.rank() == 0 { vec![first.unwrap_or(0) as u8] } else { vec![] };
                        group.broadcast(&mut said).unwrap();
                        assert_eq!(said, [first.unwrap_or(0) as u8]);
                        let out = (0..group.size()).map(|to| vec![group.rank() as u8, to as u8]).collect();
                        let back = group.swap(out).unwrap();
                        let expected: Vec<_> = (0..group.size()).map(|from| vec![from as u8, group.rank() as u8]).collect();
                        assert_eq!(back, expected);
                    });
                }
            });
        }
    }
}
