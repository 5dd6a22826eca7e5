//! OpenAPI documents: enough for kubectl to leave validation to the server.
//!
//! Before kubectl writes it looks for a PATCH operation of the object's kind with a query parameter
//! `fieldValidation`; finding one, it leaves validation to the server. It does so before `kubectl
//! create`, too, of kinds that can only be created, such as reviews, and finding no PATCH of theirs
//! it reads the documents of version 2, as protobuf. A real server has them; here such kinds list a
//! PATCH that is answered with 405, so that it need not. The operations of built-in kinds do not
//! claim `application/strategic-merge-patch+json`, although the server takes it: kubectl would then
//! compute its patches from these schemas, which say nothing about lists, instead of from the Go
//! types it carries. Nor do the schemas of built-in kinds list their fields: they are nothing for
//! `kubectl explain`.
//!
//! `/openapi/v2` exists as JSON only. kubectl asks there for
//! `application/com.github.proto-openapi.spec.v2@v1.0+protobuf`: answer 406, as for any type that
//! the server does not have. `kubectl apply` then goes on with its own types, without a word.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde_json::{Map, Value, json};

use super::registry::{Registry, ResourceDef, Subresource};

/// `/openapi/v3`: where the document of each group and version is. The address changes with the
/// content, because kubectl keeps what it has read on disk.
pub(crate) fn index_v3(registry: &Registry) -> Value {
    let mut hashers: BTreeMap<String, DefaultHasher> = BTreeMap::new();
    for resource in registry.all() {
        let hasher = hashers.entry(path(resource)).or_default();
        env!("CARGO_PKG_VERSION").hash(hasher);
        (&resource.plural, &resource.kind, resource.namespaced).hash(hasher);
        resource.subresources.iter().for_each(|sub| sub.name.hash(hasher));
        resource.schema.iter().for_each(|schema| schema.to_string().hash(hasher));
    }
    let paths: Map<_, _> = hashers
        .into_iter()
        .map(|(path, hasher)| {
            let url = format!("/openapi/v3/{path}?hash={:016X}", hasher.finish());
            (path, json!({"serverRelativeURL": url}))
        })
        .collect();
    json!({"paths": paths})
}

/// `/openapi/v3/api/v1` and `/openapi/v3/apis/<group>/<version>`.
pub(crate) fn document_v3(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let all = registry.all().iter();
    for resource in all.filter(|r| r.group == group && r.version == version) {
        add_paths(&mut paths, resource, &|content_types, name| {
            let schema = json!({"schema": {"$ref": format!("#/components/schemas/{name}")}});
            let content: Map<_, _> =
                content_types.iter().map(|t| ((*t).to_owned(), schema.clone())).collect();
            Value::Object(content)
        });
        schemas.insert(schema_name(resource), schema(resource));
    }
    if paths.is_empty() {
        return None;
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "components": {"schemas": schemas},
    }))
}

/// `/openapi/v2` as JSON.
pub(crate) fn v2(registry: &Registry) -> Value {
    let mut paths = Map::new();
    let mut definitions = Map::new();
    for resource in registry.all() {
        add_paths(
            &mut paths,
            resource,
            &|_, name| json!({"$ref": format!("#/definitions/{name}")}),
        );
        definitions.insert(schema_name(resource), schema(resource));
    }
    let mut document = json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "definitions": definitions,
    });
    document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut).for_each(as_swagger);
    document
}

const READ: &[&str] = &["application/json"];
const PATCH: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];

/// Makes `content` of an operation from media types and the name of a schema.
type Content<'a> = &'a dyn Fn(&[&str], &str) -> Value;

fn add_paths(paths: &mut Map<String, Value>, resource: &ResourceDef, content: Content<'_>) {
    let root = format!("/{}", path(resource));
    let served = |verbs: &[&'static str]| -> Vec<_> {
        verbs.iter().copied().filter(|verb| resource.verbs.contains(verb)).collect()
    };
    let collection = if resource.namespaced {
        let verbs = served(&["list"]);
        if !verbs.is_empty() {
            let operations = operations(resource, &verbs, content);
            paths.insert(format!("{root}/{}", resource.plural), item(&[], operations));
        }
        format!("{root}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        format!("{root}/{}", resource.plural)
    };
    let place: &[&str] = if resource.namespaced { &["namespace"] } else { &[] };
    let named: &[&str] = if resource.namespaced { &["name", "namespace"] } else { &["name"] };
    let one = format!("{collection}/{{name}}");
    let mut verbs = served(&["list", "create", "deletecollection"]);
    if verbs == ["create"] {
        verbs.push("patch");
    }
    paths.insert(collection, item(place, operations(resource, &verbs, content)));
    let verbs = served(&["get", "update", "patch", "delete"]);
    if !verbs.is_empty() {
        paths.insert(one.clone(), item(named, operations(resource, &verbs, content)));
    }
    for sub in &resource.subresources {
        let operations = subresource_operations(resource, sub, content);
        paths.insert(format!("{one}/{}", sub.name), item(named, operations));
    }
}

fn item(place: &[&str], operations: Map<String, Value>) -> Value {
    let mut item = Value::Object(operations);
    let parameters = place.iter().map(|name| parameter(name, "path"));
    item["parameters"] = parameters.chain([parameter("pretty", "query")]).collect();
    item
}

fn operations(resource: &ResourceDef, verbs: &[&str], content: Content<'_>) -> Map<String, Value> {
    let kind = (resource.group.as_str(), resource.version.as_str(), resource.kind.as_str());
    let name = schema_name(resource);
    verbs.iter().map(|verb| operation(verb, kind, &name, content)).collect()
}

fn subresource_operations(
    resource: &ResourceDef,
    sub: &Subresource,
    content: Content<'_>,
) -> Map<String, Value> {
    let kind = (sub.kind.0.as_str(), sub.kind.1.as_str(), sub.kind.2.as_str());
    let name = schema_name(resource);
    sub.verbs.iter().map(|verb| operation(verb, kind, &name, content)).collect()
}

/// Method and operation for a verb.
fn operation(
    verb: &str,
    (group, version, kind): (&str, &str, &str),
    schema: &str,
    content: Content<'_>,
) -> (String, Value) {
    let (method, action) = match verb {
        "create" => ("post", "post"),
        "update" => ("put", "put"),
        "patch" => ("patch", "patch"),
        "delete" => ("delete", "delete"),
        "deletecollection" => ("delete", "deletecollection"),
        "list" => ("get", "list"),
        _ => ("get", "get"),
    };
    let query: &[&str] = match verb {
        "create" | "update" => &["dryRun", "fieldManager", "fieldValidation"],
        "patch" => &["dryRun", "fieldManager", "fieldValidation", "force"],
        "delete" => &["dryRun", "gracePeriodSeconds", "propagationPolicy"],
        "get" => &["resourceVersion"],
        _ => &["continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch"],
    };
    let parameters: Vec<_> = query.iter().map(|name| parameter(name, "query")).collect();
    let mut operation = json!({
        "description": format!("{verb} {kind}"),
        "parameters": parameters,
        "responses": {"200": {"description": "OK", "content": content(READ, schema)}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    });
    match verb {
        "patch" => {
            operation["requestBody"] = json!({"content": content(PATCH, schema), "required": true});
        }
        "create" | "update" => {
            operation["requestBody"] = json!({"content": content(READ, schema), "required": true});
        }
        _ => {}
    }
    (method.to_owned(), operation)
}

fn parameter(name: &str, place: &str) -> Value {
    let kind = match name {
        "force" | "watch" => "boolean",
        "limit" | "gracePeriodSeconds" => "integer",
        _ => "string",
    };
    let mut parameter = json!({"name": name, "in": place, "schema": {"type": kind}});
    if place == "path" {
        parameter["required"] = true.into();
    }
    parameter
}

/// The schema of a kind: a CRD's own, or one that lets everything through.
fn schema(resource: &ResourceDef) -> Value {
    let own = resource.schema.as_deref().filter(|schema| schema.is_object());
    let mut schema = own
        .cloned()
        .unwrap_or_else(|| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    let mut properties = json!({
        "apiVersion": {"type": "string", "description": "Group and version of this object."},
        "kind": {"type": "string", "description": "The kind of this object."},
        "metadata": {
            "type": "object",
            "description": "Name, labels and what else every object has.",
            "x-kubernetes-preserve-unknown-fields": true,
        },
    });
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if name != "metadata" {
            properties[name.as_str()] = property.clone();
        }
    }
    schema["properties"] = properties;
    let (group, version, kind) = (&resource.group, &resource.version, &resource.kind);
    schema["x-kubernetes-group-version-kind"] =
        json!([{"group": group, "version": version, "kind": kind}]);
    schema
}

/// `com.example.v1.Widget`: the group in reverse, version, kind.
fn schema_name(resource: &ResourceDef) -> String {
    let group = if resource.group.is_empty() { "core" } else { &resource.group };
    let reversed: Vec<_> = group.split('.').rev().collect();
    format!("{}.{}.{}", reversed.join("."), resource.version, resource.kind)
}

/// `api/v1` or `apis/<group>/<version>`.
fn path(resource: &ResourceDef) -> String {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    format!("{root}/{}", resource.api_version())
}

/// Turns the parts of an OpenAPI 3 path that version 2 spells differently into its spelling.
fn as_swagger(item: &mut Value) {
    let plain = |parameters: &mut Value| {
        for parameter in parameters.as_array_mut().into_iter().flatten() {
            parameter["type"] = parameter["schema"]["type"].take();
            parameter.as_object_mut().map(|p| p.remove("schema"));
        }
    };
    for (key, value) in item.as_object_mut().into_iter().flatten() {
        if key == "parameters" {
            plain(value);
            continue;
        }
        plain(&mut value["parameters"]);
        let Some(operation) = value.as_object_mut() else { continue };
        if let Some(mut body) = operation.remove("requestBody")
            && let Some(parameters) = operation["parameters"].as_array_mut()
        {
            let schema = body["content"].take();
            parameters
                .push(json!({"name": "body", "in": "body", "required": true, "schema": schema}));
        }
        let schema = operation["responses"]["200"]["content"].take();
        operation["responses"]["200"] = json!({"description": "OK", "schema": schema});
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_widgets(kind: &str) -> Registry {
        let mut registry = Registry::builtin();
        registry
            .apply_crd(&json!({"metadata": {"name": "widgets.x.io"}, "spec": {
                "group": "x.io", "scope": "Namespaced",
                "names": {"kind": kind, "plural": "widgets"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                    "openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "description": "What you want."}}}}}]}}))
            .unwrap();
        registry
    }

    #[test]
    fn every_kind_that_can_be_created_has_the_parameter_that_kubectl_looks_for() {
        let registry = with_widgets("Widget");
        for resource in registry.all().iter().filter(|r| r.verbs.contains(&"create")) {
            let document = document_v3(&registry, &resource.group, &resource.version).unwrap();
            let own = json!({"group": resource.group, "version": resource.version,
                             "kind": resource.kind});
            let mut patches = document["paths"]
                .as_object()
                .unwrap()
                .values()
                .map(|item| &item["patch"])
                .filter(|patch| patch["x-kubernetes-group-version-kind"] == own)
                .peekable();
            assert!(patches.peek().is_some(), "{}", resource.kind);
            for patch in patches {
                let mut parameters = patch["parameters"].as_array().unwrap().iter();
                assert!(parameters.any(|p| p["name"] == "fieldValidation" && p["in"] == "query"));
                let content = patch["requestBody"]["content"].as_object().unwrap();
                assert!(!content.contains_key("application/strategic-merge-patch+json"));
            }
        }
    }

    #[test]
    fn the_address_of_a_document_changes_with_its_content_only() {
        let url = |registry: &Registry, path: &str| {
            index_v3(registry)["paths"][path]["serverRelativeURL"].as_str().unwrap().to_owned()
        };
        let (before, after) = (with_widgets("Widget"), with_widgets("Gadget"));
        assert_eq!(url(&before, "api/v1"), url(&after, "api/v1"));
        assert_ne!(url(&before, "apis/x.io/v1"), url(&after, "apis/x.io/v1"));
        assert!(url(&before, "apis/x.io/v1").starts_with("/openapi/v3/apis/x.io/v1?hash="));
    }

    #[test]
    fn a_crd_shows_its_own_schema() {
        let document = document_v3(&with_widgets("Widget"), "x.io", "v1").unwrap();
        let schema = &document["components"]["schemas"]["io.x.v1.Widget"];
        assert_eq!(schema["properties"]["spec"]["description"], "What you want.");
        assert_eq!(schema["properties"]["kind"]["type"], "string");
    }

    #[test]
    fn an_unknown_version_has_no_document() {
        assert!(document_v3(&Registry::builtin(), "apps", "v9").is_none());
    }

    #[test]
    fn version_2_has_no_word_of_version_3() {
        let text = v2(&Registry::builtin()).to_string();
        for word in ["requestBody", "#/components", "\"content\""] {
            assert!(!text.contains(word), "{word}");
        }
    }
}
