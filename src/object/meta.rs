//! The metadata of an object, found in its text.

use std::{borrow::Cow, fmt, ops::Range};

use crate::json::{
    outline::Value,
    scan::{Member, Members, unescape_str},
};

/// Where the parts of the metadata are in the text of an object.
///
/// Offsets, not copies: the text is kept anyway, and each of them in one piece. All of them are of strings without escapes, quotes
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

/// A range of a piece of text; empty if there is no such thing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    /// Each with a bit of the depth, for there are many of these.
    start: u32,
    end: u32,
}

impl Span {
    /// The bit that no place in a text needs.
    const DEPTH: u32 = 31;

    /// A range of what is the object's own. The text is shorter than 31 bits can count.
    pub(super) fn new(range: Range<usize>) -> Self {
        Self { start: range.start as u32, end: range.end as u32 }
    }

    /// The same range of what that is copied from; `None` if it is too deep already.
    pub(super) fn deeper(self) -> Option<Self> {
        let depth = self.depth() + 1;
        let with = |place: usize, bit: u32| place as u32 | bit << Self::DEPTH;
        let Range { start, end } = self.range();
        (depth < 4).then(|| Self { start: with(start, depth >> 1), end: with(end, depth & 1) })
    }

    /// How often what is the object's own has to be left for what it is copied from.
    pub(super) fn depth(self) -> u32 {
        (self.start >> Self::DEPTH) << 1 | self.end >> Self::DEPTH
    }

    pub(super) fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    pub(super) fn len(self) -> usize {
        self.range().len()
    }

    pub(super) fn range(self) -> Range<usize> {
        let place = |with: u32| (with & !(1 << Self::DEPTH)) as usize;
        place(self.start)..place(self.end)
    }
}

/// Why a text is not usable as an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MetaError {
    Malformed,
    /// A name or version contains escapes: the text must be normalised first.
    Escaped,
}

impl Meta {
    /// Reads one member of metadata; of duplicates the last counts. Spans are of the text that it is in.
    pub(super) fn see(&mut self, member: &Member<'_>, value: Value<'_>) -> Result<(), MetaError> {
        let (text, range) = (value.bytes(), value.range());
        match &*member.key {
            "name" => self.name = string(text, range.start)?,
            "namespace" => self.namespace = string(text, range.start)?,
            "uid" => self.uid = string(text, range.start)?,
            "resourceVersion" => self.resource_version = string(text, range.start)?,
            "creationTimestamp" => self.creation_timestamp = string(text, range.start)?,
            "deletionTimestamp" => self.deletion_timestamp = string(text, range.start)?,
            "labels" => self.labels = container(text, b'{', range)?,
            "annotations" => self.annotations = container(text, b'{', range)?,
            "ownerReferences" => self.owner_references = container(text, b'[', range)?,
            _ => {}
        }
        Ok(())
    }

    pub(super) fn spans(&mut self) -> [&mut Span; 9] {
        [
            &mut self.name,
            &mut self.namespace,
            &mut self.uid,
            &mut self.resource_version,
            &mut self.creation_timestamp,
            &mut self.deletion_timestamp,
            &mut self.labels,
            &mut self.annotations,
            &mut self.owner_references,
        ]
    }
}

/// The inside of a string; `null` is nothing.
fn string(value: &[u8], at: usize) -> Result<Span, MetaError> {
    match value {
        b"null" => Ok(Span::default()),
        [b'"', inner @ .., b'"'] if inner.contains(&b'\\') => Err(MetaError::Escaped),
        [b'"', inner @ .., b'"'] => Ok(Span::new(at + 1..at + 1 + inner.len())),
        _ => Err(MetaError::Malformed),
    }
}

fn container(value: &[u8], opening: u8, range: Range<usize>) -> Result<Span, MetaError> {
    match value.first() {
        Some(&first) if first == opening => Ok(Span::new(range)),
        _ if value == b"null" => Ok(Span::default()),
        _ => Err(MetaError::Malformed),
    }
}

/// The labels of an object, or its annotations, read from its text as they are asked for.
#[derive(Clone, Copy)]
#[doc(alias = "Set")]
pub struct Labels<'a> {
    /// A JSON object, or nothing.
    pub(super) text: &'a str,
}

impl<'a> Labels<'a> {
    /// The value of `key`; no server sends a key twice, and of two the first counts.
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
        let text = self.text;
        Members::of(text).into_iter().flatten().filter_map(move |member| {
            let member = member.ok()?;
            let value = unescape_str(text.get(member.value)?).ok()?;
            Some((member.key, value))
        })
    }

    #[cfg(feature = "capi")]
    pub(super) fn to_texts(self) -> super::Texts {
        self.iter().flat_map(|(key, value)| [key, value]).collect()
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
