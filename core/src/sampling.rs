//! Which clients take part in a round.

use crate::algorithm::ClientId;
use crate::fleet::Roster;
use crate::round::Cohort;
use crate::seed::Rng;

/// How a round's cohort is drawn.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sampling {
    /// All clients, every round.
    #[default]
    Everyone,
    /// This many, uniformly without replacement within the round.
    Clients(u32),
}

impl Sampling {
    pub(crate) fn draw(&self, roster: &Roster, everyone: &Cohort, rng: &mut Rng) -> Cohort {
        match (self, roster) {
            (Sampling::Everyone, _) => everyone.clone(),
            (Sampling::Clients(count), Roster::Unbounded) => {
                Cohort::new((0..*count).map(|_| ClientId(rng.next_u64() as u32)).collect::<Vec<_>>())
            }
            (Sampling::Clients(count), _) => {
                let ids = everyone.ids();
                Cohort::new(rng.choose(*count as usize, ids.len()).into_iter().map(|k| ids[k as usize]).collect::<Vec<_>>())
            }
        }
    }
}
