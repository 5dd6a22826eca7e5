//! The server: a history of changes, and every way to answer that a server has.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    sync::Arc,
};

use super::{Choices, Consumer, Setup};
use crate::{
    ApiResource, DynamicObject, Object,
    client::{Bookmark, ListMeta, ListOptions, Watch, WatchEvent},
    error::{Error, Phase, Result, Status, TransportError},
    reflector::ListerWatcher,
    stop::StopToken,
    sync::Mutex,
};

/// Keys and the revisions of their last changes.
pub(super) type Objects = BTreeMap<String, u32>;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// More requests than this beyond one for each byte, and it is going round in circles.
const ENOUGH: usize = 40;

#[derive(Clone)]
pub(super) struct Server {
    resource: ApiResource,
    streams_lists: bool,
    state: Arc<Mutex<State>>,
}

struct State {
    choices: Choices,
    stale: bool,
    /// The newest one; other resources move it, too.
    revision: u32,
    history: Vec<Change>,
    /// What came before cannot be watched from, nor listed, any more.
    compacted: u32,
    /// Works now and then.
    consumer: Arc<Consumer>,
    requests_left: usize,
}

#[derive(Clone, Copy)]
struct Change {
    revision: u32,
    name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    Added,
    Modified,
    Deleted,
}

/// What happens before the next object or event of an answer.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Meanwhile {
    Nothing,
    /// The answer is over, in the middle.
    Broken,
    /// Something comes that cannot be used.
    Unreadable,
    Bookmark,
}

pub(super) fn revision(version: &str) -> u32 {
    version.parse().unwrap_or_else(|_| panic!("the server never gave the version {version:?}"))
}

impl Server {
    pub(super) fn new(setup: Setup, choices: Choices, consumer: Arc<Consumer>) -> Self {
        let state = State {
            requests_left: choices.len() + ENOUGH,
            choices,
            stale: setup.stale,
            revision: 1,
            history: Vec::new(),
            compacted: 0,
            consumer,
        };
        Self {
            resource: ApiResource::namespaced("v1", "ConfigMap", "configmaps"),
            streams_lists: setup.streams_lists,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// What there is now.
    pub(super) fn objects(&self) -> Objects {
        let state = self.state.lock();
        let now = state.at(state.revision).into_iter();
        now.map(|(name, revision)| (format!("n/{name}"), revision)).collect()
    }

    pub(super) fn last_change(&self) -> u32 {
        self.state.lock().history.last().map_or(0, |change| change.revision)
    }

    fn object(&self, name: &str, revision: u32) -> Object {
        let json = format!(
            r#"{{"metadata":{{"namespace":"n","name":"{name}","resourceVersion":"{revision}"}}}}"#
        );
        Object::from_json(&self.resource, json.as_bytes()).expect("an object")
    }

    fn unreadable(&self) -> Error {
        Error::decode(format!("an object of {}", self.resource), serde::de::Error::custom("?"))
    }
}

impl ListerWatcher<DynamicObject> for Server {
    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn list(
        &self,
        options: &ListOptions,
        _stop: &StopToken,
        item: &mut dyn FnMut(Result<Object>),
    ) -> Result<ListMeta> {
        let mut state = self.state.lock();
        state.begin_request()?;
        let (at, from) = match &options.continue_token {
            Some(token) => {
                assert_eq!(options.resource_version, None, "servers refuse both");
                state.go_on(token)?
            }
            None => (state.list_from(options)?, 0),
        };
        let all: Vec<_> = state.at(at).into_iter().collect();
        let most = options.limit.map_or(usize::MAX, |_| state.page_size());
        let page: Vec<_> = all.iter().skip(from).take(most).copied().collect();
        let rest = all.len() - from - page.len();
        for (name, revision) in page {
            match state.meanwhile() {
                Meanwhile::Broken => return Err(state.failure()),
                Meanwhile::Unreadable => item(Err(self.unreadable())),
                Meanwhile::Nothing | Meanwhile::Bookmark => {}
            }
            item(Ok(self.object(name, revision)));
        }
        if state.meanwhile() == Meanwhile::Broken {
            return Err(state.failure());
        }
        let continue_token =
            if rest > 0 { format!("{at}:{}", all.len() - rest) } else { String::new() };
        Ok(ListMeta { resource_version: at.to_string(), continue_token, ..ListMeta::default() })
    }

    fn watch(&self, options: &ListOptions, stop: &StopToken) -> Result<Watch<DynamicObject>> {
        let mut state = self.state.lock();
        state.begin_request()?;
        let version = options.resource_version.as_deref();
        let mut events = Events {
            server: self.clone(),
            stop: stop.clone(),
            initial: VecDeque::new(),
            initial_end: false,
            at: 0,
            over: None,
        };
        if options.send_initial_events == Some(true) {
            events.at = state.not_older_than(version.map_or(0, revision));
            events.initial = state.at(events.at).into_iter().collect();
            events.initial_end = true;
        } else {
            events.at = revision(version.expect("a watch goes on from somewhere"));
            if events.at < state.compacted {
                let expired = status(410, "Expired");
                if state.choices.below(2) == 0 {
                    return Err(Error::Api(expired));
                }
                events.over = Some(Some(Ok(WatchEvent::Error(expired))));
            }
        }
        assert!(events.at <= state.revision, "nobody has seen {} yet", events.at);
        drop(state);
        Ok(Watch::from_events(events))
    }

    fn streams_lists(&self) -> bool {
        self.streams_lists
    }
}

/// One watch.
struct Events {
    server: Server,
    stop: StopToken,
    /// What is left to be told of the list it begins with.
    initial: VecDeque<(&'static str, u32)>,
    /// Whether the end of that list is to be told, too.
    initial_end: bool,
    /// Everything up to here has been told.
    at: u32,
    /// Its last event, after which there is none.
    over: Option<Option<Result<WatchEvent<DynamicObject>>>>,
}

impl Iterator for Events {
    type Item = Result<WatchEvent<DynamicObject>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(last) = &mut self.over {
            return last.take();
        }
        let server = self.server.clone();
        let mut state = server.state.lock();
        loop {
            match state.meanwhile() {
                Meanwhile::Broken => {
                    self.over = Some(None);
                    return state.end_of_watch();
                }
                Meanwhile::Unreadable => return Some(Err(server.unreadable())),
                Meanwhile::Bookmark if !self.initial_end => {
                    if state.after(self.at).is_none() {
                        self.at = state.revision;
                    }
                    return Some(Ok(self.bookmark()));
                }
                Meanwhile::Nothing | Meanwhile::Bookmark => {}
            }
            if let Some((name, revision)) = self.initial.pop_front() {
                return Some(Ok(WatchEvent::Added(server.object(name, revision))));
            }
            let next = state.after(self.at);
            if self.initial_end && (next.is_none() || state.choices.below(2) == 0) {
                let end = self.bookmark();
                self.initial_end = false;
                return Some(Ok(end));
            }
            if let Some(Change { revision, name, kind }) = next {
                self.at = revision;
                let object = server.object(name, revision);
                return Some(Ok(match kind {
                    Kind::Added => WatchEvent::Added(object),
                    Kind::Modified => WatchEvent::Modified(object),
                    Kind::Deleted => WatchEvent::Deleted(object),
                }));
            }
            if state.choices.is_empty() {
                // All is said and done.
                self.stop.stop();
                return None;
            }
        }
    }
}

impl Events {
    fn bookmark(&self) -> WatchEvent<DynamicObject> {
        WatchEvent::Bookmark(Bookmark::new(self.at.to_string(), self.initial_end))
    }
}

impl State {
    fn begin_request(&mut self) -> Result<()> {
        assert!(self.requests_left > 0, "it asks and asks and never comes to an end");
        self.requests_left -= 1;
        match self.meanwhile() {
            Meanwhile::Broken => Err(self.failure()),
            _ => Ok(()),
        }
    }

    /// Others change objects, the consumer works, or something breaks. When the bytes have run out,
    /// nothing does.
    fn meanwhile(&mut self) -> Meanwhile {
        if self.choices.is_empty() {
            return Meanwhile::Nothing;
        }
        let choice = self.choices.byte();
        match choice % 16 {
            0..=5 => self.change(NAMES[usize::from(choice / 16) % NAMES.len()]),
            6 => self.revision += 1,
            7 => {
                let oldest = self.revision.saturating_sub(u32::from(choice / 32));
                self.compacted = self.compacted.max(oldest);
            }
            8 | 9 => {
                self.consumer.work();
            }
            10 => return Meanwhile::Broken,
            11 => return Meanwhile::Unreadable,
            12 => return Meanwhile::Bookmark,
            _ => {}
        }
        Meanwhile::Nothing
    }

    /// Makes the object, changes it or deletes it.
    fn change(&mut self, name: &'static str) {
        self.revision += 1;
        let exists = self.at(self.revision).contains_key(name);
        let kind = match (exists, self.revision % 3) {
            (false, _) => Kind::Added,
            (true, 0) => Kind::Deleted,
            (true, _) => Kind::Modified,
        };
        if kind == Kind::Deleted {
            self.consumer.note_deletion(format!("n/{name}"), self.revision);
        }
        self.history.push(Change { revision: self.revision, name, kind });
    }

    /// What there was at a revision.
    fn at(&self, revision: u32) -> BTreeMap<&'static str, u32> {
        let mut objects = BTreeMap::new();
        for change in self.history.iter().take_while(|change| change.revision <= revision) {
            match change.kind {
                Kind::Deleted => objects.remove(change.name),
                _ => objects.insert(change.name, change.revision),
            };
        }
        objects
    }

    fn after(&self, revision: u32) -> Option<Change> {
        self.history.iter().find(|change| change.revision > revision).copied()
    }

    /// The revision that a list is of.
    fn list_from(&mut self, options: &ListOptions) -> Result<u32> {
        let Some(version) = options.resource_version.as_deref() else { return Ok(self.revision) };
        let version = revision(version);
        assert!(version <= self.revision, "nobody has seen {version} yet");
        let exactly = version > 0 && options.limit.is_some() && self.stale;
        match exactly {
            true if version < self.compacted => Err(Error::Api(status(410, "Expired"))),
            true => Ok(version),
            false => Ok(self.not_older_than(version)),
        }
    }

    fn not_older_than(&mut self, revision: u32) -> u32 {
        if !self.stale || self.choices.is_empty() {
            return self.revision;
        }
        // There is no revision 0: to ask for it is to ask for any.
        let newer = self.revision - revision.max(1);
        self.revision - u32::from(self.choices.byte()) % (newer + 1)
    }

    /// The revision of a list, and how many of its objects have been told.
    fn go_on(&self, token: &str) -> Result<(u32, usize)> {
        let (at, from) = token.split_once(':').expect("a token of this server");
        let at = revision(at);
        if at < self.compacted {
            return Err(Error::Api(status(410, "Expired")));
        }
        Ok((at, from.parse().expect("a number")))
    }

    fn page_size(&mut self) -> usize {
        match self.choices.below(4) {
            0 => usize::MAX,
            size => size.into(),
        }
    }

    fn end_of_watch(&mut self) -> Option<Result<WatchEvent<DynamicObject>>> {
        match self.choices.below(8) {
            0 | 1 => None,
            2 => Some(Ok(WatchEvent::Error(status(410, "Expired")))),
            3 => Some(Ok(WatchEvent::Error(status(429, "TooManyRequests")))),
            4 => Some(Ok(WatchEvent::Error(status(500, "InternalError")))),
            5 => Some(Err(Error::decode("a watch of configmaps", serde::de::Error::custom("?")))),
            _ => Some(Err(self.failure())),
        }
    }

    fn failure(&mut self) -> Error {
        let broken = |phase, kind| Error::from(TransportError::io(phase, "broken", kind));
        match self.choices.below(16) {
            0 => Error::Api(status(400, "BadRequest")),
            1 => Error::Api(status(401, "Unauthorized")),
            2 => Error::Api(status(403, "Forbidden")),
            3 => Error::Api(status(404, "NotFound")),
            4 => Error::Api(status(410, "Expired")),
            5 => Error::Api(status(410, "Gone")),
            6 => Error::Api(status(422, "Invalid")),
            7 => Error::Api(status(429, "TooManyRequests")),
            8 => Error::Api(status(500, "InternalError")),
            9 => Error::Api(status(503, "ServiceUnavailable")),
            10 => Error::Api(status(504, "Timeout")),
            11 => broken(Phase::Connect, io::ErrorKind::ConnectionRefused),
            12 => broken(Phase::Response, io::ErrorKind::TimedOut),
            13 => broken(Phase::Body, io::ErrorKind::TimedOut),
            14 => broken(Phase::Body, io::ErrorKind::UnexpectedEof),
            _ => broken(Phase::Body, io::ErrorKind::InvalidData),
        }
    }
}

/// With a message that makes a timeout one of a version that is too large.
fn status(code: u16, reason: &str) -> Box<Status> {
    Box::new(Status::failure(code, reason, "Too large resource version: 99"))
}
