// Made by `BLESS=1 cargo test --test kinds` from the sources of k8s-openapi. Do not edit.
// Which kinds there are, where they are served, and which versions of Kubernetes have them
// (none is named where all do). `kinds!` is in mod.rs.

kinds! {
    admissionregistration "admissionregistration.k8s.io" (api::admissionregistration) [] {
        v1 [] {
            mutating_admission_policies MutatingAdmissionPolicy "mutatingadmissionpolicies" cluster watch [since 36];
            mutating_admission_policy_bindings MutatingAdmissionPolicyBinding "mutatingadmissionpolicybindings" cluster watch [since 36];
            mutating_webhook_configurations MutatingWebhookConfiguration "mutatingwebhookconfigurations" cluster watch [];
            validating_admission_policies ValidatingAdmissionPolicy "validatingadmissionpolicies" cluster watch [];
            validating_admission_policy_bindings ValidatingAdmissionPolicyBinding "validatingadmissionpolicybindings" cluster watch [];
            validating_webhook_configurations ValidatingWebhookConfiguration "validatingwebhookconfigurations" cluster watch [];
        }
        v1alpha1 [] {
            mutating_admission_policies MutatingAdmissionPolicy "mutatingadmissionpolicies" cluster watch [];
            mutating_admission_policy_bindings MutatingAdmissionPolicyBinding "mutatingadmissionpolicybindings" cluster watch [];
        }
        v1beta1 [] {
            mutating_admission_policies MutatingAdmissionPolicy "mutatingadmissionpolicies" cluster watch [since 34];
            mutating_admission_policy_bindings MutatingAdmissionPolicyBinding "mutatingadmissionpolicybindings" cluster watch [since 34];
            validating_admission_policies ValidatingAdmissionPolicy "validatingadmissionpolicies" cluster watch [until 33];
            validating_admission_policy_bindings ValidatingAdmissionPolicyBinding "validatingadmissionpolicybindings" cluster watch [until 33];
        }
    }
    apiextensions "apiextensions.k8s.io" (apiextensions_apiserver::pkg::apis::apiextensions) [] {
        v1 [] {
            custom_resource_definitions CustomResourceDefinition "customresourcedefinitions" cluster watch [];
        }
    }
    apiregistration "apiregistration.k8s.io" (kube_aggregator::pkg::apis::apiregistration) [] {
        v1 [] {
            api_services APIService "apiservices" cluster watch [];
        }
    }
    apps "apps" (api::apps) [] {
        v1 [] {
            controller_revisions ControllerRevision "controllerrevisions" namespaced watch [];
            daemon_sets DaemonSet "daemonsets" namespaced watch [];
            deployments Deployment "deployments" namespaced watch [];
            replica_sets ReplicaSet "replicasets" namespaced watch [];
            stateful_sets StatefulSet "statefulsets" namespaced watch [];
        }
    }
    autoscaling "autoscaling" (api::autoscaling) [] {
        v1 [] {
            horizontal_pod_autoscalers HorizontalPodAutoscaler "horizontalpodautoscalers" namespaced watch [];
        }
        v2 [] {
            horizontal_pod_autoscalers HorizontalPodAutoscaler "horizontalpodautoscalers" namespaced watch [];
        }
    }
    batch "batch" (api::batch) [] {
        v1 [] {
            cron_jobs CronJob "cronjobs" namespaced watch [];
            jobs Job "jobs" namespaced watch [];
        }
    }
    certificates "certificates.k8s.io" (api::certificates) [] {
        v1 [] {
            certificate_signing_requests CertificateSigningRequest "certificatesigningrequests" cluster watch [];
            cluster_trust_bundles ClusterTrustBundle "clustertrustbundles" cluster watch [since 37];
            pod_certificate_requests PodCertificateRequest "podcertificaterequests" namespaced watch [since 37];
        }
        v1alpha1 [until 36] {
            cluster_trust_bundles ClusterTrustBundle "clustertrustbundles" cluster watch [until 36];
            pod_certificate_requests PodCertificateRequest "podcertificaterequests" namespaced watch [since 34 until 34];
        }
        v1beta1 [] {
            cluster_trust_bundles ClusterTrustBundle "clustertrustbundles" cluster watch [];
            pod_certificate_requests PodCertificateRequest "podcertificaterequests" namespaced watch [since 35];
        }
    }
    coordination "coordination.k8s.io" (api::coordination) [] {
        v1 [] {
            leases Lease "leases" namespaced watch [];
        }
        v1alpha2 [] {
            lease_candidates LeaseCandidate "leasecandidates" namespaced watch [];
        }
        v1beta1 [] {
            lease_candidates LeaseCandidate "leasecandidates" namespaced watch [];
        }
    }
    core "" (api::core) [] {
        v1 [] {
            component_statuses ComponentStatus "componentstatuses" cluster list [];
            config_maps ConfigMap "configmaps" namespaced watch [];
            endpoints Endpoints "endpoints" namespaced watch [];
            events Event "events" namespaced watch [];
            limit_ranges LimitRange "limitranges" namespaced watch [];
            namespaces Namespace "namespaces" cluster watch [];
            nodes Node "nodes" cluster watch [];
            persistent_volume_claims PersistentVolumeClaim "persistentvolumeclaims" namespaced watch [];
            persistent_volumes PersistentVolume "persistentvolumes" cluster watch [];
            pods Pod "pods" namespaced watch [];
            pod_templates PodTemplate "podtemplates" namespaced watch [];
            replication_controllers ReplicationController "replicationcontrollers" namespaced watch [];
            resource_quotas ResourceQuota "resourcequotas" namespaced watch [];
            secrets Secret "secrets" namespaced watch [];
            service_accounts ServiceAccount "serviceaccounts" namespaced watch [];
            services Service "services" namespaced watch [];
        }
    }
    discovery "discovery.k8s.io" (api::discovery) [] {
        v1 [] {
            endpoint_slices EndpointSlice "endpointslices" namespaced watch [];
        }
    }
    events "events.k8s.io" (api::events) [] {
        v1 [] {
            events Event "events" namespaced watch [];
        }
    }
    flowcontrol "flowcontrol.apiserver.k8s.io" (api::flowcontrol) [] {
        v1 [] {
            flow_schemas FlowSchema "flowschemas" cluster watch [];
            priority_level_configurations PriorityLevelConfiguration "prioritylevelconfigurations" cluster watch [];
        }
    }
    internal "internal.apiserver.k8s.io" (api::apiserverinternal) [] {
        v1alpha1 [] {
            storage_versions StorageVersion "storageversions" cluster watch [];
        }
    }
    lifecycle "lifecycle.k8s.io" (api::lifecycle) [since 37] {
        v1alpha1 [since 37] {
            eviction_requests EvictionRequest "evictionrequests" namespaced watch [since 37];
            evictions Eviction "evictions" namespaced watch [since 37];
        }
    }
    networking "networking.k8s.io" (api::networking) [] {
        v1 [] {
            ingress_classes IngressClass "ingressclasses" cluster watch [];
            ingresses Ingress "ingresses" namespaced watch [];
            ip_addresses IPAddress "ipaddresses" cluster watch [];
            network_policies NetworkPolicy "networkpolicies" namespaced watch [];
            service_cidrs ServiceCIDR "servicecidrs" cluster watch [];
        }
        v1beta1 [until 36] {
            ip_addresses IPAddress "ipaddresses" cluster watch [until 36];
            service_cidrs ServiceCIDR "servicecidrs" cluster watch [until 36];
        }
    }
    node "node.k8s.io" (api::node) [] {
        v1 [] {
            runtime_classes RuntimeClass "runtimeclasses" cluster watch [];
        }
    }
    policy "policy" (api::policy) [] {
        v1 [] {
            pod_disruption_budgets PodDisruptionBudget "poddisruptionbudgets" namespaced watch [];
        }
    }
    rbac "rbac.authorization.k8s.io" (api::rbac) [] {
        v1 [] {
            cluster_role_bindings ClusterRoleBinding "clusterrolebindings" cluster watch [];
            cluster_roles ClusterRole "clusterroles" cluster watch [];
            role_bindings RoleBinding "rolebindings" namespaced watch [];
            roles Role "roles" namespaced watch [];
        }
    }
    resource "resource.k8s.io" (api::resource) [] {
        v1 [since 34] {
            device_classes DeviceClass "deviceclasses" cluster watch [since 34];
            device_taint_rules DeviceTaintRule "devicetaintrules" cluster watch [since 37];
            resource_claims ResourceClaim "resourceclaims" namespaced watch [since 34];
            resource_claim_templates ResourceClaimTemplate "resourceclaimtemplates" namespaced watch [since 34];
            resource_slices ResourceSlice "resourceslices" cluster watch [since 34];
        }
        v1alpha3 [] {
            device_classes DeviceClass "deviceclasses" cluster watch [until 33];
            device_taint_rules DeviceTaintRule "devicetaintrules" cluster watch [];
            resource_claims ResourceClaim "resourceclaims" namespaced watch [until 33];
            resource_claim_templates ResourceClaimTemplate "resourceclaimtemplates" namespaced watch [until 33];
            resource_pool_status_requests ResourcePoolStatusRequest "resourcepoolstatusrequests" cluster watch [since 36];
            resource_slices ResourceSlice "resourceslices" cluster watch [until 33];
        }
        v1beta1 [] {
            device_classes DeviceClass "deviceclasses" cluster watch [];
            resource_claims ResourceClaim "resourceclaims" namespaced watch [];
            resource_claim_templates ResourceClaimTemplate "resourceclaimtemplates" namespaced watch [];
            resource_slices ResourceSlice "resourceslices" cluster watch [];
        }
        v1beta2 [] {
            device_classes DeviceClass "deviceclasses" cluster watch [];
            device_taint_rules DeviceTaintRule "devicetaintrules" cluster watch [since 36];
            resource_claims ResourceClaim "resourceclaims" namespaced watch [];
            resource_claim_templates ResourceClaimTemplate "resourceclaimtemplates" namespaced watch [];
            resource_slices ResourceSlice "resourceslices" cluster watch [];
        }
    }
    scheduling "scheduling.k8s.io" (api::scheduling) [] {
        v1 [] {
            priority_classes PriorityClass "priorityclasses" cluster watch [];
        }
        v1alpha1 [since 35 until 35] {
            workloads Workload "workloads" namespaced watch [since 35 until 35];
        }
        v1alpha2 [since 36 until 36] {
            pod_groups PodGroup "podgroups" namespaced watch [since 36 until 36];
            workloads Workload "workloads" namespaced watch [since 36 until 36];
        }
        v1alpha3 [since 37] {
            composite_pod_groups CompositePodGroup "compositepodgroups" namespaced watch [since 37];
            pod_groups PodGroup "podgroups" namespaced watch [since 37];
            workloads Workload "workloads" namespaced watch [since 37];
        }
        v1beta1 [since 37] {
            pod_groups PodGroup "podgroups" namespaced watch [since 37];
            workloads Workload "workloads" namespaced watch [since 37];
        }
    }
    storage "storage.k8s.io" (api::storage) [] {
        v1 [] {
            csi_drivers CSIDriver "csidrivers" cluster watch [];
            csi_nodes CSINode "csinodes" cluster watch [];
            csi_storage_capacities CSIStorageCapacity "csistoragecapacities" namespaced watch [];
            storage_classes StorageClass "storageclasses" cluster watch [];
            volume_attachments VolumeAttachment "volumeattachments" cluster watch [];
            volume_attributes_classes VolumeAttributesClass "volumeattributesclasses" cluster watch [since 34];
        }
        v1alpha1 [until 34] {
            volume_attributes_classes VolumeAttributesClass "volumeattributesclasses" cluster watch [until 34];
        }
        v1beta1 [until 36] {
            volume_attributes_classes VolumeAttributesClass "volumeattributesclasses" cluster watch [until 36];
        }
    }
    storagemigration "storagemigration.k8s.io" (api::storagemigration) [] {
        v1 [since 37] {
            storage_version_migrations StorageVersionMigration "storageversionmigrations" cluster watch [since 37];
        }
        v1alpha1 [until 34] {
            storage_version_migrations StorageVersionMigration "storageversionmigrations" cluster watch [until 34];
        }
        v1beta1 [since 35] {
            storage_version_migrations StorageVersionMigration "storageversionmigrations" cluster watch [since 35];
        }
    }
}
