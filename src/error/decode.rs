//! JSON that is something else than was expected.

use std::{fmt, sync::Arc};

/// JSON that does not fit what was expected, with the name of the object or document it was in.
///
/// What the JSON library says is part of the text.
#[derive(Clone, Debug)]
pub struct DecodeError(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    what: String,
    reason: Arc<serde_json::Error>,
    /// If it is about one object, what is known of it.
    object: Option<Found>,
}

/// What could be found of an object that is not usable as one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) key: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl DecodeError {
    pub(crate) fn new(what: impl Into<String>, reason: serde_json::Error) -> Self {
        Self(Box::new(Inner { what: what.into(), reason: Arc::new(reason), object: None }))
    }

    /// Says that it is about one object among others, of which so much is known.
    pub(crate) fn of_one(mut self, found: Found) -> Self {
        self.0.object = Some(found);
        self
    }

    /// What was being decoded: an object's kind and key, or the name of a document.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// The key of the object that cannot be used, if it has one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.0.object.as_ref()?.key.as_deref()
    }

    /// Whether it is about one object: others are not affected.
    pub(crate) fn is_of_one(&self) -> bool {
        self.0.object.is_some()
    }

    /// The resource version of the object that cannot be used, if it has one.
    pub(crate) fn resource_version(&self) -> Option<&str> {
        self.0.object.as_ref()?.resource_version.as_deref()
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot decode {}: {}", self.what(), self.0.reason)
    }
}

impl std::error::Error for DecodeError {}
