//! Streamed lists that turn out long are asked for again as plain ones, on the embedded server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use kinformer::{
    ApiResource, Client, Crowd, DynamicObject, Error, Event, ListMeta, ListOptions, ListWatch,
    ListerWatcher, Object, Phase, Reflector, Result, SharedInformer, StopToken, Watch,
    cache::{Store, meta_namespace_key},
    testing::{ApiServer, Fault, Moment, Verb, When},
};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    mirror::{Mirror, delete, put},
    support::{LIMIT, config_maps, eventually, no_pause, one_pause, short_pauses},
};

/// More than any stream brings before it counts as long.
const MANY: usize = 300;

fn server() -> ApiServer {
    let server = ApiServer::start().unwrap();
    for n in 0..MANY {
        put(&server, &format!("n{n:03}"), "1");
    }
    server
}

/// What was asked for so far: `version`, `stream VERSION`, `list VERSION`, `watch VERSION`.
fn asked(server: &ApiServer) -> Vec<String> {
    let requests = server.requests();
    let calls = requests.iter().map(|request| {
        let parameter =
            |name: &str| request.query.split('&').find_map(|part| part.strip_prefix(name));
        let kind = match () {
            () if request.path == "/version" => return "version".to_owned(),
            () if parameter("sendInitialEvents=").is_some() => "stream",
            () if parameter("watch=").is_some() => "watch",
            () => "list",
        };
        assert_eq!(parameter("limit="), None, "{}", request.query);
        format!("{kind} {}", parameter("resourceVersion=").unwrap_or("-"))
    });
    calls.collect()
}

#[test]
fn a_long_list_is_plain_whole_and_of_the_newest_state_and_so_is_the_next() {
    let server = server();
    let mirror = Mirror::start(server.config(), one_pause(), |builder| builder);
    mirror.wait_for(&server);
    eventually("the watch", || server.watches() == 1);
    let first = server.resource_version();
    assert_eq!(asked(&server), ["stream -", "version", "list -", &format!("watch {first}")]);

    put(&server, "new", "1");
    let last = mirror.catch_up(&server);
    server.inject(When::any().verb(Verb::Watch).once(), Fault::expired_after(0));
    server.drop_connections();
    eventually("another watch", || asked(&server).len() == 7);
    let from = |what: &str| format!("{what} {last}");
    assert_eq!(asked(&server)[4..], [from("watch"), from("list"), from("watch")]);
    assert_eq!(mirror.errors(), [""; 0]);
}

#[test]
fn others_of_the_client_do_not_ask_again_for_the_version() {
    let server = server();
    let client = Client::new(server.config()).unwrap();
    Mirror::of(&client, no_pause(), |builder| builder).wait_for(&server);
    Mirror::of(&client, no_pause(), |builder| builder).wait_for(&server);
    let versions = asked(&server).iter().filter(|call| *call == "version").count();
    assert_eq!(versions, 1);
}

#[test]
fn a_server_that_does_not_tell_its_version_streams_to_the_end() {
    for fault in [
        Fault::status(403),
        Fault::status(503),
        Fault::Garbage { after_events: 0 },
        Fault::Reset { at: Moment::BeforeHead },
    ] {
        let server = server();
        // The second request is for the version.
        server.inject(When::any().after(1).once(), fault);
        let client = Client::new(server.config()).unwrap();
        let first = Mirror::of(&client, no_pause(), |builder| builder);
        first.wait_for(&server);
        let second = Mirror::of(&client, no_pause(), |builder| builder);
        second.wait_for(&server);
        assert_eq!(asked(&server), ["stream -", "version", "stream -"]);
        assert_eq!((first.errors(), second.errors()), (vec![], vec![]));
    }
}

#[test]
fn the_wait_for_the_version_is_short_and_ends_with_a_stop() {
    for stopped in [true, false] {
        let server = server();
        server.inject(When::any().after(1).once(), Fault::Hang { at: Moment::BeforeHead });
        let mut mirror = Mirror::start(server.config(), no_pause(), |builder| builder);
        eventually("the question", || asked(&server).len() == 2);
        let start = Instant::now();
        if stopped {
            mirror.end();
            assert!(start.elapsed() < Duration::from_secs(4));
        } else {
            mirror.wait_for(&server);
            assert_eq!(asked(&server), ["stream -", "version"], "it goes on where it was");
        }
        assert_eq!(mirror.errors(), [""; 0]);
    }
}

#[test]
fn a_list_that_is_nearly_long_is_one_stream() {
    for (count, is_long) in [(99, false), (100, true)] {
        let server = ApiServer::start().unwrap();
        for n in 0..count {
            put(&server, &n.to_string(), "1");
        }
        let mirror = Mirror::start(server.config(), no_pause(), |builder| builder);
        mirror.catch_up(&server);
        assert_eq!(asked(&server).len() > 1, is_long, "{:?}", asked(&server));
    }
}

#[test]
fn a_list_that_has_become_long_is_newer_than_what_its_stream_has_told() {
    let server = ApiServer::start().unwrap();
    put(&server, "n000", "1");
    let source = ListWatch::<DynamicObject>::of_resource(
        &Client::new(server.config()).unwrap(),
        &config_maps(),
        None,
    );
    let informer = SharedInformer::builder(source).backoff(short_pauses()).build().unwrap();
    let doubled = Arc::new(Mutex::new(0));
    let count = doubled.clone();
    informer
        .on_event(move |event: Event| {
            if let Event::Updated { old, new } = event
                && old.resource_version() == new.resource_version()
                && !old.is_same(&new)
            {
                *count.lock() += 1;
            }
        })
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    let last = informer.last_sync_resource_version();
    // While it cannot watch, others come, and it is forgotten how.
    server.inject(When::any().verb(Verb::Watch), Fault::status(503));
    server.drop_connections();
    for n in 1..MANY {
        put(&server, &format!("n{n:03}"), "1");
    }
    server.compact();
    server.clear_faults();
    eventually("all of them", || informer.store().len() == MANY);
    informer.wait_for_resource_version(&server.resource_version(), LIMIT).unwrap();
    let calls = asked(&server);
    let at = calls.iter().position(|call| *call == format!("stream {last}")).expect("a stream");
    assert_eq!(calls[at + 1..][..2], ["version", "list -"]);
    assert_eq!(*doubled.lock(), 0, "what has not changed is told as one and the same");
}

#[test]
fn a_version_that_cannot_be_had_is_no_reason_to_stream() {
    let server = server();
    let mirror = Mirror::start(server.config(), short_pauses(), |builder| builder);
    mirror.wait_for(&server);
    eventually("the watch", || server.watches() == 1);
    put(&server, "new", "1");
    let last = mirror.catch_up(&server);
    server.inject(When::any().verb(Verb::Watch).once(), Fault::expired_after(0));
    server.inject(When::any().verb(Verb::List).once(), Fault::status(410));
    server.drop_connections();
    eventually("another watch", || asked(&server).len() == 8);
    let from = |what: &str| format!("{what} {last}");
    let expected = [from("watch"), from("list"), "list -".to_owned(), from("watch")];
    assert_eq!(asked(&server)[4..], expected);
}

/// Servers end what is not a watch after a minute, however much of it is still to come.
#[test]
fn a_plain_list_that_breaks_off_is_streamed_from_then_on() {
    for fault in [
        Fault::Reset { at: Moment::AfterBytes(9_000) },
        Fault::TruncateChunk { after_events: 0 },
        Fault::status(504),
    ] {
        let server = server();
        server.inject(When::any().verb(Verb::List).once(), fault);
        let mirror = Mirror::start(server.config(), one_pause(), |builder| builder);
        mirror.wait_for(&server);
        eventually("the end of the stream", || {
            mirror.reflector.last_sync_resource_version() == server.resource_version()
        });
        assert_eq!(asked(&server), ["stream -", "version", "list -", "stream -"]);
        assert_eq!(mirror.errors().len(), 1, "{:?}", mirror.errors());
    }
}

#[test]
fn whoever_wants_pages_gets_a_stream_or_pages() {
    let server = server();
    let mirror = Mirror::start(server.config(), no_pause(), |builder| builder.page_size(100));
    mirror.wait_for(&server);
    assert_eq!(asked(&server), ["stream -"]);
}

/// They are in no server's cache.
#[test]
fn events_are_streamed_however_many_there_are() {
    let server = ApiServer::start().unwrap();
    for n in 0..MANY {
        let event = json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {"namespace": "default"},
            "metadata": {"name": format!("e{n}"), "namespace": "default"}});
        server.put(event).unwrap();
    }
    let client = Client::new(server.config()).unwrap();
    let events = ApiResource::namespaced("v1", "Event", "events");
    let store = Store::<Object>::new(meta_namespace_key);
    let source = ListWatch::<DynamicObject>::of_resource(&client, &events, None);
    let reflector = Reflector::new(source, store.clone());
    let stop = StopToken::new();
    std::thread::scope(|scope| {
        scope.spawn(|| reflector.run(&stop));
        eventually("all events", || store.len() == MANY);
        stop.stop();
    });
    assert_eq!(asked(&server), ["stream -"]);
}

/// A source with something happening between the stream and the plain list.
struct Meddling {
    source: ListWatch<DynamicObject>,
    between: Box<dyn Fn() + Send + Sync>,
    /// What becomes of the next plain list.
    failure: Mutex<Option<Error>>,
}

impl Meddling {
    fn new(server: &ApiServer, between: impl Fn() + Send + Sync + 'static) -> Self {
        let client = Client::new(server.config()).unwrap();
        let source = ListWatch::of_resource(&client, &config_maps(), None);
        Self { source, between: Box::new(between), failure: Mutex::default() }
    }
}

impl ListerWatcher<DynamicObject> for Meddling {
    fn resource(&self) -> &ApiResource {
        self.source.resource()
    }

    fn list(
        &self,
        options: &ListOptions,
        stop: &StopToken,
        item: &mut dyn FnMut(Result<Object>),
    ) -> Result<ListMeta> {
        match self.failure.lock().take() {
            Some(failure) => Err(failure),
            None => self.source.list(options, stop, item),
        }
    }

    fn watch(&self, options: &ListOptions, stop: &StopToken) -> Result<Watch<DynamicObject>> {
        self.source.watch(options, stop)
    }

    fn streams_lists(&self) -> bool {
        self.source.streams_lists()
    }

    fn plain_if_long(&self, stop: &StopToken) -> bool {
        (self.between)();
        self.source.plain_if_long(stop)
    }

    fn crowd(&self) -> Option<Arc<Crowd>> {
        self.source.crowd()
    }
}

#[test]
fn a_plain_list_for_which_nobody_was_there_is_asked_for_again() {
    let server = server();
    let source = Meddling::new(&server, || {});
    let nobody = std::io::ErrorKind::ConnectionRefused.into();
    *source.failure.lock() = Some(Error::transport(Phase::Connect, &nobody));
    let informer = SharedInformer::builder(source).backoff(one_pause()).build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!(asked(&server)[..3], ["stream -", "version", "list -"]);
}

#[test]
fn what_changes_between_stream_and_list_is_not_lost_and_nothing_is_told_twice() {
    let server = Arc::new(server());
    let changed = server.clone();
    let source = Meddling::new(&server, move || {
        delete(&changed, "n000");
        put(&changed, "n001", "2");
        put(&changed, "new", "1");
    });
    let informer = SharedInformer::builder(source).build().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let journal = told.clone();
    informer.on_event(move |event: Event| journal.lock().push(event.to_string())).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!(informer.store().len(), MANY);
    eventually("the end of what there is to tell", || {
        informer.status().handlers.iter().all(|handler| handler.pending == 0)
    });
    let told = told.lock().clone();
    let about = |name: &str| -> Vec<&str> {
        let end = format!("default/{name}");
        let words = told.iter().filter(|event| event.split(' ').any(|word| word == end));
        words.map(|event| event.split(' ').next().unwrap()).collect()
    };
    // Whether a handler has been told of it before it went is a matter of chance.
    assert!(matches!(about("n000")[..], [] | ["added", "deleted"]), "{:?}", about("n000"));
    assert!(matches!(about("n001")[..], ["added"] | ["added", "updated"]), "{:?}", about("n001"));
    assert_eq!(about("new"), ["added"]);
    for n in 2..MANY {
        assert_eq!(about(&format!("n{n:03}")), ["added"]);
    }
    let calls = asked(&server);
    assert_eq!(calls.iter().filter(|call| call.starts_with("list")).count(), 1, "{calls:?}");
}
