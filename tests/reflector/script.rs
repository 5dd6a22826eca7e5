//! A source that answers from a script and remembers what it was asked.

use std::{collections::VecDeque, sync::Arc, thread::JoinHandle};

use kinformer::{
    ApiResource, Backoff, DynamicObject, Error, ListMeta, ListOptions, ListerWatcher, Object,
    Reflector, ReflectorBuilder, ReflectorStore, ResourceVersionMatch, Result, StopToken, Watch,
    cache::{Store, meta_namespace_key},
};
use parking_lot::Mutex;

use crate::support::{Event, config_maps, eventually, list_meta, object, short_pauses};

type ListAnswer =
    Box<dyn FnOnce(&StopToken, &mut dyn FnMut(Result<Object>)) -> Result<ListMeta> + Send>;
type WatchAnswer = Box<dyn FnOnce(&StopToken) -> Result<Watch<DynamicObject>> + Send>;

/// How a scripted watch ends after its events.
pub(crate) enum End {
    Close,
    /// It does not: it is idle until it is stopped.
    Idle,
    Fail(Error),
}

/// Answers lists and watches in turn; when there is nothing more to say, waits for the stop.
pub(crate) struct Script {
    streams: bool,
    resource: ApiResource,
    answers: Mutex<Answers>,
    asked: Mutex<Vec<ListOptions>>,
    calls: Mutex<Vec<String>>,
}

#[derive(Default)]
struct Answers {
    lists: VecDeque<ListAnswer>,
    watches: VecDeque<WatchAnswer>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self {
            streams: false,
            resource: config_maps(),
            answers: Mutex::default(),
            asked: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    /// A source that can stream lists.
    pub(crate) fn streaming() -> Self {
        Self { streams: true, ..Self::new() }
    }

    /// A list at a version, of objects named `name:version`.
    pub(crate) fn list(self, version: &str, objects: &[&str]) -> Self {
        self.page(version, "", objects)
    }

    pub(crate) fn page(self, version: &str, continue_token: &str, objects: &[&str]) -> Self {
        let objects: Vec<_> = objects.iter().map(|text| parse(text)).collect();
        let meta = list_meta(version, continue_token);
        self.list_with(move |_, item| {
            objects.into_iter().for_each(|object| item(Ok(object)));
            Ok(meta)
        })
    }

    pub(crate) fn list_fails(self, error: Error) -> Self {
        self.list_with(|_, _| Err(error))
    }

    pub(crate) fn list_with(
        self,
        answer: impl FnOnce(&StopToken, &mut dyn FnMut(Result<Object>)) -> Result<ListMeta>
        + Send
        + 'static,
    ) -> Self {
        self.answers.lock().lists.push_back(Box::new(answer));
        self
    }

    pub(crate) fn watch<const N: usize>(self, events: [Event; N], end: End) -> Self {
        let events = events.into_iter();
        self.watch_with(move |stop| {
            let stop = stop.clone();
            let mut end = Some(end);
            let last = std::iter::from_fn(move || match end.take()? {
                End::Close => None,
                End::Idle => {
                    stop.wait();
                    Some(Err(Error::Stopped))
                }
                End::Fail(error) => Some(Err(error)),
            });
            Ok(Watch::from_events(events.chain(last)))
        })
    }

    pub(crate) fn watch_fails(self, error: Error) -> Self {
        self.watch_with(|_| Err(error))
    }

    pub(crate) fn watch_with(
        self,
        answer: impl FnOnce(&StopToken) -> Result<Watch<DynamicObject>> + Send + 'static,
    ) -> Self {
        self.answers.lock().watches.push_back(Box::new(answer));
        self
    }

    /// As a source for somebody else.
    pub(crate) fn source(self) -> impl ListerWatcher<DynamicObject> {
        Source(Arc::new(self))
    }

    /// Reflects it into a store, with pauses too short to notice.
    pub(crate) fn run(self) -> Run {
        self.run_with(short_pauses(), |builder| builder)
    }

    pub(crate) fn run_with(
        self,
        backoff: Backoff,
        change: impl FnOnce(ReflectorBuilder<DynamicObject>) -> ReflectorBuilder<DynamicObject>,
    ) -> Run {
        let store = Store::new(meta_namespace_key);
        let mut run = self.run_into(store.clone(), |builder| change(builder.backoff(backoff)));
        run.store = store;
        run
    }

    /// Reflects it into another target; the store of the run stays empty.
    pub(crate) fn run_into(
        self,
        target: impl ReflectorStore<Object>,
        change: impl FnOnce(ReflectorBuilder<DynamicObject>) -> ReflectorBuilder<DynamicObject>,
    ) -> Run {
        let script = Arc::new(self);
        let errors = Arc::new(Mutex::new(Vec::new()));
        let told = errors.clone();
        let builder = Reflector::builder(Source(script.clone()), target)
            .on_error(move |error| told.lock().push(error.to_string()));
        let reflector = Arc::new(change(builder).build());
        let stop = StopToken::new();
        let thread = {
            let (reflector, stop) = (reflector.clone(), stop.clone());
            std::thread::spawn(move || reflector.run(&stop))
        };
        let store = Store::new(meta_namespace_key);
        Run { script, reflector, store, errors, stop, thread: Some(thread) }
    }
}

/// `name:version`.
fn parse(text: &str) -> Object {
    let (name, version) = text.split_once(':').unwrap();
    object(name, version)
}

struct Source(Arc<Script>);

impl ListerWatcher<DynamicObject> for Source {
    fn resource(&self) -> &ApiResource {
        &self.0.resource
    }

    fn list(
        &self,
        options: &ListOptions,
        stop: &StopToken,
        item: &mut dyn FnMut(Result<Object>),
    ) -> Result<ListMeta> {
        self.0.remember("list", options);
        let answer = self.0.answers.lock().lists.pop_front();
        let Some(answer) = answer else {
            stop.wait();
            return Err(Error::Stopped);
        };
        answer(stop, item)
    }

    fn watch(&self, options: &ListOptions, stop: &StopToken) -> Result<Watch<DynamicObject>> {
        let streamed = options.send_initial_events == Some(true);
        if streamed {
            let exactness = options.resource_version_match;
            assert_eq!(exactness, Some(ResourceVersionMatch::NotOlderThan));
        } else {
            assert_eq!((options.send_initial_events, options.resource_version_match), (None, None));
        }
        self.0.remember(if streamed { "stream" } else { "watch" }, options);
        let answer = self.0.answers.lock().watches.pop_front();
        let Some(answer) = answer else {
            let stop = stop.clone();
            return Ok(Watch::from_events(std::iter::once_with(move || {
                stop.wait();
                Err(Error::Stopped)
            })));
        };
        answer(stop)
    }

    fn streams_lists(&self) -> bool {
        self.0.streams
    }
}

impl Script {
    /// `list 0 limit=500`, `list - continue=c`, `watch 7`, `stream -`.
    fn remember(&self, kind: &str, options: &ListOptions) {
        let version = options.resource_version.as_deref().unwrap_or("-");
        let mut call = format!("{kind} {version}");
        if let Some(limit) = options.limit {
            call += &format!(" limit={limit}");
        }
        if let Some(token) = &options.continue_token {
            call += &format!(" continue={token}");
        }
        self.asked.lock().push(options.clone());
        self.calls.lock().push(call);
    }
}

/// A reflector on its thread.
pub(crate) struct Run {
    script: Arc<Script>,
    pub(crate) reflector: Arc<Reflector<DynamicObject>>,
    pub(crate) store: Store<Object>,
    errors: Arc<Mutex<Vec<String>>>,
    pub(crate) stop: StopToken,
    thread: Option<JoinHandle<()>>,
}

impl Run {
    pub(crate) fn calls(&self) -> Vec<String> {
        self.script.calls.lock().clone()
    }

    /// The options of every call.
    pub(crate) fn asked(&self) -> Vec<ListOptions> {
        self.script.asked.lock().clone()
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.lock().clone()
    }

    /// `name:version` of everything in the store, sorted.
    pub(crate) fn stored(&self) -> Vec<String> {
        let mut found: Vec<_> = self
            .store
            .list()
            .iter()
            .map(|object| format!("{}:{}", object.name(), object.resource_version()))
            .collect();
        found.sort();
        found
    }

    pub(crate) fn version(&self) -> String {
        self.reflector.last_sync_resource_version()
    }

    #[track_caller]
    pub(crate) fn wait_for_version(&self, version: &str) {
        eventually(&format!("version {version}"), || self.version() == version);
    }

    /// Waits until it has asked for all this, stops it, and makes sure that it asked for no more.
    #[track_caller]
    pub(crate) fn expect(&mut self, calls: &[&str]) {
        let limit = std::time::Instant::now() + crate::support::LIMIT;
        while self.calls().len() < calls.len() && std::time::Instant::now() < limit {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        self.end();
        assert_eq!(self.calls(), calls);
    }

    pub(crate) fn end(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the reflector panicked");
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.end();
    }
}
