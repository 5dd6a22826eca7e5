//! The discovery documents: which groups, versions and resources there are.

use serde_json::{Value, json};

use super::registry::{Registry, ResourceDef, Subresource};

/// `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`: of the core group for `/api`, of all others
/// for `/apis`.
pub(crate) fn aggregated(registry: &Registry, core: bool) -> Value {
    let items: Vec<_> = registry
        .groups()
        .into_iter()
        .filter(|group| group.name.is_empty() == core)
        .map(|group| {
            let versions: Vec<_> = group
                .versions
                .iter()
                .map(|version| {
                    let resources: Vec<_> = in_version(registry, &group.name, version)
                        .map(aggregated_resource)
                        .collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let mut metadata = json!({});
            if !core {
                metadata["name"] = group.name.into();
            }
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

/// `/api` for clients that ask for plain JSON. `address` is host and port of the server.
pub(crate) fn api_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// `/apis` for clients that ask for plain JSON.
pub(crate) fn api_group_list(registry: &Registry) -> Value {
    let groups = registry.groups();
    let groups: Vec<_> = groups
        .iter()
        .filter(|group| !group.name.is_empty())
        .map(|group| group_body(&group.name, &group.versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`.
pub(crate) fn api_group(registry: &Registry, name: &str) -> Option<Value> {
    let groups = registry.groups();
    let group = groups.iter().find(|g| g.name == name && !name.is_empty())?;
    let mut body = group_body(&group.name, &group.versions);
    body["kind"] = "APIGroup".into();
    body["apiVersion"] = "v1".into();
    Some(body)
}

/// `/api/v1` and `/apis/<group>/<version>`: resources, each followed by its subresources.
pub(crate) fn api_resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    let mut group_version = None;
    for resource in in_version(registry, group, version) {
        group_version = Some(resource.api_version());
        resources.push(api_resource(resource));
        resources.extend(resource.subresources.iter().map(|sub| api_subresource(resource, sub)));
    }
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version?,
        "resources": resources,
    }))
}

fn in_version<'a>(
    registry: &'a Registry,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'a ResourceDef> {
    let all = registry.all().iter().map(AsRef::as_ref);
    all.filter(move |r: &&ResourceDef| r.group == group && r.version == version)
}

fn aggregated_resource(resource: &ResourceDef) -> Value {
    let own = (resource.group.clone(), resource.version.clone(), resource.kind.clone());
    let mut body = json!({
        "resource": resource.plural,
        "responseKind": response_kind(resource, &own),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    add_names(&mut body, resource);
    if !resource.subresources.is_empty() {
        let subresources = resource.subresources.iter().map(|sub| {
            json!({
                "subresource": sub.name,
                "responseKind": response_kind(resource, &sub.kind),
                "verbs": sub.verbs,
            })
        });
        body["subresources"] = subresources.collect();
    }
    body
}

/// Built-in resources leave group and version empty where they are their own; custom ones do not.
fn response_kind(resource: &ResourceDef, kind: &(String, String, String)) -> Value {
    let (mut group, mut version, kind) = (kind.0.as_str(), kind.1.as_str(), &kind.2);
    if resource.builtin && group == resource.group && version == resource.version {
        (group, version) = ("", "");
    }
    json!({"group": group, "version": version, "kind": kind})
}

fn group_body(name: &str, versions: &[String]) -> Value {
    let entry =
        |version: &String| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    json!({
        "name": name,
        "versions": versions.iter().map(entry).collect::<Vec<_>>(),
        "preferredVersion": entry(&versions[0]),
    })
}

fn api_resource(resource: &ResourceDef) -> Value {
    let mut body = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    add_names(&mut body, resource);
    body
}

fn api_subresource(resource: &ResourceDef, sub: &Subresource) -> Value {
    let (group, version, kind) = &sub.kind;
    let mut body = json!({
        "name": format!("{}/{}", resource.plural, sub.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": kind,
        "verbs": sub.verbs,
    });
    if *group != resource.group || *version != resource.version {
        body["group"] = group.as_str().into();
        body["version"] = version.as_str().into();
    }
    body
}

fn add_names(body: &mut Value, resource: &ResourceDef) {
    if !resource.short_names.is_empty() {
        body["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        body["categories"] = resource.categories.clone().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregated_discovery_splits_core_from_the_named_groups() {
        let registry = Registry::builtin();
        let core = aggregated(&registry, true);
        assert_eq!(core["items"].as_array().unwrap().len(), 1);
        assert!(core["items"][0]["metadata"].get("name").is_none());
        let others = aggregated(&registry, false);
        assert_eq!(others["items"][0]["metadata"]["name"], "apiregistration.k8s.io");
        assert_eq!(others["items"].as_array().unwrap().len(), 23);
    }

    #[test]
    fn a_subresource_of_another_kind_names_its_group_and_version() {
        let registry = Registry::builtin();
        let apps = api_resource_list(&registry, "apps", "v1").unwrap();
        let of = |name: &str| {
            apps["resources"].as_array().unwrap().iter().find(|r| r["name"] == name).unwrap()
        };
        assert_eq!(of("deployments/scale")["group"], "autoscaling");
        assert_eq!(of("deployments/scale")["kind"], "Scale");
        assert!(of("deployments/status").get("group").is_none());
        assert_eq!(of("deployments")["shortNames"], json!(["deploy"]));
    }

    #[test]
    fn an_unknown_group_or_version_has_no_document() {
        let registry = Registry::builtin();
        assert!(api_group(&registry, "nope").is_none());
        assert!(api_group(&registry, "").is_none());
        assert!(api_resource_list(&registry, "apps", "v9").is_none());
        assert_eq!(
            api_group(&registry, "autoscaling").unwrap()["preferredVersion"]["version"],
            "v2"
        );
    }

    #[test]
    fn a_custom_resource_names_its_own_group_and_version() {
        let mut registry = Registry::builtin();
        registry
            .apply_crd(&json!({"metadata": {"name": "foos.x.io"}, "spec": {
                "group": "x.io", "scope": "Cluster", "names": {"kind": "Foo", "plural": "foos"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                              "subresources": {"status": {}}}]}}))
            .unwrap();
        let all = aggregated(&registry, false);
        let group = all["items"].as_array().unwrap().last().unwrap();
        let foo = &group["versions"][0]["resources"][0];
        assert_eq!(foo["responseKind"], json!({"group": "x.io", "version": "v1", "kind": "Foo"}));
        assert_eq!(foo["subresources"][0]["responseKind"]["group"], "x.io");
    }
}
