//! The columns of the built-in kinds.

use serde_json::{Value, json};

use super::{autoscaling, cell::Item, network, node, pod, rbac, storage, workload};

/// How a built-in kind is printed.
pub(super) struct Printer {
    /// Names, separated by commas; see [`Column::parse`].
    columns: &'static str,
    cells: fn(Item<'_>) -> Vec<Value>,
}

/// One column.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) priority: i64,
}

impl Printer {
    pub(super) fn of(group: &str, kind: &str) -> Option<Self> {
        let (columns, cells): (_, fn(Item<'_>) -> Vec<Value>) = match (group, kind) {
            ("", "ComponentStatus") => ("Name,Status,Message,Error", node::component_status),
            ("", "ConfigMap") => ("Name,Data,Age", storage::config_map),
            ("", "Endpoints") => ("Name,Endpoints,Age", network::endpoints),
            ("" | "events.k8s.io", "Event") => (
                "Last Seen,Type,Reason,Object,*Subobject,*Source,Message,*First Seen,*Count,*Name",
                node::event,
            ),
            ("", "Namespace") => ("Name,Status,Age", node::namespace),
            ("", "Node") => (
                "Name,Status,Roles,Age,Version,*Internal-IP,*External-IP,*OS-Image,\
                 *Kernel-Version,*Container-Runtime",
                node::node,
            ),
            ("", "PersistentVolume") => (
                "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,\
                 VolumeAttributesClass,Reason,Age,*VolumeMode",
                storage::volume,
            ),
            ("", "PersistentVolumeClaim") => (
                "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,\
                 *VolumeMode",
                storage::claim,
            ),
            ("", "Pod") => (
                "Name,Ready,Status,Restarts,Age,*IP,*Node,*Nominated Node,*Readiness Gates",
                pod::pod,
            ),
            ("", "PodTemplate") => ("Name,Containers,Images,Pod Labels", workload::pod_template),
            ("", "ReplicationController") => (
                "Name,#Desired,#Current,#Ready,Age,*Containers,*Images,*Selector",
                workload::replication_controller,
            ),
            ("", "ResourceQuota") => ("Name,Request,Limit,Age", node::resource_quota),
            ("", "Secret") => ("Name,Type,Data,Age", storage::secret),
            ("", "Service") => {
                ("Name,Type,Cluster-IP,External-IP,Port(s),Age,*Selector", network::service)
            }
            ("", "ServiceAccount")
            | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate")
            | ("scheduling.k8s.io", "Workload") => ("Name,Age", name_and_age),
            (
                "admissionregistration.k8s.io",
                "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
            ) => ("Name,#Webhooks,Age", rbac::webhooks),
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
                ("Name,#Mutations,ParamKind,Age", rbac::mutating_policy)
            }
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
                ("Name,#Validations,ParamKind,Age", rbac::validating_policy)
            }
            (
                "admissionregistration.k8s.io",
                "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding",
            ) => ("Name,PolicyName,ParamRef,Age", rbac::policy_binding),
            ("apiregistration.k8s.io", "APIService") => {
                ("Name,Service,Available,Age", network::api_service)
            }
            ("apps", "ControllerRevision") => {
                ("Name,Controller,Revision,Age", workload::controller_revision)
            }
            ("apps", "DaemonSet") => (
                "Name,#Desired,#Current,#Ready,#Up-to-date,#Available,Node Selector,Age,\
                 *Containers,*Images,*Selector",
                workload::daemon_set,
            ),
            ("apps", "Deployment") => (
                "Name,Ready,Up-to-date,Available,Age,*Containers,*Images,*Selector",
                workload::deployment,
            ),
            ("apps", "ReplicaSet") => (
                "Name,#Desired,#Current,#Ready,Age,*Containers,*Images,*Selector",
                workload::replica_set,
            ),
            ("apps", "StatefulSet") => {
                ("Name,Ready,Age,*Containers,*Images", workload::stateful_set)
            }
            ("autoscaling", "HorizontalPodAutoscaler") => (
                "Name,Reference,Targets,MinPods,MaxPods,Replicas,Age",
                autoscaling::horizontal_pod_autoscaler,
            ),
            ("batch", "CronJob") => (
                "Name,Schedule,Timezone,?Suspend,#Active,Last Schedule,Age,*Containers,*Images,\
                 *Selector",
                workload::cron_job,
            ),
            ("batch", "Job") => (
                "Name,Status,Completions,Duration,Age,*Containers,*Images,*Selector",
                workload::job,
            ),
            ("certificates.k8s.io", "CertificateSigningRequest") => (
                "Name,Age,SignerName,Requestor,RequestedDuration,Condition",
                rbac::certificate_request,
            ),
            ("certificates.k8s.io", "ClusterTrustBundle") => {
                ("Name,SignerName", rbac::trust_bundle)
            }
            ("certificates.k8s.io", "PodCertificateRequest") => (
                "Name,PodName,ServiceAccountName,NodeName,SignerName,State,\
                 UnverifiedUserAnnotations",
                rbac::pod_certificate_request,
            ),
            ("coordination.k8s.io", "Lease") => ("Name,Holder,Age", node::lease),
            ("coordination.k8s.io", "LeaseCandidate") => {
                ("Name,LeaseName,BinaryVersion,EmulationVersion,Age", node::lease_candidate)
            }
            ("discovery.k8s.io", "EndpointSlice") => {
                ("Name,AddressType,Ports,Endpoints,Age", network::endpoint_slice)
            }
            ("flowcontrol.apiserver.k8s.io", "FlowSchema") => (
                "Name,PriorityLevel,MatchingPrecedence,DistinguisherMethod,Age,MissingPL",
                rbac::flow_schema,
            ),
            ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => (
                "Name,Type,NominalConcurrencyShares,Queues,HandSize,QueueLengthLimit,Age",
                rbac::priority_level,
            ),
            ("internal.apiserver.k8s.io", "StorageVersion") => {
                ("Name,CommonEncodingVersion,StorageVersions,Age", storage::storage_version)
            }
            ("networking.k8s.io", "Ingress") => {
                ("Name,Class,Hosts,Address,Ports,Age", network::ingress)
            }
            ("networking.k8s.io", "IngressClass") => {
                ("Name,Controller,Parameters,Age", network::ingress_class)
            }
            ("networking.k8s.io", "IPAddress") => ("Name,ParentRef", network::ip_address),
            ("networking.k8s.io", "NetworkPolicy") => {
                ("Name,Pod-Selector,Age", network::network_policy)
            }
            ("networking.k8s.io", "ServiceCIDR") => ("Name,CIDRs,Age", network::service_cidr),
            ("node.k8s.io", "RuntimeClass") => ("Name,Handler,Age", node::runtime_class),
            ("policy", "PodDisruptionBudget") => (
                "Name,Min Available,Max Unavailable,#Allowed Disruptions,Age",
                workload::disruption_budget,
            ),
            ("rbac.authorization.k8s.io", "ClusterRoleBinding" | "RoleBinding") => {
                ("Name,Role,Age,*Users,*Groups,*ServiceAccounts", rbac::role_binding)
            }
            ("resource.k8s.io", "DeviceTaintRule") => {
                ("Name,Key,Value,Effect,TimeAdded,Age", node::device_taint_rule)
            }
            ("resource.k8s.io", "ResourceClaim") => ("Name,State,Age", node::resource_claim),
            ("resource.k8s.io", "ResourceSlice") => {
                ("Name,Node,Driver,Pool,Age", node::resource_slice)
            }
            ("scheduling.k8s.io", "PriorityClass") => {
                ("Name,#Value,?Global-Default,Age,PreemptionPolicy", workload::priority_class)
            }
            ("storage.k8s.io", "CSIDriver") => (
                "Name,?AttachRequired,?PodInfoOnMount,?StorageCapacity,TokenRequests,\
                 ?RequiresRepublish,Modes,Age",
                storage::csi_driver,
            ),
            ("storage.k8s.io", "CSINode") => ("Name,#Drivers,Age", storage::csi_node),
            ("storage.k8s.io", "StorageClass") => (
                "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age",
                storage::storage_class,
            ),
            ("storage.k8s.io", "VolumeAttachment") => {
                ("Name,Attacher,PV,Node,?Attached,Age", storage::volume_attachment)
            }
            ("storage.k8s.io", "VolumeAttributesClass") => {
                ("Name,DriverName,Age", storage::volume_attributes_class)
            }
            ("storagemigration.k8s.io", "StorageVersionMigration") => {
                ("Name,Resource,Status", storage::migration)
            }
            _ => return None,
        };
        Some(Self { columns, cells })
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = Column> {
        self.columns.split(',').map(Column::parse)
    }

    pub(super) fn cells(&self, item: Item<'_>) -> Vec<Value> {
        (self.cells)(item)
    }
}

impl Column {
    /// A star marks the columns of `-o wide`, `#` numbers, `?` booleans.
    fn parse(text: &'static str) -> Self {
        let (wide, rest) = text.strip_prefix('*').map_or((false, text), |rest| (true, rest));
        let (kind, name) = if let Some(name) = rest.strip_prefix('#') {
            ("integer", name)
        } else if let Some(name) = rest.strip_prefix('?') {
            ("boolean", name)
        } else {
            ("string", rest)
        };
        Self { name, kind, priority: wide.into() }
    }

    pub(super) fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": if self.name == "Name" { "name" } else { "" },
            "description": description(self.name),
            "priority": self.priority,
        })
    }
}

pub(super) fn description(column: &str) -> &'static str {
    match column {
        "Name" => "The name of the object.",
        "Age" => "The time since the object was created.",
        "Created At" => "When the object was created.",
        "Containers" => "The names of the containers in the pod template.",
        "Images" => "The images of the containers in the pod template.",
        _ => "",
    }
}

fn name_and_age(item: Item<'_>) -> Vec<Value> {
    vec![item.name(), item.age()]
}
