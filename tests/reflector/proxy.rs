//! A TCP proxy that can stop reading and writing without closing anything, as a network does that
//! swallows packets.

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

/// How often a pump looks whether it is still to work.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    server: String,
    stopping: AtomicBool,
    accepted: AtomicUsize,
    /// How many of the next connections go nowhere from the start.
    swallow: AtomicUsize,
    links: Mutex<Vec<Arc<Link>>>,
}

/// One connection through the proxy.
#[derive(Default)]
struct Link {
    silent: AtomicBool,
}

impl Proxy {
    pub(crate) fn start(server: &ApiServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server: server.url().trim_start_matches("http://").to_owned(),
            stopping: AtomicBool::new(false),
            accepted: AtomicUsize::new(0),
            swallow: AtomicUsize::new(0),
            links: Mutex::default(),
        });
        let accepting = {
            let shared = shared.clone();
            std::thread::spawn(move || shared.accept(&listener))
        };
        Self { address, shared, accepting: Some(accepting) }
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
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        let mut pumps = Vec::new();
        for client in listener.incoming() {
            if self.stopping.load(Ordering::SeqCst) {
                break;
            }
            let Ok(client) = client else { continue };
            let Ok(server) = TcpStream::connect(&self.server) else { continue };
            self.accepted.fetch_add(1, Ordering::SeqCst);
            let less = |left: usize| left.checked_sub(1);
            let swallowed =
                self.swallow.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
            let link = Arc::new(Link { silent: AtomicBool::new(swallowed) });
            self.links.lock().push(link.clone());
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let (shared, link) = (self.clone(), link.clone());
                pumps.push(std::thread::spawn(move || {
                    let _ = shared.pump(from, to, &link);
                }));
            }
        }
        for pump in pumps {
            pump.join().unwrap();
        }
    }

    fn pump(&self, mut from: TcpStream, mut to: TcpStream, link: &Link) -> io::Result<()> {
        from.set_nodelay(true)?;
        from.set_read_timeout(Some(LOOK))?;
        let mut buffer = vec![0; 64 * 1024];
        while !self.stopping.load(Ordering::SeqCst) {
            if link.silent.load(Ordering::SeqCst) {
                std::thread::park_timeout(LOOK);
                continue;
            }
            match from.read(&mut buffer) {
                Ok(0) | Err(_) if link.silent.load(Ordering::SeqCst) => {}
                Ok(0) => return to.shutdown(Shutdown::Write),
                // What was read in the moment of falling silent is lost, as on its way.
                Ok(_) if link.silent.load(Ordering::SeqCst) => {}
                Ok(read) => to.write_all(&buffer[..read])?,
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
