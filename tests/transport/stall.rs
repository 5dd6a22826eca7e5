//! Servers that stall, one for each phase of a call, and the call that gets stuck there.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

use kinformer::{
    ApiResource, Client, DynamicObject, Error, ListOptions, LogOptions, Result, StopToken,
    config::Config,
};

use parking_lot::Mutex;

use crate::support::{
    LONG, Scratch, Server, client, config_maps, is_connecting_to, sockets_to, wait_until,
};

/// Where a call is stuck.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stall {
    Connect,
    HttpProxy,
    SocksProxy,
    Handshake,
    SendBody,
    Head,
    Body,
    List,
    Watch,
    Log,
    Retry,
    Plugin,
}

/// A server that stalls, and a client that has not called it yet.
pub(crate) struct Stalled {
    stall: Stall,
    pub(crate) client: Client,
    /// What the client has its connection with: the server or a proxy.
    pub(crate) peer: Option<SocketAddr>,
    /// Descriptors that are connected with it without the client.
    pub(crate) own_sockets: usize,
    reached: Mutex<Receiver<()>>,
    _server: Box<dyn std::any::Any + Sync>,
}

impl Stall {
    pub(crate) const ALL: [Self; 12] = [
        Self::Connect,
        Self::HttpProxy,
        Self::SocksProxy,
        Self::Handshake,
        Self::SendBody,
        Self::Head,
        Self::Body,
        Self::List,
        Self::Watch,
        Self::Log,
        Self::Retry,
        Self::Plugin,
    ];

    /// Whether the phase differs over TLS, and without.
    pub(crate) fn wires(self) -> &'static [bool] {
        match self {
            // Before the first byte for the server: the same for both.
            Self::Connect | Self::HttpProxy | Self::SocksProxy | Self::Plugin => &[false],
            Self::Handshake => &[true],
            _ => &[false, true],
        }
    }

    pub(crate) fn start(self, tls: bool) -> Stalled {
        let (reach, reached) = mpsc::channel();
        // A later connection, when the test is over, has nobody to tell.
        let reach = move || {
            let _ = reach.send(());
        };
        let (peer, client, server): (_, _, Box<dyn std::any::Any + Sync>) = match self {
            Self::Connect => {
                let full = FullBacklog::new();
                let server = Config::builder(format!("http://{}", full.address)).no_proxy();
                (Some(full.address), client(server), Box::new(full))
            }
            Self::HttpProxy | Self::SocksProxy => {
                let proxy = Server::start("127.0.0.1:0", move |mut socket, _| {
                    let _ = socket.read(&mut [0]);
                    reach();
                    hold(socket);
                });
                let scheme = if self == Self::HttpProxy { "http" } else { "socks5" };
                let url = format!("{scheme}://{}", proxy.address);
                let behind = Config::builder("https://kube.example:6443").proxy(url);
                (Some(proxy.address), client(behind), Box::new(proxy))
            }
            Self::Handshake => {
                let server = Server::start("127.0.0.1:0", move |mut socket, _| {
                    let _ = socket.read(&mut [0]);
                    reach();
                    hold(socket);
                });
                let config = Config::builder(format!("https://{}", server.address)).no_proxy();
                (Some(server.address), client(config), Box::new(server))
            }
            Self::Plugin => {
                let (client, scratch) = sleeping_plugin();
                reach();
                (None, client, Box::new(scratch))
            }
            _ => {
                let server = Server::any(tls, move |connection| {
                    if connection.read_head().is_none() {
                        return;
                    }
                    match self {
                        Self::SendBody => {
                            reach();
                            connection.ignore();
                        }
                        Self::Body => {
                            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{");
                        }
                        Self::List => {
                            connection.begin_stream();
                            connection.send_chunk(LIST_BEGINNING);
                        }
                        Self::Watch | Self::Log => drop(connection.begin_stream()),
                        Self::Retry => {
                            let later = "Retry-After: 30\r\n";
                            connection.respond("429 Too Many Requests", later, "{}");
                        }
                        _ => {}
                    }
                    reach();
                    connection.hold();
                });
                (Some(server.address), server.client(), Box::new(server))
            }
        };
        let own_sockets = peer.map_or(0, |peer| sockets_to(peer.port()));
        let reached = Mutex::new(reached);
        Stalled { stall: self, client, peer, own_sockets, reached, _server: server }
    }
}

const LIST_BEGINNING: &str =
    r#"{"kind":"ConfigMapList","items":[{"metadata":{"name":"a","namespace":"default"}},"#;

impl Stalled {
    /// Makes the call that gets stuck.
    pub(crate) fn call(&self, client: &Client) -> Result<()> {
        let maps = config_maps(client);
        match self.stall {
            Stall::SendBody => {
                // More than both sides' buffers take, which grow to some megabytes.
                let large = "x".repeat(24 << 20);
                maps.create(&serde_json::json!({"metadata": {"name": "a"}, "data": large}))
                    .map(drop)
            }
            Stall::List => maps.list(&ListOptions::new()).map(drop),
            Stall::Watch => match maps.watch(&ListOptions::new())?.next() {
                Some(Err(error)) => Err(error),
                other => panic!("{other:?}"),
            },
            Stall::Log => {
                let pods =
                    client.api_for::<DynamicObject>(&ApiResource::namespaced("v1", "Pod", "pods"));
                let options = LogOptions::new().follow(true);
                let mut log = pods.namespace("default").logs("a", &options)?;
                let error = log.read(&mut [0; 9]).map(drop).unwrap_err();
                Err(error.downcast::<Error>().unwrap_or_else(|error| panic!("{error}")))
            }
            _ => client.get_raw("/").map(drop),
        }
    }

    /// Makes the call, stops it once it is stuck, and says what it returned and how long that took.
    ///
    /// `while_stuck` is run in between.
    pub(crate) fn interrupt(&self, while_stuck: impl FnOnce()) -> (Result<()>, Duration) {
        let stop = StopToken::new();
        let client = self.client.with_stop(&stop);
        std::thread::scope(|scope| {
            let (enter, entered) = mpsc::channel();
            let call = scope.spawn(move || {
                enter.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
                let result = self.call(&client);
                (result, Instant::now())
            });
            let thread = entered.recv().unwrap();
            match (self.stall, self.peer) {
                (Stall::Connect, Some(peer)) => {
                    wait_until("the client connects", || is_connecting_to(peer.port()));
                }
                (Stall::Plugin, _) => {}
                _ => self.reached.lock().recv_timeout(LONG).expect("the server was not reached"),
            }
            let stat = std::path::Path::new("/proc").join(thread).join("stat");
            let mut asleep = 0;
            wait_until("the caller is blocked", || {
                let stat = std::fs::read_to_string(&stat).unwrap();
                let sleeps = stat.rsplit(") ").next().unwrap().starts_with('S');
                asleep = if sleeps { asleep + 1 } else { 0 };
                asleep == 3
            });
            while_stuck();
            let stopped = Instant::now();
            stop.stop();
            let (result, returned) = call.join().unwrap();
            (result, returned.saturating_duration_since(stopped))
        })
    }
}

/// A listener whose queue is full, so that another connection gets no answer.
struct FullBacklog {
    address: SocketAddr,
    _listener: TcpListener,
    _queue: Vec<TcpStream>,
}

impl FullBacklog {
    fn new() -> Self {
        use socket2::{Domain, Socket, Type};
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
        socket.listen(0).unwrap();
        let listener: TcpListener = socket.into();
        let address = listener.local_addr().unwrap();
        let mut queue = Vec::new();
        // One more than the queue takes is the first that does not get through.
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            queue.push(stream);
        }
        Self { address, _listener: listener, _queue: queue }
    }
}

fn sleeping_plugin() -> (Client, Scratch) {
    let scratch = Scratch::new();
    let kubeconfig = r#"
        clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
        users: [{name: u, user: {exec: {
          apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never,
          command: sleep, args: ["60"]}}}]
        contexts: [{name: x, context: {cluster: c, user: u}}]
        current-context: x"#;
    let config = Config::from_kubeconfig_str(kubeconfig, None).unwrap();
    (client(config.to_builder().no_proxy()), scratch)
}

/// Keeps the connection open until the other side ends it.
fn hold(mut socket: TcpStream) {
    let _ = std::io::copy(&mut socket, &mut std::io::sink());
    let _ = socket.flush();
}
