//! A field as serde reads it.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Field, LitStr, Path, Token, Type};

use crate::doc::first_paragraph;

/// What serde is told about the whole struct.
pub(crate) struct Container {
    rename_all: Option<LitStr>,
    default: bool,
}

impl Container {
    pub(crate) fn new(attributes: &[Attribute]) -> Result<Self, Error> {
        let mut container = Self { rename_all: None, default: false };
        each_serde(attributes, |meta| {
            if meta.path.is_ident("rename_all") && meta.input.peek(Token![=]) {
                container.rename_all = Some(meta.value()?.parse()?);
                return Ok(());
            }
            container.default |= meta.path.is_ident("default");
            skip_argument(meta)
        })?;
        Ok(container)
    }
}

/// What serde is told about one field.
#[derive(Default)]
struct Told {
    rename: Option<LitStr>,
    aliases: Vec<LitStr>,
    default: bool,
    skip: bool,
    flatten: bool,
}

impl Told {
    fn new(attributes: &[Attribute]) -> Result<Self, Error> {
        let mut told = Self::default();
        each_serde(attributes, |meta| {
            if meta.path.is_ident("rename") {
                if !meta.input.peek(Token![=]) {
                    return Err(meta.error("a parameter has one name: `rename = \"name\"`"));
                }
                told.rename = Some(meta.value()?.parse()?);
                return Ok(());
            }
            if meta.path.is_ident("alias") {
                told.aliases.push(meta.value()?.parse()?);
                return Ok(());
            }
            told.default |= meta.path.is_ident("default");
            told.skip |= meta.path.is_ident("skip") || meta.path.is_ident("skip_deserializing");
            told.flatten |= meta.path.is_ident("flatten");
            skip_argument(meta)
        })?;
        Ok(told)
    }
}

/// The field as an entry of the list; none if files cannot name it.
pub(crate) fn item(field: &Field, container: &Container, root: &Path) -> Result<Option<TokenStream>, Error> {
    let told = Told::new(&field.attrs)?;
    let ty = &field.ty;
    if told.skip {
        return Ok(None);
    }
    if told.flatten {
        return Ok(Some(quote!(#root::card::Item::All(<#ty as #root::card::Documented>::PARAMETERS))));
    }
    let about = first_paragraph(&field.attrs);
    if about.is_empty() {
        return Err(Error::new_spanned(field, "say in a doc comment what may be written here: lists show it to people"));
    }
    let name = name(field, told.rename.as_ref(), container)?;
    let written = spelt(ty);
    let optional = told.default || container.default || written.starts_with("Option<");
    let aliases = &told.aliases;
    Ok(Some(quote!(#root::card::Item::One(#root::card::Parameter {
        name: #name, aliases: &[#(#aliases),*], about: #about, kind: #written, optional: #optional
    }))))
}

fn name(field: &Field, rename: Option<&LitStr>, container: &Container) -> Result<String, Error> {
    if let Some(rename) = rename {
        return Ok(rename.value());
    }
    let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    let ident = ident.strip_prefix("r#").unwrap_or(&ident).to_owned();
    match &container.rename_all {
        None => Ok(ident),
        Some(style) => match style.value().as_str() {
            "kebab-case" => Ok(ident.replace('_', "-")),
            "snake_case" | "lowercase" => Ok(ident),
            _ => Err(Error::new_spanned(style, "parameters are written in kebab-case or snake_case")),
        },
    }
}

/// The type as it is written, without the spaces between tokens.
fn spelt(ty: &Type) -> String {
    let tokens: Vec<char> = ty.to_token_stream().to_string().chars().collect();
    let word = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric() || *c == '_');
    let keep = |at: usize| tokens[at] != ' ' || at > 0 && (tokens[at - 1] == ',' || word(tokens.get(at - 1)) && word(tokens.get(at + 1)));
    (0..tokens.len()).filter(|at| keep(*at)).map(|at| tokens[at]).collect()
}

fn each_serde(attributes: &[Attribute], mut look: impl FnMut(&ParseNestedMeta<'_>) -> Result<(), Error>) -> Result<(), Error> {
    let serde = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    serde.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(|meta| look(&meta)))
}

/// Steps over `= value` or `(…)` of what does not matter here.
fn skip_argument(meta: &ParseNestedMeta<'_>) -> Result<(), Error> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<syn::Lit>().map(drop)
    } else if meta.input.peek(syn::token::Paren) {
        meta.input.parse::<proc_macro2::Group>().map(drop)
    } else {
        Ok(())
    }
}
