//! Connections that are dead without being closed, and connections that are only quiet.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use kinformer::{
    Client, Error, Phase, StopToken,
    config::Timeouts,
    testing::{ApiServer, Fault, Verb, When},
};
use serde_json::json;

use crate::{
    mirror::{Mirror, delete, is_list, lists, put, queries},
    proxy::Proxy,
    raw::{Reply, Server},
    script::{End, Script},
    support::{bookmark, eventually, no_pause, short_pauses},
};

const SECOND: Duration = Duration::from_secs(1);

/// What may be silent here for how long: an answer takes less, however busy the machine is.
const SILENCE: Duration = Duration::from_secs(4);

/// Soon after that, and before any limit that is there by default.
const NOTICED: Duration = Duration::from_secs(25);

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
            builder.streamed_lists(streamed).watch_silence(SILENCE)
        });
        eventually("the watch", || server.watches() == 1);
        put(&server, "c", "1");
        mirror.wait_for(&server);
        let last = mirror.catch_up(&server);

        let before = queries(&server).len();
        proxy.go_silent();
        let dead_since = Instant::now();
        put(&server, "d", "1");
        put(&server, "c", "2");
        delete(&server, "a");
        mirror.wait_for(&server);
        let noticed = dead_since.elapsed();
        assert!(noticed < NOTICED, "{noticed:?}");
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
        builder.streamed_lists(false).watch_silence(SILENCE)
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
    eventually("the stream", || server.watches() >= 1);
    proxy.go_silent();
    mirror.wait_for(&server);
}

/// With lists that may be silent for so long.
fn config(proxy: &Proxy) -> kinformer::Config {
    let mut timeouts = Timeouts::default();
    timeouts.list_idle = SILENCE;
    proxy.config().timeouts(timeouts).build().unwrap()
}

#[test]
fn a_list_that_goes_dead_before_its_answer_is_noticed() {
    let server = server();
    let proxy = Proxy::start(&server);
    proxy.swallow(1);
    let mirror =
        Mirror::start(config(&proxy), short_pauses(), |builder| builder.streamed_lists(false));
    mirror.wait_for(&server);
    assert_eq!(mirror.errors(), ["response: timed out"]);
}

#[test]
fn a_list_that_goes_dead_in_the_middle_is_noticed() {
    let server = server();
    let proxy = Proxy::start(&server);
    // Slow enough to be caught in the middle, and never silent by itself.
    let drip = Fault::Drip { bytes: 1, pause_ms: 100 };
    server.inject(When::any().verb(Verb::List).once(), drip);
    let mirror =
        Mirror::start(config(&proxy), short_pauses(), |builder| builder.streamed_lists(false));
    eventually("the beginning of the list", || proxy.answered().contains("items"));
    assert_eq!(mirror.errors(), [""; 0]);
    proxy.go_silent();
    let dead_since = Instant::now();
    mirror.wait_for(&server);
    let noticed = dead_since.elapsed();
    assert!(noticed < NOTICED, "{noticed:?}");
    assert_eq!(mirror.errors(), ["body: timed out"]);
}

#[test]
fn nothing_that_is_dead_goes_unnoticed_for_longer_than_half_a_minute() {
    let Timeouts { connect, list_idle, dead_peer, .. } = Timeouts::default();
    assert!([connect, list_idle, dead_peer].iter().all(|limit| *limit <= 30 * SECOND));
    // A watch, as a source is asked for it.
    let mut run = Script::new().list("1", &[]).run();
    run.expect(&["list 0 limit=500", "watch 1"]);
    assert!(run.asked().iter().all(|options| options.silence.is_none_or(|it| it <= 30 * SECOND)));
    assert_eq!(run.asked()[1].silence, Some(30 * SECOND));
}

#[test]
fn a_watch_that_was_quiet_is_asked_for_again_for_less_than_it_may_be_quiet() {
    let quiet = || Error::transport(Phase::Body, &std::io::ErrorKind::TimedOut.into());
    for silence in [None, Some(10 * SECOND), Some(2 * SECOND), Some(300 * SECOND)] {
        let mut run = Script::new()
            .list("1", &[])
            .watch([], End::Fail(quiet()))
            .watch([bookmark("2")], End::Close)
            .run_with(no_pause(), |builder| match silence {
                Some(silence) => builder.watch_silence(silence),
                None => builder,
            });
        run.expect(&["list 0 limit=500", "watch 1", "watch 1", "watch 2"]);
        let asked: Vec<_> = run.asked().iter().map(|asked| asked.timeout_seconds).collect();
        let seconds = |at: usize| Duration::from_secs(asked[at].unwrap().into());
        let limit = silence.unwrap_or(30 * SECOND);
        // Two seconds before that comes the bookmark.
        assert!(seconds(2) < limit, "{silence:?}: {asked:?}");
        assert!(seconds(1) >= 300 * SECOND && seconds(3) >= 300 * SECOND, "{silence:?}: {asked:?}");
    }
}

#[test]
fn the_bookmark_before_the_end_of_a_quiet_watch_moves_the_version() {
    // The only bookmarks are the ones before the end.
    let server = ApiServer::builder().bookmark_interval(3600 * SECOND).start().unwrap();
    put(&server, "a", "1");
    let mirror = Mirror::start(server.config(), no_pause(), |builder| {
        builder.streamed_lists(false).watch_silence(4 * SECOND)
    });
    let listed = mirror.catch_up(&server);
    // Nothing that the watch is about.
    let other =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {}});
    server.put(other).unwrap();
    let last = server.resource_version();
    eventually("the bookmark", || mirror.reflector.last_sync_resource_version() == last);
    assert_ne!(listed, last);
    let asked: Vec<_> = server.requests().iter().map(|seen| seen.query.clone()).collect();
    assert!(asked[2].contains(&format!("resourceVersion={listed}&timeoutSeconds=3&")), "{asked:?}");
    // By now it may have ended, but not without the bookmark.
    let from_there = format!("resourceVersion={last}&");
    assert!(asked[3..].iter().all(|query| query.contains(&from_there)), "{asked:?}");
    assert_eq!(mirror.errors(), [""; 0]);
}

const HISTORY: usize = 400;

/// Runs a quiet watch for a while, on a server that forgets its history after 8 seconds at the earliest and whose
/// bookmarks come only 2 seconds before the end of a watch: until that was twice, or there was another list.
/// Gives the queries, and how long it took.
fn quiet_watch(bookmarks: bool) -> (Vec<String>, Duration) {
    let started = Instant::now();
    let server = Arc::new(ApiServer::builder().history(HISTORY).start().unwrap());
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
    let written = || server.resource_version().parse::<usize>().unwrap();
    let enough = written() + 2 * HISTORY;
    eventually("two histories or two lists", || {
        lists(&server) > 1 || bookmarks && written() >= enough
    });
    stop.stop();
    others.join().unwrap();
    delete(&server, "a");
    mirror.wait_for(&server);
    (queries(&server), started.elapsed())
}

#[test]
fn a_quiet_watch_costs_a_request_now_and_then_and_no_list() {
    let (queries, took) = quiet_watch(true);
    assert_eq!(queries.iter().filter(|query| is_list(query)).count(), 1, "{queries:#?}");
    // One for each silence of 4 seconds and each short watch of 3, and the first two.
    assert!(queries.len() as u64 <= 2 + took.as_secs() / 3, "{took:?}: {queries:#?}");
}

#[test]
fn a_quiet_watch_without_bookmarks_outlives_the_history() {
    // Shows that the test above would notice.
    let (queries, _) = quiet_watch(false);
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
        builder.streamed_lists(false).watch_silence(2 * SECOND)
    });
    let watches = || server.lines().iter().filter(|line| line.contains("watch=true")).count();
    eventually("a third watch", || watches() >= 3);
    assert_eq!(mirror.errors(), [""; 0]);
}
