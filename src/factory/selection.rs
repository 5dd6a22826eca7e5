//! Which objects of a resource an informer is about.

use std::fmt;

use crate::{
    informer::NamespaceSet,
    selector::{fields, labels},
};

/// Which objects of a resource an informer is about: of one namespace, several or all, with selectors.
///
/// Selectors are parsed before they get here, so one that does not parse is an error of
/// [`labels::parse`] or [`fields::parse`]; a field that the server cannot select by is an error of the
/// informer, in its status.
///
/// ```
/// use kinformer::{Selection, fields, labels};
///
/// let here = Selection::new().namespace("prod").fields(fields::parse("spec.nodeName=n1")?);
/// let web = Selection::new().labels(labels::parse("app in (web, api)")?);
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
#[doc(alias = "TweakListOptionsFunc")]
pub struct Selection {
    pub(super) namespaces: Namespaces,
    pub(super) labels: labels::Selector,
    pub(super) fields: fields::Selector,
}

/// Which namespaces.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum Namespaces {
    /// All, or what the factory says.
    #[default]
    Any,
    One(String),
    Several(NamespaceSet),
}

impl Namespaces {
    pub(super) fn one(name: impl Into<String>) -> Self {
        let name = name.into();
        if name.is_empty() { Self::Any } else { Self::One(name) }
    }
}

impl Selection {
    /// Everything that the factory is about.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only objects of this namespace. Defaults to what the factory says; resources that do not live in
    /// namespaces are not affected.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces = Namespaces::one(namespace);
        self
    }

    /// Only objects of these namespaces, which can change.
    pub fn namespaces(mut self, set: &NamespaceSet) -> Self {
        self.namespaces = Namespaces::Several(set.clone());
        self
    }

    /// Only objects whose labels match.
    pub fn labels(mut self, selector: labels::Selector) -> Self {
        self.labels = selector;
        self
    }

    /// Only objects whose fields match; the server knows few fields of each kind.
    pub fn fields(mut self, selector: fields::Selector) -> Self {
        self.fields = selector;
        self
    }
}

/// As ` in prod where app=web`; empty for everything.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespaces {
            Namespaces::Any => {}
            Namespaces::One(namespace) => write!(f, " in {namespace}")?,
            Namespaces::Several(_) => f.write_str(" in several namespaces")?,
        }
        let selectors = [self.labels.to_string(), self.fields.to_string()];
        let selectors: Vec<_> = selectors.into_iter().filter(|text| !text.is_empty()).collect();
        if !selectors.is_empty() {
            write!(f, " where {}", selectors.join(","))?;
        }
        Ok(())
    }
}
