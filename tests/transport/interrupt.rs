//! A stopped call returns at once, whatever it is stuck in, and leaves nothing behind.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use kinformer::{Error, ListOptions, StopToken, WatchEvent};
use parking_lot::Mutex;

use crate::{
    stall::Stall,
    support::{Connection, LONG, Server, config_maps, pause, sockets_to, spawn, wait_until},
};

/// What a user does not notice; measured times are well under a millisecond.
const AT_ONCE: Duration = Duration::from_millis(100);

#[track_caller]
fn returns_at_once(stall: Stall) {
    for &tls in stall.wires() {
        // The machine may be busy with something else for a moment, though not every time.
        let mut best = Duration::MAX;
        for _ in 0..20 {
            let stalled = stall.start(tls);
            let port = stalled.peer.map(|peer| peer.port());
            let connected = if stall == Stall::Retry { 0..=1 } else { 1..=1 };
            let (result, time) = stalled.interrupt(|| {
                if let Some(port) = port {
                    let sockets = sockets_to(port) - stalled.own_sockets;
                    assert!(connected.contains(&sockets), "{stall:?}: {sockets} descriptors");
                }
            });
            println!("{stall:?} {}: {time:?}", if tls { "over TLS" } else { "plain" });
            assert!(matches!(result, Err(Error::Stopped)), "{stall:?}: {result:?}");
            assert!(time < LONG / 4, "{stall:?}: returned after {time:?}");
            if let Some(port) = port
                && stall != Stall::Retry
            {
                assert_eq!(sockets_to(port), stalled.own_sockets, "{stall:?}: left open");
            }
            best = best.min(time);
            if best < AT_ONCE {
                break;
            }
        }
        assert!(best < AT_ONCE, "{stall:?}: returned after {best:?}");
    }
}

#[test]
fn connect() {
    returns_at_once(Stall::Connect);
}

#[test]
fn proxy_connect() {
    returns_at_once(Stall::HttpProxy);
}

#[test]
fn socks_greeting() {
    returns_at_once(Stall::SocksProxy);
}

#[test]
fn tls_handshake() {
    returns_at_once(Stall::Handshake);
}

#[test]
fn sending_a_body() {
    returns_at_once(Stall::SendBody);
}

#[test]
fn waiting_for_the_head() {
    returns_at_once(Stall::Head);
}

#[test]
fn reading_a_body() {
    returns_at_once(Stall::Body);
}

#[test]
fn reading_a_list() {
    returns_at_once(Stall::List);
}

#[test]
fn an_idle_watch() {
    returns_at_once(Stall::Watch);
}

#[test]
fn following_a_log() {
    returns_at_once(Stall::Log);
}

#[test]
fn waiting_to_try_again() {
    returns_at_once(Stall::Retry);
}

#[test]
fn a_credential_plugin() {
    returns_at_once(Stall::Plugin);
}

#[test]
fn a_call_under_a_stopped_token_does_not_connect() {
    for tls in [false, true] {
        let server = Server::any(tls, Connection::serve);
        let stop = StopToken::new();
        stop.stop();
        let client = server.client().with_stop(&stop);
        assert!(matches!(client.get_raw("/"), Err(Error::Stopped)));
        assert!(matches!(config_maps(&client).list(&ListOptions::new()), Err(Error::Stopped)));
        assert!(matches!(config_maps(&client).watch(&ListOptions::new()), Err(Error::Stopped)));
        assert!(matches!(config_maps(&client).create(&serde_json::json!({})), Err(Error::Stopped)));
        assert_eq!(server.accepted(), 0);
    }
}

#[test]
fn a_stop_leaves_the_other_calls_and_connections_of_the_client_alone() {
    for tls in [false, true] {
        let (tell, told) = mpsc::channel::<()>();
        let (told, watches) = (Mutex::new(told), Arc::new(AtomicUsize::new(0)));
        let opened = watches.clone();
        let server = Server::any(tls, move |connection| {
            while let Some(request) = connection.read_request() {
                if request.target.contains("watch") {
                    opened.fetch_add(1, Ordering::SeqCst);
                }
                if request.target.contains("labelSelector=kept") {
                    connection.begin_stream();
                    told.lock().recv_timeout(LONG).unwrap();
                    connection.send_chunk(
                        r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"b"}}}"#,
                    );
                    connection.hold();
                } else if request.target.contains("watch") {
                    connection.begin_stream();
                    connection.hold();
                } else {
                    connection.respond("200 OK", "", "{}");
                }
            }
        });
        let client = server.client();
        let (first, second) = (StopToken::new(), StopToken::new());
        // Leaves a connection in the pool that was last used under the token to be stopped.
        client.with_stop(&first).get_raw("/").unwrap();
        assert_eq!(server.accepted(), 1);

        let kept = ListOptions::new().labels(kinformer::labels::parse("kept").unwrap());
        let mut kept = config_maps(&client.with_stop(&second)).watch(&kept).unwrap();
        // That one took the connection from the pool; this one makes another for it.
        client.with_stop(&first).get_raw("/").unwrap();
        let stopped = client.with_stop(&first);
        let watch = spawn(move || {
            // The pooled connection again. The stop may come before the head of the answer is read.
            config_maps(&stopped)
                .watch(&ListOptions::new())
                .map_or_else(|error| Some(Err(error)), |mut watch| watch.next())
        });
        wait_until("the second watch is open", || watches.load(Ordering::SeqCst) == 2);
        assert_eq!(server.accepted(), 2);
        client.with_stop(&second).get_raw("/").unwrap();
        assert_eq!(server.accepted(), 3);
        first.stop();
        assert!(matches!(watch.join().unwrap(), Some(Err(Error::Stopped))));

        client.with_stop(&second).get_raw("/").unwrap();
        assert_eq!(server.accepted(), 3, "the kept connection is still good");
        tell.send(()).unwrap();
        assert!(matches!(kept.next(), Some(Ok(WatchEvent::Added(_)))));
    }
}

#[test]
fn a_child_token_stops_with_its_parent() {
    let stalled = Stall::Head.start(false);
    let parent = StopToken::new();
    let client = stalled.client.with_stop(&parent.child());
    let call = spawn(move || client.get_raw("/"));
    let port = stalled.peer.unwrap().port();
    wait_until("the call is made", || sockets_to(port) == 1);
    parent.stop();
    assert!(matches!(call.join().unwrap(), Err(Error::Stopped)));
}

#[test]
fn the_connection_of_a_stopped_call_is_not_used_again() {
    for tls in [false, true] {
        let requests = Arc::new(AtomicUsize::new(0));
        let seen = requests.clone();
        let server = Server::any(tls, move |connection| {
            while connection.read_request().is_some() {
                if seen.fetch_add(1, Ordering::SeqCst) == 1 {
                    connection.hold();
                    return;
                }
                connection.respond("200 OK", "", "{}");
            }
        });
        let client = server.client();
        client.get_raw("/").unwrap();
        let stop = StopToken::new();
        let stopped = client.with_stop(&stop);
        let call = spawn(move || stopped.get_raw("/"));
        wait_until("the second request is there", || requests.load(Ordering::SeqCst) == 2);
        assert_eq!(server.accepted(), 1);
        stop.stop();
        assert!(matches!(call.join().unwrap(), Err(Error::Stopped)));
        client.get_raw("/").unwrap();
        assert_eq!((server.accepted(), sockets_to(server.address.port())), (2, 1));
    }
}

#[test]
fn a_stop_at_any_moment_is_either_in_time_or_too_late() {
    for tls in [false, true] {
        let server = Server::any(tls, Connection::serve);
        let client = server.client();
        let (mut stopped, mut done) = (0, 0);
        for round in 0..300_u32 {
            let stop = StopToken::new();
            let call = client.with_stop(&stop);
            let call = spawn(move || (call.get_raw("/"), call.get_raw("/")));
            pause(Duration::from_micros(u64::from(round * 7 % 600)));
            stop.stop();
            let (first, second) = call.join().unwrap();
            for result in [first, second] {
                match result {
                    Ok(_) => done += 1,
                    Err(Error::Stopped) => stopped += 1,
                    Err(other) => panic!("round {round}: {other:?}"),
                }
            }
        }
        println!("{stopped} stopped, {done} done");
        client.get_raw("/").unwrap();
        assert!(sockets_to(server.address.port()) <= 1, "one call at a time, one connection");
    }
}
