//! Events that arrive together are told before anything of the user's is waited for.

use std::{io::Write, sync::mpsc, time::Duration};

use flate2::{Compression, write::GzEncoder};
use kinformer::{
    DynamicObject, Error, ListWatch, Object, SharedInformer, SharedInformerBuilder, cache::Indexers,
};

use crate::{
    raw::{Gate, Reply, Server},
    support::{EMPTY, LIMIT, config_maps, no_pause},
};

/// What a watch sends in one piece.
fn server(watched: &'static str) -> Server {
    Server::start(move |request| match request.query().contains("watch=true") {
        true => Reply::stream().chunk(watched).wait(&Gate::default()),
        false => Reply::json(200, EMPTY),
    })
}

fn builder(server: &Server) -> SharedInformerBuilder<DynamicObject> {
    let source = ListWatch::of_resource(&server.client(), &config_maps(), None);
    SharedInformer::builder(source).backoff(no_pause()).streamed_lists(false)
}

/// Runs it with a handler that sends the names it is told of.
fn run(
    builder: SharedInformerBuilder<DynamicObject>,
    told: mpsc::Sender<String>,
) -> SharedInformer {
    let informer = builder.build().unwrap();
    informer
        .on_event(move |event| {
            let _ = told.send(event.key().name().to_owned());
        })
        .unwrap();
    informer.start().unwrap();
    informer
}

/// An answer that has come to an end in the middle of an event, after many, and goes on when the gate is open.
fn half_way(compressed: bool, events: usize, gate: &Gate) -> Reply {
    let filler = "x".repeat(1000);
    let event = |n: usize| {
        format!(
            r#"{{"type":"ADDED","object":{{"metadata":{{"name":"{n}","resourceVersion":"{}"}},"data":"{filler}"}}}}"#,
            n + 2
        )
    };
    let last = event(events);
    let (half, rest) = last.split_at(last.len() / 2);
    let first: String = (0..events).map(event).chain([half.to_owned()]).collect();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
    if !compressed {
        return Reply::raw(format!("{head}\r\n{first}")).wait(gate).bytes(rest);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(first.as_bytes()).unwrap();
    encoder.flush().unwrap();
    let first = std::mem::take(encoder.get_mut());
    encoder.write_all(rest.as_bytes()).unwrap();
    let head = format!("{head}Content-Encoding: gzip\r\n\r\n");
    Reply::raw(head).bytes(first).wait(gate).bytes(encoder.finish().unwrap())
}

#[test]
fn an_event_that_comes_half_way_does_not_hold_up_what_came_before() {
    const EVENTS: usize = 2000;
    for compressed in [false, true] {
        let gate = Gate::default();
        let rest = gate.clone();
        let server = Server::start(move |request| match request.query().contains("watch=true") {
            true => half_way(compressed, EVENTS, &rest).wait(&Gate::default()),
            false => Reply::json(200, EMPTY),
        });
        let (tell, told) = mpsc::channel();
        let informer = run(builder(&server), tell);
        let next = || told.recv_timeout(LIMIT).unwrap();
        for n in 0..EVENTS {
            assert_eq!(next(), n.to_string(), "compressed: {compressed}");
        }
        gate.open();
        assert_eq!(next(), EVENTS.to_string(), "compressed: {compressed}");
        assert_eq!(informer.status().all_failures, 0);
    }
}

#[test]
fn an_error_handler_that_takes_its_time_does_not_hold_up_what_came_before() {
    let server = server(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"2"}}}
           {"type":"ADDED","object":{"metadata":{"resourceVersion":"3"}}}
           {"type":"ADDED","object":{"metadata":{"name":"b","resourceVersion":"4"}}}"#,
    );
    let (tell, told) = mpsc::channel();
    let (done, result) = mpsc::channel();
    let told = parking_lot::Mutex::new(told);
    let builder = builder(&server).on_error(move |_: &Error| {
        let _ = done.send(told.lock().recv_timeout(LIMIT / 8));
    });
    let _informer = run(builder, tell);
    assert_eq!(result.recv_timeout(LIMIT).unwrap().as_deref(), Ok("a"));
}

#[test]
fn a_transform_that_takes_its_time_does_not_hold_up_what_came_before() {
    let server = server(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"2"}}}
           {"type":"ADDED","object":{"metadata":{"name":"b","resourceVersion":"3"}}}
           {"type":"ADDED","object":{"metadata":{"name":"c","resourceVersion":"4"}}}"#,
    );
    let (tell, told) = mpsc::channel();
    let (done, result) = mpsc::channel();
    let builder = builder(&server).transform(move |object: &mut DynamicObject| {
        if object["metadata"]["name"] == "b" {
            let _ = done.send(told.recv_timeout(LIMIT / 8));
        }
        Ok(())
    });
    let _informer = run(builder, tell);
    assert_eq!(result.recv_timeout(LIMIT).unwrap().as_deref(), Ok("a"));
}

#[test]
fn an_index_function_that_takes_its_time_does_not_hold_up_what_came_before() {
    let server = server(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"2"}}}
           {"type":"ADDED","object":{"metadata":{"name":"b","resourceVersion":"3"}}}
           {"type":"ADDED","object":{"metadata":{"name":"c","resourceVersion":"4"}}}"#,
    );
    let (tell, told) = mpsc::channel();
    let (done, result) = mpsc::channel();
    let told = parking_lot::Mutex::new(told);
    let slow = move |object: &Object| {
        match object.name() {
            "b" => std::thread::sleep(Duration::from_millis(20)),
            "c" => done.send(told.lock().recv_timeout(LIMIT / 8)).unwrap_or_default(),
            _ => {}
        }
        Vec::new()
    };
    let _informer = run(builder(&server).indexers(Indexers::new().with("slow", slow)), tell);
    assert_eq!(result.recv_timeout(LIMIT).unwrap().as_deref(), Ok("a"));
}
