//! Doc comments as text.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The lines of a doc comment up to its first empty one, as one line of text.
pub(crate) fn first_paragraph(attributes: &[Attribute]) -> String {
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let text = lines.join("\n");
    let trimmed = text.lines().map(str::trim).skip_while(|line| line.is_empty());
    trimmed.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if pair.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}
