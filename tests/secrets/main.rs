//! No credential shows in a log line, an error or a `Debug`, whatever goes wrong.
//!
//! Alone in its process, because it takes in everything that is logged.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]

mod output;
#[path = "../transport/plugin.rs"]
#[allow(dead_code, reason = "shared with the tests of the transport")]
mod plugin;
#[path = "../transport/proxies.rs"]
#[allow(dead_code, reason = "shared with the tests of the transport")]
mod proxies;
#[path = "../transport/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the transport")]
mod support;

use std::{error::Error as _, net::SocketAddr, sync::Arc, time::Duration};

use kinformer::{
    Client, Error, ListOptions,
    config::{Config, ConfigBuilder, Impersonate, Timeouts},
};
use parking_lot::Mutex;
use serde_json::json;

use self::{
    plugin::{Plugin, kubeconfig},
    support::{Authority, Connection, Leaf, Scratch, Server, config_maps, reserved::Reserved},
};

const TOKEN: &str = "tok-6b1f4aLQ9zX.fixed-2Yw_8";
const FILE_TOKEN: &str = "tok-c3pRr7Gm1e.file-9Kd_4";
const PLUGIN_TOKEN: &str = "tok-m8TuV5bN2s.plugin-1Hj_7";
const PLUGIN_SECRET: &str = "env-x4EoP0wC6q.plugin-5Zl_3";
const PASSWORD: &str = "pass-h9JyD2kF7a.basic-6Bn_1";
const PROXY_PASSWORD: &str = "pass-v1QiS8gM3t.proxy-4Xc_0";

/// How to authenticate.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Token,
    TokenFile,
    Basic,
    Certificate,
    CertificateFiles,
    PluginToken,
    PluginCertificate,
    HttpProxy,
    SocksProxy,
    Impersonation,
}

const KINDS: [Kind; 10] = [
    Kind::Token,
    Kind::TokenFile,
    Kind::Basic,
    Kind::Certificate,
    Kind::CertificateFiles,
    Kind::PluginToken,
    Kind::PluginCertificate,
    Kind::HttpProxy,
    Kind::SocksProxy,
    Kind::Impersonation,
];

/// What becomes of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fate {
    Success,
    Status(&'static str),
    /// Nobody listens.
    Refused,
    /// The connection is reset when the request is there.
    Reset,
    /// The server is not who the client trusts.
    Untrusted,
    Timeout,
    Garbage,
    /// The body ends too soon.
    Truncated,
    /// The body is not what it says it is.
    NotJson,
    /// The plugin fails; the proxy refuses; other kinds succeed.
    NoCredential,
}

const FATES: [Fate; 12] = [
    Fate::Success,
    Fate::Status("401 Unauthorized"),
    Fate::Status("403 Forbidden"),
    Fate::Status("500 Internal Server Error"),
    Fate::Refused,
    Fate::Reset,
    Fate::Untrusted,
    Fate::Timeout,
    Fate::Garbage,
    Fate::Truncated,
    Fate::NotJson,
    Fate::NoCredential,
];

/// What all cases share.
struct World {
    servers: Authority,
    stranger: Authority,
    clients: Authority,
    identity: Leaf,
    scratch: Scratch,
    plugin: Plugin,
    /// The `Authorization` headers that arrived.
    arrived: Arc<Mutex<Vec<String>>>,
}

#[test]
fn no_credential_is_ever_let_out() {
    output::capture_logs();
    let clients = Authority::new("clients");
    let world = World {
        servers: Authority::new("servers"),
        stranger: Authority::new("stranger"),
        identity: clients.issue(&[]),
        clients,
        scratch: Scratch::new(),
        plugin: Plugin::new(),
        arrived: Arc::default(),
    };
    world.scratch.write("token", FILE_TOKEN);
    world.scratch.write("tls.crt", &world.identity.certificate);
    world.scratch.write("tls.key", &world.identity.key);

    let mut failures = 0;
    for kind in KINDS {
        for fate in FATES {
            failures += world.run(kind, fate);
        }
    }
    bad_configurations();
    assert_that_the_search_would_find_something(&world);
    println!("{failures} failures, {} bytes of output", output::all().len());
    assert!(failures > 300, "{failures}");

    for (name, secret) in secrets(&world) {
        for (how, disguise) in output::disguises(&secret) {
            let all = output::all();
            if let Some(at) = all.find(&disguise) {
                let around = all.get(at.saturating_sub(200)..at).unwrap_or_default();
                panic!("{name} shows, {how}, after: {around}");
            }
        }
    }
}

/// All that must not be seen; of the key, each line of its PEM form.
fn secrets(world: &World) -> Vec<(&'static str, String)> {
    let mut all: Vec<_> = [
        ("the token", TOKEN),
        ("the token of the file", FILE_TOKEN),
        ("the token of the plugin", PLUGIN_TOKEN),
        ("the environment of the plugin", PLUGIN_SECRET),
        ("the password", PASSWORD),
        ("the password of the proxy", PROXY_PASSWORD),
    ]
    .map(|(name, secret)| (name, secret.to_owned()))
    .into();
    let lines = world.identity.key.lines().filter(|line| !line.starts_with('-'));
    all.extend(lines.map(|line| ("the key", line.to_owned())));
    all
}

/// A test that looks in the wrong place finds nothing.
fn assert_that_the_search_would_find_something(world: &World) {
    let arrived = world.arrived.lock();
    for sent in [TOKEN, FILE_TOKEN, PLUGIN_TOKEN] {
        assert!(arrived.contains(&format!("Bearer {sent}")), "{sent} was never sent");
    }
    use base64::{Engine, prelude::BASE64_STANDARD};
    let basic = BASE64_STANDARD.encode(format!("jane:{PASSWORD}"));
    assert!(arrived.contains(&format!("Basic {basic}")), "{PASSWORD} was never sent");

    let all = output::all();
    for seen in ["TRACE kinformer", "GET /canary-in-the-path: 200", "joe"] {
        assert!(all.contains(seen), "{seen} is not in what was let out");
    }
    let basic_in_base64 = output::disguises(PASSWORD);
    assert!(
        basic_in_base64.iter().any(|(_, disguise)| basic.contains(disguise)),
        "base64 is not recognised"
    );
}

impl World {
    /// Makes calls of every kind, and keeps all there is to see; returns how many failed.
    fn run(&self, kind: Kind, fate: Fate) -> usize {
        let server = self.server(kind, fate);
        let nobody = Reserved::new();
        let address = match fate {
            Fate::Refused => nobody.address,
            _ => server.address,
        };
        let (config, _proxy) = self.config(kind, fate, address);
        let mut limits = Timeouts::default();
        limits.watch_idle = Duration::from_millis(100);
        limits.list_idle = Duration::from_millis(100);
        (limits.request, limits.list_page) = match fate {
            Fate::Timeout => (Duration::from_millis(100), Duration::from_millis(100)),
            _ => (limits.request, limits.list_page),
        };
        let config = config.timeouts(limits).max_retries(0);
        output::add(format!("{config:?} {config:#?}"));
        let config = config.build().unwrap();
        output::add(format!("{config:?} {config:#?}"));
        let client = Client::new(config).unwrap();
        let maps = config_maps(&client);
        output::add(format!("{client:?} {client:#?} {maps:?} {maps:#?}"));

        let body = json!({"metadata": {"name": "a"}});
        let mut watch = None;
        let results = [
            client.get_raw("/canary-in-the-path").map(drop),
            maps.list(&ListOptions::new()).map(drop),
            maps.create(&body).map(drop),
            maps.watch(&ListOptions::new()).map(|opened| watch = Some(opened)),
            client.discovery().groups().map(drop),
        ];
        output::add(format!("{watch:?} {client:?}"));
        let mut errors: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        errors.extend(watch.into_iter().flatten().take(2).filter_map(Result::err));
        let must_fail = !matches!(fate, Fate::Success | Fate::NotJson | Fate::NoCredential);
        assert!(!must_fail || errors.len() >= 4, "{kind:?} {fate:?}: {errors:?}");
        for error in &errors {
            show(error);
        }
        errors.len()
    }

    fn server(&self, kind: Kind, fate: Fate) -> Server {
        let issuer = if fate == Fate::Untrusted { &self.stranger } else { &self.servers };
        let leaf = issuer.issue(&["127.0.0.1", "kube.example"]);
        let wants_certificate =
            matches!(kind, Kind::Certificate | Kind::CertificateFiles | Kind::PluginCertificate);
        let clients = wants_certificate.then_some(&self.clients);
        let config = Authority::server_config_with(&leaf, rustls::ALL_VERSIONS, clients);
        let arrived = self.arrived.clone();
        let config = Arc::new(config);
        let mut server = Server::start("127.0.0.1:0", move |socket, over| {
            let session = rustls::ServerConnection::new(config.clone()).unwrap();
            let raw = socket.try_clone().unwrap();
            let mut connection = Connection::new(rustls::StreamOwned::new(session, socket), over);
            while let Some(request) = connection.read_request() {
                arrived.lock().push(request.header("authorization").to_owned());
                if fate == Fate::Reset {
                    let _ = socket2::SockRef::from(&raw).set_linger(Some(Duration::ZERO));
                }
                if !answer(&mut connection, fate) {
                    return;
                }
            }
        });
        server.authority = Some(self.servers.pem.clone());
        server
    }

    /// With whatever must live as long as the client.
    fn config(
        &self,
        kind: Kind,
        fate: Fate,
        address: SocketAddr,
    ) -> (ConfigBuilder, Option<Server>) {
        let direct = Config::builder(format!("https://{address}"))
            .no_proxy()
            .certificate_authority(self.servers.pem.as_str());
        let config = match kind {
            Kind::Token => direct.token(TOKEN),
            Kind::TokenFile => direct.token_file(self.scratch.path("token")),
            Kind::Basic => direct.basic_auth("jane", PASSWORD),
            Kind::Certificate => {
                let Leaf { certificate, key } = &self.identity;
                direct.client_certificate(certificate.as_str(), key)
            }
            Kind::CertificateFiles => direct.client_certificate_files(
                self.scratch.path("tls.crt"),
                self.scratch.path("tls.key"),
            ),
            Kind::PluginToken => {
                return (self.plugin(address, json!({"token": PLUGIN_TOKEN}), fate), None);
            }
            Kind::PluginCertificate => {
                let Leaf { certificate, key } = &self.identity;
                let status = json!({"clientCertificateData": certificate, "clientKeyData": key});
                return (self.plugin(address, status, fate), None);
            }
            Kind::HttpProxy | Kind::SocksProxy => {
                const RIGHT: &str = "jane:pass-v1QiS8gM3t.proxy-4Xc_0";
                let wanted = if fate == Fate::NoCredential { "jane:another" } else { RIGHT };
                let (scheme, (proxy, _)) = match kind {
                    Kind::HttpProxy => ("http", proxies::http_proxy(address, Some(wanted))),
                    _ => ("socks5", proxies::socks_proxy(address, Some(wanted))),
                };
                let url = format!("{scheme}://jane:{PROXY_PASSWORD}@{}", proxy.address);
                let config = Config::builder("https://kube.example:6443")
                    .proxy(url)
                    .certificate_authority(self.servers.pem.as_str())
                    .token(TOKEN);
                return (config, Some(proxy));
            }
            Kind::Impersonation => direct.token(TOKEN).impersonate(Impersonate::user("joe")),
        };
        (config, None)
    }

    fn plugin(&self, address: SocketAddr, status: serde_json::Value, fate: Fate) -> ConfigBuilder {
        self.plugin.print(&status);
        if fate == Fate::NoCredential {
            // Half of what it would print, and a failure.
            self.plugin.script("head -c 300 credential; echo 'cannot log in' >&2; exit 1");
        }
        let user = self.plugin.user(&format!(
            "env: [{{name: KINF_SECRET, value: '{PLUGIN_SECRET}'}}], provideClusterInfo: true,"
        ));
        let mut server = Server::plain(|_| {});
        server.authority = Some(self.servers.pem.clone());
        let own = std::mem::replace(&mut server.address, address);
        let config = kubeconfig(&server, &user, "");
        server.address = own;
        config
    }
}

/// Answers a request as fate wills; `false` ends the connection.
fn answer(connection: &mut Connection, fate: Fate) -> bool {
    const OBJECT: &str = r#"{"metadata":{"name":"a","namespace":"b"},"items":[]}"#;
    match fate {
        Fate::Status(status) => connection.respond(status, "", r#"{"message":"no"}"#),
        Fate::Reset => false,
        Fate::Timeout => {
            connection.hold();
            false
        }
        Fate::Garbage => {
            connection.send("garbage\r\n\r\n");
            false
        }
        Fate::Truncated => {
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{\"metadata\":");
            false
        }
        Fate::NotJson => connection.respond("200 OK", "", "<html>not JSON"),
        _ => connection.respond("200 OK", "", OBJECT),
    }
}

/// Keeps an error with all its causes, in all its forms.
fn show(error: &Error) {
    output::add(format!("{error} {error:?} {error:#?}"));
    let mut cause = error.source();
    while let Some(error) = cause {
        output::add(format!("{error} {error:?} {error:#?}"));
        cause = error.source();
    }
}

/// Credentials that cannot be used are refused, not repeated.
fn bad_configurations() {
    let url = "https://127.0.0.1:1";
    let builders = [
        Config::builder(url).token(format!("{TOKEN}\r\nX: y")),
        Config::builder(url).token(format!("{TOKEN}\u{e9}")),
        Config::builder(url).basic_auth("a:b", PASSWORD),
        Config::builder(url).proxy(format!("ftp://jane:{PROXY_PASSWORD}@proxy.example")),
        Config::builder(url).proxy(format!("http://jane:{PROXY_PASSWORD}@proxy.example:port")),
        Config::builder(url).proxy(format!("http://jane:{PROXY_PASSWORD}%zz@proxy.example")),
        Config::builder(format!("https://jane:{PASSWORD}@kube.example")),
        Config::builder(url).client_certificate("no certificate", TOKEN),
    ];
    for builder in builders {
        output::add(format!("{builder:?}"));
        let error = builder.build().unwrap_err();
        show(&error);
    }
    for user in [
        format!("{{token: [{TOKEN}]}}"),
        format!("{{token: {TOKEN}, username: jane, password: {PASSWORD}}}"),
        format!("{{password: {PASSWORD}}}"),
        format!("{{client-key-data: '{TOKEN}!', client-certificate-data: '{PASSWORD}!'}}"),
        format!("{{exec: {{command: x, env: [{{name: '', value: '{PLUGIN_SECRET}'}}]}}}}"),
        format!("{{token: {TOKEN}"),
    ] {
        let text = format!(
            "clusters: [{{name: c, cluster: {{server: '{url}', \
             proxy-url: 'nothing://jane:{PROXY_PASSWORD}@x'}}}}]\n\
             users: [{{name: u, user: {user}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x"
        );
        show(&Config::from_kubeconfig_str(&text, None).unwrap_err());
    }
}
