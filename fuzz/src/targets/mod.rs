//! The one list of targets.

mod checkpoints;
mod claims;
mod data;
mod experiments;
mod folder;
mod link;
mod models;
mod records;
mod wire;

use crate::target::Target;

/// Everything that reads bytes of others.
pub fn targets() -> Vec<Box<dyn Target>> {
    let mut all: Vec<Box<dyn Target>> = vec![
        Box::new(experiments::Experiments),
        Box::new(experiments::Settings),
        Box::new(claims::Claims::default()),
        Box::new(wire::Messages::default()),
        Box::new(link::Network),
        Box::new(checkpoints::Checkpointed::default()),
        Box::new(records::Recorded::default()),
        Box::new(models::Predicted::default()),
    ];
    all.extend(data::forms().into_iter().map(|form| Box::new(form) as Box<dyn Target>));
    all
}
