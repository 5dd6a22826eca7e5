//! Volumes, classes, and what holds data.

use serde_json::Value;

use super::cell::{Item, first_few, or};

pub(super) fn config_map(item: Item<'_>) -> Vec<Value> {
    let data = item.count("/data") + item.count("/binaryData");
    vec![item.name(), data.into(), item.age()]
}

pub(super) fn secret(item: Item<'_>) -> Vec<Value> {
    vec![item.name(), item.text("/type").into(), item.count("/data").into(), item.age()]
}

pub(super) fn volume(item: Item<'_>) -> Vec<Value> {
    let claim = if item.has("/spec/claimRef") {
        format!("{}/{}", item.text("/spec/claimRef/namespace"), item.text("/spec/claimRef/name"))
    } else {
        String::new()
    };
    vec![
        item.name(),
        item.text_or("/spec/capacity/storage", "0").into(),
        access_modes(item, "/spec/accessModes").into(),
        item.text("/spec/persistentVolumeReclaimPolicy").into(),
        phase(item),
        claim.into(),
        class(item).into(),
        item.text_or("/spec/volumeAttributesClassName", "<unset>").into(),
        item.text("/status/reason").into(),
        item.age(),
        item.text_or("/spec/volumeMode", "<unset>").into(),
    ]
}

pub(super) fn claim(item: Item<'_>) -> Vec<Value> {
    let volume = item.text("/spec/volumeName");
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        let modes = access_modes(item, "/status/accessModes");
        (item.text_or("/status/capacity/storage", "0"), modes)
    };
    vec![
        item.name(),
        phase(item),
        volume.into(),
        capacity.into(),
        modes.into(),
        class(item).into(),
        item.text_or("/spec/volumeAttributesClassName", "<unset>").into(),
        item.age(),
        item.text_or("/spec/volumeMode", "<unset>").into(),
    ]
}

pub(super) fn storage_class(item: Item<'_>) -> Vec<Value> {
    let annotation = |prefix: &str| {
        item.text(&format!("/metadata/annotations/{prefix}.kubernetes.io~1is-default-class"))
    };
    let default = annotation("storageclass") == "true" || annotation("storageclass.beta") == "true";
    let mark = if default { " (default)" } else { "" };
    vec![
        format!("{}{mark}", item.text("/metadata/name")).into(),
        item.text("/provisioner").into(),
        item.text_or("/reclaimPolicy", "Delete").into(),
        item.text_or("/volumeBindingMode", "Immediate").into(),
        item.flag("/allowVolumeExpansion").into(),
        item.age(),
    ]
}

pub(super) fn volume_attachment(item: Item<'_>) -> Vec<Value> {
    vec![
        item.name(),
        item.text("/spec/attacher").into(),
        item.text("/spec/source/persistentVolumeName").into(),
        item.text("/spec/nodeName").into(),
        item.flag("/status/attached").into(),
        item.age(),
    ]
}

pub(super) fn volume_attributes_class(item: Item<'_>) -> Vec<Value> {
    vec![item.name(), item.text("/driverName").into(), item.age()]
}

pub(super) fn csi_driver(item: Item<'_>) -> Vec<Value> {
    let words = |pointer: &str, field: &str| {
        let words: Vec<_> = item.list(pointer).map(|word| word.text(field)).collect();
        words.join(",")
    };
    let tokens = "/spec/tokenRequests";
    vec![
        item.name(),
        item.at("/spec/attachRequired").as_bool().unwrap_or(true).into(),
        item.flag("/spec/podInfoOnMount").into(),
        item.flag("/spec/storageCapacity").into(),
        if item.has(tokens) { words(tokens, "/audience") } else { "<unset>".to_owned() }.into(),
        item.flag("/spec/requiresRepublish").into(),
        or(words("/spec/volumeLifecycleModes", ""), "<none>").into(),
        item.age(),
    ]
}

pub(super) fn csi_node(item: Item<'_>) -> Vec<Value> {
    vec![item.name(), item.count("/spec/drivers").into(), item.age()]
}

pub(super) fn storage_version(item: Item<'_>) -> Vec<Value> {
    let versions: Vec<_> = item
        .list("/status/storageVersions")
        .map(|version| {
            format!("{}={}", version.text("/apiServerID"), version.text("/encodingVersion"))
        })
        .collect();
    vec![
        item.name(),
        item.text_or("/status/commonEncodingVersion", "<unset>").into(),
        first_few(&versions, 3, ",", "<unset>").into(),
        item.age(),
    ]
}

pub(super) fn migration(item: Item<'_>) -> Vec<Value> {
    let (resource, group) =
        (item.text("/spec/resource/resource"), item.text("/spec/resource/group"));
    let dot = if group.is_empty() { "" } else { "." };
    let states = ["Running", "Failed", "Succeeded"];
    let state = states.into_iter().rfind(|state| item.is_condition_true(state));
    vec![item.name(), format!("{resource}{dot}{group}").into(), state.unwrap_or("Unknown").into()]
}

fn phase(item: Item<'_>) -> Value {
    if item.is_being_deleted() { "Terminating".into() } else { item.text("/status/phase").into() }
}

/// The class, which an annotation held before there was a field.
fn class(item: Item<'_>) -> String {
    let annotation = item.at("/metadata/annotations/volume.beta.kubernetes.io~1storage-class");
    annotation.as_str().map_or_else(|| item.text("/spec/storageClassName"), str::to_owned)
}

fn access_modes(item: Item<'_>, pointer: &str) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| item.list(pointer).any(|m| m.object == mode);
    let modes: Vec<_> =
        known.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect();
    modes.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::cells;

    #[test]
    fn a_claim_shows_capacity_once_it_is_bound() {
        let mut object = json!({
            "spec": {"storageClassName": "fast", "volumeMode": "Block"},
            "status": {"phase": "Pending", "capacity": {"storage": "1Gi"},
                       "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}});
        assert_eq!(
            cells("", "PersistentVolumeClaim", object.clone()),
            json!(["x", "Pending", "", "", "", "fast", "<unset>", "60m", "Block"])
        );
        object["spec"]["volumeName"] = json!("v");
        let bound = cells("", "PersistentVolumeClaim", object);
        assert_eq!((&bound[3], &bound[4]), (&json!("1Gi"), &json!("RWO,RWX")));
    }

    #[test]
    fn the_default_class_is_marked() {
        let object = json!({"provisioner": "p", "metadata": {"annotations": {
            "storageclass.kubernetes.io/is-default-class": "true"}}});
        assert_eq!(
            cells("storage.k8s.io", "StorageClass", object),
            json!(["x (default)", "p", "Delete", "Immediate", false, "60m"])
        );
    }

    #[test]
    fn a_driver_shows_its_modes() {
        let object = json!({"spec": {"volumeLifecycleModes": ["Persistent", "Ephemeral"]}});
        assert_eq!(
            cells("storage.k8s.io", "CSIDriver", object),
            json!(["x", true, false, false, "<unset>", false, "Persistent,Ephemeral", "60m"])
        );
    }
}
