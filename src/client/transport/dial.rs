//! From a configuration to a connected stream: look up, connect, proxy, TLS.

use std::{sync::Arc, time::Instant};

use rustls::{ClientConfig, pki_types::ServerName};

use super::{
    bounds::Bounds,
    proxy, resolve,
    socket::Socket,
    stream::Stream,
    tls::{self, ClientCertificate},
};
use crate::{
    config::{Config, ProxyScheme, ProxyUrl, Timeouts},
    error::{ConfigError, Result},
};

/// Knows the way to one server.
#[derive(Debug)]
pub(super) struct Dialer {
    host: String,
    port: u16,
    proxy: Option<(ProxyUrl, Option<Tls>)>,
    tls: Option<Tls>,
    timeouts: Timeouts,
}

#[derive(Debug)]
struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Dialer {
    pub(super) fn new(config: &Config, identity: Option<&ClientCertificate>) -> Result<Self> {
        let server = &config.server;
        let tls = match server.https {
            false => None,
            true => {
                let name = config.tls_server_name.as_deref().unwrap_or(&server.host);
                Some(Tls {
                    config: Arc::new(tls::client_config(&config.trust, identity)?),
                    name: server_name(name, "tls-server-name")?,
                })
            }
        };
        let proxy = match proxy::choose(&config.proxy, server)? {
            None => None,
            Some(url) if url.scheme == ProxyScheme::Https => {
                let name = server_name(&url.host, "proxy-url")?;
                let config = Arc::new(tls::proxy_config(&config.trust)?);
                Some((url, Some(Tls { config, name })))
            }
            Some(url) => Some((url, None)),
        };
        let (host, port) = (server.host.clone(), server.port);
        Ok(Self { host, port, proxy, tls, timeouts: config.timeouts.clone() })
    }

    /// Blocks until the server can be spoken to.
    pub(super) fn dial(&self, bounds: &Bounds) -> Result<Stream> {
        let connecting = bounds.phase(self.timeouts.connect, Instant::now());
        let mut stream = match &self.proxy {
            None => self.connect(&self.host, self.port, &connecting)?,
            Some((proxy, tls)) => {
                let reach = || {
                    let stream = self.connect(&proxy.host, proxy.port, &connecting)?;
                    match tls {
                        Some(tls) => self.shake_hands(stream, tls, bounds),
                        None => Ok(stream),
                    }
                };
                let mut stream = reach().map_err(|error| proxy::unreachable(proxy, error))?;
                proxy::tunnel(&mut stream, proxy, &self.host, self.port, &connecting)?;
                stream
            }
        };
        if let Some(tls) = &self.tls {
            stream = self.shake_hands(stream, tls, bounds)?;
        }
        Ok(stream)
    }

    fn connect(&self, host: &str, port: u16, bounds: &Bounds) -> Result<Stream> {
        let addresses = resolve::resolve(host, port, bounds)?;
        Socket::connect(&addresses, self.timeouts.dead_peer, bounds).map(Stream::Plain)
    }

    fn shake_hands(&self, stream: Stream, tls: &Tls, bounds: &Bounds) -> Result<Stream> {
        let bounds = bounds.phase(self.timeouts.tls, Instant::now());
        stream.into_tls(tls.config.clone(), tls.name.clone(), &bounds)
    }
}

fn server_name(name: &str, field: &str) -> Result<ServerName<'static>> {
    ServerName::try_from(name.to_owned()).map_err(|_| {
        ConfigError::new(field, format!("{name:?} is neither a host name nor an address")).into()
    })
}
