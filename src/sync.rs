//! The locks and threads of the engine, in one place, so that a model checker can put in its own.
//!
//! `RUSTFLAGS="--cfg shuttle"` builds the same source on those of the `shuttle` crate, which runs it
//! under thousands of schedules (`tests/models.rs`, `tests/models_informer.rs`).

#[cfg(not(shuttle))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

#[cfg(shuttle)]
pub(crate) use self::checked::{Condvar, Mutex, MutexGuard, RwLock, thread};
#[cfg(not(shuttle))]
pub(crate) use crate::thread;

/// shuttle's locks with the interface of parking_lot's, as far as it is used here, and its threads with
/// that of [`crate::thread`].
#[cfg(shuttle)]
#[allow(dead_code, reason = "the interface is whole, whoever uses what of it")]
mod checked {
    use std::{
        ops::{Deref, DerefMut},
        sync::PoisonError,
        time::Instant,
    };

    use shuttle::sync;

    pub(crate) mod thread {
        use std::io;

        use shuttle::thread::{Builder, Scope, ScopedJoinHandle};
        pub(crate) use shuttle::thread::{JoinHandle, ThreadId, current, scope, yield_now};

        pub(crate) fn spawn<T: Send + 'static>(
            name: &str,
            run: impl FnOnce() -> T + Send + 'static,
        ) -> io::Result<JoinHandle<T>> {
            Builder::new().name(name.to_owned()).spawn(run)
        }

        pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
            _name: &str,
            scope: &'scope Scope<'scope, '_>,
            run: impl FnOnce() -> T + Send + 'scope,
        ) -> io::Result<ScopedJoinHandle<'scope, T>> {
            Ok(scope.spawn(run))
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    /// Empty only while a condition variable has the lock.
    pub(crate) struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_ref().expect("not waiting")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("not waiting")
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct RwLock<T>(sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> sync::RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn write(&self) -> sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(sync::Condvar);

    pub(crate) struct WaitTimeoutResult;

    impl WaitTimeoutResult {
        pub(crate) fn timed_out(&self) -> bool {
            false
        }
    }

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let waiting = guard.0.take().expect("not waiting");
            let woken = self.0.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            guard.0 = Some(woken);
        }

        /// A model has no clock: the wait is for ever.
        pub(crate) fn wait_until<T>(
            &self,
            guard: &mut MutexGuard<'_, T>,
            _deadline: Instant,
        ) -> WaitTimeoutResult {
            self.wait(guard);
            WaitTimeoutResult
        }
    }
}
