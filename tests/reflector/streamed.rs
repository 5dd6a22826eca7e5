//! Lists that arrive as the beginning of a watch.

use std::sync::Arc;

use kinformer::{
    Object, StopToken, Watch,
    cache::{DeltaFifo, Store, meta_namespace_key},
};

use crate::{
    script::{End, Script},
    support::{
        Event, added, api, api_json, bookmark, deleted, error_event, eventually, expired, marker,
        modified, no_pause, one_pause, refused,
    },
};

#[test]
fn one_watch_is_all_it_takes() {
    let mut run = Script::streaming()
        .watch(
            [added("a", "1"), added("b", "2"), marker("5"), modified("a", "6"), added("c", "7")],
            End::Idle,
        )
        .run_with(no_pause(), |builder| builder);
    run.wait_for_version("7");
    run.expect(&["stream -"]);
    assert_eq!(run.stored(), ["a:6", "b:2", "c:7"]);
    let asked = &run.asked()[0];
    assert!((300..600).contains(&asked.timeout_seconds.unwrap()), "{asked:?}");
    assert_eq!((asked.bookmarks, asked.limit), (None, None));
}

#[test]
fn nothing_is_streamed_if_source_or_user_do_not_want_it() {
    Script::new().list("1", &[]).run().expect(&["list 0 limit=500", "watch 1"]);
    Script::streaming()
        .list("1", &[])
        .run_with(no_pause(), |builder| builder.streamed_lists(false))
        .expect(&["list 0 limit=500", "watch 1"]);
}

#[test]
fn without_the_marker_nothing_is_in_the_store_and_no_version_counts() {
    let mut run = Script::streaming()
        .watch([added("a", "1"), bookmark("3"), modified("a", "2")], End::Idle)
        .run_with(no_pause(), |builder| builder);
    eventually("the watch", || run.calls().len() == 1);
    assert_eq!((run.stored(), run.version()), (vec![], String::new()));
    run.expect(&["stream -"]);
    assert_eq!((run.stored(), run.version(), run.errors()), (vec![], String::new(), vec![]));
}

#[test]
fn changes_before_the_marker_are_part_of_the_list() {
    let run = Script::streaming()
        .watch(
            [
                added("a", "1"),
                added("b", "2"),
                deleted("a", "3"),
                modified("b", "4"),
                added("c", "4"),
                marker("5"),
            ],
            End::Idle,
        )
        .run();
    run.wait_for_version("5");
    assert_eq!(run.stored(), ["b:4", "c:4"]);
}

#[test]
fn after_the_stream_the_watch_goes_on_from_the_last_version() {
    let mut run = Script::streaming()
        .watch([added("a", "1"), marker("2"), added("b", "3")], End::Close)
        .watch([added("c", "4")], End::Idle)
        .run_with(no_pause(), |builder| builder);
    run.wait_for_version("4");
    run.expect(&["stream -", "watch 3"]);
    assert_eq!(run.stored(), ["a:1", "b:3", "c:4"]);
}

#[test]
fn a_relist_is_streamed_from_the_last_version() {
    let mut run = Script::streaming()
        .watch([added("a", "1"), marker("5"), error_event(410, "Expired")], End::Close)
        .watch([added("b", "7"), marker("8")], End::Idle)
        .run_with(one_pause(), |builder| builder);
    run.wait_for_version("8");
    run.expect(&["stream -", "stream 5"]);
    assert_eq!(run.stored(), ["b:7"]);
}

#[test]
fn a_server_that_cannot_stream_is_asked_plainly_from_then_on() {
    for (code, reason) in [(422, "Invalid"), (400, "BadRequest"), (405, "MethodNotAllowed")] {
        let mut run = Script::streaming()
            .watch_fails(api(code, reason))
            .list("1", &["a:1"])
            .watch([error_event(410, "Expired")], End::Close)
            .list("2", &["a:1"])
            .run_with(one_pause(), |builder| builder);
        run.wait_for_version("2");
        run.expect(&["stream -", "list 0 limit=500", "watch 1", "list 1", "watch 2"]);
        assert_eq!(run.errors(), [""; 0]);
    }
}

#[test]
fn any_other_failure_is_answered_by_a_plain_list_this_time() {
    let failures = [
        api(403, "Forbidden"),
        api(404, "NotFound"),
        api(401, "Unauthorized"),
        api(500, "InternalError"),
        api(503, "ServiceUnavailable"),
    ];
    for failure in failures {
        let mut run = Script::streaming()
            .watch_fails(failure)
            .list("1", &["a:1"])
            .watch([error_event(410, "Expired")], End::Close)
            .watch([added("a", "1"), marker("5")], End::Idle)
            .run_with(one_pause(), |builder| builder);
        run.wait_for_version("5");
        run.expect(&["stream -", "list 0 limit=500", "watch 1", "stream 1"]);
        assert_eq!(run.errors(), [""; 0]);
    }
}

#[test]
fn an_error_in_the_stream_is_answered_by_a_plain_list_this_time() {
    // A server whose etcd cannot tell its progress says so like this.
    let mut run = Script::streaming()
        .watch([added("a", "1"), error_event(500, "InternalError")], End::Close)
        .list("3", &["b:2"])
        .run_with(no_pause(), |builder| builder);
    run.wait_for_version("3");
    run.expect(&["stream -", "list 0 limit=500", "watch 3"]);
    assert_eq!((run.stored(), run.errors()), (vec!["b:2".to_owned()], vec![]));
}

#[test]
fn an_overloaded_server_or_none_is_asked_again_later_for_the_same() {
    let mut run = Script::streaming()
        .watch_fails(api(429, "TooManyRequests"))
        .watch([added("z", "9"), error_event(429, "TooManyRequests")], End::Close)
        .watch_fails(refused())
        .watch([added("a", "1"), marker("2")], End::Idle)
        .run();
    run.wait_for_version("2");
    run.expect(&["stream -", "stream -", "stream -", "stream -"]);
    assert_eq!(run.stored(), ["a:1"]);
}

#[test]
fn a_lost_version_is_left_out_at_once() {
    for lost in [
        expired(),
        api(410, ""),
        api_json(r#"{"code":504,"reason":"Timeout","message":"Too large resource version: 5"}"#),
    ] {
        let mut run = Script::streaming()
            .watch([marker("5"), error_event(410, "Expired")], End::Close)
            .watch_fails(lost)
            .watch([added("a", "1"), marker("8"), error_event(410, "Expired")], End::Close)
            .run_with(one_pause(), |builder| builder);
        run.wait_for_version("8");
        run.expect(&["stream -", "stream 5", "stream -"]);
    }
    let mut run = Script::streaming()
        .watch([marker("5"), error_event(410, "Expired")], End::Close)
        .watch([error_event(410, "Expired")], End::Close)
        .watch([marker("6")], End::Idle)
        .run_with(one_pause(), |builder| builder);
    run.wait_for_version("6");
    run.expect(&["stream -", "stream 5", "stream -"]);
}

#[test]
fn a_stream_that_ends_early_is_begun_again_without_what_came_before() {
    let mut run = Script::streaming()
        .watch([added("a", "1"), added("b", "1")], End::Close)
        .watch([added("b", "1"), marker("4")], End::Idle)
        .run_with(no_pause(), |builder| builder);
    run.wait_for_version("4");
    run.expect(&["stream -", "stream -"]);
    assert_eq!(run.stored(), ["b:1"]);
}

#[test]
fn streams_that_end_early_twice_are_given_up_for_good() {
    let mut run = Script::streaming()
        .watch([added("a", "1")], End::Close)
        .watch([], End::Close)
        .list("3", &["b:1"])
        .watch([error_event(410, "Expired")], End::Close)
        .list("4", &["b:1"])
        .run_with(one_pause(), |builder| builder);
    run.wait_for_version("4");
    run.expect(&["stream -", "stream -", "list 0 limit=500", "watch 3", "list 3", "watch 4"]);
    assert_eq!((run.stored(), run.errors()), (vec!["b:1".to_owned()], vec![]));
}

#[test]
fn a_stream_without_end_is_given_up_even_if_changes_keep_coming() {
    // A server that does not know what it was asked for sends what it has, and then every change.
    let limit = std::time::Duration::from_millis(200);
    let mut run = Script::streaming()
        .watch_with(|stop| {
            let stop = stop.clone();
            let mut version = 1;
            Ok(Watch::from_events(std::iter::once(added("a", "1")).chain(std::iter::from_fn(
                move || {
                    version += 1;
                    let stopped = stop.wait_timeout(std::time::Duration::from_millis(20));
                    (!stopped).then(|| modified("a", &version.to_string()))
                },
            ))))
        })
        .list("100", &["a:100"])
        .run_with(no_pause(), |builder| builder.stream_silence(limit));
    run.wait_for_version("100");
    run.expect(&["stream -", "list 0 limit=500", "watch 100"]);
}

#[test]
fn the_time_that_a_transform_takes_is_not_the_silence_of_the_server() {
    let limit = std::time::Duration::from_millis(200);
    let fifo: DeltaFifo<Object> = DeltaFifo::builder(meta_namespace_key)
        .transform(move |object| {
            std::thread::sleep(limit * 2);
            Ok(object)
        })
        .build();
    let mut run = Script::streaming()
        .watch([added("a", "1"), modified("a", "2"), added("b", "3"), marker("4")], End::Idle)
        .run_into(Arc::new(fifo), |builder| builder.backoff(no_pause()).stream_silence(limit));
    run.wait_for_version("4");
    run.expect(&["stream -"]);
}

#[test]
fn a_watch_that_has_expired_when_it_is_opened_is_followed_by_a_stream_and_nothing_goes_before_its_end()
 {
    let (release, gate) = (StopToken::new(), StopToken::new());
    let (held, opened) = (release.clone(), gate.clone());
    let run = Script::streaming()
        .watch([added("a", "1"), added("b", "2"), marker("5"), modified("a", "6")], End::Close)
        .watch_fails(expired())
        .watch_with(move |_| {
            opened.stop();
            held.wait();
            Ok(Watch::from_events([added("b", "7"), marker("8")].into_iter()))
        })
        .watch([], End::Idle)
        .run_with(one_pause(), |builder| builder);
    gate.wait();
    assert_eq!((run.stored(), run.version()), (vec!["a:6".into(), "b:2".into()], "6".into()));
    release.stop();
    run.wait_for_version("8");
    assert_eq!(run.stored(), ["b:7"]);
    assert_eq!(run.calls()[..3], ["stream -", "watch 6", "stream 6"]);
    assert_eq!(run.errors(), Vec::<String>::new(), "as often as it happens, nobody need know");
}

#[test]
fn an_abandoned_list_deletes_nothing_and_does_not_sync_the_queue() {
    let known = Store::new(meta_namespace_key);
    known.add(crate::support::object("old", "1"));
    let fifo: DeltaFifo<Object> =
        DeltaFifo::builder(meta_namespace_key).known_objects(known).build();
    let fifo = Arc::new(fifo);
    let release = StopToken::new();
    let gate = release.clone();
    let blocked = |gate: StopToken| {
        std::iter::from_fn(move || -> Option<Event> {
            gate.wait();
            None
        })
    };
    let run = Script::streaming()
        .watch_with(move |_| {
            let events = [added("a", "1"), deleted("a", "2"), added("b", "3")];
            Ok(Watch::from_events(events.into_iter().chain(blocked(gate))))
        })
        .watch([added("c", "4"), marker("5")], End::Idle)
        .run_into(fifo.clone(), |builder| builder.backoff(no_pause()));
    eventually("what arrived", || fifo.get_by_key("default/b").is_some());
    assert!(!fifo.has_synced());
    let deltas = |key: &str| {
        let deltas = fifo.get_by_key(key).map(|deltas| {
            deltas
                .iter()
                .map(|delta| format!("{delta:?}").split('(').next().unwrap().to_owned())
                .collect::<Vec<_>>()
        });
        deltas.unwrap_or_default()
    };
    assert_eq!(deltas("default/old"), [""; 0], "not deleted by a list that is not complete");
    assert_eq!(run.version(), "");
    release.stop();
    run.wait_for_version("5");
    assert_eq!(deltas("default/old"), ["Deleted"], "but by the one that is");
    assert_eq!(deltas("default/b"), ["Sync", "Deleted"]);
    assert_eq!(deltas("default/c"), ["Sync"]);
}
