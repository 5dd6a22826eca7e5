//! The name of an object in a cache.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Serialize, Serializer};
use smallvec::SmallVec;

/// `namespace/name`, or `name` for an object of the whole cluster; cheap to clone.
///
/// ```
/// use kinformer::ObjectKey;
///
/// let key = ObjectKey::new(Some("default"), "web-0");
/// assert_eq!(key.as_str(), "default/web-0");
/// assert_eq!((key.namespace(), key.name()), (Some("default"), "web-0"));
/// assert_eq!(ObjectKey::from("node-1").namespace(), None);
/// ```
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[doc(alias = "ObjectName")]
#[doc(alias = "SplitMetaNamespaceKey")]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// The key of `name` in `namespace`; an empty namespace is none.
    #[must_use]
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            None | Some("") => Self(name.into()),
            Some(namespace) => {
                // Not by way of a string of its own.
                let mut joined: SmallVec<[u8; 128]> = SmallVec::new();
                for part in [namespace, "/", name] {
                    joined.extend_from_slice(part.as_bytes());
                }
                Self(String::from_utf8_lossy(&joined).into())
            }
        }
    }

    /// The whole key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the first slash, if there is one.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// What stands after the first slash, or everything.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }
}

impl From<&str> for ObjectKey {
    fn from(key: &str) -> Self {
        Self(key.into())
    }
}

impl From<String> for ObjectKey {
    fn from(key: String) -> Self {
        Self(key.into())
    }
}

impl From<&Self> for ObjectKey {
    fn from(key: &Self) -> Self {
        key.clone()
    }
}

impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ObjectKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ObjectKey {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for ObjectKey {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for ObjectKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
