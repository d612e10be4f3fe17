//! The derive that makes doc comments into what people read about parameters.
//!
//! A struct that an experiment file fills is described once, where it is declared: the first paragraph of its doc comment
//! says what it is, and the first paragraph above each field says what may be written there.
//!
//! ```
//! // A program has `motet_core`, which is where the trait is; here a module stands in for it.
//! mod stand_in {
//!     pub mod card {
//!         pub trait Documented {
//!             const ABOUT: &'static str;
//!             const PARAMETERS: Parameters;
//!         }
//!         pub struct Parameters { pub items: &'static [Item] }
//!         pub enum Item { One(Parameter), All(Parameters) }
//!         pub struct Parameter {
//!             pub name: &'static str, pub aliases: &'static [&'static str], pub about: &'static str, pub kind: &'static str, pub optional: bool,
//!         }
//!     }
//! }
//! use stand_in::card::{Documented as _, Item};
//!
//! /// Steps of a fixed length.
//! #[derive(motet_macros::Documented)]
//! #[documented(crate = stand_in)]
//! struct Steps {
//!     /// γ: the length of a step.
//!     rate: f64,
//! }
//!
//! assert_eq!(Steps::ABOUT, "Steps of a fixed length.");
//! let Item::One(rate) = &Steps::PARAMETERS.items[0] else { panic!("one field") };
//! assert_eq!((rate.name, rate.about, rate.kind, rate.optional), ("rate", "γ: the length of a step.", "f64", false));
//! ```

mod doc;
mod field;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Path, parse_macro_input};

use field::{Container, item};

/// Implements `motet_core::Documented`: the type's text and the name, text, type and optionality of each field, as serde
/// reads them (`rename`, `rename_all`, `alias`, `skip`, `flatten` and `default` are understood).
///
/// A field without a doc comment is an error. `#[documented(crate = path)]` says where `motet_core` is re-exported.
#[proc_macro_derive(Documented, attributes(documented, serde))]
pub fn documented(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implementation(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn implementation(input: &DeriveInput) -> Result<proc_macro2::TokenStream, Error> {
    let root = root(input)?;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "only a struct has parameters with names"));
    };
    let container = Container::new(&input.attrs)?;
    let items = match &data.fields {
        Fields::Named(fields) => {
            fields.named.iter().filter_map(|field| item(field, &container, &root).transpose()).collect::<Result<_, _>>()?
        }
        Fields::Unit => Vec::new(),
        Fields::Unnamed(fields) => return Err(Error::new_spanned(fields, "parameters need names")),
    };
    let about = doc::first_paragraph(&input.attrs);
    if about.is_empty() {
        return Err(Error::new_spanned(&input.ident, "say in a doc comment what this is: lists show it to people"));
    }
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics #root::card::Documented for #name #arguments #bounds {
            const ABOUT: &'static str = #about;
            const PARAMETERS: #root::card::Parameters = #root::card::Parameters { items: &[#(#items),*] };
        }
    })
}

/// Where the trait is: `::motet_core`, or what `#[documented(crate = path)]` says.
fn root(input: &DeriveInput) -> Result<Path, Error> {
    let mut root: Path = syn::parse_quote!(::motet_core);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("documented")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("there is only `crate = path`"));
            }
            root = meta.value()?.call(Path::parse_mod_style)?;
            Ok(())
        })?;
    }
    Ok(root)
}
