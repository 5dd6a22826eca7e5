//! How long is waited.

use std::time::{Duration, Instant};

use crate::{
    script::Script,
    support::{api, api_json, eventually, pauses, refused},
};

#[test]
fn pauses_grow_while_nobody_listens() {
    let mut script = Script::new().list("1", &[]);
    for _ in 0..5 {
        script = script.watch_fails(refused());
    }
    let start = Instant::now();
    let run = script.run_with(pauses(10, 2.0, 100), |builder| builder);
    eventually("five failures", || run.calls().len() == 7);
    let waited = start.elapsed();
    assert!(waited >= Duration::from_millis(10 + 20 + 40 + 80 + 100), "{waited:?}");
    assert_eq!(run.calls().iter().filter(|call| call.starts_with("list")).count(), 1);
}

#[test]
fn lists_and_watches_share_their_pauses() {
    let mut run = Script::new()
        .list_fails(api(500, "InternalError"))
        .list("1", &[])
        .watch_fails(api(429, "TooManyRequests"))
        // The first pause is short, the second one outlasts the test.
        .run_with(pauses(1, 1e9, 3_600_000), |builder| builder);
    eventually("both failures", || run.errors().len() == 2);
    run.end();
    assert_eq!(run.calls(), ["list 0 limit=500", "list 0 limit=500", "watch 1"]);
}

#[test]
fn the_server_is_given_the_time_it_asks_for() {
    let busy = || api_json(r#"{"code":429,"details":{"retryAfterSeconds":1}}"#);
    let late = |script: Script, calls: usize| {
        let start = Instant::now();
        let mut run = script.run_with(pauses(1, 1.0, 1), |builder| builder);
        eventually("the next try", || run.calls().len() == calls);
        let waited = start.elapsed();
        run.end();
        assert!(waited >= Duration::from_secs(1), "{waited:?}: {:?}", run.calls());
    };
    late(Script::new().list_fails(busy()), 2);
    late(Script::new().list("1", &[]).watch_fails(busy()), 3);
    late(Script::streaming().watch_fails(busy()), 2);
    let event = |code: u16| {
        let error = api_json(&format!(r#"{{"code":{code},"details":{{"retryAfterSeconds":1}}}}"#));
        let kinformer::Error::Api(status) = error else { unreachable!() };
        Ok(kinformer::WatchEvent::Error(status))
    };
    let idle = || crate::script::End::Idle;
    late(Script::new().list("1", &[]).watch([event(429)], idle()), 3);
    late(Script::new().list("1", &[]).watch([event(503)], idle()), 3);
}
