//! Configuration that cannot be used.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Configuration that could not be loaded or contradicts itself, with the file and the field.
///
/// All problems found are kept, so that one run shows everything there is to mend. Values of fields
/// that hold credentials are never part of it.
#[derive(Clone, Debug)]
pub struct ConfigError(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: Kind,
    problems: Vec<Problem>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// There is a configuration, and something is wrong with it.
    Invalid,
    /// There is no configuration.
    Empty,
    /// A context was asked for that does not exist.
    ContextNotFound,
    /// The program does not run in a cluster.
    NotInCluster,
    /// A credential plugin failed.
    Plugin,
}

#[derive(Clone, Debug)]
struct Problem {
    file: Option<PathBuf>,
    field: String,
    message: String,
}

impl ConfigError {
    /// `field` is a path such as `clusters[prod].server`, or empty if the whole file is meant.
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        let problem = Problem { file: None, field: field.into(), message: message.into() };
        Self(Box::new(Inner { kind: Kind::Invalid, problems: vec![problem], source: None }))
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(field: impl Into<String>, error: &io::Error) -> Self {
        Self::new(field, format!("cannot be read: {error}"))
    }

    pub(crate) fn with_kind(mut self, kind: Kind) -> Self {
        self.0.kind = kind;
        self
    }

    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Names the file for every problem that has none yet.
    pub(crate) fn in_file(mut self, file: &Path) -> Self {
        for problem in &mut self.0.problems {
            problem.file.get_or_insert_with(|| file.to_owned());
        }
        self
    }

    /// Adds the problems of `other`; kind and source stay those of `self`.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.problems.extend(other.0.problems);
        self
    }

    /// There is no configuration at all: no file, or nothing in it.
    #[must_use]
    #[doc(alias = "IsEmptyConfig")]
    pub fn is_empty(&self) -> bool {
        self.0.kind == Kind::Empty
    }

    /// The context that was asked for does not exist.
    #[must_use]
    #[doc(alias = "IsContextNotFound")]
    pub fn is_context_not_found(&self) -> bool {
        self.0.kind == Kind::ContextNotFound
    }

    /// In-cluster configuration was asked for outside a cluster.
    #[must_use]
    #[doc(alias = "ErrNotInCluster")]
    pub fn is_not_in_cluster(&self) -> bool {
        self.0.kind == Kind::NotInCluster
    }

    /// A credential plugin could not be run, or its answer could not be used.
    #[must_use]
    pub fn is_plugin_failure(&self) -> bool {
        self.0.kind == Kind::Plugin
    }

    pub(crate) fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Problem { file, field, message }) in self.0.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            if let Some(file) = file {
                write!(f, "{}: ", file.display())?;
            }
            if !field.is_empty() {
                write!(f, "{field}: ")?;
            }
            f.write_str(message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Self::source(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_named_with_file_and_field() {
        let error = ConfigError::new("users[a].token", "is not a string")
            .and(ConfigError::new("", "no such file").in_file(Path::new("/b")))
            .in_file(Path::new("/a"));
        assert_eq!(error.to_string(), "/a: users[a].token: is not a string; /b: no such file");
    }
}
