//! Keys and certificates: made here, checked by `rustls`.
//!
//! A study has an authority of its own, whose only certificates are the coordinator's and those of enrolled participants.
//! Private keys are made where they stay: a participant sends a request, and the authority signs nothing but the key in it.

use std::fs;
use std::io;
use std::path::Path;

use motet_files::{replace, replace_secret};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};
use time::{Duration, OffsetDateTime};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::digest::Digest;

/// A key and its certificate, as PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate, and those that lead to the authority, if any.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// Who signs certificates of a study.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

const CERTIFICATE: &str = "ca.pem";
const KEY: &str = "ca.key";

/// Clocks differ: a certificate counts from a day before it was made.
const EARLY: Duration = Duration::hours(24);
/// How long participants' certificates and the coordinator's last.
const PARTICIPANT_DAYS: i64 = 90;
/// How long the authority lasts.
const AUTHORITY_DAYS: i64 = 3650;
/// A certificate with fewer days left is renewed.
const RENEW_DAYS: i64 = 30;

impl Authority {
    /// The authority of a folder: made and kept there if there is none.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
        if !certificate.exists() {
            fs::create_dir_all(folder)?;
            let (made, made_key) = Self::make().map_err(io::Error::other)?;
            // The certificate goes last: an authority that has one has its key too.
            replace_secret(&key, made_key.as_bytes())?;
            replace(&certificate, made.as_bytes())?;
        }
        let certificate = motet_files::read_text(&certificate, LONGEST)?;
        let key = KeyPair::from_pem(&motet_files::read_text(&key, LONGEST)?).map_err(io::Error::other)?;
        let issuer = Issuer::from_ca_cert_pem(&certificate, key).map_err(io::Error::other)?;
        Ok(Self { issuer, certificate })
    }

    fn make() -> Result<(String, String), rcgen::Error> {
        let mut params = lasting(CertificateParams::new(vec![])?, AUTHORITY_DAYS);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.distinguished_name.push(DnType::CommonName, "motet study");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
    }

    /// Its certificate, as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A new key and certificate for a coordinator under this name: a host's name or an address.
    pub fn coordinator(&self, host: &str) -> io::Result<Identity> {
        let make = || -> Result<Identity, rcgen::Error> {
            let mut params = lasting(CertificateParams::new(vec![host.to_owned()])?, AUTHORITY_DAYS);
            params.distinguished_name.push(DnType::CommonName, "motet coordinator");
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let key = KeyPair::generate()?;
            Ok(Identity { certificate: params.signed_by(&key, &self.issuer)?.pem(), key: key.serialize_pem() })
        };
        make().map_err(io::Error::other)
    }

    /// The certificate of a participant of this name for the key of a request, and the key's name. Nothing else of what the request
    /// says is believed.
    pub fn participant(&self, name: &str, request: &str) -> io::Result<(String, Digest)> {
        let sign = || -> Result<(String, Digest), rcgen::Error> {
            let request = CertificateSigningRequestParams::from_pem(request)?;
            let mut params = lasting(CertificateParams::new(vec![])?, PARTICIPANT_DAYS);
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            let certificate = params.signed_by(&request.public_key, &self.issuer)?.pem();
            Ok((certificate, Digest::of(&request.public_key.subject_public_key_info())))
        };
        sign().map_err(io::Error::other)
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

fn lasting(mut params: CertificateParams, days: i64) -> CertificateParams {
    let now = OffsetDateTime::now_utc();
    (params.not_before, params.not_after) = (now - EARLY, now + Duration::days(days));
    params
}

/// A new private key, and a request for a certificate for it; both as PEM.
pub fn new_request() -> io::Result<(String, String)> {
    let make = || -> Result<(String, String), rcgen::Error> {
        let key = KeyPair::generate()?;
        let request = CertificateParams::new(vec![])?.serialize_request(&key)?.pem()?;
        Ok((key.serialize_pem(), request))
    };
    make().map_err(io::Error::other)
}

/// A request for another certificate for a key that is there.
pub fn request_for(key: &str) -> io::Result<String> {
    let make = || CertificateParams::new(vec![])?.serialize_request(&KeyPair::from_pem(key)?)?.pem();
    make().map_err(io::Error::other)
}

/// What a certificate says: the name of its key, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// SHA-256 of the public key.
    pub key: Digest,
    /// The common name.
    pub name: Option<String>,
}

impl Holder {
    /// Of a certificate that `rustls` has checked.
    pub fn of(certificate: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let name = certificate.subject().iter_common_name().next().and_then(|name| name.as_str().ok()).map(str::to_owned);
        Some(Self { key: Digest::of(certificate.public_key().raw), name })
    }
}

/// Is it time to renew this certificate?
pub fn is_ageing(certificate: &str) -> bool {
    let left = |validity: Validity| validity.until - OffsetDateTime::now_utc().unix_timestamp();
    Validity::of(certificate).is_none_or(|validity| left(validity) < Duration::days(RENEW_DAYS).whole_seconds())
}

/// When a certificate counts, in seconds of Unix time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Its first second.
    pub from: i64,
    /// Its last one.
    pub until: i64,
}

impl Validity {
    /// Of the first certificate in a PEM text; none if there is none.
    pub fn of(certificate: &str) -> Option<Self> {
        let (_, pem) = x509_parser::pem::parse_x509_pem(certificate.as_bytes()).ok()?;
        let validity = pem.parse_x509().ok()?.validity().clone();
        Some(Self { from: validity.not_before.timestamp(), until: validity.not_after.timestamp() })
    }

    /// Does it count now, by the clock of this machine?
    pub fn holds(self) -> bool {
        (self.from..=self.until).contains(&OffsetDateTime::now_utc().unix_timestamp())
    }
}

/// What the clock of this machine says, for people who compare two.
pub(crate) fn clock() -> String {
    let now = OffsetDateTime::now_utc();
    format!("{}T{:02}:{:02}:{:02}Z", now.date(), now.hour(), now.minute(), now.second())
}

/// PEM files are a few kilobytes.
pub(crate) const LONGEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_renewed_from_its_sixtieth_day() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path()).unwrap();
        let mut validity = None;
        let mut ages = |days| {
            let mut params = lasting(CertificateParams::new(vec![]).unwrap(), PARTICIPANT_DAYS);
            (params.not_before, params.not_after) = (params.not_before - Duration::days(days), params.not_after - Duration::days(days));
            let pem = params.signed_by(&KeyPair::generate().unwrap(), &authority.issuer).unwrap().pem();
            validity = Validity::of(&pem);
            (is_ageing(&pem), validity.unwrap().holds())
        };
        let expected = [(false, true), (false, true), (true, true), (true, true), (true, false)];
        assert_eq!([0, 59, 61, 89, 91].map(&mut ages), expected);
        assert_eq!(validity.map(|v| v.until - v.from), Some((PARTICIPANT_DAYS + 1) * 24 * 3600));
        assert!(is_ageing("no certificate"), "what cannot be read is made anew");
    }

    #[test]
    fn an_authority_is_found_again_and_signs_the_key_of_a_request_alone() {
        let folder = tempfile::tempdir().unwrap();
        let first = Authority::open(folder.path()).unwrap();
        let again = Authority::open(folder.path()).unwrap();
        assert_eq!(first.certificate(), again.certificate());
        let (key, request) = new_request().unwrap();
        let (certificate, name) = again.participant("ward 3", &request).unwrap();
        let (_, pem) = x509_parser::pem::parse_x509_pem(certificate.as_bytes()).unwrap();
        assert_eq!(Holder::of(&pem.contents), Some(Holder { key: name, name: Some("ward 3".into()) }));
        assert!(!is_ageing(&certificate));
        assert_eq!(again.participant("ward 3", &request_for(&key).unwrap()).unwrap().1, name, "the same key has the same name");
        assert!(again.participant("ward 3", "no request").is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(folder.path().join(KEY)).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "nobody else reads the key");
        }
    }
}
