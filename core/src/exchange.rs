//! One exchange with the clients: what comes back is looked at, booked, and handed on in the order asked.

use crate::abort::Abort;
use crate::algorithm::{Algorithm, ClientId};
use crate::breach::Breaches;
use crate::fit::{ModelShape, ReplyError};
use crate::fleet::{Answer, Asks, Fleet, Received, Wave};
use crate::ledger::{Direction, Ledger};
use crate::seed::Slot;

/// How often the silent of a required cohort are asked again before the round is given up.
const PATIENCE: u32 = 50;

/// Where the replies of one exchange arrive.
pub(crate) struct Desk<'a, A: Algorithm> {
    pub(crate) algorithm: &'a A,
    pub(crate) model: ModelShape,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) breaches: &'a mut Breaches,
    /// Must everyone answer?
    pub(crate) required: bool,
    /// Is a reply with NaN or infinity in it as good as none?
    pub(crate) drop_non_finite: bool,
    /// Who was heard, in order.
    pub(crate) answered: Vec<ClientId>,
    /// Whose replies were dropped.
    pub(crate) dropped: Vec<ClientId>,
    /// The first whose reply was not finite and ends the run.
    pub(crate) bad: Option<ClientId>,
}

impl<A: Algorithm> Desk<'_, A> {
    /// What arrived, if it is an answer to what was asked. Otherwise a breach, and as good as silence.
    #[inline(always)]
    fn check(&mut self, round: u64, id: ClientId, ask: &A::Ask, received: Received<A::Reply>) -> Option<Answer<A::Reply>> {
        let error = match received {
            Ok(answer) => match self.algorithm.fits(ask, &answer.reply, id, self.model) {
                Ok(()) => return Some(answer),
                Err(misfit) => {
                    // It was sent and worked for, whatever it is.
                    self.book(&answer);
                    ReplyError::Misfit { kind: crate::message::Message::kind(&answer.reply), misfit }
                }
            },
            Err(error) => error,
        };
        self.breach(round, id, &error);
        None
    }

    /// Kept apart, so that what happens to every reply stays short.
    #[cold]
    fn breach(&mut self, round: u64, id: ClientId, error: &ReplyError) {
        self.breaches.add(round, id, error.to_string());
    }

    fn book(&mut self, answer: &Answer<A::Reply>) {
        self.ledger.book(Direction::Up, &answer.reply, 1);
        self.ledger.book_work(answer.work);
    }

    /// The reply, to be folded; none if it is dropped, or if the run is over anyway.
    #[inline(always)]
    fn hear(&mut self, id: ClientId, answer: Answer<A::Reply>) -> Option<A::Reply> {
        self.book(&answer);
        if !answer.finite {
            if self.drop_non_finite {
                self.dropped.push(id);
                return None;
            }
            self.bad.get_or_insert(id);
        }
        if self.bad.is_some() {
            return None;
        }
        self.answered.push(id);
        Some(answer.reply)
    }
}

/// Carries a wave and hands the replies that fit to `fold`, in the order asked, each with its position in the wave. Where
/// everyone is required, the silent are asked again.
pub(crate) fn carry<A: Algorithm>(
    fleet: &mut dyn Fleet<A>,
    slot: Slot,
    wave: Wave<'_, A::Ask>,
    desk: &mut Desk<'_, A>,
    fold: &mut dyn FnMut(usize, A::Reply),
) -> Result<(), Abort> {
    if desk.required {
        return insist(fleet, slot, wave, desk, fold);
    }
    let mut next = 0;
    fleet.exchange(slot, wave, &mut |id, received| {
        // Answers come in the order asked; whoever was not asked is not heard.
        let Some(ahead) = wave.to[next..].iter().position(|&asked| asked == id) else { return };
        let position = next + ahead;
        next = position + 1;
        let Some(answer) = desk.check(slot.round, id, wave.asks.at(position), received) else { return };
        if let Some(reply) = desk.hear(id, answer) {
            fold(position, reply);
        }
    })
}

/// Asks the silent again in the same slot until everyone has answered; folds in the order asked.
fn insist<A: Algorithm>(
    fleet: &mut dyn Fleet<A>,
    slot: Slot,
    wave: Wave<'_, A::Ask>,
    desk: &mut Desk<'_, A>,
    fold: &mut dyn FnMut(usize, A::Reply),
) -> Result<(), Abort> {
    // Replies wait here from the first gap on; without loss nothing ever does.
    let mut waiting: Vec<Option<Answer<A::Reply>>> = vec![];
    let mut due = 0;
    let mut missing: Vec<usize> = (0..wave.to.len()).collect();
    for again in 0..=PATIENCE {
        let ids: Vec<ClientId> = missing.iter().map(|&k| wave.to[k]).collect();
        let own: Vec<A::Ask>;
        let asks = match wave.asks {
            Asks::Same(ask) => Asks::Same(ask),
            Asks::Each(all) if again == 0 => Asks::Each(all),
            Asks::Each(all) => {
                own = missing.iter().map(|&k| all[k].clone()).collect();
                Asks::Each(&own)
            }
        };
        if again > 0 {
            (0..ids.len()).for_each(|k| desk.ledger.book(Direction::Down, asks.at(k), 1));
        }
        let mut still = missing.iter().copied();
        let mut silent = vec![];
        let mut hear = |desk: &mut Desk<'_, A>, k: usize, answer: Answer<A::Reply>| {
            if let Some(reply) = desk.hear(wave.to[k], answer) {
                fold(k, reply);
            }
        };
        fleet.exchange(slot, Wave { to: &ids, asks, heard: wave.heard }, &mut |id, received| {
            for k in still.by_ref() {
                if wave.to[k] != id {
                    silent.push(k);
                    continue;
                }
                match desk.check(slot.round, id, wave.asks.at(k), received) {
                    None => silent.push(k),
                    Some(answer) if k == due => {
                        hear(desk, k, answer);
                        due += 1;
                    }
                    Some(answer) => {
                        waiting.resize_with(wave.to.len(), || None);
                        waiting[k] = Some(answer);
                    }
                }
                break;
            }
            while let Some(answer) = waiting.get_mut(due).and_then(Option::take) {
                hear(desk, due, answer);
                due += 1;
            }
        })?;
        silent.extend(still);
        missing = silent;
        if missing.is_empty() {
            return Ok(());
        }
        if let Some(participants) = fleet.participants() {
            desk.breaches.exclude(participants.gone());
        }
        // Whoever is excluded is not asked again; the next attempt does without.
        let excluded = missing.iter().find_map(|&k| desk.breaches.excluded(wave.to[k]).map(|reason| (wave.to[k].0, reason)));
        if let Some((client, reason)) = excluded {
            return Err(Abort::Excluded { client, reason: reason.to_owned() });
        }
        if fleet.participants().is_some_and(|participants| missing.iter().any(|&k| participants.is_away(wave.to[k]))) {
            return Err(Abort::Away { asked: wave.to.len(), there: wave.to.len() - missing.len() });
        }
    }
    Err(Abort::Quorum { asked: wave.to.len(), answered: wave.to.len() - missing.len() })
}
