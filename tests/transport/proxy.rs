//! Proxies: HTTP and HTTPS `CONNECT`, and SOCKS 5.

use std::{net::TcpStream, sync::Arc};

use kinformer::{
    Client, Error, Phase,
    config::{Config, ConfigBuilder},
};
use rustls::{ServerConnection, StreamOwned};

use crate::{
    proxies::{Asked, accept_connect, http_proxy, relay, socks_proxy},
    support::{Authority, Connection, Server, client, reserved::Reserved, spawn},
};

/// A server with a certificate for everything that the tests call it.
fn target() -> (Server, Authority) {
    let authority = Authority::new("the cluster's");
    let leaf = authority.issue(&["kube.example", "10.9.8.7", "fd00::7", "127.0.0.1"]);
    let config = Authority::server_config(&leaf);
    (Server::with_config(config, Connection::serve), authority)
}

fn through(proxy: String, server: &str, authority: &Authority) -> ConfigBuilder {
    Config::builder(server).proxy(proxy).certificate_authority(authority.pem.as_str())
}

#[test]
fn a_connect_proxy_is_asked_for_the_server_by_name_or_address() {
    let (target, authority) = target();
    let (proxy, asked) = http_proxy(target.address, None);
    for (server, wanted) in [
        ("https://kube.example:6443", "CONNECT kube.example:6443 HTTP/1.1"),
        ("https://kube.example", "CONNECT kube.example:443 HTTP/1.1"),
        ("https://10.9.8.7:6443", "CONNECT 10.9.8.7:6443 HTTP/1.1"),
        ("https://[fd00::7]:6443", "CONNECT [fd00::7]:6443 HTTP/1.1"),
    ] {
        let url = format!("http://{}", proxy.address);
        let client = client(through(url, server, &authority));
        for _ in 0..3 {
            client.get_raw("/").unwrap();
        }
        assert_eq!(asked.lock().drain(..).collect::<Vec<_>>(), [wanted], "one connection for all");
    }
}

#[test]
fn a_socks_proxy_is_asked_for_the_server_by_name_or_address() {
    let (target, authority) = target();
    let (proxy, asked) = socks_proxy(target.address, None);
    for (server, wanted) in [
        ("https://kube.example:6443", "name kube.example 6443"),
        ("https://10.9.8.7:6443", "v4 10.9.8.7 6443"),
        ("https://[fd00::7]:6443", "v6 fd00::7 6443"),
    ] {
        for scheme in ["socks5", "socks5h"] {
            let url = format!("{scheme}://{}", proxy.address);
            client(through(url, server, &authority)).get_raw("/").unwrap();
            assert_eq!(asked.lock().drain(..).collect::<Vec<_>>(), [wanted]);
        }
    }
}

#[test]
fn a_plain_server_is_reached_through_a_proxy_too() {
    let target = Server::plain(Connection::serve);
    for (proxy, scheme) in
        [(http_proxy(target.address, None), "http"), (socks_proxy(target.address, None), "socks5")]
    {
        let url = format!("{scheme}://{}", proxy.0.address);
        client(Config::builder("http://kube.example").proxy(url)).get_raw("/").unwrap();
        assert_eq!(proxy.1.lock().len(), 1);
    }
}

#[test]
fn a_user_and_a_password_are_given_to_the_proxy() {
    let (target, authority) = target();
    let (http, _) = http_proxy(target.address, Some("jane:s3cr:t/@"));
    let (socks, _) = socks_proxy(target.address, Some("jane:s3cr:t/@"));
    for (scheme, proxy) in [("http", &http), ("socks5", &socks)] {
        let url = format!("{scheme}://jane:s3cr%3At%2F%40@{}", proxy.address);
        let client = client(through(url, "https://kube.example", &authority));
        client.get_raw("/").unwrap();
    }
}

/// The error of a call through `proxy`, which names the proxy and not the password.
#[track_caller]
fn refusal(proxy: &Server, scheme: &str, user: &str, server: &str) -> String {
    let url = format!("{scheme}://{user}{}", proxy.address);
    let error = client(Config::builder(server).proxy(url)).get_raw("/").unwrap_err();
    let Error::Transport(inner) = &error else { panic!("{error:?}") };
    assert_eq!(inner.phase(), Phase::Proxy, "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with(&format!("proxy: {}: ", proxy.address)), "{text}");
    assert!(!format!("{error:?}").contains("wr0ng"), "{error:?}");
    text
}

#[test]
fn a_refusal_names_the_proxy_and_what_it_said_and_never_the_password() {
    let (target, _) = target();
    let (http, _) = http_proxy(target.address, Some("jane:right"));
    let (socks, _) = socks_proxy(target.address, Some("jane:right"));
    let (open, _) = socks_proxy(target.address, None);
    let server = "https://kube.example";
    for user in ["", "jane:wr0ng@", "jane@"] {
        let text = refusal(&http, "http", user, server);
        assert!(text.contains("407 Proxy Authentication Required"), "{text}");
    }
    let text = refusal(&socks, "socks5", "jane:wr0ng@", server);
    assert!(text.contains("refused the user name or password"), "{text}");
    let text = refusal(&socks, "socks5", "", server);
    assert!(text.contains("no way to authenticate"), "{text}");
    let text = refusal(&open, "socks5", "", "https://refused.example");
    assert!(text.contains("not allowed"), "{text}");
}

#[test]
fn what_is_no_proxy_is_an_error_that_names_it() {
    let says = |answer: &'static [u8]| {
        Server::plain(move |connection| {
            connection.send(answer);
            connection.hold();
        })
    };
    let server = "https://kube.example";
    let text = refusal(&says(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"), "http", "", server);
    assert!(text.contains("does not speak HTTP/1"), "{text}");
    refusal(&says(b"HTTP/1.1 200 OK\r\n\r\n"), "socks5", "", server);
    let closes = Server::plain(|_| {});
    for scheme in ["http", "socks5"] {
        refusal(&closes, scheme, "", server);
    }
    for answer in
        ["hello 200 there\r\n\r\n", "HTTP/1.1 2x OK\r\n\r\n", "HTTP/1.1 101 Other\r\n\r\n"]
    {
        refusal(&says(answer.as_bytes()), "http", "", server);
    }
    let endless = Server::plain(|connection| {
        connection.send("HTTP/1.1 200 OK\r\nA: ");
        while connection.send([b'x'; 4096]) {}
    });
    let text = refusal(&endless, "http", "", server);
    assert!(text.contains("larger than"), "{text}");
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let nobody = Reserved::new();
    let address = nobody.address;
    for scheme in ["http", "socks5"] {
        let url = format!("{scheme}://jane:s3cret@{address}");
        let config = Config::builder("https://kube.example").proxy(url);
        let error = client(config).get_raw("/").unwrap_err();
        assert!(error.is_connection_refused(), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(&address.to_string()) && text.contains("proxy"), "{text}");
    }
}

#[test]
fn an_https_proxy_is_spoken_to_over_tls_within_which_is_the_servers_own() {
    let (target, authority) = target();
    let asked = Asked::default();
    let seen = asked.clone();
    let leaf = authority.issue(&["127.0.0.1"]);
    let config = Arc::new(Authority::server_config(&leaf));
    let to = target.address;
    let proxy = Server::start("127.0.0.1:0", move |socket, _| {
        let session = ServerConnection::new(config.clone()).unwrap();
        let mut tls = StreamOwned::new(session, socket);
        if accept_connect(&mut tls, Some("jane:s3cret"), &seen) {
            relay(tls, TcpStream::connect(to).unwrap());
        }
    });
    let url = format!("https://jane:s3cret@{}", proxy.address);
    let client = client(through(url.clone(), "https://kube.example", &authority));
    for _ in 0..3 {
        client.get_raw("/").unwrap();
    }
    assert_eq!(*asked.lock(), ["CONNECT kube.example:443 HTTP/1.1"]);

    let stranger = Authority::new("stranger");
    let client = self::client(through(url, "https://kube.example", &stranger));
    let error = client.get_raw("/").unwrap_err().to_string();
    let named = format!("proxy: {}: tls: 127.0.0.1: ", proxy.address);
    assert!(error.starts_with(&named) && error.contains("not trusted"), "{error}");
}

#[test]
fn many_at_once_go_through_one_proxy() {
    let (target, authority) = target();
    let (proxy, asked) = http_proxy(target.address, None);
    let url = format!("http://{}", proxy.address);
    let client: Client = client(through(url, "https://kube.example", &authority));
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            spawn(move || (0..5).all(|_| client.get_raw("/").is_ok()))
        })
        .collect();
    assert!(calls.into_iter().all(|call| call.join().unwrap()));
    assert!(asked.lock().len() <= 8, "{}", asked.lock().len());
}
