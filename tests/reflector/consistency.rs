//! Comparing a store with a fresh list.

use std::time::Duration;

use kinformer::{
    Client, DynamicObject, Inconsistency, ListWatch, StopToken, check_consistency,
    testing::{ApiServer, Fault, Verb, When},
};

use crate::{
    mirror::{Mirror, delete, put},
    support::{config_maps, eventually, no_pause, object},
};

/// Longer than an event takes here.
const SETTLE: Duration = Duration::from_millis(500);

fn texts(found: &[Inconsistency]) -> Vec<String> {
    let text = |version: &Option<String>| version.clone().unwrap_or_else(|| "-".into());
    found
        .iter()
        .map(|found| format!("{} {} {}", found.key, text(&found.stored), text(&found.listed)))
        .collect()
}

fn version(server: &ApiServer, name: &str) -> String {
    let object = server.object("v1", "ConfigMap", &format!("default/{name}")).unwrap();
    object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

#[test]
fn a_store_that_is_as_the_server_is_has_no_inconsistency() {
    let server = ApiServer::start().unwrap();
    for number in 0..1200 {
        put(&server, &format!("c{number}"), "1");
    }
    let client = Client::new(server.config()).unwrap();
    let mirror = Mirror::of(&client, no_pause(), |builder| builder);
    mirror.wait_for(&server);
    let whole = ListWatch::<DynamicObject>::of_resource(&client, &config_maps(), None);
    let stop = StopToken::new();
    // Without waiting: nothing differs in the first place. In three pages, or in one after the second
    // has expired.
    let patience = Duration::from_secs(3600);
    assert_eq!(check_consistency(&whole, &mirror.store, patience, &stop).unwrap(), []);
    server.inject(When::any().verb(Verb::List).times(1), Fault::ExpireContinue);
    assert_eq!(check_consistency(&whole, &mirror.store, patience, &stop).unwrap(), []);
    let metadata = ListWatch::from_api(client.metadata_for(&config_maps()));
    assert_eq!(check_consistency(&metadata, &mirror.store, patience, &stop).unwrap(), []);
    let last = server.requests().pop().unwrap();
    assert!(last.header("accept").unwrap().contains("PartialObjectMetadataList"), "{last:?}");
}

#[test]
fn what_differs_and_stays_so_is_found() {
    let server = ApiServer::start().unwrap();
    for name in ["a", "b", "c"] {
        put(&server, name, "1");
    }
    let client = Client::new(server.config()).unwrap();
    let mirror = Mirror::of(&client, no_pause(), |builder| builder);
    mirror.wait_for(&server);
    mirror.store.delete_by_key("default/a");
    mirror.store.add(object("b", "1"));
    mirror.store.add(object("gone", "2"));
    let source = ListWatch::<DynamicObject>::of_resource(&client, &config_maps(), None);
    let found = check_consistency(&source, &mirror.store, SETTLE, &StopToken::new()).unwrap();
    let expected = [
        format!("default/a - {}", version(&server, "a")),
        format!("default/b 1 {}", version(&server, "b")),
        "default/gone 2 -".to_owned(),
    ];
    assert_eq!(texts(&found), expected);
}

#[test]
fn what_is_only_on_its_way_is_not_an_inconsistency() {
    let server = ApiServer::start().unwrap();
    for name in ["a", "b"] {
        put(&server, name, "1");
    }
    // Every event is late by more than the list takes.
    server.inject(When::any().verb(Verb::Watch), Fault::LateEvents { delay_ms: 100 });
    let client = Client::new(server.config()).unwrap();
    let mirror = Mirror::of(&client, no_pause(), |builder| builder.streamed_lists(false));
    eventually("the watch", || server.watches() == 1);
    put(&server, "a", "2");
    put(&server, "new", "1");
    delete(&server, "b");
    let source = ListWatch::<DynamicObject>::of_resource(&client, &config_maps(), None);
    let settle = Duration::from_secs(5);
    let found = check_consistency(&source, &mirror.store, settle, &StopToken::new()).unwrap();
    assert_eq!(found, []);
}

#[test]
fn a_list_that_fails_or_a_stop_is_an_error() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let client = Client::new(server.config()).unwrap();
    let source = ListWatch::<DynamicObject>::of_resource(&client, &config_maps(), None);
    let mirror = Mirror::of(&client, no_pause(), |builder| builder);
    mirror.wait_for(&server);
    server.inject(When::any().verb(Verb::List).once(), Fault::status(403));
    let (stop, store) = (StopToken::new(), &mirror.store);
    assert!(check_consistency(&source, store, SETTLE, &stop).unwrap_err().is_forbidden());
    store.delete_by_key("default/a");
    let hour = Duration::from_secs(3600);
    std::thread::scope(|scope| {
        let checking = scope.spawn(|| check_consistency(&source, store, hour, &stop));
        eventually("the list", || {
            server.requests().iter().filter(|seen| seen.query == "limit=500").count() == 2
        });
        stop.stop();
        assert!(checking.join().unwrap().unwrap_err().is_stopped());
    });
}
