//! Starting threads: each one named, each one owned by a [`JoinHandle`] that somebody keeps.

pub(crate) use std::thread::JoinHandle;
#[cfg(not(shuttle))]
use std::thread::{Scope, ScopedJoinHandle};
#[cfg(not(shuttle))]
pub(crate) use std::thread::{ThreadId, current, scope, yield_now};
use std::{io, thread::Builder};

/// What Linux keeps of a thread's name.
const NAME_BYTES: usize = 15;

/// Starts a thread whose name begins with `kinf-`, cut to what the kernel keeps.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    // Boxed, because std makes its code for starting a thread again for each type of closure.
    let run: Box<dyn FnOnce() -> T + Send> = Box::new(run);
    named(name).spawn(run)
}

/// The same for a thread that is joined before its scope ends.
#[cfg(not(shuttle))]
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    name: &str,
    scope: &'scope Scope<'scope, '_>,
    run: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let run: Box<dyn FnOnce() -> T + Send + 'scope> = Box::new(run);
    named(name).spawn_scoped(scope, run)
}

fn named(name: &str) -> Builder {
    let mut name = format!("kinf-{name}");
    let end = (0..=NAME_BYTES.min(name.len())).rev().find(|&at| name.is_char_boundary(at));
    name.truncate(end.unwrap_or(0));
    Builder::new().name(name)
}

#[cfg(test)]
mod tests {
    use std::thread;

    #[test]
    fn names_are_cut_to_what_the_kernel_keeps() {
        let name =
            super::spawn("h:deployments.apps/0", || thread::current().name().map(str::to_owned));
        assert_eq!(name.unwrap().join().unwrap().as_deref(), Some("kinf-h:deployme"));
        let name = super::spawn("abcdefghé", || thread::current().name().map(str::to_owned));
        assert_eq!(name.unwrap().join().unwrap().as_deref(), Some("kinf-abcdefghé"));
    }
}
