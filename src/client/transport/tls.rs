//! Whom to trust, who to be, and what went wrong in a handshake.

use std::{io, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore,
    SignatureScheme, WantsVerifier,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};

use crate::{
    config::{Secret, Trust},
    error::{ConfigError, Phase, Result, TransportError},
};

/// A client certificate with its chain, and its key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClientCertificate {
    pub(crate) certificate: Arc<[u8]>,
    pub(crate) key: Secret,
}

/// The TLS settings for one cluster.
///
/// The cryptography is ring's, passed explicitly: the process-wide default provider is the
/// application's business.
pub(super) fn client_config(
    trust: &Trust,
    identity: Option<&ClientCertificate>,
) -> Result<ClientConfig> {
    let builder = builder()?;
    let builder = match roots_of(trust)? {
        Some(roots) => builder.with_root_certificates(roots),
        None => builder.dangerous().with_custom_certificate_verifier(trust_anybody()),
    };
    let Some(ClientCertificate { certificate, key }) = identity else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = certificates(certificate, "client-certificate")?;
    let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes())
        .map_err(|_| ConfigError::new("client-key", "has no private key in PEM form"))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| {
        ConfigError::new("client-key", "does not go with the client certificate")
            .with_source(error)
            .into()
    })
}

/// The TLS settings for a proxy on the way to the cluster.
///
/// kubectl lets the cluster's authorities vouch for the proxy and nobody else, so they do here; but
/// a proxy is as likely to have a certificate that the system trusts.
pub(super) fn proxy_config(trust: &Trust) -> Result<ClientConfig> {
    let builder = builder()?;
    let builder = match roots_of(trust)? {
        Some(mut roots) => {
            roots.roots.extend(system_roots().roots);
            builder.with_root_certificates(roots)
        }
        None => builder.dangerous().with_custom_certificate_verifier(trust_anybody()),
    };
    Ok(builder.with_no_client_auth())
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>> {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| ConfigError::new("", "no usable TLS version").with_source(error).into())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The authorities that count; `None` if anybody does.
fn roots_of(trust: &Trust) -> Result<Option<RootCertStore>> {
    Ok(Some(match trust {
        Trust::Insecure => return Ok(None),
        Trust::System => system_roots(),
        Trust::Pem(pem) => roots(pem, "certificate-authority-data")?,
        Trust::File(path) => {
            let unreadable = |e| ConfigError::unreadable("certificate-authority", &e);
            let pem = std::fs::read(path).map_err(|e| unreadable(e).in_file(path))?;
            roots(&pem, "certificate-authority").map_err(|e| e.in_file(path))?
        }
    }))
}

fn certificates(
    pem: &[u8],
    field: &str,
) -> std::result::Result<Vec<CertificateDer<'static>>, ConfigError> {
    let all: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(ConfigError::new(field, "has no certificate in PEM form")),
        Err(error) => Err(ConfigError::new(field, format!("is not valid PEM: {error}"))),
    }
}

fn roots(pem: &[u8], field: &str) -> std::result::Result<RootCertStore, ConfigError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates(pem, field)?);
    if added == 0 {
        return Err(ConfigError::new(field, "has no certificate that can be read"));
    }
    Ok(roots)
}

fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        log::warn!("the system's trust store: {error}");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}

/// What a failed read or write during a handshake says.
pub(super) fn handshake_failure(name: &str, error: io::Error) -> TransportError {
    if error.kind() == io::ErrorKind::TimedOut {
        return TransportError::timeout(Phase::Tls, format!("{name}: the handshake timed out"));
    }
    match error.downcast::<rustls::Error>() {
        Ok(error) => failure(name, error),
        Err(error) => TransportError::io(Phase::Tls, format!("{name}: {error}"), error.kind()),
    }
}

/// What rustls found wrong, in words that say what to look at.
pub(super) fn failure(name: &str, error: rustls::Error) -> TransportError {
    use rustls::Error as E;
    let text = match &error {
        E::InvalidCertificate(certificate) => match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the server's certificate is not valid yet".to_owned()
            }
            CertificateError::UnknownIssuer => {
                "the server's certificate is signed by an authority that is not trusted".to_owned()
            }
            CertificateError::BadSignature => {
                "the server's certificate is not signed by the authority it names".to_owned()
            }
            CertificateError::NotValidForName => {
                "the server's certificate is not valid for this name".to_owned()
            }
            CertificateError::NotValidForNameContext { presented, .. } => format!(
                "the server's certificate is not valid for this name, only for {}",
                presented.join(", ")
            ),
            _ => "the server's certificate was refused".to_owned(),
        },
        E::AlertReceived(alert) => format!("the server refused: {alert:?}"),
        E::InvalidMessage(_) => "what answers there does not speak TLS".to_owned(),
        other => return TransportError::new(Phase::Tls, format!("{name}: {other}")),
    };
    TransportError::new(Phase::Tls, format!("{name}: {text}")).with_source(error)
}

fn trust_anybody() -> Arc<TrustAnybody> {
    Arc::new(TrustAnybody(provider()))
}

/// For `insecure-skip-tls-verify`: any certificate will do, but the server must own its key.
#[derive(Debug)]
struct TrustAnybody(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
