use std::{
    io::{ErrorKind, Read},
    time::{Duration, Instant},
};

use kinformer::testing::{ApiServer, Fault, Moment, StatusFault, StatusForm, Verb, When};
use serde_json::{Value, json};

use crate::{
    client::{Http, LIMIT, Watch, ask, eventually, get},
    lists::map,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=true&allowWatchBookmarks=true";
const STREAM: &str = "/api/v1/namespaces/default/configmaps?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

fn server() -> ApiServer {
    let server = ApiServer::start().unwrap();
    for name in ["a", "b", "c"] {
        server.create(map(name)).unwrap();
    }
    server
}

fn raw(server: &ApiServer, target: &str) -> Http {
    let mut http = Http::connect(server);
    http.send("GET", target, "", b"");
    http
}

/// What a client sees after the last byte: nothing for so long, an end, or a reset. Those two may take their time.
fn end(http: &mut Http, expected: &str) -> &'static str {
    let patience = if expected == "silent" { Duration::from_millis(300) } else { LIMIT };
    http.stream.set_read_timeout(Some(patience)).unwrap();
    let mut rest = [0; 1];
    match http.stream.read(&mut rest) {
        Ok(0) => "closed",
        Ok(_) => "more",
        Err(error) if error.kind() == ErrorKind::ConnectionReset => "reset",
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            "silent"
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_status_comes_as_often_as_asked_and_only_to_those_selected() {
    let server = server();
    let when = When::any().verb(Verb::List).resource("configmaps").namespace("default");
    server.inject(when.after(1).times(2), Fault::too_many_requests(7));
    let codes: Vec<u16> = (0..5)
        .map(|_| {
            assert_eq!(get(&server, "/api/v1/configmaps").0, 200, "another namespace");
            assert_eq!(get(&server, &format!("{MAPS}/a")).0, 200, "another verb");
            get(&server, MAPS).0
        })
        .collect();
    assert_eq!(codes, [200, 429, 429, 200, 200]);
    assert_eq!(server.pending_faults(), 0);
    server.inject(When::any().once(), Fault::too_many_requests(7));
    let answer = Http::connect(&server).ask("GET", MAPS, "", b"");
    assert_eq!((answer.code, answer.header("retry-after")), (429, Some("7")));
    assert_eq!(answer.json()["details"]["retryAfterSeconds"], 7);
    server.inject(When::any(), Fault::status(503));
    assert_eq!(get(&server, MAPS).0, 503);
    server.clear_faults();
    assert_eq!(get(&server, MAPS).0, 200);
}

#[test]
fn a_status_can_look_like_anything() {
    let server = server();
    for (form, content_type, start) in [
        (StatusForm::Json, "application/json", "{\"apiVersion\""),
        (StatusForm::Pretty, "application/json", "{\n  \""),
        (StatusForm::Text, "text/plain; charset=utf-8", "away"),
        (StatusForm::Html, "text/html", "<html>"),
    ] {
        let status = StatusFault::new(502).message("away").reason("Away").form(form);
        server.inject(When::any().once(), Fault::Status(status));
        let answer = Http::connect(&server).ask("GET", MAPS, "", b"");
        assert_eq!((answer.code, answer.header("content-type")), (502, Some(content_type)));
        let body = String::from_utf8(answer.body).unwrap();
        assert!(body.starts_with(start), "{body}");
    }
}

#[test]
fn connections_end_before_the_head_in_each_way() {
    let server = server();
    for (fault, expected) in [
        (Fault::Reset { at: Moment::BeforeHead }, "reset"),
        (Fault::Close { at: Moment::BeforeHead }, "closed"),
        (Fault::Hang { at: Moment::BeforeHead }, "silent"),
    ] {
        server.inject(When::any().once(), fault);
        assert_eq!(end(&mut raw(&server, MAPS), expected), expected);
    }
    eventually("no connection is left", || server.connections() == 0);
}

#[test]
fn connections_end_in_the_body_in_each_way() {
    let server = server();
    for (at, length) in [(Moment::AfterHead, 0), (Moment::AfterBytes(10), 10)] {
        for (fault, expected) in [
            (Fault::Reset { at }, "reset"),
            (Fault::Close { at }, "closed"),
            (Fault::Hang { at }, "silent"),
        ] {
            server.inject(When::any().once(), fault);
            let mut http = Http::connect(&server);
            http.send("GET", MAPS, "", b"");
            if expected == "reset" {
                // It may take with it what has not been read: the end is what counts.
                while end(&mut http, expected) == "more" {}
                continue;
            }
            let mut text = String::new();
            while text.split_once("\r\n\r\n").is_none_or(|(_, body)| body.len() < length) {
                let mut byte = [0];
                http.stream.read_exact(&mut byte).unwrap();
                text.push(byte[0].into());
            }
            assert!(text.starts_with("HTTP/1.1 200"), "{text}");
            assert_eq!(end(&mut http, expected), expected, "{text}");
        }
    }
}

#[test]
fn a_watch_ends_after_events_in_each_way() {
    let server = server();
    for (fault, expected) in [
        (Fault::Reset { at: Moment::AfterEvents(2) }, "reset"),
        (Fault::Close { at: Moment::AfterEvents(2) }, "closed"),
        (Fault::Hang { at: Moment::AfterEvents(2) }, "silent"),
    ] {
        server.inject(When::any().verb(Verb::Watch).once(), fault);
        let mut watch = Watch::start(&server, WATCH);
        if expected != "reset" {
            // A reset may take with it what has not been read.
            assert_eq!(watch.brief(), "ADDED a");
            assert_eq!(watch.brief(), "ADDED b");
        } else {
            while watch.next().is_some() {}
        }
        let found = end(&mut watch.http, expected);
        assert!(found == expected || expected == "reset", "{found}");
    }
}

#[test]
fn a_body_comes_drop_by_drop() {
    let server = server();
    server.inject(When::any().once(), Fault::Drip { bytes: 100, pause_ms: 20 });
    let start = Instant::now();
    let answer = Http::connect(&server).ask("GET", MAPS, "", b"");
    let drops = answer.body.len() / 100;
    assert!(start.elapsed() >= Duration::from_millis(20 * drops as u64));
    assert_eq!(answer.json()["kind"], "ConfigMapList");
}

#[test]
fn a_chunk_is_cut_off() {
    let server = server();
    server.inject(When::any().verb(Verb::Watch).once(), Fault::TruncateChunk { after_events: 1 });
    let mut watch = Watch::start(&server, WATCH);
    assert_eq!(watch.brief(), "ADDED a");
    assert!(watch.next().is_none());
    assert_eq!(end(&mut watch.http, "closed"), "closed");
    server.inject(When::any().once(), Fault::TruncateChunk { after_events: 0 });
    assert!(raw(&server, MAPS).answer().is_none());
}

#[test]
fn bookmarks_are_withheld() {
    let server = ApiServer::builder().bookmark_interval(Duration::from_millis(20)).start().unwrap();
    server
        .inject(When::any().verb(Verb::Watch).once(), Fault::WithholdBookmarks { initial: false });
    let mut watch = Watch::start(&server, STREAM);
    assert_eq!(watch.brief(), "BOOKMARK -", "the initial one comes");
    watch.http.stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(watch.next().is_none(), "others do not");

    server.inject(When::any().verb(Verb::Watch).once(), Fault::WithholdBookmarks { initial: true });
    let mut watch = Watch::start(&server, STREAM);
    server.create(map("z")).unwrap();
    assert_eq!(watch.brief(), "ADDED z", "not even the initial one");
}

#[test]
fn a_page_token_expires_in_the_middle_of_a_list() {
    let server = server();
    server.inject(When::any().verb(Verb::List).once(), Fault::ExpireContinue);
    let (code, first) = get(&server, &format!("{MAPS}?limit=1"));
    assert_eq!(code, 200, "the first page has no token to expire");
    let token = first["metadata"]["continue"].as_str().unwrap();
    let next = format!("{MAPS}?limit=1&continue={token}");
    let (code, status) = get(&server, &next);
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    assert!(status["metadata"]["continue"].is_string());
    assert_eq!(get(&server, &next).0, 200, "once");
}

#[test]
fn an_error_event_ends_a_watch() {
    let server = server();
    server.inject(When::any().verb(Verb::Watch).once(), Fault::expired_after(1));
    let mut watch = Watch::start(&server, WATCH);
    assert_eq!(watch.brief(), "ADDED a");
    let error = watch.next().unwrap();
    assert_eq!((&error["type"], &error["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert!(watch.next().is_none());
    let status = StatusFault::new(500);
    server.inject(When::any().once(), Fault::WatchError { after_events: 0, status });
    let mut watch = Watch::start(&server, WATCH);
    assert_eq!(watch.next().unwrap()["object"]["code"], 500);
    assert!(watch.next().is_none(), "nothing follows it, though there is an object");
    assert_eq!(watch.http.ask("GET", MAPS, "", b"").code, 200, "and the connection is kept");
}

#[test]
fn garbage_comes_instead_of_json() {
    let server = server();
    server.inject(When::any().verb(Verb::List).once(), Fault::Garbage { after_events: 0 });
    let answer = Http::connect(&server).ask("GET", MAPS, "", b"");
    assert_eq!(answer.code, 200);
    assert!(serde_json::from_slice::<Value>(&answer.body).is_err());
    server.inject(When::any().verb(Verb::Watch).once(), Fault::Garbage { after_events: 1 });
    let mut watch = Watch::start(&server, WATCH);
    assert_eq!(watch.brief(), "ADDED a");
    let chunk = watch.http.chunk().unwrap();
    assert!(serde_json::from_slice::<Value>(&chunk).is_err());
}

#[test]
fn events_come_twice_or_late() {
    let server = server();
    server.inject(When::any().verb(Verb::Watch).once(), Fault::DuplicateEvents);
    let mut watch = Watch::start(&server, WATCH);
    let seen: Vec<String> = (0..4).map(|_| watch.brief()).collect();
    assert_eq!(seen, ["ADDED a", "ADDED a", "ADDED b", "ADDED b"]);
    server.inject(When::any().verb(Verb::Watch).once(), Fault::LateEvents { delay_ms: 50 });
    let start = Instant::now();
    let mut watch = Watch::start(&server, WATCH);
    for _ in 0..3 {
        watch.next().unwrap();
    }
    assert!(start.elapsed() >= Duration::from_millis(150));
}

#[test]
fn compressed_bodies_are_spoilt() {
    let server = server();
    server.inject(When::any().once(), Fault::CorruptGzip { after_events: 0 });
    let mut http = Http::connect(&server);
    let answer = http.ask("GET", MAPS, "Accept-Encoding: gzip\r\n", b"");
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    let mut text = String::new();
    assert!(flate2::read::GzDecoder::new(&answer.body[..]).read_to_string(&mut text).is_err());
}

#[test]
fn a_compressed_watch_is_spoilt_in_the_middle_of_an_event() {
    let server = server();
    server.inject(When::any().once(), Fault::CorruptGzip { after_events: 1 });
    let mut http = raw(&server, WATCH);
    let (_, headers) = http.head().unwrap();
    assert!(headers.contains("Content-Encoding: gzip"), "{headers}");
    let mut read = || {
        let (chunk, mut text) = (http.chunk().unwrap(), String::new());
        let result = flate2::read::GzDecoder::new(&chunk[..]).read_to_string(&mut text);
        (text, result.is_ok())
    };
    let (event, whole) = read();
    assert!(whole && event.ends_with("}\n"), "{event}");
    let (part, whole) = read();
    assert!(!whole && !part.is_empty() && event.starts_with(&part), "{part}");
    assert!(!read().1, "no part of a member");
}

#[test]
fn faults_are_controlled_over_http() {
    let server = ApiServer::builder().control(true).start().unwrap();
    let fault = json!({"when": {"verb": "list", "times": 1},
        "fault": {"status": {"code": 503, "retryAfter": 1}}});
    let (code, answer) = ask(&server, "POST", "/_testing/faults", &fault);
    assert_eq!((code, &answer["status"]), (200, &json!("Success")));
    let (_, pending) = get(&server, "/_testing/faults");
    assert_eq!(pending["pending"][0]["when"], fault["when"]);
    assert_eq!(get(&server, MAPS).0, 503);
    assert_eq!(get(&server, MAPS).0, 200);
    ask(&server, "POST", "/_testing/faults", &json!({"fault": "duplicateEvents"}));
    ask(&server, "DELETE", "/_testing/faults", &Value::Null);
    assert_eq!(get(&server, "/_testing/faults").1["pending"], json!([]));
    let (code, status) = ask(&server, "POST", "/_testing/faults", &json!({"fault": "boredom"}));
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")));

    let revision = server.resource_version();
    server.create(map("a")).unwrap();
    assert_eq!(ask(&server, "POST", "/_testing/compact", &Value::Null).0, 200);
    let mut old = Watch::start(&server, &format!("{MAPS}?watch=1&resourceVersion={revision}"));
    assert_eq!(old.next().unwrap()["object"]["code"], 410);
    let mut watch = Watch::start(&server, &format!("{MAPS}?watch=1"));
    assert_eq!(watch.brief(), "ADDED a");
    assert_eq!(ask(&server, "POST", "/_testing/drop-connections", &Value::Null).0, 200);
    assert!(watch.next().is_none());
    assert_eq!(get(&server, "/_testing/poem").0, 404);
    assert_eq!(get(&server, "/_testing/compact").0, 405);

    let without = ApiServer::start().unwrap();
    assert_eq!(get(&without, "/_testing/faults").0, 404, "off unless asked for");
}
