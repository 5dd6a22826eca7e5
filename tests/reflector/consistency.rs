//! Comparing a store with a fresh list.

use std::{sync::Arc, time::Duration};

use kinformer::{
    Client, ConsistencyError, DynamicObject, Inconsistency, ListWatch, Object, SharedInformer,
    StopToken,
    cache::{Store, meta_namespace_key},
    check_consistency,
    testing::{ApiServer, Fault, Moment, Verb, When},
};
use parking_lot::Mutex;

use crate::{
    mirror::{Mirror, delete, put},
    script::Script,
    support::{LIMIT, config_maps, eventually, no_pause, object},
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
fn what_has_come_and_gone_meanwhile_is_not_an_inconsistency() {
    let found = |later: &[&'static str]| {
        let source = Script::new().list("1", &["a:1", "b:2"]).list("9", later).source();
        let empty = Store::<Object>::new(meta_namespace_key);
        texts(&check_consistency(&source, &empty, SETTLE, &StopToken::new()).unwrap())
    };
    assert_eq!(found(&["a:3"]), [""; 0], "one has changed, one is gone");
    assert_eq!(found(&["a:1", "c:4"]), ["default/a - 1"], "one is still there");
}

#[test]
fn an_informer_checks_itself_now_and_then_if_asked_to() {
    let server = ApiServer::start().unwrap();
    for name in ["a", "b", "c"] {
        put(&server, name, "1");
    }
    let client = Client::new(server.config()).unwrap();
    let found = Arc::new(Mutex::new(Vec::new()));
    let told = found.clone();
    // Checks begin with the watch. That waits until the store has what was listed: it may take longer to get
    // there than a check lets it settle.
    let synced = StopToken::new();
    let wait = synced.clone();
    let source = ListWatch::<DynamicObject>::of_resource(&client, &config_maps(), None).tweak(
        move |options| {
            if options.timeout_seconds.is_some() {
                let _ = wait.wait_timeout(LIMIT);
            }
        },
    );
    let informer = SharedInformer::builder(source)
        .streamed_lists(false)
        .check_consistency(Duration::from_millis(100))
        .on_error(move |error| {
            let error = error.downcast_ref::<ConsistencyError>().expect("nothing else happens");
            told.lock().push((texts(error.found()), error.to_string()));
        })
        .build()
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    synced.stop();
    let checks = || server.requests().iter().filter(|seen| seen.query == "limit=500").count();
    eventually("three checks", || checks() >= 3);
    assert!(found.lock().is_empty() && informer.status().inconsistencies == 0);

    // Nobody should do this to the store of an informer.
    informer.store().delete_by_key("default/a");
    informer.store().add(object("gone", "2"));
    // A check may have come in between the two.
    let whole = || found.lock().iter().find(|(objects, _)| objects.len() == 2).cloned();
    eventually("a report of both", || whole().is_some());
    let (objects, text) = whole().unwrap();
    let listed = version(&server, "a");
    assert_eq!(objects, [format!("default/a - {listed}"), "default/gone 2 -".to_owned()]);
    assert_eq!(
        text,
        format!(
            "the store is not as the server is: \
             default/a: version none in the store, {listed} on the server; \
             default/gone: version 2 in the store, none on the server"
        )
    );
    let status = informer.status();
    assert!(status.inconsistencies >= 2 && status.last_error.is_none(), "{status:?}");
    informer.stop();
    let after = checks();
    assert_eq!(informer.status().state, kinformer::InformerState::Stopped);
    assert_eq!(checks(), after);
}

#[test]
fn a_reflector_checks_the_store_it_is_told_of_and_ends_with_its_check_under_way() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let client = Client::new(server.config()).unwrap();
    let other = Store::new(meta_namespace_key);
    // The first check fails. (The reflector itself asks for a stream.)
    server.inject(When::any().verb(Verb::List).once(), Fault::status(403));
    let mut mirror = Mirror::of(&client, no_pause(), |builder| {
        builder.check_consistency(Duration::from_millis(50), other)
    });
    eventually("the report", || !mirror.errors().is_empty());
    assert!(mirror.errors()[0].contains("default/a: version none"), "{:?}", mirror.errors());
    // A check that gets no answer, and then a stop.
    server.inject(When::any().verb(Verb::List), Fault::Hang { at: Moment::BeforeHead });
    let lists = || server.requests().iter().filter(|seen| seen.query == "limit=500").count();
    let before = lists();
    eventually("another check", || lists() > before);
    let asked = std::time::Instant::now();
    mirror.end();
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
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
