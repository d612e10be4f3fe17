//! What experiment files can name. The standard catalogue has everything of ours; a program adds what is its own.

use std::sync::Arc;

use motet_core::kind::{NameTaken, Takes};
use motet_core::{Card, Kind, Kinds, Unreadable};
use motet_methods::parts::compress::{AnyCompressor, COMPRESSORS};
use motet_methods::{Card as MethodCard, EachMethod, Method, each_method};
use motet_problems::{AnyModel, AnySource, AnySplit, MODELS, SOURCES, SPLITS};
use serde_json::Value;

use crate::method::{AnyMethod, written};

/// Everything that an experiment file can name.
///
/// ```
/// use motet::Catalogue;
/// use motet::methods::flix::Flix;
/// let few = Catalogue::without_methods().method::<Flix>();
/// assert_eq!(few.methods().map(|card| card.name).collect::<Vec<_>>(), ["flix"]);
/// assert!(Catalogue::standard().methods().count() > 30);
/// ```
#[derive(Clone)]
pub struct Catalogue {
    methods: Vec<MethodKind>,
    sources: Kinds<dyn AnySource>,
    splits: Kinds<dyn AnySplit>,
    models: Kinds<dyn AnyModel>,
    compressors: Kinds<dyn AnyCompressor>,
}

/// While this guard lives, this thread understands what the catalogue holds.
pub struct Entered {
    _kinds: [motet_core::kind::Entered; 4],
}

/// A method that experiment files can name, and how its parameters are read.
#[derive(Clone, Copy)]
struct MethodKind {
    card: &'static MethodCard,
    read: fn(&Value) -> Result<Arc<dyn AnyMethod>, Misread>,
}

/// Parameters that do not fit a method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misread {
    /// There is no method of this name.
    #[error("unknown method \"{0}\"")]
    Unknown(String),
    /// A value does not fit.
    #[error("{path}: {message}")]
    Value {
        /// Which parameter, such as `solve.steps`; empty if it is about all of them.
        path: String,
        /// What is wrong.
        message: String,
    },
}

impl Catalogue {
    /// The sources, splits, models and compressors that come with Motet, and no method.
    pub fn without_methods() -> Self {
        Self { methods: vec![], sources: SOURCES.clone(), splits: SPLITS.clone(), models: MODELS.clone(), compressors: COMPRESSORS.clone() }
    }

    /// Everything that comes with Motet.
    pub fn standard() -> Self {
        let mut all = Self::without_methods();
        each_method(&mut all);
        all
    }

    /// Adds a method of your own, under the name on its card.
    ///
    /// # Panics
    /// If there is a method of that name already: experiment files could not tell them apart. So it is with the others below.
    pub fn method<M: Method>(mut self) -> Self {
        self.add::<M>();
        self
    }

    /// Adds a source of your own.
    pub fn source<S: Kind>(mut self) -> Self
    where
        dyn AnySource: Takes<S>,
    {
        unique(self.sources.add::<S>());
        self
    }

    /// Adds a split of your own.
    pub fn split<S: Kind>(mut self) -> Self
    where
        dyn AnySplit: Takes<S>,
    {
        unique(self.splits.add::<S>());
        self
    }

    /// Adds a model of your own.
    pub fn model<M: Kind>(mut self) -> Self
    where
        dyn AnyModel: Takes<M>,
    {
        unique(self.models.add::<M>());
        self
    }

    /// Adds a compressor of your own.
    pub fn compressor<C: Kind>(mut self) -> Self
    where
        dyn AnyCompressor: Takes<C>,
    {
        unique(self.compressors.add::<C>());
        self
    }

    fn add<M: Method>(&mut self) {
        unique(if self.card(M::CARD.name).is_some() { Err(NameTaken(M::CARD.name)) } else { Ok(()) });
        self.methods.push(MethodKind { card: &M::CARD, read: read::<M> });
    }

    /// Sources, splits, models and compressors are read by what this catalogue has, on this thread and until the guard is
    /// dropped. [`Experiment::of`](crate::config::Experiment::of) does so by itself.
    pub fn enter(&self) -> Entered {
        Entered { _kinds: [self.sources.enter(), self.splits.enter(), self.models.enter(), self.compressors.enter()] }
    }

    /// The cards of all sources.
    pub fn sources(&self) -> impl Iterator<Item = &Card> {
        self.sources.cards()
    }

    /// The cards of all splits.
    pub fn splits(&self) -> impl Iterator<Item = &Card> {
        self.splits.cards()
    }

    /// The cards of all models.
    pub fn models(&self) -> impl Iterator<Item = &Card> {
        self.models.cards()
    }

    /// The cards of all compressors.
    pub fn compressors(&self) -> impl Iterator<Item = &Card> {
        self.compressors.cards()
    }

    /// The cards of all methods, in the order they were added.
    pub fn methods(&self) -> impl Iterator<Item = &'static MethodCard> {
        self.methods.iter().map(|kind| kind.card)
    }

    /// The card of one method.
    pub fn card(&self, name: &str) -> Option<&'static MethodCard> {
        self.methods().find(|card| card.name == name)
    }

    /// The method of this name with these parameters.
    pub fn read_method(&self, name: &str, params: &Value) -> Result<Arc<dyn AnyMethod>, Misread> {
        let kind = self.methods.iter().find(|kind| kind.card.name == name);
        (kind.ok_or_else(|| Misread::Unknown(name.to_owned()))?.read)(params)
    }

    /// Has a method this parameter?
    pub(crate) fn knows(&self, method: &str, parameter: &str) -> bool {
        self.canonical(method, parameter).is_some()
    }

    /// The name of a method's parameter, whatever alias or path into it is written.
    pub(crate) fn canonical(&self, method: &str, parameter: &str) -> Option<String> {
        let (first, rest) = parameter.split_once('.').map_or((parameter, None), |(first, rest)| (first, Some(rest)));
        let name = self.card(method)?.parameters.canonical(first)?;
        Some(rest.map_or_else(|| name.to_owned(), |rest| format!("{name}.{rest}")))
    }
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::standard()
    }
}

impl EachMethod for Catalogue {
    fn method<M: Method>(&mut self) {
        self.add::<M>();
    }
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.methods().map(|card| card.name)).finish()
    }
}

fn unique(added: Result<(), NameTaken>) {
    if let Err(taken) = added {
        panic!("{taken}");
    }
}

fn read<M: Method>(params: &Value) -> Result<Arc<dyn AnyMethod>, Misread> {
    let mut track = serde_path_to_error::Track::new();
    match M::deserialize(serde_path_to_error::Deserializer::new(params, &mut track)) {
        // Records keep a method's parameters, and read them again.
        Ok(method) => match written(&method) {
            Ok(_) => Ok(Arc::new(method)),
            Err(reason) => Err(Misread::Value { path: String::new(), message: format!("its parameters cannot be recorded: {reason}") }),
        },
        Err(e) => {
            let Unreadable { path, message } = Unreadable::at(&track.path(), &e);
            let path = if path.is_empty() { culprit::<M>(params).unwrap_or_default() } else { path };
            Err(Misread::Value { path, message })
        }
    }
}

/// The one parameter without which the others can be read: of structs that are flattened serde does not say where it was.
fn culprit<M: Method>(params: &Value) -> Option<String> {
    let params = params.as_object()?;
    let fits_without = |name: &&String| {
        let others = params.iter().filter(|(other, _)| other != name).map(|(name, value)| (name.clone(), value.clone()));
        serde_json::from_value::<M>(Value::Object(others.collect())).is_ok()
    };
    let mut found = params.keys().filter(fits_without);
    found.next().filter(|_| found.next().is_none()).cloned()
}
