//! Clients that come and go in their own time.

use crate::abort::Abort;
use crate::algorithm::ClientId;

/// What the loop must know of clients that come and go in their own time, as participants of a study do. Who is there in a
/// simulation depends on the round alone, so that nobody waits for anybody there.
pub trait Participants {
    /// Those who will never answer again, and why.
    fn gone(&self) -> Vec<(ClientId, String)>;

    /// Would this one stay silent, were it asked now?
    fn is_away(&self, client: ClientId) -> bool;

    /// How often somebody has come, or has gone for good, so far.
    fn changes(&self) -> u64;

    /// Waits a moment, or until there were more changes than these.
    fn wait(&self, changes: u64) -> Result<(), Abort>;
}
