//! A busy watch is read now and then, not at every event.

use std::{
    io::{self, Write},
    sync::mpsc,
    time::{Duration, Instant},
};

use kinformer::{ListTarget, Object, ReflectorStore, Result};
use parking_lot::Mutex;

use crate::{
    mirror::Mirror,
    raw::{Gate, Reply, Server},
    support::{EMPTY, LIMIT, no_pause},
};

/// So many events are looked at together.
const STRETCH: u32 = 100;

/// That many cannot be read faster than this if each is waited for; a tenth of it is enough if none is.
const GATHERED: Duration = Duration::from_millis(300);

/// Says of each event that it was told.
struct Told(Mutex<mpsc::Sender<()>>);

impl Told {
    fn event(&self) -> Result<()> {
        let _ = self.0.lock().send(());
        Ok(())
    }
}

impl ReflectorStore<Object> for Told {
    fn add(&self, _: Object) -> Result<()> {
        self.event()
    }

    fn update(&self, _: Object) -> Result<()> {
        self.event()
    }

    fn delete(&self, _: Object) -> Result<()> {
        self.event()
    }

    fn begin_list(&self) -> Box<dyn ListTarget<Object> + '_> {
        Box::new(Nothing)
    }
}

struct Nothing;

impl ListTarget<Object> for Nothing {
    fn item(&mut self, _: Object) -> Result<()> {
        Ok(())
    }

    fn remove(&mut self, _: Object) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>, _: &str) {}
}

/// Sends an event as soon as the one before it was told, until a stretch of them takes long, or for ten seconds;
/// gives the longest.
fn longest_stretch(to: &mut dyn Write, told: &mpsc::Receiver<()>) -> io::Result<Duration> {
    let start = Instant::now();
    let mut longest = Duration::ZERO;
    while longest < GATHERED && start.elapsed() < Duration::from_secs(10) {
        let stretch = Instant::now();
        for version in 2..2 + STRETCH {
            let event = format!(
                r#"{{"type":"MODIFIED","object":{{"metadata":{{"name":"a","resourceVersion":"{version}"}}}}}}"#
            );
            to.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
            to.flush()?;
            told.recv_timeout(LIMIT).map_err(io::Error::other)?;
        }
        longest = longest.max(stretch.elapsed());
    }
    Ok(longest)
}

#[test]
fn what_a_busy_watch_brings_is_left_to_gather_before_it_is_read() {
    let (tell, told) = mpsc::channel();
    let (found, longest) = mpsc::channel();
    let watch = Mutex::new(Some((told, found)));
    let server = Server::start(move |request| match request.query().contains("watch=true") {
        true => {
            let (told, found) = watch.lock().take().expect("one watch");
            let busy = Reply::stream().generate(move |to| {
                let _ = found.send(longest_stretch(to, &told)?);
                Ok(())
            });
            busy.wait(&Gate::default())
        }
        false => Reply::json(200, EMPTY),
    });
    let _mirror = Mirror::into(&server.client(), Told(Mutex::new(tell)), |builder| {
        builder.backoff(no_pause()).streamed_lists(false)
    });
    let longest = longest.recv_timeout(LIMIT).unwrap();
    assert!(longest >= GATHERED, "{STRETCH} events in {longest:?}");
}
