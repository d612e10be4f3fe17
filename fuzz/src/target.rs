//! One reader, and what to try on it.

/// Something that reads bytes of others.
pub trait Target: Send + Sync {
    /// What it is called: `data/libsvm`, `claims`.
    fn name(&self) -> String;

    /// Sound inputs, each of which must be taken as it is.
    fn corpus(&self) -> Vec<Vec<u8>>;

    /// Words that mean something to this reader.
    fn words(&self) -> Vec<String>;

    /// So many bytes at the beginning of an input say which file it is, and are not damaged.
    fn head(&self) -> usize;

    /// Reads an input. A panic is a failure, whatever the input; so is a result that cannot be.
    fn run(&self, input: &[u8], reach: Reach) -> Met;
}

/// What a reader did with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Met {
    /// It was read, and used.
    Taken,
    /// It was refused, for this reason.
    Refused(String),
}

impl Met {
    /// It was not even text.
    pub(crate) fn no_text() -> Self {
        Met::Refused("no UTF-8 text".into())
    }

    /// It was too short to say what it is.
    pub(crate) fn nothing() -> Self {
        Met::Refused("nothing is there".into())
    }

    /// Whether there was an error, of which there is nothing to check but that it can be told.
    pub(crate) fn of<T, E: std::fmt::Display>(result: Result<T, E>) -> Self {
        match result {
            Ok(_) => Met::Taken,
            Err(error) => {
                let told = error.to_string();
                assert!(!told.is_empty() && told.len() < 100_000, "an error of {} bytes tells nobody anything", told.len());
                Met::Refused(told)
            }
        }
    }
}

/// How far a target goes with an input that is sound and asks for much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// What asks for more than a moment is left at that: for ordinary tests.
    Quick,
    /// Whatever the limits of the process allow is built: for processes with limits to memory.
    Whole,
}
