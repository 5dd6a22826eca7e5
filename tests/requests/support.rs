//! A scripted HTTP server: what it answers is decided per request, down to the bytes.

#[path = "reserved.rs"]
mod reserved;

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use kinformer::{ApiResource, Client, Config, config::ConfigBuilder};
use parking_lot::{Condvar, Mutex};

pub(crate) use self::reserved::Reserved;

/// No wait in these tests lasts this long unless something is wrong.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Which connection it came on, counted from 0.
    pub(crate) connection: usize,
    pub(crate) at: Instant,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub(crate) fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// The values of a header, joined as one.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let values: Vec<_> = self.headers.iter().filter(|(key, _)| key == name).collect();
        let values: Vec<_> = values.into_iter().map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Method and target, as tests compare them.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

type Generate = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

enum Step {
    Send(Vec<u8>),
    Generate(Generate),
    Wait(Gate),
    /// Ends the connection: with a farewell, or with a reset.
    Close,
    Reset,
}

/// What to answer to one request.
pub(crate) struct Reply(Vec<Step>);

impl Reply {
    /// A whole answer with a content length.
    pub(crate) fn new(code: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut bytes = head(code, headers);
        bytes += &format!("Content-Length: {}\r\n\r\n", body.len());
        let mut bytes = bytes.into_bytes();
        bytes.extend_from_slice(body);
        Self(vec![Step::Send(bytes)])
    }

    pub(crate) fn json(code: u16, body: impl AsRef<[u8]>) -> Self {
        Self::new(code, &[("Content-Type", "application/json")], body)
    }

    /// A failure that asks to be asked again.
    pub(crate) fn retry(code: u16, after: &str) -> Self {
        let headers = [("Content-Type", "text/plain"), ("Retry-After", after)];
        Self::new(code, &headers, "come back later")
    }

    /// The head of a chunked answer; chunks are to follow.
    pub(crate) fn stream() -> Self {
        Self::stream_as("application/json")
    }

    pub(crate) fn stream_as(content_type: &str) -> Self {
        Self::raw(
            head(200, &[("Content-Type", content_type)]) + "Transfer-Encoding: chunked\r\n\r\n",
        )
    }

    /// These bytes and nothing else.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self(vec![Step::Send(bytes.into())])
    }

    /// No answer: the connection ends.
    pub(crate) fn hang_up() -> Self {
        Self(vec![Step::Close])
    }

    pub(crate) fn reset() -> Self {
        Self(vec![Step::Reset])
    }

    pub(crate) fn chunk(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.0.push(Step::Send(chunk));
        self
    }

    /// One chunk each for pieces of this size.
    pub(crate) fn chunks_of(self, size: usize, bytes: impl AsRef<[u8]>) -> Self {
        bytes.as_ref().chunks(size).fold(self, Self::chunk)
    }

    pub(crate) fn end(mut self) -> Self {
        self.0.push(Step::Send(b"0\r\n\r\n".to_vec()));
        self
    }

    pub(crate) fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.push(Step::Send(bytes.into()));
        self
    }

    pub(crate) fn wait(mut self, gate: &Gate) -> Self {
        self.0.push(Step::Wait(gate.clone()));
        self
    }

    /// Writes as much as it likes, without having it all at once.
    pub(crate) fn generate(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) -> Self {
        self.0.push(Step::Generate(Box::new(write)));
        self
    }

    pub(crate) fn close(mut self) -> Self {
        self.0.push(Step::Close);
        self
    }

    pub(crate) fn then_reset(mut self) -> Self {
        self.0.push(Step::Reset);
        self
    }
}

fn head(code: u16, headers: &[(&str, &str)]) -> String {
    let mut head = format!("HTTP/1.1 {code} Whatever\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head
}

/// Holds a reply back until a test opens it.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.0.lock() = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let mut open = self.0.0.lock();
        let limit = Instant::now() + LIMIT;
        while !*open {
            if self.0.1.wait_until(&mut open, limit).timed_out() {
                return;
            }
        }
    }
}

type Script = Box<dyn Fn(&Request) -> Reply + Send + Sync>;

/// Listens on a loopback port until it is dropped; then all its threads have ended.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    script: Script,
    requests: Mutex<Vec<Request>>,
    arrived: Condvar,
    stopping: AtomicBool,
    connections: AtomicUsize,
    closed: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
    gates: Mutex<Vec<Gate>>,
}

impl Server {
    /// Answers each request as `script` says.
    pub(crate) fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        start_log();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            requests: Mutex::default(),
            arrived: Condvar::new(),
            stopping: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            closed: AtomicUsize::new(0),
            open: Mutex::default(),
            gates: Mutex::default(),
        });
        let accepting = {
            let shared = shared.clone();
            std::thread::spawn(move || shared.accept(&listener))
        };
        Self { address, shared, accepting: Some(accepting) }
    }

    /// Answers the first request with the first reply, and so on; a request too many is a 599.
    pub(crate) fn in_turn(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Mutex<std::collections::VecDeque<Reply>> =
            Mutex::new(replies.into_iter().collect());
        Self::start(move |_| {
            let next = replies.lock().pop_front();
            next.unwrap_or_else(|| Reply::json(599, r#"{"unexpected":"request"}"#))
        })
    }

    /// Answers every request with the same JSON.
    pub(crate) fn json(code: u16, body: impl Into<String>) -> Self {
        let body = body.into();
        Self::start(move |_| Reply::json(code, &body))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn config(&self) -> ConfigBuilder {
        Config::builder(self.url()).no_proxy()
    }

    pub(crate) fn client(&self) -> Client {
        client(self.config())
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().clone()
    }

    /// Method and target of every request so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.requests().iter().map(Request::line).collect()
    }

    /// The only request that there was.
    pub(crate) fn only(&self) -> Request {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:#?}");
        requests.remove(0)
    }

    /// Blocks until so many requests have arrived.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        let mut requests = self.shared.requests.lock();
        let limit = Instant::now() + LIMIT;
        while requests.len() < count {
            let timed_out = self.shared.arrived.wait_until(&mut requests, limit).timed_out();
            assert!(!timed_out, "{} of {count} requests came", requests.len());
        }
    }

    /// Blocks until the server has closed so many connections.
    pub(crate) fn wait_for_closed(&self, count: usize) {
        eventually("closed connections", || self.shared.closed.load(Ordering::SeqCst) >= count);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        for gate in self.shared.gates.lock().iter() {
            gate.open();
        }
        for stream in self.shared.open.lock().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let ended = accepting.join();
            assert!(ended.is_ok() || std::thread::panicking(), "a thread of the server panicked");
        }
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        let mut serving = Vec::new();
        for stream in listener.incoming() {
            if self.stopping.load(Ordering::SeqCst) {
                break;
            }
            let stream = stream.unwrap();
            let _ = stream.set_nodelay(true);
            let number = self.connections.fetch_add(1, Ordering::SeqCst);
            self.open.lock().push(stream.try_clone().unwrap());
            let shared = self.clone();
            serving.push(std::thread::spawn(move || {
                // A client that goes away in the middle is no fault of the server's.
                let _ = shared.serve(stream, number);
                shared.closed.fetch_add(1, Ordering::SeqCst);
            }));
        }
        for stream in self.open.lock().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in serving {
            thread.join().unwrap();
        }
    }

    fn serve(&self, stream: TcpStream, number: usize) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut writer = stream;
        while let Some(request) = read_request(&mut reader, number)? {
            self.requests.lock().push(request.clone());
            self.arrived.notify_all();
            for step in (self.script)(&request).0 {
                match step {
                    Step::Send(bytes) => writer.write_all(&bytes)?,
                    Step::Generate(generate) => {
                        let mut buffered = io::BufWriter::with_capacity(64 * 1024, &mut writer);
                        generate(&mut buffered)?;
                        buffered.flush()?;
                    }
                    Step::Wait(gate) => {
                        self.gates.lock().push(gate.clone());
                        if !self.stopping.load(Ordering::SeqCst) {
                            gate.pass();
                        }
                    }
                    Step::Close => return writer.shutdown(Shutdown::Both),
                    Step::Reset => {
                        // Closing with unsent linger time 0 is a reset. Every handle of the socket
                        // has to go for that.
                        let peer = writer.peer_addr()?;
                        let open = &mut self.open.lock();
                        open.retain(|other| other.peer_addr().is_ok_and(|addr| addr != peer));
                        socket2::SockRef::from(&writer).set_linger(Some(Duration::ZERO))?;
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

fn read_request(reader: &mut impl BufRead, connection: usize) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, target, headers, body, connection, at: Instant::now() }))
}

pub(crate) fn client(config: ConfigBuilder) -> Client {
    Client::new(config.build().unwrap()).unwrap()
}

pub(crate) fn pods() -> ApiResource {
    ApiResource::namespaced("v1", "Pod", "pods")
}

pub(crate) fn deployments() -> ApiResource {
    ApiResource::namespaced("apps/v1", "Deployment", "deployments")
}

pub(crate) fn nodes() -> ApiResource {
    ApiResource::cluster("v1", "Node", "nodes")
}

pub(crate) const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","namespace":"a","resourceVersion":"7"}}"#;

/// A failure as API servers write it.
pub(crate) fn status(code: u16, reason: &str, message: &str) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}","reason":"{reason}","code":{code}}}"#
    )
}

/// Blocks until `done`, for at most [`LIMIT`].
pub(crate) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let limit = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < limit, "waited too long for: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// How many lines of the library's log have this text in them.
pub(crate) fn logged(text: &str) -> usize {
    LOG.0.lock().iter().filter(|line| line.contains(text)).count()
}

struct Log(Mutex<Vec<String>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("kinformer")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

pub(crate) fn start_log() {
    // Another test may have been first, and not have come to the level yet.
    let _ = log::set_logger(&LOG);
    log::set_max_level(log::LevelFilter::Debug);
}
