//! Ranks of a program that an MPI started: `mpirun -n 64 motet run big.toml`.

use mpi::collective::CommunicatorCollectives;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::Root;

use super::{Crew, CrewGone};

/// So much of a broadcast goes out with its length: most orders need no second message.
const FIRST: usize = 4096;
/// MPI counts bytes in 31 bits: longer messages go in parts.
const LONGEST: usize = 1 << 30;

/// All ranks of the job. Failures end the whole job: MPI sees to it.
pub struct MpiCrew {
    rank: usize,
    size: usize,
    neighbours: Vec<usize>,
}

/// Ends MPI when it is dropped.
pub struct MpiSession(#[allow(dead_code, reason = "held for its end")] Universe);

impl MpiCrew {
    /// Joins the job that this program was started in; none if MPI was joined before.
    pub fn join() -> Option<(MpiSession, Self)> {
        // Only the thread that runs the loop, or serves, ever sends or receives.
        let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled)?;
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        let machine = world.split_shared(world.rank());
        let mut neighbours = vec![0; machine.size() as usize];
        machine.all_gather_into(&world.rank(), &mut neighbours[..]);
        let neighbours = neighbours.into_iter().map(|rank| rank as usize).collect();
        Some((MpiSession(universe), Self { rank, size, neighbours }))
    }

    /// Ends the whole job at once, with this exit code.
    pub fn abort(code: i32) -> ! {
        SimpleCommunicator::world().abort(code)
    }
}

fn world() -> SimpleCommunicator {
    SimpleCommunicator::world()
}

impl Crew for MpiCrew {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn neighbours(&self) -> Vec<usize> {
        self.neighbours.clone()
    }

    fn broadcast(&self, message: &mut Vec<u8>) -> Result<(), CrewGone> {
        let world = world();
        let root = world.process_at_rank(0);
        let mut first = [0u8; FIRST];
        if self.rank == 0 {
            first[..8].copy_from_slice(&(message.len() as u64).to_le_bytes());
            let head = message.len().min(FIRST - 8);
            first[8..8 + head].copy_from_slice(&message[..head]);
        }
        root.broadcast_into(&mut first[..]);
        let mut length = [0; 8];
        length.copy_from_slice(&first[..8]);
        let length = u64::from_le_bytes(length) as usize;
        let head = length.min(FIRST - 8);
        if self.rank != 0 {
            message.resize(length, 0);
            message[..head].copy_from_slice(&first[8..8 + head]);
        }
        message[head..].chunks_mut(LONGEST).for_each(|part| root.broadcast_into(part));
        Ok(())
    }

    fn send(&self, to: usize, message: &[u8]) -> Result<(), CrewGone> {
        let world = world();
        let to = world.process_at_rank(to as i32);
        // A part that is as long as may be has another one after it.
        let mut left = message;
        loop {
            let (part, rest) = left.split_at(left.len().min(LONGEST));
            to.send(part);
            left = rest;
            if part.len() < LONGEST {
                return Ok(());
            }
        }
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, CrewGone> {
        let world = world();
        let from = world.process_at_rank(from as i32);
        let (mut message, _) = from.receive_vec::<u8>();
        let mut last = message.len();
        while last == LONGEST {
            let (more, _) = from.receive_vec::<u8>();
            last = more.len();
            message.extend(more);
        }
        Ok(message)
    }

    fn look_for(&self, from: usize) -> Result<Option<Vec<u8>>, CrewGone> {
        let there = world().process_at_rank(from as i32).immediate_probe().is_some();
        there.then(|| self.receive(from)).transpose()
    }

    fn swap(&self, mut messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CrewGone> {
        let own = std::mem::take(&mut messages[self.rank]);
        let lengths: Vec<u64> = messages.iter().map(|message| message.len() as u64).collect();
        let mut coming = vec![0u64; self.size];
        let world = world();
        world.all_to_all_into(&lengths[..], &mut coming[..]);
        let mut inbox: Vec<Vec<u8>> = coming.iter().map(|length| vec![0; *length as usize]).collect();
        // In pairs that change at every step, so that all links are at work; nothing is copied on the way.
        for step in 1..self.size {
            let (to, from) = ((self.rank + step) % self.size, (self.rank + self.size - step) % self.size);
            let (to_process, from_process) = (world.process_at_rank(to as i32), world.process_at_rank(from as i32));
            mpi::request::scope(|scope| {
                let into = inbox[from].chunks_mut(LONGEST).map(|part| from_process.immediate_receive_into(scope, part));
                let into: Vec<_> = into.collect();
                let out: Vec<_> = messages[to].chunks(LONGEST).map(|part| to_process.immediate_send(scope, part)).collect();
                for request in into {
                    request.wait();
                }
                for request in out {
                    request.wait();
                }
            });
        }
        inbox[self.rank] = own;
        Ok(inbox)
    }
}
