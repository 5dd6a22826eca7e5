//! Stopping: one token that interrupts every blocking call made under it.

use std::{
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    error::{Error, Result},
    sync::{Condvar, Mutex},
};

/// Tells blocking calls to return; cheap to clone, and every clone is the same token.
///
/// Stopping is final: a stopped token stays stopped. What runs under a token ([`Client::with_stop`],
/// a watch, a back-off wait) returns [`Error::Stopped`] within about a millisecond of [`stop`], whatever
/// it was blocked in: the socket it waits for is shut down from the stopping thread.
///
/// [`stop`]: StopToken::stop
/// [`Client::with_stop`]: crate::Client::with_stop
///
/// # Differences from client-go
///
/// Takes the place of both the stop channel and the `context.Context`; it carries no deadline and no
/// values.
///
/// ```
/// use kinformer::StopToken;
/// use std::time::Duration;
///
/// let all = StopToken::new();
/// let one = all.child();
/// assert!(!one.wait_timeout(Duration::from_millis(1)));
/// all.stop();
/// assert!(one.is_stopped());
/// ```
#[derive(Clone)]
#[doc(alias = "stopCh")]
#[doc(alias = "Context")]
pub struct StopToken(Arc<Inner>);

struct Inner {
    /// Also set inside `state`'s lock, so that a waiter cannot miss it; read without the lock.
    stopped: AtomicBool,
    state: Mutex<State>,
    stop_requested: Condvar,
    /// Keeps this token registered with those it stops with.
    parents: Mutex<Vec<OnStop>>,
}

#[derive(Default)]
struct State {
    next_id: u64,
    interrupts: Interrupts,
}

type Interrupts = Vec<(u64, Arc<dyn Interrupt>)>;

/// What a stop has interrupted.
pub(crate) struct Interrupted(
    #[expect(dead_code, reason = "it is there to be dropped")] Interrupts,
);

/// Something that a stop must wake. Called with the token's lock held: it must not block, and must not
/// use the token.
pub(crate) trait Interrupt: Send + Sync {
    fn interrupt(&self);
}

/// Keeps an [`Interrupt`] registered; after its drop the interrupt is not called any more.
pub(crate) struct OnStop {
    token: Arc<Inner>,
    id: u64,
}

impl StopToken {
    /// Makes a token that is not stopped.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            stopped: AtomicBool::new(false),
            state: Mutex::default(),
            stop_requested: Condvar::new(),
            parents: Mutex::default(),
        }))
    }

    /// Makes a token that stops when this one does, and can be stopped alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::new();
        child.follow(self);
        child
    }

    /// Stops this one with `other` too, for as long as this one is there.
    pub(crate) fn follow(&self, other: &Self) {
        let linked = other.link(self);
        self.0.parents.lock().extend(linked);
    }

    /// Stops `other` with this one, for as long as what is returned is kept.
    pub(crate) fn link(&self, other: &Self) -> Option<OnStop> {
        let linked = self.on_stop(Child::new(other));
        if linked.is_err() {
            other.stop();
        }
        linked.ok()
    }

    /// Stops everything that runs under this token, and returns without waiting for it to end.
    pub fn stop(&self) {
        drop(self.0.stop());
    }

    /// The same, and gives what has been interrupted: connections, which are closed once that is dropped too. A server
    /// has work with each that is closed, and those who are waited for need the processors more.
    #[must_use]
    pub(crate) fn stop_and_keep(&self) -> Interrupted {
        Interrupted(self.0.stop())
    }

    /// Whether [`stop`](Self::stop) was called on this token or one it is a child of.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Acquire)
    }

    /// Blocks until the token is stopped.
    pub fn wait(&self) {
        let mut state = self.0.state.lock();
        while !self.is_stopped() {
            self.0.stop_requested.wait(&mut state);
        }
    }

    /// Blocks until the token is stopped or `timeout` has passed; says whether it is stopped.
    ///
    /// This is how to sleep in code that has to end promptly.
    #[must_use]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        let Some(deadline) = Instant::now().checked_add(timeout) else {
            self.wait();
            return true;
        };
        let mut state = self.0.state.lock();
        while !self.is_stopped() {
            if self.0.stop_requested.wait_until(&mut state, deadline).timed_out() {
                return self.is_stopped();
            }
        }
        true
    }

    /// Fails with [`Error::Stopped`] once the token is stopped.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Registers `interrupt` to be called at the stop, or fails if that is past.
    pub(crate) fn on_stop(&self, interrupt: Arc<dyn Interrupt>) -> Result<OnStop> {
        let mut state = self.0.state.lock();
        self.check()?;
        let id = state.next_id;
        state.next_id += 1;
        state.interrupts.push((id, interrupt));
        Ok(OnStop { token: self.0.clone(), id })
    }

    #[cfg(test)]
    pub(crate) fn has_something_to_interrupt(&self) -> bool {
        !self.0.state.lock().interrupts.is_empty()
    }
}

impl Default for StopToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StopToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopToken").field("stopped", &self.is_stopped()).finish()
    }
}

impl Inner {
    /// Stops, and gives what has been interrupted: to be dropped when no token is locked, since the last
    /// reference to another token may be in it.
    #[must_use]
    fn stop(&self) -> Interrupts {
        let mut state = self.state.lock();
        self.stopped.store(true, Ordering::Release);
        self.stop_requested.notify_all();
        let interrupts = std::mem::take(&mut state.interrupts);
        // Under the lock, so that whoever drops its `OnStop` knows that the interrupt has run or never
        // will: a socket is not shut down after it went back to the pool.
        for (_, interrupt) in &interrupts {
            interrupt.interrupt();
        }
        interrupts
    }
}

impl Drop for OnStop {
    fn drop(&mut self) {
        let mut state = self.token.state.lock();
        if let Some(at) = state.interrupts.iter().position(|(id, _)| *id == self.id) {
            let (_, interrupt) = state.interrupts.swap_remove(at);
            drop(state);
            // Outside the lock: the last reference to a child token may be in here.
            drop(interrupt);
        }
    }
}

/// A child token as seen from its parent.
struct Child {
    token: Weak<Inner>,
    /// Kept until the parent's lock is free: whoever drops the last reference to a child takes it, and so
    /// it is with the children of the child.
    stopped: Mutex<Option<(Arc<Inner>, Interrupts)>>,
}

impl Child {
    fn new(child: &StopToken) -> Arc<Self> {
        Arc::new(Self { token: Arc::downgrade(&child.0), stopped: Mutex::new(None) })
    }
}

impl Interrupt for Child {
    fn interrupt(&self) {
        if let Some(child) = self.token.upgrade() {
            let interrupts = child.stop();
            *self.stopped.lock() = Some((child, interrupts));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicUsize, thread};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Interrupt for Count {
        fn interrupt(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn stop_reaches_children_and_not_parents() {
        let root = StopToken::new();
        let (a, b) = (root.child(), root.child());
        let leaf = a.child();
        a.stop();
        assert!(a.is_stopped() && leaf.is_stopped());
        assert!(!root.is_stopped() && !b.is_stopped());
        root.stop();
        assert!(b.is_stopped());
        assert!(root.child().is_stopped(), "a child of a stopped token is stopped");
    }

    #[test]
    fn a_dropped_child_leaves_nothing_with_its_parent() {
        let root = StopToken::new();
        for _ in 0..100 {
            drop(root.child());
        }
        assert!(root.0.state.lock().interrupts.is_empty());
    }

    #[test]
    fn a_child_may_be_dropped_while_its_parent_stops() {
        for _ in 0..2_000 {
            let root = StopToken::new();
            let children = [root.child(), root.child(), root.child()];
            thread::scope(|scope| {
                scope.spawn(move || {
                    children[0].wait();
                    drop(children);
                });
                root.stop();
            });
            assert!(root.is_stopped());
        }
    }

    #[test]
    fn a_token_that_follows_another_stops_with_each_of_the_two() {
        for first in [true, false] {
            let (one, other) = (StopToken::new(), StopToken::new());
            let both = one.child();
            both.follow(&other);
            if first { &one } else { &other }.stop();
            assert!(both.is_stopped() && one.is_stopped() == first);
            drop(both);
            assert!(one.0.state.lock().interrupts.is_empty());
            assert!(other.0.state.lock().interrupts.is_empty());
            let late = StopToken::new();
            late.follow(if first { &one } else { &other });
            assert!(late.is_stopped(), "it follows a stopped one");
        }
    }

    /// Drops the token that it was given when it is interrupted.
    struct Drops(Mutex<Option<StopToken>>);

    impl Interrupt for Drops {
        fn interrupt(&self) {
            drop(self.0.lock().take());
        }
    }

    #[test]
    fn a_token_that_follows_its_parent_and_its_sibling_may_be_dropped_while_they_stop() {
        let root = StopToken::new();
        let (sibling, both) = (root.child(), root.child());
        both.follow(&sibling);
        // Now only the one that stops it holds it.
        let dropping = sibling.on_stop(Arc::new(Drops(Mutex::new(Some(both))))).unwrap();
        let (done, ended) = std::sync::mpsc::channel();
        let stopping = crate::thread::spawn("stop", move || {
            root.stop();
            done.send(())
        });
        ended.recv_timeout(Duration::from_secs(60)).expect("it does not wait for itself");
        stopping.unwrap().join().unwrap().unwrap();
        drop((dropping, sibling));
    }

    #[test]
    fn an_interrupt_runs_once_and_never_after_its_registration_ended() {
        let token = StopToken::new();
        let (kept, ended) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let registration = token.on_stop(kept.clone()).unwrap();
        drop(token.on_stop(ended.clone()).unwrap());
        token.stop();
        token.stop();
        drop(registration);
        assert_eq!(kept.0.load(Ordering::SeqCst), 1);
        assert_eq!(ended.0.load(Ordering::SeqCst), 0);
        assert!(token.on_stop(kept).is_err(), "registering after the stop fails");
    }

    #[test]
    fn wait_returns_at_the_stop_or_at_the_timeout() {
        let token = StopToken::new();
        assert!(!token.wait_timeout(Duration::from_millis(5)));
        thread::scope(|scope| {
            let waiter = scope.spawn(|| token.wait_timeout(Duration::MAX));
            token.stop();
            assert!(waiter.join().unwrap());
        });
        token.wait();
    }
}
