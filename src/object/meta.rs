//! The metadata of an object, found in its text.

use std::{borrow::Cow, fmt, ops::Range};

use crate::json::scan::{Malformed, Members, unescape};

/// Where the parts of the metadata are in the text of an object.
///
/// Offsets, not copies: the text is kept anyway. All of them are of strings without escapes, quotes
/// excluded, except the ranges of `labels`, `annotations` and `owner_references`, which are of values.
#[derive(Clone, Debug, Default)]
pub(super) struct Meta {
    pub(super) name: Span,
    pub(super) namespace: Span,
    pub(super) uid: Span,
    pub(super) resource_version: Span,
    pub(super) creation_timestamp: Span,
    pub(super) deletion_timestamp: Span,
    pub(super) labels: Span,
    pub(super) annotations: Span,
    pub(super) owner_references: Span,
}

/// A range of the text; empty if there is no such thing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    fn new(range: Range<usize>) -> Result<Self, MetaError> {
        let offset = |at| u32::try_from(at).map_err(|_| MetaError::Malformed);
        Ok(Self { start: offset(range.start)?, end: offset(range.end)? })
    }
}

/// Why a text is not usable as an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MetaError {
    Malformed,
    /// A name or version contains escapes: the text must be normalised first.
    Escaped,
}

impl From<Malformed> for MetaError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl Meta {
    /// Reads the metadata that is the object at `at` in `text`; of duplicate members the last counts.
    pub(super) fn find(text: &[u8], at: usize) -> Result<Self, MetaError> {
        let mut meta = Self::default();
        for member in Members::new(text, at)? {
            let member = member?;
            let value = &text[member.value.clone()];
            match &*member.key {
                "name" => meta.name = string(value, member.value.start)?,
                "namespace" => meta.namespace = string(value, member.value.start)?,
                "uid" => meta.uid = string(value, member.value.start)?,
                "resourceVersion" => meta.resource_version = string(value, member.value.start)?,
                "creationTimestamp" => {
                    meta.creation_timestamp = string(value, member.value.start)?;
                }
                "deletionTimestamp" => {
                    meta.deletion_timestamp = string(value, member.value.start)?;
                }
                "labels" => meta.labels = container(value, b'{', member.value)?,
                "annotations" => meta.annotations = container(value, b'{', member.value)?,
                "ownerReferences" => {
                    meta.owner_references = container(value, b'[', member.value)?;
                }
                _ => {}
            }
        }
        Ok(meta)
    }
}

/// The inside of a string; `null` is nothing.
fn string(value: &[u8], at: usize) -> Result<Span, MetaError> {
    match value {
        b"null" => Ok(Span::default()),
        [b'"', inner @ .., b'"'] if inner.contains(&b'\\') => Err(MetaError::Escaped),
        [b'"', inner @ .., b'"'] => Span::new(at + 1..at + 1 + inner.len()),
        _ => Err(MetaError::Malformed),
    }
}

fn container(value: &[u8], opening: u8, range: Range<usize>) -> Result<Span, MetaError> {
    match value.first() {
        Some(&first) if first == opening => Span::new(range),
        _ if value == b"null" => Ok(Span::default()),
        _ => Err(MetaError::Malformed),
    }
}

/// The labels of an object, or its annotations, read from its text as they are asked for.
#[derive(Clone, Copy)]
pub struct Labels<'a> {
    /// A JSON object, or nothing.
    pub(super) text: &'a str,
}

impl<'a> Labels<'a> {
    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Cow<'a, str>> {
        self.iter().find(|(found, _)| found == key).map(|(_, value)| value)
    }

    /// Whether there is a label `key`, whatever its value.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Keys and values, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> + use<'a> {
        let text = self.text.as_bytes();
        Members::new(text, 0).into_iter().flatten().filter_map(move |member| {
            let member = member.ok()?;
            let value = unescape(&text[member.value]).ok()?;
            Some((member.key, value))
        })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl fmt::Debug for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
