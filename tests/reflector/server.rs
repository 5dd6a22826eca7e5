//! Reflectors on the embedded server: what is on the wire, and what faults do to it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use kinformer::{
    cache::{DeltaFifo, meta_namespace_key},
    testing::{ApiServer, Fault, Moment, StatusFault, StatusForm, Verb, When},
};

use crate::{
    mirror::{Mirror, delete, is_list, lists, put, queries},
    raw::{Reply, Server},
    support::{eventually, no_pause, one_pause, short_pauses},
};

const STREAM: &str = "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan\
    &sendInitialEvents=true&timeoutSeconds=T&watch=true";

fn stream_from(version: &str) -> String {
    format!(
        "allowWatchBookmarks=true&resourceVersion={version}&resourceVersionMatch=NotOlderThan\
         &sendInitialEvents=true&timeoutSeconds=T&watch=true"
    )
}

fn watch_from(version: &str) -> String {
    format!("allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=T&watch=true")
}

fn list() -> When {
    When::any().verb(Verb::List).resource("configmaps")
}

fn watch() -> When {
    When::any().verb(Verb::Watch).resource("configmaps")
}

/// A server with two objects.
fn server() -> ApiServer {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    put(&server, "b", "1");
    server
}

#[test]
fn a_streamed_list_is_one_request_and_its_watch_is_resumed() {
    let server = server();
    let mirror = Mirror::start(server.config(), no_pause(), |builder| builder);
    mirror.wait_for(&server);
    assert_eq!(queries(&server), [STREAM]);
    put(&server, "c", "1");
    delete(&server, "a");
    let last = mirror.catch_up(&server);
    server.drop_connections();
    put(&server, "d", "1");
    delete(&server, "b");
    mirror.wait_for(&server);
    assert_eq!(queries(&server), [STREAM.to_owned(), watch_from(&last)]);
    assert_eq!(mirror.errors(), [""; 0]);
}

#[test]
fn a_server_without_streamed_lists_costs_one_request() {
    let server = server();
    server.inject(watch().once(), Fault::status(422));
    let mirror = Mirror::start(server.config(), one_pause(), |builder| builder);
    eventually("the watch", || server.watches() == 1);
    let listed = mirror.catch_up(&server);
    let expected = [STREAM.to_owned(), "limit=500&resourceVersion=0".into(), watch_from(&listed)];
    assert_eq!(queries(&server), expected);

    server.inject(watch().once(), Fault::expired_after(0));
    put(&server, "c", "1");
    let last = mirror.catch_up(&server);
    server.drop_connections();
    // The watch is refused, and a plain list takes its place.
    eventually("a list and a watch", || queries(&server).len() == 6);
    assert_eq!(queries(&server)[3..5], [watch_from(&last), format!("resourceVersion={last}")]);
    assert_eq!(mirror.errors(), [""; 0]);
}

#[test]
fn compaction_is_answered_by_a_list_from_the_last_version() {
    for streamed in [true, false] {
        let server = server();
        let mirror = Mirror::start(server.config(), short_pauses(), |builder| {
            builder.streamed_lists(streamed)
        });
        eventually("the watch", || server.watches() == 1);
        put(&server, "c", "1");
        mirror.wait_for(&server);
        let last = mirror.catch_up(&server);
        // While nobody looks, one goes and the history that says so.
        server.inject(watch(), Fault::status(503));
        let before = queries(&server).len();
        server.drop_connections();
        delete(&server, "a");
        server.compact();
        server.clear_faults();
        mirror.wait_for(&server);
        let queries = queries(&server);
        let relist = if streamed { stream_from(&last) } else { format!("resourceVersion={last}") };
        assert!(queries[before..].contains(&relist), "{relist}: {queries:#?}");
    }
}

#[test]
fn pages_are_asked_for_as_the_api_wants_it() {
    for expires in [false, true] {
        let server = server();
        put(&server, "c", "1");
        let mirror = Mirror::start(server.config(), one_pause(), |builder| {
            builder.streamed_lists(false).page_size(2)
        });
        eventually("the watch", || server.watches() == 1);
        put(&server, "d", "1");
        put(&server, "e", "1");
        assert_eq!(queries(&server)[0], "limit=2&resourceVersion=0");

        let last = mirror.catch_up(&server);
        if expires {
            server.inject(list(), Fault::ExpireContinue);
        }
        server.inject(watch().once(), Fault::expired_after(0));
        server.drop_connections();
        eventually("all pages", || lists(&server) == 4);
        mirror.wait_for(&server);
        let queries = queries(&server);
        let lists: Vec<_> = queries.iter().filter(|query| is_list(query)).skip(1).collect();
        let not_older = "&resourceVersionMatch=NotOlderThan";
        assert_eq!(*lists[0], format!("limit=2&resourceVersion={last}{not_older}"));
        let is_next = |page: &str| page.starts_with("continue=") && page.ends_with("&limit=2");
        assert!(is_next(lists[1]) && lists[1].matches('&').count() == 1, "{lists:?}");
        if expires {
            assert_eq!((lists.len(), lists[2]), (3, &format!("resourceVersion={last}")));
        } else {
            assert_eq!((lists.len(), is_next(lists[2])), (3, true), "{lists:?}");
        }
        assert_eq!(mirror.errors(), [""; 0]);
    }
}

/// Else the same state is listed again, and its watch expires again, for as long as the server can list it.
#[test]
fn pages_after_an_expired_watch_are_of_a_newer_state() {
    let server = server();
    let mirror = Mirror::start(server.config(), short_pauses(), |builder| {
        builder.streamed_lists(false).page_size(1)
    });
    let listed = mirror.catch_up(&server);
    // Something else changes, so that there is a newer state.
    let other =
        serde_json::json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    server.put(other).unwrap();
    let newest = server.resource_version();
    assert_ne!(newest, listed);
    server.inject(watch(), Fault::expired_after(0));
    server.drop_connections();
    eventually("another list", || lists(&server) > 2);
    server.clear_faults();
    eventually("a watch from the newest state", || {
        let watched = queries(&server).pop().unwrap();
        server.watches() == 1 && watched.contains(&format!("resourceVersion={newest}&"))
    });
}

#[test]
fn a_watch_that_breaks_goes_on_without_a_list_and_without_a_word() {
    for fault in [
        Fault::Reset { at: Moment::AfterEvents(1) },
        Fault::Close { at: Moment::AfterEvents(1) },
        Fault::TruncateChunk { after_events: 1 },
    ] {
        let server = server();
        server.inject(watch().once(), fault.clone());
        let mirror =
            Mirror::start(server.config(), no_pause(), |builder| builder.streamed_lists(false));
        eventually("the watch", || server.watches() == 1);
        put(&server, "c", "1");
        delete(&server, "a");
        mirror.wait_for(&server);
        assert_eq!(lists(&server), 1, "{fault:?}");
        assert_eq!(mirror.errors(), [""; 0], "{fault:?}");
    }
}

/// As after a restore from a backup. A kube-apiserver is silent on a watch from a version that it has not
/// come to, and so is the embedded server.
#[test]
fn a_server_that_went_back_to_an_older_state_is_listed_anew() {
    let old = server();
    for n in 0..100 {
        put(&old, "a", &n.to_string());
    }
    let address = old.url().trim_start_matches("http://").parse().unwrap();
    let mirror = Mirror::start(old.config(), short_pauses(), |builder| {
        builder.watch_silence(Duration::from_secs(2))
    });
    mirror.wait_for(&old);
    drop(old);
    let restored = ApiServer::builder().listen(address).start().unwrap();
    put(&restored, "b", "restored");
    put(&restored, "c", "new");
    mirror.wait_for(&restored);
    put(&restored, "c", "newer");
    delete(&restored, "b");
    mirror.wait_for(&restored);
}

#[test]
fn a_watch_that_cannot_be_opened_is_tried_again_without_a_list() {
    let page = Fault::Status(StatusFault::new(502).form(StatusForm::Html));
    let pretty = Fault::Status(StatusFault::new(503).form(StatusForm::Pretty));
    for fault in [
        Fault::Reset { at: Moment::BeforeHead },
        Fault::Close { at: Moment::BeforeHead },
        Fault::status(500),
        Fault::status(429),
        page,
        pretty,
    ] {
        let server = server();
        server.inject(watch().times(2), fault.clone());
        let mirror =
            Mirror::start(server.config(), short_pauses(), |builder| builder.streamed_lists(false));
        eventually("the watch", || server.watches() == 1);
        delete(&server, "a");
        mirror.wait_for(&server);
        assert_eq!(lists(&server), 1, "{fault:?}");
        // A connection that was used before is given a second chance by the client itself.
        let told = mirror.errors().len();
        assert!((1..=2).contains(&told), "{fault:?}: {:?}", mirror.errors());
    }
}

#[test]
fn garbage_in_a_watch_is_told_and_listed_again() {
    let server = server();
    server.inject(watch().once(), Fault::Garbage { after_events: 1 });
    let mirror =
        Mirror::start(server.config(), one_pause(), |builder| builder.streamed_lists(false));
    eventually("the watch", || server.watches() == 1);
    put(&server, "c", "1");
    delete(&server, "a");
    eventually("the list", || lists(&server) == 2);
    mirror.wait_for(&server);
    assert_eq!(mirror.errors(), ["cannot decode a watch event of configmaps: not JSON"]);
}

#[test]
fn a_list_that_is_not_to_be_had_is_told_and_tried_again_and_the_store_keeps_what_it_has() {
    let page = Fault::Status(StatusFault::new(502).form(StatusForm::Html));
    let pretty = Fault::Status(StatusFault::new(500).form(StatusForm::Pretty));
    for fault in [
        Fault::status(401),
        Fault::status(403),
        Fault::status(404),
        Fault::status(429),
        pretty,
        page,
        Fault::TruncateChunk { after_events: 0 },
        Fault::CorruptGzip { after_events: 0 },
        Fault::Garbage { after_events: 0 },
        Fault::Reset { at: Moment::AfterBytes(300) },
    ] {
        let server = server();
        let mirror =
            Mirror::start(server.config(), one_pause(), |builder| builder.streamed_lists(false));
        eventually("the watch", || server.watches() == 1);
        put(&server, "c", "1");
        mirror.wait_for(&server);
        server.inject(list().once(), fault.clone());
        server.inject(watch().once(), Fault::expired_after(0));
        server.drop_connections();
        eventually("the failure", || !mirror.errors().is_empty());
        assert_eq!(mirror.store.len(), 3, "{fault:?}");
        assert_eq!(mirror.errors().len(), 1, "{fault:?}: {:?}", mirror.errors());
    }
}

#[test]
fn a_server_that_never_ends_a_streamed_list_costs_one_deadline_and_is_remembered() {
    let server = server();
    server.inject(watch(), Fault::WithholdBookmarks { initial: true });
    let mirror = Mirror::start(server.config(), one_pause(), |builder| {
        builder.stream_silence(Duration::from_millis(300))
    });
    mirror.wait_for(&server);
    eventually("the watch", || queries(&server).len() == 3);
    assert_eq!(queries(&server)[..2], [STREAM, "limit=500&resourceVersion=0"]);

    // By an event of the watch, which is the last to meet the first fault.
    put(&server, "c", "1");
    mirror.wait_for(&server);
    server.clear_faults();
    server.inject(watch().once(), Fault::expired_after(0));
    server.drop_connections();
    delete(&server, "a");
    eventually("the list", || lists(&server) == 2);
    mirror.wait_for(&server);
    assert_eq!(queries(&server).iter().filter(|query| *query == STREAM).count(), 1);
}

#[test]
fn a_streamed_list_that_breaks_is_begun_again_and_the_second_time_asked_for_plainly() {
    let server = server();
    server.inject(watch().once(), Fault::Reset { at: Moment::AfterEvents(1) });
    let mirror = Mirror::start(server.config(), one_pause(), |builder| builder);
    mirror.wait_for(&server);
    assert_eq!(queries(&server), [STREAM, STREAM]);

    let other = ApiServer::start().unwrap();
    put(&other, "a", "1");
    put(&other, "b", "1");
    other.inject(watch().times(2), Fault::Reset { at: Moment::AfterEvents(1) });
    let mirror = Mirror::start(other.config(), one_pause(), |builder| builder);
    mirror.wait_for(&other);
    assert_eq!(queries(&other)[..3], [STREAM, STREAM, "limit=500&resourceVersion=0"]);
}

#[test]
fn the_server_is_given_the_time_it_asks_for_on_the_wire() {
    let server = server();
    server.inject(watch().times(1), Fault::too_many_requests(1));
    let start = Instant::now();
    let mirror =
        Mirror::start(server.config(), short_pauses(), |builder| builder.streamed_lists(false));
    eventually("the watch", || server.watches() == 1);
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!((lists(&server), queries(&server).len()), (1, 3));
    assert_eq!(mirror.errors().len(), 1, "{:?}", mirror.errors());
}

#[test]
fn events_that_come_twice_or_late_change_nothing() {
    for fault in [Fault::DuplicateEvents, Fault::LateEvents { delay_ms: 20 }] {
        let server = server();
        server.inject(watch(), fault);
        let mirror = Mirror::start(server.config(), no_pause(), |builder| builder);
        mirror.wait_for(&server);
        put(&server, "c", "1");
        put(&server, "c", "2");
        delete(&server, "c");
        delete(&server, "a");
        put(&server, "a", "2");
        mirror.wait_for(&server);
        assert_eq!(queries(&server), [STREAM]);
        assert_eq!(mirror.errors(), [""; 0]);
    }
}

/// A server that lists one object, then says what it is given to say.
fn scripted(second_list: &'static str, watched: &'static str) -> Server {
    let lists = std::sync::atomic::AtomicUsize::new(0);
    Server::start(move |request| {
        if request.query().contains("watch=true") {
            let stream = Reply::stream();
            let stream = if watched.is_empty() { stream } else { stream.chunk(watched) };
            return stream.wait(&crate::raw::Gate::default());
        }
        let first = r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"5"},"items":
            [{"metadata":{"name":"a","namespace":"default","resourceVersion":"3"}}]}"#;
        match lists.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Reply::json(200, first),
            _ => Reply::json(200, second_list),
        }
    })
}

#[test]
fn what_is_no_list_is_not_taken_for_an_empty_one() {
    let expired = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#;
    for (answer, error) in [
        (r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}"#, "configmaps"),
        (
            r#"{"kind":"Status","status":"Failure","code":403,"reason":"Forbidden"}"#,
            "403 Forbidden",
        ),
        (r#"{"kind":"Status","status":"Success"}"#, ""),
        ("{}", "configmaps"),
        ("[]", "configmaps"),
    ] {
        let server = scripted(answer, expired);
        let config = server.config().build().unwrap();
        let mirror = Mirror::start(config, one_pause(), |builder| builder.streamed_lists(false));
        eventually("the error", || !mirror.errors().is_empty());
        assert!(mirror.errors()[0].contains(error), "{answer}: {:?}", mirror.errors());
        assert_eq!(mirror.store.len(), 1, "{answer}");
        assert_eq!(mirror.reflector.last_sync_resource_version(), "5");
    }
}

#[test]
fn a_failure_in_the_body_of_a_list_counts_as_one() {
    // Too old, says the body, though the head says that all is well.
    let expired = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#;
    let status = r#"{"kind":"Status","status":"Failure","code":410,"reason":"Expired"}"#;
    let server = scripted(status, expired);
    let config = server.config().build().unwrap();
    let mirror = Mirror::start(config, one_pause(), |builder| builder.streamed_lists(false));
    eventually("the error", || !mirror.errors().is_empty());
    let lines: Vec<_> =
        server.lines().into_iter().filter(|line| !line.contains("watch=true")).collect();
    assert_eq!(lines[1..3], ["GET /api/v1/configmaps?resourceVersion=5", "GET /api/v1/configmaps"]);
}

#[test]
fn events_of_other_things_are_told_and_passed_over() {
    let server = scripted(
        "",
        r#"{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}}
           {"type":"ADDED","object":{"metadata":{"namespace":"default","resourceVersion":"6"}}}
           {"type":"ADDED","object":{"metadata":{"name":"b","namespace":"default","resourceVersion":"7"}}}"#,
    );
    let config = server.config().build().unwrap();
    let mirror = Mirror::start(config, no_pause(), |builder| builder.streamed_lists(false));
    eventually("the last event", || mirror.reflector.last_sync_resource_version() == "7");
    assert_eq!(mirror.store.len(), 2);
    let errors = mirror.errors();
    assert_eq!(errors, ["cannot decode an object of configmaps: its metadata has no name"; 2]);
}

#[test]
fn an_object_that_is_none_is_told_by_its_key_and_the_version_moves_on() {
    let list = r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"5"},"items":
        [{"metadata":{"name":"a","namespace":"default","resourceVersion":"3","labels":"odd"}}]}"#;
    for (watched, last, errors) in [
        (
            r#"{"type":"MODIFIED","object":{"metadata":
               {"name":"b","namespace":"default","resourceVersion":"6","labels":["odd"]}}}"#,
            "6",
            "configmaps \"default/b\"",
        ),
        (
            r#"{"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}}}"#,
            "7",
            "an object of configmaps",
        ),
        (
            r#"{"type":"ADDED","object":{"metadata":{"name":"c","resourceVersion":8}}}"#,
            "5",
            "configmaps \"c\"",
        ),
        (r#"{"type":"BOOKMARK","object":3}"#, "5", "a bookmark of configmaps"),
    ] {
        let server = Server::start(move |request| match request.query() {
            query if !query.contains("watch=true") => Reply::json(200, list),
            query if query.contains("resourceVersion=5") => Reply::stream().chunk(watched).end(),
            _ => Reply::stream().wait(&crate::raw::Gate::default()),
        });
        let config = server.config().build().unwrap();
        let mirror = Mirror::start(config, no_pause(), |builder| builder.streamed_lists(false));
        let next = format!("resourceVersion={last}&");
        eventually("the next watch", || {
            server.lines().iter().any(|line| line.contains(&next)) && mirror.errors().len() > 1
        });
        assert_eq!(mirror.reflector.last_sync_resource_version(), last);
        let told = mirror.errors();
        assert!(told[0].starts_with("cannot decode configmaps \"default/a\": "), "{told:?}");
        assert!(told[1].starts_with(&format!("cannot decode {errors}: ")), "{told:?}");
    }
}

#[test]
fn an_error_event_without_a_status_ends_the_watch_in_a_list() {
    let server = scripted(
        r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"9"},"items":[]}"#,
        r#"{"type":"ERROR","object":{"kind":"ConfigMap","metadata":{"name":"odd"}}}"#,
    );
    let config = server.config().build().unwrap();
    let mirror = Mirror::start(config, one_pause(), |builder| builder.streamed_lists(false));
    eventually("the second list", || mirror.reflector.last_sync_resource_version() == "9");
    assert!(mirror.errors()[0].contains("500 InternalError"), "{:?}", mirror.errors());
    assert!(mirror.store.is_empty());
}

#[test]
fn what_is_no_event_is_told_and_listed_again_because_something_may_be_lost() {
    for odd in
        [r#"{"type":"NEW","object":{"metadata":{"name":"x"}}}"#, r#"{"type":}"#, "{}", "<html>"]
    {
        let server = scripted(
            r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"9"},"items":[]}"#,
            odd,
        );
        let config = server.config().build().unwrap();
        let mirror = Mirror::start(config, one_pause(), |builder| builder.streamed_lists(false));
        eventually("the second list", || mirror.reflector.last_sync_resource_version() == "9");
        eventually("the second watch's", || !mirror.errors().is_empty());
        assert!(mirror.errors()[0].starts_with("cannot decode a watch"), "{:?}", mirror.errors());
    }
}

#[test]
fn an_object_that_does_not_fit_its_type_is_there_all_the_same_and_says_so_by_its_key() {
    use k8s_openapi::api::core::v1::ConfigMap;
    let server = scripted(
        "",
        r#"{"type":"MODIFIED","object":{"data":"odd","metadata":{"name":"a","namespace":"default","resourceVersion":"6"}}}
           {"type":"ADDED","object":{"metadata":{"name":"b","namespace":"default","resourceVersion":"7"}}}"#,
    );
    let config = server.config().build().unwrap();
    let mirror = Mirror::start(config, no_pause(), |builder| builder.streamed_lists(false));
    eventually("the last event", || mirror.reflector.last_sync_resource_version() == "7");
    let odd = mirror.store.get_by_key("default/a").unwrap().cast::<ConfigMap>();
    assert_eq!(odd.resource_version(), "6");
    assert!(odd.get().unwrap_err().to_string().contains("default/a"));
    assert!(mirror.store.get_by_key("default/b").unwrap().cast::<ConfigMap>().get().is_ok());
    assert_eq!(mirror.errors(), [""; 0]);
}

#[test]
fn a_selector_that_matches_nothing_is_in_sync_at_once_and_asks_for_nothing() {
    use kinformer::{Client, DynamicObject, ListWatch, Object, Reflector, StopToken, labels};
    for streamed in [true, false] {
        let server = server();
        let client = Client::new(server.config()).unwrap();
        let source =
            ListWatch::<DynamicObject>::of_resource(&client, &crate::support::config_maps(), None)
                .tweak(|options| options.labels = labels::nothing());
        let fifo = DeltaFifo::<Object>::new(meta_namespace_key);
        let fifo = Arc::new(fifo);
        let reflector = Reflector::builder(source, fifo.clone())
            .streamed_lists(streamed)
            .backoff(no_pause())
            .build();
        let stop = StopToken::new();
        let running = stop.clone();
        let thread = std::thread::spawn(move || reflector.run(&running));
        eventually("sync", || fifo.has_synced());
        stop.stop();
        thread.join().unwrap();
        assert_eq!(queries(&server), [""; 0]);
    }
}

/// Rather than wait in silence: whoever looks at the informer sees why it has nothing, and others have their turn.
#[test]
fn a_server_that_asks_for_time_is_reported_at_once_and_given_it() {
    for streamed in [true, false] {
        let server = ApiServer::start().unwrap();
        put(&server, "a", "1");
        for code in [429, 503] {
            let busy = Fault::Status(StatusFault::new(code).retry_after(3600));
            server.inject(When::any().verb(Verb::Watch).once(), busy);
            let start = || {
                Mirror::start(server.config(), short_pauses(), |builder| {
                    builder.streamed_lists(streamed)
                })
            };
            let mirror = start();
            eventually("the failure", || !mirror.errors().is_empty());
            assert_eq!(mirror.reflector.last_sync_resource_version().is_empty(), streamed);
            // For longer than its own pauses are.
            for n in 0..20 {
                put(&server, "b", &format!("{code} {n}"));
                start().wait_for(&server);
            }
            assert_eq!(mirror.errors().len(), 1, "{:?}", mirror.errors());
        }
    }
}
