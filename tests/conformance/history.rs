//! What a server remembers, and what it answers when it does not. These have the server to themselves.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{ListOptions, ListWatch, ResourceVersionMatch, SharedInformer, WatchEvent, labels};
use parking_lot::Mutex;

use crate::server::{LIMIT, Scope, wait_until};

#[test]
fn compaction_expires_pages_lists_and_watches() {
    let scope = Scope::alone();
    for n in 0..6 {
        scope.put(&format!("m{n}"), "1");
    }
    let mine = ListOptions::new().labels(labels::parse("app").unwrap());
    let first = scope.maps().list(&mine.clone().limit(2)).unwrap();
    scope.put("m1", "2");
    scope.compact();

    let old = &first.metadata.resource_version;
    let rest = mine.clone().limit(2).continue_token(&first.metadata.continue_token);
    let error = scope.maps().list(&rest).unwrap_err();
    assert!(error.is_expired(), "{error}");
    // The server offers a token for the rest in the newest state.
    let token = error.status().unwrap().metadata.continue_token.clone();
    let rest = scope.maps().list(&mine.clone().limit(10).continue_token(token)).unwrap();
    assert_eq!(rest.items.len(), 4);
    assert_ne!(rest.metadata.resource_version, *old);

    let exact = mine.resource_version(old).resource_version_match(ResourceVersionMatch::Exact);
    let error = scope.maps().list(&exact).unwrap_err();
    assert!(error.is_expired(), "{error}");
}

#[test]
fn an_informer_that_was_held_off_until_its_version_is_gone_lists_anew() {
    let scope = Scope::alone();
    for n in 0..6 {
        scope.put(&format!("m{n}"), "1");
    }
    // Nothing is asked for while somebody holds this.
    let gate = Arc::new(Mutex::new(()));
    let source = ListWatch::<ConfigMap>::from_client(&scope.client, Some(&scope.name));
    let source = source.tweak({
        let gate = gate.clone();
        move |options| {
            drop(gate.lock());
            options.labels = labels::parse("app").unwrap();
            options.timeout_seconds = Some(1);
        }
    });
    let informer = SharedInformer::builder(source).build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    for n in 0..3 {
        let lists = informer.status().lists;
        let held = gate.lock();
        wait_until("its watch has ended", || informer.status().watch_age.is_none());
        scope.maps().delete(&format!("m{n}")).unwrap();
        scope.compact();
        assert_eq!(informer.store().len(), 6 - n, "it was held off");
        drop(held);
        wait_until("it has listed anew", || informer.status().lists > lists);
        wait_until("the deletion is known", || informer.store().len() == 5 - n);
    }
    let version = scope.put("m5", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    assert_eq!(informer.store().len(), 3);
}

#[test]
fn a_watch_from_no_version_begins_with_what_is_there() {
    let scope = Scope::new();
    scope.put("a", "1");
    scope.put("b", "1");
    for version in [None, Some("0")] {
        let mut options = ListOptions::new().labels(labels::parse("app").unwrap());
        options.resource_version = version.map(Into::into);
        let mut watch = scope.maps().watch(&options).unwrap();
        let mut names = [(); 2].map(|()| match watch.next().unwrap().unwrap() {
            WatchEvent::Added(object) => object.name().to_owned(),
            other => panic!("{other:?}"),
        });
        names.sort();
        assert_eq!(names, ["a", "b"], "{version:?}");
    }
}
