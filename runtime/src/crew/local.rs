//! Ranks that are threads of one program: the same code as on a cluster, for tests.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};

use super::{Crew, CrewGone};

/// One of several ranks in a program.
#[derive(Debug)]
pub struct LocalCrew {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl LocalCrew {
    /// So many ranks that know each other.
    pub fn ranks(size: usize) -> Vec<Self> {
        let mut crew: Vec<Self> = (0..size).map(|rank| Self { rank, to: vec![], from: vec![] }).collect();
        for sender in 0..size {
            for member in &mut *crew {
                // Filled in the order of senders, so that place k is rank k's.
                let (to, from) = channel();
                member.from.push(Mutex::new(from));
                // The sender's own list grows in the order of receivers.
                member.to.push(to);
                debug_assert_eq!(member.from.len(), sender + 1);
            }
        }
        // So far everyone has the ends by which others send to it: they are handed to those others.
        let ends: Vec<Vec<Sender<Vec<u8>>>> = crew.iter_mut().map(|member| std::mem::take(&mut member.to)).collect();
        for (sender, member) in crew.iter_mut().enumerate() {
            member.to = ends.iter().map(|receiver| receiver[sender].clone()).collect();
        }
        crew
    }
}

impl Crew for LocalCrew {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn neighbours(&self) -> Vec<usize> {
        (0..self.size()).collect()
    }

    fn broadcast(&self, message: &mut Vec<u8>) -> Result<(), CrewGone> {
        if self.rank == 0 {
            return (1..self.size()).try_for_each(|to| self.send(to, message));
        }
        *message = self.receive(0)?;
        Ok(())
    }

    fn send(&self, to: usize, message: &[u8]) -> Result<(), CrewGone> {
        self.to[to].send(message.to_vec()).map_err(|_| CrewGone(to))
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, CrewGone> {
        self.from[from].lock().unwrap_or_else(PoisonError::into_inner).recv().map_err(|_| CrewGone(from))
    }

    fn look_for(&self, from: usize) -> Result<Option<Vec<u8>>, CrewGone> {
        match self.from[from].lock().unwrap_or_else(PoisonError::into_inner).try_recv() {
            Ok(message) => Ok(Some(message)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(CrewGone(from)),
        }
    }

    fn swap(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CrewGone> {
        messages.iter().enumerate().try_for_each(|(to, message)| self.send(to, message))?;
        (0..self.size()).map(|from| self.receive(from)).collect()
    }
}
