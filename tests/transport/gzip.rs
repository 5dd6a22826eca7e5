//! Compressed answers.

use std::{
    io::Write,
    sync::{Arc, mpsc},
    time::Duration,
};

use flate2::{Compression, write::GzEncoder};
use kinformer::{
    Client, Error, ListOptions, Phase, StopToken, WatchEvent,
    config::{Config, Timeouts},
};
use parking_lot::Mutex;

use crate::support::{Request, Server, client, config_maps, spawn};

fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A list that is larger than any buffer on its way.
fn list(items: usize) -> String {
    let item = |n| {
        let filler = "lorem ipsum ".repeat(n % 50);
        format!(r#"{{"metadata":{{"name":"map-{n}","namespace":"default"}},"data":"{filler}"}}"#)
    };
    let items: Vec<_> = (0..items).map(item).collect();
    let items = items.join(",");
    format!(r#"{{"kind":"ConfigMapList","metadata":{{"resourceVersion":"7"}},"items":[{items}]}}"#)
}

/// Answers everything with `body`, which it says is compressed.
fn serving(body: Vec<u8>) -> Server {
    Server::plain(move |connection| {
        while connection.read_request().is_some() {
            connection.respond("200 OK", "Content-Encoding: gzip\r\n", &body);
        }
    })
}

fn names(client: &Client) -> kinformer::Result<Vec<String>> {
    let list = config_maps(client).list(&ListOptions::new())?;
    Ok(list.items.iter().map(|map| map.name().to_owned()).collect())
}

#[test]
fn a_compressed_list_is_read_as_it_streams_and_its_connection_is_kept() {
    let server = serving(compressed(&list(3000)));
    let client = server.client();
    for _ in 0..3 {
        let names = names(&client).unwrap();
        assert_eq!(names.len(), 3000);
        assert_eq!(names[2999], "map-2999");
    }
    assert_eq!(server.accepted(), 1);
}

#[test]
fn a_stream_of_several_members_is_read_to_its_end() {
    let text = list(500);
    let members: Vec<u8> =
        text.as_bytes().chunks(1000).flat_map(|part| compressed(str(part))).collect();
    assert_eq!(names(&serving(members).client()).unwrap().len(), 500);
}

#[test]
fn what_is_empty_is_not_compressed_whatever_it_says() {
    let server = serving(Vec::new());
    assert_eq!(server.client().get_raw("/").unwrap(), b"");
}

fn str(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn members_are_delivered_as_they_are_flushed() {
    let (next, may_send) = mpsc::channel::<()>();
    let may_send = Mutex::new(may_send);
    let server = Server::plain(move |connection| {
        connection.read_head();
        connection.send(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
        );
        for n in 0.. {
            if may_send.lock().recv().is_err() {
                break;
            }
            let event = format!(
                "{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"{n}\",\"namespace\":\"a\"}}}}}}\n"
            );
            let member = compressed(&event);
            let size = format!("{:x}\r\n", member.len());
            connection.send([size.as_bytes(), &member, b"\r\n"].concat());
        }
    });
    let client = server.client();
    next.send(()).unwrap();
    let mut watch = config_maps(&client).watch(&ListOptions::new()).unwrap();
    for n in 0..20 {
        let event = watch.next().unwrap().unwrap();
        let WatchEvent::Added(map) = event else { panic!("{event:?}") };
        assert_eq!(map.name(), n.to_string());
        next.send(()).unwrap();
    }
    drop(next);
}

#[test]
fn a_compressed_watch_is_open_before_anything_has_come() {
    let (next, may_send) = mpsc::channel::<()>();
    let may_send = Mutex::new(may_send);
    let server = Server::plain(move |connection| {
        connection.read_head();
        connection.send(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        if may_send.lock().recv().is_ok() {
            let event = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n";
            // In pieces that end anywhere.
            for byte in compressed(event) {
                connection.send([b"1\r\n", &[byte][..], b"\r\n"].concat());
            }
        }
        connection.hold();
    });
    let client = server.client();
    let mut watch = config_maps(&client).watch(&ListOptions::new()).unwrap();
    next.send(()).unwrap();
    let event = watch.next().unwrap().unwrap();
    assert!(matches!(&event, WatchEvent::Added(map) if map.name() == "a"), "{event:?}");
}

#[test]
fn an_encoding_that_was_not_asked_for_is_named_and_hides_no_code() {
    for (encoding, is_read) in [("br", false), ("gzip, gzip", false), ("identity", true)] {
        let server = Server::plain(move |connection| {
            while let Some(request) = connection.read_request() {
                let status = if request.target == "/no" { "403 Forbidden" } else { "200 OK" };
                connection.respond(status, &format!("Content-Encoding: {encoding}\r\n"), "{}");
            }
        });
        let client = server.client();
        match client.get_raw("/") {
            Ok(body) => assert!(is_read && body == b"{}", "{encoding}"),
            Err(error) => {
                let text = error.to_string();
                assert!(!is_read && text.contains(&format!("{encoding:?}")), "{text}");
            }
        }
        assert!(client.get_raw("/no").unwrap_err().is_forbidden());
    }
}

#[test]
fn corrupt_and_truncated_streams_are_errors_and_never_a_short_list() {
    let whole = compressed(&list(200));
    let (mut flipped, mut checksum) = (whole.clone(), whole.clone());
    let at = whole.len() / 2;
    flipped[at..at + 20].iter_mut().for_each(|byte| *byte ^= 0x55);
    let at = whole.len() - 6;
    checksum[at] ^= 1;
    let mut trailing = whole.clone();
    trailing.extend(b"not another member");
    let truncated = whole[..whole.len() - 20].to_vec();
    let without_trailer = whole[..whole.len() - 8].to_vec();
    for (what, body) in [
        ("flipped bits", flipped),
        ("a wrong checksum", checksum),
        ("something behind it", trailing),
        ("a missing end", truncated),
        ("a missing trailer", without_trailer),
        ("no gzip at all", list(2).into_bytes()),
    ] {
        let server = serving(body);
        let error = names(&server.client()).unwrap_err();
        assert!(matches!(error, Error::Transport(_) | Error::Decode(_)), "{what}: {error:?}");
        println!("{what}: {error}");
        let whole = client(server.config().max_retries(0)).get_raw("/").unwrap_err();
        assert!(matches!(whole, Error::Transport(_)), "{what}: {whole:?}");
    }
}

#[test]
fn what_happens_to_the_connection_is_said_of_a_compressed_body_too() {
    let body = compressed(&list(2000));
    let half = Arc::new(body[..body.len() / 2].to_vec());
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    for hangs in [true, false] {
        let (head, half) = (head.clone(), half.clone());
        let server = Server::plain(move |connection| {
            connection.read_request();
            connection.send(&head);
            connection.send(&*half);
            if hangs {
                connection.hold();
            }
        });
        let mut limits = Timeouts::default();
        limits.list_page = Duration::from_secs(3);
        let error = names(&client(server.config().timeouts(limits))).unwrap_err();
        let Error::Transport(inner) = &error else { panic!("{error:?}") };
        assert_eq!(inner.phase(), Phase::Body);
        assert_eq!((inner.is_timeout(), inner.is_disconnect()), (hangs, !hangs), "{error:?}");
    }
}

#[test]
fn a_compressed_body_that_never_begins_can_be_stopped_and_times_out() {
    let (reach, reached) = mpsc::channel();
    let server = Server::plain(move |connection| {
        connection.read_request();
        connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n");
        reach.send(()).unwrap();
        connection.hold();
    });
    let mut limits = Timeouts::default();
    limits.list_page = Duration::from_secs(3);
    let error = names(&client(server.config().timeouts(limits))).unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    reached.recv().unwrap();

    let stop = StopToken::new();
    let client = server.client().with_stop(&stop);
    let call = spawn(move || names(&client));
    reached.recv().unwrap();
    stop.stop();
    assert!(matches!(call.join().unwrap(), Err(Error::Stopped)));
}

/// What is asked for: by a request, a list and a watch.
fn encodings(config: impl FnOnce(&Server) -> Config) -> [String; 3] {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let requests = seen.clone();
    let server = Server::plain(move |connection| {
        while let Some(request) = connection.read_request() {
            requests.lock().push(request);
            connection.respond("200 OK", "", r#"{"kind":"ConfigMapList","items":[]}"#);
        }
    });
    let client = Client::new(config(&server)).unwrap();
    client.get_raw("/").unwrap();
    config_maps(&client).list(&ListOptions::new()).unwrap();
    drop(config_maps(&client).watch(&ListOptions::new()).unwrap());
    let seen: Vec<Request> = std::mem::take(&mut seen.lock());
    let seen: Vec<_> = seen.iter().map(|r| r.header("accept-encoding").to_owned()).collect();
    seen.try_into().unwrap()
}

#[test]
fn the_configuration_says_whether_to_compress_and_watches_never_are() {
    let all = encodings(|server| server.config().compression(true).build().unwrap());
    assert_eq!(all, ["gzip", "gzip", "identity"]);
    let usual = encodings(|server| server.config().build().unwrap());
    assert_eq!(usual, ["identity"; 3], "a server on this machine");
    let none = encodings(|server| server.config().compression(false).build().unwrap());
    assert_eq!(none, ["identity"; 3]);
    let kubeconfig = |cluster: &str| {
        encodings(|server| {
            let text = format!(
                "{{clusters: [{{name: c, cluster: {{server: '{}'{cluster}}}}}], \
                  contexts: [{{name: x, context: {{cluster: c}}}}], current-context: x}}",
                server.url()
            );
            let config = Config::from_kubeconfig_str(&text, None).unwrap();
            config.to_builder().no_proxy().build().unwrap()
        })
    };
    assert_eq!(kubeconfig(", disable-compression: true"), none);
    assert_eq!(kubeconfig(", disable-compression: false"), all);
    assert_eq!(kubeconfig(""), usual);
}
