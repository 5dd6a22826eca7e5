//! A TCP proxy that can stop reading and writing without closing anything, as a network does that
//! swallows packets, and that can be out of order for a while, as a server does.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use kinformer::Config;
use kinformer::testing::ApiServer;
use parking_lot::Mutex;

use crate::raw::Reserved;

/// How often a pump looks whether it is still to work.
const LOOK: Duration = Duration::from_millis(5);

/// How much of the answers is kept.
const KEPT: usize = 4096;

pub(crate) struct Proxy {
    address: SocketAddr,
    /// Keeps the address while nobody listens there.
    _reserved: Reserved,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    server: String,
    stopping: AtomicBool,
    accepted: AtomicUsize,
    /// How many of the next connections go nowhere from the start.
    swallow: AtomicUsize,
    /// Nobody listens.
    refusing: AtomicBool,
    links: Mutex<Vec<Arc<Link>>>,
    /// The beginning of what the server said.
    answered: Mutex<Vec<u8>>,
}

/// One connection through the proxy.
#[derive(Default)]
struct Link {
    silent: AtomicBool,
    cut: AtomicBool,
}

impl Proxy {
    pub(crate) fn start(server: &ApiServer) -> Self {
        let reserved = Reserved::new();
        let address = reserved.address;
        let listener = TcpListener::bind(address).unwrap();
        let shared = Arc::new(Shared {
            server: server.url().trim_start_matches("http://").to_owned(),
            stopping: AtomicBool::new(false),
            accepted: AtomicUsize::new(0),
            swallow: AtomicUsize::new(0),
            refusing: AtomicBool::new(false),
            links: Mutex::default(),
            answered: Mutex::default(),
        });
        let accepting = {
            let shared = shared.clone();
            std::thread::spawn(move || shared.listen(listener))
        };
        Self { address, _reserved: reserved, shared, accepting: Some(accepting) }
    }

    pub(crate) fn config(&self) -> kinformer::config::ConfigBuilder {
        Config::builder(format!("http://{}", self.address)).no_proxy()
    }

    /// From now on nothing passes through the connections that there are; new ones are not affected.
    pub(crate) fn go_silent(&self) {
        for link in self.shared.links.lock().iter() {
            link.silent.store(true, Ordering::SeqCst);
        }
    }

    /// Accepts so many of the next connections and lets nothing through.
    pub(crate) fn swallow(&self, connections: usize) {
        self.shared.swallow.store(connections, Ordering::SeqCst);
    }

    /// Cuts all connections, and refuses new ones.
    pub(crate) fn refuse(&self) {
        self.shared.refusing.store(true, Ordering::SeqCst);
        for link in self.shared.links.lock().iter() {
            link.cut.store(true, Ordering::SeqCst);
        }
        // Each of these may wake the one who listens; one is refused in the end.
        while TcpStream::connect(self.address).is_ok() {
            std::thread::park_timeout(LOOK);
        }
    }

    /// Listens again.
    pub(crate) fn resume(&self) {
        self.shared.refusing.store(false, Ordering::SeqCst);
    }

    /// The beginning of what the server said.
    pub(crate) fn answered(&self) -> String {
        String::from_utf8_lossy(&self.shared.answered.lock()).into_owned()
    }

    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, mut listener: TcpListener) {
        let address = listener.local_addr().unwrap();
        let mut pumps = Vec::new();
        loop {
            self.accept(&listener, &mut pumps);
            drop(listener);
            while self.refusing.load(Ordering::SeqCst) && !self.stopping.load(Ordering::SeqCst) {
                std::thread::park_timeout(LOOK);
            }
            if self.stopping.load(Ordering::SeqCst) {
                break;
            }
            listener = TcpListener::bind(address).unwrap();
        }
        for pump in pumps {
            pump.join().unwrap();
        }
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener, pumps: &mut Vec<JoinHandle<()>>) {
        for client in listener.incoming() {
            if self.stopping.load(Ordering::SeqCst) || self.refusing.load(Ordering::SeqCst) {
                break;
            }
            let Ok(client) = client else { continue };
            let Ok(server) = TcpStream::connect(&self.server) else { continue };
            self.accepted.fetch_add(1, Ordering::SeqCst);
            let less = |left: usize| left.checked_sub(1);
            let swallowed =
                self.swallow.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
            let link = Arc::new(Link { silent: AtomicBool::new(swallowed), ..Link::default() });
            self.links.lock().push(link.clone());
            // Those that are there are cut once.
            if self.refusing.load(Ordering::SeqCst) {
                link.cut.store(true, Ordering::SeqCst);
            }
            for (from, to, answers) in [(&client, &server, false), (&server, &client, true)] {
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let (shared, link) = (self.clone(), link.clone());
                pumps.push(std::thread::spawn(move || {
                    let _ = shared.pump(from, to, &link, answers);
                }));
            }
        }
    }

    fn pump(
        &self,
        mut from: TcpStream,
        mut to: TcpStream,
        link: &Link,
        answers: bool,
    ) -> io::Result<()> {
        from.set_nodelay(true)?;
        from.set_read_timeout(Some(LOOK))?;
        let mut buffer = vec![0; 64 * 1024];
        while !self.stopping.load(Ordering::SeqCst) {
            if link.cut.load(Ordering::SeqCst) {
                return to.shutdown(Shutdown::Both);
            }
            if link.silent.load(Ordering::SeqCst) {
                std::thread::park_timeout(LOOK);
                continue;
            }
            match from.read(&mut buffer) {
                Ok(0) | Err(_) if link.silent.load(Ordering::SeqCst) => {}
                Ok(0) => return to.shutdown(Shutdown::Write),
                // What was read in the moment of falling silent is lost, as on its way.
                Ok(_) if link.silent.load(Ordering::SeqCst) => {}
                Ok(read) => {
                    to.write_all(&buffer[..read])?;
                    if answers && self.answered.lock().len() < KEPT {
                        self.answered.lock().extend_from_slice(&buffer[..read]);
                    }
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) => {}
                Err(error) => {
                    let _ = to.shutdown(Shutdown::Both);
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
