//! TLS as `sslmode` asks for it, and what ties a password exchange to one TLS connection.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::address::{Host, SslMode};

/// A TLS connection to a host that has not begun yet.
pub(super) fn begin(
    mode: SslMode,
    root: Option<&Path>,
    host: &Host,
) -> io::Result<ClientConnection> {
    let provider = Arc::new(ring::default_provider());
    // As libpq has it: where it was said whom to trust, `require` verifies too.
    let trust = match (mode, root) {
        (SslMode::VerifyFull, _) => Trust::NamedHost(web_pki(root, &provider)?),
        (SslMode::VerifyCa, _) | (SslMode::Require, Some(_)) => {
            Trust::AnyHost(web_pki(root, &provider)?)
        }
        (SslMode::Disable | SslMode::Allow | SslMode::Prefer | SslMode::Require, _) => {
            Trust::Anybody
        }
    };
    let verifier = Verifier {
        trust,
        provider: Arc::clone(&provider),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let name = ServerName::try_from(host.name.clone()).map_err(io::Error::other)?;
    ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)
}

/// The usual verification, by a file's roots or the machine's.
fn web_pki(
    root: Option<&Path>,
    provider: &Arc<CryptoProvider>,
) -> io::Result<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    match root {
        Some(path) => {
            let unreadable =
                |error| io::Error::other(format!("cannot read {}: {error}", path.display()));
            for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
                let certificate = certificate.map_err(unreadable)?;
                roots.add(certificate).map_err(io::Error::other)?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
    }
    if roots.is_empty() {
        let nobody = "there is no certificate to trust; name one with sslrootcert";
        return Err(io::Error::other(nobody));
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(io::Error::other)
}

/// Whose certificate is good enough.
#[derive(Debug)]
enum Trust {
    /// Encryption only: who listens along learns nothing, who stands between does.
    Anybody,
    /// One that a trusted root has signed.
    AnyHost(Arc<WebPkiServerVerifier>),
    /// And for this very host.
    NamedHost(Arc<WebPkiServerVerifier>),
}

#[derive(Debug)]
struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verify = |verifier: &WebPkiServerVerifier| {
            verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        };
        match &self.trust {
            Trust::Anybody => Ok(ServerCertVerified::assertion()),
            Trust::NamedHost(verifier) => verify(verifier),
            // The name is looked at last: what it alone fails on is signed as it should be.
            Trust::AnyHost(verifier) => match verify(verifier) {
                Err(Error::InvalidCertificate(
                    CertificateError::NotValidForName
                    | CertificateError::NotValidForNameContext { .. },
                )) => Ok(ServerCertVerified::assertion()),
                verified => verified,
            },
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// What `tls-server-end-point` binds a password exchange to (RFC 5929): the certificate's hash, by the hash that it was
/// signed with, SHA-256 at the least. Nothing where that is not defined.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let whole = element(certificate)?;
    let signed = element(whole.content)?;
    let algorithm = element(signed.behind)?;
    let identifier = element(algorithm.content)?.content;
    Some(match identifier {
        // sha384WithRSAEncryption, ecdsa-with-SHA384
        [42, 134, 72, 134, 247, 13, 1, 1, 12] | [42, 134, 72, 206, 61, 4, 3, 3] => {
            Sha384::digest(certificate).to_vec()
        }
        // sha512WithRSAEncryption, ecdsa-with-SHA512
        [42, 134, 72, 134, 247, 13, 1, 1, 13] | [42, 134, 72, 206, 61, 4, 3, 4] => {
            Sha512::digest(certificate).to_vec()
        }
        // md5, sha1 and sha256 WithRSAEncryption, ecdsa-with-SHA1 and -SHA256
        [42, 134, 72, 134, 247, 13, 1, 1, 4 | 5 | 11]
        | [42, 134, 72, 206, 61, 4, 1]
        | [42, 134, 72, 206, 61, 4, 3, 2] => Sha256::digest(certificate).to_vec(),
        _ => return None,
    })
}

/// One element of DER: what is in it, and what comes behind it.
struct Element<'a> {
    content: &'a [u8],
    behind: &'a [u8],
}

fn element(der: &[u8]) -> Option<Element<'_>> {
    let (&length, rest) = der.get(1..)?.split_first()?;
    let (length, rest) = if length < 0x80 {
        (usize::from(length), rest)
    } else {
        let digits = usize::from(length & 0x7F);
        let (digits, rest) = (rest.get(..digits)?, rest.get(digits..)?);
        let value = digits.iter().try_fold(0usize, |value, digit| {
            value.checked_mul(256)?.checked_add(usize::from(*digit))
        });
        (value?, rest)
    };
    Some(Element {
        content: rest.get(..length)?,
        behind: rest.get(length..)?,
    })
}
