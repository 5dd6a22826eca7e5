//! Factories of objects whose types are not known, and of metadata alone.

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    ApiResource, Event, GroupVersionResource, MetadataSharedInformerFactory, Selection,
    SharedInformer, SharedInformerFactory,
};
use serde_json::json;

use crate::{
    support::{
        LIMIT, add_crd, builder, delete, keys, listen, put, requests, server, sync, wait_until,
    },
    wire::Wire,
};

fn place(group: &str, plural: &str) -> GroupVersionResource {
    GroupVersionResource::new(group, "v1", plural)
}

fn sync_metadata(factory: &MetadataSharedInformerFactory) {
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
}

#[test]
fn a_dynamic_factory_tells_of_what_is_made_changed_and_deleted() {
    let server = server();
    add_crd(&server, "Widget", "widgets");
    let factory = builder(&server).dynamic();
    let widgets = factory.for_resource(&place("example.com", "widgets")).unwrap();
    assert!(factory.for_resource(&place("example.com", "widgets")).unwrap().is_same(&widgets));
    let events = listen(&widgets);
    sync(&factory);
    for size in [1, 2] {
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "size": size,
            "metadata": {"name": "a", "namespace": "default"}});
        server.put(widget).unwrap();
    }
    server.delete("example.com/v1", "Widget", "default/a").unwrap();
    let told: Vec<_> = (0..3).map(|_| events.recv_timeout(LIMIT).unwrap()).collect();
    assert!(matches!(&told[0], Event::Added { object, initial: false }
        if object.get().unwrap()["size"] == 1));
    assert!(matches!(&told[1], Event::Updated { old, new }
        if old.get().unwrap()["size"] == 1 && new.get().unwrap()["size"] == 2));
    assert!(matches!(&told[2], Event::Deleted(_)));
    assert_eq!(told[2].to_string(), "deleted Widget default/a");
}

#[test]
fn a_metadata_factory_asks_for_metadata_alone_and_gets_fewer_bytes() {
    let server = server();
    for n in 0..50 {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "x".repeat(4_000)},
            "metadata": {"name": format!("a{n}"), "namespace": "default", "labels": {"n": "1"}}});
        server.put(map).unwrap();
    }
    let maps = ApiResource::of::<ConfigMap>();
    let wires = [Wire::to(&server), Wire::to(&server)];
    let whole = SharedInformerFactory::builder(wires[0].client()).dynamic();
    let metadata = SharedInformerFactory::builder(wires[1].client()).metadata();
    let informers: [SharedInformer; 2] =
        [whole.informer_for(&maps), metadata.informer_for(&maps).cast()];
    sync(&whole);
    sync_metadata(&metadata);
    for informer in informers {
        assert_eq!(keys(&informer).len(), 50);
    }
    let bytes = wires.each_ref().map(Wire::bytes);
    println!("on the wire, 50 objects of 4 KB: {bytes:?} bytes");
    assert!(bytes[1] * 5 < bytes[0] && bytes[1] > 0, "{bytes:?}");
    assert!(requests(&server, "as=PartialObjectMetadata") > 0, "{:?}", server.requests());
    let object = metadata.informer_for(&maps).lister().get("default/a1").unwrap();
    assert_eq!((object.kind(), object.api_version()), ("ConfigMap", "v1"));
    assert_eq!(object.get().unwrap().metadata.labels["n"], "1");
}

#[test]
fn a_metadata_factory_tells_of_what_is_made_changed_and_deleted() {
    let server = server();
    let factory = builder(&server).namespace("default").metadata();
    let maps = factory.for_resource(&place("", "configmaps")).unwrap();
    let events = listen(&maps);
    sync_metadata(&factory);
    put(&server, "default", "a");
    put(&server, "other", "b");
    let mut changed = put(&server, "default", "a");
    changed["metadata"]["labels"] = json!({"new": "1"});
    server.put(changed).unwrap();
    wait_until("the label", || {
        maps.lister().get("default/a").is_ok_and(|map| map.labels().contains_key("new"))
    });
    delete(&server, "default", "a");
    let told: Vec<_> = std::iter::from_fn(|| events.recv_timeout(LIMIT).ok())
        .map(|event| event.to_string())
        .take_while(|event| !event.starts_with("deleted"))
        .collect();
    assert_eq!(told[0], "added ConfigMap default/a");
    assert!(told[1..].iter().all(|event| event.starts_with("updated ConfigMap default/a")));
}

#[test]
fn a_metadata_factory_can_be_reached_leased_and_stopped_as_any_other() {
    let server = server();
    put(&server, "default", "a");
    let factory = builder(&server).metadata();
    let maps = ApiResource::of::<ConfigMap>();
    let lease = factory.lease_of(&maps, &Selection::new()).unwrap();
    lease.wait_for_sync(LIMIT).unwrap();
    let object = lease.lister().get("default/a").unwrap().get().unwrap();
    assert_eq!(object.metadata.name, "a", "its objects are metadata");
    let handle = factory.handle();
    let reached = handle.upgrade().unwrap().informer_for(&maps);
    assert!(reached.is_same(&lease));
    assert!(factory.stop_informer(&reached) && lease.is_stopped());
    assert!(factory.status().informers.is_empty());
    let (send, events) = crossbeam_channel::unbounded();
    let all = factory.everything().filter(|found| found.resource.plural() == "configmaps");
    let all = all.watch(send).unwrap();
    let whole = events.recv_timeout(LIMIT).unwrap().object().unwrap().get().unwrap();
    assert!(whole.get("data").is_none(), "{whole:?}");
    drop(all);
    handle.stop();
    assert!(handle.upgrade().is_none() && factory.start().is_err());
}
