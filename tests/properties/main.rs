//! Random input for what `fuzz/` runs, for a few seconds: JSON and kubeconfig files that are made to be
//! nearly right, and a server that does what it likes. The queue, the stores and the selectors are in
//! `tests/cache/`.

mod kubeconfig;

use kinformer::fuzzing;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// Names that mean something to somebody, and one that does not.
const NAMES: [&str; 12] = [
    "metadata",
    "name",
    "namespace",
    "labels",
    "managedFields",
    "items",
    "kind",
    "apiVersion",
    "resourceVersion",
    "ownerReferences",
    "uid",
    "x m",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z \"\\\\{}\\[\\],:\u{e9}]{0,6}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        let members = vec((select(&NAMES[..]), inner.clone()), 0..4);
        let object = |members: Vec<(&str, Value)>| {
            Value::Object(
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            )
        };
        prop_oneof![vec(inner, 0..4).prop_map(Value::Array), members.prop_map(object)]
    })
}

/// An object with usable metadata most of the time, and anything else in it.
fn object() -> impl Strategy<Value = Value> {
    let labels = vec(("[a-m]{1,3}", "[a-m]{0,3}"), 0..3);
    let more = vec((select(&NAMES[..]), value()), 0..3);
    let outside = vec((select(&NAMES[..]), value()), 0..3);
    ("[a-m]{0,4}", labels, more, outside).prop_map(|(name, labels, more, outside)| {
        let labels: Map<_, _> =
            labels.into_iter().map(|(key, value)| (key, json!(value))).collect();
        let mut metadata = json!({"namespace": "m", "resourceVersion": "7", "labels": labels});
        more.into_iter().for_each(|(key, value)| metadata[key] = value);
        metadata["name"] = json!(name);
        let mut object = json!({});
        outside.into_iter().for_each(|(key, value)| object[key] = value);
        object["metadata"] = metadata;
        object
    })
}

/// The same value as text, in one of the ways to write it.
fn text(value: &Value, style: u8) -> String {
    match style % 3 {
        0 => value.to_string(),
        1 => format!("{value:#}"),
        // No literal has this letter in it, so it is in a string.
        _ => value.to_string().replace('m', "\\u006d"),
    }
}

/// The input of a target that splits what comes after the first byte.
fn split_by(seed: u8, text: &str) -> Vec<u8> {
    let mut data = vec![seed];
    data.extend_from_slice(text.as_bytes());
    data
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn metadata_is_what_serde_finds(object in object(), style: u8) {
        fuzzing::object_meta(text(&object, style).as_bytes());
    }

    #[test]
    fn objects_that_are_like_others_are_what_they_are_alone(data in vec(any::<u8>(), 0..150)) {
        fuzzing::alike_objects(&data);
    }

    #[test]
    fn a_list_has_the_items_that_serde_finds_however_it_arrives(
        items in vec(object(), 0..4), more in value(), style: u8, seed: u8,
    ) {
        let list = json!({"kind": "PodList", "x": more, "metadata": {}, "items": items});
        fuzzing::list_stream(&split_by(seed, &text(&list, style)));
    }

    #[test]
    fn frames_are_what_serde_finds_however_they_arrive(
        objects in vec((select(&["ADDED", "DELETED", "BOOKMARK", "ERROR", "m"][..]), object()), 0..4),
        style: u8, seed: u8, between in "[ \n]{0,2}",
    ) {
        let frames: Vec<_> = objects
            .iter()
            .map(|(kind, object)| text(&json!({"type": kind, "object": object}), style))
            .collect();
        fuzzing::watch_frames(&split_by(seed, &frames.join(&between)));
    }

    #[test]
    fn a_body_is_the_same_in_whatever_pieces_it_comes(body in vec(any::<u8>(), 0..200), seed: u8) {
        let length = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len() / 2);
        fuzzing::http_answers(&[&[seed], length.as_bytes(), &body].concat());
    }

    #[test]
    fn kubeconfig_files_are_read_or_refused_by_field_and_no_secret_is_told(text in kubeconfig::texts()) {
        fuzzing::kubeconfig(&text);
    }

    #[test]
    fn a_reflector_ends_with_what_its_server_has(data in vec(any::<u8>(), 0..150)) {
        fuzzing::reflector(&data);
    }
}
