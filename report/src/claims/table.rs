//! The `[claims]` table of an experiment file.
//!
//! ```toml
//! [claims]
//! "A1.1" = "for k in round: increasing(at(flix, gap, round=k), over=alpha)"
//! "A4.1" = { claim = "envelope(gd, gap) <= 300 * at(gd, gap, round=100)", status = "P", seeds = "mean" }
//! ```

use std::fmt;
use std::str::FromStr;

use motet_records::Status;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The claims of an experiment, in the order of the file (as far as its reader keeps it).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims(pub Vec<NamedClaim>);

/// A claim as an experiment file has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedClaim {
    /// What it is called in the experiment file.
    pub name: String,
    /// What is claimed.
    pub text: String,
    /// How sure it is.
    pub status: Grade,
    /// For which seeds it must hold.
    pub seeds: SeedRule,
    /// Why it might fail, or where the numbers come from; repeated in the reason of a failure.
    pub note: Option<String>,
}

/// How sure a claim is, as a letter: V, P, R or N.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grade {
    /// Verified: it must hold.
    #[default]
    V,
    /// Printed in a paper; a failure is a negative result.
    P,
    /// Read from released notebooks; a failure is a negative result.
    R,
    /// Needs data or hardware that is not assumed; a failure is a negative result.
    N,
}

/// For which seeds a claim must hold: `mean`, a share like `4/5`, `all`, or `mean and 4/5` (the default).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SeedRule {
    /// With every measure averaged over the seeds.
    pub mean: bool,
    /// For at least this share of the single seeds, as (4, 5).
    pub share: Option<(u32, u32)>,
}

/// A seed rule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("seeds = \"{0}\" is not a rule; write \"mean\", \"all\", a share like \"4/5\", or \"mean and 4/5\"")]
pub struct SeedRuleError(String);

impl From<Grade> for Status {
    fn from(grade: Grade) -> Self {
        if grade == Grade::V { Status::Must } else { Status::May }
    }
}

impl Default for SeedRule {
    /// The general rule.
    fn default() -> Self {
        Self { mean: true, share: Some((4, 5)) }
    }
}

impl SeedRule {
    /// In how many of `seeds` seeds it must hold.
    pub fn needed(&self, seeds: usize) -> usize {
        self.share.map_or(0, |(part, whole)| (seeds * part as usize).div_ceil(whole as usize))
    }
}

impl FromStr for SeedRule {
    type Err = SeedRuleError;

    fn from_str(text: &str) -> Result<Self, SeedRuleError> {
        let mut rule = Self { mean: false, share: None };
        for part in text.split(" and ").map(str::trim) {
            match part {
                "mean" => rule.mean = true,
                "all" => rule.share = Some((1, 1)),
                _ => rule.share = Some(share(part).ok_or_else(|| SeedRuleError(text.into()))?),
            }
        }
        Ok(rule)
    }
}

fn share(text: &str) -> Option<(u32, u32)> {
    let (part, whole) = text.split_once('/')?;
    let (part, whole) = (part.trim().parse().ok()?, whole.trim().parse().ok()?);
    (1..=whole).contains(&part).then_some((part, whole))
}

impl fmt::Display for SeedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = if self.mean { "mean" } else { "" };
        let and = if self.mean && self.share.is_some() { " and " } else { "" };
        match self.share {
            None => f.write_str(mean),
            Some((1, 1)) => write!(f, "{mean}{and}all"),
            Some((part, whole)) => write!(f, "{mean}{and}{part}/{whole}"),
        }
    }
}

impl TryFrom<String> for SeedRule {
    type Error = SeedRuleError;

    fn try_from(text: String) -> Result<Self, SeedRuleError> {
        text.parse()
    }
}

impl From<SeedRule> for String {
    fn from(rule: SeedRule) -> Self {
        rule.to_string()
    }
}

/// A claim with more than its text.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    claim: String,
    #[serde(default)]
    status: Grade,
    #[serde(default)]
    seeds: SeedRule,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A bare text is a table with nothing else in it.
struct Entry(Table);

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a claim in quotes, or a table like { claim = \"…\", status = \"P\" }")
    }

    fn visit_str<E>(self, text: &str) -> Result<Entry, E> {
        Ok(Entry(Table { claim: text.into(), ..Table::default() }))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Entry, M::Error> {
        Table::deserialize(MapAccessDeserializer::new(map)).map(Entry)
    }
}

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ClaimsVisitor)
    }
}

struct ClaimsVisitor;

impl<'de> Visitor<'de> for ClaimsVisitor {
    type Value = Claims;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of claims: \"name\" = \"claim\"")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Claims, M::Error> {
        let mut claims = vec![];
        while let Some((name, Entry(table))) = map.next_entry()? {
            claims.push(NamedClaim { name, text: table.claim, status: table.status, seeds: table.seeds, note: table.note });
        }
        Ok(Claims(claims))
    }
}

impl Serialize for Claims {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for claim in &self.0 {
            let NamedClaim { name, text, status, seeds, note } = claim.clone();
            map.serialize_entry(&name, &Table { claim: text, status, seeds, note })?;
        }
        map.end()
    }
}
