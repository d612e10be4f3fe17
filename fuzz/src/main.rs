//! Damaged inputs by the thousand, in processes of their own with limits to memory.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use motet_fuzz::{Reach, Report, Target, case, forget_peak, peak_memory, processor_time, silence, targets};

const USAGE: &str = "motet-fuzz: damaged inputs for everything that Motet reads

  motet-fuzz list                          the targets, with how many sound inputs each begins with
  motet-fuzz run CASES [SEED] [TARGET...]  so many damaged inputs for each target (whose name begins so); prints a line for each
  motet-fuzz corpus FOLDER [TARGET...]     writes the sound inputs, for libFuzzer to begin with
  motet-fuzz show TARGET SEED CASE         writes one damaged input to standard output
  motet-fuzz replay TARGET FILE            tries the input in a file

Inputs are a function of seed and number. Each process may have 3 GB of addresses, and each input 10 seconds of the processor.
Exit codes: 0 if nothing was found, 1 if something was, 2 for wrong arguments.";

/// Addresses that a process may have.
const MEMORY: u64 = 3 << 30;
/// An input that takes longer ends its process.
const LONGEST: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["list"] => list(),
        ["run", cases, rest @ ..] => run(cases, rest),
        ["child", name, seed, from, to] => child(name, seed, from, to),
        ["corpus", folder, names @ ..] => corpus(Path::new(folder), names),
        ["show", name, seed, number] => show(name, seed, number),
        ["replay", name, file] => replay(name, Path::new(file)),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing was found, or what is wrong with the arguments.
type Done = Result<bool, String>;

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a whole number\n\n{USAGE}"))
}

fn chosen(names: &[&str]) -> Result<Vec<Box<dyn Target>>, String> {
    let mut all = targets();
    all.retain(|target| names.is_empty() || names.iter().any(|name| target.name().starts_with(name)));
    if all.is_empty() { Err(format!("no target begins with {}", names.join(" or "))) } else { Ok(all) }
}

fn one(name: &str) -> Result<Box<dyn Target>, String> {
    let found = targets().into_iter().find(|target| target.name() == name);
    found.ok_or_else(|| format!("there is no target \"{name}\" (motet-fuzz list)"))
}

fn say(line: &str) {
    // Whoever does not listen any more need not be told.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn list() -> Done {
    for target in targets() {
        say(&format!("{:24} {:5} inputs", target.name(), target.corpus().len()));
    }
    Ok(true)
}

fn show(name: &str, seed: &str, at: &str) -> Done {
    let target = one(name)?;
    let input = case(&target.corpus(), &target.words(), target.head(), number(seed)?, number(at)?);
    std::io::stdout().write_all(&input).map_err(|e| e.to_string())?;
    Ok(true)
}

fn replay(name: &str, file: &Path) -> Done {
    let input = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let met = one(name)?.run(&input, Reach::Whole);
    say(&format!("{met:?} after {:.2} s of the processor", processor_time().as_secs_f64()));
    Ok(true)
}

fn corpus(folder: &Path, names: &[&str]) -> Done {
    for target in chosen(names)? {
        let place = folder.join(target.name().replace('/', "-"));
        std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        for (k, input) in target.corpus().iter().enumerate() {
            let path = place.join(k.to_string());
            std::fs::write(&path, input).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(true)
}

/// What a child has told.
#[derive(Default)]
struct Told {
    taken: u64,
    refused: u64,
    found: Vec<String>,
    slowest: f64,
    largest: u64,
}

fn run(cases: &str, rest: &[&str]) -> Done {
    let cases = number(cases)?;
    let (seed, names) = match rest {
        [first, names @ ..] if first.parse::<u64>().is_ok() => (number(first)?, names),
        names => (1, names),
    };
    let mut all = Told::default();
    say("target                    taken  refused    found  slowest s   memory MB");
    for target in chosen(names)? {
        let told = in_children(&target.name(), seed, cases)?;
        let Told { taken, refused, found, slowest, largest } = &told;
        say(&format!("{:24} {taken:6} {refused:8} {:8} {slowest:10.2} {:11.0}", target.name(), found.len(), *largest as f64 / 1e6));
        found.iter().for_each(|found| say(&format!("  {found}")));
        all.taken += taken;
        all.refused += refused;
        all.found.extend(told.found);
    }
    say(&format!("{} inputs: {} taken, {} refused, {} found", all.taken + all.refused, all.taken, all.refused, all.found.len()));
    Ok(all.found.is_empty())
}

/// Tries the inputs of a target in a process; if it dies, the input it died of is told, and another goes on after it.
fn in_children(name: &str, seed: u64, cases: u64) -> Result<Told, String> {
    let (mut told, mut from) = (Told::default(), 0);
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    while from < cases {
        let mut command = Command::new(&program);
        command.args(["child", name, &seed.to_string(), &from.to_string(), &cases.to_string()]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(|e| e.to_string())?;
        let (mut at, mut ended) = (from, false);
        for line in BufReader::new(child.stdout.take().into_iter().next().ok_or("a child without a voice")?).lines() {
            let line = line.map_err(|e| e.to_string())?;
            let words: Vec<&str> = line.splitn(3, ' ').collect();
            match words.as_slice() {
                ["at", number] => at = number.parse().unwrap_or(at),
                ["found", number, reason] => told.found.push(format!("{name} {seed} {number}: {reason}")),
                ["taken", number] => told.taken += number.parse().unwrap_or(0),
                ["refused", number] => told.refused += number.parse().unwrap_or(0),
                ["slowest", seconds] => told.slowest = told.slowest.max(seconds.parse().unwrap_or(0.0)),
                ["largest", bytes] => told.largest = told.largest.max(bytes.parse().unwrap_or(0)),
                ["end"] => ended = true,
                _ => {}
            }
        }
        let status = child.wait().map_err(|e| e.to_string())?;
        if ended {
            break;
        }
        told.found.push(format!("{name} {seed} {at}: the process died ({status})"));
        from = at + 1;
    }
    Ok(told)
}

/// The processor time at which the input under way began, in microseconds.
static BEGAN: AtomicU64 = AtomicU64::new(u64::MAX);

fn child(name: &str, seed: &str, from: &str, to: &str) -> Done {
    let (target, seed, from, to) = (one(name)?, number(seed)?, number(from)?, number(to)?);
    let limit = rustix::process::Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).map_err(|e| e.to_string())?;
    silence();
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let now = processor_time().as_micros() as u64;
            if now.saturating_sub(BEGAN.load(Ordering::Relaxed)) > LONGEST.as_micros() as u64 + 2_000_000 {
                std::process::abort();
            }
        }
    });
    let (corpus, words, head) = (target.corpus(), target.words(), target.head());
    let (mut report, mut told, mut largest) = (Report::default(), 0, 0);
    for at in from..to {
        let input = case(&corpus, &words, head, seed, at);
        say(&format!("at {at}"));
        forget_peak();
        BEGAN.store(processor_time().as_micros() as u64, Ordering::Relaxed);
        report.add(at, &*target, &input, Reach::Whole);
        BEGAN.store(u64::MAX, Ordering::Relaxed);
        largest = largest.max(peak_memory().unwrap_or(0));
        for failure in &report.failures[told..] {
            say(&format!("found {} {}", failure.case, failure.reason.replace('\n', " | ")));
        }
        told = report.failures.len();
        // Told as they come: should the next one end the process, these are counted all the same.
        say(&format!("taken {}", std::mem::take(&mut report.taken)));
        say(&format!("refused {}", std::mem::take(&mut report.refused)));
    }
    say(&format!("slowest {}", report.slowest.0.as_secs_f64()));
    say(&format!("largest {largest}"));
    say("end");
    Ok(true)
}
