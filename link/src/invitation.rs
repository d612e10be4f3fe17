//! Invitations: a few lines of text that a participant is sent, and everything it needs to join.

use std::fmt;
use std::str::FromStr;

use crate::digest::{Digest, NoDigest, hex, unhex};
use crate::name::Name;

/// The way to a coordinator, for one participant, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Name of the participant.
    pub name: Name,
    /// `host:port` of the coordinator.
    pub address: String,
    /// Whom the coordinator's certificate must be signed by, as PEM.
    pub authority: String,
    /// SHA-256 of the study's sheet.
    pub study: Digest,
    /// Worth one certificate.
    pub token: Token,
}

/// A one-time password of 32 random bytes. It is not shown by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    /// These bytes, which must be random.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// What the coordinator keeps of it.
    pub fn hash(&self) -> Digest {
        Digest::of(&self.0)
    }

    /// As text, for the invitation and for the call that spends it.
    pub fn reveal(&self) -> String {
        hex(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token of hash {}", self.hash())
    }
}

impl FromStr for Token {
    type Err = NoDigest;
    fn from_str(text: &str) -> Result<Self, NoDigest> {
        unhex(text).and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(NoDigest)
    }
}

/// Why a text is no invitation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvitationError {
    /// It does not begin as one.
    #[error("this is no invitation: its first line should be \"{FIRST}\"")]
    Foreign,
    /// A line is missing.
    #[error("the invitation has no line \"{0}: …\"")]
    Missing(&'static str),
    /// A line does not hold what it should.
    #[error("the invitation's line \"{key}: …\" is damaged: {reason}")]
    Damaged {
        /// Which line.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

const FIRST: &str = "motet invitation 1";
const PEM: &str = "-----BEGIN CERTIFICATE-----";

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, address, authority, study, token } = self;
        write!(f, "{FIRST}\nname: {name}\naddress: {address}\nstudy: {study}\ntoken: {}\n\n{}\n", token.reveal(), authority.trim_end())
    }
}

impl FromStr for Invitation {
    type Err = InvitationError;

    fn from_str(text: &str) -> Result<Self, InvitationError> {
        let mut lines = text.lines().map(str::trim);
        if lines.next() != Some(FIRST) {
            return Err(InvitationError::Foreign);
        }
        let field = |key: &'static str| {
            let value = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(':')).map(str::trim);
            value.filter(|value| !value.is_empty()).ok_or(InvitationError::Missing(key))
        };
        fn damaged<E: fmt::Display>(key: &'static str) -> impl Fn(E) -> InvitationError {
            move |e| InvitationError::Damaged { key, reason: e.to_string() }
        }
        let authority = text.find(PEM).map(|at| text[at..].trim_end().to_owned() + "\n");
        let address = field("address")?;
        if !address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
            return Err(InvitationError::Damaged { key: "address", reason: format!("{address} is not host:port") });
        }
        Ok(Self {
            name: field("name")?.parse().map_err(damaged("name"))?,
            address: address.to_owned(),
            authority: authority.ok_or(InvitationError::Missing(PEM))?,
            study: field("study")?.parse().map_err(damaged("study"))?,
            token: field("token")?.parse().map_err(damaged("token"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invitation() -> Invitation {
        Invitation {
            name: "ward 3".parse().unwrap(),
            address: "study.example.org:7443".into(),
            authority: format!("{PEM}\nabc\n-----END CERTIFICATE-----\n"),
            study: Digest::of(b"sheet"),
            token: Token::new([7; 32]),
        }
    }

    #[test]
    fn invitations_survive_as_text() {
        assert_eq!(invitation().to_string().parse(), Ok(invitation()));
        let windows = invitation().to_string().replace('\n', "\r\n");
        assert_eq!(windows.parse::<Invitation>().map(|i| (i.name, i.token)), Ok((invitation().name, Token::new([7; 32]))));
        assert!(!format!("{:?}", invitation()).contains(&invitation().token.reveal()));
    }

    #[test]
    fn damaged_ones_say_which_line() {
        let said = |from: &str, to: &str| invitation().to_string().replace(from, to).parse::<Invitation>().unwrap_err().to_string();
        assert!(said(FIRST, "dear colleague").contains(FIRST));
        assert_eq!(said("token:", "tok:"), "the invitation has no line \"token: …\"");
        assert!(said("token: 07", "token: 7").contains("\"token: …\" is damaged"));
        assert!(said(":7443", "").contains("is not host:port"));
        assert!(said("ward 3", "/../../shared").contains("\"name: …\" is damaged: \"/../../shared\" is no name"));
        assert!(said(PEM, "").contains("CERTIFICATE"));
    }
}
