//! Who may take part: names, numbers, keys and one-time tokens, in one file that is replaced whole.

use std::io;
use std::path::{Path, PathBuf};

use motet_files::replace;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::invitation::Token;
use crate::pki::Holder;

/// Participants of a study, numbered from 0.
#[derive(Debug)]
pub struct Members {
    path: PathBuf,
    all: Vec<Member>,
}

/// One participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// What it is called.
    pub name: String,
    /// SHA-256 of its public key, once it has enrolled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// SHA-256 of a token that was not used yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// SHA-256 of the token that its key was enrolled with: whoever has both and did not hear the answer may ask again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spent: Option<String>,
    /// When the token expires, in seconds of Unix time.
    #[serde(default, skip_serializing_if = "is_zero")]
    token_until: u64,
    /// Is it refused from now on?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands over a reference
fn is_zero(seconds: &u64) -> bool {
    *seconds == 0
}

impl Member {
    /// Has it a certificate?
    pub fn is_enrolled(&self) -> bool {
        self.key.is_some()
    }
}

/// How long a token is valid, in seconds.
pub const TOKEN_SECONDS: u64 = 7 * 24 * 3600;

/// Why a participant could not be enrolled.
#[derive(Debug, thiserror::Error)]
pub enum NotEnrolled {
    /// Nobody was given this token, or it was used.
    #[error("this token is not known, or was used: ask the coordinator for a new invitation")]
    UnknownToken,
    /// The token is too old.
    #[error("this token has expired: ask the coordinator for a new invitation")]
    Expired,
    /// The participant was struck from the list.
    #[error("this participant was revoked")]
    Revoked,
    /// The request is none, or the list cannot be written.
    #[error("{0}")]
    Failed(#[from] io::Error),
}

impl Members {
    /// The list in this file, which need not be there yet, with these names; new ones are added.
    pub fn open(path: &Path, names: &[String]) -> io::Result<Self> {
        let all = match motet_files::read_text(path, 64 << 20) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => vec![],
            text => {
                serde_json::from_str(&text?).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {e}", path.display())))?
            }
        };
        let mut members = Self { path: path.into(), all };
        for name in names {
            if members.number(name).is_none() {
                members.all.push(Member { name: name.clone(), key: None, token: None, spent: None, token_until: 0, revoked: false });
            }
        }
        members.save()?;
        Ok(members)
    }

    /// Everyone, by number.
    pub fn all(&self) -> &[Member] {
        &self.all
    }

    /// The number of a name.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.all.iter().position(|member| member.name == name).map(|at| at as u32)
    }

    /// Whose certificate this is. `by_name` believes the certificate's common name, for authorities of one's own.
    pub fn find(&self, holder: &Holder, by_name: bool) -> Option<u32> {
        let key = holder.key.to_string();
        let is = |member: &Member| match by_name {
            true => holder.name.as_deref() == Some(member.name.as_str()),
            false => member.key.as_deref() == Some(key.as_str()),
        };
        self.all.iter().position(|member| !member.revoked && is(member)).map(|at| at as u32)
    }

    /// Notes a token for a participant. The token that it had is worth nothing any more, and neither is its certificate.
    pub fn invite(&mut self, number: u32, token: &Token, now: u64) -> io::Result<()> {
        self.change(number, |member| Member {
            key: None,
            token: Some(token.hash().to_string()),
            spent: None,
            token_until: now.saturating_add(TOKEN_SECONDS),
            ..member
        })
    }

    /// Notes the key that a participant has shown, where certificates come from elsewhere.
    pub fn note(&mut self, number: u32, key: Digest) -> io::Result<()> {
        let key = Some(key.to_string());
        if self.all.get(number as usize).is_none_or(|member| member.key == key) {
            return Ok(());
        }
        self.change(number, |member| Member { key, ..member })
    }

    /// Changes what is known of a participant; nothing changes if it cannot be written.
    fn change(&mut self, number: u32, to: impl FnOnce(Member) -> Member) -> io::Result<()> {
        let Some(member) = self.all.get_mut(number as usize) else { return Ok(()) };
        let before = member.clone();
        *member = to(before.clone());
        self.save().inspect_err(|_| self.all[number as usize] = before)
    }

    /// Spends a token: the key that `sign` made a certificate for is the participant's from now on. What is written strikes out the
    /// token and keeps the key at once.
    pub fn enrol<T>(
        &mut self,
        token: &Token,
        now: u64,
        sign: impl FnOnce(&str) -> io::Result<(T, Digest)>,
    ) -> Result<(u32, T), NotEnrolled> {
        let hash = token.hash().to_string();
        let Some(at) = self.all.iter().position(|member| member.token.as_deref() == Some(hash.as_str())) else {
            // The answer to an earlier enrolment may have been lost: the same key is given its certificate once more.
            let spent = |member: &Member| member.spent.as_deref() == Some(hash.as_str()) && !member.revoked;
            let at = self.all.iter().position(spent).ok_or(NotEnrolled::UnknownToken)?;
            let (signed, key) = sign(&self.all[at].name)?;
            let same = self.all[at].key == Some(key.to_string());
            return if same { Ok((at as u32, signed)) } else { Err(NotEnrolled::UnknownToken) };
        };
        let member = &self.all[at];
        if member.revoked {
            return Err(NotEnrolled::Revoked);
        }
        if member.token_until < now {
            return Err(NotEnrolled::Expired);
        }
        let (signed, key) = sign(&member.name)?;
        let enrolled = |member| Member { key: Some(key.to_string()), token: None, spent: Some(hash), token_until: 0, ..member };
        self.change(at as u32, enrolled)?;
        Ok((at as u32, signed))
    }

    /// Strikes a name from the list; false if there is no such name.
    pub fn revoke(&mut self, name: &str) -> io::Result<bool> {
        let Some(member) = self.all.iter_mut().find(|member| member.name == name) else { return Ok(false) };
        (member.revoked, member.token) = (true, None);
        self.save()?;
        Ok(true)
    }

    fn save(&self) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(&self.all)?;
        text.push('\n');
        replace(&self.path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(of: &[u8], name: &str) -> Holder {
        Holder { key: Digest::of(of), name: Some(name.into()) }
    }

    #[test]
    fn a_token_is_worth_one_certificate_until_it_expires() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("members.json");
        let mut members = Members::open(&path, &["a".into(), "b".into()]).unwrap();
        let (token, other) = (Token::new([1; 32]), Token::new([2; 32]));
        members.invite(1, &token, 1000).unwrap();
        let sign = |name: &str| Ok((name.to_owned(), Digest::of(b"key of b")));
        assert!(matches!(members.enrol(&other, 1000, sign), Err(NotEnrolled::UnknownToken)));
        assert!(matches!(members.enrol(&token, 1001 + TOKEN_SECONDS, sign), Err(NotEnrolled::Expired)));
        assert_eq!(members.enrol(&token, 1001, sign).unwrap(), (1, "b".into()));
        assert_eq!(members.enrol(&token, 1002, sign).unwrap().0, 1, "the same key once more: the answer may have been lost");
        let thief = |name: &str| Ok((name.to_owned(), Digest::of(b"key of a thief")));
        assert!(matches!(members.enrol(&token, 1002, thief), Err(NotEnrolled::UnknownToken)), "another key with a spent token");
        let mut again = Members::open(&path, &["a".into(), "b".into(), "c".into()]).unwrap();
        assert_eq!(again.all().len(), 3);
        assert_eq!(again.find(&holder(b"key of b", "b"), false), Some(1), "found again by its key,");
        assert_eq!(again.find(&holder(b"key of a", "b"), false), None, "not by its name,");
        assert_eq!(again.find(&holder(b"key of a", "b"), true), Some(1), "unless names count");
        again.note(0, Digest::of(b"key of a")).unwrap();
        assert!(again.all()[0].is_enrolled(), "its key was seen");
        again.invite(1, &other, 2000).unwrap();
        assert_eq!(again.find(&holder(b"key of b", "b"), false), None, "a new invitation ends what the old one was worth:");
        assert!(matches!(again.enrol(&token, 2000, sign), Err(NotEnrolled::UnknownToken)), "its token,");
        assert_eq!(again.enrol(&other, 2000, sign).unwrap().0, 1, "and the new one is worth a certificate");
        assert!(again.revoke("b").unwrap() && !again.revoke("nobody").unwrap());
        assert_eq!(Members::open(&path, &[]).unwrap().find(&holder(b"key of b", "b"), false), None);
    }

    #[test]
    fn a_damaged_list_is_an_error_and_not_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("members.json");
        std::fs::write(&path, "[{").unwrap();
        assert!(Members::open(&path, &[]).unwrap_err().to_string().contains("members.json"));
    }
}
