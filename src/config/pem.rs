//! Checking certificates, keys and names when a configuration is loaded.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use rustls::{
    Error, InconsistentKeys, RootCertStore,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer, ServerName,
        pem::{self, PemObject},
    },
    sign::CertifiedKey,
};

/// More than any bundle of certificates: a file beyond this is something else.
const MOST_BYTES: u64 = 16 << 20;

/// Which half of an identity cannot be used.
#[derive(Debug)]
pub(super) enum BadIdentity {
    Certificate(String),
    Key(String),
}

/// Reads a file that holds a credential or certificates, if it is not absurdly large.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MOST_BYTES)
}

/// Reads a file of at most `limit` bytes; a larger one, or one without end, is an error.
pub(super) fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("larger than {} MiB", limit >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Checks that there is at least one certificate that can be an authority.
pub(super) fn check_authorities(pem: &[u8]) -> Result<(), String> {
    let certificates = certificates(pem)?;
    match RootCertStore::empty().add_parsable_certificates(certificates) {
        (0, _) => Err("none of the certificates can be parsed".into()),
        _ => Ok(()),
    }
}

/// Checks that certificate and private key can be parsed and belong together.
pub(super) fn check_identity(certificate: &[u8], key: &[u8]) -> Result<(), BadIdentity> {
    let certificates = certificates(certificate).map_err(BadIdentity::Certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| BadIdentity::Key(describe(&error, "private key")))?;
    match CertifiedKey::from_der(certificates, key, &ring::default_provider()) {
        Ok(_) => Ok(()),
        Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            Err(BadIdentity::Key("does not fit the certificate".into()))
        }
        Err(Error::InvalidCertificate(error)) => {
            Err(BadIdentity::Certificate(format!("cannot be parsed: {error:?}")))
        }
        // What rustls says about a key is about its format, and never holds its bytes.
        Err(error) => Err(BadIdentity::Key(format!("cannot be parsed: {error}"))),
    }
}

/// Checks that a certificate can have this name.
pub(super) fn check_server_name(name: &str) -> Result<(), &'static str> {
    match ServerName::try_from(name) {
        Ok(_) => Ok(()),
        Err(_) => Err("is neither a host name nor an address"),
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| describe(&error, "certificate"))?;
    if certificates.is_empty() {
        return Err(describe(&pem::Error::NoItemsFound, "certificate"));
    }
    Ok(certificates)
}

/// Says what is wrong with PEM text without quoting from it.
fn describe(error: &pem::Error, wanted: &str) -> String {
    match error {
        pem::Error::NoItemsFound => format!("not PEM, or no {wanted} in it"),
        pem::Error::MissingSectionEnd { .. } => "the PEM text has no END line".into(),
        pem::Error::IllegalSectionStart { .. } => "the PEM text has a broken BEGIN line".into(),
        pem::Error::Base64Decode(_) => "the PEM text is not base64 between its lines".into(),
        _ => "the PEM text cannot be parsed".into(),
    }
}
