//! Settings of a server, and its start.

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    http::{self, Certificates},
    server::ApiServer,
    shared::{Settings, Shared},
    write::WriteContext,
};
use crate::thread;

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

impl ApiServerBuilder {
    pub(crate) fn new() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: false,
            token: None,
            history: 10_000,
            bookmark_interval: Duration::from_secs(60),
            control: false,
            compressed_streams: false,
        }
    }

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
        let listener = Arc::new(TcpListener::bind(self.listen)?);
        let address = listener.local_addr()?;
        let certificates = if self.tls { Some(Arc::new(Certificates::new()?)) } else { None };
        let settings = Settings {
            token: self.token,
            bookmark_interval: self.bookmark_interval,
            control: self.control,
            compressed_streams: self.compressed_streams,
        };
        let shared = Arc::new(Shared::new(settings, self.history));
        preset(&shared)?;
        let listening = Arc::downgrade(&listener);
        let accept = {
            let (shared, certificates) = (shared.clone(), certificates.clone());
            thread::spawn("api:accept", move || {
                http::accept(&shared, listener, certificates.as_ref());
            })?
        };
        Ok(ApiServer::running(shared, address, listening, certificates, accept))
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

/// The namespaces every cluster has.
fn preset(shared: &Shared) -> io::Result<()> {
    shared.write(|state| {
        let namespaces = state.registry.find("", "v1", "namespaces");
        let namespaces = namespaces.ok_or_else(|| io::Error::other("no namespaces"))?;
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let object: Value = json!({"metadata": {"name": name}});
            let created = state.create(&namespaces, None, object, &WriteContext::direct());
            created.map_err(|status| io::Error::other(status.message))?;
        }
        Ok(())
    })
}
