//! Whom the client trusts, who it is, and what it says when a handshake fails.

use std::{
    io::{Read, Write},
    time::{Duration, Instant},
};

use kinformer::{Error, ListOptions, Phase, config::Config};
use parking_lot::Mutex;
use rustls::{
    pki_types::{PrivateKeyDer, pem::PemObject},
    version::{TLS12, TLS13},
};

use crate::{
    logs,
    support::{
        Authority, Connection, Leaf, Scratch, Server, client, config_maps, pause, wait_until,
    },
};

fn server(leaf: &Leaf) -> Server {
    Server::with_config(Authority::server_config(leaf), Connection::serve)
}

/// What a call to `server` fails with, trusting `authority`.
#[track_caller]
fn failure(server: &Server, authority: &Authority) -> String {
    let url = format!("https://{}", server.address);
    let config = Config::builder(url).no_proxy().certificate_authority(authority.pem.as_str());
    let error = client(config).get_raw("/").unwrap_err();
    assert!(matches!(&error, Error::Transport(error) if error.phase() == Phase::Tls), "{error:?}");
    error.to_string()
}

#[test]
fn what_is_wrong_with_a_certificate_is_what_the_error_says() {
    let (right, other) = (Authority::new("right"), Authority::new("other"));
    let address = ["127.0.0.1"];
    let good = server(&right.issue(&address));
    let url = format!("https://{}", good.address);
    let config = Config::builder(&url).no_proxy().certificate_authority(right.pem.as_str());
    client(config).get_raw("/").unwrap();

    let unknown = failure(&good, &other);
    assert!(unknown.contains("authority that is not trusted"), "{unknown}");
    let expired = failure(&server(&right.issue_for_years(&address, 2000, 2001)), &right);
    assert!(expired.contains("has expired"), "{expired}");
    let early = failure(&server(&right.issue_for_years(&address, 3000, 3001)), &right);
    assert!(early.contains("not valid yet"), "{early}");
    let elsewhere = failure(&server(&right.issue(&["other.example", "10.1.2.3"])), &right);
    assert!(elsewhere.contains("not valid for this name"), "{elsewhere}");
    assert!(elsewhere.contains("other.example") && elsewhere.contains("10.1.2.3"), "{elsewhere}");
    for text in [unknown, expired, early, elsewhere] {
        assert!(text.starts_with("tls: 127.0.0.1: "), "{text}");
    }
    // Signed with another key by an authority of the same name: an impostor, or a CA made anew.
    let again = Authority::new("right");
    let impostor = failure(&server(&again.issue(&address)), &right);
    assert!(impostor.contains("not signed by the authority"), "{impostor}");
}

#[test]
fn the_server_name_of_the_configuration_is_sent_and_verified_in_place_of_the_host() {
    #[derive(Debug)]
    struct Sni(Mutex<Vec<Option<String>>>, rustls::sign::CertifiedKey);
    impl rustls::server::ResolvesServerCert for Sni {
        fn resolve(
            &self,
            hello: rustls::server::ClientHello<'_>,
        ) -> Option<std::sync::Arc<rustls::sign::CertifiedKey>> {
            self.0.lock().push(hello.server_name().map(str::to_owned));
            Some(self.1.clone().into())
        }
    }
    let authority = Authority::new("a");
    let leaf = authority.issue(&["kube.example"]);
    let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap();
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let chain = vec![crate::support::certificate(&leaf.certificate)];
    let sni =
        std::sync::Arc::new(Sni(Mutex::default(), rustls::sign::CertifiedKey::new(chain, key)));
    let mut config = Authority::server_config(&leaf);
    config.cert_resolver = sni.clone();
    let server = Server::with_config(config, Connection::serve);

    let without = failure(&server, &authority);
    assert!(without.contains("127.0.0.1") && without.contains("kube.example"), "{without}");
    let url = format!("https://{}", server.address);
    let config = Config::builder(url)
        .no_proxy()
        .certificate_authority(authority.pem.as_str())
        .tls_server_name("kube.example");
    client(config).get_raw("/").unwrap();
    assert_eq!(*sni.0.lock(), [None, Some("kube.example".into())], "an address is never sent");
}

#[test]
fn a_host_name_and_addresses_of_both_families_are_verified() {
    let authority = Authority::new("a");
    let leaf = authority.issue(&["localhost", "127.0.0.1", "::1"]);
    let check = |server: &Server, host: &str| {
        let url = format!("https://{host}:{}", server.address.port());
        let config = Config::builder(url).no_proxy();
        client(config.certificate_authority(authority.pem.as_str())).get_raw("/").unwrap();
    };
    let four = server(&leaf);
    check(&four, "127.0.0.1");
    check(&four, "localhost");
    // Not every machine that builds has the address.
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        let config = std::sync::Arc::new(Authority::server_config(&leaf));
        let six = Server::start("[::1]:0", move |socket, over| {
            let session = rustls::ServerConnection::new(config.clone()).unwrap();
            Connection::new(rustls::StreamOwned::new(session, socket), over).serve();
        });
        check(&six, "[::1]");
    }
}

#[test]
fn both_versions_of_tls_work_and_keep_one_connection_for_many_requests() {
    for version in [&TLS12, &TLS13] {
        let authority = Authority::new("a");
        let leaf = authority.issue(&["127.0.0.1"]);
        let config = Authority::server_config_with(&leaf, &[version], None);
        assert!(config.send_tls13_tickets > 0, "tickets are sent after the handshake");
        let seen = std::sync::Arc::new(Mutex::new(None));
        let negotiated = seen.clone();
        let config = std::sync::Arc::new(config);
        let mut server = Server::start("127.0.0.1:0", move |mut socket, over| {
            let mut session = rustls::ServerConnection::new(config.clone()).unwrap();
            session.complete_io(&mut socket).unwrap();
            *negotiated.lock() = session.protocol_version();
            Connection::new(rustls::StreamOwned::new(session, socket), over).serve();
        });
        server.authority = Some(authority.pem);
        let client = server.client();
        for _ in 0..10 {
            client.get_raw("/").unwrap();
        }
        assert_eq!(server.accepted(), 1);
        assert_eq!(*seen.lock(), Some(version.version));
    }
}

#[test]
fn the_process_wide_provider_of_cryptography_is_left_alone() {
    let server = Server::tls(Connection::serve);
    server.client().get_raw("/").unwrap();
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
}

#[test]
fn without_an_authority_the_systems_are_trusted_and_no_private_one() {
    let server = server(&Authority::new("private").issue(&["127.0.0.1"]));
    let url = format!("https://{}", server.address);
    let error = client(Config::builder(url).no_proxy()).get_raw("/").unwrap_err().to_string();
    assert!(error.contains("authority that is not trusted"), "{error}");
}

#[test]
fn skipping_verification_accepts_any_certificate_and_logs_a_warning() {
    logs::capture();
    let server = server(&Authority::new("x").issue_for_years(&["a.example"], 2000, 2001));
    let url = format!("https://{}", server.address);
    client(Config::builder(&url).no_proxy().insecure_skip_tls_verify()).get_raw("/").unwrap();
    let warned = |url: &str| logs::warnings().iter().any(|line| line.contains(url));
    assert!(warned(&url), "{:?}", logs::warnings());

    let other = self::server(&Authority::new("x").issue(&["b.example"]));
    let url = format!("https://{}", other.address);
    let kubeconfig = format!(
        "{{clusters: [{{name: c, cluster: {{server: '{url}', insecure-skip-tls-verify: true}}}}], \
          contexts: [{{name: x, context: {{cluster: c}}}}], current-context: x}}"
    );
    let config = Config::from_kubeconfig_str(&kubeconfig, None).unwrap();
    client(config.to_builder().no_proxy()).get_raw("/").unwrap();
    assert!(warned(&url), "{:?}", logs::warnings());
}

#[test]
fn an_authority_file_that_changes_counts_from_the_next_connection_on() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let scratch = Scratch::new();
    let file = scratch.write("ca.crt", &old.pem);
    let server = server(&new.issue(&["127.0.0.1"]));
    let url = format!("https://{}", server.address);
    let client = client(Config::builder(url).no_proxy().certificate_authority_file(&file));
    let error = client.get_raw("/").unwrap_err().to_string();
    assert!(error.contains("not trusted"), "{error}");

    scratch.write("ca.crt", "half a fi");
    pause(Duration::from_millis(1100));
    let error = client.get_raw("/").unwrap_err().to_string();
    assert!(error.contains("not trusted"), "what cannot be used changes nothing: {error}");

    scratch.write("ca.crt", &new.pem);
    wait_until("the new authority is trusted", || client.get_raw("/").is_ok());
    // And is not any more once it is replaced, although a connection is open.
    scratch.write("ca.crt", &old.pem);
    wait_until("the old authority is back", || client.get_raw("/").is_err());
}

/// A server that wants client certificates and answers with the one it was shown.
fn mutual(clients: &Authority, version: &'static rustls::SupportedProtocolVersion) -> Server {
    let authority = Authority::new("the server's");
    let leaf = authority.issue(&["127.0.0.1"]);
    let config = Authority::server_config_with(&leaf, &[version], Some(clients)).into();
    let config: std::sync::Arc<rustls::ServerConfig> = config;
    let mut server = Server::start("127.0.0.1:0", move |mut socket, over| {
        let mut session = rustls::ServerConnection::new(config.clone()).unwrap();
        if session.complete_io(&mut socket).is_err() {
            return;
        }
        let shown = session.peer_certificates().unwrap()[0].to_vec();
        let tls = rustls::StreamOwned::new(session, socket);
        let mut connection = Connection::new(tls, over);
        while connection.read_request().is_some() {
            connection.respond("200 OK", "", &shown);
        }
    });
    server.authority = Some(authority.pem);
    server
}

#[test]
fn a_client_certificate_is_shown() {
    let clients = Authority::new("clients");
    for version in [&TLS12, &TLS13] {
        let server = mutual(&clients, version);
        let leaf = clients.issue(&[]);
        let config = server.config().client_certificate(leaf.certificate.as_str(), &leaf.key);
        let shown = client(config).get_raw("/").unwrap();
        assert_eq!(shown, crate::support::certificate(&leaf.certificate).as_ref());
    }
}

#[test]
fn a_missing_or_refused_client_certificate_is_an_error_of_the_handshake() {
    let clients = Authority::new("clients");
    let stranger = Authority::new("stranger").issue(&[]);
    for version in [&TLS12, &TLS13] {
        let server = mutual(&clients, version);
        let none = server.client().get_raw("/").unwrap_err();
        let config = server.config();
        let config = config.client_certificate(stranger.certificate.as_str(), &stranger.key);
        let stranger = client(config);
        let wrong = stranger.get_raw("/").unwrap_err();
        // In TLS 1.3 the refusal comes after the handshake, in place of an answer, or while the
        // request is still being sent.
        let large = serde_json::json!({"data": "x".repeat(16 << 20)});
        let sending = config_maps(&stranger).create(&large).unwrap_err();
        for error in [none, wrong, sending] {
            let Error::Transport(error) = &error else { panic!("{error:?}") };
            assert_eq!(error.phase(), Phase::Tls, "{version:?}: {error}");
            assert!(error.to_string().contains("the server refused"), "{version:?}: {error}");
        }
    }
}

#[test]
fn client_certificate_files_that_change_are_shown_on_new_connections() {
    let clients = Authority::new("clients");
    let server = mutual(&clients, &TLS13);
    let (old, new) = (clients.issue(&[]), clients.issue(&[]));
    let scratch = Scratch::new();
    let certificate = scratch.write("tls.crt", &old.certificate);
    let key = scratch.write("tls.key", &old.key);
    let client = client(server.config().client_certificate_files(certificate, key));
    let shown = || client.get_raw("/").unwrap();
    let der = |leaf: &Leaf| crate::support::certificate(&leaf.certificate).to_vec();
    assert_eq!(shown(), der(&old));

    scratch.write("tls.crt", &new.certificate);
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(1200) {
        assert_eq!(shown(), der(&old), "a certificate without its key is not used");
        pause(Duration::from_millis(200));
    }
    scratch.write("tls.key", &new.key);
    wait_until("the new certificate is shown", || shown() == der(&new));
    assert!(server.accepted() <= 3, "{}", server.accepted());
}

#[test]
fn plain_http_behind_an_https_address_is_said_to_be_no_tls() {
    let server = Server::plain(|connection| {
        // As Go's servers do with what is not a request.
        let _ = connection.read_head();
        connection.send("HTTP/1.0 400 Bad Request\r\n\r\nClient sent nonsense.\n");
    });
    let url = format!("https://{}", server.address);
    let error = client(Config::builder(url).no_proxy()).get_raw("/").unwrap_err();
    assert!(matches!(&error, Error::Transport(error) if error.phase() == Phase::Tls), "{error:?}");
    assert!(error.to_string().contains("does not speak TLS"), "{error}");
}

#[test]
fn tls_behind_a_plain_http_address_is_said_to_be_tls() {
    let server = Server::tls(Connection::serve);
    let url = format!("http://{}", server.address);
    let error = client(Config::builder(&url).no_proxy()).get_raw("/").unwrap_err().to_string();
    assert!(error.contains("TLS") && error.contains("https"), "{error}");

    // Go's servers, and so the real API server, say it in words.
    let server = Server::plain(|connection| {
        let _ = connection.read_head();
        connection.send(
            "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
        );
    });
    let error = client(server.config()).get_raw("/").unwrap_err();
    assert!(error.is_bad_request(), "{error:?}");
    let said = format!("{:?}", error.status());
    assert!(said.contains("Client sent an HTTP request to an HTTPS server."), "{said}");
}

#[test]
fn a_server_that_hangs_up_in_the_handshake_is_named() {
    let server = Server::start("127.0.0.1:0", |mut socket, _| {
        let _ = std::io::Read::read(&mut socket, &mut [0; 9999]);
    });
    let url = format!("https://{}", server.address);
    let error = client(Config::builder(url).no_proxy()).get_raw("/").unwrap_err().to_string();
    assert_eq!(error, "tls: 127.0.0.1: the server closed the connection");
    assert_eq!(server.accepted(), 1);
}

#[test]
fn what_is_no_tls_ends_a_watch_at_once_also_behind_events() {
    let authority = Authority::new("a");
    let leaf = authority.issue(&["127.0.0.1"]);
    let config = std::sync::Arc::new(Authority::server_config(&leaf));
    let mut server = Server::start("127.0.0.1:0", move |mut socket, over| {
        let mut session = rustls::ServerConnection::new(config.clone()).unwrap();
        session.complete_io(&mut socket).unwrap();
        let mut connection = rustls::StreamOwned::new(session, socket);
        let mut head = [0; 4096];
        if connection.read(&mut head).is_err() {
            return;
        }
        let mut bytes = Vec::new();
        let mut send = |text: &str| {
            connection.conn.writer().write_all(text.as_bytes()).unwrap();
            connection.conn.write_tls(&mut bytes).unwrap();
        };
        send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
        for _ in 0..8 {
            let event = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
            send(&format!("{event}{:1000}", ""));
        }
        bytes.extend_from_slice(&[0x17, 3, 3, 0, 40]);
        bytes.extend_from_slice(&[7; 40]);
        connection.sock.write_all(&bytes).unwrap();
        over.wait();
    });
    server.authority = Some(authority.pem);
    let mut watch = config_maps(&server.client()).watch(&ListOptions::new()).unwrap();
    let error = watch.find_map(Result::err).unwrap();
    assert!(!error.is_timeout(), "{error}");
}
