//! Filling one queue from several namespaces, each with a watch of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::resume_unwind,
    sync::{Arc, OnceLock},
};

use super::{feed::Feed, namespace_set::NamespaceSet, role::Role};
use crate::{
    cache::{DeltaFifo, Replace},
    error::Result,
    object::{DynamicObject, Object},
    reflector::{Activity, Doing, ListTarget, Moved, Progress, Reflector, ReflectorStore},
    stop::StopToken,
    sync::{
        Mutex,
        thread::{self, JoinHandle},
    },
};

type ReflectorOf =
    Box<dyn Fn(&str, Box<dyn ReflectorStore<Object>>) -> Reflector<DynamicObject> + Send + Sync>;

/// A reflector for each namespace of a set, all into one queue.
pub(super) struct NamespacesFeed {
    set: NamespaceSet,
    reflector_of: ReflectorOf,
    moved: OnceLock<Moved>,
    shared: Arc<Shared>,
}

struct Shared {
    fifo: Arc<DeltaFifo<Object>>,
    state: Mutex<State>,
}

struct State {
    /// Those that are watched, or about to be.
    members: BTreeMap<String, Member>,
    /// What those that have left had counted: counters never go back.
    left: Activity,
}

#[derive(Default)]
struct Member {
    /// `None` until its thread starts.
    progress: Option<Arc<Progress>>,
    /// Whether its first list is complete.
    listed: bool,
}

/// The thread of one namespace.
struct Watcher {
    stop: StopToken,
    thread: JoinHandle<()>,
}

impl NamespacesFeed {
    pub(super) fn new(
        set: NamespaceSet,
        fifo: Arc<DeltaFifo<Object>>,
        reflector_of: ReflectorOf,
    ) -> Self {
        fifo.hold_sync();
        let left = Progress::new().activity();
        let state = Mutex::new(State { members: BTreeMap::new(), left });
        let shared = Arc::new(Shared { fifo, state });
        Self { set, reflector_of, moved: OnceLock::new(), shared }
    }

    fn watch(&self, namespace: &str, all: &StopToken) -> Watcher {
        let target = Target { namespace: namespace.to_owned(), shared: self.shared.clone() };
        let reflector = (self.reflector_of)(namespace, Box::new(target));
        if let Some(moved) = self.moved.get() {
            reflector.progress.on_move(moved.clone());
        }
        self.shared.state.lock().joins(namespace, reflector.progress.clone());
        let (all, stop) = (all.clone(), all.child());
        let own = stop.clone();
        let run = move || {
            let _acting = Role::Engine.begin();
            // A panic ends all of them, and comes out when this thread is joined.
            let _stopping = StopUnless(&own, &all);
            reflector.run(&own);
        };
        let thread = thread::spawn(&format!("n:{namespace}"), run);
        // As a scope would: there is no sense in watching some of the namespaces.
        Watcher { stop, thread: thread.expect("a thread for a namespace can be started") }
    }

    /// Its objects are not known any more, so they count as deleted.
    fn leave(&self, namespace: &str, watcher: Watcher) {
        watcher.end();
        self.shared.fifo.begin_replace_in(namespace).finish();
        self.shared.state.lock().leaves(namespace);
        // It may have been the one that was behind.
        if let Some(moved) = self.moved.get() {
            moved();
        }
    }
}

impl Feed for NamespacesFeed {
    fn run(&self, stop: &StopToken) {
        let mut watchers: BTreeMap<String, Watcher> = BTreeMap::new();
        let mut seen = None;
        while let Some((names, change)) = self.set.wait_for_change(seen, stop) {
            seen = Some(change);
            self.shared.state.lock().expects(&names);
            for name in &names {
                if !watchers.contains_key(name) {
                    watchers.insert(name.clone(), self.watch(name, stop));
                }
            }
            let gone: Vec<_> =
                watchers.keys().filter(|name| !names.contains(*name)).cloned().collect();
            for name in gone {
                if let Some(watcher) = watchers.remove(&name) {
                    self.leave(&name, watcher);
                }
            }
            self.shared.release_if_listed();
        }
        for watcher in watchers.values() {
            watcher.stop.stop();
        }
        for (_, watcher) in watchers {
            watcher.end();
        }
    }

    fn on_move(&self, moved: Moved) {
        let _ = self.moved.set(moved);
    }

    fn activity(&self) -> Activity {
        self.shared.state.lock().activity()
    }

    fn is_listing(&self) -> bool {
        let state = self.shared.state.lock();
        state
            .members
            .values()
            .flat_map(|member| &member.progress)
            .any(|progress| progress.is_listing())
    }
}

impl Watcher {
    fn end(self) {
        self.stop.stop();
        if let Err(panic) = self.thread.join() {
            resume_unwind(panic);
        }
    }
}

/// Stops all if one ends before it was told to.
struct StopUnless<'a>(&'a StopToken, &'a StopToken);

impl Drop for StopUnless<'_> {
    fn drop(&mut self) {
        if !self.0.is_stopped() {
            self.1.stop();
        }
    }
}

impl Shared {
    /// A namespace has been listed, for the first time or again.
    fn listed(&self, namespace: &str) {
        if let Some(member) = self.state.lock().members.get_mut(namespace) {
            member.listed = true;
        }
        self.release_if_listed();
    }

    fn release_if_listed(&self) {
        let all = self.state.lock().members.values().all(|member| member.listed);
        if all {
            self.fifo.release_sync();
        }
    }
}

impl State {
    /// Before any of them is watched, so that none is the only one.
    fn expects(&mut self, names: &BTreeSet<String>) {
        for name in names {
            self.members.entry(name.clone()).or_default();
        }
    }

    fn joins(&mut self, namespace: &str, progress: Arc<Progress>) {
        self.members.entry(namespace.to_owned()).or_default().progress = Some(progress);
    }

    fn leaves(&mut self, namespace: &str) {
        let member = self.members.remove(namespace);
        if let Some(progress) = member.and_then(|member| member.progress) {
            self.left.count(&progress.activity());
        }
    }

    fn activity(&self) -> Activity {
        let members: Vec<_> = self
            .members
            .iter()
            .filter_map(|(name, member)| Some((name, member.progress.as_ref()?.activity())))
            .collect();
        let mut all = self.left.clone();
        let mut errors = Vec::new();
        let mut versions = Vec::new();
        for (name, activity) in &members {
            all.count(activity);
            all.failures = all.failures.max(activity.failures);
            all.last_event = all.last_event.max(activity.last_event);
            all.watching_since = all.watching_since.max(activity.watching_since);
            errors.extend(activity.last_error.as_ref().map(|error| format!("{name}: {error}")));
            all.cause = all.cause.or_else(|| activity.cause.clone());
            versions.push(&activity.resource_version);
        }
        all.last_error = (!errors.is_empty()).then(|| errors.join("; "));
        // What all of them have come to.
        let least = versions.into_iter().min_by_key(|version| version.parse::<u64>().unwrap_or(0));
        all.resource_version = least.cloned().unwrap_or_default();
        all.doing = together(members.iter().map(|(_, activity)| &activity.doing));
        all
    }
}

impl Activity {
    fn count(&mut self, other: &Self) {
        self.lists += other.lists;
        self.watches += other.watches;
        self.events += other.events;
        self.all_failures += other.all_failures;
        self.passed_over += other.passed_over;
        if other.last_passed_over.is_some() {
            self.last_passed_over.clone_from(&other.last_passed_over);
        }
    }
}

/// What all are doing, said by the one that is furthest from watching.
fn together<'a>(all: impl Iterator<Item = &'a Doing> + Clone) -> Doing {
    let find = |wanted: fn(&Doing) -> bool| all.clone().find(|doing| wanted(doing));
    if let Some(doing) = find(|doing| matches!(doing, Doing::BackingOff | Doing::Nothing)) {
        return doing.clone();
    }
    if find(|doing| matches!(doing, Doing::Listing { .. })).is_some() {
        let received = all.map(|doing| match doing {
            Doing::Listing { received, .. } => *received,
            _ => 0,
        });
        return Doing::Listing { received: received.sum(), expected: None };
    }
    let connecting = find(|doing| matches!(doing, Doing::Connecting | Doing::Stopped));
    connecting.or_else(|| all.clone().next()).cloned().unwrap_or(Doing::Nothing)
}

/// The queue as seen from one namespace: its lists say nothing about others.
struct Target {
    namespace: String,
    shared: Arc<Shared>,
}

impl ReflectorStore<Object> for Target {
    fn add(&self, object: Object) -> Result<()> {
        self.shared.fifo.add(object)
    }

    fn update(&self, object: Object) -> Result<()> {
        self.shared.fifo.update(object)
    }

    fn delete(&self, object: Object) -> Result<()> {
        self.shared.fifo.delete(object)
    }

    fn begin_list(&self) -> Box<dyn ListTarget<Object> + '_> {
        let list = self.shared.fifo.begin_replace_in(&self.namespace);
        Box::new(OfNamespace { target: self, list })
    }
}

/// A list of one namespace.
struct OfNamespace<'a> {
    target: &'a Target,
    list: Replace<'a, Object>,
}

impl ListTarget<Object> for OfNamespace<'_> {
    fn item(&mut self, object: Object) -> Result<()> {
        self.list.item(object)
    }

    fn remove(&mut self, object: Object) -> Result<()> {
        self.list.remove(object)
    }

    fn finish(self: Box<Self>, _resource_version: &str) {
        let Self { target, list } = *self;
        list.finish();
        target.shared.listed(&target.namespace);
    }
}
