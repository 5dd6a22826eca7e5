//! One resource, one watch, one cache.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kinformer::{
    ApiResource, DynamicObject, GroupVersionResource, ListWatch, Selection, SharedInformer, fields,
    labels,
};
use serde_json::json;

use crate::support::{
    add_crd, builder, factory, keys, put, put_labelled, requests, server, sync, wait_until,
};

#[derive(serde::Deserialize)]
struct Lean {
    data: std::collections::BTreeMap<String, String>,
}
kinformer::resource!(Lean, "v1", "ConfigMap", "configmaps");

#[test]
fn an_informer_is_made_once_whoever_asks_and_however_often() {
    let server = server();
    let factory = factory(&server);
    let first = factory.informer::<ConfigMap>();
    let asked: Vec<_> = std::thread::scope(|scope| {
        let ask = || scope.spawn(|| factory.informer::<ConfigMap>());
        let threads: Vec<_> = (0..16).map(|_| ask()).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(asked.iter().all(|informer| informer.is_same(&first)));
    assert!(!factory.informer::<Deployment>().is_same(&first));
}

#[test]
fn simultaneous_first_calls_get_the_same_informer() {
    let server = server();
    for _ in 0..50 {
        let factory = factory(&server);
        let barrier = std::sync::Barrier::new(4);
        let asked: Vec<_> = std::thread::scope(|scope| {
            let ask = || {
                barrier.wait();
                factory.informer::<ConfigMap>()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(asked.iter().all(|informer| informer.is_same(&asked[0])));
    }
}

#[test]
fn typed_lean_dynamic_and_generic_handles_share_one_watch_and_one_cache() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let typed = factory.informer::<ConfigMap>();
    let lean = factory.informer::<Lean>();
    let dynamic = factory.informer_for::<DynamicObject>(&ApiResource::of::<ConfigMap>());
    let generic = factory.for_resource(&GroupVersionResource::new("", "v1", "configmaps")).unwrap();
    sync(&factory);
    assert!(lean.is_same(&typed) && dynamic.is_same(&typed) && generic.is_same(&typed));
    let object = typed.lister().get("default/a").unwrap();
    assert!(object.is_same(&dynamic.lister().get("default/a").unwrap()));
    assert_eq!(lean.lister().get("default/a").unwrap().get().unwrap().data["value"], "a");
    assert_eq!(generic.lister().get("default/a").unwrap().get().unwrap()["data"]["value"], "a");
    wait_until("one watch", || server.watches() == 1);
    assert_eq!(requests(&server, "watch=true"), 1, "{:?}", server.requests());
}

#[test]
fn selections_have_informers_of_their_own_and_are_shared_too() {
    let server = server();
    put_labelled(&server, "default", "a", json!({"app": "web"}));
    put_labelled(&server, "default", "b", json!({"app": "db"}));
    put_labelled(&server, "other", "c", json!({"app": "web"}));
    let factory = factory(&server);
    let maps = ApiResource::of::<ConfigMap>();
    let of = |selection: Selection| factory.informer_of::<ConfigMap>(&maps, &selection);
    let web = Selection::new().labels(labels::parse("app=web").unwrap());
    let (all, web, here, b) = (
        of(Selection::new()),
        of(web.clone()),
        of(web.namespace("default")),
        of(Selection::new().fields(fields::parse("metadata.name=b").unwrap())),
    );
    assert!(of(Selection::new().labels(labels::parse("app = web").unwrap())).is_same(&web));
    assert!(of(Selection::new().namespace("")).is_same(&all), "empty is all");
    sync(&factory);
    assert_eq!(keys(&all), ["default/a", "default/b", "other/c"]);
    assert_eq!(keys(&web), ["default/a", "other/c"]);
    assert_eq!(keys(&here), ["default/a"]);
    assert_eq!(keys(&b), ["default/b"]);
    assert_eq!(here.name(), "configmaps in default where app=web");
    put_labelled(&server, "default", "b", json!({"app": "web"}));
    wait_until("it is selected now", || keys(&here) == ["default/a", "default/b"]);
}

#[test]
fn a_type_of_your_own_may_stand_for_a_custom_resource() {
    #[derive(serde::Deserialize)]
    struct Widget {
        size: u32,
    }
    kinformer::resource!(Widget, "example.com/v1", "Widget", "widgets");

    let server = server();
    add_crd(&server, "Widget", "widgets");
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "size": 3,
        "metadata": {"name": "a", "namespace": "default"}});
    server.put(widget).unwrap();
    let factory = factory(&server);
    let widgets = factory.informer::<Widget>();
    let by_place = GroupVersionResource::new("example.com", "v1", "widgets");
    assert!(factory.for_resource(&by_place).unwrap().is_same(&widgets));
    sync(&factory);
    let a = widgets.lister().namespace("default").get("a").unwrap();
    assert_eq!((a.kind(), a.api_version(), a.get().unwrap().size), ("Widget", "example.com/v1", 3));
}

#[test]
fn an_informer_of_your_own_takes_the_place_of_the_usual_one() {
    let server = server();
    put(&server, "default", "a");
    put(&server, "default", "b");
    let factory = builder(&server).resync(std::time::Duration::from_secs(7)).build();
    let own = factory
        .informer_with::<ConfigMap>(|client, resync| {
            assert_eq!(resync, Some(std::time::Duration::from_secs(7)));
            let source = ListWatch::<ConfigMap>::from_client(client, None)
                .tweak(|options| options.fields = fields::parse("metadata.name=b").unwrap());
            SharedInformer::builder(source).name("mine")
        })
        .unwrap();
    let again = factory.informer_with::<ConfigMap>(|_, _| unreachable!("there is one")).unwrap();
    assert!(again.is_same(&own) && factory.informer::<ConfigMap>().is_same(&own));
    sync(&factory);
    assert_eq!((own.name(), keys(&own)), ("mine", vec!["default/b".to_owned()]));
    let bad = factory.informer_with::<Deployment>(|client, _| {
        SharedInformer::builder(ListWatch::from_client(client, None)).prune(&["metadata"])
    });
    assert!(bad.unwrap_err().to_string().contains("metadata"));
}
