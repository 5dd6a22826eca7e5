//! Which API server to talk to, and as whom.
//!
//! [`Config::infer`] finds the configuration as kubectl and in-cluster programs do;
//! [`Config::loader`] adds what kubectl's global flags do (`--kubeconfig`, `--context`, `--server`,
//! ...); [`Config::builder`] starts from nothing but an address.
//!
//! Whatever the source, a bad value is an error that names the file and the field, all problems at
//! once, and never shows a credential. Files named by a configuration are checked when it is loaded
//! and read again later, when they change.

mod builder;
mod environment;
#[cfg_attr(not(feature = "kubeconfig"), allow(dead_code))]
mod exec;
mod in_cluster;
#[cfg(feature = "kubeconfig")]
mod kubeconfig;
#[cfg(feature = "kubeconfig")]
mod loader;
#[cfg(feature = "kubeconfig")]
mod material;
#[cfg(feature = "kubeconfig")]
mod merge;
mod pem;
#[cfg(feature = "kubeconfig")]
mod policy;
mod problems;
#[cfg_attr(not(feature = "kubeconfig"), allow(dead_code))]
mod process;
#[cfg(feature = "kubeconfig")]
mod resolve;
#[cfg(test)]
mod scratch;
mod secret;
#[cfg(test)]
mod tests;
mod url;
#[cfg(feature = "kubeconfig")]
mod user;

#[cfg(feature = "kubeconfig")]
use std::path::Path;
use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

pub use self::builder::ConfigBuilder;
use self::environment::Environment;
pub(crate) use self::{
    exec::{ExecCredential, ExecPlugin},
    secret::Secret,
    url::{ProxyScheme, ProxyUrl, ServerUrl},
};
#[cfg(feature = "kubeconfig")]
pub use self::{loader::Loader, policy::PluginPolicy};
use crate::error::Result;

/// Which API server to talk to, and as whom.
///
/// `Debug` shows everything but credentials.
///
/// # Differences from client-go
///
/// - [`infer`](Self::infer) prefers the cluster the program runs in to `~/.kube/config`; client-go
///   reads the home file first.
/// - A key that is there twice in one mapping is an error; kubectl takes the last.
/// - A token for a server spoken to over plain `http` is dropped, as it is by kubectl, but a
///   warning says so.
/// - Certificates and keys are parsed when the configuration is loaded, not at the first request.
///
/// ```no_run
/// use kinformer::config::Config;
///
/// let config = Config::infer()?;
/// println!("{} as seen from namespace {}", config.server(), config.default_namespace());
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "rest.Config")]
#[doc(alias = "ClientConfig")]
pub struct Config {
    pub(crate) server: ServerUrl,
    pub(crate) default_namespace: String,
    /// A name for the cluster: the kubeconfig's, `in-cluster`, or `host:port`.
    pub(crate) cluster: String,
    pub(crate) trust: Trust,
    /// Sent as SNI and looked for in the certificate, in place of the server's host.
    pub(crate) tls_server_name: Option<String>,
    pub(crate) proxy: Proxy,
    /// Whether answers may be compressed.
    pub(crate) compression: bool,
    pub(crate) identity: Option<Identity>,
    pub(crate) credentials: Credentials,
    pub(crate) impersonate: Option<Impersonate>,
    pub(crate) user_agent: String,
    pub(crate) timeouts: Timeouts,
    /// How often a request is sent again after the server asked for it.
    pub(crate) max_retries: u32,
}

impl Config {
    /// Finds the configuration: the files in `KUBECONFIG`, the cluster the program runs in, or
    /// `~/.kube/config`, in this order.
    ///
    /// With `KUBECONFIG` set the home file is never read, and the cluster only if none of its files
    /// exists or all are empty. Without the feature `kubeconfig` this is
    /// [`in_cluster`](Self::in_cluster).
    ///
    /// # Errors
    ///
    /// If there is nothing ([`is_empty`](crate::ConfigError::is_empty)), or what there is cannot be
    /// used.
    #[doc(alias = "BuildConfigFromFlags")]
    pub fn infer() -> Result<Self> {
        #[cfg(feature = "kubeconfig")]
        return Self::loader().load();
        #[cfg(not(feature = "kubeconfig"))]
        return Self::in_cluster();
    }

    /// The service account of the pod that the program runs in.
    ///
    /// The token is read again as the kubelet renews it.
    ///
    /// # Errors
    ///
    /// Outside a cluster ([`is_not_in_cluster`](crate::ConfigError::is_not_in_cluster)), or if the
    /// token cannot be read.
    #[doc(alias = "InClusterConfig")]
    pub fn in_cluster() -> Result<Self> {
        Ok(in_cluster::load(&Environment::of_process())?)
    }

    /// The current context of the files in `KUBECONFIG`, or else of `~/.kube/config`.
    ///
    /// # Errors
    ///
    /// If there is no such file, or what it says cannot be used.
    #[cfg(feature = "kubeconfig")]
    pub fn from_kubeconfig() -> Result<Self> {
        Self::loader().kubeconfig_only().load()
    }

    /// The named context of one file, or its current context.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, the context does not exist, or what they say cannot be used.
    #[cfg(feature = "kubeconfig")]
    pub fn from_kubeconfig_file(path: impl AsRef<Path>, context: Option<&str>) -> Result<Self> {
        let mut loader = Self::loader().path(path.as_ref());
        if let Some(context) = context {
            loader = loader.context(context);
        }
        loader.load()
    }

    /// The named context of a kubeconfig in memory, or its current context.
    ///
    /// Relative paths in it are relative to the working directory.
    ///
    /// # Errors
    ///
    /// If the context does not exist, or what it says cannot be used.
    ///
    /// ```
    /// use kinformer::config::Config;
    ///
    /// let config = Config::from_kubeconfig_str(
    ///     "{clusters: [{name: c, cluster: {server: 'https://example.com'}}],
    ///       contexts: [{name: a, context: {cluster: c, namespace: web}}], current-context: a}",
    ///     None,
    /// )?;
    /// assert_eq!(config.server(), "https://example.com");
    /// assert_eq!(config.default_namespace(), "web");
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[cfg(feature = "kubeconfig")]
    pub fn from_kubeconfig_str(text: &str, context: Option<&str>) -> Result<Self> {
        let mut loader = Self::loader();
        if let Some(context) = context {
            loader = loader.context(context);
        }
        loader.load_str(text)
    }

    /// Finds the configuration with the choices that kubectl's global flags give.
    #[cfg(feature = "kubeconfig")]
    #[doc(alias = "ConfigOverrides")]
    #[doc(alias = "NewNonInteractiveDeferredLoadingClientConfig")]
    pub fn loader() -> Loader {
        Loader::default()
    }

    /// Starts from the address of a server and nothing else.
    ///
    /// An address without a scheme is spoken to over plain `http`, as it is by kubectl, and a token is then
    /// sent in the clear, with a warning in the log: write `https://`.
    ///
    /// ```
    /// use kinformer::config::Config;
    ///
    /// let config = Config::builder("https://10.0.0.1:6443").token("...").build()?;
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    pub fn builder(server: impl AsRef<str>) -> ConfigBuilder {
        ConfigBuilder::new(server.as_ref())
    }

    /// Starts from this configuration, to change some of it.
    pub fn to_builder(&self) -> ConfigBuilder {
        ConfigBuilder::from(self.clone())
    }

    /// The address of the server, as a URL.
    #[must_use]
    pub fn server(&self) -> String {
        self.server.to_string()
    }

    /// A name for the cluster: that of the kubeconfig, `in-cluster`, or `host:port`.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The namespace that is meant where none is named.
    #[must_use]
    pub fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    /// What goes into the `User-Agent` header.
    #[must_use]
    pub fn user_agent(&self) -> &str {
        &self.user_agent
    }

    /// How long each kind of call may take.
    #[must_use]
    pub fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// A configuration for `server` with every default.
    fn new(server: ServerUrl) -> Self {
        Self {
            cluster: url::display_authority(&server.host, Some(server.port)),
            // To compress takes a server longer than it takes the loopback to bring all of it.
            compression: !server.is_loopback(),
            server,
            default_namespace: "default".into(),
            trust: Trust::System,
            tls_server_name: None,
            proxy: Proxy::FromEnvironment,
            identity: None,
            credentials: Credentials::Anonymous,
            impersonate: None,
            user_agent: default_user_agent(),
            timeouts: Timeouts::default(),
            max_retries: 10,
        }
    }
}

/// Whose signature under the server's certificate counts.
#[derive(Clone)]
pub(crate) enum Trust {
    /// The certificate authorities of the system.
    System,
    /// These, and no others.
    Pem(Arc<[u8]>),
    /// Those in this file, and no others.
    File(PathBuf),
    /// Anybody's.
    Insecure,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("System"),
            Self::Pem(pem) => write!(f, "Pem({} bytes)", pem.len()),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Insecure => f.write_str("Insecure"),
        }
    }
}

/// How to get past a firewall.
#[derive(Clone, Debug)]
pub(crate) enum Proxy {
    None,
    /// `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`.
    FromEnvironment,
    Url(ProxyUrl),
}

/// The client's own certificate.
#[derive(Clone)]
pub(crate) enum Identity {
    Pem { certificate: Arc<[u8]>, key: Secret },
    Files { certificate: PathBuf, key: PathBuf },
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem { .. } => f.write_str("Pem([redacted])"),
            Self::Files { certificate, key } => {
                f.debug_struct("Files").field("certificate", certificate).field("key", key).finish()
            }
        }
    }
}

/// What the `Authorization` header is made from.
#[derive(Clone, Debug)]
pub(crate) enum Credentials {
    Anonymous,
    Basic {
        username: String,
        password: Secret,
    },
    Token(Secret),
    /// Read again from time to time; `initial` serves until that has worked once.
    TokenFile {
        path: PathBuf,
        initial: Option<Secret>,
    },
    #[cfg_attr(not(feature = "kubeconfig"), allow(dead_code))]
    Exec(Arc<ExecPlugin>),
}

/// Whom to act as, which the server must allow the real user to do.
///
/// ```
/// use kinformer::config::Impersonate;
///
/// let mut who = Impersonate::user("jane");
/// who.groups.push("developers".into());
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
#[doc(alias = "ImpersonationConfig")]
pub struct Impersonate {
    /// The name of the user.
    pub user: String,
    /// The user's unique id.
    pub uid: Option<String>,
    /// The groups the user is in.
    pub groups: Vec<String>,
    /// Whatever else an authenticator would say about the user.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonate {
    /// Acts as `user`, without groups.
    #[must_use]
    pub fn user(user: impl Into<String>) -> Self {
        Self { user: user.into(), ..Self::default() }
    }
}

/// How long things may take, by kind of call.
///
/// ```
/// use std::time::Duration;
/// use kinformer::config::{Config, Timeouts};
///
/// let mut timeouts = Timeouts::default();
/// timeouts.connect = Duration::from_secs(5);
/// let config = Config::builder("https://10.0.0.1:6443").timeouts(timeouts).build()?;
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Reaching the server: name lookup, TCP, and a proxy's answer. Defaults to 30 seconds.
    pub connect: Duration,
    /// The TLS handshake. Defaults to 10 seconds.
    pub tls: Duration,
    /// A whole call that is neither a list nor a stream. Defaults to 60 seconds.
    pub request: Duration,
    /// One page of a list, or all of one that is not in pages. Defaults to 120 seconds.
    pub list_page: Duration,
    /// How long the server may be silent before it answers a list, and in the middle of one. Defaults to
    /// 30 seconds.
    pub list_idle: Duration,
    /// How long the body of a watch may be silent. Defaults to 90 seconds, since a healthy watch says
    /// something about once a minute. Informers have their own, shorter limit.
    pub watch_idle: Duration,
    /// How long a peer may leave packets unanswered. Defaults to 30 seconds.
    #[doc(alias = "TCP_USER_TIMEOUT")]
    pub dead_peer: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            tls: Duration::from_secs(10),
            request: Duration::from_secs(60),
            list_page: Duration::from_secs(120),
            list_idle: Duration::from_secs(30),
            watch_idle: Duration::from_secs(90),
            dead_peer: Duration::from_secs(30),
        }
    }
}

/// `PROGRAM (OS/ARCH) kinformer/VERSION`.
fn default_user_agent() -> String {
    let program = std::env::args_os()
        .next()
        .map(PathBuf::from)
        .and_then(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .unwrap_or_default();
    user_agent_of(&program)
}

fn user_agent_of(program: &str) -> String {
    let library = concat!("kinformer/", env!("CARGO_PKG_VERSION"));
    let platform = format!("({}/{})", std::env::consts::OS, std::env::consts::ARCH);
    let program: String = program
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' })
        .collect();
    if program.is_empty() || is_pretty_printed_for(&program) {
        return format!("{library} {platform} {program}").trim_end().to_owned();
    }
    format!("{program} {platform} {library}")
}

/// API servers indent their answers for these, which costs both sides.
fn is_pretty_printed_for(user_agent: &str) -> bool {
    ["curl", "Wget", "Mozilla"].iter().any(|prefix| user_agent.starts_with(prefix))
}

/// What the fuzz targets reach that nothing else outside this module does.
#[cfg(all(feature = "_fuzz", feature = "kubeconfig"))]
pub(crate) mod fuzzing {
    pub(crate) use super::loader::load_text as load;
}
