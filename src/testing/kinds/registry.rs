//! Which resources the server has: the built-in ones, and those that CRDs add.

use std::{cmp::Ordering, sync::Arc};

use serde_json::Value;

use super::{
    builtin::{self, Kind},
    crd,
};

/// The resources of a server, in the order of its discovery documents.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    resources: Vec<Arc<ResourceDef>>,
}

/// One resource of one group and version.
#[derive(Clone, Debug)]
pub(crate) struct ResourceDef {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(super) singular: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: &'static [&'static str],
    pub(super) subresources: Vec<Subresource>,
    /// Not from a CRD: strategic merge patches are allowed, and the printed columns are known.
    pub(crate) builtin: bool,
    /// False for reviews and bindings, which are answered and forgotten.
    pub(crate) stored: bool,
    /// Group and plural under which the objects are kept: all versions of a resource share it, and
    /// so do the two groups that serve events.
    pub(crate) storage: (String, String),
    /// `additionalPrinterColumns` of a CRD's version.
    pub(crate) columns: Vec<PrinterColumn>,
    /// `selectableFields` of a CRD's version, as field labels: without the leading dot.
    pub(super) selectable_fields: Vec<String>,
    /// Where a CRD's `scale` subresource reads and writes.
    pub(crate) scale: Option<ScalePaths>,
    /// `openAPIV3Schema` of a CRD's version: shown to clients, and the types of its lists.
    pub(crate) schema: Option<Arc<Value>>,
}

/// A subresource such as `status`.
#[derive(Clone, Debug)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    /// Group, version and kind of what it reads or takes.
    pub(crate) kind: (String, String, String),
    pub(crate) verbs: &'static [&'static str],
}

/// A column that a CRD asks for.
#[derive(Clone, Debug)]
pub(crate) struct PrinterColumn {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    pub(crate) json_path: String,
}

/// The fields behind a CRD's `scale` subresource, as JSON paths with a leading dot.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) label_selector: Option<String>,
}

/// A group as discovery shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Group {
    pub(crate) name: String,
    /// In server order: the first is the preferred one. Never empty.
    pub(super) versions: Vec<String>,
}

impl Registry {
    /// Every kind of Kubernetes 1.37, alpha and beta versions included.
    pub(crate) fn builtin() -> Self {
        let versions = builtin::BUILTIN.iter();
        let resources = versions
            .flat_map(|(group, version, kinds)| {
                kinds.iter().map(|kind| Arc::new(ResourceDef::builtin(group, version, kind)))
            })
            .collect();
        Self { resources }
    }

    /// Takes in a `CustomResourceDefinition`, in place of what a former one of that name brought.
    ///
    /// Only names that no other resource of the group has are accepted: with a clash the CRD serves
    /// nothing, and [`crd::status`] says so in its conditions.
    ///
    /// # Errors
    /// What is wrong with it, in words for a 422 answer. The registry is then unchanged.
    pub(crate) fn apply_crd(&mut self, crd: &Value) -> Result<(), String> {
        let definition = crd::Definition::parse(crd)?;
        self.remove_crd(&definition.name());
        if definition.conflict(self).is_none() {
            for resource in definition.resources() {
                self.insert(resource);
            }
        }
        Ok(())
    }

    /// Forgets the resources of the CRD of this name (`plural.group`).
    pub(crate) fn remove_crd(&mut self, name: &str) {
        self.resources.retain(|r| r.builtin || format!("{}.{}", r.plural, r.group) != name);
    }

    pub(crate) fn find(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<Arc<ResourceDef>> {
        let found =
            |r: &&Arc<ResourceDef>| r.plural == plural && r.group == group && r.version == version;
        self.resources.iter().find(found).cloned()
    }

    pub(crate) fn find_kind(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Option<Arc<ResourceDef>> {
        let found =
            |r: &&Arc<ResourceDef>| r.kind == kind && r.group == group && r.version == version;
        self.resources.iter().find(found).cloned()
    }

    /// The resource of an object, by what it says of itself.
    pub(crate) fn find_type(&self, api_version: &str, kind: &str) -> Option<Arc<ResourceDef>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.find_kind(group, version, kind)
    }

    /// Every resource, those of one group and version together.
    pub(crate) fn all(&self) -> &[Arc<ResourceDef>] {
        &self.resources
    }

    /// Every group in server order, the core group (with the empty name) first.
    pub(super) fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for resource in &self.resources {
            let known = groups.iter().position(|g| g.name == resource.group);
            let at = known.unwrap_or_else(|| {
                groups.push(Group { name: resource.group.clone(), versions: Vec::new() });
                groups.len() - 1
            });
            if !groups[at].versions.contains(&resource.version) {
                groups[at].versions.push(resource.version.clone());
            }
        }
        groups
    }

    /// Puts a resource where discovery shows it: groups of CRDs after the built-in ones and by
    /// name, the versions of a group from the most to the least mature, the resources of a version
    /// by name.
    fn insert(&mut self, resource: ResourceDef) {
        let group_at = |name: &str| self.resources.iter().position(|r| r.group == name);
        let start = group_at(&resource.group).unwrap_or_else(|| {
            let later = |r: &Arc<ResourceDef>| !builtin_group(&r.group) && r.group > resource.group;
            self.resources.iter().position(later).unwrap_or(self.resources.len())
        });
        let order = |r: &ResourceDef| {
            by_maturity(&resource.version, &r.version).then_with(|| resource.plural.cmp(&r.plural))
        };
        let stays =
            |r: &Arc<ResourceDef>| r.group == resource.group && order(r) == Ordering::Greater;
        let skip = self.resources[start..].iter().take_while(|r| stays(r)).count();
        self.resources.insert(start + skip, Arc::new(resource));
    }
}

impl ResourceDef {
    fn builtin(group: &str, version: &str, row: &Kind) -> Self {
        let plural = row.plural();
        let storage_group = if plural == "events" { "" } else { group };
        let words = |list: &str| list.split_whitespace().map(str::to_owned).collect();
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: row.kind.to_owned(),
            list_kind: format!("{}List", row.kind),
            singular: row.kind.to_lowercase(),
            short_names: words(row.short_names),
            categories: words(row.categories),
            namespaced: row.namespaced,
            verbs: row.verbs,
            subresources: row
                .subresources
                .split_whitespace()
                .map(|name| Subresource::named(name, group, version, row.kind))
                .collect(),
            builtin: true,
            stored: row.verbs != ["create"],
            storage: (storage_group.to_owned(), plural.clone()),
            columns: Vec::new(),
            selectable_fields: Vec::new(),
            scale: None,
            schema: None,
            plural,
        }
    }

    /// `group/version`, or just the version for the core group.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `pods` or `deployments.apps`, as error messages name a resource.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// The storage key of an object.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> String {
        if self.namespaced { format!("{namespace}/{name}") } else { name.to_owned() }
    }

    /// Whether its objects define custom resources.
    pub(crate) fn is_crd(&self) -> bool {
        self.group == "apiextensions.k8s.io" && self.plural == "customresourcedefinitions"
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }
}

impl Subresource {
    /// The subresource of this name of a kind; most of them speak in terms of the kind itself.
    pub(super) fn named(name: &str, group: &str, version: &str, kind: &str) -> Self {
        const MODIFY: &[&str] = &["get", "patch", "update"];
        const CONNECT: &[&str] = &["create", "get"];
        const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];
        let core = |kind: &str| (String::new(), "v1".to_owned(), kind.to_owned());
        let other = |group: &str, kind: &str| (group.to_owned(), "v1".to_owned(), kind.to_owned());
        let own = || (group.to_owned(), version.to_owned(), kind.to_owned());
        let (kind, verbs): (_, &'static [&'static str]) = match name {
            "attach" => (core("PodAttachOptions"), CONNECT),
            "binding" => (core("Binding"), &["create"]),
            "eviction" => (other("policy", "Eviction"), &["create"]),
            "exec" => (core("PodExecOptions"), CONNECT),
            "finalize" => (own(), &["update"]),
            "log" => (own(), &["get"]),
            "portforward" => (core("PodPortForwardOptions"), CONNECT),
            "proxy" => (core(&format!("{kind}ProxyOptions")), PROXY),
            "scale" => (other("autoscaling", "Scale"), MODIFY),
            "token" => (other("authentication.k8s.io", "TokenRequest"), &["create"]),
            _ => (own(), MODIFY),
        };
        Self { name: name.to_owned(), kind, verbs }
    }
}

fn builtin_group(name: &str) -> bool {
    builtin::BUILTIN.iter().any(|(group, _, _)| *group == name)
}

/// Kubernetes' order of versions: stable before beta before alpha, then the higher number, then
/// names that are not versions by the alphabet.
fn by_maturity(a: &str, b: &str) -> Ordering {
    match (maturity(a), maturity(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// (stable 2, beta 1, alpha 0; major; minor) of a version such as `v2beta1`.
fn maturity(version: &str) -> Option<(u8, u64, u64)> {
    let number = |text: &str| {
        let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
        plain.then(|| text.parse().ok()).flatten()
    };
    let rest = version.strip_prefix('v')?;
    if let Some((major, minor)) = rest.split_once("alpha") {
        Some((0, number(major)?, number(minor)?))
    } else if let Some((major, minor)) = rest.split_once("beta") {
        Some((1, number(major)?, number(minor)?))
    } else {
        Some((2, number(rest)?, 0))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn widgets(versions: &[&str]) -> Value {
        let versions: Vec<_> = versions
            .iter()
            .enumerate()
            .map(|(i, v)| json!({"name": v, "served": true, "storage": i == 0}))
            .collect();
        json!({"metadata": {"name": "widgets.example.com"}, "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"kind": "Widget", "plural": "widgets"}}})
    }

    #[test]
    fn a_builtin_resource_is_found_by_plural_and_by_kind() {
        let registry = Registry::builtin();
        let pods = registry.find("", "v1", "pods").unwrap();
        assert_eq!((pods.kind.as_str(), pods.list_kind.as_str()), ("Pod", "PodList"));
        assert_eq!(pods.subresource("eviction").unwrap().kind.0, "policy");
        assert!(registry.find_kind("apps", "v1", "Deployment").unwrap().namespaced);
        assert!(registry.find("apps", "v1", "pods").is_none());
    }

    #[test]
    fn both_groups_of_events_share_their_storage() {
        let registry = Registry::builtin();
        let of = |group| registry.find(group, "v1", "events").unwrap().storage.clone();
        assert_eq!(of(""), of("events.k8s.io"));
    }

    #[test]
    fn the_preferred_version_of_a_group_is_the_most_mature() {
        let groups = Registry::builtin().groups();
        assert_eq!(groups[0].name, "");
        let of = |name| groups.iter().find(|g| g.name == name).unwrap();
        assert_eq!(of("autoscaling").versions, ["v2", "v1"]);
        assert_eq!(of("resource.k8s.io").versions, ["v1", "v1beta2", "v1beta1", "v1alpha3"]);
        assert_eq!(of("resource.k8s.io").versions[0], "v1");
    }

    #[test]
    fn a_crd_adds_all_its_served_versions_in_order_of_maturity_and_removal_takes_them_away() {
        let mut registry = Registry::builtin();
        let before = registry.all().len();
        registry.apply_crd(&widgets(&["v1alpha1", "v1", "foo", "v2beta3", "v10"])).unwrap();
        let groups = registry.groups();
        assert_eq!(groups.last().unwrap().name, "example.com");
        assert_eq!(groups.last().unwrap().versions, ["v10", "v1", "v2beta3", "v1alpha1", "foo"]);
        registry.apply_crd(&widgets(&["v1"])).unwrap();
        assert_eq!(registry.all().len(), before + 1);
        registry.remove_crd("widgets.example.com");
        assert_eq!(registry.all().len(), before);
    }

    #[test]
    fn groups_of_crds_come_after_the_builtin_ones_and_by_name() {
        let mut registry = Registry::builtin();
        for group in ["zoo.example", "a.example", "m.example"] {
            let mut crd = widgets(&["v1"]);
            crd["metadata"]["name"] = format!("widgets.{group}").into();
            crd["spec"]["group"] = group.into();
            registry.apply_crd(&crd).unwrap();
        }
        let names: Vec<_> = registry.groups().into_iter().map(|g| g.name).collect();
        assert_eq!(names[names.len() - 3..], ["a.example", "m.example", "zoo.example"]);
    }

    #[test]
    fn a_version_that_only_looks_like_one_is_ordered_as_a_name() {
        assert_eq!(maturity("v01"), None);
        assert_eq!(maturity("v1gamma1"), None);
        assert_eq!(maturity("v1beta"), None);
        assert_eq!(maturity("v3beta12"), Some((1, 3, 12)));
    }
}
