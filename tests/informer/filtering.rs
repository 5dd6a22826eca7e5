//! Handlers that see a part as the whole.

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{Event, EventHandler, FilteringHandler, Object, cache::Deleted};
use serde_json::json;

use crate::support::{LIMIT, Source, listener, started, value};

fn is_in(object: &Object<ConfigMap>) -> bool {
    value(object) == "in"
}

#[test]
fn an_object_that_begins_or_ceases_to_pass_is_added_or_deleted() {
    let source = Source::new();
    source.put("a", "in");
    source.put("b", "out");
    let informer = started(source.informer());
    let (handler, events) = listener();
    informer.add_event_handler(FilteringHandler::new(is_in, handler)).unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!(events.next(), "+a in true");
    source.put("b", "in");
    assert_eq!(events.next(), "+b in false");
    source.put("b", "in");
    assert_eq!(events.next(), "~b in>in");
    source.put("b", "out");
    assert_eq!(events.next(), "-b");
    source.put("b", "still out");
    source.delete("b");
    source.delete("a");
    assert_eq!(events.next(), "-a");
    events.assert_none();
}

#[test]
fn each_pair_of_states_has_its_event() {
    let source = Source::new();
    let object = |value: &str| {
        source.object(
            &json!({"metadata": {"name": "a", "namespace": "default"}, "data": {"value": value}}),
        )
    };
    let (inn, out) = (object("in"), object("out"));
    let missed = |last: Option<&Object<ConfigMap>>| {
        Event::Deleted(Deleted::FinalStateUnknown { key: inn.key().clone(), last: last.cloned() })
    };
    let update = |old: &Object<ConfigMap>, new: &Object<ConfigMap>| Event::Updated {
        old: old.clone(),
        new: new.clone(),
    };
    let add = |object: &Object<ConfigMap>| Event::Added { object: object.clone(), initial: true };
    let cases = [
        (add(&inn), Some("+a in true")),
        (add(&out), None),
        (update(&inn, &inn), Some("~a in>in")),
        (update(&out, &inn), Some("+a in false")),
        (update(&inn, &out), Some("-a")),
        (update(&out, &out), None),
        (Event::Deleted(Deleted::Known(inn.clone())), Some("-a")),
        (Event::Deleted(Deleted::Known(out.clone())), None),
        (missed(Some(&inn)), Some("?a in")),
        (missed(Some(&out)), None),
        (missed(None), Some("?a ")),
    ];
    let (handler, events) = listener();
    let mut filtering = FilteringHandler::new(is_in, handler);
    for (event, expected) in cases {
        let what = event.to_string();
        filtering.on_event(event).unwrap();
        assert_eq!(events.drain(), expected.map(str::to_owned).as_slice(), "{what}");
    }
}

#[test]
fn the_handler_within_gives_the_name() {
    let (handler, _events) = listener();
    let inner = EventHandler::<ConfigMap>::name(&handler);
    let (handler, _events) = listener();
    assert_eq!(EventHandler::<ConfigMap>::name(&FilteringHandler::new(is_in, handler)), inner);
}
