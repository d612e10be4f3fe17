//! Ctrl-C: the first asks for a stop at the end of the round, the second is one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// What a shell expects of a program that was interrupted.
const AT_ONCE: i32 = 130;

/// From now on Ctrl-C is heard; where that cannot be arranged it ends the program at once, as ever.
pub(crate) fn listen() {
    for signal in [SIGINT, SIGTERM] {
        // In this order: the signal that sets the flag must find it unset.
        let armed = register_conditional_shutdown(signal, AT_ONCE, Arc::clone(&ASKED));
        let _ = armed.and_then(|_| register(signal, Arc::clone(&ASKED)));
    }
}

/// Signals that come to all ranks of a job are for rank 0, which tells the others when to leave.
pub(crate) fn leave_to_rank_0() {
    for signal in [SIGINT, SIGTERM] {
        // Where it cannot be arranged the signal ends this rank, and with it the job.
        let _ = register(signal, Arc::clone(&ASKED));
    }
}

/// Was a stop asked for?
pub(crate) fn requested() -> bool {
    ASKED.load(Ordering::Relaxed)
}
