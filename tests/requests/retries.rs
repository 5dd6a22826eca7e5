//! When a request is sent again, and when not.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use kinformer::{
    Client, DeleteOptions, Error, ListOptions, LogOptions, Patch, Result, StopToken,
    config::Timeouts,
};
use serde_json::json;

use crate::support::{Gate, LIMIT, POD, Reply, Request, Reserved, Server, client, pods, status};

type Call = fn(&Client) -> Result<()>;

fn get(client: &Client) -> Result<()> {
    client.dynamic(&pods()).namespace("a").get("web-0").map(drop)
}

fn create(client: &Client) -> Result<()> {
    client.dynamic(&pods()).namespace("a").create(&json!({"metadata": {"name": "web-0"}})).map(drop)
}

/// One call of each kind, with the method it sends.
const CALLS: &[(&str, &str, Call)] = &[
    ("get", "GET", get),
    ("list", "GET", |client| client.dynamic(&pods()).list(&ListOptions::new()).map(drop)),
    ("watch", "GET", |client| client.dynamic(&pods()).watch(&ListOptions::new()).map(drop)),
    ("log", "GET", |client| {
        client.dynamic(&pods()).namespace("a").logs("web-0", &LogOptions::new()).map(drop)
    }),
    ("create", "POST", create),
    ("replace", "PUT", |client| {
        client.dynamic(&pods()).namespace("a").replace("web-0", &json!({"a": "b"})).map(drop)
    }),
    ("patch", "PATCH", |client| {
        let patch = Patch::Merge(json!({"a": "b"}));
        client.dynamic(&pods()).namespace("a").patch("web-0", &patch).map(drop)
    }),
    ("apply", "PATCH", |client| {
        let pods = client.dynamic(&pods()).namespace("a").field_manager("me");
        pods.apply("web-0", &json!({"a": "b"})).map(drop)
    }),
    ("delete", "DELETE", |client| client.dynamic(&pods()).namespace("a").delete("web-0").map(drop)),
    ("delete_collection", "DELETE", |client| {
        let pods = client.dynamic(&pods()).namespace("a");
        pods.delete_collection(&DeleteOptions::new(), &ListOptions::new())
    }),
    ("evict", "POST", |client| {
        client.dynamic(&pods()).namespace("a").evict("web-0", &DeleteOptions::new())
    }),
    ("version", "GET", |client| client.server_version().map(drop)),
];

/// What each of the calls takes for a success.
fn success(request: &Request) -> Reply {
    match request.path() {
        path if path.ends_with("/pods") && request.method == "GET" => {
            Reply::json(200, r#"{"kind":"PodList","items":[]}"#)
        }
        _ => Reply::json(200, POD),
    }
}

/// A server that fails as told for a number of requests.
fn failing(times: usize, failure: impl Fn() -> Reply + Send + Sync + 'static) -> Server {
    let left = std::sync::atomic::AtomicUsize::new(times);
    Server::start(move |request| {
        use std::sync::atomic::Ordering::SeqCst;
        match left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => failure(),
            Err(_) => success(request),
        }
    })
}

/// How many requests were sent, and what came of them.
fn attempts(server: &Server, call: Call, retries: u32) -> (usize, Result<()>) {
    let client = client(server.config().max_retries(retries).token("fixed"));
    let result = call(&client);
    (server.requests().len(), result)
}

#[test]
fn a_429_with_retry_after_is_retried_for_every_verb_with_the_whole_request() {
    for (name, method, call) in CALLS {
        let server = failing(2, || Reply::retry(429, "0"));
        let (sent, result) = attempts(&server, *call, 10);
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(sent, 3, "{name}");
        let requests = server.requests();
        for request in &requests {
            assert_eq!(request.method, *method, "{name}");
            assert_eq!(request.line(), requests[0].line(), "{name}");
            assert_eq!(request.body, requests[0].body, "{name}");
            assert_eq!(request.header("content-type"), requests[0].header("content-type"));
            assert_eq!(request.header("authorization").unwrap(), "Bearer fixed");
        }
    }
}

#[test]
fn a_5xx_with_retry_after_is_retried_for_verbs_that_may_happen_twice() {
    for code in [500, 501, 503, 504] {
        for (name, method, call) in CALLS {
            let server = failing(1, move || Reply::retry(code, "0"));
            let (sent, result) = attempts(&server, *call, 10);
            if matches!(*method, "GET" | "PUT" | "DELETE") {
                result.unwrap_or_else(|error| panic!("{name} {code}: {error}"));
                assert_eq!(sent, 2, "{name} {code}");
            } else {
                assert_eq!(result.unwrap_err().status().unwrap().code, code, "{name}");
                assert_eq!(sent, 1, "{name} {code}");
            }
        }
    }
}

#[test]
fn without_a_retry_after_of_whole_seconds_nothing_is_retried() {
    let date = "Wed, 21 Oct 2099 07:28:00 GMT";
    for code in [429, 500, 503] {
        for header in [None, Some(""), Some("soon"), Some("1.5"), Some("-1"), Some(date)] {
            let server = failing(1, move || {
                let headers: Vec<_> = header.iter().map(|value| ("Retry-After", *value)).collect();
                Reply::new(code, &headers, "")
            });
            let (sent, result) = attempts(&server, get, 10);
            assert_eq!(result.unwrap_err().status().unwrap().code, code, "{header:?}");
            assert_eq!(sent, 1, "{code} {header:?}");
        }
    }
}

#[test]
fn other_codes_are_not_retried_whatever_they_ask_for() {
    for code in [301, 307, 400, 403, 404, 409, 410, 422] {
        let server = failing(1, move || Reply::retry(code, "0"));
        let (sent, result) = attempts(&server, get, 10);
        assert_eq!((sent, result.unwrap_err().status().unwrap().code), (1, code));
    }
}

#[test]
fn there_are_so_many_retries_and_no_more() {
    for retries in [0, 1, 3] {
        let server = failing(usize::MAX, || Reply::retry(429, "0"));
        let (sent, result) = attempts(&server, create, retries);
        let error = result.unwrap_err();
        assert!(error.is_too_many_requests(), "{error}");
        assert_eq!(sent, retries as usize + 1);
    }
    let server = failing(usize::MAX, || Reply::retry(429, "0"));
    create(&server.client()).unwrap_err();
    assert_eq!(server.requests().len(), 11, "10 by default");
    let server = failing(1, || Reply::retry(429, "0"));
    let (sent, result) = attempts(&server, create, 1);
    assert!(result.is_ok() && sent == 2, "one is enough for one");
}

#[test]
fn the_server_is_given_the_time_it_asks_for() {
    let server = failing(1, || Reply::retry(429, "1"));
    attempts(&server, create, 1).1.unwrap();
    let requests = server.requests();
    let waited = requests[1].at - requests[0].at;
    assert!(waited >= Duration::from_millis(990), "{waited:?}");
}

#[test]
fn what_the_server_asked_for_is_in_the_last_error() {
    let server = failing(9, || Reply::retry(429, "0"));
    let error = attempts(&server, get, 1).1.unwrap_err();
    assert_eq!(error.retry_after(), None, "0 is no wait");
    let server = failing(9, || Reply::retry(503, "7"));
    let error = attempts(&server, get, 0).1.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    // In the header only, with a Status that does not repeat it.
    let server = failing(9, || {
        Reply::new(429, &[("Retry-After", "8")], status(429, "TooManyRequests", "busy"))
    });
    let error = attempts(&server, get, 0).1.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(8)));
}

#[test]
fn a_wait_beyond_the_time_limit_of_the_call_is_not_begun() {
    let server = failing(1, || Reply::retry(429, "9999"));
    let mut timeouts = Timeouts::default();
    timeouts.request = Duration::from_secs(20);
    let started = Instant::now();
    let error = get(&client(server.config().timeouts(timeouts))).unwrap_err();
    assert!(error.is_too_many_requests());
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_wait_ends_at_once_when_the_call_is_stopped() {
    let server = failing(1, || Reply::retry(429, "25"));
    let stop = StopToken::new();
    let client = server.client().with_stop(&stop);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| create(&client));
        server.wait_for_requests(1);
        stop.stop();
        assert!(waiting.join().unwrap().unwrap_err().is_stopped());
    });
    assert!(started.elapsed() < Duration::from_secs(15));
    assert!(get(&client).unwrap_err().is_stopped(), "nothing is sent after the stop");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_stop_ends_a_request_in_flight() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request| match request.path() {
        "/version" => Reply::raw("").wait(&held),
        _ => Reply::json(200, POD),
    });
    let stop = StopToken::new();
    let client = server.client().with_stop(&stop);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| client.server_version());
        server.wait_for_requests(1);
        stop.stop();
        assert!(waiting.join().unwrap().unwrap_err().is_stopped());
    });
    gate.open();
}

/// A name, and the answer.
type Break = (&'static str, fn() -> Reply);

#[test]
fn a_get_or_list_is_sent_again_after_the_connection_broke_before_the_answer() {
    let breaks: [Break; 3] = [
        ("closed", Reply::hang_up),
        ("reset", Reply::reset),
        ("half a head", || Reply::raw("HTTP/1.1 200 OK\r\nContent-Ty").close()),
    ];
    // Each of them waits for a second, so all at once.
    std::thread::scope(|scope| {
        for (how, reply) in breaks {
            for call in CALLS {
                scope.spawn(move || check_after_break(how, reply, call));
            }
        }
    });
}

fn check_after_break(how: &str, reply: fn() -> Reply, (name, method, call): &(&str, &str, Call)) {
    let server = failing(1, reply);
    let (sent, result) = attempts(&server, *call, 1);
    let again = *method == "GET" && !matches!(*name, "watch" | "log");
    assert_eq!(sent, if again { 2 } else { 1 }, "{name} {how}: {result:?}");
    assert_eq!(result.is_ok(), again, "{name} {how}: {result:?}");
    if let Err(error) = result {
        let disconnect = matches!(&error, Error::Transport(error) if error.is_disconnect());
        assert!(disconnect, "{name} {how}: {error:?}");
    }
}

#[test]
fn broken_connections_count_against_the_retries() {
    for retries in [0, 1] {
        let server = failing(usize::MAX, Reply::hang_up);
        let (sent, result) = attempts(&server, get, retries);
        assert_eq!(sent, retries as usize + 1);
        assert!(matches!(result.unwrap_err(), Error::Transport(error) if error.is_disconnect()));
    }
}

#[test]
fn an_answer_that_breaks_off_is_an_error_and_not_retried() {
    for (name, call) in [("get", get as Call), ("create", create)] {
        let server = failing(1, || {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
            Reply::raw(format!("{head}Content-Length: 500\r\n\r\n{{\"metadata\":")).close()
        });
        let (sent, result) = attempts(&server, call, 3);
        let error = result.unwrap_err();
        assert!(matches!(&error, Error::Transport(error) if error.is_disconnect()), "{error:?}");
        assert_eq!(sent, 1, "{name}");
    }
}

#[test]
fn nobody_listening_is_an_error_at_once() {
    let nobody = Reserved::new();
    let config = kinformer::Config::builder(format!("http://{}", nobody.address)).no_proxy();
    let config = config.max_retries(120);
    let started = Instant::now();
    let error = get(&client(config)).unwrap_err();
    assert!(error.is_connection_refused(), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(60), "each retry would take a second");
}

#[test]
fn a_resource_version_from_the_future_is_the_callers_to_wait_for() {
    let body = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504,
        "message":"Too large resource version: 99, current: 3","details":{"retryAfterSeconds":1,
        "causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}}"#;
    let server = failing(usize::MAX, move || {
        Reply::new(504, &[("Content-Type", "application/json"), ("Retry-After", "1")], body)
    });
    let pods = server.client().dynamic(&pods());
    let error = pods.list(&ListOptions::new().resource_version("99")).unwrap_err();
    assert!(error.is_too_large_resource_version());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_401_with_a_fixed_token_is_final() {
    let server = failing(1, || Reply::json(401, status(401, "Unauthorized", "Unauthorized")));
    let (sent, result) = attempts(&server, get, 10);
    assert!(result.unwrap_err().is_unauthorized());
    assert_eq!(sent, 1);
}

#[test]
fn a_401_is_answered_once_with_a_token_that_changed_on_disk() {
    let path = std::env::temp_dir().join(format!("kinf-requests-token-{}", std::process::id()));
    std::fs::write(&path, "old").unwrap();
    let server = Server::start(|request| match request.header("authorization").as_deref() {
        Some("Bearer new") => Reply::json(200, POD),
        _ => Reply::json(401, status(401, "Unauthorized", "Unauthorized")),
    });
    let client = client(server.config().token_file(&path));
    assert!(get(&client).unwrap_err().is_unauthorized());
    assert_eq!(server.requests().len(), 1, "the file says the same: no use in asking again");
    std::fs::write(&path, "new").unwrap();
    get(&client).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(server.requests().len() <= 3, "at most one more try");
}

#[test]
fn a_watch_waits_as_it_is_asked_to_before_it_streams() {
    let server = Server::in_turn([
        Reply::retry(429, "0"),
        Reply::stream().chunk(format!(r#"{{"type":"ADDED","object":{POD}}}"#)).end(),
    ]);
    let client = server.client();
    assert_eq!(client.dynamic(&pods()).watch(&ListOptions::new()).unwrap().count(), 1);
    assert_eq!(server.requests().len(), 2);
    let server = failing(usize::MAX, || Reply::retry(429, "0"));
    let (sent, result) =
        attempts(&server, |client| client.dynamic(&pods()).watch(&ListOptions::new()).map(drop), 2);
    assert!(result.unwrap_err().is_too_many_requests());
    assert_eq!(sent, 3);
}

#[test]
fn the_attempts_to_open_a_watch_or_a_log_take_no_longer_than_a_request_may() {
    let mut timeouts = Timeouts::default();
    timeouts.request = Duration::from_secs(20);
    for (_, _, call) in CALLS.iter().filter(|(name, ..)| matches!(*name, "watch" | "log")) {
        let server = failing(1, || Reply::retry(429, "30"));
        let started = Instant::now();
        let error = call(&client(server.config().timeouts(timeouts.clone()))).unwrap_err();
        assert!(error.is_too_many_requests());
        assert!(started.elapsed() < Duration::from_secs(15));
    }
}

#[test]
fn a_watch_that_may_not_be_silent_at_all_is_refused() {
    let server = Server::in_turn([]);
    let options = ListOptions::new().silence(Duration::ZERO);
    let error = server.client().dynamic(&pods()).watch(&options).unwrap_err();
    assert!(error.to_string().contains("silence"), "{error}");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_watch_that_is_refused_says_why() {
    let refused = |reply: fn() -> Reply| {
        let server = failing(1, reply);
        let error = server.client().dynamic(&pods()).watch(&ListOptions::new()).unwrap_err();
        assert_eq!(server.requests().len(), 1);
        error
    };
    let error = refused(|| Reply::json(403, status(403, "Forbidden", "pods is forbidden")));
    assert!(error.is_forbidden() && error.to_string().contains("pods is forbidden"), "{error}");
    assert!(refused(|| Reply::new(401, &[], "")).is_unauthorized());
    assert!(refused(|| Reply::new(403, &[], "")).is_forbidden());
    assert!(refused(|| Reply::json(410, status(410, "Expired", "too old"))).is_expired());
}

#[test]
fn the_connection_is_kept_between_calls_and_between_tries() {
    let server = failing(2, || Reply::retry(429, "0"));
    let client = server.client();
    for (_, _, call) in CALLS.iter().filter(|(name, ..)| !matches!(*name, "watch" | "log")) {
        call(&client).unwrap();
    }
    let requests = server.requests();
    assert!(requests.len() >= CALLS.len());
    assert!(requests.iter().all(|request| request.connection == 0), "{requests:#?}");
}

#[test]
fn a_connection_that_the_server_closed_meanwhile_costs_nobody_an_error() {
    let server = Server::start(|_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        Reply::raw(format!("{head}Content-Length: {}\r\n\r\n{POD}", POD.len())).close()
    });
    let client = client(server.config().max_retries(0));
    // A write cannot be repeated, so the connection must be known to be good before it is used.
    for (at, call) in [create as Call, create, get, create, get].into_iter().enumerate() {
        call(&client).unwrap();
        server.wait_for_closed(at + 1);
    }
}

#[test]
fn a_call_that_timed_out_leaves_no_connection_behind_that_could_mix_up_answers() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request| match request.path() {
        "/slow" => {
            Reply::raw("").wait(&held).bytes("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
        }
        _ => Reply::new(200, &[], "fast"),
    });
    let mut timeouts = Timeouts::default();
    timeouts.request = Duration::from_secs(2);
    let client = client(server.config().timeouts(timeouts).max_retries(0));
    let started = Instant::now();
    let error = client.get_raw("/slow").unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(started.elapsed() < LIMIT);
    gate.open();
    assert_eq!(client.get_raw("/fast").unwrap(), b"fast");
    let requests = server.requests();
    assert_ne!(requests[0].connection, requests[1].connection);
}

#[test]
fn a_call_that_hangs_holds_up_no_other() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request| match request.path() {
        "/slow" => {
            Reply::raw("").wait(&held).bytes("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
        }
        _ => Reply::new(200, &[], "fast"),
    });
    let client = server.client();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| client.get_raw("/slow"));
        server.wait_for_requests(1);
        assert_eq!(client.get_raw("/fast").unwrap(), b"fast");
        gate.open();
        assert_eq!(slow.join().unwrap().unwrap(), b"slow");
    });
}

#[test]
fn what_failed_before_is_said_if_it_was_something_else() {
    // First the connection breaks, then nobody listens any more.
    let place = Reserved::new();
    let listener = TcpListener::bind(place.address).unwrap();
    let url = format!("http://{}", place.address);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            drop((stream, listener));
        });
        let config = kinformer::Config::builder(url).no_proxy().max_retries(1);
        let error = get(&client(config)).unwrap_err();
        assert!(error.is_connection_refused(), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with("connect: 127.0.0.1:"), "the phase once: {text}");
        assert!(text.contains(" (before that: "), "{text}");
    });
}
