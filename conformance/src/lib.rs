//! What every method must keep, whatever its paper: one suite, with no code per method.
//!
//! ```
//! use motet_methods::local::Local;
//! motet_conformance::examine(&Local::default()).expect("the suite holds");
//! ```
//!
//! A [`Check`] is one promise, a [`Trial`] one small problem to try it on. [`examine`] runs all of them on
//! a method of one's own; [`Everywhere`] is a visitor that runs one on a method of the registry.

mod breaches;
mod card;
mod decorators;
mod draws;
mod fleets;
mod header;
mod late;
mod network;
mod ranks;
mod reads;
mod reduced;
mod resume;
mod runs;
mod trial;

use std::sync::Arc;

use motet_core::Study;
use motet_methods::{Method, Visitor};

pub use breaches::SurvivesBreaches;
pub use card::parameters_are_described;
pub use decorators::{Knock, Knocked, Knocking, Witness, forwards_everything};
pub use draws::is_right_on_average;
pub use fleets::{AskingTwiceIsAskingOnce, EqualOnAllFleets, SurvivesLoss};
pub use header::{Uncited, uncited_lines};
pub use late::LateAsksChangeNothing;
pub use network::EqualOverTheNetwork;
pub use ranks::{EqualOnAnyNumberOfRanks, RanksSurviveNonsense};
pub use reads::reads_as_its_card_says;
pub use reduced::SumsElsewhere;
pub use resume::GoesOnFromEveryRound;
pub use runs::{JudgesTheUnseen, ProbesChangeNothing, SeedDecides, ZeroRounds};
pub use trial::{Trial, one_dimension, trials};

/// One promise of every method.
pub trait Check {
    /// Does it hold for this method on this problem? If not, what was seen.
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String>;
}

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The problem on which it was broken.
    pub trial: &'static str,
    /// What was seen.
    pub reason: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "on {}: {}", self.trial, self.reason)
    }
}

impl std::error::Error for Broken {}

/// Runs one check on every trial.
pub fn everywhere<A: Study>(check: &impl Check, method: &Arc<A>) -> Result<(), Broken> {
    for trial in trials() {
        check.holds(method, &trial).map_err(|reason| Broken { trial: trial.name, reason })?;
    }
    Ok(())
}

/// Runs every check on every trial.
pub fn examine<A: Study + Clone>(method: &A) -> Result<(), Broken> {
    let method = Arc::new(method.clone());
    everywhere(&EqualOnAllFleets, &method)?;
    everywhere(&EqualOnAnyNumberOfRanks, &method)?;
    everywhere(&AskingTwiceIsAskingOnce, &method)?;
    everywhere(&LateAsksChangeNothing, &method)?;
    everywhere(&EqualOverTheNetwork, &method)?;
    everywhere(&SurvivesLoss, &method)?;
    everywhere(&SurvivesBreaches, &method)?;
    everywhere(&SumsElsewhere, &method)?;
    everywhere(&GoesOnFromEveryRound, &method)?;
    everywhere(&ZeroRounds, &method)?;
    everywhere(&SeedDecides, &method)?;
    everywhere(&ProbesChangeNothing, &method)?;
    everywhere(&JudgesTheUnseen, &method)
}

/// [`everywhere`] for a method known by name.
pub struct Everywhere<C>(pub C);

impl<C: Check> Visitor for Everywhere<C> {
    type Out = Result<(), Broken>;
    fn visit<M: Method>(self, method: M) -> Self::Out {
        everywhere(&self.0, &Arc::new(method))
    }
}
