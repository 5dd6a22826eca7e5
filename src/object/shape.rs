//! What is kept of an object.

use super::{Decoded, ingest::DEPTH_OF_SKIPS};
use crate::error::{Error, Result};

/// What is kept of the objects of one source.
#[derive(Clone, Debug)]
pub struct Shape {
    pub(crate) decoded: Decoded,
    pub(super) cuts: Cut,
}

/// A part of an object that is left out, or that has such parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Cut {
    /// A member's name, or [`EACH`] element of an array.
    name: String,
    pub(super) whole: bool,
    parts: Vec<Self>,
}

pub(super) const EACH: &str = "*";

const MANAGED_FIELDS: [&str; 2] = ["metadata", "managedFields"];

impl Default for Shape {
    fn default() -> Self {
        let mut cuts = Cut::default();
        cuts.add(&MANAGED_FIELDS);
        Self { decoded: Decoded::default(), cuts }
    }
}

impl Shape {
    /// How deep in an object the deepest part is that ingest looks for: what is cut out, or what is remembered to
    /// be large.
    pub(crate) fn depth(&self) -> usize {
        self.cuts.depth().max(DEPTH_OF_SKIPS)
    }

    pub(crate) fn keep_managed_fields(&mut self) {
        self.cuts.remove(&MANAGED_FIELDS);
    }

    /// Leaves out what is at `path`, as in `/status/conditions` or `/spec/containers/*/env`.
    ///
    /// # Errors
    ///
    /// If it is not such a path, or objects could not be told apart without what is there.
    pub(crate) fn prune(&mut self, path: &str) -> Result<()> {
        let invalid = |why: &str| Err(Error::invalid("path to prune", format!("{path:?} {why}")));
        let Some(rest) = path.strip_prefix('/') else {
            return invalid("does not start with a slash");
        };
        let names: Vec<_> = rest.split('/').collect();
        if names.iter().any(|name| name.is_empty()) {
            return invalid("has an empty part");
        }
        match names[..] {
            ["apiVersion" | "kind" | "metadata"]
            | ["metadata", "name" | "namespace" | "uid" | "resourceVersion", ..]
            | [EACH, ..] => invalid("is what objects are told apart by"),
            _ => {
                self.cuts.add(&names);
                Ok(())
            }
        }
    }
}

impl Cut {
    pub(super) const NOTHING: Self = Self { name: String::new(), whole: false, parts: Vec::new() };

    fn add(&mut self, path: &[&str]) {
        let Some((name, rest)) = path.split_first() else {
            self.whole = true;
            return;
        };
        let at = self.parts.iter().position(|part| part.name == *name).unwrap_or_else(|| {
            self.parts.push(Self { name: (*name).to_owned(), ..Self::default() });
            self.parts.len() - 1
        });
        self.parts[at].add(rest);
    }

    fn depth(&self) -> usize {
        self.parts.iter().map(|part| 1 + part.depth()).max().unwrap_or(0)
    }

    fn remove(&mut self, path: &[&str]) {
        match path {
            [] => self.whole = false,
            [name, rest @ ..] => {
                if let Some(part) = self.parts.iter_mut().find(|part| part.name == *name) {
                    part.remove(rest);
                }
            }
        }
    }

    pub(super) fn part(&self, name: &str) -> Option<&Self> {
        self.parts.iter().find(|part| part.name == name)
    }
}
