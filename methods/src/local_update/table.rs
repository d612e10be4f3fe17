//! The LocalUpdate family as one table.

use super::{Line, LocalUpdateSettings, Preset};
use crate::{fedavg, fomaml, local_sgd, local_update_decay, lookahead, maml, minibatch_sgd, reptile};

/// Each method of the family, by name, with what it fixes.
pub const TABLE: &[(&str, Line)] = &[
    row::<LocalUpdateSettings>(),
    row::<minibatch_sgd::MinibatchSgdSettings>(),
    row::<local_sgd::LocalSgdSettings>(),
    row::<fedavg::FedavgSettings>(),
    row::<lookahead::LookaheadSettings>(),
    row::<reptile::ReptileSettings>(),
    row::<fomaml::FomamlSettings>(),
    row::<maml::MamlSettings>(),
    row::<local_update_decay::LocalUpdateDecaySettings>(),
];

const fn row<P: Preset>() -> (&'static str, Line) {
    (P::CARD.name, P::LINE)
}

/// The line of the method called `name`, if it belongs to the family.
pub fn line(name: &str) -> Option<Line> {
    TABLE.iter().find(|(member, _)| *member == name).map(|(_, line)| *line)
}
