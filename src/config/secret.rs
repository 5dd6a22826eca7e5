//! Text that must not be seen.

use std::{fmt, path::Path, sync::Arc};

use super::pem;

/// A token, a password or a private key. `Debug` hides it, and there is no `Display`.
#[derive(Clone, Eq, PartialEq)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    pub(crate) fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Reads a file that holds a token; the error says what is wrong and leaves out the path.
    pub(crate) fn from_file(path: &Path) -> Result<Self, String> {
        let bytes = pem::read(path).map_err(|error| format!("cannot be read: {error}"))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| "does not hold text".to_owned())?;
        match text.trim() {
            "" => Err("is empty, and should hold a token".into()),
            token if !is_header_text(token) => {
                Err("holds characters that cannot be in a header".into())
            }
            token => Ok(Self::new(token)),
        }
    }

    /// The text itself, for the one place that sends it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Whether this can be sent in a header: visible ASCII and spaces.
pub(super) fn is_header_text(text: &str) -> bool {
    text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_text() {
        let secret = Some(Secret::new("hunter2"));
        assert_eq!(format!("{secret:?} {secret:#?}").matches("redacted").count(), 2);
        assert!(!format!("{secret:?} {secret:#?}").contains("hunter2"));
        assert_eq!(secret.as_ref().map(Secret::expose), Some("hunter2"));
    }
}
