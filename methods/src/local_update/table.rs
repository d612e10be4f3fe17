//! The family as one table.

use super::{Line, Preset, Settings};
use crate::{fedavg, fomaml, local_sgd, local_update_decay, lookahead, maml, minibatch_sgd, reptile};

/// Name → what the member fixes.
pub const TABLE: &[(&str, Line)] = &[
    row::<Settings>(),
    row::<minibatch_sgd::Settings>(),
    row::<local_sgd::Settings>(),
    row::<fedavg::Settings>(),
    row::<lookahead::Settings>(),
    row::<reptile::Settings>(),
    row::<fomaml::Settings>(),
    row::<maml::Settings>(),
    row::<local_update_decay::Settings>(),
];

const fn row<P: Preset>() -> (&'static str, Line) {
    (P::CARD.name, P::LINE)
}

/// The line of the method called `name`, if it belongs to the family.
pub fn line(name: &str) -> Option<Line> {
    TABLE.iter().find(|(member, _)| *member == name).map(|(_, line)| *line)
}
