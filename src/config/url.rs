//! Addresses: of the API server, and of a proxy.

use std::{fmt, net::Ipv6Addr};

use super::secret::Secret;

/// Where an API server is: `https://HOST:PORT/PREFIX`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ServerUrl {
    pub(crate) https: bool,
    /// A name or an address, an IPv6 address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What stands before `/api`: empty, or begins with a slash and does not end with one.
    pub(crate) prefix: String,
}

/// Where a proxy is, and who we are to it.
#[derive(Clone, Eq, PartialEq)]
pub(crate) struct ProxyUrl {
    pub(crate) scheme: ProxyScheme,
    /// A name or an address, an IPv6 address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Secret>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ProxyScheme {
    Http,
    Https,
    Socks5,
    /// The proxy looks up the name.
    Socks5h,
}

impl ServerUrl {
    /// Reads a URL, or a bare `HOST` or `HOST:PORT`, which is plain HTTP as it is for kubectl.
    ///
    /// The error never repeats the text: it may hold a password.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let Some((scheme, rest)) = text.split_once("://") else {
            let parts = Authority::parse(text)?;
            return Self::new(false, parts);
        };
        let https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err("the scheme must be http or https".into()),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let mut url = Self::new(https, Authority::parse(authority)?)?;
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        if let Some(bad) =
            path.chars().find(|c| !c.is_ascii_graphic() || "\"<>\\^`{|}".contains(*c))
        {
            return Err(format!("the path has a character that needs escaping: {bad:?}"));
        }
        url.prefix = path.to_owned();
        Ok(url)
    }

    /// What the `Host` header says: without the port if it is the scheme's own.
    pub(crate) fn authority(&self) -> String {
        let port = Some(self.port).filter(|port| *port != default_port(self.https));
        display_authority(&self.host, port)
    }

    /// Whether it is on this machine, where nobody listens in.
    pub(crate) fn is_loopback(&self) -> bool {
        let address = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    fn new(https: bool, parts: Authority<'_>) -> Result<Self, String> {
        if parts.userinfo.is_some() {
            return Err("a user name in a server's address is not supported".into());
        }
        let port = parts.port.unwrap_or_else(|| default_port(https));
        Ok(Self { https, host: parts.host.to_owned(), port, prefix: String::new() })
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

/// Without the user's name, which some proxies take for a key.
impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.scheme, display_authority(&self.host, Some(self.port)))
    }
}

impl ProxyUrl {
    /// Reads a URL with scheme `http`, `https`, `socks5` or `socks5h`; the error never repeats it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const SCHEMES: &str = "the scheme must be http, https, socks5 or socks5h";
        let (scheme, rest) = text.trim().split_once("://").ok_or(SCHEMES)?;
        let (scheme, port) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (ProxyScheme::Http, 80),
            "https" => (ProxyScheme::Https, 443),
            "socks5" => (ProxyScheme::Socks5, 1080),
            "socks5h" => (ProxyScheme::Socks5h, 1080),
            _ => return Err(SCHEMES.into()),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let parts = Authority::parse(authority)?;
        let (username, password) = match parts.userinfo.map(|info| info.split_once(':').ok_or(info))
        {
            None => (None, None),
            Some(Err(name)) => (Some(percent_decode(name)?), None),
            Some(Ok((name, password))) => {
                (Some(percent_decode(name)?), Some(Secret::new(percent_decode(password)?)))
            }
        };
        let port = parts.port.unwrap_or(port);
        Ok(Self { scheme, host: parts.host.to_owned(), port, username, password })
    }
}

/// `host:port`, with brackets around an IPv6 address.
pub(crate) fn display_authority(host: &str, port: Option<u16>) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    match port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    }
}

struct Authority<'a> {
    userinfo: Option<&'a str>,
    host: &'a str,
    port: Option<u16>,
}

impl<'a> Authority<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let (userinfo, text) = match text.rsplit_once('@') {
            Some((userinfo, rest)) => (Some(userinfo), rest),
            None => (None, text),
        };
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or("the IPv6 address has no closing ]")?;
            if host.parse::<Ipv6Addr>().is_err() {
                return Err("what stands in [] is not an IPv6 address".into());
            }
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return Err("only a port may follow the IPv6 address".into()),
            }
        } else {
            match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        if host.is_empty() {
            return Err("the host is missing".into());
        }
        if !host.contains(':')
            && !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        {
            return Err("the host is neither a name nor an address (IPv6 goes in [])".into());
        }
        let port = match port {
            None | Some("") => None,
            // `parse` would take a sign.
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(
                port.parse().ok().filter(|port| *port != 0).ok_or("the port is out of range")?,
            ),
            Some(_) => return Err("the port is not a number".into()),
        };
        Ok(Self { userinfo, host, port })
    }
}

fn default_port(https: bool) -> u16 {
    if https { 443 } else { 80 }
}

fn percent_decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit(), digit());
                high.zip(low)
                    .and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
                    .ok_or("a % in the user name or password is not followed by two hex digits")?
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).map_err(|_| "the user name or password is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_url_keeps_scheme_host_port_and_prefix() {
        for (text, printed, authority) in [
            ("https://example.com", "https://example.com", "example.com"),
            ("HTTPS://example.com:443/", "https://example.com", "example.com"),
            ("https://example.com:6443", "https://example.com:6443", "example.com:6443"),
            ("http://10.0.0.1:80/k8s/c-1//", "http://10.0.0.1/k8s/c-1", "10.0.0.1"),
            ("https://[fd00::1]:6443/p%20q", "https://[fd00::1]:6443/p%20q", "[fd00::1]:6443"),
            ("https://[::1]", "https://[::1]", "[::1]"),
            ("https://h/p?q=1#f", "https://h/p", "h"),
            ("https://h?q=1", "https://h", "h"),
            ("localhost:8080", "http://localhost:8080", "localhost:8080"),
            ("my_host", "http://my_host", "my_host"),
            (" https://h:/ ", "https://h", "h"),
        ] {
            let url = ServerUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(url.to_string(), printed, "{text}");
            assert_eq!(url.authority(), authority, "{text}");
            assert!(!url.host.contains('['), "{text}");
        }
    }

    #[test]
    fn a_bad_server_url_is_an_error_that_says_why_without_repeating_it() {
        for (text, why) in [
            ("", "host is missing"),
            ("https://", "host is missing"),
            ("https://:6443", "host is missing"),
            ("ftp://h", "scheme"),
            ("https://u:sesame@h", "user name"),
            ("https://h:port", "not a number"),
            ("https://h:+1", "not a number"),
            ("https://h:0", "out of range"),
            ("https://h:65536", "out of range"),
            ("https://fd00::1", "not a number"),
            ("https://[fd00::zz]", "not an IPv6 address"),
            ("https://[fd00::1", "no closing ]"),
            ("https://[fd00::1]x", "only a port"),
            ("https://a b", "neither a name nor an address"),
            ("https://h/a b", "needs escaping"),
            ("https://h/\u{e9}", "needs escaping"),
            ("h/api", "neither a name nor an address"),
        ] {
            let error = ServerUrl::parse(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
            assert!(!error.contains("sesame"));
        }
    }

    #[test]
    fn a_proxy_url_has_a_known_scheme_and_its_own_default_port() {
        for (text, scheme, port) in [
            ("http://p", ProxyScheme::Http, 80),
            ("https://p", ProxyScheme::Https, 443),
            ("socks5://p", ProxyScheme::Socks5, 1080),
            ("socks5h://p:9050/", ProxyScheme::Socks5h, 9050),
        ] {
            let url = ProxyUrl::parse(text).unwrap();
            assert_eq!((url.scheme, url.host.as_str(), url.port), (scheme, "p", port), "{text}");
        }
        for text in ["p:3128", "p", "ftp://p", "http://", "http://p:x", "http://%zz@p"] {
            assert!(ProxyUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_proxy_url_may_name_a_user_whose_password_debug_hides() {
        let url = ProxyUrl::parse("http://me%40x:s%3Asame@[::1]:3128").unwrap();
        assert_eq!(url.username.as_deref(), Some("me@x"));
        assert_eq!(url.password.as_ref().map(Secret::expose), Some("s:same"));
        assert_eq!(url.host, "::1");
        assert!(!format!("{url:?}").contains("same"));
        assert_eq!(ProxyUrl::parse("http://me@p").unwrap().password, None);
    }
}
