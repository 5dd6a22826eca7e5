//! Asking a proxy for a way to the server: HTTP `CONNECT` and SOCKS 5.

use std::{io, net::IpAddr};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{bounds::Bounds, head::Head, stream::Stream};
use crate::{
    config::{Proxy, ProxyScheme, ProxyUrl, ServerUrl},
    error::{Error, Phase, Result, TransportError},
};

/// The proxy to use for `server`, if any.
pub(super) fn choose(proxy: &Proxy, server: &ServerUrl) -> Result<Option<ProxyUrl>> {
    match proxy {
        Proxy::None => Ok(None),
        Proxy::Url(url) => Ok(Some(url.clone())),
        Proxy::FromEnvironment => from_environment(server, |name| std::env::var(name).ok()),
    }
}

/// `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, unless `NO_PROXY` names the host; lower-case
/// names count too.
fn from_environment(
    server: &ServerUrl,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<ProxyUrl>> {
    let either = |name: &str| {
        let value = variable(name).or_else(|| variable(&name.to_ascii_lowercase()));
        value.filter(|value| !value.is_empty())
    };
    let name = if server.https { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let Some(url) = either(name) else { return Ok(None) };
    if either("NO_PROXY").is_some_and(|list| is_exempt(&server.host, server.port, &list)) {
        return Ok(None);
    }
    // Go, curl and others take `host:port` for `http://host:port` here.
    let url = if url.contains("://") { url } else { format!("http://{url}") };
    ProxyUrl::parse(&url).map(Some).map_err(|_| {
        // The value may hold a password.
        Error::invalid("proxy", format!("{name} in the environment is not a proxy URL"))
    })
}

/// Loopback is always exempt, as in Go; `list` has names, `.suffixes`, addresses and networks.
fn is_exempt(host: &str, port: u16, list: &str) -> bool {
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let host = host.to_ascii_lowercase();
    list.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        if entry == "*" {
            return true;
        }
        if let Some((network, bits)) = entry.split_once('/') {
            return match (address, network.parse(), bits.parse()) {
                (Some(address), Ok(network), Ok(bits)) => in_network(address, network, bits),
                _ => false,
            };
        }
        let (name, only_port) = match entry.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') => (name, port.parse::<u16>().ok()),
            _ => (entry, None),
        };
        if only_port.is_some_and(|only| only != port) {
            return false;
        }
        // Only what is below it, as in Go.
        let name = if name.starts_with("*.") { &name[1..] } else { name }.to_ascii_lowercase();
        let suffix = name.trim_start_matches('.');
        (host == suffix && !name.starts_with('.'))
            || host.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.'))
    })
}

fn in_network(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            a.to_bits() & mask == n.to_bits() & mask
        }
        (IpAddr::V6(a), IpAddr::V6(n)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            a.to_bits() & mask == n.to_bits() & mask
        }
        _ => false,
    }
}

/// Makes `stream`, which leads to the proxy, lead to `host`. Names are looked up by the proxy.
pub(super) fn tunnel(
    stream: &mut Stream,
    proxy: &ProxyUrl,
    host: &str,
    port: u16,
    bounds: &Bounds,
) -> Result<()> {
    let result = match proxy.scheme {
        ProxyScheme::Http | ProxyScheme::Https => connect(stream, proxy, host, port, bounds),
        ProxyScheme::Socks5 | ProxyScheme::Socks5h => socks5(stream, proxy, host, port, bounds),
    };
    result.map_err(|error| {
        if bounds.stop.is_stopped() {
            return Error::Stopped;
        }
        let text = format!("{}: {error}", authority(&proxy.host, proxy.port));
        TransportError::io(Phase::Proxy, text, error.kind()).into()
    })
}

/// Says that it was the proxy that could not be spoken to, and not the server behind it.
pub(super) fn unreachable(proxy: &ProxyUrl, error: Error) -> Error {
    let Error::Transport(error) = error else { return error };
    let text = format!("{}: {error}", authority(&proxy.host, proxy.port));
    TransportError::new(Phase::Proxy, text).like(&error).into()
}

fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn connect(
    stream: &mut Stream,
    proxy: &ProxyUrl,
    host: &str,
    port: u16,
    bounds: &Bounds,
) -> io::Result<()> {
    let server = authority(host, port);
    let mut request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n");
    if let Some(username) = &proxy.username {
        let password = proxy.password.as_ref().map_or("", |password| password.expose());
        let pair = format!("{username}:{password}");
        request += &format!("Proxy-Authorization: Basic {}\r\n", BASE64_STANDARD.encode(pair));
    }
    stream.write_all((request + "\r\n").as_bytes(), bounds)?;

    // Byte by byte: what follows the head belongs to the server behind the proxy.
    let mut bytes = Vec::new();
    loop {
        let mut byte = [0];
        read_exact(stream, &mut byte, bounds)?;
        bytes.extend(byte);
        let Some((head, _)) = Head::read(&bytes, bytes.len() - 1)? else { continue };
        match head.status {
            _ if head.is_interim() => bytes.clear(),
            200..300 => return Ok(()),
            _ => {
                let line = String::from_utf8_lossy(&bytes);
                let line = line.lines().next().unwrap_or_default();
                return Err(refused(&format!("the proxy answered {line:?}")));
            }
        }
    }
}

/// RFC 1928, with RFC 1929 for a user name and password.
fn socks5(
    stream: &mut Stream,
    proxy: &ProxyUrl,
    host: &str,
    port: u16,
    bounds: &Bounds,
) -> io::Result<()> {
    const NO_AUTH: u8 = 0;
    const PASSWORD: u8 = 2;
    let methods: &[u8] = if proxy.username.is_some() { &[NO_AUTH, PASSWORD] } else { &[NO_AUTH] };
    stream.write_all(&[&[5, methods.len() as u8], methods].concat(), bounds)?;
    let mut choice = [0; 2];
    read_exact(stream, &mut choice, bounds)?;
    match (choice, &proxy.username) {
        ([5, NO_AUTH], _) => {}
        ([5, PASSWORD], Some(username)) => {
            let password = proxy.password.as_ref().map_or("", |password| password.expose());
            let mut request = vec![1];
            for field in [username.as_bytes(), password.as_bytes()] {
                request.push(length(field)?);
                request.extend(field);
            }
            stream.write_all(&request, bounds)?;
            let mut answer = [0; 2];
            read_exact(stream, &mut answer, bounds)?;
            if answer[1] != 0 {
                return Err(refused("the proxy refused the user name or password"));
            }
        }
        _ => return Err(refused("the proxy offers no way to authenticate that is known here")),
    }

    let mut request = vec![5, 1, 0];
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            request.push(1);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(4);
            request.extend(address.octets());
        }
        Err(_) => {
            request.push(3);
            request.push(length(host.as_bytes())?);
            request.extend(host.as_bytes());
        }
    }
    request.extend(port.to_be_bytes());
    stream.write_all(&request, bounds)?;
    let mut answer = [0; 4];
    read_exact(stream, &mut answer, bounds)?;
    if answer[1] != 0 {
        return Err(refused(&format!("the proxy cannot connect: {}", socks5_reply(answer[1]))));
    }
    let rest = match answer[3] {
        1 => 4,
        4 => 16,
        _ => {
            let mut length = [0];
            read_exact(stream, &mut length, bounds)?;
            usize::from(length[0])
        }
    };
    read_exact(stream, &mut vec![0; rest + 2], bounds)
}

fn socks5_reply(code: u8) -> &'static str {
    match code {
        2 => "not allowed",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "timed out",
        7 => "command not supported",
        8 => "address type not supported",
        _ => "general failure",
    }
}

fn length(field: &[u8]) -> io::Result<u8> {
    u8::try_from(field.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "longer than 255 bytes"))
}

fn read_exact(stream: &mut Stream, mut buf: &mut [u8], bounds: &Bounds) -> io::Result<()> {
    while !buf.is_empty() {
        match stream.read(buf, bounds)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => buf = &mut buf[read..],
        }
    }
    Ok(())
}

fn refused(text: &str) -> io::Error {
    io::Error::other(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(server: &str, environment: &[(&str, &str)]) -> Option<String> {
        let server = ServerUrl::parse(server).unwrap();
        let variable = |name: &str| {
            environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        from_environment(&server, variable).unwrap().map(|url| url.host)
    }

    #[test]
    fn the_scheme_of_the_server_selects_the_variable() {
        let both = [("HTTPS_PROXY", "http://s:1"), ("http_proxy", "plain:2")];
        assert_eq!(chosen("https://k8s.example:6443", &both).as_deref(), Some("s"));
        assert_eq!(chosen("http://k8s.example", &both).as_deref(), Some("plain"));
        assert_eq!(chosen("https://k8s.example", &both[1..]), None);
    }

    #[test]
    fn no_proxy_exempts_names_suffixes_addresses_and_networks() {
        let exempt = |host, list| is_exempt(host, 6443, list);
        assert!(exempt("localhost", "") && exempt("127.0.0.1", "") && exempt("::1", ""));
        assert!(exempt("a.example", "*"));
        assert!(exempt("example", "example") && exempt("a.example", "example"));
        assert!(exempt("a.example", " x , .example") && !exempt("example", ".example"));
        assert!(exempt("A.Example", "*.example") && !exempt("example", "*.example"));
        assert!(!exempt("badexample", "example"));
        assert!(exempt("10.1.2.3", "10.0.0.0/8") && !exempt("11.1.2.3", "10.0.0.0/8"));
        assert!(exempt("10.1.2.3", "10.1.2.3") && exempt("fd00::1", "fd00::/8"));
        assert!(exempt("10.1.2.3", "0.0.0.0/0") && !exempt("10.1.2.3", "10.0.0.0/99"));
        assert!(exempt("a.example", "a.example:6443") && !exempt("a.example", "a.example:443"));
    }
}
