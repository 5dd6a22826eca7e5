//! Which resource of the API a type stands for.

use std::fmt;

use serde::de::DeserializeOwned;

/// What an object can be decoded to: any type that serde can make from JSON.
///
/// Implemented for all of them. A lean struct with the three fields a program needs costs a twentieth of
/// the full k8s-openapi type to decode and to hold.
pub trait Body: DeserializeOwned + Send + Sync + 'static {}

impl<T: DeserializeOwned + Send + Sync + 'static> Body for T {}

/// A type that stands for one resource of the API, known when the program is compiled.
///
/// Every listable kind of k8s-openapi is one (feature `k8s-openapi`). For a type of your own, whether
/// it is a custom resource or a lean view of a built-in one, use [`resource!`](crate::resource).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which Kubernetes resource it stands for",
    note = "for a type of your own: kinformer::resource!(Widget, \"example.com/v1\", \"Widget\", \"widgets\");",
    note = "for a resource known only at run time: Client::dynamic, Client::api_for, ListWatch::of_resource, SharedInformerFactory::informer_for"
)]
pub trait Resource: Body {
    /// Group, version, kind, plural and scope.
    fn api_resource() -> ApiResource;
}

/// Says which resource a type of your own stands for.
///
/// ```
/// use kinformer::ApiResource;
///
/// #[derive(serde::Deserialize)]
/// struct Widget { spec: WidgetSpec }
/// #[derive(serde::Deserialize)]
/// struct WidgetSpec { size: u32 }
/// kinformer::resource!(Widget, "example.com/v1", "Widget", "widgets");
///
/// #[derive(serde::Deserialize)]
/// struct Shelf {}
/// kinformer::resource!(Shelf, "example.com/v1", "Shelf", "shelves", cluster);
///
/// assert_eq!(ApiResource::of::<Widget>().plural(), "widgets");
/// assert!(!ApiResource::of::<Shelf>().is_namespaced());
/// ```
#[macro_export]
macro_rules! resource {
    ($type:ty, $api_version:expr, $kind:expr, $plural:expr $(,)?) => {
        impl $crate::Resource for $type {
            fn api_resource() -> $crate::ApiResource {
                $crate::ApiResource::namespaced($api_version, $kind, $plural)
            }
        }
    };
    ($type:ty, $api_version:expr, $kind:expr, $plural:expr, cluster $(,)?) => {
        impl $crate::Resource for $type {
            fn api_resource() -> $crate::ApiResource {
                $crate::ApiResource::cluster($api_version, $kind, $plural)
            }
        }
    };
}

/// One resource of the API: where it is served, and what its objects are called.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kinformer::ApiResource;
///
/// let deployments = ApiResource::of::<Deployment>();
/// assert_eq!(deployments, ApiResource::namespaced("apps/v1", "Deployment", "deployments"));
/// assert_eq!(deployments.to_string(), "deployments.apps");
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[doc(alias = "RESTMapping")]
pub struct ApiResource {
    group: String,
    version: String,
    kind: String,
    plural: String,
    namespaced: bool,
}

impl ApiResource {
    /// The resource that `K` stands for.
    #[must_use]
    pub fn of<K: Resource>() -> Self {
        K::api_resource()
    }

    /// A resource whose objects live in namespaces. `api_version` is `v1` or `group/version`.
    #[must_use]
    pub fn namespaced(api_version: &str, kind: &str, plural: &str) -> Self {
        Self::new(api_version, kind, plural, true)
    }

    /// A resource whose objects belong to the cluster as a whole.
    #[must_use]
    pub fn cluster(api_version: &str, kind: &str, plural: &str) -> Self {
        Self::new(api_version, kind, plural, false)
    }

    pub(crate) fn new(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        let (group, version) = split_api_version(api_version);
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced,
        }
    }

    /// The API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version within the group.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The kind, as in `kind: Pod`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name in URLs, as in `pods`.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// Whether its objects live in namespaces.
    #[must_use]
    pub fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// `v1` or `group/version`, as in `apiVersion: apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        join_api_version(&self.group, &self.version)
    }

    /// Group, version and kind.
    #[must_use]
    pub fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::new(&self.group, &self.version, &self.kind)
    }

    /// Group, version and plural.
    #[must_use]
    pub fn gvr(&self) -> GroupVersionResource {
        GroupVersionResource::new(&self.group, &self.version, &self.plural)
    }

    /// Where the API server serves the group version.
    pub(crate) fn root(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }
}

/// As `pods` or `deployments.apps`.
impl fmt::Display for ApiResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

macro_rules! triple {
    ($(#[$doc:meta])* $name:ident, $third:ident, $third_doc:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[expect(clippy::exhaustive_structs, reason = "the three parts are all there is")]
        pub struct $name {
            /// The API group; empty for the core group.
            pub group: String,
            /// The version within the group.
            pub version: String,
            #[doc = $third_doc]
            pub $third: String,
        }

        impl $name {
            /// Puts the three parts together.
            #[must_use]
            pub fn new(group: &str, version: &str, $third: &str) -> Self {
                Self { group: group.into(), version: version.into(), $third: $third.into() }
            }

            /// `v1` or `group/version`.
            #[must_use]
            pub fn api_version(&self) -> String {
                join_api_version(&self.group, &self.version)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}/{}", self.api_version(), self.$third)
            }
        }
    };
}

triple! {
    /// What an object is: group, version and kind.
    GroupVersionKind, kind, "The kind, as in `Pod`."
}

triple! {
    /// Where objects are served: group, version and plural.
    GroupVersionResource, resource, "The plural, as in `pods`."
}

pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

pub(crate) fn join_api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

#[cfg(feature = "k8s-openapi")]
mod openapi {
    use k8s_openapi::{
        ClusterResourceScope, Metadata, NamespaceResourceScope,
        apimachinery::pkg::apis::meta::v1::ObjectMeta,
    };

    use super::{ApiResource, Body, Resource};

    mod sealed {
        #[expect(unnameable_types, reason = "so that nobody else implements it")]
        pub trait Scope {
            const NAMESPACED: bool;
        }
    }

    impl sealed::Scope for NamespaceResourceScope {
        const NAMESPACED: bool = true;
    }

    impl sealed::Scope for ClusterResourceScope {
        const NAMESPACED: bool = false;
    }

    impl<K> Resource for K
    where
        K: Body + Metadata<Ty = ObjectMeta>,
        K::Scope: sealed::Scope,
    {
        fn api_resource() -> ApiResource {
            let namespaced = <K::Scope as sealed::Scope>::NAMESPACED;
            ApiResource::new(K::API_VERSION, K::KIND, K::URL_PATH_SEGMENT, namespaced)
        }
    }

    #[cfg(test)]
    mod tests {
        use k8s_openapi::api::{apps::v1::StatefulSet, core::v1::Node};

        use super::*;

        #[test]
        fn kinds_of_k8s_openapi_are_resources() {
            let sets = ApiResource::of::<StatefulSet>();
            assert_eq!(sets, ApiResource::namespaced("apps/v1", "StatefulSet", "statefulsets"));
            assert_eq!(sets.to_string(), "statefulsets.apps");
            assert_eq!(ApiResource::of::<Node>(), ApiResource::cluster("v1", "Node", "nodes"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_and_version_come_apart_and_together() {
        let core = ApiResource::namespaced("v1", "Pod", "pods");
        assert_eq!((core.group(), core.version(), core.root().as_str()), ("", "v1", "/api/v1"));
        assert_eq!(core.gvk().to_string(), "v1/Pod");
        let apps = ApiResource::namespaced("apps/v1", "Deployment", "deployments");
        assert_eq!(
            (apps.api_version().as_str(), apps.root().as_str()),
            ("apps/v1", "/apis/apps/v1")
        );
        assert_eq!(apps.gvr(), GroupVersionResource::new("apps", "v1", "deployments"));
    }
}
