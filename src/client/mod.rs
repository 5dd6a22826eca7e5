//! Talking to an API server: [`Client`], and what it makes.

mod api;
mod auth;
mod connection;
mod crowd;
mod discovery;
mod failure;
mod list;
#[cfg(feature = "kubeconfig")]
mod manifest;
mod options;
mod request;
mod scale;
mod transport;
mod turns;
mod warning;
mod watch;

use std::{fmt, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};

pub use self::{
    api::{Api, Deletion, ListAll, LogStream},
    crowd::Crowd,
    discovery::{ApiGroup, DiscoveredResource, Discovery, DiscoveryFailure},
    list::{List, ListMeta},
    options::{
        DeleteOptions, FieldValidation, ListOptions, LogOptions, Patch, Preconditions,
        PropagationPolicy, ResourceVersionMatch,
    },
    scale::{Scale, ScaleSpec, ScaleStatus},
    watch::{Bookmark, Watch, WatchEvent},
};
use self::{connection::Connection, request::Request, transport::Method};
pub(crate) use self::{
    crowd::Waited,
    list::{GATHER, LONG},
    turns::Turn,
};
use crate::{
    config::Config,
    error::{Error, Result},
    json::decode::decode_bytes,
    object::{ApiResource, Body, DynamicObject, PartialObjectMetadata, Resource},
    stop::StopToken,
};

/// A connection to a cluster, to be shared: clones are cheap and use the same connections.
///
/// Usable from any thread. Every call on it blocks its caller only.
///
/// ```no_run
/// use kinformer::Client;
///
/// let client = Client::try_default()?;
/// println!("Kubernetes {}", client.server_version()?.git_version);
/// # Ok::<(), kinformer::Error>(())
/// ```
///
/// # Stopping
///
/// [`with_stop`](Self::with_stop) gives a client whose calls end when a token is stopped, whatever they
/// are blocked in: name lookup, connect, TLS, sending, waiting, reading, back-off, a credential plugin.
///
/// # Credentials
///
/// Never appear in `Debug`, errors or logs. Files that hold them are read again when they change.
/// At level `trace` each request is logged with path, query and the code of its answer, and nothing of what it holds.
#[derive(Clone)]
#[doc(alias = "Clientset")]
#[doc(alias = "RESTClient")]
pub struct Client {
    connection: Arc<Connection>,
    stop: StopToken,
}

impl Client {
    /// A client for the cluster that [`Config::infer`] finds.
    ///
    /// # Errors
    ///
    /// If there is no configuration, or it cannot be used. Nothing is sent yet.
    pub fn try_default() -> Result<Self> {
        Self::new(Config::infer()?)
    }

    /// A client for the cluster that `config` describes.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used. Nothing is sent yet.
    pub fn new(config: Config) -> Result<Self> {
        Ok(Self { connection: Arc::new(Connection::new(config)?), stop: StopToken::new() })
    }

    /// The same client, whose calls are interrupted when `stop` is stopped. Factories and informers that are
    /// made from it stop, too.
    ///
    /// ```no_run
    /// # let client = kinformer::Client::try_default()?;
    /// use kinformer::StopToken;
    ///
    /// let stop = StopToken::new();
    /// let client = client.with_stop(&stop);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| client.server_version());
    ///     stop.stop();
    /// });
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[must_use]
    pub fn with_stop(&self, stop: &StopToken) -> Self {
        Self { connection: self.connection.clone(), stop: stop.clone() }
    }

    /// What stops its calls.
    pub(crate) fn stop_token(&self) -> &StopToken {
        &self.stop
    }

    /// Whom the reflectors of its objects have to get along with.
    pub(crate) fn crowd(&self) -> &Arc<Crowd> {
        &self.connection.crowd
    }

    /// Whether long lists had better be asked for plainly and whole, rather than as streams; asks the server once.
    ///
    /// A plain list takes a server half the time of a stream, in which each object is wrapped and so written twice. But
    /// before 1.33 it was made in memory, all of it, before anything was sent.
    pub(crate) fn plain_if_long(&self) -> bool {
        self.crowd().plain_if_long(|| {
            let mut request = Request::for_path(Method::Get, VERSION);
            request.accept = request::JSON.into();
            let answer = self.connection.probe(&request, &self.stop);
            match answer.and_then(|body| read_json::<ServerVersion>(VERSION, &body)) {
                Ok(version) => Some(version.is_at_least(1, 33)),
                Err(Error::Stopped) => None,
                // Streams will do, and whoever does not answer is not asked again.
                Err(_) => Some(false),
            }
        })
    }

    /// The configuration it was made from.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.connection.config
    }

    /// The namespace that is meant where none is named.
    #[must_use]
    pub fn default_namespace(&self) -> &str {
        &self.connection.config.default_namespace
    }

    /// Reads and writes the objects that `K` stands for.
    pub fn api<K: Resource>(&self) -> Api<K> {
        Api::new(self.clone(), K::api_resource())
    }

    /// Reads and writes the objects of a resource as any type that they fit.
    pub fn api_for<K: Body>(&self, resource: &ApiResource) -> Api<K> {
        Api::new(self.clone(), resource.clone())
    }

    /// Reads and writes the objects of a resource that is known only at run time.
    #[doc(alias = "DynamicClient")]
    pub fn dynamic(&self, resource: &ApiResource) -> Api<DynamicObject> {
        self.api_for(resource)
    }

    /// Reads the metadata of the objects that `K` stands for; the server leaves out the rest.
    #[doc(alias = "MetadataClient")]
    pub fn metadata<K: Resource>(&self) -> Api<PartialObjectMetadata> {
        self.metadata_for(&K::api_resource())
    }

    /// Reads the metadata of the objects of a resource that is known only at run time.
    pub fn metadata_for(&self, resource: &ApiResource) -> Api<PartialObjectMetadata> {
        Api::new(self.clone(), resource.clone()).metadata_only()
    }

    /// What the server serves.
    pub fn discovery(&self) -> Discovery {
        Discovery::new(self.clone())
    }

    /// The version of the server.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or refuses.
    pub fn server_version(&self) -> Result<ServerVersion> {
        self.get_json(VERSION, request::JSON)
    }

    /// Reads any path of the server, such as `/readyz` or `/metrics`.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or refuses, or the path does not start with a slash.
    #[doc(alias = "kubectl get --raw")]
    pub fn get_raw(&self, path: &str) -> Result<Vec<u8>> {
        self.get_path(path, "*/*")
    }

    /// The warnings that the server has sent, each once, oldest first.
    ///
    /// They are logged as they come. API servers warn of deprecated kinds and of fields they drop.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.connection.warnings.all()
    }

    fn get_path(&self, path: &str, accept: &str) -> Result<Vec<u8>> {
        if !path.starts_with('/') || path.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(Error::invalid("path", format!("{path:?} is not a path of a URL")));
        }
        let mut request = Request::for_path(Method::Get, path);
        request.accept = accept.into();
        self.connection.request(&request, &self.stop)
    }

    fn get_json<T: DeserializeOwned>(&self, path: &str, accept: &str) -> Result<T> {
        read_json(path, &self.get_path(path, accept)?)
    }

    fn cluster_name(&self) -> Arc<str> {
        self.connection.config.cluster.as_str().into()
    }
}

/// Reads the JSON that was found at a path.
fn read_json<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T> {
    let read = decode_bytes(body).map_err(|error| Error::decode(path, error))?;
    // serde takes an array for a struct whose fields all have defaults.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Error::decode(path, serde::de::Error::custom("it is not an object")));
    }
    Ok(read)
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.connection.config.server())
            .finish_non_exhaustive()
    }
}

/// Where the server says what it is.
const VERSION: &str = "/version";

/// What the server says about itself.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
#[doc(alias = "Info")]
pub struct ServerVersion {
    /// The major version, as `1`.
    pub major: String,
    /// The minor version, as `36`; some providers add a `+`.
    pub minor: String,
    /// The whole version, as `v1.36.3`.
    pub git_version: String,
    /// Operating system and architecture.
    pub platform: String,
}

impl ServerVersion {
    /// Whether it is this one or a later one; what is not a number counts as none.
    pub(crate) fn is_at_least(&self, major: u32, minor: u32) -> bool {
        let number = |text: &str| {
            let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse().unwrap_or(0)
        };
        (number(&self.major), number(&self.minor)) >= (major, minor)
    }
}

/// What the fuzz targets reach that nothing else outside this module does.
#[cfg(feature = "_fuzz")]
pub(crate) mod fuzzing {
    pub(crate) use super::{
        list::cut_list,
        transport::read_answer,
        watch::{frames_of, parse as parse_frame},
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers_whatever_providers_add() {
        let is_at_least_1_33 = |major: &str, minor: &str| {
            let version = ServerVersion {
                major: major.into(),
                minor: minor.into(),
                ..ServerVersion::default()
            };
            version.is_at_least(1, 33)
        };
        for (major, minor) in [("1", "33"), ("1", "34+"), ("1", "33-eks"), ("1", "100"), ("2", "0")]
        {
            assert!(is_at_least_1_33(major, minor), "{major}.{minor}");
        }
        for (major, minor) in
            [("1", "32"), ("1", "32+"), ("1", "9"), ("", ""), ("x", "33"), ("1", "+33")]
        {
            assert!(!is_at_least_1_33(major, minor), "{major}.{minor}");
        }
    }
}
