//! Connections: kept, replaced, given up; and how long they may take.

use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use kinformer::{
    Client, Error, ListOptions, Phase,
    config::{Config, Timeouts},
};

use crate::{
    stall::Stall,
    support::{
        Connection, LONG, Server, client, config_maps, pause, reserved::Reserved, sockets_to,
        spawn, wait_until,
    },
};

const LIST: &str = r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[]}"#;

fn timeouts(change: impl FnOnce(&mut Timeouts)) -> Timeouts {
    let mut timeouts = Timeouts::default();
    change(&mut timeouts);
    timeouts
}

#[test]
fn requests_one_after_the_other_use_one_connection() {
    for tls in [false, true] {
        let server = Server::any(tls, |connection| {
            while let Some(request) = connection.read_request() {
                match (request.method.as_str(), request.target.as_str()) {
                    ("GET", "/missing") => connection.respond("404 Not Found", "", "{}"),
                    ("GET", target) if target.contains("configmaps") => {
                        connection.begin_stream()
                            && connection.send_chunk(&LIST[..20])
                            && connection.send_chunk(&LIST[20..])
                            && connection.send("0\r\n\r\n")
                    }
                    _ => connection.respond("200 OK", "", r#"{"metadata":{"name":"a"}}"#),
                };
            }
        });
        let client = server.client();
        for _ in 0..5 {
            client.get_raw("/").unwrap();
            config_maps(&client).list(&ListOptions::new()).unwrap();
            config_maps(&client).create(&serde_json::json!({"data": {}})).unwrap();
            assert!(client.get_raw("/missing").unwrap_err().is_not_found());
        }
        assert_eq!((server.accepted(), sockets_to(server.address.port())), (1, 1));
        drop(client);
        assert_eq!(sockets_to(server.address.port()), 0, "the pool goes with the client");
    }
}

#[test]
fn a_connection_that_the_server_announces_to_close_is_not_kept() {
    let server = Server::plain(|connection| {
        connection.read_request();
        connection.respond("200 OK", "Connection: close\r\n", "{}");
    });
    let client = server.client();
    for round in 1..=3 {
        client.get_raw("/").unwrap();
        assert_eq!((server.accepted(), sockets_to(server.address.port())), (round, 0));
    }
}

#[test]
fn a_connection_on_which_there_is_more_than_its_answer_is_not_kept() {
    for tls in [false, true] {
        let server = Server::any(tls, |connection| {
            connection.read_request();
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
            connection.send(format!("{answer}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong"));
            connection.hold();
        });
        let client = server.client();
        for round in 1..=3 {
            assert_eq!(client.get_raw("/").unwrap(), b"{}");
            assert_eq!((server.accepted(), sockets_to(server.address.port())), (round, 0));
        }
    }
}

#[test]
fn what_a_server_says_before_its_answer_is_passed_over_and_trailers_too() {
    let server = Server::plain(|connection| {
        while connection.read_request().is_some() {
            connection
                .send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
            connection.begin_stream();
            connection.send_chunk("{}");
            connection.send("0\r\nSum: 1\r\n\r\n");
        }
    });
    let client = server.client();
    for _ in 0..3 {
        assert_eq!(client.get_raw("/").unwrap(), b"{}");
    }
    assert_eq!(server.accepted(), 1);
}

#[test]
fn a_server_that_goes_on_in_another_protocol_is_an_error() {
    let server = Server::plain(|connection| {
        connection.read_request();
        connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
        connection.hold();
    });
    let error = server.client().get_raw("/").unwrap_err().to_string();
    assert_eq!(error, "response: the server goes on in another protocol");
}

#[test]
fn connections_of_old_http_are_kept_only_if_that_is_said() {
    for (says, connections) in [("", 3), ("Connection: keep-alive\r\n", 1)] {
        let server = Server::plain(move |connection| {
            while connection.read_request().is_some() {
                connection.send(format!("HTTP/1.0 200 OK\r\n{says}Content-Length: 2\r\n\r\n{{}}"));
            }
        });
        let client = server.client();
        for _ in 0..3 {
            assert_eq!(client.get_raw("/").unwrap(), b"{}");
        }
        assert_eq!(server.accepted(), connections, "{says:?}");
    }
}

#[test]
fn a_watch_keeps_no_connections_of_others() {
    let server = Server::plain(|connection| {
        while let Some(request) = connection.read_request() {
            if request.target.contains("watch") {
                connection.begin_stream();
                return connection.hold();
            }
            connection.respond("200 OK", "", "{}");
        }
    });
    let client = server.client();
    let watch = config_maps(&client).watch(&ListOptions::new()).unwrap();
    client.get_raw("/").unwrap();
    assert_eq!(sockets_to(server.address.port()), 2);
    drop(client);
    assert_eq!(sockets_to(server.address.port()), 1, "the pool goes with the client");
    drop(watch);
}

#[test]
fn a_watch_that_is_dropped_closes_its_connection() {
    for tls in [false, true] {
        let stalled = Stall::Watch.start(tls);
        let port = stalled.peer.unwrap().port();
        let watch = config_maps(&stalled.client).watch(&ListOptions::new()).unwrap();
        assert_eq!(sockets_to(port), 1);
        drop(watch);
        assert_eq!(sockets_to(port), 0);
    }
}

#[test]
fn a_kept_connection_that_the_server_has_closed_is_replaced() {
    for tls in [false, true] {
        let server = Server::any(tls, Connection::serve);
        let client = server.client();
        client.get_raw("/").unwrap();
        server.disconnect();
        let answer = config_maps(&client).create(&serde_json::json!({}));
        assert!(matches!(answer, Err(Error::Decode(_))), "{answer:?}: closed before it was used");
        server.disconnect();
        client.get_raw("/").unwrap();
        assert_eq!(server.accepted(), 3);
    }
}

#[test]
fn a_kept_connection_that_breaks_under_a_request_is_replaced_for_a_get_and_for_nothing_else() {
    for tls in [false, true] {
        let requests = Arc::new(AtomicUsize::new(0));
        let seen = requests.clone();
        let server = Server::any(tls, move |connection| {
            // The second request on a connection finds the server gone.
            connection.read_request();
            seen.fetch_add(1, Ordering::SeqCst);
            connection.respond("200 OK", "", "{}");
            connection.read_request();
            seen.fetch_add(1, Ordering::SeqCst);
        });
        let client = client(server.config().max_retries(0));
        client.get_raw("/").unwrap();
        client.get_raw("/").unwrap();
        assert_eq!((server.accepted(), requests.load(Ordering::SeqCst)), (2, 3));

        let error = config_maps(&client).create(&serde_json::json!({})).unwrap_err();
        let Error::Transport(error) = &error else { panic!("{error:?}") };
        assert!(error.is_disconnect(), "{error:?}");
        assert_eq!((server.accepted(), requests.load(Ordering::SeqCst)), (2, 4));
    }
}

#[test]
fn a_server_that_hangs_up_on_a_new_connection_is_tried_again_as_often_as_said() {
    let server = Server::plain(|connection| {
        connection.read_request();
    });
    let error = client(server.config().max_retries(1)).get_raw("/").unwrap_err();
    let Error::Transport(error) = &error else { panic!("{error:?}") };
    assert!(error.is_disconnect() && error.phase() == Phase::Response, "{error:?}");
    assert_eq!(server.accepted(), 2);
}

#[test]
fn a_request_that_timed_out_does_not_leave_its_connection_behind() {
    for tls in [false, true] {
        let (late, given_up) = (AtomicBool::new(true), kinformer::StopToken::new());
        let let_go = given_up.clone();
        let server = Server::any(tls, move |connection| {
            while connection.read_request().is_some() {
                if late.swap(false, Ordering::SeqCst) {
                    let_go.wait();
                    connection.respond("200 OK", "", "the late answer");
                } else {
                    connection.respond("200 OK", "", "{}");
                }
            }
        });
        // Long enough for the second request, however busy the machine is.
        let limits = timeouts(|t| t.request = Duration::from_secs(4));
        let client = client(server.config().timeouts(limits));
        let error = client.get_raw("/").unwrap_err();
        given_up.stop();
        assert!(error.is_timeout(), "{error:?}");
        assert_eq!(sockets_to(server.address.port()), 0);
        assert_eq!(client.get_raw("/").unwrap(), b"{}");
        assert_eq!(server.accepted(), 2);
    }
}

#[test]
fn a_call_that_hangs_does_not_hold_up_the_others() {
    let hanging = Arc::new(AtomicUsize::new(0));
    let seen = hanging.clone();
    let server = Server::plain(move |connection| {
        while let Some(request) = connection.read_request() {
            if request.target == "/hang" {
                seen.fetch_add(1, Ordering::SeqCst);
                return connection.hold();
            }
            connection.respond("200 OK", "", "{}");
        }
    });
    let client = server.client();
    let stop = kinformer::StopToken::new();
    let hung: Vec<_> = (0..30)
        .map(|_| {
            let client = client.with_stop(&stop);
            spawn(move || client.get_raw("/hang"))
        })
        .collect();
    wait_until("all of them hang", || hanging.load(Ordering::SeqCst) == 30);
    assert_eq!(sockets_to(server.address.port()), 30);
    for _ in 0..20 {
        client.get_raw("/").unwrap();
    }
    assert_eq!(server.accepted(), 31);
    stop.stop();
    assert!(hung.into_iter().all(|call| matches!(call.join().unwrap(), Err(Error::Stopped))));
}

/// The call fails with a timeout in this phase, after `limit` and not much later.
#[track_caller]
fn times_out(phase: Phase, limit: Duration, call: impl FnOnce() -> kinformer::Result<()>) {
    let start = Instant::now();
    let error = call().unwrap_err();
    let took = start.elapsed();
    assert!(error.is_timeout(), "{error:?}");
    let Error::Transport(inner) = &error else { panic!("{error:?}") };
    assert_eq!(inner.phase(), phase, "{error}");
    assert!(error.to_string().contains("timed out"), "{error}");
    // poll(2) counts whole milliseconds.
    let early = Duration::from_millis(2);
    assert!(took + early >= limit && took < limit + LONG, "{phase:?} timed out after {took:?}");
}

/// Long enough to get to the phase that is limited, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(3);

fn with_limits(client: &Client, limits: Timeouts) -> Client {
    self::client(client.config().to_builder().timeouts(limits))
}

#[test]
fn every_kind_of_call_has_its_own_limit() {
    // Each of them waits, so all at once.
    std::thread::scope(|scope| {
        let stuck = |stall: Stall, tls, phase, limits: Timeouts| {
            scope.spawn(move || {
                let stalled = stall.start(tls);
                let client = with_limits(&stalled.client, limits);
                times_out(phase, LIMIT, || stalled.call(&client));
            });
        };
        let connect = timeouts(|t| t.connect = LIMIT);
        stuck(Stall::Connect, false, Phase::Connect, connect.clone());
        stuck(Stall::HttpProxy, false, Phase::Proxy, connect.clone());
        stuck(Stall::SocksProxy, false, Phase::Proxy, connect);
        stuck(Stall::Handshake, true, Phase::Tls, timeouts(|t| t.tls = LIMIT));
        for tls in [false, true] {
            let request = timeouts(|t| t.request = LIMIT);
            stuck(Stall::Head, tls, Phase::Response, request.clone());
            stuck(Stall::Body, tls, Phase::Body, request.clone());
            // The head of a stream must come, like any other.
            stuck(Stall::Head, tls, Phase::Response, request);
            stuck(Stall::List, tls, Phase::Body, timeouts(|t| t.list_page = LIMIT));
            stuck(Stall::List, tls, Phase::Body, timeouts(|t| t.list_idle = LIMIT));
            stuck(Stall::Watch, tls, Phase::Body, timeouts(|t| t.watch_idle = LIMIT));
        }
    });
}

#[test]
fn a_body_that_nobody_reads_is_sent_for_as_long_as_a_request_may_take() {
    for tls in [false, true] {
        let stalled = Stall::SendBody.start(tls);
        // Long enough to fill the buffers, however slow the machine.
        let client = with_limits(&stalled.client, timeouts(|t| t.request = LIMIT));
        times_out(Phase::Send, LIMIT, || stalled.call(&client));
    }
}

/// Sends a blank every 50 ms for five seconds, then nothing.
fn drip(connection: &mut Connection) {
    for _ in 0..100 {
        if !connection.send_chunk(" ") {
            return;
        }
        pause(Duration::from_millis(50));
    }
    connection.hold();
}

#[test]
fn a_watch_lives_on_any_byte_and_dies_of_silence() {
    let check = |tls: bool| {
        let server = Server::any(tls, |connection| {
            connection.read_head();
            connection.begin_stream();
            drip(connection);
        });
        let client = client(server.config().timeouts(timeouts(|t| t.watch_idle = LIMIT)));
        let mut opened = None;
        times_out(Phase::Body, Duration::from_millis(4900) + LIMIT, || {
            let watch = config_maps(&client).watch(&ListOptions::new())?;
            opened.insert(watch).next().unwrap().map(drop)
        });
        assert!(opened.unwrap().next().is_none(), "after the error it is over");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| check(false));
        scope.spawn(|| check(true));
    });
}

#[test]
fn a_list_that_drips_is_cut_off_by_the_limit_for_a_page() {
    let server = Server::plain(|connection| {
        connection.read_head();
        connection.begin_stream();
        drip(connection);
    });
    let client = client(server.config().timeouts(timeouts(|t| t.list_page = LIMIT)));
    times_out(Phase::Body, LIMIT, || config_maps(&client).list(&ListOptions::new()).map(drop));
}

#[test]
fn a_log_may_be_silent_for_longer_than_anything_else() {
    let server = Server::plain(|connection| {
        connection.read_head();
        connection.begin_stream();
        pause(LIMIT + Duration::from_millis(500));
        connection.send_chunk("late");
        connection.send("0\r\n\r\n");
    });
    let limits = timeouts(|t| {
        (t.connect, t.tls, t.list_page, t.watch_idle) = (LIMIT, LIMIT, LIMIT, LIMIT);
        t.request = LIMIT;
    });
    let client = client(server.config().timeouts(limits));
    let pods = kinformer::ApiResource::namespaced("v1", "Pod", "pods");
    let pods = client.dynamic(&pods).namespace("default");
    let options = kinformer::LogOptions::new().follow(true);
    let mut text = String::new();
    pods.logs("a", &options).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "late");
}

#[test]
fn an_answer_that_ends_before_its_end_is_an_error() {
    let cut_short = |answer: &'static str| {
        let server = Server::plain(move |connection| {
            connection.read_request();
            connection.send(answer);
        });
        client(server.config().max_retries(0)).get_raw("/").unwrap_err()
    };
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Enc",
        "HTTP/1.1",
    ] {
        let error = cut_short(answer);
        let Error::Transport(inner) = &error else { panic!("{answer:?}: {error:?}") };
        assert!(inner.is_disconnect() && !inner.is_timeout(), "{answer:?}: {error:?}");
    }
    for answer in ["SSH-2.0-OpenSSH_9.9\r\n", "<html>not found</html>\r\n\r\n", "\0\0\0\0\r\n\r\n"]
    {
        let error = cut_short(answer);
        assert!(matches!(error, Error::Transport(_)), "{answer:?}: {error:?}");
    }
}

#[test]
fn a_long_address_is_sent_whole_and_with_credentials() {
    for length in [100, 8_000, 9_000, 40_000] {
        let server = Server::tls(|connection| {
            while let Some(request) = connection.read_request() {
                let (target, token) = (&request.target, request.header("authorization"));
                connection.respond("200 OK", "", format!("{token} {}", target.len()));
            }
        });
        let client = client(server.config().token("abc"));
        // The second is sent on a connection that was made for the first.
        for length in [10, length, 10] {
            let path = format!("/{}", "x".repeat(length - 1));
            let answer = String::from_utf8(client.get_raw(&path).unwrap()).unwrap();
            assert_eq!(answer, format!("Bearer abc {length}"));
        }
        assert_eq!(server.accepted(), 1);
    }
}

#[test]
fn a_head_without_end_is_refused_in_words() {
    let server = Server::plain(|connection| {
        connection.read_request();
        connection.send("HTTP/1.1 200 OK\r\n");
        while connection.send(format!("X-Fill: {}\r\n", "x".repeat(2000))) {}
    });
    let error = client(server.config().max_retries(0)).get_raw("/").unwrap_err();
    let Error::Transport(inner) = &error else { panic!("{error:?}") };
    assert!(!inner.is_disconnect() && error.to_string().contains("header"), "{error}");
}

#[test]
fn a_refused_connection_is_an_error_that_names_the_address() {
    let nobody = Reserved::new();
    let address = nobody.address;
    let config = Config::builder(format!("http://{address}")).no_proxy();
    let error = client(config).get_raw("/").unwrap_err();
    assert!(error.is_connection_refused(), "{error:?}");
    assert!(error.to_string().starts_with(&format!("connect: {address}: ")), "{error}");
}

#[test]
fn what_a_server_says_before_it_hangs_up_on_a_large_body_is_heard() {
    for tls in [false, true] {
        let server = Server::any(tls, |connection| {
            if connection.read_head().is_some() {
                let status = r#"{"kind":"Status","status":"Failure","reason":"RequestEntityTooLarge","code":413}"#;
                connection.respond("413 Payload Too Large", "", status);
            }
        });
        let client = server.client();
        let error = config_maps(&client).create(&large_map()).unwrap_err();
        assert!(error.is_request_entity_too_large(), "{error:?}");
        assert_eq!(sockets_to(server.address.port()), 0, "it is not used again");
    }
}

fn large_map() -> serde_json::Value {
    // More than both sides' buffers take, which grow to some megabytes.
    serde_json::json!({"metadata": {"name": "a"}, "data": {"x": "y".repeat(24_000_000)}})
}

#[test]
fn an_answer_is_heard_although_the_server_neither_reads_on_nor_hangs_up() {
    for tls in [false, true] {
        let server = Server::any(tls, |connection| {
            if connection.read_head().is_some() {
                // As long as several records of TLS.
                let why = "because ".repeat(10_000);
                let status = format!(
                    r#"{{"kind":"Status","status":"Failure","reason":"RequestEntityTooLarge","code":413,"message":"{why}"}}"#
                );
                connection.respond("413 Payload Too Large", "", status);
                connection.ignore();
            }
        });
        let client = server.client();
        let began = Instant::now();
        let error = config_maps(&client).create(&large_map()).unwrap_err();
        assert!(error.is_request_entity_too_large(), "{error:?}");
        assert!(error.to_string().len() > 80_000, "a part of the reason is missing");
        assert!(began.elapsed() < Timeouts::default().request, "it waited for its time to be over");
        assert_eq!(sockets_to(server.address.port()), 0, "it is not used again");
    }
}

#[test]
fn what_a_server_says_before_its_answer_does_not_end_a_large_body() {
    for tls in [false, true] {
        let server = Server::any(tls, |connection| {
            let Some(head) = connection.read_head() else { return };
            connection.send("HTTP/1.1 100 Continue\r\n\r\n");
            // Long enough for the client to look whether it is answered.
            pause(Duration::from_millis(400));
            assert!(connection.read_body(head).is_some(), "the client did not send all of it");
            connection.respond("201 Created", "", r#"{"metadata":{"name":"a"}}"#);
        });
        let client = server.client();
        assert_eq!(config_maps(&client).create(&large_map()).unwrap().name(), "a");
    }
}

#[test]
fn the_head_of_a_watch_must_come_however_slowly_it_drips() {
    let server = Server::plain(|connection| {
        if connection.read_head().is_some() {
            let mut byte = "HTTP/1.1 200 OK\r\n".bytes().chain(std::iter::repeat(b'x'));
            while byte.next().is_some_and(|byte| connection.send([byte])) {
                pause(Duration::from_millis(20));
            }
        }
    });
    let limits = timeouts(|t| t.request = LIMIT);
    let client = with_limits(&server.client(), limits);
    times_out(Phase::Response, LIMIT, || config_maps(&client).watch(&ListOptions::new()).map(drop));
}

#[test]
fn a_stop_ends_a_list_between_two_objects_that_have_arrived() {
    let server = Server::plain(|connection| {
        while connection.read_request().is_some() {
            let items = vec![r#"{"metadata":{"name":"a"}}"#; 1000].join(",");
            let list = format!(r#"{{"kind":"ConfigMapList","metadata":{{}},"items":[{items}]}}"#);
            connection.respond("200 OK", "", list);
        }
    });
    let stop = kinformer::StopToken::new();
    let client = server.client().with_stop(&stop);
    let mut seen = 0;
    let listed = config_maps(&client).list_each(&ListOptions::new(), |_| {
        seen += 1;
        stop.stop();
    });
    assert!(matches!(listed, Err(Error::Stopped)), "{listed:?}");
    assert_eq!(seen, 1);
}
