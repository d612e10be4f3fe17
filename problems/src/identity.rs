//! Which data a problem is made of, and whose: what tells repeated splits of one data set from independent problems.

use motet_core::Seed;
use motet_records::{Input, hexadecimal};
use sha2::{Digest, Sha256};

use crate::source::{Redraws, Source};

/// Two hashes that problems of one experiment share or do not.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// The same for problems that cut the same data in another way.
    pub data: String,
    /// The same where each client has the same examples, or draws them from the same source, whatever part is held out.
    pub people: String,
}

impl Identity {
    /// From the source, the files it read, the seed it drew with, and every client's rows.
    pub(crate) fn of(source: &Source, inputs: &[Input], seed: Seed, owned: impl Iterator<Item = Vec<u32>>) -> Self {
        let mut data = Sha256::new();
        data.update(serde_json::to_string(source).unwrap_or_default());
        inputs.iter().for_each(|input| data.update(&input.sha256));
        let mut people = data.clone();
        let redraws = source.redraws();
        if redraws != Redraws::Nothing {
            data.update(seed.0.to_le_bytes());
        }
        if redraws == Redraws::Everything {
            people.update(seed.0.to_le_bytes());
        }
        for rows in owned {
            people.update((rows.len() as u64).to_le_bytes());
            rows.iter().for_each(|row| people.update(row.to_le_bytes()));
        }
        let short = |hash: Sha256| hexadecimal(&hash.finalize()[..16]);
        Self { data: short(data), people: short(people) }
    }
}
