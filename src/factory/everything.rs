//! Informers for all that a server has, kept up to date as resources come and go.

use std::{
    collections::{BTreeMap, HashSet},
    fmt, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use super::{Lease, Selection, Shared};
use crate::{
    cache::panic_text,
    client::{DiscoveredResource, Discovery},
    error::{Error, Result},
    informer::{Event, EventHandler, Registration, RegistrationGuard, Role, SharedInformer},
    object::{ApiResource, DynamicObject, GroupVersionResource},
    stop::StopToken,
    sync::{
        Mutex,
        thread::{self, JoinHandle},
    },
};

/// How often the server is asked what it has, when nothing points to a change.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How soon it is asked when something does, and how fast it is asked less often again: servers take a
/// while to serve what they have been told of.
const LOOK_SOON: Duration = Duration::from_millis(100);
const LESS_OFTEN: u32 = 4;

/// Makes informers for everything that can be watched: see
/// [`SharedInformerFactory::everything`](super::SharedInformerFactory::everything).
#[must_use]
pub struct EverythingBuilder {
    factory: Arc<Shared>,
    filter: Filter,
    period: Duration,
}

type Filter = Box<dyn Fn(&DiscoveredResource) -> bool + Send + Sync>;

impl EverythingBuilder {
    pub(super) fn new(factory: &Arc<Shared>) -> Self {
        Self { factory: factory.clone(), filter: Box::new(|_| true), period: LOOK_EVERY }
    }

    /// Only resources that this says yes to. Defaults to all that can be listed and watched.
    ///
    /// Some objects are served in two groups: `events` in the core group and in `events.k8s.io`.
    pub fn filter(
        mut self,
        filter: impl Fn(&DiscoveredResource) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.filter = Box::new(filter);
        self
    }

    /// How often the server is asked what it has. Defaults to a minute.
    ///
    /// Custom resources are noticed much sooner, unless the filter leaves out their definitions.
    pub fn look_every(mut self, period: Duration) -> Self {
        self.period = period.max(LOOK_SOON);
        self
    }

    /// Starts to watch, with a clone of `handler` for each resource.
    ///
    /// The clones are called on threads of their own, at the same time. The sender of a channel is a
    /// handler that brings their events together.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked what it has, the factory has been shut down, or no thread can be
    /// started.
    ///
    /// # Blocking
    ///
    /// While the server is asked.
    pub fn watch(self, handler: impl EventHandler<DynamicObject> + Clone) -> Result<Everything> {
        let Self { factory, filter, period } = self;
        factory.check_open()?;
        let stop = factory.stop.child();
        let following = Arc::new(Following {
            discovery: factory.client.with_stop(&stop).discovery(),
            factory: Arc::downgrade(&factory),
            filter,
            state: Mutex::new(State { nudge: stop.child(), ..State::default() }),
            stop,
        });
        drop(factory);
        // From here on what is watched is let go if anything fails.
        let mut everything = Everything { following: following.clone(), thread: None };
        following.look(&handler)?;
        let run = move || following.run(&handler, period);
        let thread = thread::spawn("everything", run).map_err(|error| {
            Error::invalid("everything", format!("no thread can be started: {error}"))
        })?;
        everything.thread = Some(thread);
        Ok(everything)
    }
}

/// Informers for everything that can be watched, until this is dropped.
///
/// Made by [`SharedInformerFactory::everything`](super::SharedInformerFactory::everything). It has a
/// [lease](super::Lease) on each of them: those that nobody else asked the factory for are stopped when
/// their resource is gone, and when this is dropped. One that somebody else
/// [stops](super::SharedInformerFactory::stop_informer) is watched anew when the server is next asked what
/// it has; to leave a resource out for good, [filter](EverythingBuilder::filter) it.
///
/// When a resource goes, its handler is told of all objects that are left as deleted, however slow it is,
/// before it is dropped. That is also so when the server comes to prefer another version of the resource:
/// the objects are told as deleted in the old version and as added in the new one, in any order.
#[must_use = "the informers stop when this is dropped"]
pub struct Everything {
    following: Arc<Following>,
    thread: Option<JoinHandle<()>>,
}

impl Everything {
    /// The resources that are watched now, in order.
    #[must_use]
    pub fn resources(&self) -> Vec<GroupVersionResource> {
        self.following.state.lock().watched.keys().cloned().collect()
    }

    /// Their informers, in the same order.
    #[must_use]
    pub fn informers(&self) -> Vec<SharedInformer> {
        let state = self.following.state.lock();
        state.watched.values().map(|watched| SharedInformer::clone(&watched.lease)).collect()
    }

    /// Why not all that there is could be watched, the last time that the server was asked: it did not
    /// answer, or the filter panicked.
    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        self.following.state.lock().last_error.clone()
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        self.following.stop.stop();
        if let Some(thread) = self.thread.take()
            && Role::current() != Role::Engine
            && thread.thread().id() != thread::current().id()
        {
            // It waits for engines, so engines do not wait for it, nor do the filter and the clones of the
            // handler, which it calls: then it ends by itself.
            let _ = thread.join();
        }
        let mut state = self.following.state.lock();
        let (watched, leaving) = (mem::take(&mut state.watched), mem::take(&mut state.leaving));
        drop(state);
        drop((watched, leaving));
    }
}

/// What the thread and the handle share.
struct Following {
    factory: Weak<Shared>,
    discovery: Discovery,
    filter: Filter,
    state: Mutex<State>,
    stop: StopToken,
}

#[derive(Default)]
struct State {
    watched: BTreeMap<GroupVersionResource, Watched>,
    /// Their resource is gone, and their handlers have not been told all of it.
    leaving: Vec<Watched>,
    /// What the server has, by the names that definitions have for it.
    defined: HashSet<String>,
    last_error: Option<String>,
    /// Stopped when something points to a change.
    nudge: StopToken,
}

/// The handlers go before the lease.
struct Watched {
    handler: RegistrationGuard,
    nudge: Option<RegistrationGuard>,
    lease: Lease<DynamicObject>,
}

impl Following {
    fn run(
        self: &Arc<Self>,
        handler: &(impl EventHandler<DynamicObject> + Clone),
        period: Duration,
    ) {
        // Waits for no handler, so that handlers may wait for it.
        let _acting = Role::Handler.begin();
        let mut delay = period;
        let mut last = Instant::now();
        // What was deleted before definitions were listed is not told as deleted: then there is one look more.
        let mut unlisted = Some(LOOK_SOON);
        while !self.stop.is_stopped() {
            let (nudge, are_leaving) = {
                let state = self.state.lock();
                (state.nudge.clone(), !state.leaving.is_empty())
            };
            let left = delay.saturating_sub(last.elapsed());
            let left = if are_leaving { left.min(LOOK_SOON) } else { left };
            let nudged = nudge.wait_timeout(unlisted.map_or(left, |soon| left.min(soon)));
            let told = self.state.lock().take_told();
            drop(told);
            let listed = unlisted.is_some() && self.state.lock().definitions_are_listed();
            unlisted = unlisted.filter(|_| !listed).map(|soon| soon.saturating_mul(2).min(period));
            if nudged {
                // What comes together is looked at together.
                let _ = self.stop.wait_timeout(LOOK_SOON);
                self.state.lock().nudge = self.stop.child();
                delay = LOOK_SOON;
            } else if last.elapsed() < delay {
                if !listed {
                    continue;
                }
            } else {
                delay = delay.saturating_mul(LESS_OFTEN).min(period);
            }
            if self.stop.is_stopped() {
                return;
            }
            // The filter and the clones of the handler are the user's: a panic of theirs ends nothing.
            let looked = match catch_unwind(AssertUnwindSafe(|| self.look(handler))) {
                Ok(looked) => looked.err().map(|error| error.to_string()),
                Err(panic) => Some(format!("a panic: {}", panic_text(panic))),
            };
            if let Some(error) = &looked {
                log::warn!("cannot watch all that there is: {error}");
            }
            self.state.lock().last_error = looked;
            last = Instant::now();
        }
    }

    /// Asks the server what it has, and watches that.
    fn look(self: &Arc<Self>, handler: &(impl EventHandler<DynamicObject> + Clone)) -> Result<()> {
        self.discovery.refresh()?;
        let failures = self.discovery.failures()?;
        let unknown: HashSet<_> = failures.into_iter().map(|failed| failed.group_version).collect();
        let defined = self.discovery.resources()?.into_iter().flat_map(|found| {
            let (group, version) = (found.resource.group(), found.resource.version());
            [found.resource.to_string(), format!("{version}.{group}")]
        });
        self.state.lock().defined = defined.collect();
        let there: BTreeMap<_, _> = self
            .discovery
            .preferred_resources()?
            .into_iter()
            .filter(|found| found.supports(&["list", "watch"]) && (self.filter)(found))
            .map(|found| (found.resource.gvr(), found.resource))
            .collect();
        let factory = self.factory.upgrade().ok_or(Error::Stopped)?;
        let mut state = self.state.lock();
        let stopped = state.take(|_, watched| watched.lease.is_ending());
        let gone = state.take(|resource, _| {
            !there.contains_key(resource) && !unknown.contains(&resource.api_version())
        });
        drop(state);
        drop(stopped);
        for watched in &gone {
            watched.handler.retire();
        }
        self.state.lock().leaving.extend(gone);
        let mut first = Ok(());
        for (place, resource) in there {
            if self.state.lock().watched.contains_key(&place) {
                continue;
            }
            match self.watch(&factory, &resource, handler.clone()) {
                Ok(watched) => drop(self.state.lock().watched.insert(place, watched)),
                // It does not keep the others from being watched.
                Err(error) => first = first.and(Err(error)),
            }
        }
        first
    }

    fn watch(
        self: &Arc<Self>,
        factory: &Arc<Shared>,
        resource: &ApiResource,
        handler: impl EventHandler<DynamicObject>,
    ) -> Result<Watched> {
        let lease = Lease::new(factory, resource, &Selection::default())?;
        let handler = lease.add_event_handler(handler)?.guard();
        let nudge = brings_resources(resource).then(|| {
            let following = Arc::downgrade(self);
            lease.on_event_named("everything", move |event| {
                if let Some(following) = following.upgrade() {
                    following.consider(&event);
                }
            })
        });
        let nudge = nudge.transpose()?.map(Registration::guard);
        Ok(Watched { handler, nudge, lease })
    }

    /// Looks again soon if a change of a definition may have changed what there is.
    fn consider(&self, event: &Event) {
        let state = self.state.lock();
        let is_news = match event {
            // Made after the server was asked, or before it serves what that defines.
            Event::Added { object, initial: true } => !state.defined.contains(object.name()),
            Event::Updated { old, new } => old.resource_version() != new.resource_version(),
            _ => true,
        };
        let nudge = state.nudge.clone();
        drop(state);
        if is_news {
            nudge.stop();
        }
    }
}

/// Whether other resources come and go with objects of this one.
fn brings_resources(resource: &ApiResource) -> bool {
    matches!(
        (resource.group(), resource.plural()),
        ("apiextensions.k8s.io", "customresourcedefinitions")
            | ("apiregistration.k8s.io", "apiservices")
    )
}

impl State {
    /// Takes out those that are watched no more.
    fn take(&mut self, is_over: impl Fn(&GroupVersionResource, &Watched) -> bool) -> Vec<Watched> {
        let over = self.watched.iter().filter(|(resource, watched)| is_over(resource, watched));
        let over: Vec<_> = over.map(|(resource, _)| resource.clone()).collect();
        over.iter().filter_map(|resource| self.watched.remove(resource)).collect()
    }

    /// Whether all that brings resources has been listed.
    fn definitions_are_listed(&self) -> bool {
        let mut nudges = self.watched.values().filter_map(|watched| watched.nudge.as_ref());
        nudges.all(RegistrationGuard::has_synced)
    }

    /// Takes out those whose handlers have been told that everything is gone.
    fn take_told(&mut self) -> Vec<Watched> {
        self.leaving.extract_if(.., |watched| watched.handler.has_left()).collect()
    }
}

impl fmt::Debug for EverythingBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EverythingBuilder").field("period", &self.period).finish_non_exhaustive()
    }
}

impl fmt::Debug for Everything {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Everything")
            .field("resources", &self.following.state.lock().watched.len())
            .finish_non_exhaustive()
    }
}
