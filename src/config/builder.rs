//! Making a configuration by hand, or changing one.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Config, Credentials, Identity, Impersonate, Proxy, Timeouts, Trust, is_pretty_printed_for,
    pem::{self, BadIdentity},
    problems::Problems,
    secret::{Secret, is_header_text},
    url::{ProxyUrl, ServerUrl},
};
use crate::error::{ConfigError, Result};

/// Makes a [`Config`]; from [`Config::builder`] or [`Config::to_builder`].
///
/// What is set is taken as it is: unlike a kubeconfig, a builder lets a token go over plain `http`.
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct ConfigBuilder {
    config: Config,
    problems: Problems,
}

impl ConfigBuilder {
    pub(super) fn new(server: &str) -> Self {
        let mut problems = Problems::default();
        let server = ServerUrl::parse(server).unwrap_or_else(|why| {
            problems.add("server", why);
            // Never seen: there is a problem now.
            ServerUrl { https: true, host: String::new(), port: 443, prefix: String::new() }
        });
        Self { config: Config::new(server), problems }
    }

    /// The namespace that is meant where none is named. Defaults to `default`.
    pub fn default_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.config.default_namespace = namespace.into();
        if self.config.default_namespace.is_empty() {
            self.problems.add("default_namespace", "is empty");
        }
        self
    }

    /// A name for the cluster, which objects carry. Defaults to `host:port` of the server.
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.config.cluster = name.into();
        self
    }

    /// Sends a bearer token, in place of any other `Authorization`.
    pub fn token(mut self, token: impl AsRef<str>) -> Self {
        match token.as_ref().trim() {
            "" => self.problems.add("token", "is empty"),
            token if !is_header_text(token) => {
                self.problems.add("token", "has characters that cannot be in a header");
            }
            token => self.config.credentials = Credentials::Token(Secret::new(token)),
        }
        self
    }

    /// Sends the bearer token that a file holds, read again as it changes, in place of any other
    /// `Authorization`.
    pub fn token_file(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        match Secret::from_file(&path) {
            Ok(token) => {
                self.config.credentials = Credentials::TokenFile { path, initial: Some(token) };
            }
            Err(why) => self.problems.push(ConfigError::new("token_file", why).in_file(&path)),
        }
        self
    }

    /// Sends a user name and a password, in place of any other `Authorization`.
    pub fn basic_auth(mut self, username: impl Into<String>, password: impl Into<String>) -> Self {
        let username = username.into();
        if username.is_empty() || username.contains(':') {
            self.problems.add("basic_auth", "the user name is empty or has a colon in it");
        }
        let password = Secret::new(password.into());
        self.config.credentials = Credentials::Basic { username, password };
        self
    }

    /// Sends no `Authorization`.
    pub fn anonymous(mut self) -> Self {
        self.config.credentials = Credentials::Anonymous;
        self
    }

    /// Shows a client certificate, PEM encoded, in the TLS handshake.
    pub fn client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<String>,
    ) -> Self {
        let (certificate, key) = (certificate.into(), key.into());
        match pem::check_identity(&certificate, key.as_bytes()) {
            Ok(()) => {
                let (certificate, key) = (certificate.into(), Secret::new(key));
                self.config.identity = Some(Identity::Pem { certificate, key });
            }
            Err(BadIdentity::Certificate(why) | BadIdentity::Key(why)) => {
                self.problems.add("client_certificate", why);
            }
        }
        self
    }

    /// Shows the client certificate that two PEM files hold, read again as they change.
    pub fn client_certificate_files(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        const FIELD: &str = "client_certificate_files";
        let (certificate, key) = (certificate.into(), key.into());
        let certificate_pem = self.problems.catch(read(FIELD, &certificate));
        let key_pem = self.problems.catch(read(FIELD, &key));
        if let Some((certificate_pem, key_pem)) = certificate_pem.zip(key_pem) {
            match pem::check_identity(&certificate_pem, &key_pem) {
                Ok(()) => self.config.identity = Some(Identity::Files { certificate, key }),
                Err(BadIdentity::Certificate(why)) => {
                    self.problems.push(ConfigError::new(FIELD, why).in_file(&certificate));
                }
                Err(BadIdentity::Key(why)) => {
                    self.problems.push(ConfigError::new(FIELD, why).in_file(&key));
                }
            }
        }
        self
    }

    /// Trusts these certificate authorities, PEM encoded, and no others. Defaults to the system's.
    pub fn certificate_authority(mut self, pem: impl Into<Vec<u8>>) -> Self {
        let pem: Arc<[u8]> = pem.into().into();
        match pem::check_authorities(&pem) {
            Ok(()) => self.config.trust = Trust::Pem(pem),
            Err(why) => self.problems.add("certificate_authority", why),
        }
        self
    }

    /// Trusts the certificate authorities that a PEM file holds, read again as it changes, and no
    /// others.
    pub fn certificate_authority_file(mut self, path: impl Into<PathBuf>) -> Self {
        const FIELD: &str = "certificate_authority_file";
        let path = path.into();
        let checked = read(FIELD, &path).and_then(|pem| {
            pem::check_authorities(&pem).map_err(|why| ConfigError::new(FIELD, why).in_file(&path))
        });
        match checked {
            Ok(()) => self.config.trust = Trust::File(path),
            Err(error) => self.problems.push(error),
        }
        self
    }

    /// Accepts any certificate: whoever is in between can read and change everything. A warning is
    /// logged.
    pub fn insecure_skip_tls_verify(mut self) -> Self {
        self.config.trust = Trust::Insecure;
        self
    }

    /// Expects this name in the server's certificate. Defaults to the server's host.
    pub fn tls_server_name(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        if let Err(why) = pem::check_server_name(&name) {
            self.problems.add("tls_server_name", why);
        }
        self.config.tls_server_name = Some(name);
        self
    }

    /// Goes through a proxy: `http`, `https`, `socks5` or `socks5h`, with a user if need be.
    /// Defaults to what the environment says.
    ///
    /// The proxy looks up the server's name. The certificate of an `https` proxy may be signed by an
    /// authority of the system or of the cluster.
    pub fn proxy(mut self, url: impl AsRef<str>) -> Self {
        match ProxyUrl::parse(url.as_ref()) {
            Ok(url) => self.config.proxy = Proxy::Url(url),
            Err(why) => self.problems.add("proxy", why),
        }
        self
    }

    /// Goes through no proxy, whatever the environment says.
    pub fn no_proxy(mut self) -> Self {
        self.config.proxy = Proxy::None;
        self
    }

    /// Whether the server may compress its answers. Defaults to yes, unless its address is one of this machine: there it
    /// takes longer to compress a list than to send it. Ask for it where that is the near end of a tunnel.
    pub fn compression(mut self, allowed: bool) -> Self {
        self.config.compression = allowed;
        self
    }

    /// Acts as somebody else.
    pub fn impersonate(mut self, who: Impersonate) -> Self {
        if who.user.is_empty() {
            self.problems.add("impersonate", "the user is empty");
        }
        self.config.impersonate = Some(who);
        self
    }

    /// What goes into the `User-Agent` header. Defaults to the program, the platform and this
    /// library.
    ///
    /// It must not begin with `curl`, `Wget` or `Mozilla`: API servers indent their answers for
    /// those.
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.config.user_agent = user_agent.into();
        let user_agent = &self.config.user_agent;
        if user_agent.is_empty() || !is_header_text(user_agent) {
            self.problems
                .add("user_agent", "is empty, or has characters that cannot be in a header");
        } else if is_pretty_printed_for(user_agent) {
            self.problems.add("user_agent", "must not begin with curl, Wget or Mozilla");
        }
        self
    }

    /// How long each kind of call may take.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        let Timeouts { connect, tls, request, list_page, list_idle, watch_idle, dead_peer } =
            &timeouts;
        let all = [connect, tls, request, list_page, list_idle, watch_idle, dead_peer];
        if all.iter().any(|limit| limit.is_zero()) {
            self.problems.add("timeouts", "none of them may be zero");
        }
        self.config.timeouts = timeouts;
        self
    }

    /// How often a request is sent again after the server asked for that. Defaults to 10.
    pub fn max_retries(mut self, times: u32) -> Self {
        self.config.max_retries = times;
        self
    }

    /// Makes the configuration.
    ///
    /// # Errors
    ///
    /// If any setting cannot be used; all of them are named.
    pub fn build(self) -> Result<Config> {
        let config = self.problems.finish(self.config)?;
        if matches!(config.trust, Trust::Insecure) {
            log::warn!("the certificate of {} is not verified", config.server);
        }
        let anonymous = matches!(config.credentials, Credentials::Anonymous);
        if !config.server.https && !anonymous && !config.server.is_loopback() {
            log::warn!("credentials are sent to {} in the clear", config.server);
        }
        Ok(config)
    }
}

impl From<Config> for ConfigBuilder {
    fn from(config: Config) -> Self {
        Self { config, problems: Problems::default() }
    }
}

fn read(field: &str, path: &Path) -> Result<Vec<u8>, ConfigError> {
    pem::read(path).map_err(|error| ConfigError::unreadable(field, &error).in_file(path))
}
