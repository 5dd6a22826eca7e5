//! Informers for all that a server has, kept up to date as resources come and go.

use std::{
    collections::{BTreeMap, HashSet},
    fmt, mem,
    sync::{Arc, Weak},
    time::Duration,
};

use super::{Lease, Selection, Shared};
use crate::{
    client::{DiscoveredResource, Discovery},
    error::{Error, Result},
    informer::{Event, EventHandler, RegistrationGuard, Role, SharedInformer},
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
/// their resource is gone, and when this is dropped.
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

    /// Why the server could not be asked what it has, the last time.
    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        self.following.state.lock().last_error.clone()
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        self.following.stop.stop();
        if let Some(thread) = self.thread.take()
            && Role::current() == Role::Outside
        {
            // It waits for handlers, so handlers do not wait for it.
            let _ = thread.join();
        }
        let watched = mem::take(&mut self.following.state.lock().watched);
        drop(watched);
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
    last_error: Option<String>,
    /// Stopped when something points to a change.
    nudge: StopToken,
}

/// The handlers go before the lease.
struct Watched {
    _handlers: Vec<RegistrationGuard>,
    lease: Lease<DynamicObject>,
}

impl Following {
    fn run(
        self: &Arc<Self>,
        handler: &(impl EventHandler<DynamicObject> + Clone),
        period: Duration,
    ) {
        let mut delay = period;
        while !self.stop.is_stopped() {
            let nudge = self.state.lock().nudge.clone();
            if nudge.wait_timeout(delay) {
                // What comes together is looked at together.
                let _ = self.stop.wait_timeout(LOOK_SOON);
                self.state.lock().nudge = self.stop.child();
                delay = LOOK_SOON;
            } else {
                delay = delay.saturating_mul(LESS_OFTEN).min(period);
            }
            if self.stop.is_stopped() {
                return;
            }
            let looked = self.look(handler).err().map(|error| error.to_string());
            if let Some(error) = &looked {
                log::warn!("cannot find out what there is to watch: {error}");
            }
            self.state.lock().last_error = looked;
        }
    }

    /// Asks the server what it has, and watches that.
    fn look(self: &Arc<Self>, handler: &(impl EventHandler<DynamicObject> + Clone)) -> Result<()> {
        self.discovery.refresh()?;
        let failures = self.discovery.failures()?;
        let unknown: HashSet<_> = failures.into_iter().map(|failed| failed.group_version).collect();
        let there: BTreeMap<_, _> = self
            .discovery
            .preferred_resources()?
            .into_iter()
            .filter(|found| found.supports(&["list", "watch"]) && (self.filter)(found))
            .map(|found| (found.resource.gvr(), found.resource))
            .collect();
        let factory = self.factory.upgrade().ok_or(Error::Stopped)?;
        let gone = self.state.lock().take(|resource| {
            !there.contains_key(resource) && !unknown.contains(&resource.api_version())
        });
        drop(gone);
        for (place, resource) in there {
            if !self.state.lock().watched.contains_key(&place) {
                let watched = self.watch(&factory, &resource, handler.clone())?;
                self.state.lock().watched.insert(place, watched);
            }
        }
        Ok(())
    }

    fn watch(
        self: &Arc<Self>,
        factory: &Arc<Shared>,
        resource: &ApiResource,
        handler: impl EventHandler<DynamicObject>,
    ) -> Result<Watched> {
        let lease = Lease::new(factory, resource, &Selection::default())?;
        let mut handlers = vec![lease.add_event_handler(handler)?.guard()];
        if brings_resources(resource) {
            let following = Arc::downgrade(self);
            let nudge = lease.on_event(move |event| {
                let is_news = !matches!(event, Event::Added { initial: true, .. });
                if let Some(following) = following.upgrade().filter(|_| is_news) {
                    let nudge = following.state.lock().nudge.clone();
                    nudge.stop();
                }
            });
            handlers.push(nudge?.guard());
        }
        Ok(Watched { _handlers: handlers, lease })
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
    /// Takes out what is gone.
    fn take(&mut self, is_gone: impl Fn(&GroupVersionResource) -> bool) -> Vec<Watched> {
        let gone: Vec<_> =
            self.watched.keys().filter(|resource| is_gone(resource)).cloned().collect();
        gone.iter().filter_map(|resource| self.watched.remove(resource)).collect()
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
