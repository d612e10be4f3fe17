//! Certificates and keys, as `rustls` takes them.

use std::io;
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, ServerConfig};

use crate::pki::Identity;

/// Random bytes for tokens and nonces, from the provider of the cryptography.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(bytes)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(authority: &str) -> io::Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate.map_err(unreadable)?).map_err(io::Error::other)?;
    }
    if roots.is_empty() { Err(invalid("there is no certificate of an authority")) } else { Ok(Arc::new(roots)) }
}

fn chain(identity: &Identity) -> io::Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let certificates =
        CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(unreadable)?;
    if certificates.is_empty() { Err(invalid("there is no certificate")) } else { Ok((certificates, key)) }
}

fn unreadable(error: rustls::pki_types::pem::Error) -> io::Error {
    invalid(&format!("a certificate or key cannot be read: {error}"))
}

pub(super) fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

pub(super) fn server_tls(identity: &Identity, authority: &str) -> io::Result<ServerConfig> {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(authority)?, provider()).allow_unauthenticated().build();
    let (certificates, key) = chain(identity)?;
    ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(io::Error::other)?
        .with_client_cert_verifier(verifier.map_err(io::Error::other)?)
        .with_single_cert(certificates, key)
        .map_err(io::Error::other)
}

/// Of an agent; without an identity as long as it has none.
pub(super) fn client_tls(authority: &str, identity: Option<&Identity>) -> io::Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(io::Error::other)?
        .with_root_certificates(roots(authority)?);
    match identity {
        Some(identity) => {
            let (certificates, key) = chain(identity)?;
            builder.with_client_auth_cert(certificates, key).map_err(io::Error::other)
        }
        None => Ok(builder.with_no_client_auth()),
    }
}
