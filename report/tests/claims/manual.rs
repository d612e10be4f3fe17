//! Every example of the manual is a claim.

use motet_report::claims::{Claims, parse};

#[test]
fn every_example_of_the_manual_is_read() {
    let manual = include_str!("../../../docs/reference/claims.md");
    let mut seen = 0;
    for block in manual.split("```toml claims\n").skip(1) {
        let table = block.split("```").next().unwrap().replace("[claims]\n", "");
        let claims: Claims = toml::from_str(&table).unwrap_or_else(|error| panic!("{error}"));
        for claim in claims.0 {
            parse(&claim.text).unwrap_or_else(|error| panic!("{}: {error}", claim.name));
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen} examples");
}

#[test]
fn every_function_of_the_manual_exists() {
    let manual = include_str!("../../../docs/reference/claims.md");
    let mut seen = 0;
    for row in manual.lines().filter(|line| line.starts_with("| `")) {
        let call = row.split('`').nth(1).unwrap().split('(').next().unwrap();
        if row.contains(&format!("`{call}(")) {
            let message = parse(&format!("{call}(")).unwrap_err().to_string();
            assert!(!message.contains("unknown function"), "{message}");
            seen += 1;
        }
    }
    assert!(seen >= 25, "{seen} functions");
}
