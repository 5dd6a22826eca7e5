//! What is done with events, and what next when a watch ends.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use kinformer::{
    Object, Reflector, StopToken,
    cache::{DeltaFifo, Store, meta_namespace_key},
};

use crate::{
    raw::{logged, start_log},
    script::{End, Script},
    support::{
        added, api, bookmark, deleted, error_event, eventually, modified, no_pause, object,
        one_pause, pauses, refused, short_pauses, unusable,
    },
};

#[test]
fn a_watch_that_the_server_ends_goes_on_at_once_without_a_list() {
    let mut run = Script::new()
        .list("1", &[])
        .watch([added("a", "2")], End::Close)
        .watch([modified("a", "3"), deleted("a", "4")], End::Close)
        .run_with(no_pause(), |builder| builder);
    run.expect(&["list 0 limit=500", "watch 1", "watch 2", "watch 4"]);
    assert_eq!((run.stored(), run.errors()), (vec![], vec![]));
}

#[test]
fn a_watch_that_ends_at_once_without_an_event_is_listed_again_after_a_pause() {
    let mut run = Script::new()
        .list("1", &[])
        .watch([], End::Close)
        .list("2", &[])
        .run_with(one_pause(), |builder| builder);
    run.wait_for_version("2");
    run.expect(&["list 0 limit=500", "watch 1", "list 1", "watch 2"]);
    assert_eq!(run.errors(), [""; 0]);
}

#[test]
fn a_bookmark_or_an_object_that_cannot_be_used_is_an_event_too() {
    let mut run = Script::new()
        .list("1", &[])
        .watch([bookmark("1")], End::Close)
        .watch([Err(unusable())], End::Close)
        .run_with(no_pause(), |builder| builder);
    run.expect(&["list 0 limit=500", "watch 1", "watch 1", "watch 1"]);
}

#[test]
fn an_overloaded_server_is_watched_again_later_without_a_list() {
    let mut script = Script::new().list("1", &[]);
    for _ in 0..4 {
        script = script.watch_fails(api(429, "TooManyRequests"));
    }
    let mut run = script.run();
    run.expect(&["list 0 limit=500", "watch 1", "watch 1", "watch 1", "watch 1", "watch 1"]);
    assert_eq!(run.errors().len(), 4, "each is told");
}

#[test]
fn a_server_that_is_down_is_watched_again_later_without_a_list() {
    let mut run = Script::new()
        .list("1", &["a:1"])
        .watch_fails(refused())
        .watch_fails(api(503, "ServiceUnavailable"))
        .watch_fails(api(500, "InternalError"))
        .watch([modified("a", "2")], End::Idle)
        .run();
    run.wait_for_version("2");
    run.expect(&["list 0 limit=500", "watch 1", "watch 1", "watch 1", "watch 1"]);
    assert_eq!((run.stored(), run.errors().len()), (vec!["a:2".to_owned()], 3));
}

#[test]
fn an_error_event_of_an_overloaded_server_costs_a_pause_and_no_list() {
    let mut run = Script::new()
        .list("1", &[])
        .watch([added("a", "2"), error_event(429, "TooManyRequests")], End::Close)
        .run_with(one_pause(), |builder| builder);
    run.expect(&["list 0 limit=500", "watch 1", "watch 2"]);
    assert_eq!(run.errors(), [""; 0]);

    let run = Script::new()
        .list("1", &[])
        .watch([error_event(429, "TooManyRequests")], End::Close)
        .run_with(no_pause(), |builder| builder);
    eventually("the pause", || run.calls().len() == 2);
    assert_eq!(run.calls(), ["list 0 limit=500", "watch 1"]);
}

#[test]
fn what_follows_an_error_event_is_not_read() {
    let mut run = Script::new()
        .list("1", &[])
        .watch([error_event(410, "Expired"), added("a", "9")], End::Idle)
        .list("3", &[])
        .run();
    run.expect(&["list 0 limit=500", "watch 1", "list 1", "watch 3"]);
    assert_eq!(run.stored(), [""; 0]);
}

#[test]
fn any_other_error_event_is_told_and_listed_again() {
    for (code, reason) in [
        (500, "InternalError"),
        (500, "StorageReadError"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
    ] {
        let mut run = Script::new()
            .list("1", &["corrupt:1", "b:1"])
            .watch([error_event(code, reason)], End::Close)
            .list("5", &["b:1"])
            .run_with(one_pause(), |builder| builder);
        run.wait_for_version("5");
        assert_eq!(run.stored(), ["b:1"], "what the list left out is gone");
        run.expect(&["list 0 limit=500", "watch 1", "list 1", "watch 5"]);
        assert_eq!(run.errors().len(), 1);
    }
}

#[test]
fn a_watch_that_says_the_same_again_and_again_is_not_opened_again_without_a_pause() {
    let mut script = Script::new().list("1", &["a:1"]);
    for _ in 0..5 {
        script = script.watch([added("a", "1")], End::Close);
    }
    let start = Instant::now();
    let mut run = script.run_with(pauses(40, 1.0, 40), |builder| builder);
    let mut calls = vec!["list 0 limit=500"];
    calls.resize(1 + 5 + 1, "watch 1");
    run.expect(&calls);
    assert!(start.elapsed() >= Duration::from_millis(3 * 40), "{:?}", start.elapsed());
    assert_eq!(run.errors(), [""; 0], "nothing is lost by it");
    // One that brings something new is.
    let moving = Script::new().list("1", &["a:1"]).watch([modified("a", "2")], End::Close);
    moving.run_with(no_pause(), |builder| builder).expect(&[
        "list 0 limit=500",
        "watch 1",
        "watch 2",
    ]);
}

#[test]
fn the_same_failure_over_and_over_is_a_warning_once() {
    start_log();
    let mut script = Script::new();
    for _ in 0..4 {
        script = script.list_fails(api(404, "Gone for good"));
    }
    script = script.list_fails(api(403, "Gone for good")).list("1", &[]);
    script = script.watch_fails(api(404, "Gone for good"));
    let name = "the-same-over-and-over";
    let store = Store::new(meta_namespace_key);
    let reflector =
        Reflector::builder(script.source(), store).name(name).backoff(short_pauses()).build();
    let stop = StopToken::new();
    std::thread::scope(|scope| {
        scope.spawn(|| reflector.run(&stop));
        let told = || logged(&format!("{name}: api")) + logged(&format!("{name}: again: "));
        eventually("all failures", || told() == 6);
        stop.stop();
    });
    let warnings = |code: u16| logged(&format!("{name}: api: no message ({code} Gone for good)"));
    assert_eq!((warnings(404), warnings(403)), (2, 1), "once for each change, again after success");
    assert_eq!(logged(&format!("{name}: again: ")), 3);
}

#[test]
fn internal_errors_are_sat_out_if_asked_for() {
    let mut script = Script::new().list("1", &[]);
    for _ in 0..5 {
        script = script.watch([error_event(500, "InternalError")], End::Close);
    }
    let limit = Duration::from_secs(60);
    let mut run = script.run_with(short_pauses(), |builder| builder.retry_internal_errors(limit));
    run.expect(&[
        "list 0 limit=500",
        "watch 1",
        "watch 1",
        "watch 1",
        "watch 1",
        "watch 1",
        "watch 1",
    ]);
    assert_eq!(run.errors(), [""; 0]);
}

#[test]
fn a_watch_that_is_refused_is_told_and_listed_again_after_a_pause() {
    for (code, reason) in [(401, "Unauthorized"), (403, "Forbidden"), (404, "NotFound")] {
        let mut run = Script::new()
            .list("1", &["a:1"])
            .watch_fails(api(code, reason))
            .list("2", &["a:2"])
            .run_with(one_pause(), |builder| builder);
        run.wait_for_version("2");
        run.expect(&["list 0 limit=500", "watch 1", "list 1", "watch 2"]);
        assert_eq!(run.errors(), [format!("api: no message ({code} {reason})")]);
    }
}

#[test]
fn failures_leave_the_store_as_it_was_until_the_next_list() {
    let mut run = Script::new()
        .list_fails(api(403, "Forbidden"))
        .list("1", &["a:1", "b:1"])
        .watch_fails(api(403, "Forbidden"))
        .list_fails(api(500, "InternalError"))
        .run_with(short_pauses(), |builder| builder);
    eventually("all answers", || run.calls().len() == 5);
    assert_eq!((run.stored(), run.version()), (vec!["a:1".into(), "b:1".into()], "1".into()));
    run.expect(&["list 0 limit=500", "list 0 limit=500", "watch 1", "list 1", "list 1"]);
    assert_eq!(run.errors().len(), 3, "a list or watch that fails is told: {:?}", run.errors());
}

#[test]
fn an_object_that_cannot_be_used_is_told_and_passed_over() {
    let mut run = Script::new()
        .list_with(|_, item| {
            item(Ok(object("a", "1")));
            item(Err(unusable()));
            item(Ok(object("b", "1")));
            Ok(crate::support::list_meta("1", ""))
        })
        .watch([added("c", "2"), Err(unusable()), added("d", "4")], End::Close)
        .run_with(no_pause(), |builder| builder);
    run.expect(&["list 0 limit=500", "watch 1", "watch 4"]);
    assert_eq!(run.stored(), ["a:1", "b:1", "c:2", "d:4"]);
    let errors = run.errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(
        errors.iter().all(|error| {
            error == "cannot decode an object of configmaps: its metadata has no name"
        }),
        "{errors:?}"
    );
}

#[test]
fn an_object_that_the_target_refuses_is_told_by_its_key_and_the_version_moves_on() {
    let refuse = |object: Object| match object.name() {
        "bad" => Err(api(500, object.key().as_str())),
        _ => Ok(object),
    };
    let fifo = DeltaFifo::builder(meta_namespace_key).transform(refuse).build();
    let fifo = Arc::new(fifo);
    let mut run = Script::new()
        .list("1", &["a:1", "bad:1"])
        .watch([modified("bad", "2"), deleted("bad", "3")], End::Close)
        .watch([added("bad", "4")], End::Close)
        .run_into(fifo.clone(), |builder| builder.backoff(no_pause()));
    run.expect(&["list 0 limit=500", "watch 1", "watch 3", "watch 4"]);
    let errors = run.errors();
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert!(errors.iter().all(|error| error.contains("default/bad")), "{errors:?}");
    assert!(fifo.pop().is_some() && fifo.try_pop().is_none(), "only the other one");
}

#[test]
fn an_error_handler_is_told_of_a_watch_that_breaks_in_ways_that_are_not_ordinary() {
    let mut run = Script::new()
        .list("1", &[])
        .watch([added("a", "2")], End::Fail(api(400, "BadRequest")))
        .list("3", &[])
        .run_with(one_pause(), |builder| builder);
    run.wait_for_version("3");
    run.expect(&["list 0 limit=500", "watch 1", "list 2", "watch 3"]);
    assert_eq!(run.errors(), ["api: no message (400 BadRequest)"]);
}
