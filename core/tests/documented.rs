//! Doc comments as what people read of parameters.

#![allow(dead_code, clippy::unwrap_used)]

use motet_core::{Documented, Parameter};
use serde::Deserialize;

/// What all members share.
#[derive(Deserialize, Documented)]
struct Shared {
    /// Examples per step (default 1).
    #[serde(default)]
    batch: u32,
}

/// A family of two,
/// of whom one is shown.
///
/// The second paragraph is for those who read the code.
#[derive(Deserialize, Documented)]
#[serde(deny_unknown_fields, bound = "", rename_all = "kebab-case")]
struct Member<T: Documented> {
    /// γ: how far
    /// a step goes.
    ///
    /// Not shown.
    #[serde(rename = "rate", alias = "speed", default = "one")]
    gamma: f64,
    #[serde(flatten)]
    own: Own<T>,
    #[serde(flatten)]
    shared: Shared,
    /// Left out: none.
    last_one: Option<Vec<(u32, String)>>,
    #[serde(skip)]
    kept: std::marker::PhantomData<T>,
}

fn one() -> f64 {
    1.0
}

/// What one member has.
#[derive(Deserialize, Documented)]
#[serde(bound = "")]
struct Own<T: Documented> {
    /// K: how many.
    steps: u32,
    #[serde(skip)]
    kept: std::marker::PhantomData<T>,
}

/// Nothing to say.
#[derive(Deserialize, Documented)]
#[serde(default)]
struct Defaults {
    /// A word.
    word: String,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { word: "word".into() }
    }
}

/// Nothing at all.
#[derive(Documented)]
struct Empty;

#[test]
fn parameters_are_those_that_serde_reads_in_the_order_of_declaration() {
    let parameter = |name, about, kind, optional| Parameter { name, aliases: &[], about, kind, optional };
    assert_eq!(Member::<Shared>::ABOUT, "A family of two, of whom one is shown.");
    assert_eq!(
        Member::<Shared>::PARAMETERS.iter().copied().collect::<Vec<_>>(),
        [
            Parameter { aliases: &["speed"], ..parameter("rate", "γ: how far a step goes.", "f64", true) },
            parameter("steps", "K: how many.", "u32", false),
            parameter("batch", "Examples per step (default 1).", "u32", true),
            parameter("last-one", "Left out: none.", "Option<Vec<(u32, String)>>", true),
        ]
    );
    assert!(Defaults::PARAMETERS.iter().all(|parameter| parameter.optional));
    assert_eq!(Empty::PARAMETERS.names().count(), 0);
}
