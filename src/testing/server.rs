//! The server: its settings, its threads, and what a test can ask of it.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use rustls::ServerConnection;
use serde_json::{Value, json};

use crate::{
    config::Config,
    testing::{
        faults::{Fault, When},
        http::{Certificates, SeenRequest, Wire, connection},
        shared::{Core, Settings},
        store::State,
        write::Call,
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
pub struct ApiServer {
    core: Arc<Core>,
    address: SocketAddr,
    certificates: Option<Arc<Certificates>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Settings of an [`ApiServer`] that is about to start.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// let server = kinformer::testing::ApiServer::builder().tls(true).token("secret").start()?;
/// std::fs::write(std::env::temp_dir().join("kubeconfig"), server.kubeconfig())?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ApiServerBuilder {
    listen: SocketAddr,
    tls: bool,
    token: Option<String>,
    history: usize,
    bookmark_interval: Duration,
    control: bool,
    compressed_streams: bool,
}

impl ApiServer {
    /// Starts a server on a free loopback port, over plain HTTP, without credentials.
    ///
    /// # Errors
    /// If no port can be listened on.
    pub fn start() -> io::Result<Self> {
        Self::builder().start()
    }

    /// Settings to start a server with.
    #[must_use]
    pub fn builder() -> ApiServerBuilder {
        ApiServerBuilder {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: false,
            token: None,
            history: 10_000,
            bookmark_interval: Duration::from_secs(60),
            control: false,
            compressed_streams: false,
        }
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
        let user = match &self.core.settings.token {
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
        if let Some(token) = &self.core.settings.token {
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
        self.core.read(State::revision).to_string()
    }

    /// Forgets the history: watches and exact lists from before now get 410.
    pub fn compact(&self) {
        self.core.write(State::compact);
    }

    /// Cuts every connection, in the middle of whatever it is doing.
    pub fn drop_connections(&self) {
        self.core.drop_connections(None);
    }

    /// How many connections are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.core.connections()
    }

    /// How many watches are running.
    #[must_use]
    pub fn watches(&self) -> usize {
        self.core.watches.load(Ordering::SeqCst)
    }

    /// The requests seen so far, oldest first; at most the last 10,000.
    #[must_use]
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.core.requests.lock().all()
    }

    /// Forgets the requests seen so far.
    pub fn clear_requests(&self) {
        self.core.requests.lock().clear();
    }

    /// Makes something go wrong with the requests that `when` selects.
    ///
    /// Faults are tried in the order they were given; a request meets at most one. They stay until
    /// they have happened as often as `when` says, or [`clear_faults`](Self::clear_faults).
    pub fn inject(&self, when: When, fault: Fault) {
        self.core.faults.lock().add(when, fault);
    }

    /// Forgets the faults that have not happened yet.
    pub fn clear_faults(&self) {
        self.core.faults.lock().clear();
    }

    /// How many faults have not happened as often as they are to.
    #[must_use]
    pub fn pending_faults(&self) -> usize {
        self.core.faults.lock().pending().len()
    }

    /// Stops the server and waits for its threads, which are interrupted. Dropping it does the
    /// same.
    pub fn stop(&self) {
        self.core.stop();
        let threads = std::mem::take(&mut *self.threads.lock());
        if !threads.is_empty() {
            // The accepting thread is blocked in the kernel: a connection wakes it.
            let _ = TcpStream::connect_timeout(&reachable(self.address), Duration::from_secs(1));
        }
        for thread in threads {
            // A thread that panicked has ended, too.
            let _ = thread.join();
        }
    }

    /// Runs `work` on a thread of the server's, which the stop waits for.
    pub(crate) fn spawn(
        &self,
        name: &str,
        work: impl FnOnce(&Core) + Send + 'static,
    ) -> io::Result<()> {
        let core = self.core.clone();
        let thread = thread::spawn(name, move || work(&core))?;
        self.threads.lock().push(thread);
        Ok(())
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }
}

impl ApiServerBuilder {
    /// Listens here; port 0 picks a free one. The default is a free port of 127.0.0.1.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Serves HTTPS with a certificate for localhost, 127.0.0.1 and `::1`, signed by a CA of its
    /// own.
    #[must_use]
    pub fn tls(mut self, tls: bool) -> Self {
        self.tls = tls;
        self
    }

    /// Answers 401 to requests without this bearer token; health and version stay open.
    ///
    /// client-go and kubectl send tokens over HTTPS only: combine it with [`tls`](Self::tls) for
    /// them.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// How many changes to remember: watches from before them get 410. The default is 10,000.
    #[must_use]
    pub fn history(mut self, changes: usize) -> Self {
        self.history = changes;
        self
    }

    /// How often watches that allow it get a bookmark. The default is 60 s, as in a real server.
    #[must_use]
    pub fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.bookmark_interval = interval;
        self
    }

    /// Takes faults and other commands over HTTP, under `/_testing`.
    #[must_use]
    pub fn control(mut self, control: bool) -> Self {
        self.control = control;
        self
    }

    /// Compresses streamed lists, one gzip member per flush, as servers since Kubernetes 1.37 do.
    #[must_use]
    pub fn compressed_streams(mut self, compressed: bool) -> Self {
        self.compressed_streams = compressed;
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    /// If the address cannot be listened on, or no certificate can be made.
    pub fn start(self) -> io::Result<ApiServer> {
        let listener = TcpListener::bind(self.listen)?;
        let address = listener.local_addr()?;
        let certificates = if self.tls { Some(Arc::new(Certificates::new()?)) } else { None };
        let settings = Settings {
            token: self.token,
            bookmark_interval: self.bookmark_interval,
            control: self.control,
            compressed_streams: self.compressed_streams,
        };
        let core = Arc::new(Core::new(settings, self.history));
        preset(&core)?;
        let accept = {
            let (core, certificates) = (core.clone(), certificates.clone());
            thread::spawn("api:accept", move || accept(&core, &listener, certificates.as_ref()))?
        };
        Ok(ApiServer { core, address, certificates, threads: Mutex::new(vec![accept]) })
    }
}

impl fmt::Debug for ApiServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServerBuilder")
            .field("listen", &self.listen)
            .field("tls", &self.tls)
            .field("history", &self.history)
            .field("bookmark_interval", &self.bookmark_interval)
            .field("control", &self.control)
            .finish_non_exhaustive()
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

/// Takes connections, each on a thread of its own, until the server stops; then waits for them.
fn accept(core: &Arc<Core>, listener: &TcpListener, certificates: Option<&Arc<Certificates>>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while !core.stop.is_stopped() {
        let Ok((tcp, _)) = listener.accept() else {
            // Out of file descriptors, most likely: some will come back.
            let _ = core.stop.wait_timeout(Duration::from_millis(10));
            continue;
        };
        reap(&mut threads);
        let tcp = Arc::new(tcp);
        let Some(id) = core.connect(&tcp) else { break };
        let (shared, certificates) = (core.clone(), certificates.cloned());
        let thread = thread::spawn("api:conn", move || {
            let registered = Registered { core: &shared, id };
            connected(&shared, id, tcp, certificates.as_deref());
            drop(registered);
        });
        match thread {
            Ok(thread) => threads.push(thread),
            Err(_) => core.disconnect(id),
        }
    }
    for thread in threads {
        let _ = thread.join();
    }
}

/// Keeps a connection known to the server; not any more when its thread ends, in whatever way.
struct Registered<'a> {
    core: &'a Core,
    id: u64,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.core.disconnect(self.id);
    }
}

/// Joins threads that have ended.
fn reap(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.extract_if(.., |thread| thread.is_finished()) {
        let _ = thread.join();
    }
}

fn connected(core: &Arc<Core>, id: u64, tcp: Arc<TcpStream>, certificates: Option<&Certificates>) {
    let mut wire = match certificates {
        None => Wire::plain(tcp, core.stop.clone()),
        Some(certificates) => match ServerConnection::new(certificates.config()) {
            Ok(session) => Wire::tls(tcp, session, core.stop.clone()),
            Err(_) => return,
        },
    };
    connection::serve(core, id, &mut wire);
    if wire.resets() {
        core.disconnect(id);
    }
    wire.close();
}

/// The namespaces every cluster has.
fn preset(core: &Core) -> io::Result<()> {
    core.write(|state| {
        let namespaces = state.registry.find("", "v1", "namespaces");
        let namespaces = namespaces.ok_or_else(|| io::Error::other("no namespaces"))?;
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let object: Value = json!({"metadata": {"name": name}});
            let created = state.create(&namespaces, None, object, &Call::direct());
            created.map_err(|status| io::Error::other(status.message))?;
        }
        Ok(())
    })
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
