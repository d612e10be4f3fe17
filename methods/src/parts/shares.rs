//! αᵢ, given before the first round or learnt in the rounds.
//!
//! ```text
//! φᵢ(α) = fᵢ(xᵢ* + α (x − xᵢ*)) − fᵢ(xᵢ*)     what client i loses by mixing, at the present x
//! αᵢ(x)  = the largest α up to 1 with φᵢ(α) ≤ ε
//! ```
//!
//! F(x) − F* ≤ 1/n Σ φᵢ(αᵢ), because no model is better for i than xᵢ*: so the promise F(x) − F* ≤ ε of FLIX's Theorem 1 holds at every x, for the
//! F of the αᵢ(x), and each client by itself loses at most ε. Theorem 1 bounds φᵢ(α) by α² Lᵢ |xᵢ* − x|²/2; here it is measured, and
//! Lᵢ is not needed. Nothing is solved again, and αᵢ(x) depends on x and the client's data alone: no state is kept, and a client that comes late has its share at once.
//!
//! φᵢ is convex with its least value 0 at α = 0. So it rises with α, and between two measured points it is below its chord: a share on the chord
//! between a point below ε and one above it keeps the promise without being measured itself. The search asks for parabolas, which
//! φᵢ is near its least point, so that quadratics take one measurement; it ends within a tenth of ε, or after [`MEASUREMENTS`].
//! (Where fᵢ is not convex the share is found in the same way, and promises nothing.)
//!
//! For quadratics x then descends on 1/n Σ ψ(fᵢ(x) − fᵢ(xᵢ*)), where ψ(u) = u up to ε and ε (1 + ln(u/ε)) from there on: αᵢ² = ψ′, and a step of 1/Lα
//! with the present shares lowers it, since ψ is concave. ψ is not convex: clients who are far from all others count little, and there may
//! be more than one resting place. At each of them x is the minimiser of the F of its αᵢ.

use motet_core::{ClientId, Fraction, PerClient, Positive, Rows, Site, Unsuitable, Vector};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

/// Values of φᵢ between 0 and 1 that a client measures in a round, at most.
const MEASUREMENTS: usize = 4;

/// A share whose φᵢ is between so much of ε and ε is large enough.
const ENOUGH: f64 = 0.9;

/// αᵢ as an experiment says it: a number, `{ per_client = [...] }`, or `{ estimate = { eps = ε, online = true } }`.
#[derive(Clone, Debug, PartialEq)]
pub enum Shares {
    /// The same in all rounds.
    Given(PerClient<Fraction>),
    /// As large in each round as ε allows.
    Learnt(Learnt),
}

/// ε of shares that are learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learnt {
    /// ε: what mixing may cost a client, in its training loss.
    pub eps: Positive,
}

impl Shares {
    /// αᵢ where it is given; 1 where it is learnt, since everyone has a part in x then.
    pub fn of(&self, client: ClientId) -> f64 {
        match self {
            Shares::Given(alpha) => *alpha.of(client),
            Shares::Learnt(_) => 1.0,
        }
    }

    /// The rule, where shares are learnt.
    pub fn learnt(&self) -> Option<&Learnt> {
        match self {
            Shares::Given(_) => None,
            Shares::Learnt(learnt) => Some(learnt),
        }
    }

    /// What a budget or the clients may choose; none where shares are learnt.
    pub fn given_mut(&mut self) -> Option<&mut PerClient<Fraction>> {
        match self {
            Shares::Given(alpha) => Some(alpha),
            Shares::Learnt(_) => None,
        }
    }

    /// Is xᵢ* of this client ever needed for its mixture?
    pub fn mixes(&self, client: ClientId) -> bool {
        self.learnt().is_some() || self.of(client) < 1.0
    }

    /// Is there an αᵢ for each of so many clients?
    pub fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        match self {
            Shares::Given(alpha) => super::alpha_suits(alpha, clients),
            Shares::Learnt(_) => Ok(()),
        }
    }
}

impl Learnt {
    /// αᵢ(x) and Tᵢ(x).
    pub fn mixture(&self, x: &Vector, anchor: &Vector, site: &mut Site<'_>) -> (f64, Vector) {
        let share = self.share(x, anchor, site);
        (share, Vector::mix(share, x, anchor))
    }

    /// αᵢ(x) of the client that works here, whose own model is `anchor`.
    pub fn share(&self, x: &Vector, anchor: &Vector, site: &mut Site<'_>) -> f64 {
        let eps = *self.eps;
        let alone = site.train.value(anchor, Rows::All);
        let far = site.train.value(x, Rows::All) - alone;
        if far <= eps {
            return 1.0;
        }
        let (mut below, mut above) = ((0.0, 0.0), (1.0, far));
        let mut alpha = (eps / far).sqrt();
        for _ in 0..MEASUREMENTS {
            let is_between = alpha > below.0 && alpha < above.0;
            if !is_between {
                break;
            }
            let lost = site.train.value(&Vector::mix(alpha, x, anchor), Rows::All) - alone;
            *if lost <= eps { &mut below } else { &mut above } = (alpha, lost);
            if (ENOUGH * eps..=eps).contains(&lost) {
                break;
            }
            alpha *= (eps / lost).sqrt();
        }
        // The chord, which is above φᵢ.
        below.0 + (above.0 - below.0) * (eps - below.1) / (above.1 - below.1)
    }
}

impl From<PerClient<Fraction>> for Shares {
    fn from(alpha: PerClient<Fraction>) -> Self {
        Shares::Given(alpha)
    }
}

/// What a table may say.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    per_client: Option<Vec<Fraction>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimate: Option<Rule>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    eps: Positive,
    #[serde(default)]
    online: bool,
}

impl Serialize for Shares {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Shares::Given(alpha) => alpha.serialize(to),
            Shares::Learnt(Learnt { eps }) => Table { per_client: None, estimate: Some(Rule { eps: *eps, online: true }) }.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Shares {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Shares;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, { per_client = [...] } or { estimate = { eps = 1e-3, online = true } }")
            }
            fn visit_f64<E: Error>(self, v: f64) -> Result<Shares, E> {
                Fraction::deserialize(v.into_deserializer()).map(|alpha| Shares::Given(PerClient::Same(alpha)))
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Shares, E> {
                self.visit_f64(v as f64)
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Shares, E> {
                self.visit_f64(v as f64)
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Shares, M::Error> {
                match Table::deserialize(MapAccessDeserializer::new(map))? {
                    Table { per_client: Some(each), estimate: None } => Ok(Shares::Given(PerClient::Each(each))),
                    Table { per_client: None, estimate: Some(Rule { eps, online: true }) } => Ok(Shares::Learnt(Learnt { eps })),
                    Table { per_client: None, estimate: Some(_) } => {
                        Err(M::Error::custom("an estimate that a method makes itself is made in rounds: online = true"))
                    }
                    _ => Err(M::Error::custom("give one of per_client and estimate")),
                }
            }
        }
        from.deserialize_any(Either)
    }
}
