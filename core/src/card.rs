//! What people read about each thing that can be named in an experiment file.

use crate::kind::Kind;

/// A type whose doc comments are what people read: `#[derive(Documented)]` makes it so.
///
/// ```
/// use motet_core::Documented;
///
/// /// Steps of a fixed length.
/// #[derive(Documented)]
/// struct Steps {
///     /// γ: the length of a step.
///     rate: f64,
///     #[doc = "How many; all of them by default."]
///     count: Option<u32>,
/// }
///
/// assert_eq!(Steps::ABOUT, "Steps of a fixed length.");
/// let [rate, count] = Steps::PARAMETERS.iter().collect::<Vec<_>>()[..] else { panic!("two fields") };
/// assert_eq!((rate.name, rate.about), ("rate", "γ: the length of a step."));
/// assert_eq!((count.kind, count.optional), ("Option<u32>", true));
/// ```
pub trait Documented {
    /// The first paragraph of the type's doc comment.
    const ABOUT: &'static str;
    /// Its fields.
    const PARAMETERS: Parameters;
}

/// What may be written about a thing, in the order of its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Fields, and structs whose fields stand among them.
    pub items: &'static [Item],
}

/// A field, or the fields of a struct that serde flattens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A field.
    One(Parameter),
    /// All fields of a flattened struct.
    All(Parameters),
}

/// A key that an experiment file may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Parameter {
    /// The key.
    pub name: &'static str,
    /// What may be written in its place: letters of papers, earlier names.
    pub aliases: &'static [&'static str],
    /// What it means, what may be written, and the default.
    pub about: &'static str,
    /// Its type, as the source code writes it.
    pub kind: &'static str,
    /// May it be left out?
    pub optional: bool,
}

impl Parameters {
    /// No parameters.
    pub const NONE: Parameters = Parameters { items: &[] };

    /// Every parameter, those of flattened structs in their place.
    pub fn iter(self) -> impl Iterator<Item = &'static Parameter> {
        let mut all = Vec::new();
        self.gather(&mut all);
        all.into_iter()
    }

    /// The keys.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.iter().map(|parameter| parameter.name)
    }

    /// The key that a key means: itself, or the one that it is an alias of.
    pub fn canonical(self, key: &str) -> Option<&'static str> {
        self.iter().find(|parameter| parameter.name == key || parameter.aliases.contains(&key)).map(|parameter| parameter.name)
    }

    fn gather(self, all: &mut Vec<&'static Parameter>) {
        for item in self.items {
            match item {
                Item::One(parameter) => all.push(parameter),
                Item::All(parameters) => parameters.gather(all),
            }
        }
    }
}

/// What `list` prints about a source, a split, a model or a compressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// As in `kind = "…"`.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// What may be written beside `kind`.
    pub parameters: Parameters,
}

impl Card {
    /// The card of a kind: its name and its doc comments.
    pub const fn of<K: Kind>() -> Self {
        Self { name: K::NAME, about: K::ABOUT, parameters: K::PARAMETERS }
    }
}
