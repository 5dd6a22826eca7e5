//! Servers for the tests: raw listeners that do with each connection what a test tells them, over
//! plain TCP or TLS, and the certificates for that.

#[path = "../requests/reserved.rs"]
pub(crate) mod reserved;

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use kinformer::{
    Api, ApiResource, Client, DynamicObject, StopToken,
    config::{Config, ConfigBuilder},
};
use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};

/// Longer than anything takes that works, however busy the machine is.
pub(crate) const LONG: Duration = Duration::from_secs(45);

/// Waits for a condition that somebody else makes true.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "waited in vain until {what}");
        pause(Duration::from_millis(2));
    }
}

pub(crate) fn pause(time: Duration) {
    let _ = StopToken::new().wait_timeout(time);
}

pub(crate) fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().name("test".into()).spawn(run).unwrap()
}

/// A directory for one test, removed with it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("kinf-transport-{process}-{count}"));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file as a rotation does: whole, by a rename.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let (new, path) = (self.path(&format!(".{name}.new")), self.path(name));
        std::fs::write(&new, content).unwrap();
        std::fs::rename(new, &path).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A certificate authority.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, PEM encoded.
pub(crate) struct Leaf {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for these names and addresses, valid now.
    pub(crate) fn issue(&self, names: &[&str]) -> Leaf {
        self.issue_for_years(names, 2000, 4000)
    }

    /// The same, valid from the first day of `from` to that of `to`.
    pub(crate) fn issue_for_years(&self, names: &[&str], from: i32, to: i32) -> Leaf {
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.distinguished_name.push(DnType::CommonName, "leaf");
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(to, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Leaf { certificate, key: key.serialize_pem() }
    }

    /// A server that shows `leaf`.
    pub(crate) fn server_config(leaf: &Leaf) -> ServerConfig {
        Self::server_config_with(leaf, rustls::ALL_VERSIONS, None)
    }

    /// The same with these versions of TLS, wanting client certificates of `clients`.
    pub(crate) fn server_config_with(
        leaf: &Leaf,
        versions: &[&'static SupportedProtocolVersion],
        clients: Option<&Self>,
    ) -> ServerConfig {
        let builder =
            ServerConfig::builder_with_provider(ring()).with_protocol_versions(versions).unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(certificate(&authority.pem)).unwrap();
                builder.with_client_cert_verifier(
                    WebPkiClientVerifier::builder_with_provider(roots.into(), ring())
                        .build()
                        .unwrap(),
                )
            }
        };
        let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap();
        builder.with_single_cert(vec![certificate(&leaf.certificate)], key).unwrap()
    }
}

fn ring() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(crate) fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// A listener on loopback; each connection is given to a handler, on a thread of its own.
///
/// Dropped, it ends its connections and joins its threads.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// What its certificate is signed by, if it speaks TLS.
    pub(crate) authority: Option<String>,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    accepted: AtomicUsize,
    over: StopToken,
    connections: Mutex<Vec<(TcpStream, JoinHandle<()>)>>,
}

impl Server {
    /// Speaks plain TCP.
    pub(crate) fn plain(handler: impl Fn(&mut Connection) + Send + Sync + 'static) -> Self {
        Self::start("127.0.0.1:0", move |socket, over| {
            handler(&mut Connection::new(socket, over));
        })
    }

    /// Speaks TLS, with a certificate for 127.0.0.1 and localhost.
    pub(crate) fn tls(handler: impl Fn(&mut Connection) + Send + Sync + 'static) -> Self {
        let authority = Authority::new("the server's");
        let leaf = authority.issue(&["127.0.0.1", "localhost"]);
        let mut server = Self::with_config(Authority::server_config(&leaf), handler);
        server.authority = Some(authority.pem);
        server
    }

    /// Speaks TLS as configured.
    pub(crate) fn with_config(
        config: ServerConfig,
        handler: impl Fn(&mut Connection) + Send + Sync + 'static,
    ) -> Self {
        let config = Arc::new(config);
        Self::start("127.0.0.1:0", move |socket, over| {
            let session = ServerConnection::new(config.clone()).unwrap();
            let mut tls = StreamOwned::new(session, socket);
            // A client that does not like the certificate is the client's business.
            if tls.conn.complete_io(&mut tls.sock).is_ok() {
                handler(&mut Connection::new(tls, over));
            }
        })
    }

    /// Either, by `tls`.
    pub(crate) fn any(
        tls: bool,
        handler: impl Fn(&mut Connection) + Send + Sync + 'static,
    ) -> Self {
        if tls { Self::tls(handler) } else { Self::plain(handler) }
    }

    /// Gives each socket to `handler` as it is, with a token that is stopped at the end.
    pub(crate) fn start(
        address: &str,
        handler: impl Fn(TcpStream, &StopToken) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let (state, handler) = (shared.clone(), Arc::new(handler));
        let acceptor = spawn(move || {
            for socket in listener.incoming() {
                if state.over.is_stopped() {
                    break;
                }
                let socket = socket.unwrap();
                let _ = socket.set_nodelay(true);
                state.accepted.fetch_add(1, Ordering::SeqCst);
                let (kept, handler) = (socket.try_clone().unwrap(), handler.clone());
                let (over, end) = (state.over.clone(), socket.try_clone().unwrap());
                // Whoever has its answer finds the connection among those there are.
                let mut connections = state.connections.lock();
                let thread = spawn(move || {
                    handler(socket, &over);
                    let _ = end.shutdown(Shutdown::Both);
                });
                connections.push((kept, thread));
            }
        });
        Self { address, authority: None, shared, acceptor: Some(acceptor) }
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// How many connections there have been.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// Ends all connections there are.
    pub(crate) fn disconnect(&self) {
        for (socket, thread) in self.shared.connections.lock().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
            thread.join().unwrap();
        }
    }

    /// A configuration for it: its authority, no proxy, nobody's credentials.
    pub(crate) fn config(&self) -> ConfigBuilder {
        let config = Config::builder(self.url()).no_proxy();
        match &self.authority {
            Some(pem) => config.certificate_authority(pem.clone()),
            None => config,
        }
    }

    pub(crate) fn client(&self) -> Client {
        client(self.config())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.over.stop();
        // Wakes the acceptor.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap();
        }
        if std::thread::panicking() {
            return;
        }
        self.disconnect();
    }
}

#[track_caller]
pub(crate) fn client(config: ConfigBuilder) -> Client {
    Client::new(config.build().unwrap()).unwrap()
}

pub(crate) fn config_maps(client: &Client) -> Api<DynamicObject> {
    client.dynamic(&ApiResource::namespaced("v1", "ConfigMap", "configmaps")).namespace("default")
}

/// One connection, as its server sees it.
pub(crate) struct Connection {
    stream: BufReader<Box<dyn Stream>>,
    /// Stopped when the server ends.
    over: StopToken,
}

pub(crate) trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// A request as it came over the wire.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    /// With names in lower case; what is there more than once is joined by a comma.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

impl Connection {
    pub(crate) fn new(stream: impl Stream + 'static, over: &StopToken) -> Self {
        Self { stream: BufReader::new(Box::new(stream)), over: over.clone() }
    }

    /// The head of the next request; `None` when the client is gone.
    pub(crate) fn read_head(&mut self) -> Option<Request> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let mut request = Request {
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            ..Request::default()
        };
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            request
                .headers
                .entry(name.to_ascii_lowercase())
                .and_modify(|all| *all = format!("{all},{value}"))
                .or_insert_with(|| value.to_owned());
        }
        Some(request)
    }

    /// The next request, with its body.
    pub(crate) fn read_request(&mut self) -> Option<Request> {
        let head = self.read_head()?;
        self.read_body(head)
    }

    pub(crate) fn read_body(&mut self, mut request: Request) -> Option<Request> {
        let length = request.header("content-length").parse().unwrap_or(0);
        request.body = vec![0; length];
        self.stream.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    /// Fails silently when the client is gone, as after a stop.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let stream = self.stream.get_mut();
        stream.write_all(bytes.as_ref()).and_then(|()| stream.flush()).is_ok()
    }

    pub(crate) fn respond(&mut self, status: &str, headers: &str, body: impl AsRef<[u8]>) -> bool {
        let body = body.as_ref();
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}\
             Content-Length: {length}\r\n\r\n"
        );
        self.send([head.as_bytes(), body].concat())
    }

    /// The head of an answer without end.
    pub(crate) fn begin_stream(&mut self) -> bool {
        self.send(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
    }

    pub(crate) fn send_chunk(&mut self, text: &str) -> bool {
        self.send(format!("{:x}\r\n{text}\r\n", text.len()))
    }

    /// Answers every request with `{}` until the client goes.
    pub(crate) fn serve(&mut self) {
        while self.read_request().is_some() && self.respond("200 OK", "", "{}") {}
    }

    /// Says nothing more, until the client goes or the server ends.
    pub(crate) fn hold(&mut self) {
        let _ = io::copy(&mut self.stream, &mut io::sink());
    }

    /// Does not even read, until the server ends.
    pub(crate) fn ignore(&self) {
        self.over.wait();
    }
}

/// How many file descriptors of this process are sockets connected to `port`, or about to be.
pub(crate) fn sockets_to(port: u16) -> usize {
    let inodes: Vec<_> = connections_to(port).map(|row| row[9].clone()).collect();
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = links.filter_map(|link| std::fs::read_link(link.path()).ok());
    targets
        .filter(|to| inodes.iter().any(|inode| to.ends_with(format!("socket:[{inode}]"))))
        .count()
}

/// Whether this process has a connection to `port` in the making.
pub(crate) fn is_connecting_to(port: u16) -> bool {
    const SYN_SENT: &str = "02";
    connections_to(port).any(|row| row[3] == SYN_SENT)
}

fn connections_to(port: u16) -> impl Iterator<Item = Vec<String>> {
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let rows: Vec<Vec<String>> = table
        .lines()
        .skip(1)
        .map(|row| row.split_whitespace().map(str::to_owned).collect())
        .collect();
    rows.into_iter().filter(move |row| row[2].ends_with(&format!(":{port:04X}")))
}
