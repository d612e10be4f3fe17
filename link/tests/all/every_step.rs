//! Every step of the protocol fails once, in each way that a step can: nothing is left to dice here.

use std::collections::BTreeSet;

use motet_core::whole;
use motet_link::{Call, Response};

use crate::scheduler::{Parcel, World};

/// What happens to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Lost,
    Doubled,
    /// It comes when the deadline has passed.
    Late,
    /// Its receiver is dead when it comes.
    DeadBefore,
    /// Its receiver dies of nothing, right after it.
    DeadAfter,
}

/// Which message it happens to; and which kinds were sent.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) fault: Option<(u64, Fault)>,
    messages: u64,
    kinds: BTreeSet<String>,
}

impl Plan {
    /// What happens to the message that is about to be heard.
    pub(crate) fn at(&mut self, parcel: &Parcel) -> Option<Fault> {
        self.messages += 1;
        let words = match parcel {
            Parcel::Call(_, bytes) => format!("call {:?}", whole::<Call>(bytes).unwrap().request),
            Parcel::Response(_, bytes) => format!("response {:?}", whole::<Response>(bytes).unwrap()),
        };
        self.kinds.insert(words.split([' ', '{']).take(2).collect::<Vec<_>>().join(" "));
        self.fault.filter(|(at, _)| *at == self.messages).map(|(_, fault)| fault)
    }
}

/// Three rounds: the third one has asks and replies in pieces.
const ROUNDS: u64 = 3;

#[test]
fn every_message_is_lost_doubled_and_late_once_and_everyone_dies_before_and_after_each() {
    let mut calm = World::new(1, 0.0);
    calm.run(ROUNDS);
    let messages = calm.plan.messages;
    for kind in
        ["call Poll", "call Fetch", "call Offer", "call Piece", "response Task", "response Piece", "response SendFrom", "response HaveIt"]
    {
        assert!(calm.plan.kinds.contains(kind), "{kind} is not among {:?}", calm.plan.kinds);
    }
    for at in 1..=messages {
        for fault in [Fault::Lost, Fault::Doubled, Fault::Late, Fault::DeadBefore, Fault::DeadAfter] {
            let mut world = World::new(1, 0.0);
            world.plan.fault = Some((at, fault));
            world.run(ROUNDS + 1);
        }
    }
    println!("{messages} messages");
}

#[test]
fn every_write_fails_once_on_either_side() {
    for operation in 0..60 {
        for client in [None, Some(0), Some(3)] {
            let mut world = World::new(1, 0.0);
            world.run(1);
            world.fails_at(client, operation);
            world.run(ROUNDS + 1);
        }
    }
}
