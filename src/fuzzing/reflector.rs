//! A reflector on a server that does what the bytes say, until they run out: then the server behaves,
//! and what was mirrored must be what the server has.

use std::{sync::Arc, time::Duration};

use self::server::{Objects, Server};
use super::Choices;
use crate::{
    DynamicObject, Object,
    cache::{Delta, DeltaFifo, Popped, Store, meta_namespace_key},
    reflector::{Backoff, Reflector, ReflectorBuilder},
    stop::StopToken,
    sync::Mutex,
};

mod server;

/// Nothing here waits: all of it happens in one thread, and time does not matter.
const NO_PAUSES: Backoff = Backoff {
    initial: Duration::ZERO,
    factor: 0.0,
    cap: Duration::ZERO,
    jitter: 0.0,
    reset: Duration::MAX,
};

const FOR_EVER: Duration = Duration::from_secs(86_400);

/// How the reflector and its server are made.
#[derive(Clone, Copy, Debug)]
struct Setup {
    /// Into a queue with a consumer, or right into a store.
    queue: bool,
    emit_replaced: bool,
    reuse_unchanged: bool,
    streams_lists: bool,
    retry_internal_errors: bool,
    page_size: u32,
    /// The server may answer with what it had a while ago.
    stale: bool,
}

impl Setup {
    fn choose(choices: &mut Choices) -> Self {
        let bits = choices.byte();
        let is_set = |bit: u8| bits & (1 << bit) != 0;
        Self {
            queue: !is_set(0),
            emit_replaced: is_set(1),
            reuse_unchanged: is_set(2),
            streams_lists: is_set(3),
            retry_internal_errors: is_set(4),
            page_size: if is_set(5) { 2 } else { 0 },
            stale: is_set(6),
        }
    }
}

/// Does what the bytes say.
pub fn reflector(data: &[u8]) {
    let mut choices = Choices::new(data);
    let setup = Setup::choose(&mut choices);
    let consumer = Arc::new(Consumer::new(setup));
    let server = Server::new(setup, choices, consumer.clone());
    let stop = StopToken::new();
    let reflector = if setup.queue {
        Reflector::builder(server.clone(), consumer.fifo.clone())
    } else {
        Reflector::builder(server.clone(), consumer.store.clone())
    };
    let reflector = with_settings(reflector, setup).build();
    reflector.run(&stop);

    while consumer.work() {}
    consumer.check(&server.objects());
    let seen = server::revision(&reflector.last_sync_resource_version());
    assert!(seen >= server.last_change(), "a watch from where it stands would bring more");
    assert!(consumer.fifo.has_synced() || !setup.queue, "invariant 4: the list is processed");
}

fn with_settings(
    builder: ReflectorBuilder<DynamicObject>,
    setup: Setup,
) -> ReflectorBuilder<DynamicObject> {
    let internal_errors = if setup.retry_internal_errors { FOR_EVER } else { Duration::ZERO };
    builder
        .backoff(NO_PAUSES)
        .page_size(setup.page_size)
        .stream_silence(FOR_EVER)
        .watch_silence(FOR_EVER)
        .retry_internal_errors(internal_errors)
        .on_error(|error| assert!(!error.to_string().is_empty()))
}

/// Whoever is told of changes: applies them to a store, and to a copy of its own.
struct Consumer {
    setup: Setup,
    fifo: Arc<DeltaFifo<Object>>,
    store: Store<Object>,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    objects: Objects,
    /// The newest version of each object that was told of, gone or not.
    newest: Objects,
    /// When the server last deleted each object.
    deletions: Objects,
}

impl Consumer {
    fn new(setup: Setup) -> Self {
        let store = Store::new(meta_namespace_key::<DynamicObject>);
        let mut fifo = DeltaFifo::builder(meta_namespace_key::<DynamicObject>)
            .known_objects(store.clone())
            .emit_replaced(setup.emit_replaced);
        if setup.reuse_unchanged {
            fifo = fifo
                .unchanged(|known, listed| known.resource_version() == listed.resource_version());
        }
        Self { setup, fifo: Arc::new(fifo.build()), store, told: Mutex::default() }
    }

    /// Processes one object, if any is queued.
    fn work(&self) -> bool {
        if self.fifo.is_empty() {
            return false;
        }
        let done = self.fifo.pop_with(|popped| self.apply(popped));
        assert_eq!(done, Some(()), "what is queued can be popped");
        true
    }

    /// The server has deleted an object.
    fn note_deletion(&self, key: String, revision: u32) {
        self.told.lock().deletions.insert(key, revision);
    }

    fn apply(&self, Popped { key, deltas, .. }: Popped<Object>) {
        let mut told = self.told.lock();
        for delta in deltas {
            if let Some(object) = delta.object() {
                self.check_age(&mut told, object);
            }
            let name = key.to_string();
            if let Delta::Deleted(_) = delta {
                let had = told.objects.remove(&name);
                let had = had.unwrap_or_else(|| panic!("invariant 8: {name} was not there"));
                let deleted = told.deletions.get(&name).is_some_and(|&revision| revision > had);
                assert!(deleted || self.setup.stale, "{name} was never deleted");
                assert!(self.store.delete_by_key(&name).is_some(), "invariant 6: {name}");
            } else if let Some(object) = delta.object() {
                told.objects.insert(name, version(object));
                self.store.add(object.clone());
            }
        }
    }

    /// A server that never goes back is never seen to go back.
    fn check_age(&self, told: &mut Told, object: &Object) {
        let newest = told.newest.entry(object.key().to_string()).or_default();
        let version = version(object);
        assert!(self.setup.stale || version >= *newest, "{object} went back to {version}");
        *newest = version;
    }

    /// Everything was told and applied: nothing is missing, and nothing is left that is gone.
    fn check(&self, expected: &Objects) {
        let stored: Objects = self
            .store
            .list()
            .iter()
            .map(|object| (object.key().to_string(), version(object)))
            .collect();
        assert_eq!(stored, *expected, "the store is what the server has");
        if self.setup.queue {
            let told = self.told.lock();
            assert_eq!(told.objects, *expected, "what was told adds up to what the server has");
        }
    }
}

fn version(object: &Object) -> u32 {
    server::revision(object.resource_version())
}
