use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
};

use kinformer::testing::{ApiServer, Fault, Moment, When};
use serde_json::json;

use crate::{
    client::{Http, Watch, ask, eventually, get},
    lists::map,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn a_connection_serves_many_requests_even_if_they_come_at_once() {
    let server = ApiServer::start().unwrap();
    let mut http = Http::connect(&server);
    for _ in 0..3 {
        assert_eq!(http.ask("GET", "/version", "", b"").code, 200);
    }
    let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    http.stream.write_all(request.repeat(5).as_bytes()).unwrap();
    for _ in 0..5 {
        assert_eq!(http.answer().unwrap().body, b"ok");
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn bodies_come_with_a_length_or_in_chunks_and_after_a_go_ahead() {
    let server = ApiServer::start().unwrap();
    let body = map("a").to_string();
    let mut http = Http::connect(&server);
    let (first, rest) = body.split_at(10);
    let chunked = format!(
        "POST {MAPS} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x};ext=1\r\n{first}\r\n{:X}\r\n{rest}\r\n0\r\nTrailer: x\r\n\r\n",
        first.len(),
        rest.len()
    );
    http.stream.write_all(chunked.as_bytes()).unwrap();
    assert_eq!(http.answer().unwrap().code, 201);

    let body = map("b").to_string();
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    http.stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(http.head().unwrap().0, 100);
    http.stream.write_all(body.as_bytes()).unwrap();
    assert_eq!(http.answer().unwrap().code, 201);
}

#[test]
fn a_head_request_has_no_body() {
    let server = ApiServer::start().unwrap();
    let mut http = Http::connect(&server);
    for (path, expected) in [("/version", 200), (MAPS, 405)] {
        http.send("HEAD", path, "", b"");
        let (code, headers) = http.head().unwrap();
        assert_eq!(code, expected, "as a real server, which only reads objects with GET");
        assert!(headers.contains("Content-Length: "));
    }
    assert_eq!(http.ask("GET", "/healthz", "", b"").body, b"ok", "nothing in between");
}

#[test]
fn an_old_client_gets_a_body_that_ends_with_the_connection() {
    let server = ApiServer::start().unwrap();
    server.create(map("a")).unwrap();
    let mut http = Http::connect(&server);
    let request = format!("GET {MAPS}?watch=1&timeoutSeconds=1 HTTP/1.0\r\n\r\n");
    http.stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    http.stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(!head.contains("chunked"), "{head}");
    assert!(body.starts_with("{\"type\":\"ADDED\""), "{body}");
}

#[test]
fn limits_and_nonsense_are_answered_and_the_connection_closed() {
    let server = ApiServer::start().unwrap();
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let large = format!("POST {MAPS} HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n");
    for (request, code) in [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/3\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\nbad header\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (&large, 413),
        (&long, 431),
    ] {
        let mut http = Http::connect(&server);
        http.stream.write_all(request.as_bytes()).unwrap();
        let answer = http.answer().unwrap();
        assert_eq!(answer.code, code, "{}", &request[..request.len().min(60)]);
        assert_eq!(answer.header("connection"), Some("close"));
        assert!(http.head().is_none());
    }
}

#[test]
fn a_client_that_sends_too_much_gets_to_read_why() {
    let server = ApiServer::start().unwrap();
    for megabytes in [4, 40] {
        let body = vec![b'x'; megabytes << 20];
        let answer = Http::connect(&server).ask("POST", MAPS, "", &body);
        assert_eq!((answer.code, answer.header("connection")), (413, Some("close")));
        let status = answer.json();
        assert_eq!((&status["kind"], &status["code"]), (&json!("Status"), &json!(413)));
        assert_eq!(status["reason"], "RequestEntityTooLarge");
    }
}

#[test]
fn unknown_paths_and_verbs_get_a_status() {
    let server = ApiServer::start().unwrap();
    for path in
        ["/x", "/api/v2", "/apis/nothing", "/apis/apps/v7/deployments", "/api/v1/poems", "/%zz"]
    {
        let (code, status) = get(&server, path);
        assert!(matches!(code, 400 | 404), "{path}");
        assert_eq!(status["kind"], "Status", "{path}");
    }
    for (method, path) in [
        ("PUT", "/api"),
        ("POST", "/version"),
        ("PUT", MAPS),
        ("POST", "/api/v1/namespaces/default/configmaps/a"),
        ("OPTIONS", MAPS),
    ] {
        let (code, status) = ask(&server, method, path, &map("a"));
        assert_eq!((code, &status["reason"]), (405, &json!("MethodNotAllowed")), "{method} {path}");
    }
}

#[test]
fn health_version_discovery_and_schemas_are_served() {
    let server = ApiServer::start().unwrap();
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        assert_eq!(Http::connect(&server).ask("GET", path, "", b"").body, b"ok");
    }
    assert_eq!(get(&server, "/version").1["major"], "1");
    assert_eq!(get(&server, "/api").1["kind"], "APIVersions");
    assert_eq!(get(&server, "/apis").1["kind"], "APIGroupList");
    assert_eq!(get(&server, "/apis/apps").1["kind"], "APIGroup");
    let (_, list) = get(&server, "/api/v1");
    assert_eq!(list["kind"], "APIResourceList");
    assert!(list["resources"].as_array().unwrap().iter().any(|one| one["name"] == "pods/status"));
    let aggregated = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json\r\n";
    for path in ["/api", "/apis"] {
        let answer = Http::connect(&server).ask("GET", path, aggregated, b"");
        assert_eq!(answer.json()["kind"], "APIGroupDiscoveryList");
        assert_eq!(
            answer.header("content-type"),
            Some("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
        );
    }
    assert!(get(&server, "/openapi/v3").1["paths"]["api/v1"].is_object());
    assert_eq!(get(&server, "/openapi/v3/apis/apps/v1").0, 200);
    assert_eq!(get(&server, "/openapi/v2").0, 200);
    assert!(get(&server, "/").1["paths"].is_array());
}

#[test]
fn people_get_indented_json() {
    let server = ApiServer::start().unwrap();
    for (target, headers) in
        [("/api/v1/namespaces", "User-Agent: curl/8\r\n"), ("/api/v1/namespaces?pretty=true", "")]
    {
        let answer = Http::connect(&server).ask("GET", target, headers, b"");
        assert!(answer.body.starts_with(b"{\n  \"kind\": \"NamespaceList\",\n"));
        assert_eq!(answer.json()["items"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn a_token_is_required_if_there_is_one() {
    let server = ApiServer::builder().token("secret").start().unwrap();
    for (headers, code) in [
        ("", 401),
        ("Authorization: Bearer wrong\r\n", 401),
        ("Authorization: Basic secret\r\n", 401),
        ("Authorization: Bearer secret\r\n", 200),
    ] {
        let answer = Http::connect(&server).ask("GET", MAPS, headers, b"");
        assert_eq!(answer.code, code, "{headers}");
        if code == 401 {
            assert_eq!(answer.json()["reason"], "Unauthorized");
        }
    }
    assert_eq!(Http::connect(&server).ask("GET", "/healthz", "", b"").code, 200);
    assert!(server.kubeconfig().contains("token: \"secret\""));
    let seen = server.requests();
    assert!(seen.iter().all(|request| request.header("authorization").is_none()));
    assert!(!format!("{server:?} {seen:?}").contains("secret"));
}

#[test]
fn the_requests_seen_can_be_looked_at() {
    let server = ApiServer::start().unwrap();
    Http::connect(&server).ask("GET", &format!("{MAPS}?limit=1"), "X-Test: 1\r\n", b"");
    let seen = server.requests();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("GET", MAPS));
    assert_eq!((seen[0].query.as_str(), seen[0].header("x-test")), ("limit=1", Some("1")));
    server.clear_requests();
    assert!(server.requests().is_empty());
}

#[test]
fn https_has_a_certificate_for_loopback() {
    use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
    let server = ApiServer::builder().tls(true).start().unwrap();
    server.create(map("a")).unwrap();
    assert!(server.url().starts_with("https://127.0.0.1:"));
    assert!(server.kubeconfig().contains("certificate-authority-data: "));
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(server.ca_pem().unwrap().as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let connect = |name: &str| {
        let tcp = TcpStream::connect(server.url().strip_prefix("https://").unwrap()).unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let session = rustls::ClientConnection::new(config.clone(), name).unwrap();
        rustls::StreamOwned::new(session, tcp)
    };
    for name in ["localhost", "127.0.0.1", "::1"] {
        let mut tls = connect(name);
        tls.write_all(b"GET /version HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        tls.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    }
    assert!(connect("example.com").write_all(b"GET / HTTP/1.1\r\n\r\n").is_err());

    // A watch over TLS: events arrive, and a client that leaves is noticed.
    let mut tls = connect("localhost");
    tls.write_all(format!("GET {MAPS}?watch=1 HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    let mut seen = Vec::new();
    let mut wait_for = |name: &str| {
        let wanted = format!("\"name\":\"{name}\"");
        while !String::from_utf8_lossy(&seen).contains(&wanted) {
            let mut bytes = [0; 4096];
            let length = tls.read(&mut bytes).unwrap();
            seen.extend_from_slice(&bytes[..length]);
        }
    };
    wait_for("a");
    server.create(map("b")).unwrap();
    wait_for("b");
    assert_eq!(server.watches(), 1);
    drop(tls);
    eventually("the watch is gone", || server.watches() == 0);

    // Plain HTTP to the TLS port is no more than a failed handshake.
    let mut tcp = TcpStream::connect(server.url().strip_prefix("https://").unwrap()).unwrap();
    tcp.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut alert = Vec::new();
    tcp.read_to_end(&mut alert).unwrap();
    assert!(!alert.starts_with(b"HTTP"));
    eventually("it is closed", || server.connections() == 0);

    server.inject(When::any(), Fault::Hang { at: Moment::BeforeHead });
    let mut tls = connect("localhost");
    tls.write_all(b"GET /version HTTP/1.1\r\n\r\n").unwrap();
    eventually("it hangs", || server.connections() == 1);
    server.stop();
    assert!(matches!(tls.read(&mut [0; 16]), Ok(0) | Err(_)));
}

#[test]
fn dropping_connections_ends_watches_and_the_server_goes_on() {
    let server = ApiServer::start().unwrap();
    server.create(map("a")).unwrap();
    let mut watch = Watch::start(&server, &format!("{MAPS}?watch=1"));
    assert_eq!(watch.brief(), "ADDED a");
    server.drop_connections();
    assert!(watch.next().is_none());
    eventually("the watch is gone", || server.watches() == 0);
    assert_eq!(get(&server, MAPS).0, 200);
}
