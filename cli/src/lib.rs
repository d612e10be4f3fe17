//! The `motet` command, for programs that bring methods of their own: see [`main`].

mod interrupt;
mod progress;
mod verb;

use std::error::Error as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use motet::Error;
use verb::{
    BenchArgs, CheckArgs, Console, DataArgs, DemoArgs, Format, ListArgs, PredictArgs, ReportArgs, ReproduceArgs, ResultsArgs, RunArgs,
};

/// Personalised federated learning: simulate, tune, explain.
#[derive(Parser)]
#[command(name = "motet", version, after_help = "Start with:  motet demo")]
struct Cli {
    /// For people or for programs
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Say only results and errors
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
    Predict(PredictArgs),
    List(ListArgs),
    Data(DataArgs),
    Bench(BenchArgs),
}

/// Reads the command line, does what it says and gives the exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let console = Console { format: cli.format, quiet: cli.quiet };
    let done = match &cli.verb {
        Verb::Run(args) => args.execute(console),
        Verb::Demo(args) => args.execute(console),
        Verb::Reproduce(args) => args.execute(console),
        Verb::Check(args) => args.execute(console),
        Verb::Report(args) => args.execute(console),
        Verb::Results(args) => args.execute(console),
        Verb::Predict(args) => args.execute(console),
        Verb::List(args) => args.execute(console),
        Verb::Data(args) => args.execute(console),
        Verb::Bench(args) => args.execute(console),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => complain(&error),
    }
}

/// The chain of causes on one line.
fn complain(error: &Error) -> ExitCode {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if !text.contains(&inner.to_string()) {
            text.push_str(&format!(": {inner}"));
        }
        cause = inner.source();
    }
    eprintln!("motet: {text}");
    ExitCode::from(error.exit_code())
}
