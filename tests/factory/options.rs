//! What a factory says about all its informers.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kinformer::{Decoded, Error, Event, GroupVersionResource, ListWatch, SharedInformer, labels};
use serde_json::json;

use crate::support::{
    A_WHILE, LIMIT, builder, client, delete, keys, listen, put, put_labelled, requests, server,
    sync, wait_until,
};

#[test]
fn a_namespace_limits_what_lives_in_namespaces_and_nothing_else() {
    let server = server();
    put(&server, "default", "a");
    put(&server, "other", "b");
    let factory = builder(&server).namespace("other").build();
    let (maps, namespaces) = (factory.informer::<ConfigMap>(), factory.informer::<Namespace>());
    let generic = factory.for_resource(&GroupVersionResource::new("", "v1", "configmaps")).unwrap();
    let events = listen(&maps);
    sync(&factory);
    assert!(generic.is_same(&maps));
    assert_eq!(keys(&maps), ["other/b"]);
    assert!(keys(&namespaces).contains(&"default".to_owned()));
    put(&server, "default", "c");
    put(&server, "other", "d");
    let told: Vec<_> = [events.recv_timeout(LIMIT), events.recv_timeout(LIMIT)]
        .map(|event| event.unwrap().key().to_string())
        .into();
    assert_eq!(told, ["other/b", "other/d"]);
    delete(&server, "default", "c");
    assert!(events.recv_timeout(A_WHILE).is_err(), "nobody else's events");
}

#[test]
fn list_options_are_tweaked_for_lists_and_watches() {
    let server = server();
    put_labelled(&server, "default", "a", json!({"app": "web"}));
    put(&server, "default", "b");
    let web = labels::parse("app=web").unwrap();
    let factory =
        builder(&server).tweak_list_options(move |options| options.labels = web.clone()).build();
    let maps = factory.informer::<ConfigMap>();
    sync(&factory);
    assert_eq!(keys(&maps), ["default/a"]);
    put(&server, "default", "c");
    put_labelled(&server, "default", "d", json!({"app": "web"}));
    wait_until("what is selected", || keys(&maps) == ["default/a", "default/d"]);
    let about_maps = requests(&server, "configmaps");
    assert!(about_maps > 0);
    assert_eq!(requests(&server, "labelSelector=app"), about_maps, "{:?}", server.requests());
}

#[test]
fn resyncs_have_a_period_for_all_and_one_for_a_kind() {
    let server = server();
    put(&server, "default", "a");
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "s", "namespace": "default"}});
    server.put(secret).unwrap();
    // Shorter than the least: it counts as a second.
    let short = Duration::from_millis(1);
    let factory = builder(&server).resync(short).custom_resync::<Secret>(Duration::ZERO).build();
    let (maps, secrets) =
        (listen(&factory.informer::<ConfigMap>()), listen(&factory.informer::<Secret>()));
    sync(&factory);
    maps.recv_timeout(LIMIT).unwrap();
    let start = Instant::now();
    for _ in 0..2 {
        let again = maps.recv_timeout(LIMIT).unwrap();
        assert!(matches!(&again, Event::Updated { old, new } if old.is_same(new)), "{again:?}");
    }
    assert!(start.elapsed() > Duration::from_millis(1_500), "{:?}", start.elapsed());
    assert_eq!(secrets.try_iter().count(), 1, "not told again");
}

#[test]
fn transforms_are_for_a_kind_or_for_all() {
    let server = server();
    put(&server, "default", "a");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"k": "v"},
        "metadata": {"name": "s", "namespace": "default"}});
    server.put(secret).unwrap();
    let factory = builder(&server)
        .transform::<ConfigMap>(|map| {
            map.data.get_or_insert_default().insert("mark".into(), "kind".into());
            Ok(())
        })
        .transform_all(|object| {
            object.0["mark"] = "all".into();
            Ok(())
        })
        .build();
    let maps = factory
        .informer_for::<kinformer::DynamicObject>(&kinformer::ApiResource::of::<ConfigMap>());
    let secrets = factory.informer::<Secret>();
    sync(&factory);
    let map = maps.lister().get("default/a").unwrap().get().unwrap();
    assert_eq!((&map["data"]["mark"], &map["mark"]), (&json!("kind"), &json!(null)));
    let secret = secrets.cast::<kinformer::DynamicObject>().lister().get("default/s").unwrap();
    assert_eq!(secret.get().unwrap()["mark"], "all");
}

#[test]
fn a_transform_of_the_factory_goes_before_that_of_an_informer_and_none_leaves_it_alone() {
    let server = server();
    put(&server, "default", "a");
    let mark = |mark: &'static str| {
        move |map: &mut ConfigMap| {
            map.data.get_or_insert_default().insert("mark".into(), mark.into());
            Ok::<_, Error>(())
        }
    };
    let marks = [Some("factory"), None].map(|of_factory| {
        let mut builder = builder(&server);
        if let Some(of_factory) = of_factory {
            builder = builder.transform::<ConfigMap>(mark(of_factory));
        }
        let factory = builder.build();
        let made = factory.informer_with(|client, _| {
            SharedInformer::builder(ListWatch::from_client(client, None)).transform(mark("own"))
        });
        let maps = made.unwrap();
        sync(&factory);
        maps.lister().get("default/a").unwrap().get().unwrap().data.as_ref().unwrap()["mark"]
            .clone()
    });
    assert_eq!(marks, ["factory", "own"]);
}

#[test]
fn decodes_are_kept_and_managed_fields_too_if_asked_for() {
    let server = server();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": {"a": "b"}});
    let maps = client(&server).api::<ConfigMap>().namespace("default").field_manager("me");
    maps.apply("a", &map).unwrap();
    let kept = builder(&server).decoded(Decoded::Keep).keep_managed_fields(true).build();
    let usual = builder(&server).build();
    for (factory, keeps) in [(kept, true), (usual, false)] {
        let maps = factory.informer::<ConfigMap>();
        sync(&factory);
        let a = maps.lister().get("default/a").unwrap();
        assert_eq!(a.json().contains("managedFields"), keeps);
        let first = std::sync::Arc::downgrade(&a.get().unwrap());
        assert_eq!(first.upgrade().is_some(), keeps);
    }
}

#[test]
fn a_name_is_part_of_the_names_of_informers() {
    let server = server();
    let factory = builder(&server).name("billing").namespace("shop").build();
    assert_eq!(factory.informer::<ConfigMap>().name(), "billing: configmaps in shop");
    assert_eq!(factory.informer::<Namespace>().name(), "billing: namespaces");
}
