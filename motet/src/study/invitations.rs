//! Invitations of a study, as files that an operator sends to the participants.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use motet_files::replace_secret;
use motet_link::{Digest, Invitation, Service, Token, random};

/// Writes invitations.
#[derive(Clone)]
pub(super) struct Invitations {
    /// `DIR/invitations`
    pub(super) folder: PathBuf,
    pub(super) service: Arc<Service>,
    /// `host:port` of the coordinator.
    pub(super) address: String,
    /// Whom its certificate must be signed by, as PEM.
    pub(super) authority: String,
    /// SHA-256 of the study's sheet.
    pub(super) study: Digest,
}

impl Invitations {
    /// One for everyone who has neither a certificate nor an invitation. Where certificates come from elsewhere it says the way and the
    /// study; its token is worth nothing.
    pub(super) fn write_missing(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        for (client, member) in self.service.everyone().iter().enumerate() {
            if !member.is_enrolled() && !member.revoked && !self.path(&member.name).exists() {
                self.write(client as u32, &member.name)?;
            }
        }
        Ok(())
    }

    /// A new one for a participant, whose certificate is worth nothing from now on.
    pub(super) fn renew(&self, name: &str) -> io::Result<()> {
        let everyone = self.service.everyone();
        let client = everyone.iter().position(|member| member.name == name).ok_or_else(|| io::Error::other("nobody has this name"))?;
        if everyone[client].revoked {
            return Err(io::Error::other("this participant was revoked"));
        }
        self.write(client as u32, name)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.invite"))
    }

    fn write(&self, client: u32, name: &str) -> io::Result<()> {
        let parsed = name.parse().map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
        let token = Token::new(random()?);
        self.service.invite(client, &token)?;
        let (address, authority) = (self.address.clone(), self.authority.clone());
        let invitation = Invitation { name: parsed, address, authority, study: self.study, token };
        replace_secret(&self.path(name), invitation.to_string().as_bytes())
    }
}
