//! Sources that a feature brings: there with it, and refused by the feature's name without it.

use motet_problems::{SOURCES, Source};

/// A source, the feature it needs, and whether this program has it.
const NEEDS: [(&str, &str, bool); 4] = [
    ("omniglot", "images", cfg!(feature = "images")),
    ("shakespeare", "text", cfg!(feature = "text")),
    ("stackexchange", "text", cfg!(feature = "text")),
    ("tff", "sqlite", cfg!(feature = "sqlite")),
];

#[test]
fn a_source_that_was_left_out_is_refused_by_the_name_of_its_feature() {
    for (name, feature, built) in NEEDS {
        assert_eq!(SOURCES.card(name).is_some(), built, "{name}");
        // With the feature it is read, or what is missing is a parameter.
        let read = serde_json::from_value::<Source>(serde_json::json!({"kind": name}));
        let error = read.err().map(|error| error.to_string()).unwrap_or_default();
        let without = format!("this motet was built without the feature `{feature}`, which the source `{name}` needs");
        assert_eq!(error.contains(&without), !built, "{error}");
    }
}

#[test]
fn a_source_of_ones_own_may_have_the_name_of_one_that_was_left_out() {
    use motet_core::{Documented, Kind};
    use motet_problems::{Load, Material, Place, ProblemError};
    use serde::{Deserialize, Serialize};

    /// Stands in for the source of this name.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
    struct Tff {}
    impl Kind for Tff {
        const NAME: &'static str = "tff";
    }
    impl Load for Tff {
        fn load(&self, _: &Place<'_>) -> Result<Material, ProblemError> {
            Err(ProblemError::NoExamples { file: "none".into() })
        }
    }

    let mut sources = SOURCES.clone();
    assert_eq!(sources.add::<Tff>().is_ok(), !cfg!(feature = "sqlite"));
    let _here = sources.enter();
    let read = serde_json::from_value::<Source>(serde_json::json!({"kind": "tff"}));
    assert_eq!(read.is_ok(), !cfg!(feature = "sqlite"));
}
