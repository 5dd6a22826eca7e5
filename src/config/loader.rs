//! Finding a configuration, with the choices that kubectl's global flags give.

use std::path::{Path, PathBuf};

use super::{
    Config, Credentials, Impersonate, Trust,
    environment::Environment,
    in_cluster,
    kubeconfig::{Cluster, Kubeconfig, Located, User},
    merge, pem,
    policy::PluginPolicy,
    resolve::resolve,
    secret::Secret,
    url::ServerUrl,
};
use crate::error::{ConfigError, ConfigErrorKind, Result};

/// Finds a [`Config`], with what kubectl's global flags choose; from [`Config::loader`].
///
/// The sources, in order: the file given with [`path`](Self::path) and nothing else; the files in
/// `KUBECONFIG`; the cluster the program runs in; `~/.kube/config`. Several files in `KUBECONFIG`
/// are merged: the first that names a cluster, a user or a context defines it, and the first with a
/// `current-context` chooses. Naming a context, cluster or user skips the cluster the program runs
/// in.
///
/// What is set here takes precedence over what is found. Settings that belong together go together:
/// another server does away with the `tls-server-name` of the file, any setting about certificate
/// authorities does away with all of the file's, and so on.
///
/// A file is YAML or JSON, UTF-8 or UTF-16, of at most 3 MiB; the files it names are at most 16 MiB
/// each.
///
/// ```no_run
/// use kinformer::config::Config;
///
/// let config = Config::loader().context("staging").namespace("web").load()?;
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "a loader does nothing until `load`"]
#[doc(alias = "ClientConfigLoadingRules")]
#[doc(alias = "ConfigOverrides")]
#[doc(alias = "DeferredLoadingClientConfig")]
pub struct Loader {
    path: Option<PathBuf>,
    kubeconfig_only: bool,
    overrides: Overrides,
}

/// What takes precedence over files.
#[derive(Clone, Default)]
pub(super) struct Overrides {
    pub(super) context: Option<String>,
    pub(super) cluster_name: Option<String>,
    pub(super) user_name: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) cluster: Cluster,
    pub(super) user: User,
    pub(super) plugins: PluginPolicy,
}

impl Loader {
    /// Reads this file and no other; it must exist (`--kubeconfig`).
    pub fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Chooses a context; it must exist (`--context`). Defaults to the `current-context`.
    pub fn context(mut self, name: impl Into<String>) -> Self {
        self.overrides.context = given(name);
        self
    }

    /// Chooses a cluster; it must exist (`--cluster`). Defaults to the context's.
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.overrides.cluster_name = given(name);
        self
    }

    /// Chooses a user; it must exist (`--user`). Defaults to the context's.
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.overrides.user_name = given(name);
        self
    }

    /// The namespace that is meant where none is named (`--namespace`). Defaults to the context's.
    pub fn namespace(mut self, name: impl Into<String>) -> Self {
        self.overrides.namespace = given(name);
        self
    }

    /// Talks to this server (`--server`).
    pub fn server(mut self, url: impl Into<String>) -> Self {
        self.overrides.cluster.server = given(url).map(Located::given);
        self
    }

    /// Expects this name in the server's certificate (`--tls-server-name`).
    pub fn tls_server_name(mut self, name: impl Into<String>) -> Self {
        self.overrides.cluster.tls_server_name = given(name).map(Located::given);
        self
    }

    /// Trusts the authorities in this PEM file (`--certificate-authority`).
    pub fn certificate_authority_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.overrides.cluster.certificate_authority = Some(Located::given(path.into()));
        self
    }

    /// Accepts any certificate (`--insecure-skip-tls-verify`).
    pub fn insecure_skip_tls_verify(mut self) -> Self {
        self.overrides.cluster.insecure_skip_tls_verify = Some(Located::given(true));
        self
    }

    /// Goes through this proxy (`proxy-url`).
    pub fn proxy_url(mut self, url: impl Into<String>) -> Self {
        self.overrides.cluster.proxy_url = given(url).map(Located::given);
        self
    }

    /// Asks for answers that are not compressed (`--disable-compression`).
    pub fn disable_compression(mut self, disable: bool) -> Self {
        self.overrides.cluster.disable_compression = Some(Located::given(disable));
        self
    }

    /// Sends this bearer token (`--token`).
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.overrides.user.token = given(token).map(Located::given);
        self
    }

    /// Sends the bearer token that this file holds.
    pub fn token_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.overrides.user.token_file = Some(Located::given(path.into()));
        self
    }

    /// Sends a user name and a password (`--username`, `--password`).
    pub fn basic_auth(mut self, username: impl Into<String>, password: impl Into<String>) -> Self {
        self.overrides.user.username = given(username).map(Located::given);
        self.overrides.user.password = given(password).map(Located::given);
        self
    }

    /// Shows the client certificate in these PEM files (`--client-certificate`, `--client-key`).
    pub fn client_certificate_files(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.overrides.user.client_certificate = Some(Located::given(certificate.into()));
        self.overrides.user.client_key = Some(Located::given(key.into()));
        self
    }

    /// Acts as somebody else (`--as`, `--as-uid`, `--as-group`, `--as-user-extra`).
    pub fn impersonate(mut self, who: Impersonate) -> Self {
        let user = &mut self.overrides.user;
        user.act_as = given(who.user).map(Located::given);
        user.act_as_uid = who.uid.map(Located::given);
        user.act_as_groups = (!who.groups.is_empty()).then(|| Located::given(who.groups));
        user.act_as_extra = (!who.extra.is_empty()).then(|| Located::given(who.extra));
        self
    }

    /// Which credential plugins may be run. Defaults to any.
    pub fn plugins(mut self, policy: PluginPolicy) -> Self {
        self.overrides.plugins = policy;
        self
    }

    /// Loads the configuration.
    ///
    /// # Errors
    ///
    /// If there is nothing ([`is_empty`](crate::ConfigError::is_empty)), or what there is cannot be
    /// used; all problems are named at once.
    #[doc(alias = "ClientConfig")]
    pub fn load(&self) -> Result<Config> {
        Ok(self.load_from(&Environment::of_process())?)
    }

    /// Loads from a kubeconfig in memory and nothing else.
    ///
    /// Relative paths in it are relative to the working directory.
    ///
    /// # Errors
    ///
    /// If what it says cannot be used; all problems are named at once.
    pub fn load_str(&self, text: &str) -> Result<Config> {
        Ok(resolve(&Kubeconfig::parse(text, None)?, &self.overrides, None)?)
    }

    pub(super) fn kubeconfig_only(mut self) -> Self {
        self.kubeconfig_only = true;
        self
    }

    pub(super) fn load_from(&self, environment: &Environment) -> Result<Config, ConfigError> {
        let in_cluster = environment.is_in_cluster();
        if let Some(path) = &self.path {
            let kubeconfig = merge::read_existing(path)?;
            return self.resolve(&kubeconfig, environment).map_err(|error| in_source(error, path));
        }
        if let Some(list_of_files) = &environment.kubeconfig {
            let files = environment.kubeconfig_files();
            let kubeconfig = merge::read_all(files.iter().map(PathBuf::as_path))?;
            if !files.iter().any(|file| file.exists()) {
                log::warn!("KUBECONFIG: {}", nothing_in(&files));
            }
            return match self.resolve(&kubeconfig, environment) {
                Err(error) if error.is_empty() && in_cluster && !self.kubeconfig_only => {
                    self.load_in_cluster(environment)
                }
                Err(error) if error.is_empty() && kubeconfig.is_empty() => {
                    Err(ConfigError::new("KUBECONFIG", nothing_in(&files))
                        .with_kind(ConfigErrorKind::Empty))
                }
                // What is wrong with the files taken together is said of all of them.
                other => other.map_err(|error| in_source(error, Path::new(list_of_files))),
            };
        }
        if in_cluster && !self.kubeconfig_only && !self.names_an_entry() {
            return self.load_in_cluster(environment);
        }
        self.load_home(environment)
    }

    fn load_home(&self, environment: &Environment) -> Result<Config, ConfigError> {
        let path = environment.home_kubeconfig();
        let found = path.as_deref().map(merge::read).transpose()?.flatten();
        let nothing = Kubeconfig::default();
        match self.resolve(found.as_ref().unwrap_or(&nothing), environment) {
            Err(error) if error.is_empty() && found.is_none() => {
                let home = path.unwrap_or_else(|| "~/.kube/config".into());
                let message = format!(
                    "no configuration: KUBECONFIG is not set, {}{} does not exist",
                    if self.kubeconfig_only { "" } else { "this is not a pod of a cluster, " },
                    home.display(),
                );
                Err(ConfigError::new("", message).with_kind(ConfigErrorKind::Empty))
            }
            Err(error) => Err(match &path {
                Some(path) => in_source(error, path),
                None => error,
            }),
            Ok(config) => Ok(config),
        }
    }

    fn resolve(
        &self,
        kubeconfig: &Kubeconfig,
        environment: &Environment,
    ) -> Result<Config, ConfigError> {
        let namespace = environment.is_in_cluster().then(|| in_cluster::namespace(environment));
        resolve(kubeconfig, &self.overrides, namespace)
    }

    fn names_an_entry(&self) -> bool {
        let Overrides { context, cluster_name, user_name, .. } = &self.overrides;
        context.is_some() || cluster_name.is_some() || user_name.is_some()
    }

    /// The pod's own configuration, with what can be overridden in it: server, token, authorities,
    /// namespace.
    fn load_in_cluster(&self, environment: &Environment) -> Result<Config, ConfigError> {
        let mut config = in_cluster::load(environment)?;
        let Overrides { cluster, user, namespace, .. } = &self.overrides;
        if let Some(server) = &cluster.server {
            config.server = ServerUrl::parse(&server.value)
                .map_err(|why| server.problem_in("", "server", why))?;
        }
        if let Some(authority) = &cluster.certificate_authority {
            let checked = pem::read(&authority.value)
                .map_err(|error| format!("cannot be read: {error}"))
                .and_then(|pem| pem::check_authorities(&pem));
            checked.map_err(|why| {
                authority.problem_in("", "certificate-authority", why).in_file(&authority.value)
            })?;
            config.trust = Trust::File(authority.value.clone());
        }
        let inline = user.token.as_ref().map(|token| Secret::new(token.value.as_str()));
        match (&user.token_file, inline) {
            (Some(file), initial) => {
                config.credentials = Credentials::TokenFile { path: file.value.clone(), initial };
            }
            (None, Some(token)) => config.credentials = Credentials::Token(token),
            (None, None) => {}
        }
        if let Some(namespace) = namespace {
            config.default_namespace.clone_from(namespace);
        }
        Ok(config)
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader")
            .field("path", &self.path)
            .field("context", &self.overrides.context)
            .field("cluster", &self.overrides.cluster_name)
            .field("user", &self.overrides.user_name)
            .field("namespace", &self.overrides.namespace)
            .finish_non_exhaustive()
    }
}

/// Names the source in an error about what is not there. Others name the file of the bad value, or
/// are about a value from the program.
fn in_source(error: ConfigError, source: &Path) -> ConfigError {
    if error.is_empty() || error.is_context_not_found() { error.in_file(source) } else { error }
}

/// An empty flag is no flag.
fn given(value: impl Into<String>) -> Option<String> {
    Some(value.into()).filter(|value| !value.is_empty())
}

/// Why these files configure nothing.
fn nothing_in(files: &[PathBuf]) -> String {
    let why = |file: &PathBuf| match file.exists() {
        true => format!("there is nothing in {}", file.display()),
        false => format!("{} does not exist", file.display()),
    };
    files.iter().map(why).collect::<Vec<_>>().join(", ")
}
