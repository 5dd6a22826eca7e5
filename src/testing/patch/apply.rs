//! Server-side apply, and the ownership of fields that all writers have.
//!
//! The algorithm is that of the real server. Two things differ: objects are not filled with
//! defaults, so fewer fields are owned; and all managers are compared in the version of the
//! request, since nothing is converted.

use std::time::SystemTime;

use serde_json::{Map, Value};

pub(super) use super::managers::Operation;
use super::{
    compare::{compare, fields_of, merge, prune},
    fieldset::FieldSet,
    managers::{Id, Manager, Managers},
    types::Types,
};
use crate::{Status, StatusCause, StatusDetails, testing::kinds::ResourceDef};

/// Who writes, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    /// The subresource that is written to, or empty.
    pub(crate) subresource: &'a str,
    pub(crate) now: SystemTime,
}

/// Applies a configuration: what it sets is merged into the object and owned by the manager, what
/// the manager set before and sets no more is removed unless somebody else owns it.
///
/// With no object it returns the one to create. The result carries its `managedFields`; an apply
/// that changes nothing returns the object as it was, timestamps included.
///
/// # Errors
/// 409 with one cause per field if another manager owns a field that would change, unless `force`;
/// 400 if the configuration cannot be applied at all.
pub(crate) fn apply(
    resource: &ResourceDef,
    live: Option<&Value>,
    config: &Value,
    writer: Writer<'_>,
    force: bool,
) -> Result<Value, Box<Status>> {
    let bad_request = |message: &str| Box::new(Status::failure(400, "BadRequest", message));
    if config["metadata"]["managedFields"].as_array().is_some_and(|list| !list.is_empty()) {
        return Err(bad_request("metadata.managedFields must be nil"));
    }
    let types = Types::of(resource);
    let nothing = Value::Object(Map::new());
    let base = live.map_or_else(|| nothing.clone(), without_managers);
    let config = in_scope(resource, config, writer.subresource);
    let id = writer.id(resource, Operation::Apply);

    let before = live.map(Managers::of).unwrap_or_default();
    let mut managers = before.clone();
    let mut fields = fields_of(types, &config);
    managers.set(&id, fields.clone(), writer.now);

    let mut merged = merge(types, &base, &config).map_err(|problem| bad_request(&problem))?;
    if let Some(last) = before.find(&id) {
        prune(types, &mut merged, last, &managers.union());
    }
    strip(&mut fields);
    managers.set(&id, fields, writer.now);

    let comparison = compare(types, &base, &merged);
    let mut taken = comparison.modified;
    taken.add_all(&comparison.added);
    if !force {
        let mut conflicts = conflicts(&managers, &id, &taken);
        if writer.manager == "kubectl" {
            forgive(&mut conflicts, types, &base);
        }
        if !conflicts.is_empty() {
            return Err(conflict_status(&conflicts));
        }
    }
    managers.take_from_others(&id, &taken);
    managers.take_from_others(&id, &comparison.removed);

    if writer.manager == "kubectl" && merged["metadata"]["annotations"][LAST_APPLIED].is_string() {
        merged["metadata"]["annotations"][LAST_APPLIED] = last_applied(&config).into();
    }
    if let Some(live) = live
        && merged == base
        && managers.same_owners(&before)
    {
        return Ok(live.clone());
    }
    managers.write_to(&mut merged);
    Ok(merged)
}

/// Updates `managedFields` of an object that is created, replaced or patched in another way: the
/// writer takes over what it has changed.
///
/// The `managedFields` that the new object brings count, as clients may edit them: an empty list,
/// or a list of one empty entry, forgets all; none, or nonsense, leaves those of the old object.
pub(crate) fn track(
    resource: &ResourceDef,
    old: Option<&Value>,
    new: &mut Value,
    writer: Writer<'_>,
) {
    let types = Types::of(resource);
    let nothing = Value::Object(Map::new());
    let mut managers =
        brought(new, writer).unwrap_or_else(|| old.map(Managers::of).unwrap_or_default());
    let comparison = compare(types, old.unwrap_or(&nothing), new);
    let id = writer.id(resource, Operation::Update);
    let mut taken = comparison.modified;
    taken.add_all(&comparison.added);
    strip(&mut taken);
    let mut lost = comparison.removed;
    lost.add_all(&taken);
    managers.take_from_others(&id, &lost);
    let own = managers.find(&id).cloned().unwrap_or_default();
    let mut kept = own.clone();
    kept.remove_all(&lost);
    kept.add_all(&taken);
    if kept != own || !taken.is_empty() {
        managers.set(&id, kept, writer.now);
    }
    managers.cap_updaters();
    managers.write_to(new);
}

impl Writer<'_> {
    fn id(&self, resource: &ResourceDef, operation: Operation) -> Id {
        Id {
            name: self.manager.to_owned(),
            operation,
            api_version: resource.api_version(),
            subresource: self.subresource.to_owned(),
        }
    }
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The managers that an updated object brings along, if they are to be taken. A subresource cannot
/// change them.
fn brought(new: &Value, writer: Writer<'_>) -> Option<Managers> {
    let list = new["metadata"].get("managedFields").filter(|_| writer.subresource.is_empty())?;
    match list.as_array().map(Vec::as_slice) {
        Some([]) => Some(Managers::default()),
        Some([Value::Object(entry)]) if entry.is_empty() => Some(Managers::default()),
        _ => Managers::from_json(list),
    }
}

fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// The part of a configuration that a request may set: through `status` the status alone, otherwise
/// everything but the status, if the kind has that subresource.
fn in_scope(resource: &ResourceDef, config: &Value, subresource: &str) -> Value {
    let mut config = config.clone();
    let Some(map) = config.as_object_mut() else { return config };
    if subresource == "status" {
        map.retain(|key, _| ["apiVersion", "kind", "metadata", "status"].contains(&key.as_str()));
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, _| ["name", "namespace"].contains(&key.as_str()));
        }
    } else if resource.subresource("status").is_some() {
        map.remove("status");
    }
    config
}

/// Takes out what nobody owns: the identity of the object and what the server writes.
fn strip(fields: &mut FieldSet) {
    for path in ["apiVersion", "kind", "metadata"] {
        fields.remove(&[&format!("f:{path}")]);
    }
    for name in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        fields.remove(&["f:metadata", &format!("f:{name}")]);
    }
}

struct Conflict {
    manager: String,
    fields: FieldSet,
}

fn conflicts(managers: &Managers, id: &Id, taken: &FieldSet) -> Vec<Conflict> {
    let conflict = |manager: &Manager| {
        let fields = manager.fields.intersection(taken);
        (!fields.is_empty()).then(|| Conflict { manager: manager.describe(), fields })
    };
    let mut conflicts: Vec<_> = managers.others(id).filter_map(conflict).collect();
    conflicts.sort_by(|a, b| a.manager.cmp(&b.manager));
    conflicts
}

/// `kubectl apply --server-side` may take over what `kubectl apply` set: the fields of the
/// annotation that it leaves, as long as they still have the values from there.
fn forgive(conflicts: &mut Vec<Conflict>, types: Types<'_>, live: &Value) {
    let annotation = live["metadata"]["annotations"][LAST_APPLIED].as_str();
    let last = annotation.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(last) = last.filter(|last| last["apiVersion"] == live["apiVersion"]) else { return };
    let mut allowed = fields_of(types, &last);
    let comparison = compare(types, &last, live);
    allowed.remove_all(&comparison.modified);
    allowed.remove_all(&comparison.removed);
    for conflict in conflicts.iter_mut() {
        conflict.fields.remove_all(&allowed);
    }
    conflicts.retain(|conflict| !conflict.fields.is_empty());
}

fn last_applied(config: &Value) -> String {
    let mut config = config.clone();
    if let Some(annotations) =
        config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        annotations.remove(LAST_APPLIED);
    }
    format!("{config}\n")
}

fn conflict_status(conflicts: &[Conflict]) -> Box<Status> {
    let each: Vec<_> = conflicts
        .iter()
        .flat_map(|c| c.fields.paths().into_iter().map(|field| (c.manager.as_str(), field)))
        .collect();
    let message = if let [(manager, field)] = each.as_slice() {
        format!("Apply failed with 1 conflict: conflict with {manager}: {field}")
    } else {
        let mut lines = Vec::new();
        for conflict in conflicts {
            lines.push(format!("conflicts with {}:", conflict.manager));
            lines.extend(conflict.fields.paths().iter().map(|field| format!("- {field}")));
        }
        format!("Apply failed with {} conflicts: {}", each.len(), lines.join("\n"))
    };
    let causes = each.into_iter().map(|(manager, field)| StatusCause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {manager}"),
        field,
    });
    let mut status = Box::new(Status::failure(409, "Conflict", message));
    status.details = Some(StatusDetails { causes: causes.collect(), ..StatusDetails::default() });
    status
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;
    use crate::testing::kinds::Registry;

    fn deployments() -> Arc<ResourceDef> {
        Registry::builtin().find("apps", "v1", "deployments").unwrap()
    }

    fn at(manager: &str, seconds: u64) -> Writer<'_> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        Writer { manager, subresource: "", now }
    }

    fn config(spec: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
               "metadata": {"name": "d", "namespace": "n"}, "spec": spec})
    }

    fn applied(live: Option<&Value>, spec: Value, manager: &str) -> Value {
        apply(&deployments(), live, &config(spec), at(manager, 0), false).unwrap()
    }

    fn fields_of_manager<'o>(object: &'o Value, manager: &str) -> &'o Value {
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        &entries.iter().find(|e| e["manager"] == manager).unwrap()["fieldsV1"]
    }

    #[test]
    fn a_first_apply_creates_the_object_with_one_manager() {
        let object = applied(None, json!({"replicas": 2}), "me");
        assert_eq!(object["spec"]["replicas"], 2);
        assert_eq!(
            object["metadata"]["managedFields"],
            json!([{"manager": "me", "operation": "Apply", "apiVersion": "apps/v1",
                    "time": "1970-01-01T00:00:00Z", "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {"f:replicas": {}}}}])
        );
    }

    #[test]
    fn a_field_that_is_no_longer_applied_is_removed() {
        let object = applied(None, json!({"replicas": 2, "paused": true}), "me");
        let object = applied(Some(&object), json!({"replicas": 2}), "me");
        assert_eq!(object["spec"], json!({"replicas": 2}));
    }

    #[test]
    fn a_field_that_somebody_else_applies_too_stays_when_one_lets_go() {
        let object = applied(None, json!({"replicas": 2, "paused": true}), "me");
        let object = applied(Some(&object), json!({"paused": true}), "you");
        let object = applied(Some(&object), json!({"replicas": 2}), "me");
        assert_eq!(object["spec"], json!({"replicas": 2, "paused": true}));
        assert_eq!(*fields_of_manager(&object, "you"), json!({"f:spec": {"f:paused": {}}}));
    }

    #[test]
    fn changing_a_field_of_another_manager_is_a_conflict_that_names_both() {
        let object = applied(None, json!({"replicas": 2}), "me");
        let result = apply(
            &deployments(),
            Some(&object),
            &config(json!({"replicas": 3})),
            at("you", 0),
            false,
        );
        let status = result.unwrap_err();
        assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
        assert_eq!(
            status.message,
            "Apply failed with 1 conflict: conflict with \"me\": .spec.replicas"
        );
        let causes = status.details.unwrap().causes;
        assert_eq!(causes[0].reason, "FieldManagerConflict");
        assert_eq!(causes[0].message, "conflict with \"me\"");
        assert_eq!(causes[0].field, ".spec.replicas");
    }

    #[test]
    fn several_conflicts_are_listed_by_manager_with_the_version_of_updates() {
        let mut object = config(json!({"replicas": 2, "paused": true}));
        track(&deployments(), None, &mut object, at("edit", 5));
        let wanted = config(json!({"replicas": 3, "paused": false}));
        let status = apply(&deployments(), Some(&object), &wanted, at("me", 9), false).unwrap_err();
        assert_eq!(
            status.message,
            "Apply failed with 2 conflicts: conflicts with \"edit\" using apps/v1:\n\
             - .spec.paused\n- .spec.replicas"
        );
    }

    #[test]
    fn the_same_value_makes_both_owners() {
        let object = applied(None, json!({"replicas": 2}), "me");
        let object = applied(Some(&object), json!({"replicas": 2}), "you");
        assert_eq!(fields_of_manager(&object, "me"), fields_of_manager(&object, "you"));
    }

    #[test]
    fn force_takes_the_field_from_its_owner() {
        let object = applied(None, json!({"replicas": 2, "paused": true}), "me");
        let wanted = config(json!({"replicas": 3}));
        let object = apply(&deployments(), Some(&object), &wanted, at("you", 0), true).unwrap();
        assert_eq!(object["spec"], json!({"replicas": 3, "paused": true}));
        assert_eq!(*fields_of_manager(&object, "me"), json!({"f:spec": {"f:paused": {}}}));
    }

    #[test]
    fn an_update_takes_what_it_changes_and_leaves_the_rest() {
        let object = applied(None, json!({"replicas": 2, "paused": true}), "me");
        let mut new = object.clone();
        new["spec"]["replicas"] = json!(5);
        new["metadata"]["resourceVersion"] = json!("9");
        track(&deployments(), Some(&object), &mut new, at("scaler", 3));
        assert_eq!(*fields_of_manager(&new, "me"), json!({"f:spec": {"f:paused": {}}}));
        assert_eq!(*fields_of_manager(&new, "scaler"), json!({"f:spec": {"f:replicas": {}}}));
        let mut without = new.clone();
        without["spec"].as_object_mut().unwrap().remove("replicas");
        track(&deployments(), Some(&new), &mut without, at("other", 4));
        assert_eq!(without["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn an_update_that_changes_nothing_keeps_entries_and_times() {
        let mut object = config(json!({"replicas": 2}));
        track(&deployments(), None, &mut object, at("edit", 5));
        let mut new = object.clone();
        new["metadata"].as_object_mut().unwrap().remove("managedFields");
        track(&deployments(), Some(&object), &mut new, at("edit", 8));
        assert_eq!(new, object);
    }

    #[test]
    fn a_client_can_forget_all_managers() {
        let mut object = config(json!({"replicas": 2}));
        track(&deployments(), None, &mut object, at("edit", 5));
        for empty in [json!([]), json!([{}])] {
            let mut new = object.clone();
            new["metadata"]["managedFields"] = empty;
            track(&deployments(), Some(&object), &mut new, at("edit", 8));
            assert!(new["metadata"].get("managedFields").is_none());
        }
    }

    #[test]
    fn only_the_newest_updaters_keep_their_names() {
        let mut object = config(json!({}));
        for i in 0..15 {
            let mut new = object.clone();
            new["metadata"]["annotations"][format!("a{i}")] = json!("x");
            track(&deployments(), Some(&object), &mut new, at(&format!("m{i:02}"), i));
            object = new;
        }
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        assert_eq!(entries.len(), 10);
        assert_eq!(entries[0]["manager"], "ancient-changes");
        assert_eq!(entries[9]["manager"], "m14");
    }

    #[test]
    fn the_status_is_applied_through_its_subresource_only() {
        let mut wanted = config(json!({"replicas": 1}));
        wanted["status"] = json!({"replicas": 1});
        let object = apply(&deployments(), None, &wanted, at("me", 0), false).unwrap();
        assert!(object.get("status").is_none());
        let status = Writer { subresource: "status", ..at("me", 1) };
        let object = apply(&deployments(), Some(&object), &wanted, status, false).unwrap();
        assert_eq!(object["status"]["replicas"], 1);
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        assert_eq!(entries[1]["subresource"], "status");
        assert_eq!(entries[1]["fieldsV1"], json!({"f:status": {"f:replicas": {}}}));
    }

    #[test]
    fn a_configuration_with_managed_fields_is_refused() {
        let mut wanted = config(json!({}));
        wanted["metadata"]["managedFields"] = json!([{"manager": "me"}]);
        let status = apply(&deployments(), None, &wanted, at("me", 0), false).unwrap_err();
        assert_eq!(status.code, 400);
    }

    #[test]
    fn kubectl_may_take_over_what_its_client_side_apply_set() {
        let mut object = config(json!({"replicas": 2}));
        let last = object.to_string();
        object["metadata"]["annotations"] = json!({LAST_APPLIED: last});
        track(&deployments(), None, &mut object, at("kubectl-client-side-apply", 0));
        let wanted = config(json!({"replicas": 3}));
        assert!(apply(&deployments(), Some(&object), &wanted, at("me", 1), false).is_err());
        let object =
            apply(&deployments(), Some(&object), &wanted, at("kubectl", 1), false).unwrap();
        assert_eq!(object["spec"]["replicas"], 3);
        let annotation = object["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap();
        assert!(annotation.contains("\"replicas\":3"), "{annotation}");
    }

    /// A configuration out of a few fields, lists and maps, by the bits of `seed`.
    fn some_config(seed: u64) -> Value {
        let bit = |n: u64| seed >> n & 1 == 1;
        let mut spec = json!({});
        if bit(0) {
            spec["replicas"] = json!(seed >> 20 & 3);
        }
        if bit(1) {
            spec["selector"] = json!({"matchLabels": {"a": bit(2).to_string()}});
        }
        if bit(3) {
            spec["strategy"] = json!({"rollingUpdate": {"maxSurge": 1}, "type": "RollingUpdate"});
        }
        let containers: Vec<_> = (0..3)
            .filter(|n| bit(4 + n))
            .map(|n| {
                let mut container = json!({"name": format!("c{n}"), "args": ["x", n]});
                if bit(7 + n) {
                    container["ports"] = json!([{"containerPort": 80}, {"containerPort": 81 + n}]);
                }
                if bit(10 + n) {
                    container["env"] = json!([{"name": "E", "value": bit(13).to_string()}]);
                }
                container
            })
            .collect();
        if !containers.is_empty() {
            spec["template"]["spec"]["containers"] = containers.into();
        }
        let mut config = config(spec);
        if config["spec"] == json!({}) {
            config.as_object_mut().unwrap().remove("spec");
        }
        if bit(14) {
            config["metadata"]["labels"] = json!({"l": bit(15).to_string(), "m": "1"});
        }
        if bit(16) {
            config["metadata"]["finalizers"] = json!(["f", format!("g{}", seed >> 17 & 1)]);
        }
        config
    }

    fn seeds() -> impl Iterator<Item = u64> {
        let next = |seed: &u64| {
            let mut x = *seed;
            x ^= x << 13;
            x ^= x >> 7;
            Some(x ^ x << 17)
        };
        std::iter::successors(Some(0x9E37_79B9_7F4A_7C15), next).take(300)
    }

    #[test]
    fn applying_twice_is_applying_once() {
        let deployments = deployments();
        let mut live = None;
        for seed in seeds() {
            let config = some_config(seed);
            let manager = if seed >> 30 & 1 == 1 { "me" } else { "you" };
            let once = apply(&deployments, live.as_ref(), &config, at(manager, 1), true).unwrap();
            let twice = apply(&deployments, Some(&once), &config, at(manager, 2), false).unwrap();
            assert_eq!(once, twice, "{config}");
            live = Some(once);
        }
    }

    #[test]
    fn a_sole_manager_gets_exactly_what_it_applied_last() {
        let deployments = deployments();
        let mut live: Option<Value> = None;
        for seed in seeds() {
            let config = some_config(seed);
            let mut object =
                apply(&deployments, live.as_ref(), &config, at("me", 1), false).unwrap();
            live = Some(object.clone());
            object["metadata"].as_object_mut().unwrap().remove("managedFields");
            assert_eq!(object, config);
        }
    }

    #[test]
    fn the_managed_fields_of_a_create_cover_every_leaf_but_the_identity() {
        let deployments = deployments();
        for seed in seeds() {
            let mut object = some_config(seed);
            object["metadata"]["uid"] = json!("u");
            let mut expected = fields_of(Types::of(&deployments), &object);
            strip(&mut expected);
            track(&deployments, None, &mut object, at("me", 1));
            let mut missing = expected;
            missing.remove_all(&Managers::of(&object).union());
            assert!(missing.is_empty(), "{object}: {:?}", missing.paths());
        }
    }
}
