//! A TCP proxy that spoils what passes through it. What passes is encrypted, so it knows nothing of it.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread::{JoinHandle, spawn},
    time::Duration,
};

use kinformer::{Client, StopToken};
use parking_lot::Mutex;
use socket2::{Domain, SockRef, Socket, Type};

/// The address that a client talks to.
pub(crate) fn server_of(client: &Client) -> String {
    client.config().server().trim_start_matches("https://").trim_end_matches('/').to_owned()
}

/// What becomes of connections.
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
    accepting: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    server: String,
    stop: StopToken,
    /// Bound for good, so that the port stays; whether it listens is another matter.
    listener: Socket,
    state: Mutex<State>,
}

struct State {
    links: Vec<Arc<Link>>,
    /// What becomes of new connections.
    spoil_new: Spoil,
}

/// One connection through the proxy.
struct Link {
    spoil: Mutex<Spoil>,
    client: TcpStream,
    server: TcpStream,
}

impl Proxy {
    pub(crate) fn start(server: &str) -> Self {
        // Only a port that was asked for stays when a socket ceases to listen.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.set_reuse_address(true).unwrap();
        listener.bind(&address.into()).unwrap();
        let state = Mutex::new(State { links: Vec::new(), spoil_new: Spoil::None });
        let server = server.to_owned();
        let shared = Arc::new(Shared { server, stop: StopToken::new(), listener, state });
        let proxy = Self { address, shared, accepting: Mutex::default() };
        proxy.listen();
        proxy
    }

    /// Spoils the connections that are open.
    pub(crate) fn spoil(&self, spoil: Spoil) {
        for link in &self.shared.state.lock().links {
            link.spoil(spoil);
        }
    }

    /// Spoils the connections that are made from now on.
    pub(crate) fn spoil_new(&self, spoil: Spoil) {
        self.shared.state.lock().spoil_new = spoil;
    }

    /// From now on nobody listens.
    pub(crate) fn refuse(&self) {
        // On Linux this ends listening and the call that waits for a connection.
        let _ = self.shared.listener.shutdown(Shutdown::Read);
        if let Some(accepting) = self.accepting.lock().take() {
            accepting.join().unwrap();
        }
    }

    /// Connections are accepted.
    pub(crate) fn listen(&self) {
        self.shared.listener.listen(128).unwrap();
        let shared = self.shared.clone();
        *self.accepting.lock() = Some(spawn(move || shared.accept()));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.stop();
        self.refuse();
        self.spoil(Spoil::Reset);
    }
}

impl Shared {
    fn accept(self: &Arc<Self>) {
        while let Ok((client, _)) = self.listener.accept() {
            let client = TcpStream::from(client);
            // The server may be away.
            let Ok(server) = TcpStream::connect(&self.server) else { continue };
            let mut state = self.state.lock();
            let spoil = Mutex::new(state.spoil_new);
            let link = Arc::new(Link { spoil, client, server });
            state.links.push(link.clone());
            drop(state);
            for upwards in [true, false] {
                let (shared, link) = (self.clone(), link.clone());
                // They end with their connection.
                drop(spawn(move || {
                    let _ = link.pump(upwards, &shared.stop);
                    link.close();
                    shared.state.lock().links.retain(|other| !Arc::ptr_eq(other, &link));
                }));
            }
        }
    }
}

impl Link {
    fn spoil(&self, spoil: Spoil) {
        *self.spoil.lock() = spoil;
        if spoil == Spoil::Reset {
            self.close();
        }
    }

    /// Ends both pumps. The client sees an end, or a reset when the last of them lets go.
    fn close(&self) {
        let is_reset = *self.spoil.lock() == Spoil::Reset;
        if is_reset {
            let _ = SockRef::from(&self.client).set_linger(Some(Duration::ZERO));
        }
        // The end of reading sends nothing.
        let how = if is_reset { Shutdown::Read } else { Shutdown::Both };
        let _ = self.client.shutdown(how);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    fn pump(&self, upwards: bool, stop: &StopToken) -> io::Result<()> {
        let (mut from, mut to) =
            if upwards { (&self.client, &self.server) } else { (&self.server, &self.client) };
        from.set_nodelay(true)?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
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
