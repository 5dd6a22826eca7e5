//! Watches: frames are JSON values, events come as soon as they are whole, trouble is told apart.

use std::{sync::mpsc, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kinformer::{DynamicObject, Error, ListOptions, Result, StopToken, Watch, WatchEvent, labels};

use crate::support::{Gate, LIMIT, POD, Reply, Server, client, pods, status};

fn frame(kind: &str, name: &str) -> String {
    format!(
        r#"{{"type":"{kind}","object":{{"metadata":{{"name":"{name}","resourceVersion":"7"}}}}}}"#
    )
}

/// As `ADDED a`, `BOOKMARK 9`, `ERROR 410`, or the kind of error.
fn shown(event: &Result<WatchEvent<DynamicObject>>) -> String {
    match event {
        Ok(WatchEvent::Added(object)) => format!("ADDED {}", object.name()),
        Ok(WatchEvent::Modified(object)) => format!("MODIFIED {}", object.name()),
        Ok(WatchEvent::Deleted(object)) => format!("DELETED {}", object.name()),
        Ok(WatchEvent::Bookmark(bookmark)) => format!("BOOKMARK {}", bookmark.resource_version),
        Ok(WatchEvent::Error(status)) => format!("ERROR {}", status.code),
        Ok(other) => format!("{other:?}"),
        Err(Error::Decode(_)) => "decode".to_owned(),
        Err(Error::Transport(_)) => "transport".to_owned(),
        Err(Error::Stopped) => "stopped".to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

fn watch(server: &Server) -> Result<Watch<DynamicObject>> {
    server.client().dynamic(&pods()).watch(&ListOptions::new())
}

/// All that comes of a watch with this answer.
fn events(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Vec<String> {
    let server = Server::start(move |_| reply());
    watch(&server).unwrap().map(|event| shown(&event)).collect()
}

/// The same for a body that ends as it should.
fn events_of(body: impl Into<Vec<u8>>) -> Vec<String> {
    let body = body.into();
    events(move || Reply::stream().chunk(&body).end())
}

#[test]
fn all_five_kinds_of_events_come_in_order_and_then_the_end() {
    let body = [
        frame("ADDED", "a"),
        frame("MODIFIED", "a"),
        frame("DELETED", "a"),
        r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}}"#.into(),
        format!(r#"{{"type":"ERROR","object":{}}}"#, status(410, "Expired", "too old")),
    ];
    assert_eq!(
        events_of(body.join("\n") + "\n"),
        ["ADDED a", "MODIFIED a", "DELETED a", "BOOKMARK 9", "ERROR 410"]
    );
    assert_eq!(events_of(""), [""; 0], "a watch without events");
    assert_eq!(events_of(" \n\r\n\t"), [""; 0], "white space is no event");
}

#[test]
fn frames_are_values_whatever_stands_between_them() {
    let (one, two) = (frame("ADDED", "a"), frame("DELETED", "b"));
    for body in [
        format!("{one}\n{two}\n"),
        format!("{one}\r\n\r\n{two}"),
        format!("{one}{two}"),
        format!("  {one}\t {two}\n"),
    ] {
        assert_eq!(events_of(body.as_str()), ["ADDED a", "DELETED b"], "{body:?}");
    }
}

#[test]
fn frames_may_be_indented_and_have_braces_and_breaks_in_strings() {
    let value = serde_json::json!({"type": "ADDED", "object": {"metadata": {"name": "a",
        "annotations": {"x": "}\n{\"\\", "y": "{[\u{1F600}\u{0}"}}}});
    let body = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(events_of(format!("{body}\n\n{body}")), ["ADDED a", "ADDED a"]);
    let server = Server::start(move |_| Reply::stream().chunks_of(1, &body).end());
    let event = watch(&server).unwrap().next().unwrap().unwrap();
    let WatchEvent::Added(object) = event else { panic!() };
    assert_eq!(object.annotations().get("x").as_deref(), Some("}\n{\"\\"));
}

#[test]
fn members_of_a_frame_come_in_any_order_with_others_between() {
    let object = r#"{"metadata":{"name":"a"}}"#;
    for body in [
        format!(r#"{{"object":{object},"type":"ADDED"}}"#),
        format!(r#"{{"x":[1,{{"type":"DELETED"}}],"object":{object},"type":"ADDED","y":null}}"#),
        format!(r#"{{"t\u0079pe":"\u0041DDED","object":{object}}}"#),
    ] {
        assert_eq!(events_of(body.as_str()), ["ADDED a"], "{body}");
    }
}

#[test]
fn chunks_have_no_meaning() {
    let body =
        frame("ADDED", "a") + "\n" + &frame("MODIFIED", "caf\u{e9}") + &frame("DELETED", "a");
    let expected = ["ADDED a", "MODIFIED caf\u{e9}", "DELETED a"];
    for size in [1, 2, 3, 7, 64, 100, 10_000] {
        let body = body.clone();
        let found = events(move || Reply::stream().chunks_of(size, &body).end());
        assert_eq!(found, expected, "chunks of {size}");
    }
}

#[test]
fn a_watch_without_chunks_ends_with_its_length_or_its_connection() {
    let body = frame("ADDED", "a");
    let whole = body.clone();
    assert_eq!(events(move || Reply::json(200, &whole)), ["ADDED a"]);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
    assert_eq!(events(move || Reply::raw(format!("{head}{body}")).close()), ["ADDED a"]);
}

#[test]
fn an_event_is_delivered_with_its_last_byte() {
    let gate = Gate::default();
    let held = gate.clone();
    // No line break and no next frame: nothing but the closing brace says that it is whole.
    let server = Server::start(move |_| {
        let first = frame("ADDED", "a");
        let (head, tail) = first.split_at(20);
        let reply = Reply::stream().chunk(head).chunk(tail).wait(&held);
        reply.chunk(frame("DELETED", "a")).end()
    });
    let watch = watch(&server).unwrap();
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for event in watch {
                send.send(shown(&event)).unwrap();
            }
        });
        assert_eq!(receive.recv_timeout(LIMIT).unwrap(), "ADDED a");
        assert_eq!(receive.try_recv(), Err(mpsc::TryRecvError::Empty));
        gate.open();
        assert_eq!(receive.recv_timeout(LIMIT).unwrap(), "DELETED a");
    });
}

#[test]
fn an_error_event_is_an_item_and_not_the_end() {
    let body = format!(
        "{}{{\"type\":\"ERROR\",\"object\":{}}}{}",
        frame("ADDED", "a"),
        status(500, "InternalError", "oh"),
        frame("ADDED", "b")
    );
    assert_eq!(events_of(body), ["ADDED a", "ERROR 500", "ADDED b"]);
}

#[test]
fn an_error_event_carries_the_whole_status() {
    let body = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",
        "message":"too old resource version: 1 (5)","reason":"Expired","code":410}}"#;
    let server = Server::start(move |_| Reply::stream().chunk(body).end());
    let event = watch(&server).unwrap().next().unwrap().unwrap();
    let WatchEvent::Error(status) = event else { panic!() };
    assert!(status.is(kinformer::Reason::Expired));
    assert!(status.message.contains("too old"));
}

#[test]
fn an_error_event_that_is_no_status_is_an_internal_error() {
    for object in [r#"{"kind":"Pod","metadata":{"name":"a"}}"#, "{}", "null", "3", "\"text\""] {
        let body = format!(r#"{{"type":"ERROR","object":{object}}}{}"#, frame("ADDED", "b"));
        assert_eq!(events_of(body), ["ERROR 500", "ADDED b"], "{object}");
    }
    assert_eq!(events_of(r#"{"type":"ERROR"}"#), ["ERROR 500"]);
}

#[test]
fn a_bare_status_in_place_of_events_is_an_error_event() {
    let bare = status(401, "Unauthorized", "token expired");
    assert_eq!(events_of(bare.clone()), ["ERROR 401"]);
    let value: serde_json::Value = serde_json::from_str(&bare).unwrap();
    assert_eq!(events_of(serde_json::to_string_pretty(&value).unwrap()), ["ERROR 401"]);
}

#[test]
fn a_frame_that_is_no_event_costs_itself_alone() {
    for bad in [
        r#"{"type":"NEW","object":{"metadata":{"name":"a"}}}"#,
        r#"{"type":3,"object":{"metadata":{"name":"a"}}}"#,
        r#"{"type":"ADDED"}"#,
        r#"{"type":"ADDED","object":null}"#,
        r#"{"type":"ADDED","object":[]}"#,
        r#"{"type":"ADDED","object":{"metadata":{}}}"#,
        r#"{"type":"ADDED","object":{"spec":{}}}"#,
        r#"{"type":"BOOKMARK","object":{"metadata":3}}"#,
        "{}",
        r#"{"a" 1}"#,
        "{]",
    ] {
        let body = frame("ADDED", "a") + bad + &frame("ADDED", "b");
        assert_eq!(events_of(body), ["ADDED a", "decode", "ADDED b"], "{bad}");
    }
    let not_text = [
        frame("ADDED", "a").as_bytes(),
        b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}",
        frame("ADDED", "b").as_bytes(),
    ]
    .concat();
    assert_eq!(events_of(not_text), ["ADDED a", "decode", "ADDED b"]);
}

#[test]
fn an_object_that_does_not_fit_its_type_costs_itself_alone() {
    let body = r#"{"type":"ADDED","object":{"metadata":{"name":"bad","namespace":"n"},"spec":3}}
        {"type":"ADDED","object":{"metadata":{"name":"good"},"spec":{"containers":[]}}}"#;
    let server = Server::start(move |_| Reply::stream().chunk(body).end());
    let pods = server.client().api::<Pod>().watch(&ListOptions::new()).unwrap();
    let objects: Vec<_> = pods
        .map(|event| match event.unwrap() {
            WatchEvent::Added(object) => object,
            other => panic!("{other:?}"),
        })
        .collect();
    let error = objects[0].get().unwrap_err();
    assert!(error.to_string().contains("n/bad"), "{error}");
    assert_eq!(objects[1].get().unwrap().metadata.name.as_deref(), Some("good"));
}

#[test]
fn what_is_not_a_stream_of_frames_ends_the_watch_with_an_error() {
    for bad in ["garbage", "[1]", "3 ", "\"text\"", "<html></html>", "}", "null "] {
        let body = frame("ADDED", "a") + bad + &frame("ADDED", "b");
        assert_eq!(events_of(body), ["ADDED a", "decode"], "{bad}");
    }
}

/// Where the stream ends, and the answer.
type Cut = (&'static str, fn() -> Reply);

#[test]
fn a_watch_that_breaks_is_an_error_and_never_a_silent_end() {
    let cut: [Cut; 6] = [
        ("by what is no length of a chunk", || {
            Reply::stream().chunk(frame("ADDED", "a")).bytes("zz\r\n{}\r\n").close()
        }),
        ("between frames, no last chunk", || Reply::stream().chunk(frame("ADDED", "a")).close()),
        ("inside a chunk", || {
            Reply::stream().chunk(frame("ADDED", "a")).bytes("400\r\n{\"type\"").close()
        }),
        ("inside the length of a chunk", || {
            Reply::stream().chunk(frame("ADDED", "a")).bytes("1f").close()
        }),
        ("inside a frame", || Reply::stream().chunk(frame("ADDED", "a")).chunk("{\"type\"").end()),
        ("inside a body with a length", || {
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n";
            Reply::raw(head).bytes(frame("ADDED", "a")).close()
        }),
    ];
    for (how, reply) in cut {
        assert_eq!(events(reply), ["ADDED a", "transport"], "{how}");
    }
}

#[test]
fn the_end_of_a_connection_is_a_disconnect_wherever_it_comes() {
    for rest in ["", "1f", "1f\r", "1f\r\n", "1f\r\n{\"type\""] {
        let server = Server::start(move |_| Reply::stream().bytes(rest).close());
        match watch(&server).unwrap().next().unwrap().unwrap_err() {
            Error::Transport(error) => assert!(error.is_disconnect(), "{rest:?}: {error:?}"),
            other => panic!("{rest:?}: {other:?}"),
        }
    }
}

#[test]
fn a_reset_is_an_error() {
    let gate = Gate::default();
    let held = gate.clone();
    let server =
        Server::start(move |_| Reply::stream().chunk(frame("ADDED", "a")).wait(&held).then_reset());
    let mut watch = watch(&server).unwrap();
    assert_eq!(shown(&watch.next().unwrap()), "ADDED a");
    gate.open();
    match watch.next().unwrap().unwrap_err() {
        Error::Transport(error) => assert!(error.is_disconnect(), "{error:?}"),
        other => panic!("{other:?}"),
    }
    assert!(watch.next().is_none(), "and that was the end");
}

#[test]
fn after_its_end_a_watch_stays_ended() {
    let server = Server::start(|_| Reply::stream().chunk("garbage").end());
    let mut broken = watch(&server).unwrap();
    assert!(broken.next().unwrap().is_err());
    assert!(broken.next().is_none() && broken.next().is_none());
}

#[test]
fn only_json_is_understood() {
    for media in
        ["application/vnd.kubernetes.protobuf;stream=watch", "text/html", "application/cbor"]
    {
        let server =
            Server::start(move |_| Reply::stream_as(media).chunk(frame("ADDED", "a")).end());
        let error = watch(&server).unwrap_err().to_string();
        assert!(error.contains(media.split(';').next().unwrap()), "{error}");
    }
    for media in
        ["application/json", "application/json;stream=watch", "Application/JSON; charset=utf-8"]
    {
        let reply = move || Reply::stream_as(media).chunk(frame("ADDED", "a")).end();
        assert_eq!(events(reply), ["ADDED a"], "{media}");
    }
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    let unnamed = move || Reply::raw(format!("{head}{}", frame("ADDED", "a"))).close();
    assert_eq!(events(unnamed), ["ADDED a"], "no content type is taken for the usual one");
}

#[test]
fn only_a_200_is_a_watch() {
    for code in [201, 202, 204, 206] {
        let server = Server::start(move |_| Reply::json(code, if code == 204 { "" } else { POD }));
        let error = watch(&server).unwrap_err();
        assert_eq!(error.status().unwrap().code, code);
    }
}

#[test]
fn a_bookmark_need_not_look_like_the_objects() {
    let body = r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","spec":{"containers":null},
        "status":{},"metadata":{"resourceVersion":"12746","creationTimestamp":null,"annotations":null}}}
        {"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"13",
            "annotations":{"k8s.io/initial-events-end":"true"}}}}
        {"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"14",
            "annotations":{"k8s.io/initial-events-end":"false"}}}}"#;
    let server = Server::start(move |_| Reply::stream().chunk(body).end());
    let events = server.client().api::<Pod>().watch(&ListOptions::new()).unwrap();
    let bookmarks: Vec<_> = events
        .map(|event| match event.unwrap() {
            WatchEvent::Bookmark(bookmark) => bookmark,
            other => panic!("{other:?}"),
        })
        .collect();
    let seen: Vec<_> = bookmarks
        .iter()
        .map(|bookmark| (bookmark.resource_version.as_str(), bookmark.initial_events_end))
        .collect();
    assert_eq!(seen, [("12746", false), ("13", true), ("14", false)]);
}

#[test]
fn events_know_their_kind_and_keep_no_managed_fields() {
    let body = r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","managedFields":[{"manager":"x"}],
        "uid":"u"}}}"#;
    let server = Server::start(move |_| Reply::stream().chunk(body).end());
    let WatchEvent::Modified(object) = watch(&server).unwrap().next().unwrap().unwrap() else {
        panic!()
    };
    assert_eq!((object.kind(), object.api_version(), object.uid()), ("Pod", "v1", "u"));
    assert!(!object.json().contains("managedFields"), "{}", object.json());
}

#[test]
fn a_watch_of_nothing_blocks_until_it_is_stopped() {
    let server = Server::json(200, POD);
    let stop = StopToken::new();
    let pods = server.client().with_stop(&stop).dynamic(&pods());
    let nothing = ListOptions::new().labels(labels::nothing());
    let mut watch = pods.watch(&nothing).unwrap();
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let first = watch.next().map(|event| shown(&event));
            send.send((first, watch.next().is_none())).unwrap();
        });
        let early = receive.recv_timeout(Duration::from_millis(50));
        assert_eq!(early, Err(mpsc::RecvTimeoutError::Timeout));
        stop.stop();
        let (first, over) = receive.recv_timeout(LIMIT).unwrap();
        assert_eq!((first.as_deref(), over), (Some("stopped"), true));
    });
    assert_eq!(server.lines(), [""; 0], "and is not sent as a watch of everything");
}

#[test]
fn an_idle_watch_ends_when_it_is_stopped() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |_| Reply::stream().chunk(frame("ADDED", "a")).wait(&held));
    let stop = StopToken::new();
    let mut watch =
        server.client().with_stop(&stop).dynamic(&pods()).watch(&ListOptions::new()).unwrap();
    assert_eq!(shown(&watch.next().unwrap()), "ADDED a");
    std::thread::scope(|scope| {
        let waiting =
            scope.spawn(|| (watch.next().map(|event| shown(&event)), watch.next().is_none()));
        stop.stop();
        assert_eq!(waiting.join().unwrap(), (Some("stopped".to_owned()), true));
    });
    gate.open();
}

#[test]
fn a_watch_that_should_have_said_something_by_now_is_an_error() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |_| Reply::stream().chunk(frame("ADDED", "a")).wait(&held));
    let mut timeouts = kinformer::config::Timeouts::default();
    timeouts.watch_idle = Duration::from_millis(300);
    let client = client(server.config().timeouts(timeouts));
    let mut watch = client.dynamic(&pods()).watch(&ListOptions::new()).unwrap();
    let mut seen = watch.by_ref().map(|event| event.map(drop));
    let last = seen.find_map(|event: Result<()>| event.err()).unwrap();
    assert!(last.is_timeout(), "{last:?}");
    assert!(watch.next().is_none());
    gate.open();
}

#[test]
fn an_object_beyond_16_mib_is_refused_and_one_below_is_not() {
    let huge = |size: usize| {
        move || {
            Reply::stream().generate(move |out| {
                let mut chunk = |bytes: &[u8]| {
                    out.write_all(format!("{:x}\r\n", bytes.len()).as_bytes())?;
                    out.write_all(bytes)?;
                    out.write_all(b"\r\n")
                };
                chunk(br#"{"type":"ADDED","object":{"metadata":{"name":"a"},"data":""#)?;
                for _ in 0..size / 1024 {
                    chunk(&[b'x'; 1024])?;
                }
                chunk(br#""}}"#)?;
                out.write_all(b"0\r\n\r\n")
            })
        }
    };
    assert_eq!(events(huge(15 * 1024 * 1024)), ["ADDED a"]);
    assert_eq!(events(huge(17 * 1024 * 1024)), ["decode"]);
}

#[test]
fn a_dropped_watch_ends_its_connection() {
    let server = Server::start(|_| {
        Reply::stream().generate(|out| {
            // Until the client is gone, which is an error here.
            loop {
                let body = frame("ADDED", "a");
                out.write_all(format!("{:x}\r\n{body}\r\n", body.len()).as_bytes())?;
                out.flush()?;
            }
        })
    });
    let mut watch = watch(&server).unwrap();
    assert_eq!(shown(&watch.next().unwrap()), "ADDED a");
    drop(watch);
    server.wait_for_closed(1);
}
