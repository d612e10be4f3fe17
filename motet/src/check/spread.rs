//! What a round takes on many ranks: the model of docs/explanation/scaling.md.
//!
//! ```text
//! clients   t ⌈n / (R T)⌉ / ⌈n / T⌉                  the measured time, by how many clients the busiest thread has
//! down      broadcast of one ask and of who is asked, a tree over the nodes
//! up        m(b) + (B − b) / bandwidth                b = n u / R of one rank, B = n u (N − 1) / N of all other nodes
//!           m(0) + m(B / N) + m(u (N − 1) / N)          large sums, added up by all: parts to everybody, then to rank 0
//! ```
//!
//! Where all-to-all was measured between as many ranks, it stands in the place of m(0) + m(B / N).
//!
//! n clients a round, u bytes of a reply, R ranks of T threads on N nodes. Replies meet at rank 0, whose link they share, but for large sums.

use std::fmt;

use motet_runtime::TOGETHER_FROM;
use serde::Serialize;

use super::Estimate;
use crate::config::Size;
use crate::network::Network;

/// Ranks on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Processes.
    pub ranks: usize,
    /// Machines.
    pub nodes: usize,
    /// Threads of each rank.
    pub threads: usize,
}

/// What one method's round takes there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) seconds_per_round: f64,
    pub(super) clients: f64,
    pub(super) down: f64,
    pub(super) up: f64,
    /// Bytes a round between nodes.
    pub(super) bytes_per_round: u64,
    pub(super) memory_per_node: u64,
}

/// What the list of who is asked takes for each of them.
const CALL_BYTES: f64 = 21.0;

impl Spread {
    pub(super) fn of(estimate: &Estimate, [data_bytes, shared_bytes]: [u64; 2], on: Layout, network: &Network) -> Self {
        let Layout { ranks, nodes, threads } = on;
        let busiest = |hands: usize| (estimate.replies_per_round / hands.max(1) as f64).ceil().max(1.0);
        let clients = estimate.seconds_per_round * busiest(ranks * threads) / busiest(threads);
        let ask = estimate.ask_bytes + CALL_BYTES * estimate.replies_per_round;
        // On one node a message costs what was measured between its ranks; between nodes, ranks of a node hear of it together.
        let hops = if nodes > 1 { nodes } else { ranks };
        let away = |parts: usize| (parts - 1) as f64 / parts as f64;
        let replies = estimate.replies_per_round * estimate.reply_bytes;
        let (own, remote) = (replies / ranks as f64, replies * away(hops));
        let (down, up) = match ranks {
            1 => (0.0, 0.0),
            _ if estimate.sums && replies * away(ranks) >= TOGETHER_FROM as f64 => {
                let parts = network.all_to_all(own / ranks as f64, ranks);
                // One message says how long the other is.
                let parts = parts.unwrap_or_else(|| network.message(0.0) + network.message(remote / hops as f64));
                (network.broadcast(ask, hops), parts + network.message(estimate.reply_bytes * away(hops)))
            }
            _ => (network.broadcast(ask, hops), network.message(own.min(remote)) + (remote - own).max(0.0) / network.bandwidth),
        };
        let bytes = if nodes > 1 { ask * (nodes - 1) as f64 + remote } else { 0.0 };
        // Rows of which every entry is stored are held once for each machine; everything else, such as where clients are that are read when they
        // are asked for, is on every rank.
        let here = ranks.div_ceil(nodes);
        let own = estimate.needs.work_bytes.saturating_add(estimate.needs.asleep_on_each(ranks, here));
        let each = (data_bytes - shared_bytes).saturating_add(own);
        Self {
            seconds_per_round: clients + down + up,
            clients,
            down,
            up,
            bytes_per_round: bytes as u64,
            memory_per_node: each.saturating_mul(here as u64).saturating_add(shared_bytes),
        }
    }
}

/// `  on 64 ranks ...`
pub(super) struct Line<'a>(pub(super) Layout, pub(super) &'a Spread);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Layout { ranks, nodes, threads }, spread) = (self.0, self.1);
        let [whole, clients, down, up] =
            [spread.seconds_per_round, spread.clients, spread.down, spread.up].map(|seconds| format!("{:.1} us", 1e6 * seconds));
        writeln!(
            f,
            "  on {ranks} ranks of {threads} threads, {nodes} nodes: {whole} a round (clients {clients}, down {down}, up {up}), {} between nodes, {} of memory on a node",
            Size(spread.bytes_per_round),
            Size(spread.memory_per_node)
        )
    }
}
