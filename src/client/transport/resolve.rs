//! Looking up host names without being stuck in the platform's resolver.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::Arc,
    time::Instant,
};

use parking_lot::{Condvar, Mutex};

use super::bounds::Bounds;
use crate::{
    error::{Phase, Result, TransportError},
    stop::Interrupt,
    thread,
};

/// The addresses of `host`, which may be an IP address.
///
/// `getaddrinfo` cannot be interrupted, so it runs on a thread of its own. When the call is stopped or
/// times out first, the caller returns and that thread ends by itself, when the platform's resolver
/// gives up (about 30 s by default): the one thread of this crate that nobody joins.
pub(super) fn resolve(host: &str, port: u16, bounds: &Bounds) -> Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let name = host.to_owned();
    let ask = move || (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
    look_up(host, ask, bounds)
}

fn look_up(
    host: &str,
    ask: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
    bounds: &Bounds,
) -> Result<Vec<SocketAddr>> {
    let lookup = Arc::new(Lookup::default());
    let answer = lookup.clone();
    let thread = thread::spawn("dns", move || answer.finish(ask()))
        .map_err(|error| failure(host, &error))?;

    let interruptible = bounds.stop.on_stop(lookup.clone())?;
    let answer = lookup.wait(bounds);
    drop(interruptible);
    bounds.stop.check()?;
    let Some(answer) = answer else {
        return Err(TransportError::timeout(Phase::Resolve, format!("{host}: timed out")).into());
    };
    // It has nothing left to do; a panic in the resolver has no answer and did not get here.
    let _ = thread.join();
    let addresses: Vec<_> = answer.map_err(|error| failure(host, &error))?;
    if addresses.is_empty() {
        return Err(TransportError::new(Phase::Resolve, format!("{host}: no address")).into());
    }
    Ok(addresses)
}

#[derive(Default)]
struct Lookup {
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Default)]
struct State {
    answer: Option<io::Result<Vec<SocketAddr>>>,
    interrupted: bool,
}

impl Lookup {
    fn finish(&self, answer: io::Result<Vec<SocketAddr>>) {
        self.state.lock().answer = Some(answer);
        self.settled.notify_all();
    }

    /// `None` if the time ran out or somebody interrupted.
    fn wait(&self, bounds: &Bounds) -> Option<io::Result<Vec<SocketAddr>>> {
        let mut state = self.state.lock();
        while state.answer.is_none() && !state.interrupted {
            match bounds.timeout(Instant::now()) {
                Ok(None) => self.settled.wait(&mut state),
                Ok(Some(left)) => {
                    self.settled.wait_for(&mut state, left);
                }
                Err(_) => return None,
            }
        }
        state.answer.take()
    }
}

impl Interrupt for Lookup {
    fn interrupt(&self) {
        self.state.lock().interrupted = true;
        self.settled.notify_all();
    }
}

fn failure(host: &str, error: &io::Error) -> TransportError {
    TransportError::io(Phase::Resolve, format!("{host}: {error}"), error.kind())
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::{self, Receiver, Sender},
        time::Duration,
    };

    use super::*;
    use crate::{Error, StopToken};

    fn bounds() -> Bounds {
        let deadline = Instant::now() + Duration::from_secs(20);
        Bounds { stop: StopToken::new(), deadline: Some(deadline), silence: None }
    }

    #[test]
    fn addresses_need_no_lookup_and_names_get_one() {
        assert_eq!(resolve("::1", 7, &bounds()).unwrap(), ["[::1]:7".parse().unwrap()]);
        let local = resolve("localhost", 7, &bounds()).unwrap();
        assert!(local.iter().all(|address| address.ip().is_loopback()), "{local:?}");
    }

    #[test]
    fn an_unknown_name_is_an_error_that_names_it() {
        let error = resolve("no-such-host.invalid", 7, &bounds()).unwrap_err();
        assert!(error.to_string().contains("no-such-host.invalid"), "{error}");
    }

    /// A resolver that answers when it is told to, and says when it was asked.
    fn stalled() -> (impl FnOnce() -> io::Result<Vec<SocketAddr>>, Receiver<()>, Sender<()>) {
        let (asked, was_asked) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let ask = move || {
            // Also when the test is over and drops its ends.
            let _ = asked.send(());
            let _ = released.recv();
            Ok(vec!["127.0.0.1:7".parse().unwrap()])
        };
        (ask, was_asked, release)
    }

    #[test]
    fn a_stopped_call_does_not_wait_for_the_resolver() {
        let (bounds, (ask, was_asked, release)) = (bounds(), stalled());
        std::thread::scope(|scope| {
            let call = scope.spawn(|| {
                let result = look_up("slow.example", ask, &bounds);
                (result, Instant::now())
            });
            was_asked.recv().unwrap();
            let stopped = Instant::now();
            bounds.stop.stop();
            let (result, returned) = call.join().unwrap();
            assert!(matches!(result, Err(Error::Stopped)), "{result:?}");
            println!("returned {:?} after the stop", returned - stopped);
            drop(release);
        });
        assert!(matches!(resolve("localhost", 7, &bounds), Err(Error::Stopped)));
    }

    #[test]
    fn a_lookup_that_takes_too_long_is_a_timeout_that_names_the_host() {
        let (ask, _was_asked, release) = stalled();
        let bounds = bounds().phase(Duration::from_millis(20), Instant::now());
        let error = look_up("slow.example", ask, &bounds).unwrap_err();
        assert!(error.is_timeout(), "{error}");
        assert_eq!(error.to_string(), "resolve: slow.example: timed out");
        drop(release);
    }

    #[test]
    fn a_slow_answer_in_time_is_an_answer() {
        let (ask, was_asked, release) = stalled();
        let bounds = bounds();
        std::thread::scope(|scope| {
            let call = scope.spawn(|| look_up("slow.example", ask, &bounds));
            was_asked.recv().unwrap();
            release.send(()).unwrap();
            assert_eq!(call.join().unwrap().unwrap().len(), 1);
        });
    }
}
