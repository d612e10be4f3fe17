//! Open lists of things that an experiment file names by `kind = "…"`: sources, splits, models, compressors.
//!
//! A list is a [`Kinds`] of one port, `T`: an object-safe trait such as "what gives examples". Whoever implements the port
//! and [`Kind`] can be in the list, from this repository or from anywhere. What a file names becomes a [`Chosen`], which is
//! written back just as it was read: `kind` first, then the parameters in the order of their declaration.
//!
//! Serde has no argument for "the list to look in". Values are read with the list that was entered last on this thread
//! ([`Kinds::enter`]), and with the standard one where none was.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Error as _, SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::card::{Card, Documented};
use crate::unreadable::{self, Unreadable};

/// A struct of parameters that has a name in experiment files.
///
/// ```
/// use motet_core::{Documented, Kind};
/// use serde::{Deserialize, Serialize};
///
/// /// Rolls of a fair die.
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
/// #[serde(deny_unknown_fields)]
/// struct Dice {
///     /// How many sides it has.
///     sides: u32,
/// }
///
/// impl Kind for Dice {
///     const NAME: &'static str = "dice";
/// }
/// ```
pub trait Kind: Documented + Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// As in `kind = "…"`.
    const NAME: &'static str;
}

/// Every [`Kind`], whatever its type: what a port needs beside its own functions.
pub trait AnyKind: Any + Debug + Send + Sync {
    /// Name, purpose and parameters.
    fn card(&self) -> Card;
    /// Its parameters, as a file would give them.
    fn parameters(&self) -> serde_json::Result<Value>;
    /// Is the other of the same kind, with the same parameters?
    fn equals(&self, other: &dyn Any) -> bool;
    /// Itself, to be compared.
    fn as_any(&self) -> &dyn Any;
}

impl<K: Kind> AnyKind for K {
    fn card(&self) -> Card {
        Card::of::<K>()
    }
    fn parameters(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<K>() == Some(self)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A port, a trait object such as `dyn AnySource`, which has a standard list.
pub trait Port: AnyKind {
    /// Every kind there is where nobody added any.
    fn standard() -> &'static Kinds<Self>;
}

/// A port that takes this kind. One blanket implementation says it for all that implement the port's trait.
pub trait Takes<K: Kind>: Port {
    /// The kind behind the port.
    fn take(kind: K) -> Arc<Self>;
}

/// A line of a list: a name with what reads its parameters.
pub struct Entry<T: ?Sized> {
    card: Card,
    read: fn(Value) -> Result<Arc<T>, Unreadable>,
}

impl<T: ?Sized> Entry<T> {
    /// The line of one kind.
    pub const fn of<K: Kind>() -> Self
    where
        T: Takes<K>,
    {
        Self { card: Card::of::<K>(), read: |parameters| unreadable::read(parameters).map(T::take) }
    }
}

impl<T: ?Sized> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self { card: self.card, read: self.read }
    }
}

impl<T: ?Sized> Debug for Entry<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.card.name)
    }
}

/// Every kind that may be named where a `T` is wanted.
#[derive(Debug)]
pub struct Kinds<T: ?Sized + 'static> {
    entries: Cow<'static, [Entry<T>]>,
    /// Names that the list has only if the program was built with a feature.
    features: &'static [NeedsFeature],
}

impl<T: ?Sized> Clone for Kinds<T> {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone(), features: self.features }
    }
}

/// A kind that is part of a program only if it was built with a feature; as an error, it was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this motet was built without the feature `{feature}`, which the {what} `{name}` needs")]
pub struct NeedsFeature {
    /// What the list is of, as in "source".
    pub what: &'static str,
    /// As in `kind = "…"`.
    pub name: &'static str,
    /// As in `cargo build --features …`.
    pub feature: &'static str,
}

/// Two kinds of one list would have the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name \"{0}\" is taken already: choose another one")]
pub struct NameTaken(pub &'static str);

/// A name that is not in the list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown variant `{name}`, expected one of {known}")]
pub struct UnknownKind {
    /// As it was given.
    pub name: String,
    /// What it may be.
    pub known: String,
}

/// Why nothing could be made of `kind = "…"` and what stands beside it.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    /// Nobody knows the name.
    #[error(transparent)]
    Unknown(#[from] UnknownKind),
    /// The name is known, but what it means was left out when the program was built.
    #[error(transparent)]
    NotBuilt(#[from] NeedsFeature),
    /// The parameters do not fit.
    #[error(transparent)]
    Parameters(#[from] Unreadable),
}

impl<T: ?Sized> Kinds<T> {
    /// A list that is known when the program is compiled.
    pub const fn new(entries: &'static [Entry<T>]) -> Self {
        Self::with_features(entries, &[])
    }

    /// A list in which some kinds are only there if the program was built with a feature. A kind in `features` that is not in `entries` is refused by naming the
    /// feature it needs.
    pub const fn with_features(entries: &'static [Entry<T>], features: &'static [NeedsFeature]) -> Self {
        Self { entries: Cow::Borrowed(entries), features }
    }

    /// Adds a kind. Names are unique: nothing is replaced.
    pub fn add<K: Kind>(&mut self) -> Result<(), NameTaken>
    where
        T: Takes<K>,
    {
        if self.card(K::NAME).is_some() {
            return Err(NameTaken(K::NAME));
        }
        self.entries.to_mut().push(Entry::of::<K>());
        Ok(())
    }

    /// Name, purpose and parameters of each, in the order of the list.
    pub fn cards(&self) -> impl Iterator<Item = &Card> {
        self.entries.iter().map(|entry| &entry.card)
    }

    /// The card of one.
    pub fn card(&self, name: &str) -> Option<&Card> {
        self.cards().find(|card| card.name == name)
    }

    /// Makes the kind of this name, with these parameters (a table without `kind`).
    pub fn parse(&self, name: &str, parameters: Value) -> Result<Arc<T>, KindError> {
        Ok((self.entry(name)?.read)(parameters)?)
    }

    fn entry(&self, name: &str) -> Result<&Entry<T>, KindError> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.card.name == name) {
            return Ok(entry);
        }
        if let Some(needs) = self.features.iter().find(|needs| needs.name == name) {
            return Err((*needs).into());
        }
        let known = self.cards().map(|card| format!("`{}`", card.name)).collect::<Vec<_>>().join(", ");
        Err(UnknownKind { name: name.to_owned(), known }.into())
    }

    /// Makes this the list that values of this thread are read with, until the guard is dropped.
    #[must_use = "the list is left when the guard is dropped"]
    pub fn enter(&self) -> Entered {
        let list: Rc<dyn Any> = Rc::new(self.clone());
        LISTS.with_borrow_mut(|lists| lists.push(Rc::clone(&list)));
        Entered { list, _stays: PhantomData }
    }
}

thread_local! {
    /// The lists of all ports that were entered and not left, the last one last.
    static LISTS: RefCell<Vec<Rc<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, values of this thread are read with the list that was entered.
#[derive(Debug)]
pub struct Entered {
    list: Rc<dyn Any>,
    /// A guard belongs to the thread it was made on.
    _stays: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        LISTS.with_borrow_mut(|lists| lists.retain(|list| !Rc::ptr_eq(list, &self.list)));
    }
}

/// The list that was entered last, or the standard one.
fn in_scope<T: ?Sized + Port + 'static, R>(look: impl FnOnce(&Kinds<T>) -> R) -> R {
    // The list is taken out of the cell before it is used: to read parameters may enter lists, too.
    let entered = LISTS.with_borrow(|lists| lists.iter().rev().find(|list| list.is::<Kinds<T>>()).cloned());
    match entered.as_ref().and_then(|list| list.downcast_ref()) {
        Some(kinds) => look(kinds),
        None => look(T::standard()),
    }
}

/// What `{ kind = "…", … }` means: one of the kinds behind a port, cheap to clone.
pub struct Chosen<T: ?Sized>(Arc<T>);

impl<T: ?Sized + Port> Chosen<T> {
    /// This kind, whether or not a list has it.
    pub fn new<K: Kind>(kind: K) -> Self
    where
        T: Takes<K>,
    {
        Self(T::take(kind))
    }

    /// The kind itself, if it is a `K`.
    pub fn downcast<K: Kind>(&self) -> Option<&K> {
        self.0.as_any().downcast_ref()
    }
}

impl<T: ?Sized> Clone for Chosen<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for Chosen<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized + AnyKind> Debug for Chosen<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized + AnyKind> PartialEq for Chosen<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(other.0.as_any())
    }
}

impl<T: ?Sized + AnyKind> Serialize for Chosen<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Value::Object(parameters) = self.0.parameters().map_err(S::Error::custom)? else {
            return Err(S::Error::custom(format!("the parameters of `{}` are not a table", self.0.card().name)));
        };
        let mut table = to.serialize_map(Some(1 + parameters.len()))?;
        table.serialize_entry("kind", self.0.card().name)?;
        parameters.iter().try_for_each(|(name, value)| table.serialize_entry(name, value))?;
        table.end()
    }
}

impl<'de, T: ?Sized + Port + 'static> Deserialize<'de> for Chosen<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        in_scope(|kinds: &Kinds<T>| from.deserialize_map(Table(kinds)))
    }
}

/// Reads `{ kind = "…", … }`, where `kind` may stand anywhere.
struct Table<'a, T: ?Sized + 'static>(&'a Kinds<T>);

impl<'de, T: ?Sized + Port> Visitor<'de> for Table<'_, T> {
    type Value = Chosen<T>;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let first = self.0.cards().next().map_or("name", |card| card.name);
        write!(f, "a table with a kind, as in {{ kind = \"{first}\", ... }}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Chosen<T>, A::Error> {
        let (mut entry, mut parameters) = (None, Map::new());
        while let Some(key) = table.next_key::<String>()? {
            if key == "kind" {
                // The name is looked up while it is read, so that errors are about the key `kind`.
                entry = Some(table.next_value_seed(Name(self.0))?);
            } else if parameters.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate field `{key}`")));
            } else {
                let value = table.next_value()?;
                parameters.insert(key, value);
            }
        }
        let entry = entry.ok_or_else(|| A::Error::missing_field("kind"))?;
        (entry.read)(Value::Object(parameters)).map(Chosen).map_err(A::Error::custom)
    }
}

/// Reads the name of a kind.
struct Name<'a, T: ?Sized + 'static>(&'a Kinds<T>);

impl<'de, 'a, T: ?Sized> DeserializeSeed<'de> for Name<'a, T> {
    type Value = &'a Entry<T>;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'a, T: ?Sized> Visitor<'_> for Name<'a, T> {
    type Value = &'a Entry<T>;
    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("the name of a kind")
    }
    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        self.0.entry(name).map_err(E::custom)
    }
}
