use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use kinformer::testing::ApiServer;
use serde_json::json;

use crate::{
    client::{Http, Watch, eventually, get},
    lists::map,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn a_thousand_watches_get_every_event_in_order() {
    const WATCHES: usize = 1000;
    const EVENTS: usize = 20;
    let server = ApiServer::start().unwrap();
    let target = format!("{MAPS}?watch=1&resourceVersion={}", server.resource_version());
    let mut watches: Vec<Watch> = (0..WATCHES).map(|_| Watch::start(&server, &target)).collect();
    eventually("all watches run", || server.watches() == WATCHES);
    for index in 0..EVENTS {
        server.create(map(&format!("m{index:03}"))).unwrap();
    }
    for watch in &mut watches {
        for index in 0..EVENTS {
            assert_eq!(watch.brief(), format!("ADDED m{index:03}"));
        }
    }
    let start = Instant::now();
    server.stop();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    for watch in &mut watches {
        assert!(watch.next().is_none());
    }
}

#[test]
fn ten_thousand_objects_are_listed_quickly() {
    let server = ApiServer::start().unwrap();
    for index in 0..10_000 {
        server.create(map(&format!("m{index:05}"))).unwrap();
    }
    let mut http = Http::connect(&server);
    // Tens of milliseconds when optimised and alone; this is neither, but not every time as busy.
    let mut best = Duration::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        let answer = http.ask("GET", MAPS, "", b"");
        best = best.min(start.elapsed());
        assert_eq!(answer.json()["items"].as_array().unwrap().len(), 10_000);
        println!("10,000 objects, {} bytes: {best:?}", answer.body.len());
        if best < Duration::from_secs(3) {
            return;
        }
    }
    panic!("{best:?}");
}

#[test]
fn a_watch_across_a_busy_history_misses_nothing() {
    let server = ApiServer::builder().history(50_000).start().unwrap();
    let writers = 4;
    let each = 200;
    let from = server.resource_version();
    thread::scope(|scope| {
        for writer in 0..writers {
            let server = &server;
            scope.spawn(move || {
                for index in 0..each {
                    server.create(map(&format!("w{writer}-{index}"))).unwrap();
                }
            });
        }
        let mut watch = Watch::start(&server, &format!("{MAPS}?watch=1&resourceVersion={from}"));
        let mut last = 0;
        for _ in 0..writers * each {
            let event = watch.next().unwrap();
            let revision = event["object"]["metadata"]["resourceVersion"].as_str().unwrap();
            let revision: u64 = revision.parse().unwrap();
            assert!(revision > last);
            last = revision;
        }
    });
}

/// Threads of this process whose names begin with `kinf-api`, other tests' included.
#[cfg(target_os = "linux")]
fn api_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.starts_with("kinf-api"))
        .count()
}

#[cfg(target_os = "linux")]
#[test]
fn no_thread_is_left_behind() {
    // In a process of its own, where no other test starts servers.
    if std::env::var_os("KINFORMER_ALONE").is_none() {
        let test = "load::no_thread_is_left_behind";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env("KINFORMER_ALONE", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    assert_eq!(api_threads(), 0);
    for _ in 0..20 {
        let server = ApiServer::demo().unwrap();
        let watches: Vec<Watch> =
            (0..10).map(|_| Watch::start(&server, &format!("{MAPS}?watch=1"))).collect();
        let mut idle = Http::connect(&server);
        assert_eq!(idle.ask("GET", "/version", "", b"").code, 200);
        // A thread gives itself its name: it may not have got there yet.
        eventually("all threads run", || api_threads() >= 13);
        let start = Instant::now();
        drop(server);
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
        // The system may show a thread for a moment after it has been joined.
        eventually("no thread is left", || api_threads() == 0);
        drop(watches);
    }
    let server = ApiServer::start().unwrap();
    for _ in 0..200 {
        assert_eq!(get(&server, "/version").0, 200);
    }
    eventually("connections are gone", || server.connections() == 0 && api_threads() == 1);
    let files = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = files();
    for _ in 0..50 {
        drop(Watch::start(&server, &format!("{MAPS}?watch=1")));
    }
    eventually("watches are gone", || server.connections() == 0);
    eventually("their sockets, too", || files() <= before + 1);
}

#[cfg(target_os = "linux")]
#[test]
fn stopping_takes_no_file_descriptor_and_everybody_waits() {
    // In a process of its own, where nobody else needs one.
    if std::env::var_os("KINFORMER_ALONE").is_none() {
        let test = "load::stopping_takes_no_file_descriptor_and_everybody_waits";
        let command = format!("ulimit -n 200; exec \"$0\" {test} --exact --nocapture");
        let output = std::process::Command::new("sh")
            .args(["-c".as_ref(), command.as_ref(), std::env::current_exe().unwrap().as_os_str()])
            .env("KINFORMER_ALONE", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let server = ApiServer::start().unwrap();
    let watches: Vec<Watch> =
        (0..30).map(|_| Watch::start(&server, &format!("{MAPS}?watch=1"))).collect();
    let files: Vec<fs::File> =
        std::iter::from_fn(|| fs::File::open("/dev/null").ok()).take(1000).collect();
    assert!(files.len() < 200, "none is left");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                server.stop();
                assert_eq!(server.connections(), 0, "every connection's thread has ended");
            });
        }
    });
    drop(files);
    // The system may show a thread for a moment after it has been joined.
    eventually("no thread is left", || api_threads() == 0);
    drop(watches);
}

#[test]
fn whatever_comes_in_the_server_answers_or_hangs_up() {
    let server = ApiServer::builder().control(true).start().unwrap();
    let address = server.url().strip_prefix("http://").unwrap().to_owned();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let parts: &[&[u8]] = &[
        b"GET ",
        b"POST ",
        b"PATCH ",
        b"DELETE ",
        b"/api/v1/",
        b"namespaces/default/",
        b"pods",
        b"configmaps",
        b"/a",
        b"/status",
        b"/scale",
        b"?watch=1&timeoutSeconds=1",
        b"&limit=1",
        b"&continue=e30",
        b"?labelSelector=%",
        b" HTTP/1.1\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Type: application/apply-patch+yaml\r\n",
        b"Content-Type: application/json-patch+json\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"{\"metadata\":{\"name\":\"a\"}}",
        b"{}",
        b"[]",
        b"null",
        b"\x00",
        b"\xff\xfe",
        b"%",
        b"../..",
        b"/_testing/faults",
        b"Expect: 100-continue\r\n",
        b"Accept: a;as=;;,\r\n",
    ];
    for _ in 0..400 {
        let mut bytes = Vec::new();
        for _ in 0..random.below(14) {
            bytes.extend_from_slice(parts[random.below(parts.len())]);
        }
        for _ in 0..random.below(3) {
            if !bytes.is_empty() {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
        }
        let mut tcp = TcpStream::connect(&address).unwrap();
        tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The server may have closed before it has read all of it.
        let _ = tcp.write_all(&bytes);
        let _ = tcp.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        match tcp.read_to_end(&mut answer) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{bytes:?}");
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.contains("panicked"), "{answer} for {}", String::from_utf8_lossy(&bytes));
    }
    assert_eq!(get(&server, "/version").0, 200);
}

#[test]
fn objects_of_any_shape_do_not_panic_the_server() {
    let server = ApiServer::start().unwrap();
    let shapes = [
        json!(null),
        json!(1),
        json!("x"),
        json!([]),
        json!({}),
        json!([null]),
        json!({"name": 1}),
        json!({"name": "a", "labels": 1}),
        json!({"name": "a", "labels": {"x": 1}}),
        json!({"name": "a", "finalizers": 1}),
        json!({"name": "a", "ownerReferences": [1, {"uid": 2}]}),
        json!({"name": "a", "managedFields": [1]}),
        json!({"name": "a", "deletionTimestamp": 1}),
    ];
    let kinds = [
        ("/api/v1/namespaces/default/pods", "/a"),
        ("/api/v1/namespaces", "/a"),
        ("/apis/apps/v1/namespaces/default/deployments", "/a/scale"),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/a"),
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", ""),
    ];
    let mut http = Http::connect(&server);
    for (collection, name) in kinds {
        for metadata in &shapes {
            for other in &shapes {
                let object =
                    json!({"metadata": metadata, "spec": other, "status": other}).to_string();
                let requests = [
                    ("POST", collection.to_owned(), "application/json"),
                    ("PUT", format!("{collection}{name}"), "application/json"),
                    ("PATCH", format!("{collection}{name}"), "application/merge-patch+json"),
                    (
                        "PATCH",
                        format!("{collection}{name}?fieldManager=f"),
                        "application/apply-patch+yaml",
                    ),
                    (
                        "PATCH",
                        format!("{collection}{name}"),
                        "application/strategic-merge-patch+json",
                    ),
                    ("DELETE", format!("{collection}{name}"), "application/json"),
                ];
                for (method, target, kind) in requests {
                    let headers = format!("Content-Type: {kind}\r\n");
                    let answer = http.ask(method, &target, &headers, object.as_bytes());
                    let text = String::from_utf8_lossy(&answer.body);
                    assert!(!text.contains("panicked"), "{method} {target} {object}");
                }
            }
        }
    }
}

/// A xorshift generator: the same sequence in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}
