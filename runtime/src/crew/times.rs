//! What clients took so far: what a cohort is dealt by, once it is known.

use std::collections::BTreeMap;
use std::time::Duration;

use motet_core::ClientId;

use super::Homes;

/// By client, the shortest time that it ever took: whatever else disturbed a rank only makes it longer.
#[derive(Debug, Default)]
pub(super) struct Times(BTreeMap<u32, u64>);

impl Times {
    /// A client took so long.
    pub(super) fn learn(&mut self, client: u32, took: u64) {
        self.0.entry(client).and_modify(|least| *least = took.min(*least)).or_insert(took);
    }

    /// What each of these is expected to cost, in nanoseconds once anything is known: who was never timed costs as much for each of its examples as
    /// those of this cohort who were.
    pub(super) fn costs(&self, clients: &[ClientId], homes: &Homes) -> Vec<u64> {
        let known: Vec<Option<u64>> = clients.iter().map(|client| self.0.get(&client.0).copied()).collect();
        let sizes: Vec<u64> = clients.iter().map(|client| homes.cost(*client)).collect();
        let timed = || known.iter().zip(&sizes).filter_map(|(took, size)| Some((u128::from((*took)?), u128::from(*size))));
        let (time, size) = timed().fold((0, 0), |(time, size), (took, of)| (time + took, size + of));
        let guess = |of: u64| if time == 0 { of } else { u64::try_from(u128::from(of) * time / size.max(1)).unwrap_or(u64::MAX) };
        known.iter().zip(&sizes).map(|(took, size)| took.unwrap_or_else(|| guess(*size))).collect()
    }
}

/// As a number.
pub(super) fn nanoseconds(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_cost_what_they_took_and_the_others_as_much_for_each_example() {
        let (homes, all) = (Homes::new(2, vec![10, 10, 30, 10]), [0, 1, 2, 3].map(ClientId));
        let mut times = Times::default();
        assert_eq!(times.costs(&all, &homes), [10, 10, 30, 10]);
        times.learn(0, 900);
        times.learn(0, 500);
        times.learn(0, 700);
        times.learn(1, 1500);
        // 2,000 for 20 examples.
        assert_eq!(times.costs(&all, &homes), [500, 1500, 3000, 1000]);
        // Where nobody of the cohort was timed, examples are all that is known; where those are not, everybody costs the same.
        assert_eq!(times.costs(&all[2..], &homes), [30, 10]);
        assert_eq!(times.costs(&[ClientId(0), ClientId(9)], &Homes::new(2, vec![])), [500, 500]);
    }
}
