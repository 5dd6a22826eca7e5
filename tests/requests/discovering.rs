//! Discovery: aggregated and legacy, whole and in part, and looking things up in it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use kinformer::{Discovery, Error, Result};
use serde_json::{Value, json};

use crate::support::{Reply, Request, Server, status};

fn resource(kind: &str, plural: &str, short: &[&str], namespaced: bool) -> Value {
    let scope = if namespaced { "Namespaced" } else { "Cluster" };
    json!({"resource": plural, "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": scope, "singularResource": kind.to_lowercase(), "verbs": ["get", "list", "watch"],
        "shortNames": short, "categories": ["all"],
        "subresources": [{"subresource": "status", "responseKind": {"kind": kind}, "verbs": ["get"]}]})
}

fn group(name: &str, versions: &[(&str, &str, Vec<Value>)]) -> Value {
    let versions: Vec<_> = versions
        .iter()
        .map(|(version, freshness, resources)| {
            json!({"version": version, "freshness": freshness, "resources": resources})
        })
        .collect();
    json!({"metadata": {"name": name}, "versions": versions})
}

fn aggregated(groups: &[Value]) -> Reply {
    let media =
        "application/json;as=APIGroupDiscoveryList;charset=utf-8;v=v2;g=apidiscovery.k8s.io";
    let body = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {}, "items": groups});
    Reply::new(200, &[("Content-Type", media)], body.to_string())
}

fn core() -> Value {
    let pods = resource("Pod", "pods", &["po"], true);
    let events = resource("Event", "events", &["ev"], true);
    group("", &[("v1", "Current", vec![pods, events, resource("Node", "nodes", &["no"], false)])])
}

fn others() -> Vec<Value> {
    let hpa = || resource("HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"], true);
    vec![
        group(
            "apps",
            &[("v1", "Current", vec![resource("Deployment", "deployments", &["deploy"], true)])],
        ),
        group(
            "autoscaling",
            &[
                ("v2", "Current", vec![hpa()]),
                ("v1", "Current", vec![hpa(), resource("Old", "olds", &["po"], true)]),
            ],
        ),
        group("events.k8s.io", &[("v1", "Current", vec![resource("Event", "events", &[], true)])]),
    ]
}

fn modern() -> Server {
    Server::start(|request| match request.path() {
        "/api" => aggregated(&[core()]),
        "/apis" => aggregated(&others()),
        _ => not_found(),
    })
}

fn not_found() -> Reply {
    Reply::json(404, status(404, "NotFound", "the server could not find the requested resource"))
}

/// What a server of before 1.26 answers.
fn legacy(request: &Request) -> Reply {
    let resources =
        |resources: Value| Reply::json(200, json!({"resources": resources}).to_string());
    match request.path() {
        "/api" => Reply::json(200, r#"{"kind":"APIVersions","versions":["v1"]}"#),
        "/apis" => Reply::json(
            200,
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [
                {"name": "autoscaling", "versions": [
                    {"groupVersion": "autoscaling/v1", "version": "v1"},
                    {"groupVersion": "autoscaling/v2", "version": "v2"}],
                    "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"}},
                {"name": "metrics.k8s.io", "versions": [{"version": "v1beta1"}],
                    "preferredVersion": {"version": "v1beta1"}}]})
            .to_string(),
        ),
        "/api/v1" => resources(json!([
            {"name": "pods", "singularName": "", "namespaced": true, "kind": "Pod",
                "verbs": ["get", "list"], "shortNames": ["po"], "categories": ["all"]},
            {"name": "pods/log", "singularName": "", "namespaced": true, "kind": "Pod", "verbs": ["get"]},
            {"name": "pods/eviction", "group": "policy", "version": "v1", "namespaced": true,
                "kind": "Eviction", "verbs": ["create"]},
            {"name": "nodes", "namespaced": false, "kind": "Node", "verbs": null}])),
        "/apis/autoscaling/v1" | "/apis/autoscaling/v2" => resources(json!([
            {"name": "horizontalpodautoscalers", "singularName": "horizontalpodautoscaler",
                "namespaced": true, "kind": "HorizontalPodAutoscaler", "verbs": ["list"]}])),
        "/apis/metrics.k8s.io/v1beta1" => resources(json!(null)),
        _ => not_found(),
    }
}

fn gvrs(discovery: &Discovery) -> Vec<String> {
    let all = discovery.resources().unwrap();
    all.iter().map(|found| found.resource.gvr().to_string()).collect()
}

#[test]
fn two_requests_tell_everything_about_a_modern_server() {
    let server = modern();
    let discovery = server.client().discovery();
    let groups = discovery.groups().unwrap();
    let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["", "apps", "autoscaling", "events.k8s.io"], "core first, then as served");
    assert_eq!(groups[2].versions, ["v2", "v1"]);
    assert_eq!(groups[2].preferred_version, "v2");
    assert_eq!(
        gvrs(&discovery),
        [
            "v1/pods",
            "v1/events",
            "v1/nodes",
            "apps/v1/deployments",
            "autoscaling/v2/horizontalpodautoscalers",
            "autoscaling/v1/horizontalpodautoscalers",
            "autoscaling/v1/olds",
            "events.k8s.io/v1/events",
        ]
    );
    let pods = &discovery.resources().unwrap()[0];
    assert_eq!((pods.singular.as_str(), pods.resource.kind()), ("pod", "Pod"));
    assert!(pods.resource.is_namespaced());
    assert_eq!(
        (&*pods.short_names, &*pods.categories),
        (&["po".to_owned()][..], &["all".to_owned()][..])
    );
    assert_eq!(pods.subresources, ["status"]);
    assert!(pods.supports(&["list", "watch"]) && !pods.supports(&["list", "delete"]));
    assert!(discovery.failures().unwrap().is_empty());
    let requests = server.requests();
    assert_eq!(server.lines(), ["GET /api", "GET /apis"], "and are not asked again");
    for request in requests {
        assert_eq!(
            request.header("accept").unwrap(),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
        );
    }
}

#[test]
fn stale_versions_and_resources_without_a_kind_are_left_out_and_stale_ones_told() {
    let server = Server::start(|request| match request.path() {
        "/api" => aggregated(&[core()]),
        _ => {
            let hidden = json!({"resource": "hidden", "scope": "Namespaced", "verbs": null,
                "subresources": null});
            aggregated(&[
                group(
                    "a",
                    &[
                        ("v2", "Stale", vec![]),
                        ("v1", "Current", vec![resource("A", "as", &[], true), hidden]),
                    ],
                ),
                group("b", &[("v1", "Stale", vec![])]),
                json!({"metadata": {"name": "empty"}, "versions": null}),
            ])
        }
    });
    let discovery = server.client().discovery();
    let groups = discovery.groups().unwrap();
    assert_eq!(groups.len(), 2, "{groups:?}");
    assert_eq!((groups[1].name.as_str(), groups[1].preferred_version.as_str()), ("a", "v1"));
    let failures = discovery.failures().unwrap();
    let failed: Vec<_> = failures.iter().map(|failure| failure.group_version.as_str()).collect();
    assert_eq!(failed, ["a/v2", "b/v1"]);
    assert!(gvrs(&discovery).contains(&"a/v1/as".to_owned()));
    assert_eq!(server.requests().len(), 4, "what failed is tried once more");
}

#[test]
fn a_legacy_server_is_asked_for_each_group_version() {
    let server = Server::start(legacy);
    let discovery = server.client().discovery();
    assert_eq!(
        gvrs(&discovery),
        [
            "v1/pods",
            "v1/nodes",
            "autoscaling/v1/horizontalpodautoscalers",
            "autoscaling/v2/horizontalpodautoscalers",
        ]
    );
    let groups = discovery.groups().unwrap();
    assert_eq!(groups[1].preferred_version, "v2", "as the server prefers, not the first");
    let resources = discovery.resources().unwrap();
    assert_eq!(resources[0].subresources, ["log", "eviction"]);
    assert_eq!(resources[0].singular, "pod", "made from the kind where there is none");
    assert!(!resources[1].resource.is_namespaced() && resources[1].verbs.is_empty());
    assert!(discovery.failures().unwrap().is_empty(), "a list without resources is no failure");
    let preferred: Vec<_> = discovery
        .preferred_resources()
        .unwrap()
        .iter()
        .map(|found| found.resource.gvr().to_string())
        .collect();
    assert_eq!(preferred, ["v1/pods", "v1/nodes", "autoscaling/v2/horizontalpodautoscalers"]);
    let mut lines = server.lines();
    lines.sort();
    assert_eq!(
        lines,
        [
            "GET /api",
            "GET /api/v1",
            "GET /apis",
            "GET /apis/autoscaling/v1",
            "GET /apis/autoscaling/v2",
            "GET /apis/metrics.k8s.io/v1beta1",
        ]
    );
}

#[test]
fn one_aggregated_answer_beside_a_legacy_one_is_not_trusted_alone() {
    let server = Server::start(|request| match request.path() {
        "/apis" => aggregated(&[group(
            "autoscaling",
            &[("v2", "Current", vec![]), ("v1", "Stale", vec![])],
        )]),
        _ => legacy(request),
    });
    let discovery = server.client().discovery();
    assert_eq!(
        gvrs(&discovery),
        ["v1/pods", "v1/nodes", "autoscaling/v2/horizontalpodautoscalers"]
    );
    assert_eq!(discovery.failures().unwrap()[0].group_version, "autoscaling/v1", "still told");
}

#[test]
fn an_older_aggregated_version_is_read_the_legacy_way() {
    let server = Server::start(|request| match request.path() {
        "/api" => Reply::json(
            200,
            json!({"apiVersion": "apidiscovery.k8s.io/v2beta1", "items": [core()]}).to_string(),
        ),
        "/apis" => Reply::json(200, r#"{"kind":"APIGroupList","groups":null}"#),
        _ => legacy(request),
    });
    assert_eq!(gvrs(&server.client().discovery()), ["v1/pods", "v1/nodes"]);
}

#[test]
fn one_broken_group_is_told_and_hides_no_other() {
    let server = Server::start(|request| match request.path() {
        "/apis/metrics.k8s.io/v1beta1" => {
            Reply::json(503, status(503, "ServiceUnavailable", "metrics-server is down"))
        }
        "/apis/autoscaling/v1" => Reply::json(200, "garbage"),
        _ => legacy(request),
    });
    let discovery = server.client().discovery();
    assert_eq!(
        gvrs(&discovery),
        ["v1/pods", "v1/nodes", "autoscaling/v2/horizontalpodautoscalers"]
    );
    let failures = discovery.failures().unwrap();
    assert_eq!(failures[0].group_version, "autoscaling/v1");
    assert_eq!(failures[1].group_version, "metrics.k8s.io/v1beta1");
    assert!(failures[1].message.contains("metrics-server is down"), "{failures:?}");
    assert_eq!(discovery.groups().unwrap().len(), 3);
    let asked = server.lines().iter().filter(|line| line.contains("metrics")).count();
    assert_eq!(asked, 2, "it may only be starting: one more try");
    assert_eq!(discovery.find_resource("hpa").map_err(drop), Err(()), "no short name here");
    assert_eq!(discovery.find_resource("pods").unwrap().resource.kind(), "Pod");
}

#[test]
fn a_group_that_works_at_the_second_try_is_no_failure() {
    let first = AtomicBool::new(true);
    let server = Server::start(move |request| match request.path() {
        "/apis/autoscaling/v2" if first.swap(false, Ordering::SeqCst) => Reply::new(503, &[], ""),
        _ => legacy(request),
    });
    let discovery = server.client().discovery();
    assert_eq!(discovery.resources().unwrap().len(), 4);
    assert!(discovery.failures().unwrap().is_empty());
}

#[test]
fn a_server_without_the_core_group_is_a_server() {
    let server = Server::start(|request| match request.path() {
        "/apis" => aggregated(&others()),
        _ => not_found(),
    });
    let discovery = server.client().discovery();
    assert_eq!(discovery.groups().unwrap()[0].name, "apps");
    assert_eq!(discovery.find_kind("Deployment").unwrap().resource.plural(), "deployments");
    let legacy = Server::start(|request| match request.path() {
        "/api" | "/api/v1" => not_found(),
        _ => legacy(request),
    });
    assert_eq!(legacy.client().discovery().resources().unwrap().len(), 2);
    let no_v1 = Server::start(|request| match request.path() {
        "/api/v1" => not_found(),
        _ => self::legacy(request),
    });
    assert!(no_v1.client().discovery().failures().unwrap().is_empty());
}

#[test]
fn without_the_list_of_groups_discovery_fails() {
    let check = |failing: &'static str, code: u16, is: fn(&Error) -> bool| {
        let server = Server::start(move |request| match request.path() {
            path if path == failing => Reply::new(code, &[], "no"),
            "/api" => aggregated(&[core()]),
            _ => aggregated(&others()),
        });
        let error = server.client().discovery().groups().unwrap_err();
        assert!(is(&error), "{failing} {code}: {error}");
    };
    check("/apis", 404, Error::is_not_found);
    check("/apis", 403, Error::is_forbidden);
    check("/api", 403, Error::is_forbidden);
    check("/api", 500, Error::is_internal_error);
    check("/apis", 500, Error::is_internal_error);
    let garbage = Server::json(200, "garbage");
    assert!(matches!(garbage.client().discovery().groups(), Err(Error::Decode(_))));
}

#[test]
fn a_resource_is_found_by_any_of_its_names() {
    let server = modern();
    let discovery = server.client().discovery();
    for (name, expected) in [
        ("pods", "v1/pods"),
        ("pod", "v1/pods"),
        ("Pods", "v1/pods"),
        ("po", "v1/pods"),
        ("pods.", "v1/pods"),
        ("pods.v1", "v1/pods"),
        ("v1/pods", "v1/pods"),
        ("deploy", "apps/v1/deployments"),
        ("deployments.apps", "apps/v1/deployments"),
        ("deploy.apps", "apps/v1/deployments"),
        ("deployments.v1.apps", "apps/v1/deployments"),
        ("apps/v1/deployments", "apps/v1/deployments"),
        ("hpa", "autoscaling/v2/horizontalpodautoscalers"),
        ("autoscaling/v1/horizontalpodautoscalers", "autoscaling/v1/horizontalpodautoscalers"),
        ("hpa.v1.autoscaling", "autoscaling/v1/horizontalpodautoscalers"),
        ("events", "v1/events"),
        ("events.events.k8s.io", "events.k8s.io/v1/events"),
        ("events.v1.events.k8s.io", "events.k8s.io/v1/events"),
        ("olds", "autoscaling/v1/olds"),
    ] {
        let found = discovery.find_resource(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found.resource.gvr().to_string(), expected, "{name}");
    }
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_group_whose_name_looks_like_a_version_is_a_group() {
    let server = Server::start(|request| match request.path() {
        "/api" => aggregated(&[core()]),
        _ => {
            let routes = || vec![resource("Route", "routes", &[], true)];
            aggregated(&[
                group("v2ray.example.com", &[("v1", "Current", routes())]),
                group("example.com", &[("v1beta1", "Current", routes())]),
            ])
        }
    });
    let discovery = server.client().discovery();
    for (name, expected) in [
        ("routes.v2ray.example.com", "v2ray.example.com/v1/routes"),
        ("routes.v1.v2ray.example.com", "v2ray.example.com/v1/routes"),
        ("routes.v1beta1.example.com", "example.com/v1beta1/routes"),
        ("routes.example.com", "example.com/v1beta1/routes"),
    ] {
        assert_eq!(discovery.find_resource(name).unwrap().resource.gvr().to_string(), expected);
    }
}

#[test]
fn a_kind_is_found_with_and_without_group_and_version() {
    let server = modern();
    let discovery = server.client().discovery();
    for (kind, expected) in [
        ("Pod", "v1/pods"),
        ("v1/Pod", "v1/pods"),
        ("Deployment", "apps/v1/deployments"),
        ("Deployment.apps", "apps/v1/deployments"),
        ("Deployment.v1.apps", "apps/v1/deployments"),
        ("apps/v1/Deployment", "apps/v1/deployments"),
        ("Event", "v1/events"),
        ("Event.events.k8s.io", "events.k8s.io/v1/events"),
        ("HorizontalPodAutoscaler", "autoscaling/v2/horizontalpodautoscalers"),
        ("Old", "autoscaling/v1/olds"),
    ] {
        let found = discovery.find_kind(kind).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(found.resource.gvr().to_string(), expected, "{kind}");
    }
    for none in ["pods", "Pod.apps", "v2/Pod", "apps/v2/Deployment", "", "/", "."] {
        assert!(discovery.find_kind(none).is_err(), "{none}");
    }
}

#[test]
fn what_is_not_there_is_an_error_that_names_what_is_near() {
    let server = modern();
    let discovery = server.client().discovery();
    let error = discovery.find_resource("deploymnets").unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    assert!(error.to_string().contains("deploymnets") && error.to_string().contains("deployments"));
    let error = discovery.find_kind("Pot").unwrap_err().to_string();
    assert!(error.contains("Pod"), "{error}");
    let error = discovery.find_resource("somethingelse").unwrap_err().to_string();
    assert!(!error.contains("near"), "{error}");
}

#[test]
fn a_miss_reads_again_once_and_finds_what_was_added() {
    let installed = Arc::new(AtomicBool::new(false));
    let server = {
        let installed = installed.clone();
        Server::start(move |request| match request.path() {
            "/api" => aggregated(&[core()]),
            _ if installed.load(Ordering::SeqCst) => aggregated(&[group(
                "example.com",
                &[("v1", "Current", vec![resource("Widget", "widgets", &["wd"], true)])],
            )]),
            _ => aggregated(&[]),
        })
    };
    let discovery = server.client().discovery();
    assert!(discovery.find_resource("widgets").is_err());
    assert_eq!(server.requests().len(), 2, "what was read just now is not read again");
    assert!(discovery.find_kind("Widget").is_err());
    assert_eq!(server.requests().len(), 4);
    installed.store(true, Ordering::SeqCst);
    let clone = discovery.clone();
    assert_eq!(clone.find_resource("wd").unwrap().resource.kind(), "Widget");
    assert_eq!(server.requests().len(), 6);
    assert_eq!(discovery.find_kind("Widget").unwrap().resource.plural(), "widgets");
    assert_eq!(server.requests().len(), 6, "clones share what was read");
}

#[test]
fn refresh_reads_again_and_keeps_what_it_had_if_that_fails() {
    let down = Arc::new(AtomicBool::new(false));
    let server = {
        let down = down.clone();
        Server::start(move |request| match request.path() {
            _ if down.load(Ordering::SeqCst) => Reply::new(503, &[], ""),
            "/api" => aggregated(&[core()]),
            _ => aggregated(&others()),
        })
    };
    let discovery = server.client().discovery();
    discovery.refresh().unwrap();
    discovery.refresh().unwrap();
    assert_eq!(server.requests().len(), 4);
    down.store(true, Ordering::SeqCst);
    assert!(discovery.refresh().unwrap_err().is_service_unavailable());
    assert_eq!(discovery.groups().unwrap().len(), 4);
}

#[test]
fn many_threads_may_look_things_up_at_once() {
    let server = modern();
    let discovery = server.client().discovery();
    let found = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| -> Result<()> {
                discovery.find_resource("deploy")?;
                discovery.find_kind("Pod")?;
                discovery.refresh()?;
                assert_eq!(discovery.preferred_resources()?.len(), 7);
                found.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
        }
    });
    assert_eq!(found.load(Ordering::SeqCst), 16);
}

#[test]
fn the_servers_version_is_read() {
    let server = Server::json(
        200,
        r#"{"major":"1","minor":"36+","gitVersion":"v1.36.3","gitCommit":"x","platform":"linux/amd64"}"#,
    );
    let version = server.client().server_version().unwrap();
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36+"));
    assert_eq!(
        (version.git_version.as_str(), version.platform.as_str()),
        ("v1.36.3", "linux/amd64")
    );
    assert_eq!(server.only().line(), "GET /version");
    let broken = Server::json(200, "[]");
    assert!(matches!(broken.client().server_version(), Err(Error::Decode(_))));
}

mod manifests {
    use super::*;
    use crate::support::client;

    /// A modern server that gives back what it is sent, except objects called `refused`.
    fn echo() -> Server {
        Server::start(|request| match (request.method.as_str(), request.path()) {
            (_, "/api") => aggregated(&[core()]),
            (_, "/apis") => aggregated(&others()),
            _ if request.json()["metadata"]["name"] == "refused" => {
                Reply::json(403, status(403, "Forbidden", "quota"))
            }
            _ => Reply::json(201, &request.body),
        })
    }

    fn posted(server: &Server) -> Vec<String> {
        let lines = server.lines().into_iter();
        lines.filter_map(|line| line.strip_prefix("POST ").map(str::to_owned)).collect()
    }

    #[test]
    fn each_document_is_created_where_its_kind_is_served() {
        let server = echo();
        let client = client(server.config().default_namespace("home"));
        let made = client
            .create_from_yaml(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n\
                 apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, namespace: other}\n---\n---\n\
                 apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: node-1}}\n\
                 - {apiVersion: v1, kind: Pod, metadata: {name: c, namespace: ''}}\n",
            )
            .unwrap();
        let kinds: Vec<_> = made.iter().map(ToString::to_string).collect();
        assert_eq!(kinds, ["Pod a", "Deployment other/b", "Node node-1", "Pod c"]);
        assert_eq!(
            posted(&server),
            [
                "/api/v1/namespaces/home/pods",
                "/apis/apps/v1/namespaces/other/deployments",
                "/api/v1/nodes",
                "/api/v1/namespaces/home/pods",
            ]
        );
    }

    #[test]
    fn a_text_at_fault_makes_nothing() {
        let good = "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n";
        for (bad, fragment) in [
            ("a: [", "line"),
            ("just text", "document 2"),
            ("[1, 2]", "document 2"),
            ("{kind: Pod}", "document 2 has no apiVersion"),
            ("{apiVersion: v1, kind: 3}", "document 2 has no kind"),
            ("{apiVersion: v1, kind: List, items: [{apiVersion: v1}]}", "document 2"),
        ] {
            let server = echo();
            let error = server.client().create_from_yaml(&format!("{good}{bad}")).unwrap_err();
            assert!(matches!(error, Error::Invalid(_)), "{bad}: {error:?}");
            assert!(error.to_string().contains(fragment), "{bad}: {error}");
            assert_eq!(posted(&server), [""; 0], "{bad}");
        }
        assert!(echo().client().create_from_yaml("").unwrap().is_empty());
    }

    #[test]
    fn a_kind_that_is_not_served_and_a_refusal_say_so() {
        let server = echo();
        let error = server.client().create_from_yaml("{apiVersion: v1, kind: Widget}").unwrap_err();
        assert!(error.to_string().contains("v1/Widget"), "{error}");
        let text = "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n\
                    {apiVersion: v1, kind: Pod, metadata: {name: refused}}\n---\n\
                    {apiVersion: v1, kind: Pod, metadata: {name: c}}";
        assert!(server.client().create_from_yaml(text).unwrap_err().is_forbidden());
        assert_eq!(
            posted(&server).len(),
            2,
            "the one before was made, the one after was not tried"
        );
    }
}
