//! Which of the runs that can begin is given to which group of ranks.
//!
//! Rank 0 deals, and does runs itself: it looks after the others between two of its rounds only. So that nobody waits for that, each group
//! has one more run than it works on, for as long as there are as many runs left as groups. The last ones are given to whoever is idle: none of them
//! waits behind a long run while somebody else has nothing to do.

use std::collections::VecDeque;

/// Who has which runs.
pub(super) struct Dealing {
    /// By group: the run that it works on, and the next one.
    runs: Vec<VecDeque<usize>>,
    /// Has any run begun since groups were made?
    begun: bool,
}

impl Dealing {
    /// Nobody has anything yet.
    pub(super) fn between(groups: usize) -> Self {
        Self { runs: vec![VecDeque::new(); groups], begun: false }
    }

    /// What a group gets, of those runs that can begin. `ahead` says which may be given to a group that is at work.
    pub(super) fn give(&mut self, group: usize, ready: &[usize], ahead: impl Fn(usize) -> bool) -> Option<usize> {
        let (groups, has) = (self.runs.len(), self.runs[group].len());
        // Where half of the groups would have nothing to do, larger ones are better: they are made when nobody is at work.
        if has > 1 || !self.is_any_at_work() && self.begun && 2 * ready.len() <= groups {
            return None;
        }
        let mut left = ready.iter().copied().filter(|run| !self.runs.iter().any(|runs| runs.contains(run)));
        let first = left.next()?;
        // Rank 0 need not wait for itself.
        if has == 1 && (group == 0 || left.count() + 1 < groups || !ahead(first)) {
            return None;
        }
        self.runs[group].push_back(first);
        self.begun = true;
        Some(first)
    }

    /// The run that a group works on.
    pub(super) fn at_work(&self, group: usize) -> Option<usize> {
        self.runs[group].front().copied()
    }

    /// A group has come to the end of the run that it worked on.
    pub(super) fn came(&mut self, group: usize) {
        self.runs[group].pop_front();
    }

    /// What a group was given last cannot be done.
    pub(super) fn withdraw(&mut self, group: usize) {
        self.runs[group].pop_back();
    }

    pub(super) fn is_any_at_work(&self) -> bool {
        self.runs.iter().any(|runs| !runs.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of these lengths on so many groups of one rank, of which the first looks after the others so often: the share of all ranks' time until the
    /// last run begins in which they were at work, and when everything was done. Where groups would be made anew, nobody becomes faster by it.
    fn dealt(lengths: &[f64], groups: usize, look: f64) -> (f64, f64) {
        let mut dealing = Dealing::between(groups);
        // By group, when it is done with what it works on, and how long it had nothing to do.
        let (mut until, mut idle, mut done) = (vec![0.0f64; groups], vec![0.0; groups], vec![]);
        let (mut now, mut last) = (0.0, 0.0);
        while done.len() < lengths.len() {
            for (group, until) in until.iter_mut().enumerate() {
                // What came to its end before rank 0 looked; what the group had besides has begun then.
                while let Some(run) = dealing.at_work(group).filter(|_| *until <= now) {
                    dealing.came(group);
                    done.push(run);
                    if let Some(next) = dealing.at_work(group) {
                        last = f64::max(last, *until);
                        *until += lengths[next];
                    }
                }
            }
            let ready: Vec<usize> = (0..lengths.len()).filter(|run| !done.contains(run)).collect();
            if !dealing.is_any_at_work() {
                dealing = Dealing::between(groups);
            }
            for group in (0..groups).rev() {
                while let Some(run) = dealing.give(group, &ready, |_| true) {
                    if dealing.at_work(group) == Some(run) {
                        idle[group] += now - until[group];
                        (until[group], last) = (now + lengths[run], now);
                    }
                }
            }
            now += look;
        }
        (1.0 - idle.iter().sum::<f64>() / (groups as f64 * last), until.iter().copied().fold(0.0, f64::max))
    }

    #[test]
    fn two_hundred_runs_keep_sixty_four_ranks_at_work() {
        let uneven: Vec<f64> = (0..200).map(|run| 0.5 + f64::from(run * 37 % 101) / 100.0).collect();
        for (lengths, look, least, latest) in [
            // Rank 0 looks twenty times while a run goes on.
            (vec![1.0; 200], 0.05, 0.98, 4.2),
            (uneven.clone(), 0.05, 0.97, 4.4),
            // It looks five times only, since it is busy with something long: a tenth is what groups may wait that have nothing ahead, the last ones.
            (vec![1.0; 200], 0.2, 0.9, 4.5),
            (uneven, 0.2, 0.9, 4.8),
        ] {
            let (busy, end) = dealt(&lengths, 64, look);
            assert!(busy >= least && end <= latest, "{busy} of the time until the last run began, {end} in all, looking every {look}");
        }
    }

    #[test]
    fn the_last_runs_are_nobodys_until_somebody_is_idle() {
        let mut dealing = Dealing::between(3);
        let ready: Vec<usize> = (0..7).collect();
        assert_eq!([0, 1, 2].map(|group| dealing.give(group, &ready, |_| true)), [Some(0), Some(1), Some(2)]);
        // Four are left, then three: as many as there are groups.
        assert_eq!([0, 1, 2].map(|group| dealing.give(group, &ready, |_| true)), [None, Some(3), Some(4)]);
        assert_eq!([0, 1, 2].map(|group| dealing.give(group, &ready, |_| true)), [None; 3]);
        dealing.came(1);
        assert_eq!((dealing.at_work(1), dealing.give(1, &ready[2..], |_| true)), (Some(3), None));
        dealing.came(1);
        assert_eq!(dealing.give(1, &ready[4..], |_| true), Some(5));
        // One that takes long to tell of is told to whoever is idle.
        let mut dealing = Dealing::between(2);
        assert_eq!([1, 1].map(|group| dealing.give(group, &ready, |_| false)), [Some(0), None]);
    }

    #[test]
    fn groups_are_made_anew_where_half_of_them_would_be_idle() {
        let mut dealing = Dealing::between(4);
        assert_eq!(dealing.give(0, &[5], |_| true), Some(5));
        dealing.came(0);
        assert_eq!(dealing.give(0, &[6, 7], |_| true), None);
        assert_eq!(dealing.give(0, &[6, 7, 8], |_| true), Some(6));
    }
}
