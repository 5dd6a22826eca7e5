//! Whom a thread works for, so that nobody waits for himself.
//!
//! Threads outside wait for handlers and engines; handlers wait for engines only; engines, which call
//! transforms, index functions and error handlers, wait for nobody. Without a circle there is no
//! deadlock, whoever stops whom.

use std::cell::Cell;
#[cfg(not(shuttle))]
use std::thread_local;

#[cfg(shuttle)]
use shuttle::thread_local;

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role::Outside) };
}

/// What the current thread does for informers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// Nothing.
    Outside,
    /// It calls a handler.
    Handler,
    /// It lists and watches, or applies changes.
    Engine,
}

/// Ends a role with its drop: the thread does again what it did before.
pub(crate) struct Acting {
    before: Role,
}

impl Role {
    pub(crate) fn current() -> Self {
        ROLE.with(Cell::get)
    }

    /// The current thread takes on this role.
    #[must_use]
    pub(crate) fn begin(self) -> Acting {
        Acting { before: ROLE.with(|role| role.replace(self)) }
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        ROLE.with(|role| role.set(self.before));
    }
}
