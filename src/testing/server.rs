//! The server: its threads, and what a test can ask of it.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Weak, atomic::Ordering},
    thread::JoinHandle,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    StopToken,
    config::Config,
    testing::{
        builder::ApiServerBuilder,
        faults::{Fault, When},
        http::{Certificates, SeenRequest},
        shared::Shared,
        store::State,
    },
    thread,
};

/// A Kubernetes API server inside the process; see the [module](super) for what it is like.
///
/// It runs until [`stop`](Self::stop) or until it is dropped. Any number can run at once.
///
/// # Threads
///
/// One that accepts connections, and one for each connection; their names begin with `kinf-api`.
/// The stop interrupts and joins them all, and takes no longer for a thousand idle watches than the
/// joining itself.
#[doc(alias = "NewSimpleClientset")]
#[doc(alias = "envtest")]
pub struct ApiServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// Gone as soon as no connections are taken any more.
    listener: Weak<TcpListener>,
    certificates: Option<Arc<Certificates>>,
    /// Locked by a stop until the last of them has ended.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl ApiServer {
    /// Starts a server on a free loopback port, over plain HTTP, without credentials.
    ///
    /// # Errors
    /// If no port can be listened on.
    pub fn start() -> io::Result<Self> {
        Self::builder().start()
    }

    /// One that serves already; `accept` is the thread that takes its connections.
    pub(super) fn running(
        shared: Arc<Shared>,
        address: SocketAddr,
        listener: Weak<TcpListener>,
        certificates: Option<Arc<Certificates>>,
        accept: JoinHandle<()>,
    ) -> Self {
        Self { shared, address, listener, certificates, threads: Mutex::new(vec![accept]) }
    }

    /// Settings to start a server with.
    #[must_use]
    pub fn builder() -> ApiServerBuilder {
        ApiServerBuilder::new()
    }

    /// Where the server listens: `http://127.0.0.1:PORT`, or `https`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.certificates.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", reachable(self.address))
    }

    /// A kubeconfig for the server, in YAML: its address, its CA and its token, all inline.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let mut cluster = format!("    server: {}\n", self.url());
        if let Some(pem) = self.ca_pem() {
            let data = STANDARD.encode(pem);
            cluster.push_str(&format!("    certificate-authority-data: {data}\n"));
        }
        let user = match &self.shared.settings.token {
            // A JSON string is a YAML string, whatever is in it.
            Some(token) => format!("\n    token: {}\n", Value::from(token.as_str())),
            None => " {}\n".to_owned(),
        };
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: kinformer\nclusters:\n\
             - name: kinformer\n  cluster:\n{cluster}\
             contexts:\n- name: kinformer\n  context:\n    cluster: kinformer\n    user: kinformer\n\
             users:\n- name: kinformer\n  user:{user}"
        )
    }

    /// A configuration for the server: its address, its CA and its token.
    ///
    /// ```
    /// use kinformer::{Client, testing::ApiServer};
    ///
    /// let server = ApiServer::start()?;
    /// let client = Client::new(server.config())?;
    /// assert!(client.server_version()?.git_version.starts_with("v1."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn config(&self) -> Config {
        let mut builder = Config::builder(self.url()).no_proxy().cluster("kinformer");
        if let Some(pem) = self.ca_pem() {
            builder = builder.certificate_authority(pem);
        }
        if let Some(token) = &self.shared.settings.token {
            builder = builder.token(token);
        }
        builder.build().expect("the server started with this address, authority and token")
    }

    /// The certificate of the server's CA, if it serves HTTPS.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.certificates.as_ref().map(|certificates| certificates.ca_pem())
    }

    /// The current revision: the resource version of the newest change.
    #[must_use]
    pub fn resource_version(&self) -> String {
        self.shared.read(State::revision).to_string()
    }

    /// Forgets the history: watches and exact lists from before now get 410.
    pub fn compact(&self) {
        self.shared.write(State::compact);
    }

    /// Cuts every connection, in the middle of whatever it is doing.
    pub fn drop_connections(&self) {
        self.shared.drop_connections(None);
    }

    /// How many connections are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections()
    }

    /// How many watches are running.
    #[must_use]
    pub fn watches(&self) -> usize {
        self.shared.watches.load(Ordering::SeqCst)
    }

    /// The requests seen so far, oldest first; at most the last 10,000.
    #[must_use]
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.shared.requests.lock().all()
    }

    /// Forgets the requests seen so far.
    pub fn clear_requests(&self) {
        self.shared.requests.lock().clear();
    }

    /// Makes something go wrong with the requests that `when` selects.
    ///
    /// Faults are tried in the order they were given; a request meets at most one. They stay until
    /// they have happened as often as `when` says, or [`clear_faults`](Self::clear_faults).
    pub fn inject(&self, when: When, fault: Fault) {
        self.shared.faults.lock().add(when, fault);
    }

    /// Forgets the faults that have not happened yet.
    pub fn clear_faults(&self) {
        self.shared.faults.lock().clear();
    }

    /// How many faults have not happened as often as they are to.
    #[must_use]
    pub fn pending_faults(&self) -> usize {
        self.shared.faults.lock().pending().len()
    }

    /// Stops the server and waits for its threads, which are interrupted. Dropping it does the
    /// same.
    ///
    /// Several threads may stop it at once: each of them waits.
    pub fn stop(&self) {
        self.shared.stop();
        let mut threads = self.threads.lock();
        self.stop_listening();
        for thread in threads.drain(..) {
            // A thread that panicked has ended, too.
            let _ = thread.join();
        }
    }

    /// Wakes the thread that accepts connections, which is blocked in the kernel.
    fn stop_listening(&self) {
        while let Some(listener) = self.listener.upgrade() {
            // On Linux that is enough, and takes no file descriptor: there may be none left.
            if socket2::SockRef::from(&*listener).shutdown(Shutdown::Both).is_ok() {
                return;
            }
            drop(listener);
            let _ = TcpStream::connect_timeout(&reachable(self.address), Duration::from_secs(1));
            let _ = StopToken::new().wait_timeout(Duration::from_millis(5));
        }
    }

    /// Runs `work` on a thread of the server's, which the stop waits for.
    pub(super) fn spawn(
        &self,
        name: &str,
        work: impl FnOnce(&Shared) + Send + 'static,
    ) -> io::Result<()> {
        let shared = self.shared.clone();
        let thread = thread::spawn(name, move || work(&shared))?;
        self.threads.lock().push(thread);
        Ok(())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("url", &self.url()).finish_non_exhaustive()
    }
}

/// An address to connect to for one that was listened on.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
