//! The sections of the page, in order.

mod against_alpha;
mod alphas;
mod attendance;
mod claims;
mod clients;
mod curves;
mod finals;
mod header;
mod join;
mod merit;
mod sweeps;
mod table;
mod tabs;
mod tuning;
mod verdict;

use crate::Comparison;
use crate::markup::Markup;

pub(crate) use header::name;
pub(crate) use tuning::{maps as tuning_maps, plots as tuning_plots};

/// Each writes itself, or nothing if there is nothing to say.
pub(crate) const SECTIONS: &[fn(&mut Markup, &Comparison<'_>)] = &[
    header::write,
    verdict::write,
    header::write_problems,
    join::write,
    against_alpha::write,
    alphas::write,
    claims::write,
    curves::write,
    sweeps::write,
    tuning::write,
    finals::write,
    clients::write,
    merit::write,
    attendance::write,
    header::write_details,
    header::write_footer,
];
