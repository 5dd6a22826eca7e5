//! A stop ends it promptly, whatever it is doing, and nothing is asked for after.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use kinformer::{
    Backoff, Config,
    testing::{ApiServer, Fault, Moment, Verb, When},
};

use crate::{
    mirror::{Mirror, put},
    script::{End, Script},
    support::{added, eventually, no_pause, short_pauses},
};

/// Generous for a busy machine; it is a millisecond on an idle one. Nothing here ends by itself as early.
const PROMPTLY: Duration = Duration::from_secs(20);

const HOUR: Duration = Duration::from_secs(3600);

/// A way to get stuck, and how to know that it is.
struct Stage {
    name: &'static str,
    streamed: bool,
    backoff: Backoff,
    fault: Option<(Verb, Fault)>,
    requests: usize,
}

fn stages() -> Vec<Stage> {
    let stage = |name, streamed, fault, requests| Stage {
        name,
        streamed,
        backoff: no_pause(),
        fault,
        requests,
    };
    let hang = |at| Fault::Hang { at };
    vec![
        stage("waiting for a list", false, Some((Verb::List, hang(Moment::BeforeHead))), 1),
        stage("reading a list", false, Some((Verb::List, hang(Moment::AfterBytes(200)))), 1),
        stage("asking for a stream", true, Some((Verb::Watch, hang(Moment::BeforeHead))), 1),
        stage(
            "reading a streamed list",
            true,
            Some((Verb::Watch, hang(Moment::AfterEvents(1)))),
            1,
        ),
        stage("asking for a watch", false, Some((Verb::Watch, hang(Moment::BeforeHead))), 2),
        stage("reading a watch that hangs", false, Some((Verb::Watch, hang(Moment::AfterHead))), 2),
        stage("idle watch", false, None, 2),
        stage("idle watch after a streamed list", true, None, 1),
        stage("pause after a list", false, Some((Verb::List, Fault::status(500))), 1),
        stage("pause after a stream", true, Some((Verb::Watch, Fault::status(429))), 1),
        stage("pause after a watch", false, Some((Verb::Watch, Fault::status(503))), 2),
        stage(
            "pause the server asks for",
            false,
            Some((Verb::List, Fault::too_many_requests(60))),
            1,
        ),
    ]
}

#[test]
fn a_stop_ends_every_stage() {
    for stage in stages() {
        let server = ApiServer::start().unwrap();
        put(&server, "a", "1");
        put(&server, "b", "1");
        if let Some((verb, fault)) = stage.fault {
            server.inject(When::any().verb(verb).resource("configmaps"), fault);
        }
        let mut mirror = Mirror::start(server.config(), stage.backoff, |builder| {
            builder.streamed_lists(stage.streamed).stream_silence(HOUR).watch_silence(HOUR)
        });
        eventually(stage.name, || server.requests().len() == stage.requests);
        // A moment, so that it gets from the request into what comes after. It may be too short:
        // then the stop comes earlier, and is as good a test.
        let _ = mirror.stop.wait_timeout(Duration::from_millis(30));
        let start = Instant::now();
        mirror.end();
        assert!(start.elapsed() < PROMPTLY, "{}: {:?}", stage.name, start.elapsed());
        assert_eq!(server.requests().len(), stage.requests, "{}", stage.name);
    }
}

#[test]
fn a_stop_ends_an_attempt_to_connect() {
    // Connections to a listener whose queue is full are neither accepted nor refused.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut filling = Vec::new();
    while let Ok(stream) =
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200))
    {
        filling.push(stream);
    }
    for streamed in [true, false] {
        let config = Config::builder(format!("http://{address}")).no_proxy().build().unwrap();
        let mut mirror =
            Mirror::start(config, no_pause(), |builder| builder.streamed_lists(streamed));
        let _ = mirror.stop.wait_timeout(Duration::from_millis(50));
        let start = Instant::now();
        mirror.end();
        assert!(start.elapsed() < PROMPTLY, "{:?}", start.elapsed());
        assert_eq!(mirror.errors(), [""; 0], "a stop is no failure");
    }
}

#[test]
fn stopped_before_it_starts_it_asks_for_nothing() {
    let script = Script::new().list("1", &[]);
    let run = script.run_with(short_pauses(), |builder| builder);
    run.stop.stop();
    let mut late = Script::new().list("1", &[]);
    late = late.watch([added("a", "1")], End::Close);
    drop(run);
    let mut run = late.run();
    run.end();
    let before = run.calls().len();
    // The same reflector again, with a stop that has happened.
    run.reflector.run(&run.stop);
    assert_eq!(run.calls().len(), before);
}

#[test]
fn a_stop_goes_before_events_that_are_left() {
    let mut run = Script::new()
        .list("1", &[])
        .watch_with(|stop| {
            let stop = stop.clone();
            let mut version = 1;
            Ok(kinformer::Watch::from_events(std::iter::from_fn(move || {
                version += 1;
                if version == 5 {
                    stop.stop();
                }
                Some(added("a", &version.to_string()))
            })))
        })
        .run_with(no_pause(), |builder| builder);
    eventually("the stop", || run.stop.is_stopped());
    run.end();
    assert_eq!(run.version(), "4");
}

#[test]
fn a_watch_is_dropped_when_its_session_ends() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let mut mirror = Mirror::start(server.config(), no_pause(), |builder| builder);
    eventually("the watch", || server.watches() == 1);
    mirror.end();
    eventually("its end", || server.watches() == 0 && server.connections() == 0);
}
