//! What a card says about its method.

use motet_methods::Method;

/// The card describes every parameter and no other.
pub fn parameters_are_described<M: Method>(method: &M) -> Result<(), String> {
    let value = serde_json::to_value(method).map_err(|e| e.to_string())?;
    let mut fields: Vec<&str> = value.as_object().map(|o| o.keys().map(String::as_str).collect()).unwrap_or_default();
    let mut described: Vec<&str> = M::CARD.parameters.names().collect();
    fields.sort_unstable();
    described.sort_unstable();
    if fields == described { Ok(()) } else { Err(format!("the card describes {described:?}, the method has {fields:?}")) }
}
