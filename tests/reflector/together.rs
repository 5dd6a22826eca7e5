//! Events that arrive together are told before anything of the user's is waited for.

use std::{sync::mpsc, time::Duration};

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
