//! Factories: every built-in kind, sets of namespaces, metadata alone.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    ApiResource, DynamicObject, Event, ListOptions, NamespaceSet, Selection, SharedInformer,
    SharedInformerFactory, kinds, labels,
};

use crate::{
    samples::sample,
    server::{LIMIT, Scope, wait_until},
};

/// Made, told by the informer of the table, equal to what is listed, deleted, told again.
#[test]
fn an_object_of_every_built_in_kind_comes_and_goes_by_the_table_of_kinds() {
    let scope = Scope::new();
    let served = scope.client.discovery().resources().unwrap();
    let is_served = |resource: &ApiResource| served.iter().any(|found| found.resource == *resource);
    let resources: Vec<_> = kinds::all()
        .filter(|kind| kind.is_watchable())
        .map(kinds::Kind::resource)
        .filter(is_served)
        .collect();
    let factory = SharedInformerFactory::new(scope.client.clone());
    let informers: BTreeMap<String, SharedInformer<DynamicObject>> = resources
        .iter()
        .map(|resource| (resource.gvr().to_string(), factory.informer_for(resource)))
        .collect();
    let (send, events) = crossbeam_channel::unbounded();
    for informer in informers.values() {
        informer.add_event_handler(send.clone()).unwrap();
    }
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let (mut written, mut refused) = (0, Vec::new());
    for resource in &resources {
        let informer = &informers[&resource.gvr().to_string()];
        let Some(object) = sample(resource.kind(), &scope.name) else { continue };
        let api = scope.client.dynamic(resource);
        let api = if resource.is_namespaced() { api.namespace(&scope.name) } else { api };
        // Some are of a group that has the same objects under another version.
        let made = match api.create(&object) {
            Ok(made) => made,
            Err(error) if error.is_already_exists() => continue,
            Err(error) => {
                refused.push(format!("{resource}: {error}"));
                continue;
            }
        };
        let key = made.key().clone();
        informer.wait_for_resource_version(made.resource_version(), LIMIT).unwrap();
        let cached = informer.lister().get(key.as_str()).unwrap();
        assert_eq!((cached.kind(), cached.uid()), (resource.kind(), made.uid()), "{resource}");
        assert_eq!(cached.api_version(), resource.api_version());
        if resource.kind() != "Namespace" {
            api.delete(&scope.name).unwrap_or_else(|error| panic!("{resource}: {error}"));
            wait_until("it is gone", || {
                let left = informer.lister().get(key.as_str());
                // What has a finalizer by default stays for a controller to remove it.
                left.is_err() || left.is_ok_and(|left| left.deletion_timestamp().is_some())
            });
        }
        written += 1;
    }
    assert!(refused.is_empty(), "{refused:#?}");
    println!("{} kinds watched, {written} written", resources.len());
    assert!(resources.len() >= 55 && written >= 45, "{} {written}", resources.len());
    drop(send);
    factory.shutdown().unwrap();
    drop((informers, factory));
    let added = events.iter().filter(|event| matches!(event, Event::Added { initial: false, .. }));
    assert!(added.count() >= written);
}

#[test]
fn a_set_of_namespaces_is_followed_as_it_changes() {
    let scopes = [Scope::new(), Scope::new(), Scope::new()];
    for scope in &scopes {
        scope.put("a", "1");
    }
    let [one, two, three] = scopes.each_ref().map(|scope| scope.name.clone());
    let set = NamespaceSet::new([&one, &two]).unwrap();
    let factory = SharedInformerFactory::new(scopes[0].client.clone());
    let selection = Selection::new().namespaces(&set).labels(labels::parse("app").unwrap());
    let resource = ApiResource::of::<ConfigMap>();
    let informer: SharedInformer<ConfigMap> = factory.informer_of(&resource, &selection);
    let (send, events) = crossbeam_channel::unbounded();
    informer.add_event_handler(send).unwrap();
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let next = || {
        let event = events.recv_timeout(LIMIT).unwrap();
        let sign = match event {
            Event::Added { .. } => '+',
            Event::Updated { .. } => '~',
            Event::Deleted(_) => '-',
            _ => '?',
        };
        format!("{sign}{}", event.key())
    };
    let first = BTreeSet::from([next(), next()]);
    assert_eq!(first, BTreeSet::from([format!("+{one}/a"), format!("+{two}/a")]));
    set.insert(&three).unwrap();
    assert_eq!(next(), format!("+{three}/a"));
    set.remove(&two);
    assert_eq!(next(), format!("-{two}/a"));
    scopes[2].put("a", "2");
    assert_eq!(next(), format!("~{three}/a"));
    scopes[0].maps().delete("a").unwrap();
    assert_eq!(next(), format!("-{one}/a"));
    assert_eq!(informer.store().len(), 1);
}

#[test]
fn a_metadata_factory_has_the_metadata_of_every_object() {
    let scope = Scope::new();
    scope.put("a", &"x".repeat(500));
    let builder = SharedInformerFactory::builder(scope.client.clone()).namespace(&scope.name);
    let factory = builder.metadata();
    let informer = factory.informer_for(&ApiResource::of::<ConfigMap>());
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let version = scope.put("b", &"x".repeat(500));
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    let listed = scope.maps().list(&ListOptions::new()).unwrap();
    let versions = |objects: Vec<(String, String)>| objects.into_iter().collect::<BTreeMap<_, _>>();
    let of = |name: &str, version: &str| (name.to_owned(), version.to_owned());
    let cached = informer.store().list();
    assert_eq!(
        versions(
            cached.iter().map(|object| of(object.name(), object.resource_version())).collect()
        ),
        versions(listed.items.iter().map(|o| of(o.name(), o.resource_version())).collect())
    );
    assert!(cached.iter().all(|object| !object.json().contains("xxx")));
}
