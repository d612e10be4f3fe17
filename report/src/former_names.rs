//! What parameters were called before one meaning had one name over all methods. Claims, charts and records of that time stay
//! readable.

/// Former name → name. A dot ends a table: everything in it moved.
const FORMER: [(&str, &str); 8] = [
    ("gamma", "step"),
    ("client_step", "step"),
    ("eta", "server_step"),
    ("beta", "server_step"),
    ("steps", "local_steps"),
    ("participation", "sampling"),
    ("alpha", "own_share"),
    ("learn_alpha", "learn_share"),
];

/// What a parameter is called now: its own name if somebody has it, else what became of it.
pub(crate) fn current(name: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    if has(name) {
        return Some(name.to_owned());
    }
    let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
    let now = FORMER.iter().filter(|(former, _)| *former == first).map(|(_, now)| match rest {
        Some(rest) => format!("{now}.{rest}"),
        None => (*now).to_owned(),
    });
    now.into_iter().find(|now| has(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_itself_where_there_is_such_a_parameter_and_else_what_it_became() {
        let has = |name: &str| ["step", "sampling.clients", "alpha", "eta"].contains(&name);
        for (said, meant) in
            [("gamma", "step"), ("step", "step"), ("participation.clients", "sampling.clients"), ("alpha", "alpha"), ("eta", "eta")]
        {
            assert_eq!(current(said, has).as_deref(), Some(meant), "{said}");
        }
        assert_eq!((current("steps", has), current("gama", has)), (None, None));
    }
}
