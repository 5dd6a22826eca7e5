//! The kinds that Kubernetes 1.37 serves, one row each, in the order of its discovery documents.

/// A row of the table.
pub(super) struct Kind {
    pub(crate) kind: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) verbs: &'static [&'static str],
    /// Separated by spaces, as are the two below.
    pub(super) short_names: &'static str,
    pub(super) categories: &'static str,
    pub(super) subresources: &'static str,
}

impl Kind {
    /// The plural name in URLs. Every built-in kind but one follows the rule of client-go's REST
    /// mapper, so the table does not repeat it.
    pub(crate) fn plural(&self) -> String {
        let singular = self.kind.to_lowercase();
        if singular == "endpoints" {
            singular
        } else if singular.ends_with('s') {
            singular + "es"
        } else if let Some(stem) = singular.strip_suffix('y') {
            format!("{stem}ies")
        } else {
            singular + "s"
        }
    }

    const fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
        self.verbs = verbs;
        self
    }
}

const fn namespaced(
    kind: &'static str,
    short_names: &'static str,
    categories: &'static str,
    subresources: &'static str,
) -> Kind {
    Kind { kind, namespaced: true, verbs: ALL, short_names, categories, subresources }
}

const fn cluster(
    kind: &'static str,
    short_names: &'static str,
    categories: &'static str,
    subresources: &'static str,
) -> Kind {
    Kind { kind, namespaced: false, verbs: ALL, short_names, categories, subresources }
}

const ALL: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const NO_COLLECTION: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const READ: &[&str] = &["get", "list"];
/// Of every custom resource, in the order in which the server lists them.
pub(super) const CUSTOM: &[&str] =
    &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// Of kinds that are asked but not stored: reviews and bindings.
const CREATE: &[&str] = &["create"];

/// Group, version, and its kinds: kind, short names, categories, subresources.
#[rustfmt::skip]
pub(super) static BUILTIN: &[(&str, &str, &[Kind])] = &[
    ("", "v1", &[
        namespaced("Binding", "", "", "").verbs(CREATE),
        cluster("ComponentStatus", "cs", "", "").verbs(READ),
        namespaced("ConfigMap", "cm", "", ""),
        namespaced("Endpoints", "ep", "", ""),
        namespaced("Event", "ev", "", ""),
        namespaced("LimitRange", "limits", "", ""),
        cluster("Namespace", "ns", "", "finalize status").verbs(NO_COLLECTION),
        cluster("Node", "no", "", "proxy status"),
        namespaced("PersistentVolumeClaim", "pvc", "", "status"),
        cluster("PersistentVolume", "pv", "", "status"),
        namespaced("Pod", "po", "all", "attach binding ephemeralcontainers eviction exec log \
            portforward proxy resize status"),
        namespaced("PodTemplate", "", "", ""),
        namespaced("ReplicationController", "rc", "all", "scale status"),
        namespaced("ResourceQuota", "quota", "", "status"),
        namespaced("Secret", "", "", ""),
        namespaced("ServiceAccount", "sa", "", "token"),
        namespaced("Service", "svc", "all", "proxy status"),
    ]),
    ("apiregistration.k8s.io", "v1", &[
        cluster("APIService", "", "api-extensions", "status"),
    ]),
    ("apps", "v1", &[
        namespaced("ControllerRevision", "", "", ""),
        namespaced("DaemonSet", "ds", "all", "status"),
        namespaced("Deployment", "deploy", "all", "scale status"),
        namespaced("ReplicaSet", "rs", "all", "scale status"),
        namespaced("StatefulSet", "sts", "all", "scale status"),
    ]),
    ("events.k8s.io", "v1", &[
        namespaced("Event", "ev", "", ""),
    ]),
    ("authentication.k8s.io", "v1", &[
        cluster("SelfSubjectReview", "", "", "").verbs(CREATE),
        cluster("TokenReview", "", "", "").verbs(CREATE),
    ]),
    ("authorization.k8s.io", "v1", &[
        namespaced("LocalSubjectAccessReview", "", "", "").verbs(CREATE),
        cluster("SelfSubjectAccessReview", "", "", "").verbs(CREATE),
        cluster("SelfSubjectRulesReview", "", "", "").verbs(CREATE),
        cluster("SubjectAccessReview", "", "", "").verbs(CREATE),
    ]),
    ("autoscaling", "v2", &[
        namespaced("HorizontalPodAutoscaler", "hpa", "all", "status"),
    ]),
    ("autoscaling", "v1", &[
        namespaced("HorizontalPodAutoscaler", "hpa", "all", "status"),
    ]),
    ("batch", "v1", &[
        namespaced("CronJob", "cj", "all", "status"),
        namespaced("Job", "", "all", "status"),
    ]),
    ("certificates.k8s.io", "v1", &[
        cluster("CertificateSigningRequest", "csr", "", "approval status"),
        cluster("ClusterTrustBundle", "", "", ""),
        namespaced("PodCertificateRequest", "", "", "status"),
    ]),
    ("certificates.k8s.io", "v1beta1", &[
        cluster("ClusterTrustBundle", "", "", ""),
        namespaced("PodCertificateRequest", "", "", "status"),
    ]),
    ("networking.k8s.io", "v1", &[
        cluster("IngressClass", "", "", ""),
        namespaced("Ingress", "ing", "", "status"),
        cluster("IPAddress", "ip", "", ""),
        namespaced("NetworkPolicy", "netpol", "", ""),
        cluster("ServiceCIDR", "", "", "status"),
    ]),
    ("policy", "v1", &[
        namespaced("PodDisruptionBudget", "pdb", "", "status"),
    ]),
    ("rbac.authorization.k8s.io", "v1", &[
        cluster("ClusterRoleBinding", "", "", ""),
        cluster("ClusterRole", "", "", ""),
        namespaced("RoleBinding", "", "", ""),
        namespaced("Role", "", "", ""),
    ]),
    ("storage.k8s.io", "v1", &[
        cluster("CSIDriver", "", "", ""),
        cluster("CSINode", "", "", "status"),
        namespaced("CSIStorageCapacity", "", "", ""),
        cluster("StorageClass", "sc", "", ""),
        cluster("VolumeAttachment", "", "", "status"),
        cluster("VolumeAttributesClass", "vac", "", ""),
    ]),
    ("admissionregistration.k8s.io", "v1", &[
        cluster("MutatingAdmissionPolicy", "", "api-extensions", ""),
        cluster("MutatingAdmissionPolicyBinding", "", "api-extensions", ""),
        cluster("MutatingWebhookConfiguration", "", "api-extensions", ""),
        cluster("ValidatingAdmissionPolicy", "", "api-extensions", "status"),
        cluster("ValidatingAdmissionPolicyBinding", "", "api-extensions", ""),
        cluster("ValidatingWebhookConfiguration", "", "api-extensions", ""),
    ]),
    ("admissionregistration.k8s.io", "v1beta1", &[
        cluster("MutatingAdmissionPolicy", "", "api-extensions", ""),
        cluster("MutatingAdmissionPolicyBinding", "", "api-extensions", ""),
    ]),
    ("admissionregistration.k8s.io", "v1alpha1", &[
        cluster("MutatingAdmissionPolicy", "", "api-extensions", ""),
        cluster("MutatingAdmissionPolicyBinding", "", "api-extensions", ""),
    ]),
    ("apiextensions.k8s.io", "v1", &[
        cluster("CustomResourceDefinition", "crd crds", "api-extensions", "status"),
    ]),
    ("scheduling.k8s.io", "v1", &[
        cluster("PriorityClass", "pc", "", ""),
    ]),
    ("scheduling.k8s.io", "v1beta1", &[
        namespaced("PodGroup", "", "", "status"),
        namespaced("Workload", "", "", ""),
    ]),
    ("scheduling.k8s.io", "v1alpha3", &[
        namespaced("CompositePodGroup", "", "", "status"),
        namespaced("PodGroup", "", "", "status"),
        namespaced("Workload", "", "", ""),
    ]),
    ("coordination.k8s.io", "v1", &[
        namespaced("Lease", "", "", ""),
    ]),
    ("coordination.k8s.io", "v1beta1", &[
        namespaced("LeaseCandidate", "", "", ""),
    ]),
    ("coordination.k8s.io", "v1alpha2", &[
        namespaced("LeaseCandidate", "", "", ""),
    ]),
    ("node.k8s.io", "v1", &[
        cluster("RuntimeClass", "", "", ""),
    ]),
    ("discovery.k8s.io", "v1", &[
        namespaced("EndpointSlice", "", "", ""),
    ]),
    ("resource.k8s.io", "v1", &[
        cluster("DeviceClass", "", "", ""),
        cluster("DeviceTaintRule", "", "", "status"),
        namespaced("ResourceClaim", "", "", "status"),
        namespaced("ResourceClaimTemplate", "", "", ""),
        cluster("ResourceSlice", "", "", ""),
    ]),
    ("resource.k8s.io", "v1beta2", &[
        cluster("DeviceClass", "", "", ""),
        cluster("DeviceTaintRule", "", "", "status"),
        namespaced("ResourceClaim", "", "", "status"),
        namespaced("ResourceClaimTemplate", "", "", ""),
        cluster("ResourceSlice", "", "", ""),
    ]),
    ("resource.k8s.io", "v1beta1", &[
        cluster("DeviceClass", "", "", ""),
        namespaced("ResourceClaim", "", "", "status"),
        namespaced("ResourceClaimTemplate", "", "", ""),
        cluster("ResourceSlice", "", "", ""),
    ]),
    ("resource.k8s.io", "v1alpha3", &[
        cluster("DeviceTaintRule", "", "", "status"),
        cluster("ResourcePoolStatusRequest", "", "", "status"),
    ]),
    ("flowcontrol.apiserver.k8s.io", "v1", &[
        cluster("FlowSchema", "", "", "status"),
        cluster("PriorityLevelConfiguration", "", "", "status"),
    ]),
    ("internal.apiserver.k8s.io", "v1alpha1", &[
        cluster("StorageVersion", "", "", "status"),
    ]),
    ("storagemigration.k8s.io", "v1", &[
        cluster("StorageVersionMigration", "", "", "status"),
    ]),
    ("storagemigration.k8s.io", "v1beta1", &[
        cluster("StorageVersionMigration", "", "", "status"),
    ]),
    ("lifecycle.k8s.io", "v1alpha1", &[
        namespaced("EvictionRequest", "", "", "status"),
        namespaced("Eviction", "", "", "status"),
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static Kind)> {
        let versions = BUILTIN.iter();
        versions.flat_map(|(group, version, kinds)| kinds.iter().map(|k| (*group, *version, k)))
    }

    #[test]
    fn no_kind_and_no_plural_occurs_twice_in_a_version() {
        let mut seen = HashSet::new();
        for (group, version, kind) in rows() {
            assert!(seen.insert((group, version, kind.kind.to_owned())), "{}", kind.kind);
            assert!(seen.insert((group, version, kind.plural())), "{}", kind.plural());
        }
    }

    #[test]
    fn there_are_93_listable_kinds_and_7_that_are_only_created() {
        let (listable, created): (Vec<_>, Vec<_>) =
            rows().partition(|(_, _, kind)| kind.verbs.contains(&"list"));
        assert_eq!(listable.len(), 93);
        assert_eq!(listable.iter().filter(|(_, _, kind)| kind.namespaced).count(), 47);
        let mut created: Vec<_> = created.iter().map(|(_, _, kind)| kind.kind).collect();
        created.sort_unstable();
        assert_eq!(
            created,
            [
                "Binding",
                "LocalSubjectAccessReview",
                "SelfSubjectAccessReview",
                "SelfSubjectReview",
                "SelfSubjectRulesReview",
                "SubjectAccessReview",
                "TokenReview",
            ]
        );
    }

    #[test]
    fn every_listable_kind_but_component_statuses_can_be_watched() {
        let still: Vec<_> = rows()
            .filter(|(_, _, kind)| kind.verbs.contains(&"list") && !kind.verbs.contains(&"watch"))
            .map(|(_, _, kind)| kind.kind)
            .collect();
        assert_eq!(still, ["ComponentStatus"]);
    }
}
