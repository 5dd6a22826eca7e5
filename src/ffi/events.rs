//! Being told of changes by a queue that can be polled.

use std::{
    borrow::Cow,
    collections::VecDeque,
    ffi::c_void,
    io::{Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd, RawFd},
        unix::net::UnixStream,
    },
    sync::Arc,
    time::Instant,
};

use parking_lot::{Condvar, Mutex};

use super::{
    border::{Out, attempt, guarded, patience, required},
    error::{Failure, kinf_error},
    event::kinf_event,
    handler::{add, kinf_registration},
    informer::kinf_informer,
    status::kinf_status,
};
use crate::{
    error::{Error, Result},
    informer::{Event, EventHandler},
    object::DynamicObject,
};

/// A queue of events, for programs with a loop of their own.
///
/// Events that wait in it stay when the handler that brought them is removed.
///
/// Made by kinf_events_new(); fed by any number of informers, with kinf_events_add(); free it with
/// kinf_events_free(). May be used from any thread, by several at once. Holds any number of events: take
/// them.
pub struct kinf_events {
    queue: Arc<Queue>,
    /// What feeds it, to be removed with it.
    registrations: Mutex<Vec<kinf_registration>>,
}

struct Queue {
    state: Mutex<State>,
    event_or_end: Condvar,
    /// Its descriptor is what C polls.
    reader: UnixStream,
}

struct State {
    /// None says that all objects from the start of an informer have been told.
    events: VecDeque<(Option<Event>, Tag)>,
    /// Handlers that may still bring events; what was never fed has not ended.
    sources: usize,
    fed: bool,
    closed: bool,
    /// A byte is in it while there is something to take, or to learn.
    writer: UnixStream,
    readable: bool,
}

/// What the program calls an informer that feeds the queue.
#[derive(Clone, Copy)]
struct Tag(*mut c_void);

// SAFETY: it is only passed on, and never looked into.
unsafe impl Send for Tag {}

const CLOSED: &str = "the queue was closed";

/// What there is to take.
enum Taken {
    Event(Option<Event>, Tag),
    Nothing,
    /// And why there will be nothing more.
    End(&'static str),
}

impl State {
    fn has_ended(&self) -> bool {
        self.closed || (self.fed && self.sources == 0)
    }

    fn take(&mut self) -> Taken {
        match self.events.pop_front() {
            Some((event, tag)) => Taken::Event(event, tag),
            None if self.closed => Taken::End(CLOSED),
            None if self.has_ended() => Taken::End("what feeds the queue has stopped"),
            None => Taken::Nothing,
        }
    }

    /// Makes the descriptor say whether there is something. Neither call blocks: at most one byte is in it.
    fn tell(&mut self, mut reader: &UnixStream) {
        let readable = !self.events.is_empty() || self.has_ended();
        if readable == self.readable {
            return;
        }
        self.readable = readable;
        let told = match readable {
            true => self.writer.write(&[1]),
            false => reader.read(&mut [0; 8]),
        };
        if let Err(error) = told {
            // Somebody else has read from the descriptor.
            log::debug!("the descriptor of an event queue: {error}");
        }
    }
}

impl Queue {
    fn new() -> std::io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        let events = VecDeque::new();
        let state =
            State { events, sources: 0, fed: false, closed: false, writer, readable: false };
        Ok(Self { state: Mutex::new(state), event_or_end: Condvar::new(), reader })
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        state.tell(&self.reader);
        drop(state);
        self.event_or_end.notify_all();
    }

    fn next(&self, deadline: Option<Instant>) -> Taken {
        let mut state = self.state.lock();
        loop {
            let taken = state.take();
            if !matches!(taken, Taken::Nothing) {
                state.tell(&self.reader);
                return taken;
            }
            match deadline {
                None => self.event_or_end.wait(&mut state),
                Some(deadline) => {
                    if self.event_or_end.wait_until(&mut state, deadline).timed_out() {
                        return state.take();
                    }
                }
            }
        }
    }

    fn close(&self) {
        let mut dropped = VecDeque::new();
        self.change(|state| {
            state.closed = true;
            dropped = std::mem::take(&mut state.events);
        });
    }
}

/// The end of an informer that feeds the queue; its drop is the last that is heard of it.
struct Source(Arc<Queue>, Tag);

impl Source {
    fn new(queue: &Arc<Queue>, tag: Tag) -> Self {
        queue.change(|state| {
            state.sources += 1;
            state.fed = true;
        });
        Self(queue.clone(), tag)
    }

    fn push(&self, event: Option<Event>) {
        self.0.change(|state| {
            if !state.closed {
                state.events.push_back((event, self.1));
            }
        });
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.0.change(|state| state.sources -= 1);
    }
}

impl EventHandler<DynamicObject> for Source {
    fn on_synced(&mut self) {
        self.push(None);
    }

    fn on_event(&mut self, event: Event) -> Result<()> {
        self.push(Some(event));
        Ok(())
    }

    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed("C event queue")
    }
}

/// An empty queue. Takes two file descriptors.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_events_new(
    events: Option<&mut MaybeUninit<*mut kinf_events>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let events = Out::new(events, "events")?;
        let queue = Arc::new(Queue::new().map_err(Error::other)?);
        events.put(kinf_events { queue, registrations: Mutex::default() });
        Ok(())
    })
}

/// Frees a queue and what is in it; NULL is fine. Informers that feed it go on without it. Threads that wait in
/// kinf_events_next() get KINF_STOPPED; there must be no later call.
///
/// Waits as kinf_registration_remove() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_events_free(events: *mut kinf_events) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    if let Some(events) = unsafe { events.as_ref() } {
        guarded((), || {
            events.queue.close();
            let registrations = std::mem::take(&mut *events.registrations.lock());
            registrations.iter().for_each(kinf_registration::remove);
        });
    }
    // SAFETY: the same.
    unsafe { super::border::free(events) }
}

/// Feeds the queue with every change of an informer, from all objects that are there on; KINF_SYNCED comes after those.
///
/// KINF_STOPPED if the queue was closed. One whose informers have all stopped goes on with this one. An
/// informer that is added twice feeds it twice.
///
/// @param tag what kinf_event_tag() says of its events, to tell informers apart; may be NULL
/// @param registration set to a handle that is to be freed with kinf_registration_free(); may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_events_add(
    events: Option<&kinf_events>,
    informer: Option<&kinf_informer>,
    tag: *mut c_void,
    registration: Option<&mut MaybeUninit<*mut kinf_registration>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let registration =
            registration.map(|place| Out::new(Some(place), "registration")).transpose()?;
        let events = required(events, "events")?;
        let informer = required(informer, "informer")?;
        if events.queue.state.lock().closed {
            return Err(Failure::new(kinf_status::KINF_STOPPED, CLOSED));
        }
        let added = add(informer, Source::new(&events.queue, Tag(tag)), -1)?;
        events.registrations.lock().push(added.clone());
        if let Some(registration) = registration {
            registration.put(added);
        }
        Ok(())
    })
}

/// A file descriptor that is readable while there is something to take: for poll(), epoll, kqueue, libuv.
///
/// Wait for it to be readable, then call kinf_events_next() with a timeout of 0 until it says KINF_EMPTY.
/// Belongs to the queue: do not read from it and do not close it. -1 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_events_fd(events: Option<&kinf_events>) -> RawFd {
    guarded(-1, || events.map_or(-1, |events| events.queue.reader.as_raw_fd()))
}

/// Takes the first event in line.
///
/// KINF_EMPTY if there is none in time. KINF_STOPPED if there is none and there will be none, because all
/// informers that feed the queue have stopped, or it was closed; the descriptor is readable then, too.
///
/// @param timeout_ms how long to wait for one: 0 is not at all, less than 0 is for as long as it takes
/// @param event set to an event that is to be freed with kinf_event_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_events_next(
    events: Option<&kinf_events>,
    timeout_ms: i64,
    event: Option<&mut MaybeUninit<*mut kinf_event>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let event = Out::new(event, "event")?;
        // Held by whoever waits: freeing wakes them, and does not wait for them.
        let queue = required(events, "events")?.queue.clone();
        match queue.next(Instant::now().checked_add(patience(timeout_ms))) {
            Taken::Event(taken, tag) => event.put(kinf_event::new(taken, tag.0)),
            Taken::Nothing => {
                return Err(Failure::new(kinf_status::KINF_EMPTY, "there is no event"));
            }
            Taken::End(why) => {
                return Err(Failure::new(kinf_status::KINF_STOPPED, why));
            }
        }
        Ok(())
    })
}

/// How many events are in the queue; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_events_count(events: Option<&kinf_events>) -> usize {
    guarded(0, || events.map_or(0, |events| events.queue.state.lock().events.len()))
}

/// Drops what is in the queue and whatever comes; everybody who waits gets KINF_STOPPED. Does nothing for
/// NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_events_close(events: Option<&kinf_events>) {
    guarded((), || {
        if let Some(events) = events {
            events.queue.close();
        }
    });
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::thread;

    /// A pointer as C passes it between threads.
    #[derive(Clone, Copy)]
    struct Shared(*mut kinf_events);

    // SAFETY: the test frees it when nobody uses it any more.
    unsafe impl Send for Shared {}

    impl Shared {
        fn get(self) -> *mut kinf_events {
            self.0
        }
    }

    #[test]
    fn whoever_waits_in_a_queue_that_is_freed_is_woken() {
        let mut events = MaybeUninit::uninit();
        assert_eq!(kinf_events_new(Some(&mut events), None), kinf_status::KINF_OK);
        // SAFETY: it was made.
        let shared = Shared(unsafe { events.assume_init() });
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let wait = move || {
                    let mut event = MaybeUninit::uninit();
                    // SAFETY: it is freed only when this call has what it needs.
                    let events = unsafe { shared.get().as_ref() };
                    let status = kinf_events_next(events, -1, Some(&mut event), None);
                    assert_eq!(status, kinf_status::KINF_STOPPED);
                    // SAFETY: it was cleared.
                    assert_eq!(unsafe { event.assume_init() }, ptr::null_mut());
                };
                thread::spawn("test", wait).unwrap()
            })
            .collect();
        // SAFETY: it is there until it is freed.
        while Arc::strong_count(unsafe { &(*shared.get()).queue }) < 5 {
            std::thread::yield_now();
        }
        // SAFETY: made above, and used by nobody else from here on.
        unsafe { kinf_events_free(shared.get()) };
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    }
}
