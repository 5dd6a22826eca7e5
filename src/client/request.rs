//! Requests, built without sending anything.

use std::{fmt::Write, ops::Range};

use serde::Serialize;

use super::transport::Method;
use crate::{
    error::{Error, Result},
    json::scan::Members,
    object::{ApiResource, check_namespace},
};

/// What a list of objects may be answered with.
pub(crate) const JSON: &str = "application/json";

/// One request, without what its client adds: credentials, user agent, base URL.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// Sorted by parameter, so that equal requests look equal.
    query: Vec<(&'static str, String)>,
    pub(crate) accept: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Option<Vec<u8>>,
    /// For error messages, where the server's own is missing.
    pub(crate) about: About,
}

/// What a request is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) name: String,
}

impl Request {
    /// A request for a path outside any resource, such as `/version`.
    pub(crate) fn for_path(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            accept: JSON.into(),
            content_type: JSON,
            body: None,
            about: About::default(),
        }
    }

    /// A request for a collection, an object in it, or a subresource of that.
    pub(crate) fn for_resource(method: Method, target: &Target<'_>) -> Result<Self> {
        let mut request = Self::for_path(method, target.path()?);
        request.about = About {
            group: target.resource.group().into(),
            resource: target.resource.plural().into(),
            name: target.name.unwrap_or_default().into(),
        };
        Ok(request)
    }

    /// Adds a parameter; the same one may be there more than once.
    pub(crate) fn param(&mut self, name: &'static str, value: impl Into<String>) {
        self.add_param(name, value.into());
    }

    /// Adds a parameter if there is something to say.
    pub(crate) fn param_some(&mut self, name: &'static str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.add_param(name, value.to_string());
        }
    }

    fn add_param(&mut self, name: &'static str, value: String) {
        let at = self.query.partition_point(|(other, _)| *other <= name);
        self.query.insert(at, (name, value));
    }

    pub(crate) fn json(&mut self, body: &(impl Serialize + ?Sized)) -> Result<()> {
        let body = serde_json::to_vec(body).map_err(|error| {
            Error::invalid("body", format!("it cannot be written as JSON: {error}"))
        })?;
        self.body = Some(body);
        Ok(())
    }

    /// The same, with `apiVersion` and `kind` of `resource` where the body has none.
    pub(crate) fn object(
        &mut self,
        resource: &ApiResource,
        body: &(impl Serialize + ?Sized),
    ) -> Result<()> {
        self.json(body)?;
        let text = self.body.take().unwrap_or_default();
        self.body = Some(with_type(resource, text)?);
        Ok(())
    }

    /// Path and query.
    pub(crate) fn target(&self) -> String {
        let mut target = self.path.clone();
        let mut separator = '?';
        for (name, value) in &self.query {
            target.push(separator);
            target.push_str(name);
            target.push('=');
            encode(&mut target, value);
            separator = '&';
        }
        target
    }
}

/// What a URL points at.
#[derive(Clone, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) resource: &'a ApiResource,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) subresource: Option<&'a str>,
}

impl Target<'_> {
    fn path(&self) -> Result<String> {
        if !self.resource.group().is_empty() {
            segment("api version", self.resource.group())?;
        }
        segment("api version", self.resource.version())?;
        let mut path = self.resource.root();
        if let Some(namespace) = self.namespace {
            if !self.resource.is_namespaced() {
                let text = format!("{} do not live in namespaces", self.resource);
                return Err(Error::invalid("namespace", text));
            }
            check_namespace(namespace)?;
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(segment("resource", self.resource.plural())?);
        if let Some(name) = self.name {
            path.push('/');
            path.push_str(segment("name", name)?);
        }
        if let Some(subresource) = self.subresource {
            if self.name.is_none() {
                // Without a name in between, the subresource would be taken for one.
                let text = format!("{subresource:?} is of one object, not of all: say which");
                return Err(Error::invalid("name", text));
            }
            path.push('/');
            path.push_str(segment("subresource", subresource)?);
        }
        Ok(path)
    }
}

/// Refuses what would change the meaning of a path.
fn segment<'a>(argument: &'static str, text: &'a str) -> Result<&'a str> {
    let problem = match text {
        "" => "it is empty",
        "." | ".." => "it is not a name but a direction",
        _ if text.contains('/') => "it contains a slash",
        _ if text.contains('%') => "it contains a percent sign",
        _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            "it contains characters that no name has"
        }
        _ if text.contains(['?', '#', '"', '<', '>', '\\', '^', '`', '{', '|', '}']) => {
            "it contains characters that no name has"
        }
        _ => return Ok(text),
    };
    Err(Error::invalid(argument, format!("{text:?}: {problem}")))
}

/// As `application/x-www-form-urlencoded`.
fn encode(target: &mut String, value: &str) {
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                target.push(byte.into());
            }
            b' ' => target.push('+'),
            other => {
                // Writing to a String cannot fail.
                let _ = write!(target, "%{other:02X}");
            }
        }
    }
}

/// Each of `apiVersion` and `kind` once, the resource's where the body has none: empty or `null` is how
/// Go and some serialisers write that.
fn with_type(resource: &ApiResource, text: Vec<u8>) -> Result<Vec<u8>> {
    let not_an_object = |_| Error::invalid("body", "it is not a JSON object");
    let (mut api_version, mut kind, mut rest) = (None, None, Vec::new());
    for member in Members::new(&text, 0).map_err(not_an_object)? {
        let member = member.map_err(not_an_object)?;
        let said = !matches!(&text[member.value.clone()], b"\"\"" | b"null");
        match &*member.key {
            "apiVersion" => api_version = said.then_some(member.whole),
            "kind" => kind = said.then_some(member.whole),
            _ => rest.push(member.whole),
        }
    }
    if api_version.is_some() && kind.is_some() {
        return Ok(text);
    }
    let member = |said: Option<Range<usize>>, name: &str, value: &str| match said {
        Some(said) => text[said].to_vec(),
        None => format!("\"{name}\":{}", serde_json::Value::from(value)).into_bytes(),
    };
    let mut whole = vec![b'{'];
    whole.extend(member(api_version, "apiVersion", &resource.api_version()));
    whole.push(b',');
    whole.extend(member(kind, "kind", resource.kind()));
    for range in rest {
        whole.push(b',');
        whole.extend_from_slice(&text[range]);
    }
    whole.push(b'}');
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods() -> ApiResource {
        ApiResource::namespaced("v1", "Pod", "pods")
    }

    fn path(
        resource: &ApiResource,
        namespace: Option<&str>,
        name: Option<&str>,
        subresource: Option<&str>,
    ) -> Result<String> {
        Target { resource, namespace, name, subresource }.path()
    }

    #[test]
    fn segments_come_in_order_for_core_and_other_groups() {
        let sets = ApiResource::namespaced("apps/v1", "StatefulSet", "statefulsets");
        let nodes = ApiResource::cluster("v1", "Node", "nodes");
        for (found, expected) in [
            (path(&pods(), None, None, None), "/api/v1/pods"),
            (path(&pods(), Some("a"), None, None), "/api/v1/namespaces/a/pods"),
            (path(&pods(), Some("a"), Some("b"), Some("log")), "/api/v1/namespaces/a/pods/b/log"),
            (path(&sets, Some("a"), Some("b"), None), "/apis/apps/v1/namespaces/a/statefulsets/b"),
            (path(&nodes, None, Some("n"), Some("status")), "/api/v1/nodes/n/status"),
        ] {
            assert_eq!(found.unwrap(), expected);
        }
    }

    #[test]
    fn segments_that_would_change_the_path_are_refused_by_name() {
        for bad in ["", ".", "..", "a/b", "a%2bb", "a b", "a?b", "a#b", "\u{e9}", "a\r\nb"] {
            for (argument, result) in [
                ("namespace", path(&pods(), Some(bad), None, None)),
                ("name", path(&pods(), Some("a"), Some(bad), None)),
                ("subresource", path(&pods(), Some("a"), Some("b"), Some(bad))),
                ("resource", path(&ApiResource::cluster("v1", "X", bad), None, None, None)),
            ] {
                let error = result.unwrap_err().to_string();
                assert!(error.starts_with(&format!("invalid {argument}: ")), "{bad:?}: {error}");
            }
        }
        let nodes = ApiResource::cluster("v1", "Node", "nodes");
        assert!(path(&nodes, Some("a"), None, None).is_err(), "a cluster resource in a namespace");
        for good in ["a:b", "system:node", "a.b-c_d", "A~1"] {
            assert!(path(&pods(), Some("a"), Some(good), None).is_ok(), "{good}");
        }
    }

    #[test]
    fn parameters_are_sorted_repeated_and_encoded() {
        let mut request = Request::for_path(Method::Get, "/api/v1/pods");
        assert_eq!(request.target(), "/api/v1/pods");
        request.param("timeoutSeconds", "7");
        request.param("labelSelector", "a in (b,c),!d e");
        request.param("dryRun", "All");
        request.param("dryRun", "Two");
        request.param_some("limit", Some(5));
        request.param_some("continue", None::<String>);
        assert_eq!(
            request.target(),
            "/api/v1/pods?dryRun=All&dryRun=Two&labelSelector=a+in+%28b%2Cc%29%2C%21d+e&limit=5&timeoutSeconds=7"
        );
    }

    #[test]
    fn a_body_gets_the_type_it_leaves_out() {
        let typed = |body: serde_json::Value| {
            let mut request = Request::for_path(Method::Post, "/");
            request
                .object(&pods(), &body)
                .map(|()| String::from_utf8(request.body.unwrap()).unwrap())
        };
        let json = serde_json::json!({"metadata": {}});
        assert_eq!(typed(json).unwrap(), r#"{"apiVersion":"v1","kind":"Pod","metadata":{}}"#);
        assert_eq!(typed(serde_json::json!({})).unwrap(), r#"{"apiVersion":"v1","kind":"Pod"}"#);
        let own = serde_json::json!({"apiVersion": "v2", "kind": "Other"});
        assert_eq!(typed(own).unwrap(), r#"{"apiVersion":"v2","kind":"Other"}"#);
        assert!(typed(serde_json::json!([1])).is_err());
    }
}
