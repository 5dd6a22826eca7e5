//! A server that has too much to do, and says so.

use std::time::{Duration, Instant};

use k8s_openapi::api::{
    core::v1::ConfigMap,
    flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration},
    rbac::v1::ClusterRoleBinding,
};
use kinformer::{Client, ListOptions, ListWatch, SharedInformer, WatchEvent, labels};
use serde_json::json;

use crate::cluster::{Cluster, LIMIT, informer, maps, put, started, wait_until};

/// Everyone but administrators, whom a server never refuses.
#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn a_server_that_refuses_for_now_is_asked_again() {
    let cluster = Cluster::with(&[
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=1",
        "--max-mutating-requests-inflight=1",
    ]);
    allow_limited(&cluster.client());
    let client = cluster.limited();
    wait_until("the server refuses", || refuses(&client));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let client = &client;
            scope.spawn(move || {
                for n in 0..10 {
                    put(client, &format!("m{thread}-{n}"), "1");
                }
            });
        }
    });
    assert_eq!(started(informer(&client)).store().len(), 80);
}

/// One user gets one seat and no queue, so that what comes at the same time is refused.
#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn a_user_of_low_priority_is_refused_and_gets_there_all_the_same() {
    let cluster =
        Cluster::with(&["--max-requests-inflight=20", "--max-mutating-requests-inflight=20"]);
    let (admin, limited) = (cluster.client(), cluster.limited());
    put(&admin, "a", "1");
    allow_limited(&admin);
    let level = json!({"metadata": {"name": "narrow"}, "spec": {"type": "Limited", "limited":
        {"nominalConcurrencyShares": 1, "lendablePercent": 0, "borrowingLimitPercent": 0,
         "limitResponse": {"type": "Reject"}}}});
    admin.api::<PriorityLevelConfiguration>().create(&level).unwrap();
    let schema = json!({"metadata": {"name": "narrow"}, "spec": {"matchingPrecedence": 2,
        "priorityLevelConfiguration": {"name": "narrow"},
        "rules": [{"subjects": [{"kind": "User", "user": {"name": "limited"}}],
            "resourceRules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"],
                "clusterScope": true, "namespaces": ["*"]}]}]}});
    admin.api::<FlowSchema>().create(&schema).unwrap();

    wait_until("the server refuses", || refuses(&limited));

    // Patient ones get there, all of them, and so do informers.
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let limited = &limited;
            scope.spawn(move || {
                for n in 0..5 {
                    put(limited, &format!("m{thread}-{n}"), "1");
                }
            });
        }
        let informers: Vec<_> = (0..6).map(|_| started(informer(&limited))).collect();
        for informer in &informers {
            wait_until("everything is there", || informer.store().len() == 41);
        }
    });
}

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn watches_end_when_the_server_wants_and_informers_do_not_mind() {
    let cluster = Cluster::with(&["--min-request-timeout=2"]);
    let client = cluster.client();
    let version = put(&client, "a", "1");
    // Nothing is said about time: from two to four seconds, says the server.
    let options =
        ListOptions::new().resource_version(version).labels(labels::parse("test").unwrap());
    let start = Instant::now();
    let watch = maps(&client).watch(&options).unwrap();
    let events: Vec<WatchEvent<ConfigMap>> = watch.map(|event| event.unwrap()).collect();
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert!(events.iter().all(|event| matches!(event, WatchEvent::Bookmark(_))), "{events:?}");

    // Neither does this informer say anything about it.
    let source = ListWatch::<ConfigMap>::from_client(&client, Some("default"));
    let source = source.tweak(|options| options.timeout_seconds = None);
    let informer = started(SharedInformer::builder(source));
    let watches = informer.status().watches;
    wait_until("its watches end", || informer.status().watches >= watches + 3);
    let version = put(&client, "a", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    let status = informer.status();
    assert_eq!((status.lists, status.all_failures), (1, 0), "{status:?}");
}

/// Lets the user who may do nothing do everything.
fn allow_limited(admin: &Client) {
    let binding = json!({"metadata": {"name": "limited"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}]});
    admin.api::<ClusterRoleBinding>().create(&binding).unwrap();
}

/// Whether some of many who ask at the same time are refused: a client that asks once shows what the server says.
fn refuses(client: &Client) -> bool {
    let impatient = client.config().to_builder().max_retries(0).build().unwrap();
    let impatient = Client::new(impatient).unwrap();
    let refusals = std::thread::scope(|scope| {
        let asking = |_| scope.spawn(|| maps(&impatient).list(&ListOptions::new()));
        let asked: Vec<_> = (0..16).map(asking).collect();
        asked.into_iter().filter_map(|asked| asked.join().unwrap().err()).collect::<Vec<_>>()
    });
    // The server may not have heard yet that this user may do anything.
    let refusals: Vec<_> = refusals.iter().filter(|error| !error.is_forbidden()).collect();
    for error in &refusals {
        assert!(error.is_too_many_requests(), "{error}");
        assert!(error.retry_after().is_some(), "the server says when to come back: {error}");
    }
    !refusals.is_empty()
}
