//! Calls that were stopped leave no descriptor and no thread behind. Alone in its process, to count.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]

#[path = "transport/stall.rs"]
#[allow(dead_code, reason = "shared with the other tests of the transport")]
mod stall;
#[path = "transport/support.rs"]
#[allow(dead_code, reason = "shared with the other tests of the transport")]
mod support;

use kinformer::Error;

use self::{stall::Stall, support::wait_until};

#[test]
fn stopped_calls_leave_no_descriptor_and_no_thread() {
    // What is made once, such as a channel to the standard output, is made now.
    interrupt_all();
    let before = (descriptors(), threads());
    for _ in 0..3 {
        interrupt_all();
    }
    // Something of the first may have been on its way out.
    let mut after = (descriptors(), threads());
    wait_until("there is nothing left but what was there before", || {
        after = (descriptors(), threads());
        after.0 <= before.0
            && after.1.iter().all(|thread| before.1.contains(thread))
            && after.1.len() <= before.1.len()
    });
    println!("{before:?} before, {after:?} after");
}

fn interrupt_all() {
    for stall in Stall::ALL {
        for &tls in stall.wires() {
            let (result, _) = stall.start(tls).interrupt(|| {});
            assert!(matches!(result, Err(Error::Stopped)), "{stall:?}: {result:?}");
        }
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Their names, since a count says little when it is wrong.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let mut names: Vec<_> = names.map(|name| name.trim_end().to_owned()).collect();
    names.sort();
    names
}
