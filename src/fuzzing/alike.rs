//! Objects that are like each other: kept as differences, they are what they would be alone.

use std::sync::Arc;

use super::Choices;
use crate::{
    ApiResource, DynamicObject, Object,
    object::{Labels, Origin},
};

/// What the objects are made from: with names, escapes and characters of more than one byte.
const SAMPLE: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","generateName":"web-",
"namespace":"default","uid":"6014e3d2-75ea-4f7e-a99e-708fbc75117d","resourceVersion":"1337",
"creationTimestamp":"2026-11-16T22:29:57Z","labels":{"app":"web","größe":"ü\n","tier":"backend"},
"annotations":{"note":"{\"a\":[1,2]}","日本":"語語語"},"managedFields":[{"manager":"kubelet"}],
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"1"}]},
"spec":{"containers":[{"name":"server","image":"registry.example.com/team/web:1.4.2","env":[
{"name":"LOG_LEVEL","value":"ärger"},{"name":"REGION","value":"eu"}],"ports":[{"containerPort":8080}]},
{"name":"proxy","image":"registry.example.com/mesh/proxy:1.21.0"}],"nodeName":"node-077"},
"status":{"phase":"Running","podIP":"10.0.5.31","conditions":[{"type":"Ready","status":"True",
"lastTransitionTime":"2026-11-01T00:21:51Z"},{"type":"Initialized","status":"True",
"lastTransitionTime":"2026-11-01T00:21:51Z"}]}}"#;

/// Each choice changes a copy of the text; every copy that is an object is kept beside the others, and
/// says what it says when it is kept alone.
pub fn alike_objects(data: &[u8]) {
    let mut choices = Choices::new(data);
    let together = origin();
    let mut text = SAMPLE.as_bytes().to_vec();
    let mut kept = vec![Object::<DynamicObject>::ingest_text(&together, &text).expect("an object")];
    let mut alone = vec![Object::ingest_text(&origin(), &text).expect("an object")];
    while !choices.is_empty() && kept.len() < 50 {
        if choices.below(4) == 0 {
            text = of_workload(choices.below(3)).into_bytes();
        }
        change(&mut text, &mut choices);
        let object = Object::ingest_text(&together, &text);
        let same = Object::<DynamicObject>::ingest_text(&origin(), &text);
        assert_eq!(object.is_ok(), same.is_ok());
        if let (Ok(object), Ok(same)) = (object, same) {
            kept.push(object);
            alone.push(same);
        }
        // Whatever others were compared with may go.
        if choices.below(8) == 0 {
            let at = usize::from(choices.byte()) % kept.len();
            kept.swap_remove(at);
            alone.swap_remove(at);
            if kept.is_empty() {
                return;
            }
        }
    }
    for (object, alone) in kept.iter().zip(&alone) {
        assert_eq!(said(object), said(alone));
    }
}

/// The sample as one of another workload, or of none.
fn of_workload(number: u8) -> String {
    let (owner, version) = (r#""name":"web","uid":"1""#, "web:1.4.2");
    match number {
        0 => SAMPLE.to_owned(),
        1 => SAMPLE.replace(owner, r#""name":"db","uid":"2""#).replace(version, "db:17"),
        _ => SAMPLE.replace("ownerReferences", "finalizers"),
    }
}

/// All that an object says.
fn said(object: &Object) -> (String, Vec<String>) {
    let labels = |labels: Labels<'_>| format!("{labels:?}");
    let mut said: Vec<_> = [
        object.key().as_str(),
        object.name(),
        object.namespace().unwrap_or("none"),
        object.uid(),
        object.resource_version(),
        object.creation_timestamp().unwrap_or("none"),
        object.deletion_timestamp().unwrap_or("none"),
    ]
    .map(str::to_owned)
    .into();
    said.push(labels(object.labels()));
    said.push(labels(object.annotations()));
    said.push(format!("{:?}", object.owner_references()));
    (object.json().into_owned(), said)
}

/// Puts other bytes in the place of some.
fn change(text: &mut Vec<u8>, choices: &mut Choices) {
    const PIECES: [&str; 10] = [
        "",
        "x",
        "web-1",
        "\"",
        "é",
        "語",
        "\"a\":1,",
        "deletionTimestamp",
        "{\"name\":\"LOG_LEVEL\"},",
        "\\u0041",
    ];
    let number =
        |choices: &mut Choices| usize::from(choices.byte()) << 8 | usize::from(choices.byte());
    let start = number(choices) % (text.len() + 1);
    let length = usize::from(choices.below(24)).min(text.len() - start);
    let piece = match choices.below(12) {
        10 => String::from_utf8_lossy(&text[number(choices) % (text.len() + 1)..]).into_owned(),
        11 => char::from(choices.byte()).to_string(),
        piece => PIECES[usize::from(piece)].to_owned(),
    };
    text.splice(start..start + length, piece.into_bytes());
}

fn origin() -> Arc<Origin> {
    Arc::new(Origin::new(ApiResource::namespaced("v1", "Pod", "pods"), "".into()))
}
