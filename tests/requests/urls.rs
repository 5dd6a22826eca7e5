//! What each verb sends: method, path, query, headers, body.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kinformer::{
    Api, Client, DeleteOptions, DynamicObject, Error, FieldValidation, ListOptions, LogOptions,
    Patch, PropagationPolicy, ResourceVersionMatch, fields, labels,
};
use serde_json::json;

use crate::support::{POD, Reply, Request, Server, client, deployments, nodes, pods};

/// The one request that `call` makes.
fn sent(call: impl FnOnce(&Client)) -> Request {
    let server = Server::json(200, POD);
    call(&server.client());
    server.only()
}

/// The same, for calls on the pods of namespace `a`.
fn pod_call(call: impl FnOnce(&Api<DynamicObject>)) -> Request {
    sent(|client| call(&client.dynamic(&pods()).namespace("a")))
}

/// Why `call` was refused; nothing may have been sent.
fn refused<T: std::fmt::Debug>(call: impl FnOnce(&Client) -> kinformer::Result<T>) -> String {
    let server = Server::json(200, POD);
    let error = call(&server.client()).unwrap_err();
    assert_eq!(server.lines(), [""; 0], "refused before anything is sent");
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    error.to_string()
}

#[test]
fn get_asks_for_one_object_as_json() {
    let request = sent(|client| drop(client.api::<Pod>().namespace("a").get("web-0").unwrap()));
    assert_eq!(request.line(), "GET /api/v1/namespaces/a/pods/web-0");
    assert_eq!(request.header("accept").unwrap(), "application/json");
    assert_eq!(request.header("content-type"), None, "there is no body");
    assert!(request.body.is_empty());
    assert_eq!(request.header("authorization"), None);
    let request = sent(|client| drop(client.dynamic(&nodes()).get("n").unwrap()));
    assert_eq!(request.line(), "GET /api/v1/nodes/n");
}

#[test]
fn a_group_has_its_own_root() {
    let request = sent(|client| drop(client.api::<Deployment>().namespace("a").get("b").unwrap()));
    assert_eq!(request.line(), "GET /apis/apps/v1/namespaces/a/deployments/b");
}

#[test]
fn list_sends_exactly_what_was_asked_for() {
    let list = r#"{"kind":"PodList","metadata":{},"items":[]}"#;
    let server = Server::json(200, list);
    let all = server.client().dynamic(&pods());
    all.list(&ListOptions::new()).unwrap();
    let options = ListOptions::new()
        .labels(labels::parse("app=web,tier in (a,b)").unwrap())
        .fields(fields::parse("metadata.name=c d").unwrap())
        .limit(5)
        .resource_version("0")
        .resource_version_match(ResourceVersionMatch::NotOlderThan)
        .timeout_seconds(0);
    all.namespace("a").list(&options).unwrap();
    let lines = server.lines();
    assert_eq!(lines[0], "GET /api/v1/pods");
    assert_eq!(
        lines[1],
        "GET /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dc+d\
         &labelSelector=app%3Dweb%2Ctier+in+%28a%2Cb%29&limit=5&resourceVersion=0\
         &resourceVersionMatch=NotOlderThan&timeoutSeconds=0"
    );
}

#[test]
fn watch_is_a_list_that_streams() {
    let server = Server::start(|_| Reply::stream().end());
    let pods = server.client().dynamic(&pods());
    drop(pods.watch(&ListOptions::new().resource_version("42").limit(3)).unwrap());
    drop(
        pods.namespace("a")
            .watch(
                &ListOptions::new()
                    .bookmarks(false)
                    .send_initial_events(false)
                    .timeout_seconds(300),
            )
            .unwrap(),
    );
    assert_eq!(
        server.lines(),
        [
            "GET /api/v1/pods?allowWatchBookmarks=true&resourceVersion=42&watch=true",
            "GET /api/v1/namespaces/a/pods?sendInitialEvents=false&timeoutSeconds=300&watch=true",
        ]
    );
    let request = &server.requests()[0];
    assert_eq!(request.header("accept").unwrap(), "application/json");
    assert_eq!(request.header("accept-encoding").unwrap(), "identity", "events must not wait");
}

#[test]
fn create_posts_to_the_collection_with_its_type() {
    let request = pod_call(|pods| drop(pods.create(&json!({"metadata": {"name": "x"}})).unwrap()));
    assert_eq!(request.line(), "POST /api/v1/namespaces/a/pods");
    assert_eq!(request.header("content-type").unwrap(), "application/json");
    let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}});
    assert_eq!(request.json(), body);
    assert_eq!(request.header("content-length").unwrap(), request.body.len().to_string());
}

#[test]
fn a_body_has_each_of_its_type_fields_once_and_filled() {
    for given in [
        json!({}),
        json!({"apiVersion": "v1"}),
        json!({"kind": "Pod"}),
        json!({"apiVersion": "", "kind": ""}),
        json!({"apiVersion": null, "kind": null}),
        json!({"kind": "", "metadata": {"name": "x"}, "apiVersion": ""}),
        json!({"apiVersion": "v1", "kind": "Pod"}),
    ] {
        let request = pod_call(|pods| drop(pods.create(&given).unwrap()));
        let text = String::from_utf8(request.body.clone()).unwrap();
        assert_eq!(text.matches("apiVersion").count(), 1, "{text}");
        assert_eq!(text.matches("\"kind\"").count(), 1, "{text}");
        assert_eq!(
            (&request.json()["apiVersion"], &request.json()["kind"]),
            (&json!("v1"), &json!("Pod"))
        );
        assert_eq!(request.json().get("metadata"), given.get("metadata"));
    }
}

#[test]
fn a_type_that_contradicts_the_resource_is_left_to_the_server() {
    let other = json!({"apiVersion": "v2", "kind": "Other"});
    assert_eq!(pod_call(|pods| drop(pods.create(&other).unwrap())).json(), other);
}

#[test]
fn replace_puts_the_object() {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"resourceVersion": "7"}});
    let request = pod_call(|pods| drop(pods.replace("web-0", &object).unwrap()));
    assert_eq!(request.line(), "PUT /api/v1/namespaces/a/pods/web-0");
    assert_eq!(request.json(), object);
    assert_eq!(request.header("content-type").unwrap(), "application/json");
}

#[test]
fn each_patch_has_its_media_type_and_goes_as_it_is() {
    let body = json!({"spec": null});
    for (patch, media) in [
        (Patch::Merge(&body), "application/merge-patch+json"),
        (Patch::Json(&body), "application/json-patch+json"),
        (Patch::Strategic(&body), "application/strategic-merge-patch+json"),
    ] {
        let request = pod_call(|pods| drop(pods.force().patch("web-0", &patch).unwrap()));
        assert_eq!(request.line(), "PATCH /api/v1/namespaces/a/pods/web-0", "force is for apply");
        assert_eq!(request.header("content-type").unwrap(), media);
        assert_eq!(request.json(), body);
    }
}

#[test]
fn apply_names_its_manager_and_says_whether_it_forces() {
    let object = json!({"metadata": {"name": "web-0"}});
    let typed = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"}});
    let request = pod_call(|pods| drop(pods.field_manager("me").apply("web-0", &object).unwrap()));
    let path = "PATCH /api/v1/namespaces/a/pods/web-0";
    assert_eq!(request.line(), format!("{path}?fieldManager=me&force=false"));
    assert_eq!(request.header("content-type").unwrap(), "application/apply-patch+yaml");
    assert_eq!(request.json(), typed);
    let forced =
        pod_call(|pods| drop(pods.field_manager("me").force().apply("web-0", &object).unwrap()));
    assert_eq!(forced.line(), format!("{path}?fieldManager=me&force=true"));
    let error = refused(|client| client.dynamic(&pods()).namespace("a").apply("web-0", &object));
    assert!(error.contains("field manager"), "{error}");
}

#[test]
fn delete_sends_its_options_as_the_body() {
    let request = pod_call(|pods| drop(pods.delete("web-0").unwrap()));
    assert_eq!(request.line(), "DELETE /api/v1/namespaces/a/pods/web-0");
    assert_eq!(request.json(), json!({"kind": "DeleteOptions", "apiVersion": "v1"}));
    assert_eq!(request.header("content-type").unwrap(), "application/json");
    let options = DeleteOptions::new()
        .grace_period_seconds(0)
        .propagation(PropagationPolicy::Orphan)
        .uid("u")
        .resource_version("7");
    let request = pod_call(|pods| drop(pods.delete_with("web-0", &options).unwrap()));
    assert_eq!(
        request.json(),
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
            "propagationPolicy": "Orphan", "preconditions": {"uid": "u", "resourceVersion": "7"}})
    );
}

#[test]
fn a_dry_deletion_says_so_in_the_body_because_servers_then_ignore_the_query() {
    let one = pod_call(|pods| drop(pods.dry_run().delete("web-0").unwrap()));
    assert_eq!(one.json()["dryRun"], json!(["All"]));
    let all = pod_call(|pods| {
        pods.dry_run().delete_collection(&DeleteOptions::new(), &ListOptions::new()).unwrap();
    });
    assert_eq!(all.json()["dryRun"], json!(["All"]));
}

#[test]
fn delete_collection_selects_in_the_query_and_says_how_in_the_body() {
    let request = pod_call(|pods| {
        let some = ListOptions::new().labels(labels::parse("app=web").unwrap()).limit(7);
        pods.delete_collection(&DeleteOptions::new().grace_period_seconds(3), &some).unwrap();
    });
    assert_eq!(request.line(), "DELETE /api/v1/namespaces/a/pods?labelSelector=app%3Dweb&limit=7");
    assert_eq!(
        request.json(),
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 3})
    );
}

#[test]
fn what_selects_nothing_is_never_sent_as_everything() {
    let server = Server::json(200, POD);
    let pods = server.client().dynamic(&pods());
    let nothing = ListOptions::new().labels(labels::nothing());
    assert!(pods.list(&nothing).unwrap().items.is_empty());
    assert_eq!(pods.list_all(&nothing).count(), 0);
    pods.namespace("a").delete_collection(&DeleteOptions::new(), &nothing).unwrap();
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn writes_carry_dry_run_manager_and_validation() {
    let body = json!({"metadata": {"name": "web-0"}});
    let query = "?dryRun=All&fieldManager=me&fieldValidation=Strict";
    let path = "/api/v1/namespaces/a/pods";
    let call = |call: fn(&Api<DynamicObject>, &serde_json::Value)| {
        pod_call(|pods| {
            let pods = pods.dry_run().field_manager("me").field_validation(FieldValidation::Strict);
            call(&pods, &body);
        })
        .line()
    };
    assert_eq!(call(|pods, body| drop(pods.create(body).unwrap())), format!("POST {path}{query}"));
    assert_eq!(
        call(|pods, body| drop(pods.replace("web-0", body).unwrap())),
        format!("PUT {path}/web-0{query}")
    );
    assert_eq!(
        call(|pods, body| drop(pods.patch("web-0", &Patch::Merge(body)).unwrap())),
        format!("PATCH {path}/web-0{query}")
    );
    assert_eq!(
        call(|pods, body| drop(pods.apply("web-0", body).unwrap())),
        format!("PATCH {path}/web-0{query}&force=false")
    );
    assert_eq!(
        call(|pods, _| drop(pods.get("web-0").unwrap())),
        format!("GET {path}/web-0"),
        "reads do not"
    );
}

#[test]
fn field_validation_has_three_words() {
    for (validation, word) in [
        (FieldValidation::Ignore, "Ignore"),
        (FieldValidation::Warn, "Warn"),
        (FieldValidation::Strict, "Strict"),
    ] {
        let request =
            pod_call(|pods| drop(pods.field_validation(validation).create(&json!({})).unwrap()));
        assert_eq!(request.query(), format!("fieldValidation={word}"));
    }
}

#[test]
fn status_is_read_and_written_at_its_own_path() {
    let body = json!({"metadata": {"name": "web-0"}, "status": {}});
    let status = "/api/v1/namespaces/a/pods/web-0/status";
    let got = pod_call(|pods| drop(pods.status().get("web-0").unwrap()));
    assert_eq!(got.line(), format!("GET {status}"));
    let put = pod_call(|pods| drop(pods.status().replace("web-0", &body).unwrap()));
    assert_eq!(put.line(), format!("PUT {status}"));
    assert_eq!(put.json()["kind"], "Pod", "a status is sent inside its object");
    let patched =
        pod_call(|pods| drop(pods.status().patch("web-0", &Patch::Merge(&body)).unwrap()));
    assert_eq!(patched.line(), format!("PATCH {status}"));
    let applied = pod_call(|pods| {
        drop(pods.status().field_manager("me").apply("web-0", &body).unwrap());
    });
    assert_eq!(applied.line(), format!("PATCH {status}?fieldManager=me&force=false"));
}

#[test]
fn scale_is_an_object_of_its_own_kind() {
    let scale = r#"{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","namespace":"a"},
        "spec":{"replicas":3},"status":{"replicas":2,"selector":"app=web"}}"#;
    let server = Server::json(200, scale);
    let api = server.client().dynamic(&deployments()).namespace("a").scale();
    let found = api.get("web").unwrap();
    assert_eq!((found.kind(), found.api_version()), ("Scale", "autoscaling/v1"));
    let mut wanted = found.decode().unwrap();
    assert_eq!((wanted.spec.replicas, wanted.status.replicas), (3, 2));
    assert_eq!(wanted.status.selector, "app=web");
    wanted.spec.replicas = 5;
    api.replace("web", &wanted).unwrap();
    api.field_manager("me").apply("web", &json!({"spec": {"replicas": 5}})).unwrap();
    api.patch("web", &Patch::Merge(json!({"spec": {"replicas": 5}}))).unwrap();
    let requests = server.requests();
    let path = "/apis/apps/v1/namespaces/a/deployments/web/scale";
    assert_eq!(requests[0].line(), format!("GET {path}"));
    assert_eq!(requests[1].line(), format!("PUT {path}"));
    assert_eq!(requests[2].line(), format!("PATCH {path}?fieldManager=me&force=false"));
    assert_eq!(requests[3].line(), format!("PATCH {path}"));
    for request in &requests[1..3] {
        let body = request.json();
        assert_eq!(
            (&body["kind"], &body["apiVersion"]),
            (&json!("Scale"), &json!("autoscaling/v1"))
        );
        assert_eq!(body["spec"]["replicas"], 5);
    }
}

#[test]
fn any_subresource_is_reached_by_its_name() {
    let request = pod_call(|pods| {
        let body = json!({"kind": "Pod", "spec": {}});
        drop(pods.subresource("ephemeralcontainers").replace("web-0", &body).unwrap());
    });
    assert_eq!(request.line(), "PUT /api/v1/namespaces/a/pods/web-0/ephemeralcontainers");
    assert_eq!(request.json(), json!({"kind": "Pod", "spec": {}}), "sent as it is");
}

#[test]
fn a_subresource_is_of_one_object_and_never_of_the_collection() {
    // DELETE .../pods/status would delete a pod called "status".
    let options = ListOptions::new();
    let delete = DeleteOptions::new();
    let status = |client: &Client| client.dynamic(&pods()).namespace("a").status();
    for error in [
        refused(|client| status(client).list(&options)),
        refused(|client| status(client).watch(&options)),
        refused(|client| status(client).delete_collection(&delete, &options)),
        refused(|client| status(client).create(&json!({}))),
    ] {
        assert!(error.contains("status"), "{error}");
    }
}

#[test]
fn a_subresource_is_created_under_the_name_in_the_body() {
    let request = pod_call(|pods| {
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web-0"},
            "target": {"kind": "Node", "name": "n"}});
        drop(pods.subresource("binding").create(&binding).unwrap());
    });
    assert_eq!(request.line(), "POST /api/v1/namespaces/a/pods/web-0/binding");
    assert_eq!(request.json()["kind"], "Binding");
}

#[test]
fn logs_ask_for_text() {
    let server = Server::start(|_| Reply::new(200, &[("Content-Type", "text/plain")], "one\n"));
    let pods = server.client().dynamic(&pods()).namespace("a");
    let mut options = LogOptions::new().container("c").follow(true).previous(true).tail_lines(9);
    options.since_seconds = Some(60);
    options.limit_bytes = Some(1000);
    options = options.timestamps(true);
    drop(pods.logs("web-0", &options).unwrap());
    let request = server.only();
    assert_eq!(
        request.line(),
        "GET /api/v1/namespaces/a/pods/web-0/log?container=c&follow=true&limitBytes=1000\
         &previous=true&sinceSeconds=60&tailLines=9&timestamps=true"
    );
    assert!(request.header("accept").unwrap().starts_with("text/plain"));
    assert_eq!(request.header("accept-encoding").unwrap(), "identity", "lines must not wait");
}

#[test]
fn evict_posts_an_eviction() {
    let request = pod_call(|pods| {
        pods.dry_run().evict("web-0", &DeleteOptions::new().grace_period_seconds(1)).unwrap();
    });
    assert_eq!(request.line(), "POST /api/v1/namespaces/a/pods/web-0/eviction?dryRun=All");
    assert_eq!(
        request.json(),
        json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": "web-0", "namespace": "a"},
            "deleteOptions": {"gracePeriodSeconds": 1}})
    );
}

#[test]
fn metadata_is_asked_for_with_the_list_kind_for_lists_only() {
    let partial = |kind| format!("application/json;as={kind};g=meta.k8s.io;v=v1,application/json");
    let server = Server::start(|request| match request.query().contains("watch") {
        true => Reply::stream().end(),
        false if request.path().ends_with("pods") => Reply::json(200, r#"{"items":[]}"#),
        false => Reply::json(200, POD),
    });
    let api = server.client().metadata::<Pod>().namespace("a");
    api.get("web-0").unwrap();
    api.list(&ListOptions::new()).unwrap();
    drop(api.watch(&ListOptions::new()).unwrap());
    api.patch("web-0", &Patch::Merge(json!({}))).unwrap();
    api.delete("web-0").unwrap();
    let accepts: Vec<_> =
        server.requests().iter().map(|request| request.header("accept").unwrap()).collect();
    let (one, list) = (partial("PartialObjectMetadata"), partial("PartialObjectMetadataList"));
    assert_eq!(accepts, [&one, &list, &one, &one, &one].map(String::as_str));
}

#[test]
fn a_path_in_the_base_url_is_a_prefix_of_every_request() {
    for slashes in ["/k8s/clusters/c1", "/k8s/clusters/c1/"] {
        let server = Server::json(200, POD);
        let base = server.url() + slashes;
        let client = client(kinformer::Config::builder(base).no_proxy());
        client.dynamic(&pods()).namespace("a").get("web-0").unwrap();
        client.get_raw("/readyz?verbose").unwrap();
        assert_eq!(
            server.lines(),
            [
                "GET /k8s/clusters/c1/api/v1/namespaces/a/pods/web-0",
                "GET /k8s/clusters/c1/readyz?verbose"
            ]
        );
    }
}

#[test]
fn a_raw_path_goes_as_it_is_or_not_at_all() {
    let request = sent(|client| drop(client.get_raw("/metrics/slis/?a=%20b").unwrap()));
    assert_eq!(request.line(), "GET /metrics/slis/?a=%20b");
    for bad in ["", "readyz", "/a b", "/a\r\nHost: b", "/\u{e9}"] {
        assert!(refused(|client| client.get_raw(bad)).contains("path"), "{bad:?}");
    }
}

#[test]
fn the_user_agent_names_the_program_and_is_none_that_servers_indent_for() {
    let request = sent(|client| drop(client.get_raw("/").unwrap()));
    let agent = request.header("user-agent").unwrap();
    assert!(agent.starts_with("requests-") && agent.contains("kinformer/"), "{agent}");
    for bad in ["curl/8", "Wget/1", "Mozilla/5.0", "", "a\r\nb"] {
        assert!(kinformer::Config::builder("http://h").user_agent(bad).build().is_err(), "{bad:?}");
    }
    let server = Server::json(200, POD);
    client(server.config().user_agent("mine/1")).get_raw("/").unwrap();
    assert_eq!(server.only().header("user-agent").unwrap(), "mine/1");
}

#[test]
fn headers_are_the_same_for_objects_lists_watches_and_logs() {
    let who = {
        let mut who = kinformer::config::Impersonate::user("jane");
        who.groups = vec!["g1".into(), "g2".into()];
        who
    };
    let server = Server::start(|request| match request.path() {
        path if !path.ends_with("/pods") || request.method == "POST" => Reply::json(200, POD),
        _ if request.query().is_empty() => Reply::json(200, r#"{"items":[]}"#),
        _ => Reply::stream().end(),
    });
    let client = client(server.config().token("t0ken").impersonate(who));
    let api = client.dynamic(&pods()).namespace("a");
    api.get("web-0").unwrap();
    api.list(&ListOptions::new()).unwrap();
    drop(api.watch(&ListOptions::new()).unwrap());
    drop(api.logs("web-0", &LogOptions::new()).unwrap());
    api.create(&json!({})).unwrap();
    for request in server.requests() {
        let header = |name| request.header(name).unwrap();
        assert_eq!(header("authorization"), "Bearer t0ken");
        assert_eq!(header("impersonate-user"), "jane");
        assert_eq!(header("impersonate-group"), "g1, g2");
        assert_eq!(header("host"), server.url().trim_start_matches("http://"));
    }
    assert_eq!(server.requests().len(), 5);
}

#[test]
fn compression_is_offered_unless_the_config_says_no() {
    for (allowed, expected) in [(true, "gzip"), (false, "identity")] {
        let server = Server::json(200, POD);
        client(server.config().compression(allowed)).get_raw("/").unwrap();
        assert_eq!(server.only().header("accept-encoding").unwrap(), expected);
    }
}

#[test]
fn a_namespace_that_cannot_be_is_refused_by_every_verb() {
    type Call = fn(&Api<DynamicObject>) -> kinformer::Result<()>;
    let calls: &[Call] = &[
        |api| api.get("x").map(drop),
        |api| api.list(&ListOptions::new()).map(drop),
        |api| api.list_all(&ListOptions::new()).try_for_each(|item| item.map(drop)),
        |api| api.watch(&ListOptions::new()).map(drop),
        |api| api.create(&json!({"metadata": {"name": "x"}})).map(drop),
        |api| api.delete("x").map(drop),
        |api| api.delete_collection(&DeleteOptions::new(), &ListOptions::new()),
        |api| api.logs("x", &LogOptions::new()).map(drop),
    ];
    for bad in ["", "Shop", "a/b", "a.b", "-a", &"a".repeat(64)] {
        for call in calls {
            let why = refused(|client| call(&client.dynamic(&pods()).namespace(bad)));
            let expected = format!("invalid namespace: {bad:?} cannot be the name of one");
            assert!(why.starts_with(&expected), "{why}");
        }
    }
}

#[test]
fn names_that_would_change_the_path_are_refused_here() {
    for bad in ["", ".", "..", "a/b", "a%2bb", "a b", "a?b", "a#b"] {
        let namespace = refused(|client| client.dynamic(&pods()).namespace(bad).get("web-0"));
        assert!(namespace.starts_with("invalid namespace"), "{bad:?}: {namespace}");
        let listed =
            refused(|client| client.dynamic(&pods()).namespace(bad).list(&ListOptions::new()));
        assert!(listed.starts_with("invalid namespace"), "{bad:?}: {listed}");
        let name = refused(|client| client.dynamic(&pods()).namespace("a").get(bad));
        assert!(name.starts_with("invalid name:"), "{bad:?}: {name}");
        let deleted = refused(|client| client.dynamic(&pods()).namespace("a").delete(bad));
        assert!(deleted.starts_with("invalid name:"), "{bad:?}: {deleted}");
        let subresource =
            refused(|client| client.dynamic(&pods()).namespace("a").subresource(bad).get("web-0"));
        assert!(subresource.starts_with("invalid subresource"), "{bad:?}: {subresource}");
        let plural = kinformer::ApiResource::cluster("v1", "X", bad);
        let resource = refused(|client| client.dynamic(&plural).get("x"));
        assert!(resource.starts_with("invalid resource"), "{bad:?}: {resource}");
    }
    for bad in ["", "..", "a b", "g/..", "../v1", "a%b/v1", "g/", "g/v/w"] {
        let resource = kinformer::ApiResource::cluster(bad, "X", "xs");
        let error = refused(|client| client.dynamic(&resource).get("x"));
        assert!(error.starts_with("invalid api version"), "{bad:?}: {error}");
    }
}

#[test]
fn one_namespaced_object_needs_a_namespace() {
    let body = json!({"metadata": {"name": "x"}});
    for error in [
        refused(|client| client.dynamic(&pods()).get("x")),
        refused(|client| client.dynamic(&pods()).replace("x", &body)),
        refused(|client| client.dynamic(&pods()).delete("x")),
        refused(|client| client.dynamic(&pods()).patch("x", &Patch::Merge(&body))),
        refused(|client| client.dynamic(&pods()).create(&body)),
        refused(|client| client.dynamic(&pods()).logs("x", &LogOptions::new())),
        refused(|client| client.dynamic(&nodes()).namespace("a").get("x")),
    ] {
        assert!(error.starts_with("invalid namespace"), "{error}");
    }
}

#[test]
fn a_body_that_is_no_object_or_cannot_be_written_is_refused() {
    use std::collections::HashMap;
    let pods = |client: &Client| client.dynamic(&pods()).namespace("a");
    for body in [json!([1]), json!("text"), json!(null), json!(3)] {
        assert!(refused(|client| pods(client).create(&body)).contains("body"), "{body}");
    }
    let unwritable = HashMap::from([((1, 2), 3)]);
    assert!(refused(|client| pods(client).create(&unwritable)).contains("body"));
    assert!(refused(|client| pods(client).patch("x", &Patch::Merge(&unwritable))).contains("body"));
}
