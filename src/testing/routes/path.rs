//! From a URL to what it is about.

use serde::{Deserialize, Serialize};

use crate::testing::http::Request;

/// What a request does, in the words of Kubernetes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// `POST`.
    Create,
    /// `DELETE` of one object.
    Delete,
    /// `DELETE` of a collection.
    DeleteCollection,
    /// `GET` of one object.
    Get,
    /// `GET` of a collection.
    List,
    /// `PATCH`.
    Patch,
    /// `PUT`.
    Update,
    /// `GET` of a collection with `watch=true`.
    Watch,
}

impl Verb {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }
}

/// The path of an object or a collection.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The old form of a watch: `/watch/` before the resource.
    pub(crate) watch: bool,
}

impl ResourcePath {
    /// Takes a path apart. `None` if it is not that of a resource.
    pub(crate) fn parse(segments: &[String]) -> Option<Self> {
        let (group, version, rest) = match segments {
            [api, version, rest @ ..] if api == "api" => ("", version, rest),
            [apis, group, version, rest @ ..] if apis == "apis" => (group.as_str(), version, rest),
            _ => return None,
        };
        let mut path =
            Self { group: group.to_owned(), version: version.clone(), ..Self::default() };
        let rest = match rest {
            [watch, rest @ ..] if watch == "watch" && !rest.is_empty() => {
                path.watch = true;
                rest
            }
            rest => rest,
        };
        let rest = match rest {
            // Parts of the namespace object itself, not resources in it.
            [namespaces, _, part] if namespaces == "namespaces" && is_part_of_namespace(part) => {
                rest
            }
            [namespaces, namespace, rest @ ..]
                if namespaces == "namespaces" && !rest.is_empty() =>
            {
                path.namespace = Some(namespace.clone());
                rest
            }
            rest => rest,
        };
        let (resource, rest) = rest.split_first()?;
        path.resource.clone_from(resource);
        if let Some((name, rest)) = rest.split_first() {
            path.name = Some(name.clone());
            path.subresource = (!rest.is_empty()).then(|| rest.join("/"));
        }
        Some(path)
    }

    /// The verb of a request for this path.
    pub(crate) fn verb(&self, request: &Request) -> Option<Verb> {
        let watch = || {
            matches!(
                request.parameter("watch"),
                Some("true" | "1" | "True" | "TRUE" | "t" | "T" | "")
            )
        };
        Some(match (request.method.as_str(), &self.name) {
            ("GET" | "HEAD", _) if self.watch => Verb::Watch,
            ("GET" | "HEAD", None) if watch() => Verb::Watch,
            ("GET" | "HEAD", None) => Verb::List,
            ("GET" | "HEAD", Some(_)) => Verb::Get,
            ("POST", _) => Verb::Create,
            ("PUT", _) => Verb::Update,
            ("PATCH", _) => Verb::Patch,
            ("DELETE", Some(_)) => Verb::Delete,
            ("DELETE", None) => Verb::DeleteCollection,
            _ => return None,
        })
    }
}

fn is_part_of_namespace(segment: &str) -> bool {
    matches!(segment, "status" | "finalize")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> ResourcePath {
        let segments: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        ResourcePath::parse(&segments).unwrap()
    }

    #[test]
    fn paths_are_taken_apart() {
        let path = parse("/apis/apps/v1/namespaces/n/deployments/d/scale");
        assert_eq!((path.group.as_str(), path.version.as_str()), ("apps", "v1"));
        assert_eq!(path.namespace.as_deref(), Some("n"));
        assert_eq!((path.resource.as_str(), path.name.as_deref()), ("deployments", Some("d")));
        assert_eq!(path.subresource.as_deref(), Some("scale"));

        let path = parse("/api/v1/watch/namespaces/n/pods/p");
        assert!(path.watch);
        assert_eq!((path.resource.as_str(), path.name.as_deref()), ("pods", Some("p")));
    }

    #[test]
    fn a_namespace_is_an_object_and_a_place() {
        let path = parse("/api/v1/namespaces/n");
        assert_eq!((path.resource.as_str(), path.name.as_deref()), ("namespaces", Some("n")));
        let path = parse("/api/v1/namespaces/n/finalize");
        assert_eq!((path.resource.as_str(), path.name.as_deref()), ("namespaces", Some("n")));
        assert_eq!(path.subresource.as_deref(), Some("finalize"));
        let path = parse("/api/v1/namespaces/n/pods");
        assert_eq!((path.resource.as_str(), path.name), ("pods", None));
    }
}
