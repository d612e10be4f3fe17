//! Which client is where: by a rule that depends on nothing but the number of ranks and what clients cost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use motet_core::ClientId;

/// Where clients live.
#[derive(Clone, Debug)]
pub struct Homes {
    ranks: usize,
    /// By client, where anything is known: what it costs, such as its examples.
    costs: Vec<u64>,
    /// By client, where costs are known.
    homes: Vec<u32>,
}

impl Homes {
    /// Homes on so many ranks. Where costs are known, every rank has about the same of them; otherwise clients are dealt in turn.
    ///
    /// ```
    /// use motet_core::ClientId;
    /// use motet_runtime::Homes;
    /// let homes = Homes::new(2, vec![100, 10, 40, 40]);
    /// assert_eq!([0, 1, 2, 3].map(|k| homes.of(ClientId(k))), [0, 1, 1, 1]);
    /// // Of clients that nobody knows anything about, every second one.
    /// assert_eq!([0, 1, 2, 3].map(|k| Homes::new(2, vec![]).of(ClientId(k))), [0, 1, 0, 1]);
    /// ```
    pub fn new(ranks: usize, costs: Vec<u64>) -> Self {
        let homes = if ranks > 1 { dealt(ranks, &costs) } else { vec![] };
        Self { ranks, costs, homes }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Where a client lives.
    pub fn of(&self, client: ClientId) -> u32 {
        self.homes.get(client.0 as usize).copied().unwrap_or(client.0 % self.ranks as u32)
    }

    /// What a client costs, where that is known; 1 otherwise.
    pub fn cost(&self, client: ClientId) -> u64 {
        self.costs.get(client.0 as usize).copied().unwrap_or(1)
    }

    /// Where clients are sent who can work anywhere and cost so much: so that no rank has more to do than it must.
    pub fn spread(&self, costs: &[u64]) -> Vec<u32> {
        dealt(self.ranks, costs)
    }
}

/// The dearest first, each to the rank with least so far.
fn dealt(ranks: usize, costs: &[u64]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&k| Reverse(costs[k]));
    let mut loads: BinaryHeap<Reverse<(u64, usize)>> = (0..ranks).map(|rank| Reverse((0, rank))).collect();
    let mut places = vec![0; costs.len()];
    for k in order {
        if let Some(mut least) = loads.peek_mut() {
            let Reverse((load, rank)) = &mut *least;
            places[k] = *rank as u32;
            // A client costs something even if it has no examples.
            *load = load.saturating_add(costs[k].max(1));
        }
    }
    places
}
