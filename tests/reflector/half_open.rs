//! Connections that are dead without being closed, and connections that are only quiet.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use kinformer::{
    Client, StopToken,
    testing::{ApiServer, Fault, Verb, When},
};
use serde_json::json;

use crate::{
    mirror::{Mirror, delete, is_list, lists, put, queries},
    proxy::Proxy,
    raw::{Reply, Server},
    support::{eventually, no_pause, short_pauses},
};

const SECOND: Duration = Duration::from_secs(1);

fn server() -> ApiServer {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    put(&server, "b", "1");
    server
}

#[test]
fn a_watch_that_goes_dead_is_noticed_and_nothing_is_lost() {
    for streamed in [true, false] {
        let server = server();
        let proxy = Proxy::start(&server);
        let mirror = Mirror::start(proxy.config().build().unwrap(), no_pause(), |builder| {
            builder.streamed_lists(streamed).watch_silence(SECOND)
        });
        eventually("the watch", || server.watches() == 1);
        put(&server, "c", "1");
        mirror.wait_for(&server);
        let last = mirror.catch_up(&server);

        proxy.go_silent();
        let (dead_since, before) = (Instant::now(), queries(&server).len());
        put(&server, "d", "1");
        put(&server, "c", "2");
        delete(&server, "a");
        mirror.wait_for(&server);
        let noticed = dead_since.elapsed();
        assert!(noticed < 10 * SECOND, "{noticed:?}");
        let again = format!("resourceVersion={last}&timeoutSeconds=T&watch=true");
        assert!(queries(&server)[before].ends_with(&again), "{:?}", queries(&server));
        assert_eq!(lists(&server), usize::from(!streamed), "nothing was listed again");
        assert_eq!(mirror.errors(), [""; 0]);
    }
}

#[test]
fn a_watch_that_goes_nowhere_while_it_is_opened_is_noticed() {
    let server = server();
    let proxy = Proxy::start(&server);
    let mirror = Mirror::start(proxy.config().build().unwrap(), short_pauses(), |builder| {
        builder.streamed_lists(false).watch_silence(SECOND)
    });
    mirror.wait_for(&server);
    eventually("the watch", || server.watches() == 1);
    let before = proxy.accepted();
    proxy.swallow(2);
    proxy.go_silent();
    put(&server, "c", "1");
    delete(&server, "a");
    mirror.wait_for(&server);
    assert!(proxy.accepted() >= before + 3, "two went nowhere");
    assert_eq!(lists(&server), 1);
    // The connection of the list may be tried, too.
    assert!((2..=3).contains(&mirror.errors().len()), "{:?}", mirror.errors());
}

#[test]
fn a_streamed_list_that_goes_dead_is_noticed() {
    let server = server();
    let proxy = Proxy::start(&server);
    server.inject(When::any().verb(Verb::Watch).once(), Fault::LateEvents { delay_ms: 600_000 });
    let mirror = Mirror::start(proxy.config().build().unwrap(), short_pauses(), |builder| {
        builder.watch_silence(SECOND).stream_silence(SECOND)
    });
    eventually("the stream", || server.watches() == 1);
    proxy.go_silent();
    mirror.wait_for(&server);
}

#[test]
fn a_list_that_goes_dead_is_noticed() {
    let server = server();
    let proxy = Proxy::start(&server);
    proxy.swallow(1);
    let mut timeouts = kinformer::config::Timeouts::default();
    timeouts.watch_idle = SECOND;
    let config = proxy.config().timeouts(timeouts).build().unwrap();
    let mirror = Mirror::start(config, short_pauses(), |builder| builder.streamed_lists(false));
    mirror.wait_for(&server);
    assert_eq!(mirror.errors().len(), 1, "{:?}", mirror.errors());
}

/// Runs a quiet watch for a while, on a server that forgets its history after about 8 seconds and whose
/// bookmarks come only 2 seconds before the end of a watch. Gives the queries.
fn quiet_watch(bookmarks: bool) -> Vec<String> {
    let server = Arc::new(ApiServer::builder().history(400).start().unwrap());
    put(&server, "a", "1");
    if !bookmarks {
        let withheld = Fault::WithholdBookmarks { initial: false };
        server.inject(When::any().verb(Verb::Watch), withheld);
    }
    let client = Client::new(server.config()).unwrap();
    let mirror = Mirror::of(&client, short_pauses(), |builder| {
        builder.streamed_lists(false).watch_silence(4 * SECOND)
    });
    mirror.wait_for(&server);
    let stop = StopToken::new();
    let others = {
        let (server, stop) = (server.clone(), stop.clone());
        std::thread::spawn(move || {
            let mut round = 0;
            while !stop.wait_timeout(Duration::from_millis(20)) {
                round += 1;
                server
                    .put(json!({"apiVersion": "v1", "kind": "Secret",
                        "metadata": {"name": "busy"}, "data": {}, "stringData": {"n": round.to_string()}}))
                    .unwrap();
            }
        })
    };
    let _ = StopToken::new().wait_timeout(15 * SECOND);
    stop.stop();
    others.join().unwrap();
    delete(&server, "a");
    mirror.wait_for(&server);
    queries(&server)
}

#[test]
fn a_quiet_watch_costs_a_request_now_and_then_and_no_list() {
    let queries = quiet_watch(true);
    assert_eq!(queries.iter().filter(|query| is_list(query)).count(), 1, "{queries:#?}");
    // One for each silence of 4 seconds and each short watch of 3, and the first two.
    assert!(queries.len() <= 2 + 15 / 3, "{queries:#?}");
}

#[test]
fn a_quiet_watch_without_bookmarks_outlives_the_history() {
    // Shows that the test above would notice.
    let queries = quiet_watch(false);
    assert!(queries.iter().filter(|query| is_list(query)).count() > 1, "{queries:#?}");
}

#[test]
fn a_watch_that_outlives_what_was_asked_for_is_opened_again() {
    // Bookmarks for ever: the connection lives, and may yet lead to a server that no longer does.
    let server = Server::start(|request| {
        if !request.query().contains("watch=true") {
            let empty = r#"{"kind":"List","metadata":{"resourceVersion":"1"},"items":[]}"#;
            return Reply::json(200, empty);
        }
        let quiet = request.query().contains("timeoutSeconds=1&");
        Reply::stream().generate(move |out| {
            let bookmark =
                "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}";
            let chunk = format!("{:x}\r\n{bookmark}\r\n", bookmark.len());
            // The first one says nothing, so that the second is a short one.
            if !quiet {
                return Ok(());
            }
            loop {
                out.write_all(chunk.as_bytes())?;
                out.flush()?;
                let _ = StopToken::new().wait_timeout(Duration::from_millis(100));
            }
        })
    });
    let config = server.config().build().unwrap();
    let mirror = Mirror::start(config, no_pause(), |builder| {
        builder.streamed_lists(false).watch_silence(SECOND)
    });
    let watches = || server.lines().iter().filter(|line| line.contains("watch=true")).count();
    eventually("a third watch", || watches() == 3);
    assert_eq!(mirror.errors(), [""; 0]);
}
