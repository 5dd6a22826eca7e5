//! What the text of an object says: that of its own name, namespace and version, and of no other object.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use kinformer::Object;
use serde::Deserialize;

/// Each stamp begins with this, so that it fits one object alone.
pub(crate) fn prefix(namespace: &str, name: &str) -> String {
    format!("{namespace}.{name}.")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    kind: String,
    metadata: Metadata,
    #[serde(default)]
    data: BTreeMap<String, String>,
    spec: Option<Spec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Spec {
    template: Template,
}

#[derive(Deserialize)]
struct Template {
    spec: PodSpec,
}

#[derive(Deserialize)]
struct PodSpec {
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    image: String,
}

/// What is wrong with the text of an object that a writer of this test has written. Others are left alone.
pub(crate) fn problem(object: &Object) -> Option<String> {
    let namespace = object.namespace()?;
    if !super::writers::NAMESPACES.contains(&namespace) {
        return None;
    }
    let body: Body = match serde_json::from_str(&object.json()) {
        Ok(body) => body,
        Err(error) => return Some(format!("a text that is none: {error}")),
    };
    let said = &body.metadata;
    let pairs = [
        (&*said.name, object.name()),
        (&*said.namespace, namespace),
        (&*said.uid, object.uid()),
        (&*said.resource_version, object.resource_version()),
    ];
    if let Some((said, wanted)) = pairs.iter().find(|(said, wanted)| said != wanted) {
        return Some(format!("the text of another: {said}, not {wanted}"));
    }
    // That of metadata alone has a kind of its own.
    if body.kind != object.kind() && body.kind != "PartialObjectMetadata" {
        return Some(format!("the text of another kind: {}", body.kind));
    }
    let annotation = object.annotations().get("stamp").map(std::borrow::Cow::into_owned);
    if annotation.as_ref() != said.annotations.get("stamp") {
        return Some(format!("an annotation that is not in the text: {annotation:?}"));
    }
    // The cluster writes some of its own into each namespace.
    if !super::writers::is_written(&said.name) {
        return None;
    }
    let prefix = prefix(namespace, &said.name);
    let stamps = body.stamps();
    if let Some(stamp) = stamps.iter().find(|stamp| !stamp.starts_with(&prefix)) {
        return Some(format!("the stamp of another: {stamp:.80}"));
    }
    if annotation.is_none() && !stamps.is_empty() {
        return Some("no stamp".to_owned());
    }
    let long = [body.data.get("long"), body.data.get("stamp")];
    if let [Some(long), Some(stamp)] = long.map(|text| text.map(|text| body.plain(text)))
        && long != stamp.repeat(long.len() / stamp.len())
    {
        return Some(format!("a long text that is not {stamp} again and again"));
    }
    None
}

impl Body {
    fn stamps(&self) -> Vec<String> {
        let metadata = [&self.metadata.annotations, &self.metadata.labels];
        let metadata = metadata.into_iter().filter_map(|all| all.get("stamp").cloned());
        let data = self.data.values().map(|text| self.plain(text));
        let containers = self.spec.iter().flat_map(|spec| &spec.template.spec.containers);
        let images = containers
            .map(|container| container.image.rsplit(':').next().unwrap_or_default().to_owned());
        metadata.chain(data).chain(images).collect()
    }

    fn plain(&self, text: &str) -> String {
        if self.kind != "Secret" {
            return text.to_owned();
        }
        let bytes = BASE64_STANDARD.decode(text).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}
