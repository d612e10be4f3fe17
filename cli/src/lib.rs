//! The `motet` command, as a binary and for programs that bring methods of their own.
//!
//! [`main_with`] is the whole command with a catalogue of one's own; [`main_of`] is the same for words that come from elsewhere:
//!
//! ```
//! use motet::Catalogue;
//!
//! let catalogue = Catalogue::standard();
//! assert_eq!(motet_cli::main_of(&catalogue, ["motet", "list", "methods", "--quiet"]), 0);
//! // 2: the input is wrong.
//! assert_eq!(motet_cli::main_of(&catalogue, ["motet", "sing"]), 2);
//! ```
//!
//! Whatever the command does, the library `motet` does in a line or two. The features `sqlite`, `images`, `text` (on by default)
//! and `parquet` are those of `motet`.

/// Every example in Rust of the book is a test of ours; a test of the book sees that no page is missing here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../docs/how-to/rust.md")]
    struct Library;
    #[doc = include_str!("../../docs/how-to/coming-from.md")]
    struct ComingFrom;
    #[doc = include_str!("../../README.md")]
    struct Readme;
}

mod allocator;
#[cfg(feature = "mpi")]
mod cores;
mod interrupt;
mod job;
mod progress;
mod verb;

use std::error::Error as _;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use job::Job;
use motet::{Catalogue, Error};
use verb::{
    AdviseArgs, BenchArgs, CheckArgs, Console, DataArgs, DemoArgs, Format, JoinArgs, ListArgs, PredictArgs, ReportArgs, ReproduceArgs,
    ResultsArgs, RunArgs, ServeArgs, StudyArgs, printable,
};

/// Personalised federated learning: simulate, tune, explain.
#[derive(Parser)]
#[command(name = "motet", version, after_help = "Start with:  motet demo")]
struct Cli {
    /// Write results for people or for programs
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print only results and errors
    #[arg(long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(RunArgs),
    Demo(DemoArgs),
    Reproduce(ReproduceArgs),
    Check(CheckArgs),
    Report(ReportArgs),
    Results(ResultsArgs),
    Advise(AdviseArgs),
    Predict(PredictArgs),
    List(ListArgs),
    Data(DataArgs),
    Serve(ServeArgs),
    Join(JoinArgs),
    Study(StudyArgs),
    Bench(BenchArgs),
}

/// The `motet` command with what a catalogue has: reads the command line, does what it says and gives the exit code.
///
/// ```no_run
/// use motet::Catalogue;
/// # use motet::methods::flix::Flix as Mine;
/// // A binary whose experiment files, tuning, claims, list and report know a method of one's own:
/// fn main() -> std::process::ExitCode {
///     motet_cli::main_with(Catalogue::standard().method::<Mine>())
/// }
/// ```
pub fn main_with(catalogue: Catalogue) -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|usage| {
        job::leave_the_word_to_rank_0(usage.exit_code());
        usage.exit()
    });
    ExitCode::from(run(&cli, &catalogue))
}

/// The same with other words than those of the command line, the first of which is the program's name; gives the exit code
/// as a number.
pub fn main_of<I: IntoIterator<Item = S>, S: Into<OsString> + Clone>(catalogue: &Catalogue, words: I) -> u8 {
    match Cli::try_parse_from(words) {
        Ok(cli) => run(&cli, catalogue),
        Err(usage) => {
            // What cannot be shown for want of an open terminal is still an exit code.
            let _ = usage.print();
            usage.exit_code().try_into().unwrap_or(2)
        }
    }
}

/// Does it, says what went wrong, and gives the exit code. In this order: a job ends only when all of its ranks do, and a rank that does not hear
/// of the end must not keep anybody from reading why there is one.
fn run(cli: &Cli, catalogue: &Catalogue) -> u8 {
    match Job::join() {
        Ok(job) => {
            let code = code(done(cli, catalogue, job.as_ref()));
            job.iter().filter(|job| code != 0 && !job.leads()).for_each(|job| job.end(code));
            code
        }
        Err(error) => code(Err(error)),
    }
}

fn done(cli: &Cli, catalogue: &Catalogue, job: Option<&Job>) -> Result<bool, Error> {
    let console = Console { format: cli.format, quiet: cli.quiet, catalogue, job };
    let Some(job) = job else { return execute(&cli.verb, console) };
    match &cli.verb {
        Verb::Run(args) if !job.leads() => args.serve(job, console),
        Verb::Bench(args) if args.needs_ranks() && !job.leads() => args.ranks(console),
        Verb::Run(_) => {
            let done = execute(&cli.verb, console);
            job.over();
            done
        }
        Verb::Bench(args) if args.needs_ranks() => execute(&cli.verb, console),
        // Other commands are rank 0's alone.
        _ if !job.leads() => job.serve(None),
        _ => {
            job.over();
            execute(&cli.verb, Console { job: None, ..console })
        }
    }
}

fn execute(verb: &Verb, console: Console<'_>) -> Result<bool, Error> {
    match verb {
        Verb::Run(args) => args.execute(console),
        Verb::Demo(args) => args.execute(console),
        Verb::Reproduce(args) => args.execute(console),
        Verb::Check(args) => args.execute(console),
        Verb::Report(args) => args.execute(console),
        Verb::Results(args) => args.execute(console),
        Verb::Advise(args) => args.execute(console),
        Verb::Predict(args) => args.execute(console),
        Verb::List(args) => args.execute(console),
        Verb::Data(args) => args.execute(console),
        Verb::Serve(args) => args.execute(console),
        Verb::Join(args) => args.execute(console),
        Verb::Study(args) => args.execute(console),
        Verb::Bench(args) => args.execute(console),
    }
}

fn code(done: Result<bool, Error>) -> u8 {
    match done {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(error) => {
            complain(&error);
            error.exit_code()
        }
    }
}

/// Says it on standard error.
pub(crate) fn complain(error: &Error) {
    eprintln!("motet: {}", printable(&told(error)));
}

/// The chain of causes on one line.
pub(crate) fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if !text.contains(&inner.to_string()) {
            text.push_str(&format!(": {inner}"));
        }
        cause = inner.source();
    }
    text
}
