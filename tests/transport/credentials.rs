//! Credentials: where they come from, how they are kept fresh, and how they look on the wire.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use kinformer::{
    Client, Error, StopToken,
    config::{Config, Impersonate},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    plugin::{Plugin, kubeconfig},
    support::{
        Authority, Connection, Leaf, Request, Scratch, Server, certificate, client, pause, spawn,
        wait_until,
    },
};

/// A server that wants a certain `Authorization` and says 401 to any other.
struct Guarded {
    server: Server,
    wanted: Arc<Mutex<String>>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Guarded {
    fn new(wanted: &str) -> Self {
        let wanted = Arc::new(Mutex::new(wanted.to_owned()));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (want, seen) = (wanted.clone(), requests.clone());
        let server = Server::tls(move |connection| {
            while let Some(request) = connection.read_request() {
                let welcome = request.header("authorization") == *want.lock();
                seen.lock().push(request);
                match welcome {
                    true => connection.respond("200 OK", "", "{}"),
                    false => connection.respond("401 Unauthorized", "", "{}"),
                };
            }
        });
        Self { server, wanted, requests }
    }

    fn want(&self, authorization: &str) {
        *self.wanted.lock() = authorization.to_owned();
    }

    /// How many requests there have been since the last time.
    fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.requests.lock())
    }

    fn client(&self, plugin: &Plugin) -> Client {
        plugin.client(&self.server, "")
    }
}

#[test]
fn the_token_of_a_plugin_is_kept_between_requests() {
    let (guarded, plugin) = (Guarded::new("Bearer one"), Plugin::new());
    plugin.print(&json!({"token": "one"}));
    let client = guarded.client(&plugin);
    assert_eq!(plugin.runs(), 0, "nothing is run before it is needed");
    for _ in 0..5 {
        client.get_raw("/").unwrap();
    }
    assert_eq!(plugin.runs(), 1);
    assert_eq!(guarded.server.accepted(), 1);
}

#[test]
fn a_token_is_renewed_before_it_expires() {
    let refused = Arc::new(AtomicUsize::new(0));
    let count = refused.clone();
    let server = Server::tls(move |connection| {
        while let Some(request) = connection.read_request() {
            let expires: u64 = request.header("authorization")["Bearer ".len()..].parse().unwrap();
            let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
            if now >= expires {
                count.fetch_add(1, Ordering::SeqCst);
            }
            connection.respond("200 OK", "", "{}");
        }
    });
    let plugin = Plugin::new();
    // The token is the time it expires at.
    plugin.script(
        r#"token=$(($(date +%s) + 10)); expires=$(date -u -d @$token +%Y-%m-%dT%H:%M:%SZ)
           printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'
           printf '"status":{"token":"%s","expirationTimestamp":"%s"}}' $token $expires"#,
    );
    let client = plugin.client(&server, "");
    let start = Instant::now();
    wait_until("the plugin has run three times", || {
        client.get_raw("/").unwrap();
        plugin.runs() == 3
    });
    assert!(start.elapsed() > Duration::from_secs(8), "a fresh token is kept");
    assert_eq!(refused.load(Ordering::SeqCst), 0, "no request was made with an old token");
}

#[test]
fn a_token_that_is_expired_when_it_comes_is_used_once() {
    let (guarded, plugin) = (Guarded::new("Bearer one"), Plugin::new());
    plugin.print(&json!({"token": "one", "expirationTimestamp": "2001-01-01T00:00:00Z"}));
    let client = guarded.client(&plugin);
    client.get_raw("/").unwrap();
    client.get_raw("/").unwrap();
    assert_eq!(plugin.runs(), 2);
}

#[test]
fn a_refused_token_is_renewed_once_and_then_the_refusal_is_returned() {
    let (guarded, plugin) = (Guarded::new("Bearer one"), Plugin::new());
    plugin.print(&json!({"token": "one"}));
    let client = guarded.client(&plugin);
    client.get_raw("/").unwrap();
    guarded.take_requests();

    guarded.want("Bearer two");
    plugin.print(&json!({"token": "two"}));
    client.get_raw("/").unwrap();
    assert_eq!((plugin.runs(), guarded.take_requests().len()), (2, 2));

    guarded.want("Bearer something else");
    let error = client.get_raw("/").unwrap_err();
    assert!(error.is_unauthorized(), "{error:?}");
    assert_eq!((plugin.runs(), guarded.take_requests().len()), (3, 2));

    // The body of a write is sent again, whole.
    guarded.want("Bearer three");
    plugin.print(&json!({"token": "three"}));
    let map = json!({"metadata": {"name": "a"}});
    let _ = crate::support::config_maps(&client).create(&map);
    let requests = guarded.take_requests();
    assert_eq!((plugin.runs(), requests.len()), (4, 2));
    assert!(!requests[1].body.is_empty() && requests[0].body == requests[1].body);
}

#[test]
fn calls_at_the_same_time_run_the_plugin_once() {
    let (guarded, plugin) = (Guarded::new("Bearer one"), Plugin::new());
    plugin.print_after(Duration::from_millis(300), &json!({"token": "one"}));
    let client = guarded.client(&plugin);
    let all = |client: &Client| {
        let calls: Vec<_> = (0..10)
            .map(|_| {
                let client = client.clone();
                spawn(move || client.get_raw("/"))
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap().map(drop)).collect::<Vec<_>>()
    };
    assert!(all(&client).iter().all(Result::is_ok));
    assert_eq!(plugin.runs(), 1);

    guarded.want("Bearer two");
    plugin.print_after(Duration::from_millis(300), &json!({"token": "two"}));
    assert!(all(&client).iter().all(Result::is_ok));
    assert_eq!(plugin.runs(), 2, "they were all refused, and one of them renewed the token");
}

#[test]
fn a_call_that_waits_for_the_plugin_of_another_can_be_stopped_alone() {
    let (guarded, plugin) = (Guarded::new("Bearer one"), Plugin::new());
    let gate = plugin.print_when_let(&json!({"token": "one"}));
    let client = guarded.client(&plugin);
    let other = client.clone();
    let first = spawn(move || other.get_raw("/"));
    wait_until("the plugin runs", || plugin.runs() == 1);
    let stop = StopToken::new();
    let waiting = client.with_stop(&stop);
    let second = spawn(move || waiting.get_raw("/"));
    // Either it waits already, or it will find its token stopped: it returns both ways.
    pause(Duration::from_millis(50));
    stop.stop();
    assert!(matches!(second.join().unwrap(), Err(Error::Stopped)));
    drop(gate);
    first.join().unwrap().unwrap();
    assert_eq!(plugin.runs(), 1);
}

#[test]
fn when_the_caller_that_runs_the_plugin_is_stopped_the_next_one_runs_it() {
    let (guarded, plugin) = (Guarded::new("Bearer one"), Plugin::new());
    let gate = plugin.print_when_let(&json!({"token": "one"}));
    let client = guarded.client(&plugin);
    let stop = StopToken::new();
    let stopped = client.with_stop(&stop);
    let first = spawn(move || stopped.get_raw("/"));
    wait_until("the plugin runs", || plugin.runs() == 1);
    let second = spawn(move || client.get_raw("/"));
    stop.stop();
    assert!(matches!(first.join().unwrap(), Err(Error::Stopped)));
    wait_until("the plugin runs again", || plugin.runs() == 2);
    drop(gate);
    second.join().unwrap().unwrap();
}

#[test]
fn a_plugin_ends_with_the_call_that_runs_it() {
    let (guarded, plugin) = (Guarded::new(""), Plugin::new());
    plugin.script("exec sleep 60");
    let stop = StopToken::new();
    let client = guarded.client(&plugin).with_stop(&stop);
    let call = spawn(move || client.get_raw("/"));
    wait_until("the plugin runs", || plugin.runs() == 1);
    assert!(plugin.is_running());
    stop.stop();
    assert!(matches!(call.join().unwrap(), Err(Error::Stopped)));
    assert!(!plugin.is_running());
}

#[test]
fn a_plugin_that_fails_is_quoted() {
    let (guarded, plugin) = (Guarded::new(""), Plugin::new());
    let client = guarded.client(&plugin);
    plugin.script("echo 'please run: login' >&2; exit 3");
    let error = client.get_raw("/").unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Config(_)), "{error:?}");
    assert!(text.contains("please run: login") && text.contains('3'), "{text}");
    plugin.script("echo '{\"token\": \"tok3n\"'");
    let text = client.get_raw("/").unwrap_err().to_string();
    assert!(text.contains("printed no JSON") && !text.contains("tok3n"), "{text}");
    assert_eq!(plugin.runs(), 2, "a failure is not kept");
    assert_eq!(guarded.server.accepted(), 0);

    let missing = kubeconfig(
        &guarded.server,
        "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never,
          command: no-such-plugin-anywhere, installHint: get it at the shop}}",
        "",
    );
    let missing = self::client(missing).get_raw("/").unwrap_err().to_string();
    assert!(missing.contains("no-such-plugin-anywhere"), "{missing}");
    assert!(missing.contains("get it at the shop"), "{missing}");
}

#[test]
fn a_plugin_is_told_what_it_asks_for() {
    let (guarded, plugin) = (Guarded::new("Bearer one"), Plugin::new());
    plugin.print(&json!({"token": "one"}));
    guarded.client(&plugin).get_raw("/").unwrap();
    let expected = json!({
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1",
        "spec": {"interactive": false},
    });
    assert_eq!(plugin.info(), expected);

    let extension = "extensions: [{name: client.authentication.k8s.io/exec, \
                     extension: {audience: moon}}], tls-server-name: localhost,";
    let config = kubeconfig(
        &guarded.server,
        &plugin.user("provideClusterInfo: true, env: [{name: KINF, value: x}],"),
        extension,
    );
    client(config).get_raw("/").unwrap();
    let info: Value = plugin.info();
    let cluster = &info["spec"]["cluster"];
    assert_eq!(cluster["server"], guarded.server.url());
    assert_eq!(cluster["tls-server-name"], "localhost");
    assert_eq!(cluster["config"], json!({"audience": "moon"}));
    use base64::{Engine, prelude::BASE64_STANDARD};
    let authority = guarded.server.authority.as_ref().unwrap();
    assert_eq!(cluster["certificate-authority-data"], BASE64_STANDARD.encode(authority));
}

/// A server that takes only this certificate and says 401 to others of the same authority.
fn mutual(clients: &Authority, wanted: &Arc<Mutex<Vec<u8>>>) -> Server {
    let authority = Authority::new("the server's");
    let leaf = authority.issue(&["127.0.0.1"]);
    let config = Authority::server_config_with(&leaf, rustls::ALL_VERSIONS, Some(clients));
    let (config, wanted) = (Arc::new(config), wanted.clone());
    let mut server = Server::start("127.0.0.1:0", move |mut socket, over| {
        let mut session = rustls::ServerConnection::new(config.clone()).unwrap();
        if session.complete_io(&mut socket).is_err() {
            return;
        }
        let shown = session.peer_certificates().unwrap()[0].to_vec();
        let mut connection = Connection::new(rustls::StreamOwned::new(session, socket), over);
        while connection.read_request().is_some() {
            match shown == *wanted.lock() {
                true => connection.respond("200 OK", "", "{}"),
                false => connection.respond("401 Unauthorized", "", "{}"),
            };
        }
    });
    server.authority = Some(authority.pem);
    server
}

fn der(leaf: &Leaf) -> Vec<u8> {
    certificate(&leaf.certificate).to_vec()
}

#[test]
fn the_certificate_of_a_plugin_is_shown_and_replaced_when_it_is_refused() {
    let clients = Authority::new("clients");
    let (old, new) = (clients.issue(&[]), clients.issue(&[]));
    let wanted = Arc::new(Mutex::new(der(&old)));
    let server = mutual(&clients, &wanted);
    let plugin = Plugin::new();
    let status =
        |leaf: &Leaf| json!({"clientCertificateData": leaf.certificate, "clientKeyData": leaf.key});
    plugin.print(&status(&old));
    let client = plugin.client(&server, "");
    for _ in 0..3 {
        client.get_raw("/").unwrap();
    }
    assert_eq!((plugin.runs(), server.accepted()), (1, 1));

    *wanted.lock() = der(&new);
    plugin.print(&status(&new));
    for _ in 0..3 {
        client.get_raw("/").unwrap();
    }
    assert_eq!((plugin.runs(), server.accepted()), (2, 2), "a new certificate, a new connection");

    *wanted.lock() = Vec::new();
    assert!(client.get_raw("/").unwrap_err().is_unauthorized());
    assert_eq!((plugin.runs(), server.accepted()), (3, 2), "the same certificate again");
}

#[test]
fn a_token_file_is_read_again_as_it_rotates() {
    let used = Arc::new(Mutex::new(String::new()));
    let last = used.clone();
    let server = Server::tls(move |connection| {
        while let Some(request) = connection.read_request() {
            *last.lock() = request.header("authorization").to_owned();
            connection.respond("200 OK", "", "{}");
        }
    });
    let scratch = Scratch::new();
    let file = scratch.write("token", "one\n");
    let client = client(server.config().token_file(&file));
    client.get_raw("/").unwrap();
    assert_eq!(*used.lock(), "Bearer one");
    scratch.write("token", "two\n");
    wait_until("the new token is used, although the old one was never refused", || {
        client.get_raw("/").unwrap();
        *used.lock() == "Bearer two"
    });
}

#[test]
fn a_refused_token_of_a_file_is_tried_again_only_if_the_file_has_another() {
    let (guarded, scratch) = (Guarded::new("Bearer one"), Scratch::new());
    let file = scratch.write("token", "one");
    let client = client(guarded.server.config().token_file(&file));
    client.get_raw("/").unwrap();
    guarded.take_requests();
    scratch.write("token", "two");
    guarded.want("Bearer two");
    client.get_raw("/").unwrap();
    let sent: Vec<_> = guarded.take_requests();
    let sent: Vec<_> = sent.iter().map(|request| request.header("authorization")).collect();
    assert!(sent == ["Bearer one", "Bearer two"] || sent == ["Bearer two"], "{sent:?}");

    guarded.want("Bearer three");
    assert!(client.get_raw("/").unwrap_err().is_unauthorized());
    assert_eq!(guarded.take_requests().len(), 1);
    std::fs::remove_file(&file).unwrap();
    guarded.want("Bearer two");
    client.get_raw("/").unwrap();
}

#[test]
fn a_fixed_token_is_sent_and_not_tried_twice() {
    let guarded = Guarded::new("Bearer right");
    client(guarded.server.config().token(" right\n")).get_raw("/").unwrap();
    guarded.take_requests();
    let wrong = client(guarded.server.config().token("wrong"));
    assert!(wrong.get_raw("/").unwrap_err().is_unauthorized());
    assert_eq!(guarded.take_requests().len(), 1);
}

#[test]
fn a_user_name_and_password_are_sent_as_basic_authentication() {
    let guarded = Guarded::new("Basic amFuZTpzM2M6cmV0");
    client(guarded.server.config().basic_auth("jane", "s3c:ret")).get_raw("/").unwrap();
}

#[test]
fn nobody_sends_no_credentials() {
    let guarded = Guarded::new("");
    client(guarded.server.config()).get_raw("/").unwrap();
    let requests = guarded.take_requests();
    assert!(!requests[0].headers.contains_key("authorization"), "{:?}", requests[0]);
}

#[test]
fn impersonation_is_in_headers_beside_the_real_credentials() {
    let guarded = Guarded::new("Bearer real");
    let mut who = Impersonate::user("jane");
    who.uid = Some("7".into());
    who.groups = vec!["a".into(), "b".into()];
    who.extra.insert("Example.com/Scope".into(), vec!["x".into(), "y".into()]);
    client(guarded.server.config().token("real").impersonate(who)).get_raw("/").unwrap();
    let requests = guarded.take_requests();
    for (name, value) in [
        ("impersonate-user", "jane"),
        ("impersonate-uid", "7"),
        ("impersonate-group", "a,b"),
        ("impersonate-extra-example.com%2fscope", "x,y"),
        ("authorization", "Bearer real"),
    ] {
        assert_eq!(requests[0].header(name), value, "{name}");
    }
}

#[test]
fn every_request_names_the_program_and_its_host() {
    let guarded = Guarded::new("");
    client(guarded.server.config()).get_raw("/").unwrap();
    client(guarded.server.config().user_agent("my-program/1")).get_raw("/").unwrap();
    let requests = guarded.take_requests();
    let default = requests[0].header("user-agent");
    assert!(default.starts_with("transport-") && default.contains("kinformer/"), "{default}");
    assert_eq!(requests[1].header("user-agent"), "my-program/1");
    let host = guarded.server.address.to_string();
    assert!(requests.iter().all(|request| request.header("host") == host), "{requests:?}");
}

#[test]
fn a_kubeconfig_does_not_send_a_token_in_the_clear() {
    let seen = Arc::new(Mutex::new(String::new()));
    let sent = seen.clone();
    let server = Server::plain(move |connection| {
        while let Some(request) = connection.read_request() {
            *sent.lock() = format!("{:?}", request.headers);
            connection.respond("200 OK", "", "{}");
        }
    });
    client(kubeconfig(&server, "{token: s3cret}", "")).get_raw("/").unwrap();
    assert!(!seen.lock().is_empty() && !seen.lock().contains("s3cret"), "{}", seen.lock());
    // A builder does what it is told.
    let config = Config::builder(server.url()).no_proxy().token("s3cret");
    client(config).get_raw("/").unwrap();
    assert!(seen.lock().contains("Bearer s3cret"), "{}", seen.lock());
}
