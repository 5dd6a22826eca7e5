//! What a factory says about all its informers.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kinformer::{
    ApiResource, Client, Decoded, Error, Event, GroupVersionResource, ListWatch, Selection,
    SharedInformer, fields, labels,
    testing::{Fault, StatusFault, When},
};
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
fn an_informer_of_a_selection_is_about_what_matches_that_and_the_tweak() {
    let server = server();
    put_labelled(&server, "default", "a", json!({"tier": "prod", "app": "web"}));
    put_labelled(&server, "default", "b", json!({"tier": "prod"}));
    put_labelled(&server, "default", "c", json!({"app": "web"}));
    let production = labels::parse("tier=prod").unwrap();
    let only_a = fields::parse("metadata.name!=x").unwrap();
    let factory = builder(&server)
        .tweak_list_options(move |options| {
            options.labels = production.clone();
            options.fields = only_a.clone();
        })
        .build();
    let maps = ApiResource::of::<ConfigMap>();
    let web = Selection::new()
        .labels(labels::parse("app=web").unwrap())
        .fields(fields::parse("metadata.namespace=default").unwrap());
    let web: SharedInformer<ConfigMap> = factory.informer_of(&maps, &web);
    let all = factory.informer::<ConfigMap>();
    sync(&factory);
    assert_eq!(keys(&web), ["default/a"]);
    assert_eq!(keys(&all), ["default/a", "default/b"]);
}

#[test]
fn a_silent_watch_is_opened_again_after_the_time_that_the_factory_says() {
    let server = server();
    put(&server, "default", "a");
    let factory = builder(&server).watch_silence(Duration::from_secs(1)).build();
    let maps = factory.informer::<ConfigMap>();
    sync(&factory);
    wait_until("it is opened again", || maps.status().watches >= 2);
    assert_eq!(maps.status().lists, 1);
}

#[test]
fn lists_are_streamed_unless_the_factory_says_otherwise() {
    let server = server();
    put(&server, "default", "a");
    for wanted in [true, false] {
        server.clear_requests();
        let factory = builder(&server).streamed_lists(wanted).build();
        let maps = factory.informer::<ConfigMap>();
        sync(&factory);
        assert_eq!(keys(&maps), ["default/a"]);
        assert_eq!(requests(&server, "sendInitialEvents=true") > 0, wanted);
        assert_eq!(maps.status().lists, 1);
    }
}

#[test]
fn a_watch_may_be_silent_for_a_second_at_least() {
    let server = server();
    put(&server, "default", "a");
    let factory = builder(&server).watch_silence(Duration::ZERO).build();
    let maps = factory.informer::<ConfigMap>();
    let start = Instant::now();
    sync(&factory);
    wait_until("it is opened again, twice", || maps.status().watches >= 3);
    assert!(start.elapsed() > Duration::from_millis(1_500), "{:?}", start.elapsed());
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
    let start = Instant::now();
    sync(&factory);
    maps.recv_timeout(LIMIT).unwrap();
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
fn what_a_factory_prunes_is_left_out_of_objects_of_every_kind() {
    let server = server();
    put_labelled(&server, "default", "a", json!({"app": "web"}));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"k": "dg=="},
        "metadata": {"name": "s", "namespace": "default", "annotations": {"note": "long"}}});
    server.put(secret).unwrap();
    let pruning = || builder(&server).prune(&["/data", "/metadata/annotations"]);
    let factory = pruning().build();
    let own = |client: &Client, _| {
        SharedInformer::builder(ListWatch::<ConfigMap>::from_client(client, None))
            .prune(&["/metadata/labels"])
    };
    let (maps, secrets) = (factory.informer_with(own).unwrap(), factory.informer::<Secret>());
    sync(&factory);
    let secret = secrets.lister().get("default/s").unwrap();
    assert!(secret.annotations().is_empty() && secret.get().unwrap().data.is_none());
    let map = maps.lister().get("default/a").unwrap();
    assert!(map.labels().is_empty() && map.get().unwrap().data.is_none(), "{}", map.json());

    let metadata = pruning().metadata();
    let secrets = metadata.informer_for(&ApiResource::of::<Secret>());
    metadata.start().unwrap();
    metadata.wait_for_cache_sync(LIMIT).unwrap();
    assert!(secrets.lister().get("default/s").unwrap().annotations().is_empty());
}

#[test]
fn failures_go_to_the_handler_of_the_factory_by_the_name_of_the_informer() {
    let server = server();
    let message = "not for you";
    let refusal = Fault::Status(StatusFault::new(403).message(message));
    server.inject(When::any().resource("secrets"), refusal);
    server.inject(When::any().resource("configmaps"), Fault::status(403));
    let (send, told) = crossbeam_channel::unbounded();
    let (send_own, told_own) = crossbeam_channel::unbounded();
    let tell = move |informer: &str, error: &Error| {
        let _ = send.send(format!("{informer}: {error}"));
    };
    let factory = builder(&server).name("billing").on_error(tell).build();
    let _ = factory.informer::<Secret>();
    let own = |client: &Client, _| {
        let send = send_own.clone();
        SharedInformer::builder(ListWatch::<ConfigMap>::from_client(client, None))
            .on_error(move |error| drop(send.send(error.clone())))
    };
    let _ = factory.informer_with(own).unwrap();
    factory.start().unwrap();
    let failure = told.recv_timeout(LIMIT).unwrap();
    assert!(failure.starts_with("billing: secrets: ") && failure.contains(message), "{failure}");
    assert!(told_own.recv_timeout(LIMIT).unwrap().is_forbidden());
    factory.shutdown().unwrap();
    assert!(told.try_iter().all(|failure| failure.starts_with("billing: secrets: ")));
}

#[test]
fn a_name_is_part_of_the_names_of_informers() {
    let server = server();
    let factory = builder(&server).name("billing").namespace("shop").build();
    assert_eq!(factory.informer::<ConfigMap>().name(), "billing: configmaps in shop");
    assert_eq!(factory.informer::<Namespace>().name(), "billing: namespaces");
}
