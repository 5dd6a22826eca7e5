//! What a `CustomResourceDefinition` says, and what the server writes into its status.
//!
//! What its schema means for custom resources is in [`schema`](super::schema).

use std::{sync::Arc, time::SystemTime};

use serde_json::{Value, json};

use super::{
    builtin,
    registry::{PrinterColumn, Registry, ResourceDef, ScalePaths, Subresource},
};
use crate::testing::time;

/// The parts of a `CustomResourceDefinition` that the server acts on.
pub(super) struct Definition<'a> {
    spec: &'a Value,
    group: &'a str,
    kind: &'a str,
    list_kind: String,
    plural: &'a str,
    singular: String,
    namespaced: bool,
}

/// A name of a CRD that another resource of the group has already.
pub(super) struct NameConflict {
    reason: &'static str,
    name: String,
}

impl<'a> Definition<'a> {
    /// # Errors
    /// The first thing that is wrong, as `field: what`.
    pub(crate) fn parse(crd: &'a Value) -> Result<Self, String> {
        let spec = &crd["spec"];
        let text = |value: &'a Value, field: &str| match value.as_str() {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(format!("{field}: Required value")),
        };
        let names = &spec["names"];
        let group = text(&spec["group"], "spec.group")?;
        let plural = text(&names["plural"], "spec.names.plural")?;
        let kind = text(&names["kind"], "spec.names.kind")?;
        let namespaced = match text(&spec["scope"], "spec.scope")? {
            "Namespaced" => true,
            "Cluster" => false,
            scope => {
                return Err(format!(
                    "spec.scope: Unsupported value: \"{scope}\": \
                     supported values: \"Cluster\", \"Namespaced\""
                ));
            }
        };
        let name = text(&crd["metadata"]["name"], "metadata.name")?;
        if name != format!("{plural}.{group}") {
            return Err(format!(
                "metadata.name: Invalid value: \"{name}\": \
                 must be spec.names.plural+\".\"+spec.group"
            ));
        }
        let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
        for (i, version) in versions.iter().enumerate() {
            text(&version["name"], &format!("spec.versions[{i}].name"))?;
        }
        if versions.iter().filter(|v| v["storage"] == true).count() != 1 {
            let problem = "must have exactly one version marked as storage version";
            return Err(format!("spec.versions: Invalid value: {problem}"));
        }
        let or_default = |value: &Value, default: String| match value.as_str() {
            Some(text) if !text.is_empty() => text.to_owned(),
            _ => default,
        };
        Ok(Self {
            spec,
            group,
            kind,
            list_kind: or_default(&names["listKind"], format!("{kind}List")),
            plural,
            singular: or_default(&names["singular"], kind.to_lowercase()),
            namespaced,
        })
    }

    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// One resource per served version.
    pub(super) fn resources(&self) -> Vec<ResourceDef> {
        let versions = self.spec["versions"].as_array().into_iter().flatten();
        versions.filter(|v| v["served"] == true).map(|v| self.resource(v)).collect()
    }

    /// A name of this CRD that another resource of its group holds; of several the one that the
    /// real server reports. A CRD of the same name is not another one.
    pub(super) fn conflict(&self, registry: &Registry) -> Option<NameConflict> {
        let others: Vec<_> = registry
            .all()
            .iter()
            .filter(|r| r.group == self.group && (r.builtin || r.plural != self.plural))
            .collect();
        let resource = |name: &str| {
            others.iter().any(|r| {
                r.plural == name || r.singular == name || r.short_names.iter().any(|s| s == name)
            })
        };
        let kind = |name: &str| others.iter().any(|r| r.kind == name || r.list_kind == name);
        let clash = |reason, name: &str, taken: &dyn Fn(&str) -> bool| {
            taken(name).then(|| NameConflict { reason, name: name.to_owned() })
        };
        let short_names = strings(&self.spec["names"]["shortNames"]);
        clash("ListKindConflict", &self.list_kind, &kind)
            .or_else(|| clash("KindConflict", self.kind, &kind))
            .or_else(|| short_names.iter().find_map(|s| clash("ShortNamesConflict", s, &resource)))
            .or_else(|| clash("SingularConflict", &self.singular, &resource))
            .or_else(|| clash("PluralConflict", self.plural, &resource))
    }

    fn resource(&self, version: &Value) -> ResourceDef {
        let name = string(&version["name"]);
        let subresources = &version["subresources"];
        let scale = &subresources["scale"];
        ResourceDef {
            group: self.group.to_owned(),
            kind: self.kind.to_owned(),
            list_kind: self.list_kind.clone(),
            plural: self.plural.to_owned(),
            singular: self.singular.clone(),
            short_names: strings(&self.spec["names"]["shortNames"]),
            categories: strings(&self.spec["names"]["categories"]),
            namespaced: self.namespaced,
            verbs: builtin::CUSTOM,
            subresources: ["status", "scale"]
                .into_iter()
                .filter(|sub| subresources[sub].is_object())
                .map(|sub| Subresource::named(sub, self.group, &name, self.kind))
                .collect(),
            builtin: false,
            stored: true,
            storage: (self.group.to_owned(), self.plural.to_owned()),
            columns: version["additionalPrinterColumns"]
                .as_array()
                .into_iter()
                .flatten()
                .map(column)
                .collect(),
            selectable_fields: version["selectableFields"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|field| string(&field["jsonPath"]).trim_start_matches('.').to_owned())
                .collect(),
            scale: scale.is_object().then(|| ScalePaths {
                spec_replicas: string(&scale["specReplicasPath"]),
                status_replicas: string(&scale["statusReplicasPath"]),
                label_selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
            }),
            schema: version.pointer("/schema/openAPIV3Schema").cloned().map(Arc::new),
            version: name,
        }
    }
}

/// Fills in what the server defaults in a CRD before it stores it: the singular name, the list
/// kind, and no conversion between versions.
pub(crate) fn set_defaults(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut)
        && let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned)
    {
        names.entry("listKind").or_insert_with(|| format!("{kind}List").into());
        names.entry("singular").or_insert_with(|| kind.to_lowercase().into());
    }
}

/// The `status` that the server writes for a CRD: its names, whether they are accepted, whether it
/// is served, and which versions objects may be stored in. Conditions that have not changed keep
/// their transition time.
///
/// `registry` may contain the CRD already or not.
pub(crate) fn status(registry: &Registry, crd: &Value, now: SystemTime) -> Value {
    let Ok(definition) = Definition::parse(crd) else { return crd["status"].clone() };
    let old = &crd["status"];
    let conflict = definition.conflict(registry);
    let (names, accepted, established) = match &conflict {
        None => (
            accepted_names(&definition),
            ("True", "NoConflicts", "no conflicts found".to_owned()),
            ("True", "InitialNamesAccepted", "the initial names have been accepted".to_owned()),
        ),
        Some(NameConflict { reason, name }) => (
            old.get("acceptedNames").cloned().unwrap_or_else(|| json!({"kind": "", "plural": ""})),
            ("False", *reason, format!("\"{name}\" is already in use")),
            ("False", "NotAccepted", "not all names are accepted".to_owned()),
        ),
    };
    let condition = |kind: &str, (status, reason, message): (&str, &str, String)| {
        let former = old["conditions"].as_array().into_iter().flatten().find(|c| c["type"] == kind);
        let since =
            former.filter(|c| c["status"] == status).map(|c| c["lastTransitionTime"].clone());
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": since.unwrap_or_else(|| time::rfc3339(now).into()),
        })
    };
    let mut stored = strings(&old["storedVersions"]);
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    for version in versions.filter(|v| v["storage"] == true) {
        let name = string(&version["name"]);
        if !stored.contains(&name) {
            stored.push(name);
        }
    }
    json!({
        "acceptedNames": names,
        "conditions": [
            condition("NamesAccepted", accepted),
            condition("Established", established),
        ],
        "storedVersions": stored,
    })
}

fn accepted_names(definition: &Definition<'_>) -> Value {
    let mut names = json!({
        "kind": definition.kind, "listKind": definition.list_kind,
        "plural": definition.plural, "singular": definition.singular,
    });
    for list in ["shortNames", "categories"] {
        let values = strings(&definition.spec["names"][list]);
        if !values.is_empty() {
            names[list] = values.into();
        }
    }
    names
}

fn column(column: &Value) -> PrinterColumn {
    PrinterColumn {
        name: string(&column["name"]),
        kind: string(&column["type"]),
        format: string(&column["format"]),
        description: string(&column["description"]),
        priority: column["priority"].as_i64().unwrap_or(0),
        json_path: string(&column["jsonPath"]),
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(string).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn crontabs() -> Value {
        json!({"metadata": {"name": "crontabs.stable.example.com"}, "spec": {
            "group": "stable.example.com", "scope": "Namespaced",
            "names": {"kind": "CronTab", "plural": "crontabs", "shortNames": ["ct"],
                      "categories": ["all"]},
            "versions": [
                {"name": "v1", "served": true, "storage": true,
                 "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.labelSelector"}},
                 "selectableFields": [{"jsonPath": ".spec.color"}],
                 "additionalPrinterColumns": [
                    {"name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec"}]},
                {"name": "v1beta1", "served": true, "storage": false},
                {"name": "v1alpha1", "served": false, "storage": false}]}})
    }

    #[test]
    fn each_served_version_becomes_a_resource_with_its_own_subresources() {
        let crd = crontabs();
        let resources = Definition::parse(&crd).unwrap().resources();
        assert_eq!(resources.len(), 2);
        let v1 = &resources[0];
        assert_eq!((v1.singular.as_str(), v1.list_kind.as_str()), ("crontab", "CronTabList"));
        assert_eq!(v1.selectable_fields, ["spec.color"]);
        assert_eq!(v1.columns[0].json_path, ".spec.cronSpec");
        assert_eq!(v1.scale.as_ref().unwrap().status_replicas, ".status.replicas");
        let subs: Vec<_> = v1.subresources.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(subs, ["status", "scale"]);
        assert!(resources[1].subresources.is_empty() && resources[1].scale.is_none());
    }

    #[test]
    fn an_incomplete_crd_is_an_error_that_names_the_field() {
        let broken = |path: &str, value: Value| {
            let mut crd = crontabs();
            *crd.pointer_mut(path).unwrap() = value;
            Definition::parse(&crd).err().unwrap()
        };
        assert!(broken("/spec/group", json!("")).starts_with("spec.group: Required"));
        assert!(broken("/spec/scope", json!("World")).contains("Unsupported value: \"World\""));
        assert!(broken("/metadata/name", json!("x")).starts_with("metadata.name: Invalid"));
        assert!(broken("/spec/versions", json!([])).contains("exactly one version"));
        assert!(broken("/spec/versions/1/name", json!(3)).starts_with("spec.versions[1].name"));
    }

    #[test]
    fn a_fresh_crd_is_established_with_its_names_accepted() {
        let status = status(&Registry::builtin(), &crontabs(), SystemTime::UNIX_EPOCH);
        assert_eq!(status["acceptedNames"]["shortNames"], json!(["ct"]));
        assert_eq!(status["storedVersions"], json!(["v1"]));
        let kinds: Vec<_> = status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (c["type"].as_str().unwrap(), c["status"].as_str().unwrap()))
            .collect();
        assert_eq!(kinds, [("NamesAccepted", "True"), ("Established", "True")]);
    }

    #[test]
    fn an_unchanged_condition_keeps_its_transition_time_and_old_storage_versions_stay() {
        let registry = Registry::builtin();
        let mut crd = crontabs();
        crd["status"] = status(&registry, &crd, SystemTime::UNIX_EPOCH);
        crd["spec"]["versions"][0]["storage"] = json!(false);
        crd["spec"]["versions"][1]["storage"] = json!(true);
        let later = status(&registry, &crd, SystemTime::UNIX_EPOCH + Duration::from_secs(9));
        assert_eq!(later["conditions"], crd["status"]["conditions"]);
        assert_eq!(later["storedVersions"], json!(["v1", "v1beta1"]));
    }

    #[test]
    fn a_name_that_another_crd_of_the_group_has_is_not_accepted_and_nothing_is_served() {
        let mut registry = Registry::builtin();
        registry.apply_crd(&crontabs()).unwrap();
        let mut other = crontabs();
        other["metadata"]["name"] = json!("cts.stable.example.com");
        other["spec"]["names"] = json!({"kind": "Ct", "plural": "cts", "shortNames": ["ct"]});
        let before = registry.all().len();
        registry.apply_crd(&other).unwrap();
        assert_eq!(registry.all().len(), before);
        let status = status(&registry, &other, SystemTime::UNIX_EPOCH);
        assert_eq!(status["conditions"][0]["reason"], "ShortNamesConflict");
        assert_eq!(status["conditions"][0]["message"], "\"ct\" is already in use");
        assert_eq!(status["conditions"][1]["status"], "False");
    }

    #[test]
    fn defaults_fill_in_singular_and_list_kind_only_where_missing() {
        let mut crd = crontabs();
        crd["spec"]["names"]["singular"] = json!("tab");
        set_defaults(&mut crd);
        assert_eq!(crd["spec"]["names"]["singular"], "tab");
        assert_eq!(crd["spec"]["names"]["listKind"], "CronTabList");
        assert_eq!(crd["spec"]["conversion"]["strategy"], "None");
    }
}
