//! A TCP socket that can be interrupted from another thread.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use socket2::{Domain, Protocol, SockAddr, SockRef, TcpKeepalive, Type};

use super::bounds::Bounds;
use crate::{
    error::{Phase, Result, TransportError},
    stop::Interrupt,
};

/// Timeouts are set in steps of this, so that a shrinking deadline does not cost a system call a read.
const TIMEOUT_STEP: Duration = Duration::from_millis(50);

/// One connected TCP socket: one file descriptor, shared with whoever may interrupt it.
#[derive(Debug)]
pub(super) struct Socket {
    shared: Arc<Shared>,
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
}

#[derive(Debug)]
struct Shared {
    /// The standard library's type, because it writes without raising `SIGPIPE`, which would end a program
    /// in another language that uses this library.
    stream: TcpStream,
    /// What can be interrupted now is a read.
    is_read: AtomicBool,
}

impl Interrupt for Shared {
    /// Ends a read, a write or a connect that another thread is blocked in. It stays ended: a thread
    /// that is about to block will not.
    fn interrupt(&self) {
        // Linux ends a read without telling the server, who would have work with that: it learns of it when the
        // socket is closed.
        let is_read = cfg!(target_os = "linux") && self.is_read.load(Ordering::Relaxed);
        let how = if is_read { Shutdown::Read } else { Shutdown::Both };
        // Fails only if the socket is not connected any more, and then nobody waits for it.
        let _ = self.stream.shutdown(how);
    }
}

impl Socket {
    /// Connects to the first of `addresses` that answers, each given a fair share of the time left.
    ///
    /// `dead_peer` is how long an unanswered probe or unacknowledged data may keep the connection.
    pub(super) fn connect(
        addresses: &[SocketAddr],
        dead_peer: Duration,
        bounds: &Bounds,
    ) -> Result<Self> {
        let mut failure = None;
        for (at, &address) in addresses.iter().enumerate() {
            bounds.stop.check()?;
            let left = bounds.timeout(Instant::now()).map_err(|_| timed_out(address))?;
            let untried = u32::try_from(addresses.len() - at).unwrap_or(u32::MAX);
            let share = left.map_or(Duration::MAX, |left| left / untried);
            match Self::connect_one(address, share, dead_peer, bounds) {
                Ok(socket) => return Ok(socket),
                Err(error) => {
                    bounds.stop.check()?;
                    failure = Some(if error.kind() == io::ErrorKind::TimedOut {
                        timed_out(address)
                    } else {
                        let text = format!("{address}: {error}");
                        TransportError::io(Phase::Connect, text, error.kind())
                    });
                }
            }
        }
        Err(failure
            .unwrap_or_else(|| TransportError::new(Phase::Connect, "no address to connect to"))
            .into())
    }

    fn connect_one(
        address: SocketAddr,
        limit: Duration,
        dead_peer: Duration,
        bounds: &Bounds,
    ) -> io::Result<Self> {
        let domain = Domain::for_address(address);
        let socket = socket2::Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        detect_dead_peer(&socket, dead_peer)?;
        let shared = Arc::new(Shared { stream: socket.into(), is_read: AtomicBool::new(false) });
        let interruptible = bounds.stop.on_stop(shared.clone()).map_err(io::Error::other)?;
        SockRef::from(&shared.stream).connect_timeout(&SockAddr::from(address), limit)?;
        drop(interruptible);
        Ok(Self { shared, read_timeout: None, write_timeout: None })
    }

    /// Reads what there is, or waits for some; without any time to wait, [`io::ErrorKind::WouldBlock`] says that there is
    /// nothing.
    pub(super) fn read(&mut self, buf: &mut [u8], bounds: &Bounds) -> io::Result<usize> {
        let timeout = bounds.timeout(Instant::now())?;
        if timeout == Some(Duration::ZERO) {
            bounds.stop.check().map_err(io::Error::other)?;
            return self.without_waiting(|socket| retry_on_signal(|| socket.read(buf)));
        }
        let timeout = in_steps(timeout);
        if timeout != self.read_timeout {
            self.shared.stream.set_read_timeout(timeout)?;
            self.read_timeout = timeout;
        }
        self.shared.is_read.store(true, Ordering::Relaxed);
        let read = self.interruptible(bounds, |mut socket| retry_on_signal(|| socket.read(buf)));
        self.shared.is_read.store(false, Ordering::Relaxed);
        read
    }

    pub(super) fn write(&mut self, buf: &[u8], bounds: &Bounds) -> io::Result<usize> {
        let timeout = in_steps(bounds.timeout(Instant::now())?);
        if timeout != self.write_timeout {
            self.shared.stream.set_write_timeout(timeout)?;
            self.write_timeout = timeout;
        }
        self.interruptible(bounds, |mut socket| retry_on_signal(|| socket.write(buf)))
    }

    fn interruptible<T>(
        &self,
        bounds: &Bounds,
        operation: impl FnOnce(&TcpStream) -> io::Result<T>,
    ) -> io::Result<T> {
        let interruptible = bounds.stop.on_stop(self.shared.clone()).map_err(io::Error::other)?;
        let result = operation(&self.shared.stream);
        drop(interruptible);
        // What a socket says after a shutdown differs by operation and platform: the token knows.
        bounds.stop.check().map_err(io::Error::other)?;
        result.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })
    }

    /// Runs `operation` with reads that do not wait.
    pub(super) fn without_waiting<T>(
        &self,
        operation: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> io::Result<T> {
        self.shared.stream.set_nonblocking(true)?;
        let result = operation(&mut &self.shared.stream);
        self.shared.stream.set_nonblocking(false)?;
        result
    }

    /// Whether the connection is open and nothing waits to be read, as between two requests.
    pub(super) fn is_quiet(&self) -> bool {
        let peeked = self.shared.stream.set_nonblocking(true).and_then(|()| {
            let peeked = self.shared.stream.peek(&mut [0]);
            self.shared.stream.set_nonblocking(false)?;
            peeked
        });
        matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// TCP keepalive for a connection on which nothing is sent, `TCP_USER_TIMEOUT` for one where what was
/// sent is not acknowledged: either way a peer that vanished is noticed after `limit`.
fn detect_dead_peer(socket: &socket2::Socket, limit: Duration) -> io::Result<()> {
    const PROBES: u32 = 4;
    /// What the kernel takes.
    const MOST: Duration = Duration::from_secs(32_000);
    let limit = limit.min(MOST);
    let interval = (limit / (2 * PROBES)).max(Duration::from_secs(1));
    let idle = limit.saturating_sub(interval * PROBES).max(Duration::from_secs(1));
    let keepalive = TcpKeepalive::new().with_time(idle).with_interval(interval);
    socket.set_tcp_keepalive(&keepalive.with_retries(PROBES))?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    socket.set_tcp_user_timeout(Some(limit))?;
    Ok(())
}

fn in_steps(timeout: Option<Duration>) -> Option<Duration> {
    let step = TIMEOUT_STEP.as_millis();
    timeout.map(|timeout| {
        let steps = timeout.as_millis() / step + 1;
        Duration::from_millis(u64::try_from(steps * step).unwrap_or(u64::MAX))
    })
}

/// A signal handler in the program must not end a call.
fn retry_on_signal<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn timed_out(address: SocketAddr) -> TransportError {
    TransportError::timeout(Phase::Connect, format!("{address}: timed out"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::StopToken;

    #[test]
    fn a_vanished_peer_is_noticed_by_probes_and_by_unacknowledged_data_alike() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let bounds = Bounds { stop: StopToken::new(), deadline: None, silence: None };
        for (limit, idle, interval) in [(30, 15, 3), (8, 4, 1), (1, 1, 1)] {
            let limit = Duration::from_secs(limit);
            let socket = Socket::connect(&[address], limit, &bounds).unwrap();
            let options = SockRef::from(&socket.shared.stream);
            assert!(options.tcp_nodelay().unwrap() && options.keepalive().unwrap());
            let (time, every) = (options.tcp_keepalive_time(), options.tcp_keepalive_interval());
            assert_eq!(time.unwrap().as_secs(), idle, "{limit:?}");
            assert_eq!(every.unwrap().as_secs(), interval, "{limit:?}");
            assert_eq!(options.tcp_keepalive_retries().unwrap(), 4);
            #[cfg(any(target_os = "linux", target_os = "android"))]
            assert_eq!(options.tcp_user_timeout().unwrap(), Some(limit));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_server_has_no_work_with_a_read_that_is_interrupted_before_all_that_was_is_dropped() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let bounds = Bounds { stop: StopToken::new(), deadline: None, silence: None };
        let mut socket = Socket::connect(&[address], Duration::from_secs(30), &bounds).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let stop = bounds.stop.clone();
        let reading =
            crate::thread::spawn("read", move || socket.read(&mut [0], &bounds).is_err()).unwrap();
        while !stop.has_something_to_interrupt() {
            std::thread::yield_now();
        }
        let interrupted = stop.stop_and_keep();
        assert!(reading.join().unwrap());
        server.set_nonblocking(true).unwrap();
        let heard = |server: &mut TcpStream| server.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(heard(&mut server), Err(io::ErrorKind::WouldBlock));
        drop(interrupted);
        server.set_nonblocking(false).unwrap();
        assert_eq!(heard(&mut server), Ok(0));
    }

    #[test]
    fn timeouts_are_rounded_up_and_never_zero() {
        assert_eq!(in_steps(None), None);
        for (timeout, set) in [(0, 50), (1, 50), (49, 50), (50, 100), (1010, 1050)] {
            let timeout = Some(Duration::from_millis(timeout));
            assert_eq!(in_steps(timeout), Some(Duration::from_millis(set)));
        }
    }
}
