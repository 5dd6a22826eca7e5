//! Failures of code that is not this crate's.

use std::{error::Error as StdError, fmt, sync::Arc};

/// A failure of a source, a transform or a handler that is the program's own, as that told it.
///
/// Made by [`Error::other`](crate::Error::other); [`Error::downcast_ref`](crate::Error::downcast_ref)
/// gives back what is in it.
#[derive(Clone)]
pub struct OtherError(Arc<Box<dyn StdError + Send + Sync>>);

impl OtherError {
    pub(super) fn new(error: Box<dyn StdError + Send + Sync>) -> Self {
        Self(Arc::new(error))
    }

    /// What it was made from.
    #[must_use]
    pub fn get_ref(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &**self.0
    }
}

impl fmt::Debug for OtherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for OtherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for OtherError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
