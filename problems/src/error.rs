//! Everything that can be wrong with a problem, each named with its place and what would be right.

use std::io;
use std::path::PathBuf;

use crate::dataset::DatasetError;
use crate::model::ModelError;
use crate::own_data::DataError;
use crate::room::Shortage;

/// Why a problem could not be built.
#[derive(Debug, thiserror::Error)]
pub enum ProblemError {
    /// No such file, compressed or not.
    #[error(
        "no file `{}` (plain, .gz, .bz2 or .xz); looked in {}{} Set MOTET_DATA to the folder that has it, or bring it in with `motet data import`",
        path.display(), listed(looked), near.as_ref().map_or(".".to_owned(), |near| format!("; did you mean `{}`?", near.display()))
    )]
    MissingFile {
        /// As written in the experiment.
        path: PathBuf,
        /// A file that is there, and has nearly this name.
        near: Option<PathBuf>,
        /// Every folder that was searched, in order.
        looked: Vec<PathBuf>,
    },
    /// The file is there and cannot be read or unpacked.
    #[error("cannot read `{}`: {cause}", file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// Something that is not to be read like a file.
    #[error("`{}` is {what}: only regular files are read", file.display())]
    NoRegularFile {
        /// Which.
        file: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A link in a folder that is not followed.
    #[error("`{}` is a link {what}", link.display())]
    Link {
        /// Which link.
        link: PathBuf,
        /// Where it leads, and what to do.
        what: &'static str,
    },
    /// An imported file is no longer what it was.
    #[error("`{}` changed since it was imported: its sha256 is {found}, and was {known}; import it again under another name", file.display())]
    Changed {
        /// Which file.
        file: PathBuf,
        /// When it was imported.
        known: String,
        /// Now.
        found: String,
    },
    /// A file that clients are read from one by one is no longer what it was.
    #[error("`{}` changed while clients were read from it: leave it as it is during a run, and start again", file.display())]
    ChangedInUse {
        /// Which file.
        file: PathBuf,
    },
    /// The name of an import is a folder's.
    #[error("`{name}` cannot be the name of an import: letters, digits, `-`, `_` and `.`, the first no `.`")]
    ImportName {
        /// As given.
        name: String,
    },
    /// Somebody imported this before.
    #[error("`{}` is there already, and nothing is overwritten: choose another name, or remove that folder", folder.display())]
    Imported {
        /// Which folder.
        folder: PathBuf,
    },
    /// Two files of an import are called alike.
    #[error("two of the files are called `{name}`: import them under two names")]
    SameName {
        /// Their name.
        name: String,
    },
    /// A file of an import is called as the list that is written beside them.
    #[error("`{name}` is where an import keeps the list of its files: give the file another name")]
    ReservedName {
        /// Its name.
        name: String,
    },
    /// The file holds no example.
    #[error("{file}: no examples in this file")]
    NoExamples {
        /// Name of the file.
        file: String,
    },
    /// One line of a file is wrong.
    #[error("{file}, line {line}: {fault}")]
    Line {
        /// Name of the file.
        file: String,
        /// Counts from 1.
        line: usize,
        /// What is wrong there.
        fault: LineFault,
    },
    /// A place of a file is not as its form wants it.
    #[error("{file}, {place}: {what}")]
    Odd {
        /// Name of the file.
        file: String,
        /// A line, a byte, a row, an element.
        place: String,
        /// What is there, and what would be right.
        what: String,
    },
    /// The labels of a file are fewer than the experiment says.
    #[error("{file}: {found} distinct label(s) in the whole file, but classes = {expected}")]
    TooFewClasses {
        /// Name of the file.
        file: String,
        /// As the experiment says.
        expected: u32,
        /// As the file has.
        found: u32,
    },
    /// A key of the experiment has a value that cannot be.
    #[error("[problem] {key} = {value}: {wanted}")]
    Value {
        /// Which key, with its section: `source.groups`.
        key: &'static str,
        /// As written, or as it adds up.
        value: String,
        /// What would be right.
        wanted: String,
    },
    /// Something the experiment asks for does not fit into memory.
    #[error("[problem] source: {0}: ask for less, or take a machine with more memory")]
    Shortage(#[from] Shortage),
    /// A split has more clients than it can serve.
    #[error("{clients} clients cannot share {rows} examples: each needs at least {least}")]
    TooManyClients {
        /// As the experiment says.
        clients: usize,
        /// As the source has.
        rows: usize,
        /// Examples per client.
        least: usize,
    },
    /// The split needs classes and the source gives numbers.
    #[error("split `{split}` deals by class, but the source's targets are numbers; use iid, contiguous, power-law or natural")]
    NoClasses {
        /// Name in the list of splits.
        split: &'static str,
    },
    /// The split needs to know whose each example is.
    #[error("split `{split}` needs a source that knows whose each example is, and this one does not")]
    NoKeys {
        /// Name in the list of splits.
        split: &'static str,
    },
    /// A hold-out takes all a client has.
    #[error(
        "client {client} has {examples} example(s): holding out {validation} for validation and {test} for test leaves none to train on; hold out less, or leave such clients out (`least_rows` of a table)"
    )]
    NothingToTrain {
        /// Which client.
        client: usize,
        /// All it has.
        examples: usize,
        /// Taken for validation.
        validation: usize,
        /// Taken for test.
        test: usize,
    },
    /// The examples do not form a data set.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Data that a program gives do not go together.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A start that is no start of this problem.
    #[error("the start has {found} numbers of {found_bits} bits, the clients' functions take {wanted} of {wanted_bits}")]
    Start {
        /// How many numbers were given.
        found: usize,
        /// How wide they are.
        found_bits: u64,
        /// How many a model has.
        wanted: usize,
        /// How wide those are.
        wanted_bits: u64,
    },
    /// A start from which nothing can be trained.
    #[error("number {at} of the start is {value}, which is not finite")]
    StartNotFinite {
        /// Which, counted from 0.
        at: usize,
        /// What is there.
        value: f64,
    },
    /// The model does not go with the data.
    #[error("[problem] {0}")]
    Model(#[from] ModelError),
    /// What a source or a split from outside of the repository says.
    #[error("[problem] {0}")]
    Own(#[from] Box<dyn std::error::Error + Send + Sync>),
    /// A section that does not go with the source.
    #[error("[problem] {section}: source `{kind}` brings its own clients and functions; leave `{section}` out")]
    Superfluous {
        /// `split`, `holdout` or `model`.
        section: &'static str,
        /// The source's name in the list.
        kind: &'static str,
    },
    /// A section that the source needs.
    #[error("[problem] {section} is missing: source `{kind}` gives examples, which need one")]
    Missing {
        /// `split` or `model`.
        section: &'static str,
        /// The source's name in the list.
        kind: &'static str,
    },
}

/// What is wrong with one line of a LIBSVM file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LineFault {
    /// The first word is not a number.
    #[error("label `{0}` is not a number")]
    Label(String),
    /// A word that is not `index:value`.
    #[error("`{0}` is not index:value")]
    Pair(String),
    /// The part before the colon.
    #[error("index `{0}` is not a whole number from 1 to {largest}", largest = LARGEST_INDEX)]
    Index(String),
    /// Someone counts from zero.
    #[error("index 0: indices count from 1")]
    Zero,
    /// Twice the same.
    #[error("index {0} appears twice")]
    Duplicate(u32),
    /// Out of order.
    #[error("index {index} comes after {previous}: indices must ascend")]
    Unsorted {
        /// This one.
        index: u32,
        /// The one before.
        previous: u32,
    },
    /// The part after the colon.
    #[error("value `{value}` of index {index} is not a finite number")]
    Value {
        /// Of which feature.
        index: u32,
        /// As written.
        value: String,
    },
    /// More features than the experiment says.
    #[error("index {index} is larger than features = {features}")]
    BeyondFeatures {
        /// As written in the file.
        index: u32,
        /// As the experiment says.
        features: u32,
    },
    /// More features than there are bytes, and nobody says that so many are meant.
    #[error("index {index} in a file of {bytes} bytes: if there are so many features, `features = {index}` says it")]
    FarBeyond {
        /// As written in the file.
        index: u32,
        /// What there is of the file, unpacked.
        bytes: usize,
    },
    /// More classes than the experiment says.
    #[error("label {label} is one too many: classes = {classes}, and {} came before", numbers(seen))]
    TooManyClasses {
        /// This one.
        label: i64,
        /// As the experiment says.
        classes: u32,
        /// Those before it.
        seen: Vec<i64>,
    },
    /// A class must be a whole number.
    #[error("label {0} is not a whole number, as a class must be; labels = \"numbers\" reads it as a quantity")]
    FractionalClass(f64),
}

/// The largest index a file may use: beyond any public data set, and far below what memory holds.
pub(crate) const LARGEST_INDEX: u32 = 1 << 27;

fn listed(folders: &[PathBuf]) -> String {
    folders.iter().map(|f| format!("`{}`", f.display())).collect::<Vec<_>>().join(", ")
}

fn numbers(labels: &[i64]) -> String {
    labels.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}
