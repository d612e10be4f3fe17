//! Declares what an entry of an experiment file may say, once.

/// The struct that serde fills, and the list that people read, which takes the first line of each doc
/// comment.
macro_rules! keys {
    (
        #[doc = $about:literal] $(#[$meta:meta])*
        pub struct $Name:ident {
            $(#[doc = $what:literal] $(#[$attribute:meta])* pub $key:ident: $Type:ty,)*
        }
    ) => {
        #[doc = $about]
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $Name {
            $(#[doc = $what] $(#[$attribute])* pub $key: $Type,)*
        }

        impl $Name {
            pub(crate) const ABOUT: &'static str = $about.trim_ascii();
            pub(crate) const PARAMETERS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($key), $what.trim_ascii())),*];
        }
    };
}
pub(crate) use keys;
