//! Which clients take part in a round.

use std::collections::BTreeMap;

use crate::algorithm::ClientId;
use crate::cohort::Cohort;
use crate::fleet::Roster;
use crate::number::{Positive, Probability};
use crate::seed::{Purpose, Rng, Seed, Slot};
use crate::study::Unsuitable;

/// How a round's cohort is drawn.
///
/// Every cohort carries weights wᵢ with E Σ wᵢ vᵢ = 1/n Σ vᵢ over its own draw, whatever the vᵢ
/// ([`Cohort::weight`]). A client drawn twice is asked once and counts twice.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sampling {
    /// All clients, every round.
    #[default]
    Everyone,
    /// This many of those who are there, uniformly without replacement within the round.
    Clients(u32),
    /// Each with this probability; a round may then be without anyone.
    Bernoulli(Probability),
    /// This many draws, uniformly with replacement.
    Replacement(u32),
    /// Draws with replacement by unequal chances.
    Importance {
        /// How many draws.
        clients: u32,
        /// qᵢ of each client, up to a common factor.
        q: Vec<Positive>,
    },
    /// At most this many: everyone once in shuffled order, then everyone in a new order. The rounds of a pass
    /// are as equal in size as can be.
    Passes(u32),
    /// Drawn in this way, and the weights divided by their sum: less noise from draw to draw, and no longer right on
    /// average where chances are unequal.
    SelfNormalised(Box<Sampling>),
}

/// What a draw may look at.
pub(crate) struct Draw<'a> {
    pub(crate) roster: &'a Roster,
    pub(crate) everyone: &'a Cohort,
    pub(crate) seed: Seed,
    pub(crate) round: u64,
    pub(crate) there: &'a dyn Fn(ClientId) -> bool,
    /// Is a client still asked at all?
    pub(crate) may: &'a dyn Fn(ClientId) -> bool,
    pub(crate) rng: &'a mut Rng,
}

/// The most draws of one round. Each takes time, and memory too where clients have no end.
const MOST_DRAWS: u64 = 1_000_000;

impl Sampling {
    /// Can it draw from so many clients?
    pub fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        if let Sampling::SelfNormalised(how) = self {
            return how.suits(clients);
        }
        match (self, clients) {
            (Sampling::Replacement(count), _) => Unsuitable::beyond("sampling.replacement", *count, MOST_DRAWS)?,
            (Sampling::Importance { clients, .. }, _) => Unsuitable::beyond("sampling.importance.clients", *clients, MOST_DRAWS)?,
            // Of clients that can be counted no more are drawn than there are.
            (Sampling::Clients(count), None) => Unsuitable::beyond("sampling.clients", *count, MOST_DRAWS)?,
            (Sampling::Passes(count), None) => Unsuitable::beyond("sampling.passes", *count, MOST_DRAWS)?,
            _ => {}
        }
        match (self, clients) {
            (Sampling::Clients(0) | Sampling::Replacement(0) | Sampling::Passes(0) | Sampling::Importance { clients: 0, .. }, _) => {
                Err(Unsuitable::Setting("sampling takes at least one client per round".into()))
            }
            (Sampling::Importance { q, .. }, Some(n)) if q.len() != n as usize => {
                Err(Unsuitable::Setting(format!("sampling lists the chances of {} clients, the problem has {n}", q.len())))
            }
            (Sampling::Everyone | Sampling::Bernoulli(_) | Sampling::Importance { .. }, None) => {
                Err(Unsuitable::WithoutEnd("the population has no end: sample a number of clients"))
            }
            _ => Ok(()),
        }
    }

    /// Do the clients of a draw have unequal chances, which their weights make up for?
    pub fn has_unequal_chances(&self) -> bool {
        matches!(self, Sampling::Importance { .. })
    }

    pub(crate) fn draw(&self, from: Draw<'_>) -> Cohort {
        let Draw { roster, everyone, seed, round, there, may, rng } = from;
        let ids = everyone.ids();
        let n = ids.len();
        match self {
            Sampling::Clients(count) | Sampling::Replacement(count) | Sampling::Passes(count) if *roster == Roster::Unbounded => {
                counted((0..*count).map(|_| (ClientId(rng.next_u64() as u32), 1.0 / f64::from(*count)))).filter(may)
            }
            Sampling::SelfNormalised(how) => how.draw(Draw { roster, everyone, seed, round, there, may, rng }).normalised(true),
            // An unbounded roster has nobody to list: asking its cohort says so.
            _ if *roster == Roster::Unbounded => everyone.clone(),
            Sampling::Everyone => everyone.clone(),
            Sampling::Clients(count) => Cohort::new(those_there(*count as usize, ids, there, rng)),
            Sampling::Bernoulli(p) => {
                let drawn: Vec<ClientId> = ids.iter().copied().filter(|_| rng.coin(**p)).collect();
                Cohort::new(drawn).weighing(1.0 / (**p * n as f64)).normalised(false)
            }
            Sampling::Replacement(_) | Sampling::Importance { .. } if n == 0 => everyone.clone(),
            Sampling::Replacement(count) => counted((0..*count).map(|_| (ids[rng.below(n)], 1.0 / f64::from(*count)))),
            Sampling::Importance { clients, q } => {
                let mut total = 0.0;
                let chance = |id: &ClientId| q.get(id.0 as usize).map_or(0.0, |q| **q);
                let ends: Vec<f64> = ids
                    .iter()
                    .map(|id| {
                        total += chance(id);
                        total
                    })
                    .collect();
                counted((0..*clients).map(|_| {
                    let ticket = rng.unit() * total;
                    let id = ids[ends.partition_point(|end| *end <= ticket).min(n - 1)];
                    (id, total / (f64::from(*clients) * n as f64 * chance(&id)))
                }))
                .normalised(false)
            }
            Sampling::Passes(count) => Cohort::new(block(ids, *count as usize, seed, round)),
        }
    }
}

/// The first so many who are there when everyone is gone through in an order of the dice, ascending.
fn those_there(count: usize, ids: &[ClientId], there: &dyn Fn(ClientId) -> bool, rng: &mut Rng) -> Vec<ClientId> {
    let mut seen = rng.choose(count, ids.len());
    let mut found: Vec<ClientId> = seen.iter().map(|&k| ids[k as usize]).filter(|&id| there(id)).collect();
    if found.len() == seen.len() {
        return found;
    }
    let mut rest: Option<Vec<u32>> = None;
    while found.len() < count && seen.len() < ids.len() {
        let next = match &mut rest {
            Some(rest) => rest.pop().expect("some were not seen yet"),
            // While few were seen, the dice soon name another.
            None if 2 * seen.len() < ids.len() => {
                let next = rng.below(ids.len()) as u32;
                if seen.binary_search(&next).is_ok() {
                    continue;
                }
                next
            }
            None => {
                let mut unseen: Vec<u32> = (0..ids.len() as u32).filter(|k| seen.binary_search(k).is_err()).collect();
                rng.shuffle(&mut unseen);
                rest = Some(unseen);
                continue;
            }
        };
        seen.insert(seen.partition_point(|&k| k < next), next);
        found.extend(Some(ids[next as usize]).filter(|&id| there(id)));
    }
    found.sort_unstable();
    found
}

/// The clients of one round of shuffled passes: a function of the seed and the round, without any state. An attempt
/// that failed is repeated with the same clients.
fn block(ids: &[ClientId], count: usize, seed: Seed, round: u64) -> Vec<ClientId> {
    let rounds = ids.len().div_ceil(count.max(1)).max(1);
    let (pass, place) = (round.saturating_sub(1) / rounds as u64, (round.saturating_sub(1) % rounds as u64) as usize);
    let mut order: Vec<usize> = (0..ids.len()).collect();
    seed.dice(Slot { round: pass, attempt: 0, exchange: 0 }, 0, Purpose::Pass).shuffle(&mut order);
    let block = &mut order[place * ids.len() / rounds..(place + 1) * ids.len() / rounds];
    block.sort_unstable();
    block.iter().map(|&k| ids[k]).collect()
}

/// Each client once, with the sum of its weights.
fn counted(draws: impl Iterator<Item = (ClientId, f64)>) -> Cohort {
    let mut weights = BTreeMap::new();
    draws.for_each(|(id, weight)| *weights.entry(id).or_insert(0.0) += weight);
    Cohort::weighted(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 7;

    fn draw(how: &Sampling, n: u32, round: u64) -> Cohort {
        let roster = Roster::Counted(n);
        let everyone = crate::cohort::everyone(&roster, &crate::breach::Breaches::default());
        let rng = &mut Seed(5).server(round, 0);
        how.draw(Draw { roster: &roster, everyone: &everyone, seed: Seed(5), round, there: &|_| true, may: &|_| true, rng })
    }

    fn read(text: &str) -> Sampling {
        serde_json::from_str(text).unwrap()
    }

    fn all() -> Vec<Sampling> {
        [
            r#""everyone""#,
            r#"{"clients":3}"#,
            r#"{"bernoulli":0.3}"#,
            r#"{"replacement":3}"#,
            r#"{"importance":{"clients":3,"q":[1,2,3,4,5,6,7]}}"#,
            r#"{"passes":3}"#,
            r#"{"self-normalised":{"clients":3}}"#,
        ]
        .map(read)
        .to_vec()
    }

    /// vᵢ = i², whose mean over 0..7 is 13.
    fn estimate(cohort: &Cohort) -> f64 {
        cohort.ids().iter().map(|&id| cohort.weight(id) * f64::from(id.0 * id.0)).sum()
    }

    #[test]
    fn the_weighted_sum_of_every_draw_is_unbiased() {
        for how in all() {
            let rounds = 40_000;
            let draws: Vec<f64> = (1..=rounds).map(|round| estimate(&draw(&how, N, round))).collect();
            let mean = draws.iter().sum::<f64>() / rounds as f64;
            let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / rounds as f64;
            // Five standard deviations; the rounds of one pass are dependent, but only towards the mean.
            assert!((mean - 13.0).abs() <= 5.0 * (variance / rounds as f64).sqrt() + 1e-9, "{how:?}: {mean}");
        }
    }

    #[test]
    fn clients_are_drawn_as_often_as_their_chances_say() {
        let rounds = 40_000u64;
        for (how, expect) in all().into_iter().zip([[1.0; 7], [3.0 / 7.0; 7], [0.3; 7], [0.0; 7], [0.0; 7], [1.0 / 3.0; 7], [3.0 / 7.0; 7]])
        {
            let mut hits = [0u32; N as usize];
            for round in 1..=rounds {
                draw(&how, N, round).ids().iter().for_each(|id| hits[id.0 as usize] += 1);
            }
            for (k, hits) in hits.into_iter().enumerate() {
                // With replacement a client is in the cohort unless it is missed three times.
                let p = match &how {
                    Sampling::Replacement(_) => 1.0 - (6.0f64 / 7.0).powi(3),
                    Sampling::Importance { .. } => 1.0 - (1.0 - (k + 1) as f64 / 28.0).powi(3),
                    _ => expect[k],
                };
                let sd = (p * (1.0 - p) / rounds as f64).sqrt();
                assert!((f64::from(hits) / rounds as f64 - p).abs() <= 5.0 * sd + 1e-4, "{how:?}: client {k} in {hits}, expected {p}");
            }
        }
    }

    #[test]
    fn a_cohort_is_filled_from_those_who_are_there_alike() {
        let (n, rounds) = (40, 20_000u64);
        let roster = Roster::Counted(n);
        let everyone = crate::cohort::everyone(&roster, &crate::breach::Breaches::default());
        // One in four is there: mostly more than half must be gone through, and the list of the rest is made.
        let there = |id: ClientId| id.0 % 4 == 1;
        let mut hits = vec![0u32; n as usize];
        for (count, size) in [(3, 3), (9, 9), (12, 10)] {
            hits.fill(0);
            for round in 1..=rounds {
                let rng = &mut Seed(5).server(round, 0);
                let cohort = Sampling::Clients(count).draw(Draw {
                    roster: &roster,
                    everyone: &everyone,
                    seed: Seed(5),
                    round,
                    there: &there,
                    may: &|_| true,
                    rng,
                });
                assert!(cohort.len() == size && cohort.ids().is_sorted() && cohort.ids().iter().all(|&id| there(id)), "{cohort:?}");
                cohort.ids().iter().for_each(|id| hits[id.0 as usize] += 1);
            }
            let p = size as f64 / 10.0;
            let sd = (p * (1.0 - p) / rounds as f64).sqrt();
            for id in (0..n).filter(|&k| there(ClientId(k))) {
                assert!((f64::from(hits[id as usize]) / rounds as f64 - p).abs() <= 5.0 * sd, "client {id} of {count}");
            }
        }
    }

    #[test]
    fn a_draw_depends_on_seed_and_round_alone() {
        for how in all() {
            let cohorts = |seed: u64| -> Vec<Cohort> {
                let roster = Roster::Counted(N);
                let everyone = crate::cohort::everyone(&roster, &crate::breach::Breaches::default());
                let at = |round| {
                    let rng = &mut Seed(seed).server(round, 0);
                    how.draw(Draw { roster: &roster, everyone: &everyone, seed: Seed(seed), round, there: &|_| true, may: &|_| true, rng })
                };
                (1..30).map(at).collect()
            };
            assert_eq!(cohorts(1), cohorts(1));
            assert_eq!(cohorts(1) == cohorts(2), how == Sampling::Everyone, "{how:?}");
        }
    }

    #[test]
    fn a_pass_takes_everyone_once_in_rounds_of_equal_size_and_the_next_in_another_order() {
        let pass = |first: u64| (first..first + 3).map(|round| draw(&Sampling::Passes(3), N, round)).collect::<Vec<_>>();
        let (one, two) = (pass(1), pass(4));
        for pass in [&one, &two] {
            assert!(pass.iter().all(|cohort| (2..=3).contains(&cohort.len())));
            let mut seen: Vec<u32> = pass.iter().flat_map(|cohort| cohort.ids().iter().map(|id| id.0)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..N).collect::<Vec<_>>());
        }
        assert_ne!(one, two);
    }

    #[test]
    fn more_than_there_are_is_everyone_and_nobody_is_possible() {
        for how in [Sampling::Clients(99), Sampling::Passes(99)] {
            let cohort = draw(&how, N, 1);
            assert_eq!((cohort.len(), cohort.weight(ClientId(2))), (7, 1.0 / 7.0));
        }
        assert!(draw(&Sampling::Replacement(99), N, 1).len() <= 7);
        let rare = Sampling::Bernoulli(Probability::new(1e-9).unwrap());
        assert!(draw(&rare, N, 1).is_empty());
        assert!(all().iter().all(|how| draw(how, 0, 1).is_empty()));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        assert!(all().iter().all(|how| how.suits(Some(N)).is_ok()));
        assert!(Sampling::Clients(0).suits(Some(N)).unwrap_err().to_string().contains("at least one"));
        assert!(all()[4].suits(Some(8)).unwrap_err().to_string().contains("7 clients, the problem has 8"));
        assert!(Sampling::Everyone.suits(None).is_err() && Sampling::Clients(3).suits(None).is_ok());
    }
}
