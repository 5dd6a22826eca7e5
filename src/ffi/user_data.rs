//! The pointer that goes with a callback.

use std::ffi::c_void;

/// Frees what a user pointer points at. Called once, on any thread, when the library will not use the
/// pointer any more. May be NULL where there is nothing to free.
pub type kinf_free_callback = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// The pointer, and what to do when it is not needed any more.
pub(super) struct UserData {
    pointer: *mut c_void,
    free: kinf_free_callback,
}

// SAFETY: the header says on which threads callbacks run; whoever passes a pointer has made what it
// points at fit for them. Nothing is done with it here but to pass it back.
unsafe impl Send for UserData {}
// SAFETY: the same.
unsafe impl Sync for UserData {}

impl UserData {
    pub(super) fn new(pointer: *mut c_void, free: kinf_free_callback) -> Self {
        Self { pointer, free }
    }

    pub(super) fn pointer(&self) -> *mut c_void {
        self.pointer
    }
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: given together with the pointer, to be called with it, once.
            unsafe { free(self.pointer) }
        }
    }
}
