//! The sections of the page, in order.

mod claims;
mod clients;
mod contest;
mod curves;
mod finals;
mod header;
mod merit;
mod sweeps;
mod tabs;

use crate::Comparison;
use crate::markup::Markup;

pub(crate) use header::name;

/// Each writes itself, or nothing if there is nothing to say.
pub(crate) const SECTIONS: &[fn(&mut Markup, &Comparison<'_>)] = &[
    header::write,
    contest::write,
    claims::write,
    curves::write,
    sweeps::write,
    finals::write,
    clients::write,
    merit::write,
    header::write_details,
    header::write_footer,
];
