//! Indices of informers.

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{Object, cache::Indexers};

use crate::support::{LIMIT, Source, started, value};

fn by_value() -> Indexers<Object<ConfigMap>> {
    Indexers::new().with("value", |map: &Object<ConfigMap>| vec![value(map)])
}

#[test]
fn indices_may_come_before_the_start_and_after_it() {
    let source = Source::new();
    source.put("a", "1");
    source.put("b", "1");
    let informer = source.informer().indexers(by_value()).build().unwrap();
    let first =
        Indexers::new().with("first", |map: &Object<ConfigMap>| vec![map.name()[..1].into()]);
    informer.add_indexers(first).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    let length = |map: &Object<ConfigMap>| vec![map.name().len().to_string()];
    informer.add_indexers(Indexers::new().with("length", length)).unwrap();
    let keys = |index: &str, value: &str| {
        let mut keys = informer.indexer().index_keys(index, value).unwrap();
        keys.sort();
        keys.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(keys("value", "1"), ["default/a", "default/b"]);
    assert_eq!(keys("first", "a"), ["default/a"]);
    assert_eq!(keys("length", "1"), ["default/a", "default/b"], "it is filled at once");
    assert_eq!(keys("namespace", "default").len(), 2, "that index is always there");
    source.put("b", "2");
    let version = source.put("cc", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    assert_eq!(keys("value", "2"), ["default/b", "default/cc"]);
    assert_eq!(keys("value", "1"), ["default/a"]);
    assert_eq!(keys("length", "2"), ["default/cc"]);
}

#[test]
fn an_index_exists_once_and_unknown_ones_are_errors() {
    let informer = started(Source::new().informer().indexers(by_value()));
    let again = informer.add_indexers(by_value()).unwrap_err().to_string();
    assert!(again.contains("value"), "{again}");
    let unknown = informer.indexer().by_index("colour", "red").unwrap_err().to_string();
    assert!(unknown.contains("colour"), "{unknown}");
}
