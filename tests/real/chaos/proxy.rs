//! A TCP proxy that spoils what passes through it. What passes is encrypted, so it knows nothing of it.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{JoinHandle, spawn},
    time::Duration,
};

use kinformer::StopToken;
use parking_lot::Mutex;
use socket2::SockRef;

/// What becomes of the connections that are open when it is said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Spoil {
    /// Everything passes.
    None,
    /// They are closed by a reset.
    Reset,
    /// Nothing passes any more, and nothing is closed.
    Silence,
    /// Everything is late by this.
    Delay(Duration),
    /// A byte at a time.
    Drip,
    /// They are closed in the middle of what the server says next.
    Truncate,
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    server: String,
    stop: StopToken,
    refusing: AtomicBool,
    links: Mutex<Vec<Arc<Link>>>,
}

/// One connection through the proxy.
struct Link {
    spoil: Mutex<Spoil>,
    client: TcpStream,
    server: TcpStream,
}

impl Proxy {
    pub(crate) fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server: server.to_owned(),
            stop: StopToken::new(),
            refusing: AtomicBool::new(false),
            links: Mutex::default(),
        });
        let accepting = {
            let shared = shared.clone();
            Some(spawn(move || shared.accept(&listener)))
        };
        Self { address, shared, accepting }
    }

    /// Spoils the connections that are open; those to come are not affected.
    pub(crate) fn spoil(&self, spoil: Spoil) {
        for link in &*self.shared.links.lock() {
            link.spoil(spoil);
        }
    }

    /// Whether connections are closed as soon as they are made.
    pub(crate) fn refuse(&self, refusing: bool) {
        self.shared.refusing.store(refusing, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.stop();
        self.spoil(Spoil::Reset);
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        let mut pumps: Vec<JoinHandle<()>> = Vec::new();
        for client in listener.incoming() {
            if self.stop.is_stopped() {
                break;
            }
            let Ok(client) = client else { continue };
            if self.refusing.load(Ordering::SeqCst) {
                reset(&client);
                continue;
            }
            let Ok(server) = TcpStream::connect(&self.server) else {
                reset(&client);
                continue;
            };
            let link = Arc::new(Link { spoil: Mutex::new(Spoil::None), client, server });
            self.links.lock().push(link.clone());
            pumps.retain(|pump| !pump.is_finished());
            for upwards in [true, false] {
                let (shared, link) = (self.clone(), link.clone());
                pumps.push(spawn(move || {
                    let _ = link.pump(upwards, &shared.stop);
                    link.close();
                    shared.links.lock().retain(|other| !Arc::ptr_eq(other, &link));
                }));
            }
        }
        for pump in pumps {
            let _ = pump.join();
        }
    }
}

impl Link {
    fn spoil(&self, spoil: Spoil) {
        *self.spoil.lock() = spoil;
        if spoil == Spoil::Reset {
            reset(&self.client);
            self.close();
        }
    }

    fn close(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    fn pump(&self, upwards: bool, stop: &StopToken) -> io::Result<()> {
        let (mut from, mut to) =
            if upwards { (&self.client, &self.server) } else { (&self.server, &self.client) };
        from.set_nodelay(true)?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => return to.shutdown(Shutdown::Write),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let spoil = *self.spoil.lock();
            match spoil {
                Spoil::None => to.write_all(&buffer[..read])?,
                Spoil::Reset => return Ok(()),
                Spoil::Silence => {}
                Spoil::Delay(time) => {
                    if stop.wait_timeout(time) {
                        return Ok(());
                    }
                    to.write_all(&buffer[..read])?;
                }
                Spoil::Drip => {
                    for byte in &buffer[..read] {
                        to.write_all(&[*byte])?;
                        // It may have been told something else meanwhile.
                        if *self.spoil.lock() == Spoil::Drip
                            && stop.wait_timeout(Duration::from_micros(200))
                        {
                            return Ok(());
                        }
                    }
                }
                Spoil::Truncate if upwards => to.write_all(&buffer[..read])?,
                Spoil::Truncate => return to.write_all(&buffer[..read / 2]),
            }
        }
    }
}

fn reset(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
    let _ = stream.shutdown(Shutdown::Both);
}
