//! Who broke the protocol, how often, and who is no longer asked for it or has gone for good.

use std::borrow::Cow;

use crate::algorithm::ClientId;
use crate::message::wire;
use crate::record::Breach;

/// So many breaches in a run, and a client is no longer asked.
const TOLERATED: u32 = 3;

wire! {
    /// The breaches of a run. Attempts that failed count too: what was sent was sent.
    #[derive(Default, PartialEq)]
    pub(crate) struct Breaches {
        /// Ascending by client.
        offenders: Vec<Offender>,
        /// Since the last row.
        events: Vec<Breach>,
    }
}

wire! {
    #[derive(PartialEq)]
    struct Offender {
        client: u32,
        count: u32,
        /// How the protocol was last broken, or why the client has gone.
        reason: String,
    }
}

impl Breaches {
    /// One more by this client.
    pub(crate) fn add(&mut self, round: u64, ClientId(client): ClientId, reason: String) {
        self.events.push(Breach { round, client, reason: reason.clone() });
        match self.offenders.binary_search_by_key(&client, |offender| offender.client) {
            Ok(at) => {
                let known = &mut self.offenders[at];
                (known.count, known.reason) = (known.count.saturating_add(1), reason);
            }
            Err(at) => self.offenders.insert(at, Offender { client, count: 1, reason }),
        }
    }

    /// Nobody asks these any more, who have gone for good: why. Whoever is excluded already stays so for the first reason.
    pub(crate) fn exclude(&mut self, gone: Vec<(ClientId, String)>) {
        for (id, reason) in gone {
            if self.excluded(id).is_some() {
                continue;
            }
            let offender = Offender { client: id.0, count: TOLERATED, reason };
            match self.offenders.binary_search_by_key(&id.0, |offender| offender.client) {
                Ok(at) => self.offenders[at] = offender,
                Err(at) => self.offenders.insert(at, offender),
            }
        }
    }

    /// Is this client no longer asked? Then how it last broke the protocol, or why it has gone.
    pub(crate) fn excluded(&self, ClientId(client): ClientId) -> Option<&str> {
        let at = self.offenders.binary_search_by_key(&client, |offender| offender.client).ok()?;
        Some(&self.offenders[at]).filter(|offender| offender.count >= TOLERATED).map(|offender| &*offender.reason)
    }

    /// Those of some clients who are still asked.
    pub(crate) fn without<'a>(&self, clients: &'a [ClientId]) -> Cow<'a, [ClientId]> {
        if self.count_excluded() == 0 {
            return Cow::Borrowed(clients);
        }
        clients.iter().copied().filter(|client| self.excluded(*client).is_none()).collect()
    }

    /// How many are no longer asked.
    pub(crate) fn count_excluded(&self) -> usize {
        self.offenders.iter().filter(|offender| offender.count >= TOLERATED).count()
    }

    /// Those who are no longer asked.
    pub(crate) fn all_excluded(&self) -> Vec<ClientId> {
        let gone = self.offenders.iter().filter(|offender| offender.count >= TOLERATED);
        gone.map(|offender| ClientId(offender.client)).collect()
    }

    /// The one with the largest number of those who are no longer asked, and how it last broke the protocol.
    pub(crate) fn last_excluded(&self) -> Option<(u32, &str)> {
        let last = self.offenders.iter().rfind(|offender| offender.count >= TOLERATED)?;
        Some((last.client, &last.reason))
    }

    /// What happened since this was last called.
    pub(crate) fn take_events(&mut self) -> Vec<Breach> {
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_breach_excludes_and_nobody_else_pays() {
        let mut breaches = Breaches::default();
        for (k, client) in [5, 3, 5, 5].into_iter().enumerate() {
            assert_eq!(breaches.excluded(ClientId(5)), None, "before breach {k}");
            breaches.add(k as u64, ClientId(client), format!("reason {k}"));
        }
        assert_eq!((breaches.excluded(ClientId(5)), breaches.excluded(ClientId(3))), (Some("reason 3"), None));
        assert_eq!(breaches.count_excluded(), 1);
        assert_eq!(breaches.without(&[3, 4, 5].map(ClientId)).as_ref(), [3, 4].map(ClientId));
        assert_eq!(breaches.take_events().len(), 4);
        assert!(breaches.take_events().is_empty() && breaches.excluded(ClientId(5)).is_some());
    }

    #[test]
    fn who_has_gone_for_good_is_excluded_without_a_breach() {
        let mut breaches = Breaches::default();
        breaches.add(1, ClientId(3), "a breach".into());
        breaches.take_events();
        for _ in 0..2 {
            breaches.exclude(vec![(ClientId(3), "it was revoked".into()), (ClientId(1), "it was revoked".into())]);
            assert_eq!(breaches.all_excluded(), [1, 3].map(ClientId));
            assert_eq!(breaches.excluded(ClientId(3)), Some("it was revoked"));
        }
        assert!(breaches.take_events().is_empty(), "nobody broke the protocol");
    }
}
