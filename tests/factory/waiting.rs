//! Waiting for all informers, and being told who is missing and why.

use std::time::Duration;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret},
};
use kinformer::{
    Error, Missing, NotReady, StopToken,
    testing::{Fault, Moment, StatusFault, When},
};

use crate::support::{LIMIT, builder, client, factory, put, server, sync, wait_until};

const A_MOMENT: Duration = Duration::from_millis(20);

#[test]
fn each_informer_that_is_not_ready_is_named_with_the_reason() {
    let server = server();
    for n in 0..3 {
        put(&server, "default", &format!("a{n}"));
    }
    let message = "secrets is forbidden: User \"u\" cannot list resource \"secrets\"";
    let refusal = Fault::Status(StatusFault::new(403).reason("Forbidden").message(message));
    server.inject(When::any().resource("secrets"), refusal);
    // Also when it has given up on a stream.
    server.inject(When::any().resource("deployments"), Fault::Hang { at: Moment::AfterHead });
    let factory = factory(&server);
    let release = StopToken::new();
    let blocked = release.clone();
    factory.informer::<ConfigMap>().on_event_named("slow", move |_| blocked.wait()).unwrap();
    let secrets = factory.informer::<Secret>();
    let deployments = factory.informer::<Deployment>();
    let services = factory.informer::<k8s_openapi::api::core::v1::Service>();
    factory.start().unwrap();
    services.wait_for_sync(LIMIT).unwrap();
    wait_until("two events wait", || {
        let status = factory.informer::<ConfigMap>().status();
        status.handlers[0].pending == 2 && status.has_synced
    });
    wait_until("a refusal", || secrets.status().failures > 0);
    wait_until("a list", || deployments.status().unsynced().unwrap().contains("still listing"));
    let error = factory.wait_for_cache_sync(A_MOMENT).unwrap_err();
    assert!(error.is_timeout() && error.status().is_none(), "{error}");
    let Error::Wait(wait) = &error else { panic!("{error}") };
    let named: Vec<_> = wait.informers().iter().map(NotReady::informer).collect();
    assert_eq!(named, ["configmaps", "secrets", "deployments.apps"]);
    let [replay, refused, listing] = wait.informers() else { panic!("{error}") };
    assert!(
        matches!(replay.missing(), Missing::Replay { handler, pending: 2 } if handler == "slow")
    );
    assert!(replay.error().is_none());
    let status = refused.error().and_then(Error::status).unwrap();
    assert_eq!((status.code, &*status.message), (403, message));
    assert!(refused.error().unwrap().is_forbidden());
    assert!(matches!(listing.missing(), Missing::RestOfList { received: 0, expected: None }));
    assert_eq!(format!("{error:#}").lines().count(), 4, "{error:#}");
    let error = error.to_string();
    for part in [
        "3 of 4 informers have not synced after 20ms: ",
        "secrets: ",
        message,
        "deployments.apps: still listing: nothing has come yet",
        "configmaps: handler slow ",
        "still has 2 events",
    ] {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
    assert!(!error.contains("services"), "{error}");
    release.stop();
    server.clear_faults();
    server.drop_connections();
    factory.wait_for_cache_sync(LIMIT).unwrap();
}

#[test]
fn a_server_that_is_not_there_is_the_reason() {
    let server = server();
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    drop(server);
    factory.start().unwrap();
    wait_until("a failure", || maps.status().failures > 0);
    let error = factory.wait_for_cache_sync(A_MOMENT).unwrap_err();
    let Error::Wait(wait) = &error else { panic!("{error}") };
    assert!(wait.informers()[0].error().is_some_and(Error::is_connection_refused), "{error}");
    let error = error.to_string();
    assert!(
        error.starts_with("configmaps ") && error.to_lowercase().contains("refused"),
        "{error}"
    );
}

#[test]
fn waiting_without_a_start_is_an_error_at_once() {
    let server = server();
    let factory = factory(&server);
    let _ = factory.informer::<ConfigMap>();
    let start = std::time::Instant::now();
    let error = factory.wait_for_cache_sync(LIMIT).unwrap_err();
    assert!(matches!(&error, Error::Wait(wait) if !wait.is_timeout()) && !error.is_timeout());
    assert_eq!(error.to_string(), "configmaps has not synced: not started");
    sync(&factory);
    let _ = factory.informer::<Secret>();
    let error = factory.wait_for_cache_sync(LIMIT).unwrap_err().to_string();
    assert!(error.contains("1 of 2") && error.contains("secrets: not started"), "{error}");
    assert!(start.elapsed() < LIMIT, "nobody waited");
}

#[test]
fn waiting_for_nothing_is_over_at_once() {
    let server = server();
    factory(&server).wait_for_cache_sync(Duration::ZERO).unwrap();
}

#[test]
fn waiting_ends_with_the_factory() {
    let server = server();
    server.inject(When::any().resource("configmaps"), Fault::status(500));
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| factory.wait_for_cache_sync(LIMIT));
        wait_until("a failure", || maps.status().failures > 0);
        factory.shutdown().unwrap();
        let error = waiting.join().unwrap().unwrap_err().to_string();
        assert_eq!(error, "configmaps has not synced: stopped");
    });
}

#[test]
fn a_refusal_for_one_kind_of_many_leaves_the_others_alone() {
    let server = server();
    put(&server, "default", "a");
    let refusal = Fault::Status(StatusFault::new(403).reason("Forbidden"));
    server.inject(When::any().resource("secrets"), refusal);
    let factory = builder(&server).build();
    let (maps, secrets) = (factory.informer::<ConfigMap>(), factory.informer::<Secret>());
    factory.start().unwrap();
    maps.wait_for_sync(LIMIT).unwrap();
    assert_eq!(maps.store().len(), 1);
    wait_until("a refusal", || secrets.status().failures > 0);
    assert!(factory.wait_for_cache_sync(A_MOMENT).is_err());
    // Once it is allowed, it comes by itself.
    server.clear_faults();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    assert!(client(&server).api::<Secret>().list(&Default::default()).is_ok());
}

/// The first one never comes to its end, and is waited for first.
#[test]
fn waiting_ends_when_any_of_them_cannot_come_any_more() {
    let server = server();
    server.inject(When::any().resource("configmaps"), Fault::status(500));
    let factory = factory(&server);
    let (maps, secrets) = (factory.informer::<ConfigMap>(), factory.informer::<Secret>());
    factory.start().unwrap();
    secrets.wait_for_sync(LIMIT).unwrap();
    let start = std::time::Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| factory.wait_for_cache_sync(LIMIT));
        wait_until("a failure", || maps.status().failures > 0);
        secrets.stop();
        let error = waiting.join().unwrap().unwrap_err();
        assert!(!error.is_timeout() && error.to_string().contains("secrets: stopped"), "{error}");
    });
    assert!(start.elapsed() < LIMIT / 2, "{:?}", start.elapsed());
}
