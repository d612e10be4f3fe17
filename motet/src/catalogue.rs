//! What experiment files can name. The standard catalogue has everything of ours; a program adds what is its own.

use std::sync::Arc;

use motet_methods::{Card, EachMethod, Method, each_method};
use serde_json::Value;

use crate::method::AnyMethod;

/// Everything that an experiment file can name.
///
/// ```
/// use motet::Catalogue;
/// use motet::methods::flix::Flix;
/// let mine = Catalogue::empty().method::<Flix>();
/// assert_eq!(mine.methods().map(|card| card.name).collect::<Vec<_>>(), ["flix"]);
/// assert!(Catalogue::standard().methods().count() > 30);
/// ```
#[derive(Clone)]
pub struct Catalogue {
    methods: Vec<MethodKind>,
}

/// A method that experiment files can name, and how its parameters are read.
#[derive(Clone, Copy)]
struct MethodKind {
    card: &'static Card,
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
    /// With nothing in it.
    pub fn empty() -> Self {
        Self { methods: vec![] }
    }

    /// Every method of ours.
    pub fn standard() -> Self {
        let mut all = Self::empty();
        each_method(&mut all);
        all
    }

    /// The same, and a method of one's own under the name on its card; it takes the place of one of that name.
    pub fn method<M: Method>(mut self) -> Self {
        self.add::<M>();
        self
    }

    fn add<M: Method>(&mut self) {
        self.methods.retain(|kind| kind.card.name != M::CARD.name);
        self.methods.push(MethodKind { card: &M::CARD, read: read::<M> });
    }

    /// The cards of all methods, in the order they were added.
    pub fn methods(&self) -> impl Iterator<Item = &'static Card> {
        self.methods.iter().map(|kind| kind.card)
    }

    /// The card of one method.
    pub fn card(&self, name: &str) -> Option<&'static Card> {
        self.methods().find(|card| card.name == name)
    }

    /// The method of this name with these parameters.
    pub fn read_method(&self, name: &str, params: &Value) -> Result<Arc<dyn AnyMethod>, Misread> {
        let kind = self.methods.iter().find(|kind| kind.card.name == name);
        (kind.ok_or_else(|| Misread::Unknown(name.to_owned()))?.read)(params)
    }

    /// Has a method this parameter?
    pub(crate) fn knows(&self, method: &str, parameter: &str) -> bool {
        let first = parameter.split('.').next().unwrap_or(parameter);
        self.card(method).is_some_and(|card| card.parameters.iter().any(|(name, _)| *name == first))
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

fn read<M: Method>(params: &Value) -> Result<Arc<dyn AnyMethod>, Misread> {
    let mut track = serde_path_to_error::Track::new();
    match M::deserialize(serde_path_to_error::Deserializer::new(params, &mut track)) {
        Ok(method) => Ok(Arc::new(method)),
        Err(e) => {
            let path = track.path().to_string();
            Err(Misread::Value { path: if path == "." { String::new() } else { path }, message: e.to_string() })
        }
    }
}
