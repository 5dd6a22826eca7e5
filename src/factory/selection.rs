//! Which objects of a resource an informer is about.

use std::fmt;

use crate::{
    error::{Error, Result},
    selector::{fields, labels},
};

/// Which objects of a resource an informer is about: of one namespace or of all, with selectors.
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
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
#[must_use]
pub struct Selection {
    pub(super) namespace: Option<String>,
    pub(super) labels: labels::Selector,
    pub(super) fields: fields::Selector,
}

impl Selection {
    /// Everything that the factory is about.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only objects of this namespace. Defaults to what the factory says; resources that do not live in
    /// namespaces are not affected.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into()).filter(|namespace| !namespace.is_empty());
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
        if let Some(namespace) = &self.namespace {
            write!(f, " in {namespace}")?;
        }
        let selectors = [self.labels.to_string(), self.fields.to_string()];
        let selectors: Vec<_> = selectors.into_iter().filter(|text| !text.is_empty()).collect();
        if !selectors.is_empty() {
            write!(f, " where {}", selectors.join(","))?;
        }
        Ok(())
    }
}

/// Whether a namespace could be called this: a DNS label.
pub(super) fn check_namespace(name: &str) -> Result<()> {
    let is_end = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let bytes = name.as_bytes();
    let is_label = bytes.len() <= 63
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| is_end(Some(byte)) || *byte == b'-');
    if is_label {
        return Ok(());
    }
    let text = format!(
        "{name:?} cannot be the name of one: at most 63 lower-case letters, digits and hyphens, \
         the first and the last not a hyphen"
    );
    Err(Error::invalid("namespace", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_called_by_a_dns_label() {
        for good in ["a", "kube-system", "0", "a0-1", &"a".repeat(63)] {
            assert!(check_namespace(good).is_ok(), "{good}");
        }
        for bad in ["", "-", "a-", "-a", "A", "a.b", "a_b", "a/b", "é", " a", &"a".repeat(64)] {
            let error = check_namespace(bad).unwrap_err().to_string();
            assert!(error.contains("namespace") && error.contains(&format!("{bad:?}")), "{error}");
        }
    }
}
