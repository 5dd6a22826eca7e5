//! Objects: any bytes in, no panic; what goes in comes out; the type is always known.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kinformer::{
    ApiResource, DynamicObject, ListOptions, Object, PartialObjectMetadata, WatchEvent,
};
use serde_json::{Value, json};

use crate::support::{Reply, Server, pods};

/// A full pod with everything that ingest looks at.
const SAMPLE: &str = r#"{
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {
    "name": "web-0", "generateName": "web-", "namespace": "default", "uid": "6f2c-1",
    "resourceVersion": "123456", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
    "deletionTimestamp": null, "labels": {"app": "web", "empty": "", "uni": "\u00e9\ud83d\ude00"},
    "annotations": {"note": "line\nbreak \"quoted\" \\ {[", "tab": "\t"},
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "o",
      "controller": true, "blockOwnerDeletion": true}],
    "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1":
      {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}}}}}}],
    "finalizers": ["a/b"]
  },
  "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}], "x": -1.5e3},
  "status": {"phase": "Running"}
}"#;

/// Small and good enough: xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap()
    }

    fn below(&mut self, limit: usize) -> usize {
        self.next() % limit
    }
}

fn object(json: impl AsRef<[u8]>) -> kinformer::Result<Object> {
    Object::from_json(&pods(), json.as_ref())
}

/// Touches everything an object can be asked.
fn exercise(object: &Object) {
    assert!(!object.name().is_empty());
    assert!(object.key().as_str().ends_with(object.name()));
    let _ = (object.namespace(), object.uid(), object.resource_version());
    let _ = (object.creation_timestamp(), object.deletion_timestamp(), object.owner_references());
    assert_eq!(object.labels().iter().count() == 0, object.labels().is_empty());
    for (key, _) in object.labels().iter().chain(object.annotations().iter()) {
        let _ = (object.labels().contains_key(&key), object.annotations().get(&key));
    }
    let _ = (format!("{object:?} {object}"), serde_json::to_vec(object));
    let _ =
        (object.get(), object.cast::<Pod>().get(), object.cast::<PartialObjectMetadata>().get());
}

/// What ingest should make of a JSON value, by the slow way.
fn expected(mut value: Value) -> Value {
    let members = value.as_object_mut().unwrap();
    members.entry("apiVersion").or_insert_with(|| "v1".into());
    members.entry("kind").or_insert_with(|| "Pod".into());
    if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    value
}

fn check(bytes: &[u8]) -> bool {
    let Ok(object) = object(bytes) else { return false };
    exercise(&object);
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        let mut found: Value = serde_json::from_str(&object.json()).unwrap();
        if String::from_utf8_lossy(bytes).matches("managedFields").count() > 1 {
            // Of duplicate members one is cut out; no server sends any.
            found = expected(found);
        }
        assert_eq!(found, expected(value.clone()), "{}", String::from_utf8_lossy(bytes));
        assert_eq!(value["metadata"]["name"], object.name());
    }
    true
}

#[test]
fn the_sample_is_read_whole() {
    assert!(check(SAMPLE.as_bytes()));
    let object = object(SAMPLE).unwrap();
    assert_eq!(object.labels().get("uni").as_deref(), Some("\u{e9}\u{1F600}"));
    assert_eq!(object.annotations().get("note").as_deref(), Some("line\nbreak \"quoted\" \\ {["));
    assert!(object.owner_references()[0].block_owner_deletion == Some(true));
    assert!(!object.json().contains("kubelet"));
}

#[test]
fn no_change_of_bytes_makes_it_panic_or_lie() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let interesting = b"{}[]\",:\\ntf0-\x00\xff\xc3 \n";
    let mut accepted = 0;
    for round in 0..20_000 {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(5) {
                0 => bytes[at] = interesting[random.below(interesting.len())],
                1 => bytes[at] ^= 1 << random.below(8),
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, interesting[random.below(interesting.len())]),
                _ => {
                    let from = random.below(bytes.len());
                    let piece = bytes[from.min(at)..from.max(at)].to_vec();
                    let to = random.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        accepted += usize::from(check(&bytes));
        assert!(round < 100 || accepted > 0, "some changes are harmless");
    }
}

#[test]
fn every_beginning_of_an_object_is_an_error() {
    for end in 0..SAMPLE.len() {
        assert!(object(&SAMPLE[..end]).is_err(), "{}", &SAMPLE[..end]);
    }
}

#[test]
fn any_json_value_is_read_as_serde_reads_it_or_refused() {
    let mut random = Random(7);
    let mut accepted = 0;
    for _ in 0..3_000 {
        let mut value = random_value(&mut random, 4);
        if !value.is_object() {
            value = json!({"spec": value});
        }
        let metadata = json!({"name": random_text(&mut random), "namespace": random_text(&mut random),
            "labels": {random_text(&mut random): random_text(&mut random)},
            "managedFields": random_value(&mut random, 3), "x": random_value(&mut random, 2)});
        value["metadata"] = metadata;
        for text in [serde_json::to_string(&value), serde_json::to_string_pretty(&value)] {
            accepted += usize::from(check(text.unwrap().as_bytes()));
        }
    }
    assert!(accepted > 1_000, "{accepted}");
}

fn random_text(random: &mut Random) -> String {
    let pool =
        ["a", "metadata", "managedFields", "\"", "\\", "{", "]", ",", ":", "\n", "\u{e9}", "1"];
    (0..random.below(4)).map(|_| pool[random.below(pool.len())]).collect()
}

fn random_value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(i64::try_from(random.below(1_000_000)).unwrap() - 500_000),
        3 => random_text(random).into(),
        4 => (0..random.below(4)).map(|_| random_value(random, depth - 1)).collect(),
        _ => {
            let members = (0..random.below(4))
                .map(|_| (random_text(random), random_value(random, depth - 1)))
                .collect::<BTreeMap<_, _>>();
            json!(members)
        }
    }
}

#[test]
fn depth_is_no_danger() {
    let deep = format!(
        r#"{{"metadata":{{"name":"a"}},"x":{}{}}}"#,
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    let object = object(deep).unwrap();
    assert!(object.get().is_err(), "too deep to decode, and says so");
    assert_eq!(object.name(), "a");
    let odd = format!(
        r#"{{"metadata":{{"name":"\u0061"}},"x":{}{}}}"#,
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    assert_eq!(self::object(odd).unwrap().name(), "a");
}

#[test]
fn an_object_goes_back_as_it_came() {
    let sent = r#"{"kind":"Pod","apiVersion":"v1", "metadata":{"name":"web-0","resourceVersion":"7","managedFields":[{}]} ,"spec":{"b":1.0,"a":10000000000000000000000}}"#;
    let kept = r#"{"kind":"Pod","apiVersion":"v1", "metadata":{"name":"web-0","resourceVersion":"7"} ,"spec":{"b":1.0,"a":10000000000000000000000}}"#;
    let server = Server::json(200, sent);
    let pods = server.client().dynamic(&pods()).namespace("a");
    let object = pods.get("web-0").unwrap();
    assert_eq!(object.json(), kept);
    pods.replace("web-0", &object).unwrap();
    let put = &server.requests()[1];
    assert_eq!(String::from_utf8_lossy(&put.body), kept, "order, white space, numbers and all");
}

#[test]
fn the_type_is_known_whichever_way_an_object_came() {
    let server = Server::start(|request| {
        let bare = r#"{"metadata":{"name":"a"}}"#;
        match (request.path(), request.query()) {
            (path, _) if path.ends_with("/a") => Reply::json(200, bare),
            (_, "") => Reply::json(200, format!(r#"{{"items":[{bare}]}}"#)),
            _ => Reply::stream().chunk(format!(r#"{{"type":"ADDED","object":{bare}}}"#)).end(),
        }
    });
    let client = server.client();
    let widgets = ApiResource::namespaced("example.com/v1", "Widget", "widgets");
    let dynamic = client.dynamic(&widgets).namespace("n");
    let check = |object: &Object<DynamicObject>| {
        assert_eq!((object.kind(), object.api_version()), ("Widget", "example.com/v1"));
        assert_eq!(object.resource(), &widgets);
        let body = object.get().unwrap();
        assert_eq!(
            (&body["kind"], &body["apiVersion"]),
            (&json!("Widget"), &json!("example.com/v1"))
        );
        assert_eq!(object.to_string(), "Widget a");
        assert_eq!(object.cluster(), client.config().cluster());
    };
    check(&dynamic.get("a").unwrap());
    check(&dynamic.list(&ListOptions::new()).unwrap().items[0]);
    check(&dynamic.list_all(&ListOptions::new().limit(0)).next().unwrap().unwrap());
    match dynamic.watch(&ListOptions::new()).unwrap().next().unwrap().unwrap() {
        WatchEvent::Added(object) => check(&object),
        other => panic!("{other:?}"),
    }
    let typed = client.api::<ConfigMap>().namespace("n").get("a").unwrap();
    assert_eq!((typed.kind(), typed.api_version()), ("ConfigMap", "v1"));
}

#[test]
fn a_body_that_does_not_fit_names_the_object_and_the_field() {
    let server = Server::json(200, r#"{"metadata":{"name":"a","namespace":"n"},"data":{"k":3}}"#);
    let map = server.client().api::<ConfigMap>().namespace("n").get("a").unwrap();
    let error = map.get().unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot decode configmaps \"n/a\": "), "{text}");
    assert!(text.contains("expected a string"), "{text}");
    assert_eq!(error.what(), "configmaps \"n/a\"");
    assert_eq!(error.key(), Some("n/a"));
    assert!(std::error::Error::source(&error).is_none(), "nothing is said twice");
    assert_eq!(
        map.cast::<DynamicObject>().get().unwrap()["data"]["k"],
        3,
        "as another type it fits"
    );
    assert_eq!(map.name(), "a");
}

#[test]
fn a_lean_type_of_the_callers_sees_what_it_asks_for() {
    #[derive(serde::Deserialize)]
    struct Lean {
        spec: Spec,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        node_name: String,
    }
    kinformer::resource!(Lean, "v1", "Pod", "pods");
    let server = Server::json(200, r#"{"metadata":{"name":"a"},"spec":{"nodeName":"n1","x":[]}}"#);
    let pod = server.client().api::<Lean>().namespace("n").get("a").unwrap();
    assert_eq!(pod.get().unwrap().spec.node_name, "n1");
    assert_eq!(server.only().line(), "GET /api/v1/namespaces/n/pods/a");
}

#[test]
fn one_decode_is_shared_by_all_who_hold_the_object() {
    let object = object(SAMPLE).unwrap().cast::<Pod>();
    let first = object.get().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert!(std::sync::Arc::ptr_eq(&first, &object.clone().get().unwrap())));
        }
    });
}
