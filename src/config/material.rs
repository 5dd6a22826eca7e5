//! Certificates and keys, which a kubeconfig names by path or holds in itself.

use std::path::{Path, PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};

use super::{
    kubeconfig::{Located, Text},
    pem,
    problems::Problems,
};
use crate::error::ConfigError;

/// PEM text and where it came from: `KEY`, a path, or `KEY-data`, base64.
pub(super) struct Material<'a> {
    pub(super) bytes: Vec<u8>,
    owner: &'a str,
    key: &'static str,
    origin: Origin<'a>,
}

#[derive(Clone, Copy)]
enum Origin<'a> {
    File(&'a Located<PathBuf>),
    Data(&'a Text),
}

impl<'a> Material<'a> {
    /// Reads whichever of the two is there. `None` if neither is, or something is wrong with it.
    pub(super) fn load(
        owner: &'a str,
        key: &'static str,
        file: Option<&'a Located<PathBuf>>,
        data: Option<&'a Text>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let origin = match (file, data) {
            (None, None) => return None,
            (Some(file), None) => Origin::File(file),
            (None, Some(data)) => Origin::Data(data),
            (Some(_), Some(data)) => {
                let why = format!("contradicts {key}, which is set too");
                problems.push(data.problem_in(owner, &format!("{key}-data"), why));
                return None;
            }
        };
        let mut material = Self { bytes: Vec::new(), owner, key, origin };
        let read = match origin {
            Origin::File(file) => {
                pem::read(&file.value).map_err(|error| format!("cannot be read: {error}"))
            }
            Origin::Data(data) => decode(&data.value),
        };
        match read {
            Ok(bytes) => material.bytes = bytes,
            Err(why) => {
                problems.push(material.problem(&why));
                return None;
            }
        }
        Some(material)
    }

    /// The file, if it came from one.
    pub(super) fn path(&self) -> Option<&'a Path> {
        match self.origin {
            Origin::File(file) => Some(&file.value),
            Origin::Data(_) => None,
        }
    }

    /// Says what is wrong with it.
    pub(super) fn problem(&self, why: &str) -> ConfigError {
        match self.origin {
            Origin::File(file) => {
                let why = format!("{}: {why}", file.value.display());
                file.problem_in(self.owner, self.key, why)
            }
            Origin::Data(data) => data.problem_in(self.owner, &format!("{}-data", self.key), why),
        }
    }
}

/// Line breaks are fine in it, as they are for kubectl.
fn decode(text: &str) -> Result<Vec<u8>, String> {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    BASE64.decode(text).map_err(|_| "not base64".into())
}
