//! What cannot be used gets an answer that says so.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ComponentStatus, ConfigMap};
use kinformer::{
    ApiResource, Error, GroupVersionResource, Selection, SharedInformerFactory, fields, labels,
};

use crate::support::{LIMIT, builder, client, factory, server, wait_until};

#[test]
fn a_name_that_no_namespace_can_have_is_an_error_of_start() {
    let server = server();
    for bad in ["Shop", "a/b", "a b", "-"] {
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
    assert!(error.contains("ghosts.example.com: ") && error.contains("404"), "{error}");
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
    wait_until("a failure", || by_type.status().failures > 0);
    let error = by_type.status().last_error.unwrap();
    assert!(error.contains("405") || error.to_lowercase().contains("method"), "{error}");
}

#[test]
fn a_handler_after_the_shutdown_is_refused() {
    let server = server();
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    factory.shutdown().unwrap();
    for informer in [maps.cast(), factory.informer::<k8s_openapi::api::core::v1::Secret>()] {
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
