//! Which lists merge by key, which are sets, and which parts of an object are one piece.
//!
//! The real server knows this from the schemas of its kinds. Here a few suffixes of paths say the
//! same about every built-in kind of Kubernetes 1.37; whatever is not in the tables has the
//! default: lists are replaced as a whole, objects merge field by field. Custom resources follow
//! the `x-kubernetes-*` marks of their CRD's schema.
//!
//! A path is the field names from the root, without list positions and map keys' escapes.

use serde_json::Value;

use crate::testing::kinds::ResourceDef;

/// The knowledge about one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types<'a> {
    kind: &'a str,
    version: &'a str,
    builtin: bool,
    schema: Option<&'a Value>,
}

/// How server-side apply sees a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ListType {
    /// One value.
    Atomic,
    /// A set of plain values.
    Set,
    /// Objects that are told apart by these fields.
    Map(Vec<String>),
}

/// How a strategic merge patch merges a list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Merge {
    Replace,
    ByKey(&'static str),
    Union,
}

impl<'a> Types<'a> {
    pub(crate) fn of(resource: &'a ResourceDef) -> Self {
        Self {
            kind: &resource.kind,
            version: &resource.version,
            builtin: resource.builtin,
            schema: resource.schema.as_deref(),
        }
    }

    pub(crate) fn list(&self, path: &[&str]) -> ListType {
        match path {
            ["metadata", "finalizers"] => return ListType::Set,
            ["metadata", "ownerReferences"] => return ListType::Map(vec!["uid".to_owned()]),
            _ if !self.builtin => return self.schema_at(path).map_or(ListType::Atomic, list_type),
            _ => {}
        }
        if (self.kind == "Job" && path == ["status", "conditions"])
            || (path.ends_with(&["spec", "variables"]) && self.kind != VALIDATING_POLICY)
        {
            return ListType::Atomic;
        }
        let Some((_, keys)) = LISTS.iter().find(|(suffix, _)| ends_with(path, suffix)) else {
            return ListType::Atomic;
        };
        if keys.is_empty() {
            ListType::Set
        } else {
            ListType::Map(keys.iter().map(|key| (*key).to_owned()).collect())
        }
    }

    /// Whether an object, or each object of a list, at this path is one value.
    pub(super) fn is_atomic(&self, path: &[&str]) -> bool {
        if path == ["metadata", "ownerReferences"] {
            return true;
        }
        if !self.builtin {
            let at = self.schema_at(path);
            return at.is_some_and(|schema| schema["x-kubernetes-map-type"] == "atomic");
        }
        if path == ["spec", "scaleTargetRef"] {
            return self.version == "v1";
        }
        ATOMIC.iter().any(|suffix| ends_with(path, suffix))
    }

    pub(super) fn merge(&self, path: &[&str]) -> Merge {
        if path == ["metadata", "finalizers"] || path.last() == Some(&"podCIDRs") {
            return Merge::Union;
        }
        let plain_conditions = [
            "CertificateSigningRequest",
            "CustomResourceDefinition",
            "StorageVersion",
            VALIDATING_POLICY,
        ];
        if (path == ["status", "conditions"] && plain_conditions.contains(&self.kind))
            || path.ends_with(&["devices", "conditions"])
            || (path.ends_with(&["spec", "variables"]) && self.kind != VALIDATING_POLICY)
        {
            return Merge::Replace;
        }
        let found = MERGE_KEYS.iter().find(|(suffix, _)| ends_with(path, suffix));
        found.map_or(Merge::Replace, |(_, key)| Merge::ByKey(key))
    }

    /// Whether every object of the kind has this field, be it empty, when the server takes it in: a
    /// manager that fills it in owns what it fills in, but not the field itself.
    pub(super) fn is_always_there(&self, path: &[&str]) -> bool {
        match path {
            [] | ["metadata"] => true,
            ["spec", "template", ..] if self.kind == "ReplicationController" => false,
            _ => self.builtin && ALWAYS_THERE.iter().any(|known| equals(path, known)),
        }
    }

    /// The part of a CRD's schema for a path; through a list it is that of the items.
    fn schema_at(&self, path: &[&str]) -> Option<&'a Value> {
        path.iter().try_fold(self.schema?, |schema, step| {
            let schema = schema.get("items").unwrap_or(schema);
            let property = schema.get("properties").and_then(|p| p.get(step));
            property.or_else(|| schema.get("additionalProperties"))
        })
    }
}

fn list_type(schema: &Value) -> ListType {
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => ListType::Set,
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
            ListType::Map(keys.filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => ListType::Atomic,
    }
}

/// The value that a missing key field of a list item stands for.
pub(super) fn default_key(field: &str) -> Option<Value> {
    (field == "protocol").then(|| "TCP".into())
}

fn ends_with(path: &[&str], suffix: &str) -> bool {
    // Nearly all entries differ in the last step, and this is asked for every field.
    if path.last().is_none_or(|last| !suffix.ends_with(last)) {
        return false;
    }
    let mut steps = path.iter().rev();
    suffix.rsplit('/').all(|step| steps.next() == Some(&step))
}

fn equals(path: &[&str], known: &str) -> bool {
    ends_with(path, known) && known.bytes().filter(|byte| *byte == b'/').count() + 1 == path.len()
}

const VALIDATING_POLICY: &str = "ValidatingAdmissionPolicy";

/// Lists that server-side apply merges: by these fields, or as a set if there are none.
#[rustfmt::skip]
const LISTS: &[(&str, &[&str])] = &[
    ("addresses", &["type"]),
    ("bindMountOptions", &[]),
    ("claims", &["name"]),
    ("compositePodGroupTemplates", &["name"]),
    ("conditions", &["type"]),
    ("containers/ports", &["containerPort", "protocol"]),
    ("decodableVersions", &[]),
    ("disableResizePreemption", &[]),
    ("drivers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("ephemeralContainers/ports", &["containerPort", "protocol"]),
    ("evictionResponders", &["name"]),
    ("failed", &[]),
    ("healthStatus/healthConditions", &["status", "reason"]),
    ("hostAliases", &["ip"]),
    ("initContainers", &["name"]),
    ("initContainers/ports", &["containerPort", "protocol"]),
    ("mapping", &["name"]),
    ("matchConditions", &["name"]),
    ("metadata/finalizers", &[]),
    ("nodeAllocatableResourceClaimStatuses", &["resourceClaimName"]),
    ("nodeAllocatableResourceClaimStatuses/containers", &[]),
    ("overhead", &["name"]),
    ("ownerReferences", &["uid"]),
    ("podCIDRs", &[]),
    ("podGroupTemplates", &["name"]),
    ("podIPs", &["ip"]),
    ("requesters", &["name"]),
    ("reservedFor", &["uid"]),
    ("resourceClaimStatuses", &["name"]),
    ("resourceClaims", &["name"]),
    ("responders", &["name"]),
    ("schedulingGates", &["name"]),
    ("secrets", &["name"]),
    ("servedVersions", &[]),
    ("skipNodeOperations", &[]),
    ("spec/containers", &["name"]),
    ("spec/imagePullSecrets", &["name"]),
    ("spec/ports", &["port", "protocol"]),
    ("spec/variables", &["name"]),
    ("status/devices", &["driver", "device", "pool", "shareID"]),
    ("storageHealth", &["name"]),
    ("storageVersions", &["apiServerID"]),
    ("succeeded", &[]),
    ("targetResponders", &["name"]),
    ("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("validationActions", &[]),
    ("volumeDevices", &["devicePath"]),
    ("volumeHealth", &["name"]),
    ("volumeHealth/healthConditions", &["status", "reason"]),
    ("volumeLifecycleModes", &[]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
    ("webhooks", &["name"]),
];

/// Objects that server-side apply takes as one value; `scaleTargetRef` depends on the version.
#[rustfmt::skip]
const ATOMIC: &[&str] = &[
    "configMapKeyRef", "controllerExpandSecretRef", "controllerPublishSecretRef", "dataSource",
    "defaultBackend/resource", "evictionResponders", "fieldRef", "fileKeyRef", "imagePullSecrets",
    "involvedObject", "labelSelector", "matchConstraints", "matchResources", "namespaceSelector",
    "nodeExpandSecretRef", "nodePublishSecretRef", "nodeSelector", "nodeStageSecretRef",
    "nodeTopology", "objectSelector", "ownerReferences", "paramKind", "paramRef", "podSelector",
    "port", "regarding", "related", "requesters", "required",
    "requiredDuringSchedulingIgnoredDuringExecution", "resourceFieldRef", "roleRef",
    "scopeSelector", "secretKeyRef", "secretRef", "secrets", "selector", "targetResponders",
    "variables",
];

/// Lists that a strategic merge patch merges by a field.
#[rustfmt::skip]
const MERGE_KEYS: &[(&str, &str)] = &[
    ("allocatedResourcesStatus", "name"),
    ("conditions", "type"),
    ("containers/ports", "containerPort"),
    ("drivers", "name"),
    ("env", "name"),
    ("ephemeralContainers", "name"),
    ("ephemeralContainers/ports", "containerPort"),
    ("evictionResponders", "name"),
    ("healthStatus/healthConditions", "status"),
    ("hostAliases", "ip"),
    ("hostIPs", "ip"),
    ("initContainers", "name"),
    ("initContainers/ports", "containerPort"),
    ("mapping", "name"),
    ("matchConditions", "name"),
    ("nodeAllocatableResourceClaimStatuses", "resourceClaimName"),
    ("overhead", "name"),
    ("ownerReferences", "uid"),
    ("podIPs", "ip"),
    ("requesters", "name"),
    ("reservedFor", "uid"),
    ("resourceClaimStatuses", "name"),
    ("resourceClaims", "name"),
    ("responders", "name"),
    ("schedulingGates", "name"),
    ("secrets", "name"),
    ("spec/containers", "name"),
    ("spec/imagePullSecrets", "name"),
    ("spec/ports", "port"),
    ("spec/variables", "name"),
    ("status/addresses", "type"),
    ("storageHealth", "name"),
    ("targetResponders", "name"),
    ("topologySpreadConstraints", "topologyKey"),
    ("volumeDevices", "devicePath"),
    ("volumeHealth", "name"),
    ("volumeHealth/healthConditions", "status"),
    ("volumeMounts", "mountPath"),
    ("volumes", "name"),
    ("webhooks", "name"),
    ("x-kubernetes-validations", "rule"),
];

/// Fields of structures that Go always writes, whole paths.
#[rustfmt::skip]
const ALWAYS_THERE: &[&str] = &[
    "deprecatedSource", "source", "spec", "status", "template",
    "spec/containers", "spec/devices", "spec/devices/requests",
    "spec/drivers", "spec/jobTemplate", "spec/jobTemplate/metadata", "spec/jobTemplate/spec",
    "spec/jobTemplate/spec/template", "spec/jobTemplate/spec/template/metadata",
    "spec/jobTemplate/spec/template/spec", "spec/jobTemplate/spec/template/spec/containers",
    "spec/metadata", "spec/names", "spec/podSelector", "spec/pool",
    "spec/priorityLevelConfiguration", "spec/resource",
    "spec/resources", "spec/scaleTargetRef", "spec/schedulingPolicy", "spec/source", "spec/spec",
    "spec/spec/devices", "spec/spec/devices/requests", "spec/strategy", "spec/taint",
    "spec/template", "spec/template/metadata", "spec/template/spec",
    "spec/template/spec/containers", "spec/updateStrategy", "status/acceptedNames",
    "status/daemonEndpoints", "status/daemonEndpoints/kubeletEndpoint", "status/loadBalancer",
    "status/nodeInfo", "template/metadata", "template/spec", "template/spec/containers",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::kinds::Registry;

    fn check(group: &str, kind: &str, run: impl Fn(Types<'_>)) {
        let registry = Registry::builtin();
        run(Types::of(&registry.find_kind(group, "v1", kind).unwrap()));
    }

    #[test]
    fn ports_merge_by_what_identifies_them_in_their_kind() {
        check("apps", "Deployment", |types| {
            let ports = ["spec", "template", "spec", "containers", "ports"];
            assert_eq!(types.merge(&ports), Merge::ByKey("containerPort"));
            let keys = vec!["containerPort".to_owned(), "protocol".to_owned()];
            assert_eq!(types.list(&ports), ListType::Map(keys));
        });
        check("", "Service", |types| {
            assert_eq!(types.merge(&["spec", "ports"]), Merge::ByKey("port"));
        });
        check("", "Endpoints", |types| {
            assert_eq!(types.merge(&["subsets", "ports"]), Merge::Replace);
            assert_eq!(types.list(&["subsets", "ports"]), ListType::Atomic);
        });
    }

    #[test]
    fn tolerations_and_unknown_lists_are_one_value() {
        check("", "Pod", |types| {
            for list in [["spec", "tolerations"], ["spec", "whatever"]] {
                assert_eq!(types.merge(&list), Merge::Replace);
                assert_eq!(types.list(&list), ListType::Atomic);
            }
            assert!(types.is_atomic(&["spec", "nodeSelector"]));
            assert!(!types.is_atomic(&["spec", "securityContext"]));
        });
    }

    #[test]
    fn a_custom_resource_follows_the_schema_of_its_crd() {
        let mut registry = Registry::builtin();
        registry
            .apply_crd(&json!({"metadata": {"name": "foos.x.io"}, "spec": {
                "group": "x.io", "scope": "Cluster", "names": {"kind": "Foo", "plural": "foos"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                    "openAPIV3Schema": {"properties": {"spec": {"properties": {
                        "rules": {"type": "array", "x-kubernetes-list-type": "map",
                                  "x-kubernetes-list-map-keys": ["id"],
                                  "items": {"properties": {
                                    "tags": {"type": "array", "x-kubernetes-list-type": "set"}}}},
                        "ref": {"type": "object", "x-kubernetes-map-type": "atomic"},
                        "containers": {"type": "array"}}}}}}}]}}))
            .unwrap();
        let foo = registry.find("x.io", "v1", "foos").unwrap();
        let types = Types::of(&foo);
        assert_eq!(types.list(&["spec", "rules"]), ListType::Map(vec!["id".to_owned()]));
        assert_eq!(types.list(&["spec", "rules", "tags"]), ListType::Set);
        assert_eq!(types.list(&["spec", "containers"]), ListType::Atomic);
        assert_eq!(types.list(&["metadata", "finalizers"]), ListType::Set);
        assert!(types.is_atomic(&["spec", "ref"]));
        assert!(!types.is_always_there(&["spec"]));
    }
}
