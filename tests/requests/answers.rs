//! What the client makes of answers: successes, failures of every shape, warnings.

use std::{io::Read, net::TcpListener};

use kinformer::{
    ApiResource, Client, Config, DeleteOptions, Deletion, Error, ListOptions, LogOptions, Object,
    Patch, Result,
};
use serde_json::json;

use crate::support::{POD, Reply, Server, client, deployments, pods, status};

type Pod = Object<kinformer::DynamicObject>;

fn get(client: &Client) -> Result<Pod> {
    client.dynamic(&pods()).namespace("a").get("web-0")
}

/// What `get` makes of one answer.
fn got(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Result<Pod> {
    let server = Server::start(move |_| reply());
    let result = get(&server.client());
    assert_eq!(server.requests().len(), 1, "not retried");
    result
}

fn failure(code: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Error {
    let body = body.into();
    got(move || Reply::new(code, &[("Content-Type", content_type)], &body)).unwrap_err()
}

/// The text that the server gave instead of a `Status`.
fn cause(error: &Error) -> &str {
    let causes = &error.status().unwrap().details.as_ref().unwrap().causes;
    assert_eq!((causes.len(), causes[0].reason.as_str()), (1, "UnexpectedServerResponse"));
    &causes[0].message
}

#[test]
fn every_success_code_with_an_object_is_a_success() {
    for code in [200, 201, 202, 203, 206] {
        let object = got(move || Reply::json(code, POD)).unwrap();
        assert_eq!(object.key(), &"a/web-0", "{code}");
    }
}

#[test]
fn an_object_is_expected_and_nothing_else() {
    for (code, body) in [
        (204, ""),
        (200, ""),
        (202, ""),
        (200, "ok"),
        (200, "null"),
        (200, "[]"),
        (200, "{}"),
        (200, r#"{"metadata":{}}"#),
        (200, r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#),
        (200, "{\"metadata\":{\"name\":\"web-0\"}"),
    ] {
        let error = got(move || Reply::json(code, body)).unwrap_err();
        assert!(matches!(&error, Error::Decode(error) if error.what().contains("pods")), "{error}");
    }
}

#[test]
fn a_failure_status_is_a_failure_even_with_code_200() {
    let error = failure(200, "application/json", status(409, "Conflict", "object was modified"));
    assert!(error.is_conflict());
    assert_eq!(error.to_string(), "api: object was modified (409 Conflict)");
}

#[test]
fn the_status_in_the_body_wins_over_the_code_of_the_answer() {
    let error = failure(400, "application/json", status(404, "NotFound", "pods web-0 not found"));
    assert!(error.is_not_found() && !error.is_bad_request());
    assert_eq!(error.status().unwrap().code, 404);
    // Also where the content type lies, as behind some proxies.
    assert!(failure(500, "text/plain", status(410, "Expired", "too old")).is_expired());
}

#[test]
fn the_whole_status_is_there() {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422,
        "reason": "Invalid", "message": "Pod is invalid", "metadata": {"resourceVersion": "9"},
        "details": {"name": "web-0", "group": "g", "kind": "Pod", "uid": "u", "retryAfterSeconds": 3,
            "causes": [{"reason": "FieldValueRequired", "message": "Required", "field": "spec.x"}]}});
    let error = failure(422, "application/json", body.to_string());
    assert!(error.is_invalid());
    let status = error.status().unwrap();
    let details = status.details.as_ref().unwrap();
    assert_eq!((details.name.as_str(), details.group.as_str()), ("web-0", "g"));
    assert_eq!((details.kind.as_str(), details.uid.as_str()), ("Pod", "u"));
    assert_eq!(details.causes[0].field, "spec.x");
    assert_eq!(details.causes[0].reason, "FieldValueRequired");
    assert_eq!(status.metadata.resource_version, "9");
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(3)));
}

#[test]
fn an_indented_status_is_a_status() {
    let value: serde_json::Value =
        serde_json::from_str(&status(403, "Forbidden", "no access")).unwrap();
    let error = failure(403, "application/json", serde_json::to_string_pretty(&value).unwrap());
    assert!(error.is_forbidden());
    assert_eq!(error.status().unwrap().message, "no access");
}

#[test]
fn a_status_without_api_version_code_or_reason_is_one_and_gets_the_code_of_the_answer() {
    let error = failure(
        404,
        "application/json",
        r#"{"kind":"Status","status":"Failure","message":"not here"}"#,
    );
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "api: not here (404)");
}

#[test]
fn a_resource_that_the_server_does_not_serve_is_named() {
    let server = kinformer::testing::ApiServer::start().unwrap();
    let client = Client::new(server.config()).unwrap();
    for (group, named) in [("example.com/v1", "widgets.example.com"), ("v1", "widgets")] {
        let widgets = ApiResource::namespaced(group, "Widget", "widgets");
        let error = client.dynamic(&widgets).list(&ListOptions::new()).unwrap_err();
        assert!(error.is_not_found());
        let text = error.to_string();
        assert!(text.contains(&format!(" ({named}) ")), "{text}");
    }
}

#[test]
fn an_error_says_its_reason_once_and_a_main_that_fails_prints_one_line() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = Config::builder(format!("http://{closed}")).no_proxy();
    let broken = Server::start(|_| Reply::reset());
    let garbled = Server::json(200, r#"{"metadata":{"labels":[]}}"#);
    let cut =
        Server::start(|_| Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{").close());
    for (config, starts, once) in [
        (refused, format!("connect: {closed}: "), "refused"),
        (broken.config().max_retries(0), "response: ".into(), "reset"),
        (garbled.config(), "cannot decode an object of configmaps: ".into(), "its metadata"),
        (cut.config(), "body: ".into(), "body"),
    ] {
        let maps =
            client(config).dynamic(&ApiResource::namespaced("v1", "ConfigMap", "configmaps"));
        let error = maps.namespace("default").get("a").unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&starts), "{text}");
        // What `fn main() -> Result<()>` prints.
        let printed = format!("{error:?}");
        assert_eq!(printed.matches(once).count(), 1, "{printed}");
        assert!(!printed.contains('\n') && printed.starts_with(&starts), "{printed}");
    }
}

#[test]
fn what_is_no_failure_status_is_not_taken_for_one() {
    for body in [
        "{}",
        r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#,
        r#"{"status":"Failure","code":404,"reason":"NotFound"}"#,
        r#"{"kind":"Pod","status":"Failure","code":404}"#,
        r#"{"kind":"Status","status":"Failure","code":"404"}"#,
        "not json",
        "[",
        "",
        "null",
    ] {
        let error = failure(400, "application/json", body);
        assert!(error.is_bad_request() && !error.is_not_found(), "{body}");
        assert_eq!(cause(&error), "unknown", "JSON that is not understood is not for people");
    }
}

#[test]
fn text_is_kept_as_the_cause_up_to_a_limit() {
    let error = failure(403, "text/plain; charset=utf-8", "  you shall not pass\n");
    assert!(error.is_forbidden());
    assert_eq!(cause(&error), "you shall not pass");
    assert!(error.to_string().contains("you shall not pass"), "{error}");
    let html = failure(502, "text/html", "<html><h1>Bad Gateway</h1></html>");
    assert!(html.is_internal_error());
    assert_eq!(cause(&html), "<html><h1>Bad Gateway</h1></html>");
    let bare = got(|| Reply::new(401, &[], "Unauthorized")).unwrap_err();
    assert!(bare.is_unauthorized());
    assert_eq!(cause(&bare), "Unauthorized", "no content type is as good as text");
    let huge = failure(500, "text/plain", "x".repeat(5_000_000));
    assert_eq!(cause(&huge).len(), 2048);
    let binary = failure(500, "text/plain", b"a\xff\xfeb".to_vec());
    assert!(cause(&binary).starts_with('a') && cause(&binary).ends_with('b'));
    assert_eq!(cause(&failure(500, "application/octet-stream", "text")), "unknown");
}

#[test]
fn a_failure_without_end_or_cut_short_still_has_its_code() {
    let error = got(|| {
        let endless = Reply::raw(
            "HTTP/1.1 503 Whatever\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        endless.generate(|out| {
            loop {
                out.write_all(b"400\r\n")?;
                out.write_all(&[b'x'; 1024])?;
                out.write_all(b"\r\n")?;
            }
        })
    });
    assert!(error.unwrap_err().is_service_unavailable());
    let error = got(|| {
        let head =
            "HTTP/1.1 404 Whatever\r\nContent-Type: text/plain\r\nContent-Length: 999\r\n\r\n";
        Reply::raw(format!("{head}half of")).close()
    });
    let error = error.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(cause(&error), "half of");
}

#[test]
fn codes_have_their_reasons() {
    for (code, reason) in [
        (400, "BadRequest"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (405, "MethodNotAllowed"),
        (406, "NotAcceptable"),
        (409, "Conflict"),
        (410, ""),
        (413, ""),
        (415, "UnsupportedMediaType"),
        (418, ""),
        (422, "Invalid"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (501, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
        (301, ""),
        (304, ""),
    ] {
        let error = got(move || Reply::new(code, &[], "")).unwrap_err();
        let status = error.status().unwrap();
        assert_eq!((status.code, status.reason.as_str()), (code, reason));
        let details = status.details.as_ref().unwrap();
        assert_eq!((details.kind.as_str(), details.name.as_str()), ("pods", "web-0"));
        assert!(status.message.contains("pods web-0"), "{}", status.message);
    }
}

#[test]
fn a_conflict_means_another_thing_for_each_verb() {
    let server = Server::start(|_| Reply::new(409, &[], ""));
    let api = server.client().dynamic(&deployments()).namespace("a");
    let object = json!({"metadata": {"name": "b"}});
    assert!(api.create(&object).unwrap_err().is_already_exists());
    assert!(api.replace("b", &object).unwrap_err().is_conflict());
    assert!(api.patch("b", &Patch::Merge(&object)).unwrap_err().is_conflict());
    let error = api.delete("b").unwrap_err();
    assert!(error.is_conflict());
    let details = error.status().unwrap().details.as_ref().unwrap();
    assert_eq!((details.group.as_str(), details.kind.as_str()), ("apps", "deployments"));
}

#[test]
fn a_redirect_is_not_followed_and_takes_no_credentials_along() {
    let elsewhere = Server::json(200, POD);
    let target = format!("{}/stolen", elsewhere.url());
    let server = Server::start(move |_| Reply::new(307, &[("Location", &target)], ""));
    let error = get(&client(server.config().token("secret"))).unwrap_err();
    assert_eq!(error.status().unwrap().code, 307);
    assert_eq!(elsewhere.lines(), [""; 0]);
}

#[test]
fn a_deletion_is_done_or_pending() {
    let deleted = |code: u16, body: &'static str| {
        let server = Server::start(move |_| Reply::json(code, body));
        server.client().dynamic(&pods()).namespace("a").delete("web-0")
    };
    let done = r#"{"kind":"Status","apiVersion":"v1","status":"Success","details":{"uid":"u"}}"#;
    for code in [200, 202] {
        match deleted(code, done).unwrap() {
            Deletion::Done(status) => assert_eq!(status.details.unwrap().uid, "u"),
            other => panic!("{other:?}"),
        }
    }
    match deleted(200, POD).unwrap() {
        Deletion::Pending(object) => assert_eq!(object.resource_version(), "7"),
        other => panic!("{other:?}"),
    }
    for code in [200, 202, 204] {
        assert!(matches!(deleted(code, "").unwrap(), Deletion::Done(_)), "nothing more to say");
    }
    assert!(deleted(200, "<html>").is_err());
    let failed = status(404, "NotFound", "no");
    let server = Server::json(200, failed);
    let error = server.client().dynamic(&pods()).namespace("a").delete("web-0").unwrap_err();
    assert!(error.is_not_found());
}

#[test]
fn a_deleted_collection_may_be_answered_with_all_that_was_in_it() {
    let answered = |reply: fn() -> Reply| {
        let server = Server::start(move |_| reply());
        let pods = server.client().dynamic(&pods()).namespace("a");
        pods.delete_collection(&DeleteOptions::new(), &ListOptions::new())
    };
    answered(|| Reply::json(200, r#"{"kind":"Status","status":"Success"}"#)).unwrap();
    answered(|| Reply::json(204, "")).unwrap();
    answered(|| {
        Reply::stream()
            .chunk(r#"{"kind":"PodList","items":["#)
            .generate(|out| {
                // More than is ever read whole of an answer.
                for _ in 0..70 {
                    out.write_all(b"100000\r\n")?;
                    out.write_all(&vec![b' '; 1024 * 1024])?;
                    out.write_all(b"\r\n")?;
                }
                Ok(())
            })
            .chunk("]}")
            .end()
    })
    .unwrap();
    let error = answered(|| Reply::json(200, status(403, "Forbidden", "no"))).unwrap_err();
    assert!(error.is_forbidden());
    let error = answered(|| Reply::stream().chunk("{").bytes("5\r\nab").close()).unwrap_err();
    assert!(matches!(error, Error::Transport(_)), "{error:?}");
}

#[test]
fn a_success_without_an_object_gives_back_what_was_sent() {
    let server = Server::json(201, r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#);
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web-0"}});
    let pods = server.client().dynamic(&pods()).namespace("a");
    assert_eq!(pods.subresource("binding").create(&binding).unwrap().name(), "web-0");
    pods.evict("web-0", &DeleteOptions::new()).unwrap();
}

#[test]
fn find_tells_none_from_failure() {
    let found = |code, body: String| {
        let server = Server::json(code, body);
        server.client().dynamic(&pods()).namespace("a").find("web-0")
    };
    assert!(found(200, POD.into()).unwrap().is_some());
    assert!(found(404, status(404, "NotFound", "no")).unwrap().is_none());
    assert!(found(403, status(403, "Forbidden", "no")).unwrap_err().is_forbidden());
}

#[test]
fn a_log_is_read_as_it_is_written() {
    let gate = crate::support::Gate::default();
    let second = gate.clone();
    let server = Server::start(move |_| {
        Reply::stream_as("text/plain").chunk("one\n").wait(&second).chunk("two\n").end()
    });
    let pods = server.client().dynamic(&pods()).namespace("a");
    let mut log = pods.logs("web-0", &LogOptions::new().follow(true)).unwrap();
    let mut first = [0; 4];
    log.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"one\n", "before the second line is written");
    gate.open();
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "two\n");
}

#[test]
fn a_log_that_breaks_off_is_an_error_and_a_refused_one_says_why() {
    let server = Server::start(|request| match request.query() {
        "" => Reply::json(400, status(400, "BadRequest", "a container name must be specified")),
        _ => Reply::stream_as("text/plain").chunk("one\n").bytes("9\r\ntwo").close(),
    });
    let pods = server.client().dynamic(&pods()).namespace("a");
    let error = pods.logs("web-0", &LogOptions::new()).unwrap_err();
    assert!(error.is_bad_request() && error.to_string().contains("container name"), "{error}");
    let mut log = pods.logs("web-0", &LogOptions::new().tail_lines(1)).unwrap();
    let error = log.read_to_string(&mut String::new()).unwrap_err();
    let inner = error.get_ref().unwrap().downcast_ref::<Error>().unwrap();
    assert!(matches!(inner, Error::Transport(error) if error.is_disconnect()), "{inner:?}");
}

#[test]
fn a_raw_path_gives_the_bytes_or_the_failure() {
    let server = Server::start(|request| match request.path() {
        "/readyz" => Reply::new(200, &[("Content-Type", "text/plain")], "ok"),
        _ => Reply::new(500, &[("Content-Type", "text/plain")], "[-]etcd failed"),
    });
    assert_eq!(server.client().get_raw("/readyz").unwrap(), b"ok");
    let error = server.client().get_raw("/livez").unwrap_err();
    assert_eq!(cause(&error), "[-]etcd failed");
}

#[test]
fn an_answer_without_end_is_refused() {
    let error = got(|| {
        Reply::stream().generate(|out| {
            loop {
                out.write_all(b"100000\r\n")?;
                out.write_all(&vec![b' '; 1024 * 1024])?;
                out.write_all(b"\r\n")?;
            }
        })
    });
    assert!(error.unwrap_err().to_string().contains("larger than"));
}

mod warnings {
    use super::*;
    use crate::support::logged;

    #[test]
    fn each_is_readable_and_logged_once() {
        let server = Server::start(|_| {
            let warnings = [
                ("Warning", r#"299 - "v1 Foo is deprecated", 299 agent "use \"bar\", please""#),
                ("Warning", r#"299 - "unknown field spec.x" "Wed, 21 Oct 2015 07:28:00 GMT""#),
                ("Warning", r#"199 - "not for people""#),
                ("Warning", r#"299 - """#),
                ("Warning", "nonsense"),
            ];
            Reply::new(200, &warnings, POD)
        });
        let client = server.client();
        let other = client.clone();
        for _ in 0..3 {
            get(&client).unwrap();
        }
        let expected = ["v1 Foo is deprecated", r#"use "bar", please"#, "unknown field spec.x"];
        assert_eq!(client.warnings(), expected);
        assert_eq!(other.warnings(), expected, "clones share them");
        for text in expected {
            assert_eq!(logged(text), 1, "{text}");
        }
        assert_eq!(logged("not for people"), 0);
    }

    #[test]
    fn they_come_with_failures_lists_watches_and_logs_too() {
        let server = Server::start(|request| {
            let warning = match (request.method.as_str(), request.path()) {
                ("GET", path) if path.ends_with("/log") => r#"299 - "log""#,
                ("GET", _) if request.query().contains("watch") => r#"299 - "watch""#,
                ("GET", _) => r#"299 - "list""#,
                _ => r#"299 - "failure""#,
            };
            let code = if request.method == "POST" { 422 } else { 200 };
            let headers = [("Content-Type", "application/json"), ("Warning", warning)];
            Reply::new(code, &headers, r#"{"items":[]}"#)
        });
        let client = server.client();
        let pods = client.dynamic(&pods()).namespace("a");
        pods.create(&json!({})).unwrap_err();
        pods.list(&ListOptions::new()).unwrap();
        drop(pods.watch(&ListOptions::new()).unwrap());
        drop(pods.logs("x", &LogOptions::new()).unwrap());
        assert_eq!(client.warnings(), ["failure", "list", "watch", "log"]);
    }

    #[test]
    fn they_may_be_in_any_language() {
        let server = Server::start(|_| Reply::new(200, &[("Warning", "299 - \"caf\u{e9}\"")], POD));
        let client = server.client();
        get(&client).unwrap();
        assert_eq!(client.warnings(), ["caf\u{e9}"]);
    }
}
