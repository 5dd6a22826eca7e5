//! The kinds that Kubernetes has built in: what they are called, where they are served, and a method of
//! the factory for each.
//!
//! ```no_run
//! # let client = kinformer::Client::try_default()?;
//! # let factory = kinformer::SharedInformerFactory::new(client);
//! let sets = factory.apps().v1().stateful_sets(); // = factory.informer::<StatefulSet>()
//! # Ok::<(), kinformer::Error>(())
//! ```
//!
//! There is a module for each group, named by the first word of the group (`rbac` is
//! `rbac.authorization.k8s.io`, and `core` the one without a name), and in it one for each version.
//! Methods are called as the kind in snake case, in the plural of the API: `pods`, `stateful_sets`,
//! `network_policies`.
//!
//! Kinds come and go with versions of Kubernetes. There are those of the version that the program has
//! chosen for k8s-openapi: 93 with `v1_37`, 81 with `v1_33`. What that version does not have is no
//! method, and does not compile; if the server has it, it can be had from
//! [`for_resource`](crate::SharedInformerFactory::for_resource) all the same.

use crate::object::{ApiResource, GroupVersionKind, GroupVersionResource};

/// A kind that Kubernetes has built in, and that can be listed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Kind {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
    watchable: bool,
    lifetime: Lifetime,
}

impl Kind {
    /// Group, version, kind, plural and scope.
    #[must_use]
    pub fn resource(&self) -> ApiResource {
        let api_version = match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        };
        ApiResource::new(&api_version, self.kind, self.plural, self.namespaced)
    }

    /// Whether it can be watched: all but `componentstatuses` can. An informer of that one lists again
    /// and again instead.
    #[must_use]
    pub fn is_watchable(&self) -> bool {
        self.watchable
    }
}

/// Every built-in kind of the chosen version of Kubernetes. Without the feature `k8s-openapi` none is
/// chosen, and these are the kinds of all versions that this library knows.
pub fn all() -> impl Iterator<Item = &'static Kind> {
    TABLE.iter().filter(|kind| kind.lifetime.covers_chosen())
}

/// The built-in kind that is served there.
///
/// ```
/// use kinformer::{GroupVersionResource, kinds};
///
/// let pods = kinds::find_resource(&GroupVersionResource::new("", "v1", "pods"));
/// assert_eq!(pods.map(|pods| pods.resource().kind().to_owned()), Some("Pod".into()));
/// assert_eq!(kinds::find_resource(&GroupVersionResource::new("", "v1", "widgets")), None);
/// ```
#[must_use]
pub fn find_resource(resource: &GroupVersionResource) -> Option<&'static Kind> {
    let GroupVersionResource { group, version, resource } = resource;
    all().find(|kind| kind.group == group && kind.version == version && kind.plural == resource)
}

/// The built-in kind of that name.
///
/// ```
/// use kinformer::{GroupVersionKind, kinds};
///
/// let sets = kinds::find_kind(&GroupVersionKind::new("apps", "v1", "StatefulSet"));
/// assert_eq!(sets.map(|sets| sets.resource().plural().to_owned()), Some("statefulsets".into()));
/// ```
#[must_use]
pub fn find_kind(kind: &GroupVersionKind) -> Option<&'static Kind> {
    let GroupVersionKind { group, version, kind: name } = kind;
    all().find(|kind| kind.group == group && kind.version == version && kind.kind == name)
}

/// The minor versions of Kubernetes that have a kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Lifetime {
    since: u8,
    until: u8,
}

impl Lifetime {
    const ALWAYS: Self = Self { since: 0, until: u8::MAX };

    const fn since(mut self, version: u8) -> Self {
        self.since = version;
        self
    }

    const fn until(mut self, version: u8) -> Self {
        self.until = version;
        self
    }

    fn covers_chosen(self) -> bool {
        CHOSEN.is_none_or(|chosen| (self.since..=self.until).contains(&chosen))
    }
}

/// The minor version of Kubernetes that the program has chosen for k8s-openapi.
#[cfg(not(feature = "k8s-openapi"))]
const CHOSEN: Option<u8> = None;

#[cfg(feature = "k8s-openapi")]
use self::versions::CHOSEN;

#[cfg(feature = "k8s-openapi")]
#[macro_use]
mod versions {
    k8s_openapi::k8s_if_1_33! { pub(super) const CHOSEN: Option<u8> = Some(33); }
    k8s_openapi::k8s_if_1_34! { pub(super) const CHOSEN: Option<u8> = Some(34); }
    k8s_openapi::k8s_if_1_35! { pub(super) const CHOSEN: Option<u8> = Some(35); }
    k8s_openapi::k8s_if_1_36! { pub(super) const CHOSEN: Option<u8> = Some(36); }
    k8s_openapi::k8s_if_1_37! { pub(super) const CHOSEN: Option<u8> = Some(37); }

    /// Items that some versions have: `versions!([since 34 until 36] items)`.
    macro_rules! versions {
        ([] $($item:tt)*) => { $($item)* };
        ([since 34 $($gate:tt)*] $($item:tt)*) => {
            k8s_openapi::k8s_if_ge_1_34! { versions! { [$($gate)*] $($item)* } }
        };
        ([since 35 $($gate:tt)*] $($item:tt)*) => {
            k8s_openapi::k8s_if_ge_1_35! { versions! { [$($gate)*] $($item)* } }
        };
        ([since 36 $($gate:tt)*] $($item:tt)*) => {
            k8s_openapi::k8s_if_ge_1_36! { versions! { [$($gate)*] $($item)* } }
        };
        ([since 37 $($gate:tt)*] $($item:tt)*) => {
            k8s_openapi::k8s_if_ge_1_37! { versions! { [$($gate)*] $($item)* } }
        };
        ([until 33] $($item:tt)*) => { k8s_openapi::k8s_if_le_1_33! { $($item)* } };
        ([until 34] $($item:tt)*) => { k8s_openapi::k8s_if_le_1_34! { $($item)* } };
        ([until 35] $($item:tt)*) => { k8s_openapi::k8s_if_le_1_35! { $($item)* } };
        ([until 36] $($item:tt)*) => { k8s_openapi::k8s_if_le_1_36! { $($item)* } };
    }
}

/// Makes the table of facts, and the methods of the factory.
macro_rules! kinds {
    ($(
        $group:ident $group_name:literal ($($module:tt)*) $group_gate:tt {$(
            $version:ident $version_gate:tt {$(
                $method:ident $kind:ident $plural:literal $scope:ident $verbs:ident
                    [$($key:ident $minor:literal)*];
            )*}
        )*}
    )*) => {
        static TABLE: &[Kind] = &[$($($(
            Kind {
                group: $group_name,
                version: stringify!($version),
                kind: stringify!($kind),
                plural: $plural,
                namespaced: fact!($scope),
                watchable: fact!($verbs),
                lifetime: Lifetime::ALWAYS$(.$key($minor))*,
            },
        )*)*)*];
    };
}

macro_rules! fact {
    (namespaced) => {
        true
    };
    (cluster) => {
        false
    };
    (watch) => {
        true
    };
    (list) => {
        false
    };
}

include!("table.rs");

#[cfg(feature = "k8s-openapi")]
#[cfg_attr(docsrs, doc(cfg(feature = "k8s-openapi")))]
mod accessors;
#[cfg(feature = "k8s-openapi")]
pub use self::accessors::*;
