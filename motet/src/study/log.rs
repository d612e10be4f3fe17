//! What a coordinator tells whoever runs it, by level. Other threads leave their lines here; the main one says them.

use std::sync::{Arc, Mutex, PoisonError};

use motet_records::Event;

use super::coordinator::StudyWatch;
use crate::observer::Event as Seen;

/// How much a coordinator tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// What cannot be carried out.
    Errors,
    /// Also who came, left, was late, lost or refused.
    #[default]
    Events,
    /// Also every connection that ended in an error, with the address of the caller.
    Connections,
}

/// Lines that wait to be said.
#[derive(Clone)]
pub(super) struct Log {
    level: LogLevel,
    lines: Arc<Mutex<Vec<String>>>,
}

/// Strangers can cause lines: those above the limit are dropped, and the last one says so.
const MOST: usize = 1000;

impl Log {
    pub(super) fn new(level: LogLevel) -> Self {
        Self { level, lines: Arc::default() }
    }

    /// Keeps a line of this level.
    pub(super) fn line(&self, level: LogLevel, line: impl FnOnce() -> String) {
        if level > self.level {
            return;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.len() {
            ..MOST => lines.push(line()),
            MOST => lines.push("more lines came than could be said".into()),
            _ => {}
        }
    }

    /// Keeps what happened to a participant.
    pub(super) fn event(&self, names: &[String], event: &Event) {
        let who = event.client.and_then(|client| names.get(client as usize));
        self.line(LogLevel::Events, || who.map_or_else(|| event.text.clone(), |name| format!("{name}: {}", event.text)));
    }

    /// Says all lines.
    pub(super) fn tell(&self, watch: &dyn StudyWatch) {
        let lines = std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner));
        lines.iter().for_each(|line| watch.notice(Seen::Note(line)));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::Path;

    use super::*;
    use crate::observer::Observer;

    #[derive(Default)]
    struct Said(RefCell<Vec<String>>);

    impl Observer for Said {
        fn notice(&self, event: Seen<'_>) {
            if let Seen::Note(line) = event {
                self.0.borrow_mut().push(line.to_owned());
            }
        }

        fn stop(&self) -> bool {
            false
        }
    }

    impl StudyWatch for Said {
        fn listening(&self, _: &str, _: &Path) {}
        fn waiting(&self, _: usize, _: usize) {}
    }

    #[test]
    fn a_level_tells_itself_and_what_is_below_and_a_flood_has_an_end() {
        let all = [LogLevel::Errors, LogLevel::Events, LogLevel::Connections];
        for (count, level) in (1..).zip(all) {
            let (log, said) = (Log::new(level), Said::default());
            all.iter().for_each(|level| log.line(*level, || format!("{level:?}")));
            log.tell(&said);
            assert_eq!(said.0.borrow().len(), count);
        }
        let (log, said) = (Log::new(LogLevel::Errors), Said::default());
        (0..5000).for_each(|k| log.line(LogLevel::Errors, || k.to_string()));
        log.tell(&said);
        assert_eq!((said.0.borrow().len(), said.0.borrow().last().map(String::as_str)), (1001, Some("more lines came than could be said")));
        log.tell(&said);
        assert_eq!(said.0.borrow().len(), 1001, "each is said once");
    }
}
