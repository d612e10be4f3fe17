//! The one list of methods, and the border between names and types.

use motet_core::{Parameters, Study};
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};

/// An algorithm that an experiment file can name.
pub trait Method: Study + Clone + Serialize + DeserializeOwned {
    /// What people should know.
    const CARD: Card;

    /// Does the server, with these settings, see sums of the clients' vectors and no single one?
    fn reads_sums(&self) -> bool {
        Self::CARD.reads == Reads::Sums
    }
}

/// A method in a few words.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// As in `kind = "…"`.
    pub name: &'static str,
    /// What the server sees of the clients' vectors.
    pub reads: Reads,
    /// One line.
    pub about: &'static str,
    /// What leaves a client, in the words of the page on privacy: whoever joins a study is shown it, beside the parameters. Losses and
    /// metrics of measured models, and how many gradients a reply took, leave with every method.
    pub leaves: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// What may be written beside `kind`: the doc comments of the struct's fields.
    pub parameters: Parameters,
    /// The parameters that have no default, as JSON, with sensible values.
    pub example: &'static str,
}

/// What a method's server sees of the vectors that clients send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// Sums over a cohort alone: they can be added up where the clients are, or under masks.
    Sums,
    /// Every client's own.
    Single,
    /// One or the other, as the settings have it: see [`Method::reads_sums`].
    BySetting(&'static str),
}

/// Generic code that is given an algorithm by its name: to simulate it, serve it or join it.
pub trait Visitor {
    /// What it makes of it.
    type Out;
    /// Called once, with the algorithm.
    fn visit<M: Method>(self, method: M) -> Self::Out;
}

/// Is handed every method there is.
pub trait EachMethod {
    /// One method.
    fn method<M: Method>(&mut self);
}

/// A name that is not in the list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown method \"{0}\"")]
pub struct UnknownMethod(pub String);

macro_rules! registry {
    ($($method:ty),* $(,)?) => {
        /// Every method there is.
        pub const CARDS: &[Card] = &[$(<$method>::CARD),*];

        /// Hands over every method there is, in the order of the list.
        pub fn each_method(to: &mut impl EachMethod) {
            $(to.method::<$method>();)*
        }

        /// Reads the parameters of the method called `name` and hands it to the visitor. The outer
        /// error is a name nobody knows, the inner one parameters that do not fit.
        pub fn with<'de, D: Deserializer<'de>, V: Visitor>(name: &str, params: D, visitor: V) -> Result<Result<V::Out, D::Error>, UnknownMethod> {
            $(if name == <$method>::CARD.name {
                return Ok(<$method>::deserialize(params).map(|method| visitor.visit(method)));
            })*
            Err(UnknownMethod(name.to_owned()))
        }
    };
}

registry! {
    crate::dcgd::Dcgd,
    crate::diana::Diana,
    crate::ef::Ef,
    crate::ef21::Ef21,
    crate::flix::Flix,
    crate::one_shot::OneShot,
    crate::flix_sgd::FlixSgd,
    crate::flix_fedavg::FlixFedavg,
    crate::local::Local,
    crate::scafflix::Scafflix,
    crate::i_scaffnew::IScaffnew,
    crate::scaffnew::Scaffnew,
    crate::scaffold::Scaffold,
    crate::fedprox::Fedprox,
    crate::finetune::Finetune,
    crate::ditto::Ditto,
    crate::pfedme::Pfedme,
    crate::apfl::Apfl,
    crate::l2gd::L2gd,
    crate::per_fedavg::PerFedavg,
    crate::meritfed::MeritFed,
    crate::meritfed_all::MeritFedAll,
    crate::sgd_full::SgdFull,
    crate::sgd_ideal::SgdIdeal,
    crate::fedadp::FedAdp,
    crate::tawt::Tawt,
    crate::local_update::LocalUpdate,
    crate::minibatch_sgd::MinibatchSgd,
    crate::local_sgd::LocalSgd,
    crate::fedavg::Fedavg,
    crate::lookahead::Lookahead,
    crate::reptile::Reptile,
    crate::fomaml::Fomaml,
    crate::maml::Maml,
    crate::local_update_decay::LocalUpdateDecay,
}
