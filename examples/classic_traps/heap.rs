//! Counts what the program has on its heap. What the system still counts as the program's own depends on
//! the allocator: it may keep what was given back to it, for the next who asks.

#![expect(unsafe_code, reason = "a global allocator that counts")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

#[global_allocator]
static COUNTING: Counting = Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

/// How many megabytes are in use.
pub(crate) fn megabytes() -> usize {
    BYTES.load(Ordering::Relaxed) / (1024 * 1024)
}

struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}
