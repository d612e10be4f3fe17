//! Ranks of a program that an MPI started: `mpirun -n 64 motet run big.toml`.

use mpi::collective::CommunicatorCollectives;
use mpi::datatype::{Partition, PartitionMut};
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
}

/// Ends MPI when it goes.
pub struct MpiSession(#[allow(dead_code, reason = "held for its end")] Universe);

impl MpiCrew {
    /// Joins the job that this program was started in; none if MPI was joined before.
    pub fn join() -> Option<(MpiSession, Self)> {
        // Only the thread that runs the loop, or serves, ever sends or receives.
        let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled)?;
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        Some((MpiSession(universe), Self { rank, size }))
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

    fn swap(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CrewGone> {
        let lengths: Vec<i32> = messages.iter().map(|message| message.len() as i32).collect();
        let mut coming = vec![0i32; self.size];
        world().all_to_all_into(&lengths[..], &mut coming[..]);
        let starts =
            |lengths: &[i32]| -> Vec<i32> { lengths.iter().scan(0, |sum, length| Some(std::mem::replace(sum, *sum + length))).collect() };
        let (out, mut inbox) = (messages.concat(), vec![0u8; coming.iter().map(|length| *length as usize).sum()]);
        {
            let out = Partition::new(&out[..], lengths.clone(), starts(&lengths));
            let mut into = PartitionMut::new(&mut inbox[..], coming.clone(), starts(&coming));
            world().all_to_all_varcount_into(&out, &mut into);
        }
        let mut left = &inbox[..];
        let cut = |length: &i32| {
            let (own, rest) = left.split_at(*length as usize);
            left = rest;
            own.to_vec()
        };
        Ok(coming.iter().map(cut).collect())
    }
}
