//! The verdict in sentences: the same for page and terminal.

use motet_core::larger_is_better;

use super::answer::{Advice, Contest, Joining, Verdict, WayResult};
use super::choice::Choice;
use super::exact::LEAST_ROWS;
use super::interval::{Estimate, Missing};
use super::study::Design;
use crate::figures::title;
use crate::number;

/// Of more ways than one more than these, a sentence names as many and counts the others, which the table has.
const NAMED: usize = 3;

/// Means of so many draws are normal enough, however skew the draws are.
const MANY_DRAWS: usize = 30;

impl Verdict {
    /// Who wins, in one line.
    pub fn headline(&self) -> String {
        match &self.contest {
            Contest::Winner { way } => {
                format!("{} by {}.", sentence(&format!("{} {}", way, if is_plural(way) { "win" } else { "wins" })), title(&self.metric))
            }
            Contest::NoClearDifference { ways } => match ways.as_slice() {
                [only] => {
                    let leads = if is_plural(only) { "lead" } else { "leads" };
                    format!("{} {leads} by {}, and no clear difference is shown.", sentence(only), title(&self.metric))
                }
                several if several.len() > NAMED + 1 => {
                    let (named, more) = several.split_at(NAMED);
                    format!("No clear difference by {} between {} and {} more methods.", title(&self.metric), named.join(", "), more.len())
                }
                several => format!("No clear difference by {} between {}.", title(&self.metric), listed(several)),
            },
            Contest::NoContest => format!("Nothing to compare by {}: fewer than two methods were measured.", title(&self.metric)),
        }
    }

    /// The numbers behind the headline.
    pub fn numbers(&self) -> String {
        let [best, others @ ..] = self.ways.as_slice() else { return String::new() };
        let has = if is_plural(&best.way) { "have" } else { "has" };
        let value = format!("{} {has} {} {}", sentence(&best.way), title(&self.metric), number::short(best.value));
        let compared = |other: &WayResult| {
            let behind = other.behind.as_ref()?;
            let sure = if behind.sign() > 0 { "" } else { " (not clear)" };
            Some(format!("{} by {}{sure}", other.way, gain(behind)))
        };
        let better = if larger_is_better(&self.metric) { "above" } else { "below" };
        let mut others: Vec<String> = others.iter().filter_map(compared).collect();
        if others.len() > NAMED + 1 {
            let more = others.split_off(NAMED).len();
            others.push(format!("and {more} more"));
        }
        if others.is_empty() { format!("{value}.") } else { format!("{value}: {better} {}.", others.join(", ")) }
    }

    /// Does it pay to join? For all clients together.
    pub fn federation(&self) -> Option<String> {
        let Joining { advice, gain: estimate, .. } = self.joining.as_ref()?;
        let words = match advice {
            Advice::Join => "Joining pays for clients like these on average",
            Advice::Stay => "Staying alone is better for clients like these on average",
            Advice::Unclear => "It is not clear whether joining pays on average",
        };
        Some(format!("{words}: it gains {} of {}.", gain(estimate), title(&self.metric)))
    }

    /// How many clients should join, stay alone, or cannot be told.
    pub fn clients(&self) -> Option<String> {
        let joining = self.joining.as_ref().filter(|joining| !joining.clients.is_empty())?;
        let count = |advice| joining.count(advice);
        let all = joining.clients.len();
        let few = joining.clients.iter().filter(|client| client.gain.missing == Some(Missing::TooFewRows)).count();
        let few = if few > 0 { format!(" {few} of them have fewer than {LEAST_ROWS} test rows.") } else { String::new() };
        let clients = if all == 1 { "The one client".to_owned() } else { format!("All {all} clients") };
        Some(match [Advice::Join, Advice::Stay, Advice::Unclear].map(count) {
            [join, 0, 0] if join > 0 => format!("{clients} should join."),
            [0, stay, 0] if stay > 0 => format!("{clients} should stay alone."),
            [0, 0, _] if all == 1 => format!("For the one client it is unclear whether it should join.{few}"),
            [0, 0, _] => format!("For none of the {all} clients is it clear whether it should join.{few}"),
            [join, stay, unclear] => {
                format!("Of {all} clients, {join} should join, {stay} should stay alone, and for {unclear} it is unclear.{few}")
            }
        })
    }

    /// What the intervals rest on, in whole sentences.
    pub fn grounds(&self) -> String {
        let draws = self.draws;
        let mut words = match self.design {
            Design::Independent { same_clients: true } => {
                format!(
                    "{draws} independent draws of data of the same clients: Student's 95 % intervals over draws; for all clients together over draws and clients."
                )
            }
            Design::Independent { same_clients: false } => {
                format!(
                    "{draws} independent problems, each with clients of its own: Student's 95 % intervals over problems, and nothing is said about single clients."
                )
            }
            Design::Resplit { same_clients, .. } => format!(
                "{draws} splits of the same data: Student's 95 % intervals over splits, widened because their test parts overlap (Nadeau and Bengio 2003){}.",
                if same_clients {
                    "; for all clients together over splits and clients"
                } else {
                    "; clients differ from split to split, and nothing is said about single ones"
                }
            ),
            Design::OneSplit if self.metric == "test.accuracy" => format!(
                "One split: an exact test on the test rows that only one of two models gets right, with Tango's 95 % interval; below {LEAST_ROWS} test rows there is none."
            ),
            Design::OneSplit => format!(
                "One split: {} has no interval. Draw the hold-out anew for every seed (holdout.redraw = true), or look at test accuracy.",
                title(&self.metric)
            ),
        };
        match self.design {
            Design::Independent { same_clients: true } if self.joining.as_ref().is_some_and(|joining| !joining.clients.is_empty()) => words.push_str(
                " Where the differences of the clients are skewed in the same way, the intervals of single clients are shifted accordingly (Hall 1992).",
            ),
            // docs/lab/coverage.md: means over few clients are skewed too, and one series of draws does not tell how much.
            Design::Independent { same_clients: false } if draws < MANY_DRAWS => words.push_str(
                " With so few problems, intervals of very skewed differences cover less than 95 % (84 % in the worst case that was tried).",
            ),
            _ => {}
        }
        if self.worth.share() > 0.0 {
            words
                .push_str(&format!(" A difference counts if it is at least {} % of the error.", number::short(100.0 * self.worth.share())));
        }
        if self.joining.as_ref().is_some_and(|joining| joining.clients.len() > 1) {
            words.push_str(
                " Many clients are many tests: advice to single clients keeps the false discovery rate at 5 % (Benjamini and Hochberg).",
            );
        }
        words.push_str(match self.choice {
            Choice::Nothing => "",
            Choice::Validation => " Settings were chosen on validation data and judged on test data, draw by draw.",
            Choice::OtherDraws => " There are no validation data: the choice among settings saw the test data of the other draws.",
            Choice::TestRows => " There are no validation data: the choice among settings saw the test rows themselves, and tests count every setting that was tried.",
        });
        if self.ways_by_test {
            words.push_str(" Some method was fitted on validation data and looks better there than it is, so clients choose between methods on the test data of the other draws.");
        }
        if matches!(self.choice, Choice::OtherDraws | Choice::TestRows) {
            words.push_str(&self.flattered());
        }
        words
    }

    /// By how much a choice on test data flatters itself.
    fn flattered(&self) -> String {
        let most = self.ways.iter().filter_map(|way| Some((way, way.flattery?))).reduce(|a, b| if b.1 > a.1 { b } else { a });
        match most {
            Some((way, by)) => format!(
                " The best setting of one draw looks better there than in the others, by {} for {}.",
                number::digits(by, 2),
                way.way
            ),
            None => " How much better the choice looks because of that cannot be measured with one draw.".into(),
        }
    }
}

/// `0.031 [0.012, 0.05]`, or why there is no interval.
pub(crate) fn gain(estimate: &Estimate) -> String {
    let mean = number::digits(estimate.mean, 3);
    match (estimate.interval, estimate.missing) {
        (None, Some(Missing::NoSpread)) => format!("{mean} in every draw, which has no interval"),
        (Some([low, high]), _) => format!("{mean} [{}, {}]", number::digits(low, 3), number::digits(high, 3)),
        (None, Some(missing)) => format!("{mean}, {}", without(missing)),
        (None, None) => mean,
    }
}

fn without(missing: Missing) -> &'static str {
    match missing {
        Missing::OneDraw => "no interval from one draw",
        Missing::TooFewRows => "too few test rows for an interval",
        Missing::NoSpread => "the same in every draw, no interval",
        Missing::Nothing => "not measured",
    }
}

/// "Own models win", and everything else wins.
fn is_plural(way: &str) -> bool {
    way.starts_with("own models")
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
