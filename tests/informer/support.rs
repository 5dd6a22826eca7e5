//! Informers of ConfigMaps, of the embedded server or of a source that a test controls.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    ApiResource, Backoff, Client, Event, ListMeta, ListOptions, ListWatch, ListerWatcher, Object,
    Result, SharedInformer, SharedInformerBuilder, Status, StopToken, Watch, WatchEvent,
    cache::Deleted, testing::ApiServer,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// How long anything may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Long enough for what must not happen to have happened.
const A_WHILE: Duration = Duration::from_millis(100);

pub(crate) type Informer = SharedInformer<ConfigMap>;

pub(crate) fn client(server: &ApiServer) -> Client {
    Client::new(server.config()).unwrap()
}

pub(crate) fn builder(server: &ApiServer) -> SharedInformerBuilder<ConfigMap> {
    let source = ListWatch::<ConfigMap>::from_client(&client(server), Some("default"));
    SharedInformer::builder(source).backoff(quick())
}

/// Started and synced.
pub(crate) fn started(builder: SharedInformerBuilder<ConfigMap>) -> Informer {
    let informer = builder.build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    informer
}

pub(crate) fn quick() -> Backoff {
    let mut backoff = Backoff::default();
    backoff.initial = Duration::from_millis(5);
    backoff.cap = Duration::from_millis(20);
    backoff
}

pub(crate) fn put(server: &ApiServer, name: &str, value: &str) -> String {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "data": {"value": value}});
    let stored = server.put(object).unwrap();
    stored["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

pub(crate) fn delete(server: &ApiServer, name: &str) {
    server.delete("v1", "ConfigMap", &format!("default/{name}")).unwrap();
}

/// `+a 1 true`, `~a 1>2`, `-a`, or `?a 2` for a deletion that was missed.
pub(crate) fn text(event: &Event<ConfigMap>) -> String {
    match event {
        Event::Added { object, initial } => {
            format!("+{} {} {initial}", object.name(), value(object))
        }
        Event::Updated { old, new } => format!("~{} {}>{}", new.name(), value(old), value(new)),
        Event::Deleted(Deleted::Known(object)) => format!("-{}", object.name()),
        Event::Deleted(Deleted::FinalStateUnknown { key, last }) => {
            format!("?{} {}", key.name(), last.as_ref().map(value).unwrap_or_default())
        }
        other => other.to_string(),
    }
}

pub(crate) fn value(object: &Object<ConfigMap>) -> String {
    let body = object.get().unwrap();
    body.data.as_ref().and_then(|data| data.get("value").cloned()).unwrap_or_default()
}

/// A handler that sends events as texts, and where they arrive.
pub(crate) fn listener() -> (impl FnMut(Event<ConfigMap>) + Send + 'static, Events) {
    let (send, receive) = mpsc::channel();
    let handler = move |event: Event<ConfigMap>| {
        let _ = send.send(text(&event));
    };
    (handler, Events(receive))
}

pub(crate) fn listen(informer: &Informer) -> Events {
    let (handler, events) = listener();
    informer.add_event_handler(handler).unwrap();
    events
}

/// Events as texts.
pub(crate) struct Events(mpsc::Receiver<String>);

impl Events {
    pub(crate) fn next(&self) -> String {
        self.0.recv_timeout(LIMIT).expect("an event")
    }

    /// So many events, in any order.
    pub(crate) fn sorted(&self, count: usize) -> Vec<String> {
        let mut found: Vec<_> = (0..count).map(|_| self.next()).collect();
        found.sort();
        found
    }

    /// The first event that is not `unless`.
    pub(crate) fn next_but(&self, unless: &str) -> String {
        std::iter::repeat_with(|| self.next()).find(|event| event != unless).unwrap()
    }

    pub(crate) fn assert_none(&self) {
        let event = self.0.recv_timeout(A_WHILE);
        assert!(event.is_err(), "{event:?}");
    }

    /// Whether the handler has been dropped, with nothing left to be received.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.0.try_recv(), Err(mpsc::TryRecvError::Disconnected))
    }

    /// What has arrived so far.
    pub(crate) fn drain(&self) -> Vec<String> {
        self.0.try_iter().collect()
    }
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "not in time: {what}");
        let _ = StopToken::new().wait_timeout(Duration::from_millis(1));
    }
}

/// Lets the threads of a test end, also if the test fails.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A source in memory, whose watches can be cut and which can be told to do anything when listed.
#[derive(Clone)]
pub(crate) struct Source(Arc<Inner>);

struct Inner {
    resource: ApiResource,
    state: Mutex<State>,
    lists: AtomicUsize,
    on_list: OnList,
}

type OnList = Box<dyn Fn(&StopToken) -> Result<()> + Send + Sync>;

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    watches: Vec<Sender<WatchEvent<ConfigMap>>>,
}

impl Source {
    pub(crate) fn new() -> Self {
        Self::with(|_| Ok(()))
    }

    /// One that does this first whenever it is listed.
    pub(crate) fn with(on_list: impl Fn(&StopToken) -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            resource: ApiResource::of::<ConfigMap>(),
            // From version 0, objects of a watch come in any order.
            state: Mutex::new(State { version: 10, ..State::default() }),
            lists: AtomicUsize::new(0),
            on_list: Box::new(on_list),
        }))
    }

    pub(crate) fn informer(&self) -> SharedInformerBuilder<ConfigMap> {
        SharedInformer::builder(self.clone()).backoff(quick())
    }

    /// Makes or changes an object, and gives its resource version.
    pub(crate) fn put(&self, name: &str, value: &str) -> String {
        self.change(name, Some(value), true)
    }

    /// Deletes an object once somebody watches: from before, there is only what is left.
    pub(crate) fn delete(&self, name: &str) {
        wait_until("a watch", || !self.0.state.lock().watches.is_empty());
        self.change(name, None, true);
    }

    /// The same without a word to those who watch.
    pub(crate) fn put_unseen(&self, name: &str, value: &str) {
        self.await_watch();
        self.change(name, Some(value), false);
    }

    pub(crate) fn delete_unseen(&self, name: &str) {
        self.await_watch();
        self.change(name, None, false);
    }

    /// A watch that is opened later would tell what happened since the list.
    fn await_watch(&self) {
        wait_until("a watch", || self.lists() == 0 || !self.0.state.lock().watches.is_empty());
    }

    fn change(&self, name: &str, value: Option<&str>, told: bool) -> String {
        let mut state = self.0.state.lock();
        state.version += 1;
        let version = state.version.to_string();
        let json = |value: &str| {
            json!({"metadata": {"name": name, "namespace": "default", "resourceVersion": version,
                "uid": name}, "data": {"value": value}})
        };
        let event = match value {
            Some(value) => match state.objects.insert(name.to_owned(), json(value)) {
                None => WatchEvent::Added(self.object(&json(value))),
                Some(_) => WatchEvent::Modified(self.object(&json(value))),
            },
            None => {
                let mut last = state.objects.remove(name).expect("it is there");
                last["metadata"]["resourceVersion"] = version.clone().into();
                WatchEvent::Deleted(self.object(&last))
            }
        };
        if told {
            state.watches.retain(|watch| watch.send(event.clone()).is_ok());
        }
        version
    }

    pub(crate) fn object(&self, json: &Value) -> Object<ConfigMap> {
        Object::from_json(&self.0.resource, json.to_string().as_bytes()).unwrap()
    }

    /// Ends all watches in a way that needs a list, which has been asked for when this returns.
    pub(crate) fn relist(&self) {
        let before = self.lists();
        wait_until("a watch to end", || !self.0.state.lock().watches.is_empty());
        let gone: Status =
            serde_json::from_value(json!({"code": 410, "reason": "Expired"})).unwrap();
        for watch in self.0.state.lock().watches.drain(..) {
            let _ = watch.send(WatchEvent::Error(Box::new(gone.clone())));
        }
        wait_until("another list", || self.lists() > before);
    }

    /// How many lists have been asked for.
    pub(crate) fn lists(&self) -> usize {
        self.0.lists.load(Ordering::SeqCst)
    }
}

impl ListerWatcher<ConfigMap> for Source {
    fn resource(&self) -> &ApiResource {
        &self.0.resource
    }

    fn list(
        &self,
        _options: &ListOptions,
        stop: &StopToken,
        item: &mut dyn FnMut(Result<Object<ConfigMap>>),
    ) -> Result<ListMeta> {
        self.0.lists.fetch_add(1, Ordering::SeqCst);
        (self.0.on_list)(stop)?;
        let (objects, version) = {
            let state = self.0.state.lock();
            (state.objects.values().cloned().collect::<Vec<_>>(), state.version.to_string())
        };
        for object in objects {
            item(Ok(self.object(&object)));
        }
        Ok(serde_json::from_value(json!({"resourceVersion": version})).unwrap())
    }

    fn watch(&self, options: &ListOptions, stop: &StopToken) -> Result<Watch<ConfigMap>> {
        let (send, receive) = crossbeam_channel::unbounded();
        let mut state = self.0.state.lock();
        // What happened since the list comes first: here, everything that is newer.
        let from = options.resource_version.as_deref().unwrap_or_default();
        let from: u64 = from.parse().unwrap_or_default();
        let version =
            |object: &Object<ConfigMap>| object.resource_version().parse::<u64>().unwrap();
        let mut newer: Vec<_> = state.objects.values().map(|object| self.object(object)).collect();
        newer.retain(|object| version(object) > from);
        newer.sort_by_key(version);
        for object in newer {
            let _ = send.send(WatchEvent::Modified(object));
        }
        state.watches.push(send);
        Ok(Watch::from_events(watch_of(receive, stop.clone())))
    }
}

fn watch_of(
    events: Receiver<WatchEvent<ConfigMap>>,
    stop: StopToken,
) -> impl Iterator<Item = Result<WatchEvent<ConfigMap>>> + Send {
    std::iter::from_fn(move || {
        loop {
            match events.recv_timeout(Duration::from_millis(2)) {
                Ok(event) => return Some(Ok(event)),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if stop.is_stopped() => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    })
}
