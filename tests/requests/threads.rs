//! One client for many threads.

use std::{cell::Cell, rc::Rc, sync::atomic::Ordering};

use kinformer::{
    Api, Client, Config, Discovery, DynamicObject, Error, ListAll, ListOptions, LogStream, Object,
    ObjectKey, Patch, Status, StopToken, Watch, WatchEvent,
};
use serde_json::json;

use crate::support::{Reply, Server, client, pods};

#[test]
fn everything_can_be_sent_and_what_has_no_cursor_can_be_shared() {
    fn shared<T: Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>() {}
    /// Neither may be asked of the type an object stands for.
    type Local = Rc<Cell<u8>>;
    shared::<Client>();
    shared::<Config>();
    shared::<Discovery>();
    shared::<StopToken>();
    shared::<Error>();
    shared::<Status>();
    shared::<ObjectKey>();
    shared::<ListOptions>();
    shared::<Api<Local>>();
    shared::<Object<Local>>();
    shared::<WatchEvent<Local>>();
    sent::<Watch<Local>>();
    sent::<ListAll<Local>>();
    sent::<LogStream>();
}

/// Answers with an object of the name in the path, or in the body.
fn echo() -> Server {
    Server::start(|request| {
        let name = match request.method.as_str() {
            "POST" => request.json()["metadata"]["name"].as_str().unwrap().to_owned(),
            _ => request.path().rsplit('/').next().unwrap().to_owned(),
        };
        let padding = "x".repeat(name.len() * 997 % 20_000);
        Reply::json(200, json!({"metadata": {"name": name}, "x": padding}).to_string())
    })
}

#[test]
fn one_client_serves_16_threads_and_nobody_gets_anothers_answer() {
    const THREADS: usize = 16;
    const CALLS: usize = 25;
    let server = echo();
    let api: Api<DynamicObject> = server.client().dynamic(&pods()).namespace("a");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let api = &api;
            scope.spawn(move || {
                for call in 0..CALLS {
                    let name = format!("pod-{thread}-{call}");
                    let body = json!({"metadata": {"name": name}});
                    let object = match call % 4 {
                        0 => api.get(&name),
                        1 => api.create(&body),
                        2 => api.replace(&name, &body),
                        _ => api.patch(&name, &Patch::Merge(&body)),
                    };
                    assert_eq!(object.unwrap().name(), name);
                }
            });
        }
    });
    let requests = server.requests();
    assert_eq!(requests.len(), THREADS * CALLS);
    let connections = requests.iter().map(|request| request.connection).max().unwrap() + 1;
    assert!(connections <= 3 * THREADS, "{connections} connections: they are not kept");
}

#[test]
fn every_thread_has_its_own_retries() {
    use std::sync::atomic::AtomicUsize;
    let server = Server::start(|_| Reply::retry(429, "0"));
    let client = client(server.config().max_retries(2));
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let error = client.dynamic(&pods()).namespace("a").get("x").unwrap_err();
                assert!(error.is_too_many_requests());
                refused.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(refused.load(Ordering::SeqCst), 16);
    assert_eq!(server.requests().len(), 16 * 3);
}

#[test]
fn stopping_one_clone_leaves_the_others_alone() {
    let server = echo();
    let client = server.client();
    let stop = StopToken::new();
    let stopped = client.with_stop(&stop);
    stop.stop();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let error = stopped.dynamic(&pods()).namespace("a").get("x").unwrap_err();
            assert!(error.is_stopped());
        });
        scope.spawn(|| client.dynamic(&pods()).namespace("a").get("x").unwrap());
    });
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn clients_can_be_made_on_many_threads_at_once() {
    let server = echo();
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let server = &server;
            scope.spawn(move || {
                let name = format!("pod-{thread}");
                let found = server.client().dynamic(&pods()).namespace("a").get(&name).unwrap();
                assert_eq!(found.name(), name);
            });
        }
    });
}

#[test]
fn nothing_that_is_printed_has_a_credential_in_it() {
    let server = echo();
    let client = client(server.config().token("s3cr3t-token"));
    let api = client.dynamic(&pods()).namespace("a");
    let object = api.get("x").unwrap();
    let watch = api.watch(&ListOptions::new());
    let shown = format!("{client:?} {api:?} {object:?} {:?} {watch:?}", client.config());
    assert!(!shown.contains("s3cr3t"), "{shown}");
    assert!(shown.contains("pods"), "{shown}");
}
