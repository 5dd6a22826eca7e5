//! What cannot be used gets an answer that says so.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ComponentStatus, ConfigMap, Secret};
use kinformer::{
    ApiResource, Error, GroupVersionResource, ListWatch, Selection, SharedInformer,
    SharedInformerFactory, fields, labels,
};

use crate::support::{LIMIT, builder, client, factory, server, wait_until};

#[test]
fn a_name_that_no_namespace_can_have_is_an_error_of_start() {
    let server = server();
    for bad in ["Shop", "a/b", "a b", "-", &"a".repeat(64)] {
        let factory = builder(&server).namespace(bad).build();
        let maps = factory.informer::<ConfigMap>();
        let error = factory.start().unwrap_err();
        assert!(matches!(error, Error::Invalid(_)));
        let text = error.to_string();
        assert!(text.contains("namespace") && text.contains(&format!("{bad:?}")), "{text}");
        assert!(server.requests().is_empty(), "nobody was asked");
        assert!(!maps.is_stopped());
    }
    let factory = factory(&server);
    let bad = Selection::new().namespace("Shop");
    let maps = factory.informer_of::<ConfigMap>(&ApiResource::of::<ConfigMap>(), &bad);
    let error = factory.start().unwrap_err().to_string();
    assert!(error.contains("namespace") && error.contains("\"Shop\""), "{error}");
    assert!(factory.stop_informer(&maps));
    factory.start().unwrap();
}

#[test]
fn a_namespace_that_cannot_be_keeps_nobody_else_from_starting() {
    let server = server();
    let factory = factory(&server);
    let maps = ApiResource::of::<ConfigMap>();
    let bad = Selection::new().namespace("Shop");
    let error = factory.lease_of::<ConfigMap>(&maps, &bad).unwrap_err();
    assert!(matches!(&error, Error::Invalid(input) if input.argument() == "namespace"), "{error}");
    assert!(factory.status().informers.is_empty(), "there is no informer of it");
    let never = factory.informer_of::<ConfigMap>(&maps, &bad);
    let good = factory.informer::<ConfigMap>();
    assert!(factory.start().is_err());
    good.wait_for_sync(LIMIT).unwrap();
    let error = factory.wait_for_cache_sync(LIMIT).unwrap_err().to_string();
    assert!(
        error.contains("configmaps in Shop: not started, last error: invalid namespace"),
        "{error}"
    );
    let status = never.status();
    assert!(
        matches!(&status.cause, Some(Error::Invalid(input)) if input.argument() == "namespace")
    );
    assert!(status.to_string().contains("\"Shop\" cannot be"), "{status}");
    assert!(factory.stop_informer(&never));
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
}

#[test]
fn a_path_to_prune_that_is_none_is_an_error_of_whatever_starts_an_informer() {
    let server = server();
    for bad in ["status", "/a//b", "/metadata/name", "/kind"] {
        let factory = builder(&server).prune(&["/status", bad]).build();
        let maps = factory.informer::<ConfigMap>();
        for error in [
            factory.start().unwrap_err(),
            maps.start().unwrap_err(),
            factory.lease::<Secret>().map(drop).unwrap_err(),
            factory
                .informer_with::<Secret>(|client, _| {
                    SharedInformer::builder(ListWatch::from_client(client, None))
                })
                .unwrap_err(),
        ] {
            let Error::Invalid(input) = &error else { panic!("{error:?}") };
            assert_eq!(input.argument(), "path to prune");
            assert!(error.to_string().contains(&format!("{bad:?}")), "{error}");
        }
        factory.shutdown().unwrap();
    }
    assert!(server.requests().is_empty(), "nobody was asked");
}

#[test]
fn an_informer_of_a_namespace_that_cannot_be_cannot_be_started_past_its_factory() {
    let server = server();
    let factory = builder(&server).namespace("Shop").build();
    let maps = factory.informer::<ConfigMap>();
    let error = maps.start().unwrap_err();
    assert!(matches!(&error, Error::Invalid(input) if input.argument() == "namespace"), "{error}");
    for waited in [maps.wait_for_sync(LIMIT), maps.wait_for_resource_version("1", LIMIT)] {
        let error = waited.unwrap_err();
        assert!(!error.is_timeout(), "it is not waited for: {error}");
        assert!(
            error.to_string().contains("not started, last error: invalid namespace"),
            "{error}"
        );
    }
    assert!(server.requests().is_empty(), "nobody was asked");
}

#[test]
fn a_namespace_that_does_not_exist_is_empty() {
    let server = server();
    let factory = builder(&server).namespace("nowhere").build();
    let maps = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    assert!(maps.store().is_empty());
}

#[test]
fn a_selector_that_does_not_parse_is_an_error_before_there_is_an_informer() {
    for bad in ["app in (a", "a b", "=", "app=web,,"] {
        let error = labels::parse(bad).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{bad}: {error}");
    }
    assert!(fields::parse("metadata.name").is_err());
}

#[test]
fn a_field_that_the_server_cannot_select_by_is_in_the_reason() {
    let server = server();
    let factory = factory(&server);
    let odd = Selection::new().fields(fields::parse("spec.colour=red").unwrap());
    let maps = factory.informer_of::<ConfigMap>(&ApiResource::of::<ConfigMap>(), &odd);
    factory.start().unwrap();
    wait_until("a refusal", || maps.status().failures > 0);
    let error = factory.wait_for_cache_sync(Duration::from_millis(20)).unwrap_err().to_string();
    assert!(error.contains("spec.colour"), "{error}");
}

#[test]
fn a_resource_that_does_not_exist_is_named_with_what_is_near_it() {
    let server = server();
    let factory = factory(&server);
    let unknown = GroupVersionResource::new("apps", "v1", "deploymets");
    let error = factory.for_resource(&unknown).unwrap_err().to_string();
    assert!(error.contains("apps/v1/deploymets") && error.contains("deployments"), "{error}");
    for (group, version, plural, near) in [
        ("extensions", "v1beta1", "deployments", "near it: apps/v1/deployments"),
        ("apps", "v2", "statefulsets", "near it: apps/v1/statefulsets"),
        ("core", "v1", "pods", "near it: v1/pods"),
        ("", "v1", "podz", "near it: v1/pods"),
        ("", "v1", "ingresses", "near it: networking.k8s.io/v1/ingresses"),
    ] {
        let wrong = GroupVersionResource::new(group, version, plural);
        let error = factory.for_resource(&wrong).unwrap_err().to_string();
        assert!(error.ends_with(near), "{wrong}: {error}");
    }
    let nothing_near = GroupVersionResource::new("example.com", "v1", "zzzzzzzzzzzz");
    let error = factory.for_resource(&nothing_near).unwrap_err().to_string();
    assert!(error.contains("example.com/v1/zzzzzzzzzzzz"), "{error}");
    factory.wait_for_cache_sync(Duration::ZERO).expect("there is no informer of it");
}

#[test]
fn a_type_whose_resource_the_server_does_not_have_is_in_the_reason() {
    #[derive(serde::Deserialize)]
    struct Ghost {}
    kinformer::resource!(Ghost, "example.com/v1", "Ghost", "ghosts");

    let server = server();
    let factory = factory(&server);
    let ghosts = factory.informer::<Ghost>();
    factory.start().unwrap();
    wait_until("a refusal", || ghosts.status().failures > 0);
    let error = factory.wait_for_cache_sync(Duration::from_millis(20)).unwrap_err().to_string();
    assert!(
        error.contains("ghosts.example.com has not synced") && error.contains("404"),
        "{error}"
    );
}

#[test]
fn a_kind_that_cannot_be_watched_is_refused_by_place_and_says_so_by_type() {
    let server = server();
    let factory = factory(&server);
    let place = GroupVersionResource::new("", "v1", "componentstatuses");
    let error = factory.for_resource(&place).unwrap_err().to_string();
    assert!(error.contains("v1/componentstatuses cannot be watched"), "{error}");
    let by_type = factory.informer::<ComponentStatus>();
    factory.start().unwrap();
    // Until the next list, which works.
    wait_until("a refusal", || by_type.status().last_error.is_some_and(|why| why.contains("405")));
}

#[test]
fn a_handler_after_the_shutdown_is_refused() {
    let server = server();
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    factory.shutdown().unwrap();
    for informer in [maps.cast(), factory.informer::<Secret>()] {
        let error = informer.on_event(|_| ()).unwrap_err().to_string();
        assert!(error.contains("has stopped"), "{error}");
    }
}

#[test]
fn a_resource_cannot_be_looked_up_while_the_server_is_away() {
    let server = server();
    let client = client(&server);
    drop(server);
    let factory = SharedInformerFactory::new(client);
    let error = factory.for_resource(&GroupVersionResource::new("a.b", "v1", "widgets"));
    assert!(matches!(error.unwrap_err(), Error::Transport(_)));
}
