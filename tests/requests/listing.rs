//! Lists: cut into objects as they arrive, complete or an error, page by page.

use std::{
    fmt::Write as _,
    io,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use kinformer::{
    Api, DynamicObject, Error, ListMeta, ListOptions, Object, Resource, ResourceVersionMatch,
    Result, config::Timeouts,
};

use crate::support::{Gate, Reply, Server, client, pods, status};

fn item(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"a","resourceVersion":"5"}}}}"#)
}

fn page(names: &[&str], continue_token: &str) -> String {
    let items: Vec<_> = names.iter().map(|name| item(name)).collect();
    format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"9","continue":"{continue_token}"}},"items":[{}]}}"#,
        items.join(",")
    )
}

fn api(server: &Server) -> Api<DynamicObject> {
    server.client().dynamic(&pods())
}

/// The names that a list with this answer gives before its end, and how it ends.
fn listed(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (Vec<String>, Result<ListMeta>) {
    let server = Server::start(move |_| reply());
    let mut names = Vec::new();
    let result = api(&server).list_each(&ListOptions::new(), |item| {
        names.push(item.map_or_else(|_| "bad".to_owned(), |object| object.name().to_owned()));
    });
    (names, result)
}

fn listed_from(body: impl Into<String>) -> (Vec<String>, Result<ListMeta>) {
    let body = body.into();
    listed(move || Reply::json(200, &body))
}

#[test]
fn items_come_in_order_with_what_the_list_says() {
    let body = page(&["b", "a", "c"], "t")
        .replace(r#""continue":"t""#, r#""continue":"t","remainingItemCount":12,"selfLink":"/x""#);
    let server = Server::json(200, body);
    let list = api(&server).list(&ListOptions::new()).unwrap();
    let keys: Vec<_> = list.items.iter().map(|object| object.key().to_string()).collect();
    assert_eq!(keys, ["a/b", "a/a", "a/c"]);
    assert_eq!(list.metadata.resource_version, "9");
    assert_eq!(list.metadata.continue_token, "t");
    assert_eq!(list.metadata.remaining_item_count, Some(12));
    for object in &list.items {
        assert_eq!((object.kind(), object.api_version()), ("Pod", "v1"));
        assert_eq!(object.get().unwrap()["kind"], "Pod", "in the text too");
    }
    assert_eq!(list.into_iter().count(), 3);
}

#[test]
fn members_of_a_list_come_in_any_order_and_layout() {
    let body = format!(
        "\n{{ \"items\" : [ {} ,\n{} ] , \"x\": {{\"items\":[1]}},\n\"metadata\":{{\"resourceVersion\":\"9\"}} }}\n",
        item("a"),
        item("b")
    );
    for size in [1, 5, 1000] {
        let body = body.clone();
        let (names, meta) = listed(move || Reply::stream().chunks_of(size, &body).end());
        assert_eq!(names, ["a", "b"], "chunks of {size}");
        assert_eq!(meta.unwrap().resource_version, "9");
    }
}

#[test]
fn a_list_may_be_empty_in_many_ways() {
    for body in [
        r#"{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[]}"#,
        r#"{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":null}"#,
        r#"{"kind":"PodList","metadata":{"resourceVersion":"9"}}"#,
        r#"{"metadata":{"resourceVersion":"9"},"items":[]}"#,
    ] {
        let (names, meta) = listed_from(body);
        assert_eq!((names.len(), meta.unwrap().resource_version.as_str()), (0, "9"), "{body}");
    }
    let (_, meta) = listed_from(r#"{"kind":"PodList","items":[],"metadata":null}"#);
    assert_eq!(meta.unwrap(), ListMeta::default());
}

#[test]
fn what_is_no_list_is_never_taken_for_an_empty_one() {
    for body in [
        "",
        "{}",
        "[]",
        "null",
        "ok",
        "<html></html>",
        r#"{"kind":"Pod","metadata":{"name":"a"}}"#,
        r#"{"kind":"Table","columnDefinitions":[],"rows":[]}"#,
        r#"{"kind":"Table","items":[]}"#,
        r#"{"kind":"PodList","items":{}}"#,
        r#"{"kind":"PodList","items":"a"}"#,
        r#"{"kind":"PodList","items":3}"#,
        r#"{"kind":"PodList","items":nothing}"#,
        r#"{"kind":"PodList","items":[]} {}"#,
        r#"{"kind":"PodList","items":[],}"#,
        r#"{"kind":3,"items":[]}"#,
        r#"{"kind":"PodList","items":[],"metadata":{"resourceVersion":7}}"#,
    ] {
        let (names, result) = listed_from(body);
        assert!(names.is_empty(), "{body}");
        let error = result.expect_err(body);
        assert!(matches!(error, Error::Decode(_) | Error::Transport(_)), "{body}: {error:?}");
    }
}

#[test]
fn a_status_in_place_of_a_list_is_that_failure() {
    let (names, result) = listed_from(status(410, "Expired", "too old"));
    assert!(names.is_empty() && result.unwrap_err().is_expired());
    let success = listed_from(r#"{"kind":"Status","status":"Success"}"#);
    assert!(success.1.is_err(), "a success without objects is no list either");
}

#[test]
fn a_list_that_is_cut_short_is_an_error_wherever_it_is_cut() {
    let whole = page(&["a", "b", "c"], "");
    for end in (0..whole.len()).step_by(7) {
        let (text, length) = (whole[..end].to_owned(), whole.len());
        let (_, short) = listed(move || {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
            Reply::raw(format!("{head}Content-Length: {length}\r\n\r\n{text}")).close()
        });
        let error = short.expect_err(&whole[..end]);
        assert!(matches!(&error, Error::Transport(error) if error.is_disconnect()), "{error:?}");
        // The same where nothing but the JSON itself says so.
        let (_, short) = listed_from(&whole[..end]);
        assert!(short.is_err(), "{}", &whole[..end]);
    }
    let text = whole.clone();
    let (names, cut) = listed(move || Reply::stream().chunk(&text[..text.len() - 2]).close());
    assert_eq!(names, ["a", "b", "c"], "given before the failure");
    assert!(matches!(cut.unwrap_err(), Error::Transport(error) if error.is_disconnect()));
    let (_, cut) = listed(move || Reply::stream().chunk(&whole).close());
    assert!(cut.is_err(), "even if only the last chunk is missing");
}

#[test]
fn list_never_returns_a_part() {
    let body = page(&["a", "b"], "");
    let server = Server::start(move |_| Reply::stream().chunk(&body[..body.len() - 4]).close());
    assert!(api(&server).list(&ListOptions::new()).is_err());
}

#[test]
fn one_bad_item_costs_itself_alone_with_list_each_and_the_whole_list_with_list() {
    let body = format!(
        r#"{{"kind":"PodList","metadata":{{"resourceVersion":"9"}},"items":[{},{{"metadata":{{}}}},3,{{"a" 1}},{}]}}"#,
        item("a"),
        item("b")
    );
    let (names, meta) = listed_from(body.as_str());
    assert_eq!(names, ["a", "bad", "bad", "bad", "b"]);
    assert_eq!(meta.unwrap().resource_version, "9");
    let server = Server::json(200, body);
    let error = api(&server).list(&ListOptions::new()).unwrap_err();
    assert!(matches!(&error, Error::Decode(error) if error.what().contains("pods")), "{error:?}");
}

#[test]
fn an_item_is_given_before_the_next_has_arrived() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |_| {
        let reply = Reply::stream().chunk(format!(r#"{{"items":[{}"#, item("a"))).wait(&held);
        reply.chunk(format!(",{}]}}", item("b"))).end()
    });
    let mut names = Vec::new();
    let meta = api(&server).list_each(&ListOptions::new(), |object| {
        names.push(object.unwrap().name().to_owned());
        // The server waits for this.
        gate.open();
    });
    assert_eq!(meta.unwrap(), ListMeta::default());
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_compressed_list_is_read_as_any_other() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(page(&["a", "b"], "").as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    let whole = packed.clone();
    let (names, meta) = listed(move || Reply::new(200, &headers, &whole));
    assert_eq!((names.len(), meta.unwrap().resource_version.as_str()), (2, "9"));
    let (_, cut) = listed(move || Reply::new(200, &headers, &packed[..packed.len() - 20]));
    assert!(cut.is_err(), "a compressed list may be cut short too");
}

mod paging {
    use super::*;

    fn names(objects: impl Iterator<Item = Result<Object<DynamicObject>>>) -> Vec<String> {
        objects
            .map(|object| object.map_or_else(|e| e.to_string(), |object| object.name().to_owned()))
            .collect()
    }

    #[test]
    fn pages_follow_their_tokens_and_the_version_is_said_once() {
        let server = Server::start(|request| {
            Reply::json(
                200,
                match request.query().split("continue=").nth(1) {
                    None => page(&["a", "b"], "t/1="),
                    Some(rest) if rest.starts_with("t%2F1%3D") => page(&["c"], "t2"),
                    Some(_) => page(&["d"], ""),
                },
            )
        });
        let options = ListOptions::new()
            .limit(2)
            .resource_version("7")
            .resource_version_match(ResourceVersionMatch::NotOlderThan);
        assert_eq!(names(api(&server).list_all(&options)), ["a", "b", "c", "d"]);
        assert_eq!(
            server.lines(),
            [
                "GET /api/v1/pods?limit=2&resourceVersion=7&resourceVersionMatch=NotOlderThan",
                "GET /api/v1/pods?continue=t%2F1%3D&limit=2",
                "GET /api/v1/pods?continue=t2&limit=2",
            ]
        );
    }

    #[test]
    fn a_page_has_500_objects_and_is_asked_for_when_the_one_before_is_used_up() {
        let server = Server::in_turn([
            Reply::json(200, page(&["a"], "t")),
            Reply::json(200, page(&["b"], "")),
        ]);
        let mut all = api(&server).list_all(&ListOptions::new());
        assert_eq!(server.lines(), [""; 0], "nothing is asked for until the first object is");
        assert_eq!(all.next().unwrap().unwrap().name(), "a");
        assert_eq!(server.lines(), ["GET /api/v1/pods?limit=500"]);
        assert_eq!(names(all), ["b"]);
    }

    #[test]
    fn none_one_or_a_full_page_are_not_asked_for_twice() {
        for objects in [&[][..], &["a"], &["a", "b"]] {
            let body = page(objects, "");
            let server = Server::json(200, body);
            assert_eq!(names(api(&server).list_all(&ListOptions::new().limit(2))), objects);
            assert_eq!(server.requests().len(), 1);
        }
    }

    #[test]
    fn an_empty_page_with_a_token_is_not_the_end() {
        let server = Server::in_turn([
            Reply::json(200, page(&["a"], "t1")),
            Reply::json(200, page(&[], "t2")),
            Reply::json(200, page(&["b"], "")),
        ]);
        assert_eq!(names(api(&server).list_all(&ListOptions::new())), ["a", "b"]);
    }

    #[test]
    fn a_token_that_expired_is_told_and_ends_it() {
        let server = Server::in_turn([
            Reply::json(200, page(&["a"], "t1")),
            Reply::json(
                410,
                r#"{"kind":"Status","status":"Failure","reason":"Expired","code":410,
                    "metadata":{"continue":"t1-inconsistent"}}"#,
            ),
        ]);
        let mut all = api(&server).list_all(&ListOptions::new());
        assert_eq!(all.next().unwrap().unwrap().name(), "a");
        let error = all.next().unwrap().unwrap_err();
        assert!(error.is_expired());
        assert_eq!(error.status().unwrap().metadata.continue_token, "t1-inconsistent");
        assert!(all.next().is_none());
        assert_eq!(server.requests().len(), 2);
    }

    #[test]
    fn a_page_that_is_cut_short_gives_none_of_its_objects() {
        let server = Server::start(|_| {
            let body = page(&["a", "b"], "t");
            Reply::stream().chunk(&body[..body.len() - 1]).close()
        });
        let mut all = api(&server).list_all(&ListOptions::new());
        assert!(all.next().unwrap().is_err());
        assert!(all.next().is_none());
    }
}

#[test]
fn metadata_of_a_server_that_sends_everything_is_metadata_all_the_same() {
    use k8s_openapi::api::core::v1::Pod;
    let full = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a","labels":null,
        "annotations":{"x":"y"},"ownerReferences":[{"name":"o"}]},"spec":{"containers":[]}}]}"#;
    let partial = r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[
        {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a",
        "annotations":{"x":"y"},"ownerReferences":[{"name":"o"}]}}]}"#;
    for body in [full, partial] {
        let server = Server::json(200, body);
        let list = server.client().metadata::<Pod>().list(&ListOptions::new()).unwrap();
        let object = &list.items[0];
        assert_eq!(object.resource(), &Pod::api_resource());
        assert_eq!((object.kind(), object.name()), ("Pod", "a"));
        let metadata = &object.get().unwrap().metadata;
        assert_eq!(metadata.annotations["x"], "y");
        assert_eq!(metadata.owner_references[0].name, "o");
    }
}

/// The largest the process has been, in KiB.
#[cfg(target_os = "linux")]
fn peak_memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A pod of about 11.3 KB, half of it managed fields, as API servers have them.
fn realistic_pod(number: usize) -> String {
    let mut pod = format!(
        r#"{{"metadata":{{"name":"web-{number}","namespace":"default","uid":"{number:032}","resourceVersion":"{number}","labels":{{"app":"web","pod-template-hash":"5d59d67564"}},"managedFields":[{{"manager":"kubelet","operation":"Update","fieldsV1":{{"#
    );
    for field in 0..105 {
        let comma = if field > 0 { "," } else { "" };
        write!(pod, r#"{comma}"f:field{field}":{{".":{{}},"f:name":{{}},"f:value-of-it":{{}}}}"#)
            .unwrap();
    }
    pod += r#"}}]},"spec":{"containers":[{"name":"web","image":"registry/web:1","env":["#;
    for variable in 0..105 {
        let comma = if variable > 0 { "," } else { "" };
        write!(pod, r#"{comma}{{"name":"VARIABLE_{variable}","value":"a \"quoted\" value"}}"#)
            .unwrap();
    }
    pod + r#"]}]},"status":{"phase":"Running","podIP":"10.0.0.1"}}"#
}

/// 230 MB of them, or as many as an unoptimised build reads in a few seconds.
const MANY: usize = if cfg!(debug_assertions) { 2_000 } else { 20_000 };

#[cfg(target_os = "linux")]
#[test]
#[ignore = "run by a_list_of_many_pods_is_read_with_a_few_objects_of_memory, in its own process"]
fn reads_a_large_list_alone() {
    static SENT: AtomicUsize = AtomicUsize::new(0);
    let server = Server::start(|_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
        let list = |out: &mut dyn io::Write| {
            out.write_all(br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":["#)?;
            for number in 0..MANY {
                let pod = realistic_pod(number);
                SENT.fetch_add(pod.len(), Ordering::Relaxed);
                out.write_all(if number > 0 { b"," } else { b"" })?;
                out.write_all(pod.as_bytes())?;
            }
            out.write_all(b"]}")
        };
        Reply::raw(head).generate(list).close()
    });
    let mut timeouts = Timeouts::default();
    // However busy the machine is.
    timeouts.list_page = Duration::from_secs(600);
    let pods = client(server.config().timeouts(timeouts)).dynamic(&pods());
    let before = peak_memory();
    let started = std::time::Instant::now();
    let (mut count, mut bytes) = (0, 0);
    pods.list_each(&ListOptions::new(), |object| {
        let object = object.unwrap();
        assert_eq!(object.name(), format!("web-{count}"));
        count += 1;
        bytes += object.json().len();
    })
    .unwrap();
    assert_eq!(count, MANY);
    println!(
        "\nread {} MB in {MANY} pods ({} MB without managed fields) in {:?}",
        SENT.load(Ordering::Relaxed) / 1_000_000,
        bytes / 1_000_000,
        started.elapsed()
    );
    println!("peak memory grew by {} KiB", peak_memory() - before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_of_many_pods_is_read_with_a_few_objects_of_memory() {
    // What other tests hold at the same time must not count.
    let alone = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "listing::reads_a_large_list_alone", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&alone.stdout);
    assert!(alone.status.success(), "{text}{}", String::from_utf8_lossy(&alone.stderr));
    let grown = text.lines().find_map(|line| line.strip_prefix("peak memory grew by "));
    let grown: usize = grown.and_then(|grown| grown.strip_suffix(" KiB")).unwrap().parse().unwrap();
    for line in text.lines().filter(|line| line.starts_with("read ") || line.starts_with("peak ")) {
        println!("{line}");
    }
    assert!(grown < 16 * 1024, "{grown} KiB");
}
