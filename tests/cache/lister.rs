//! Listers: names, namespaces, label and field selectors.

use kinformer::{
    ApiResource, Error, Object, ObjectKey,
    cache::{Indexer, Indexers, Lister, NAMESPACE_INDEX, meta_namespace_key, namespace_index},
    fields, labels,
};

use crate::sorted;

fn pods() -> ApiResource {
    ApiResource::namespaced("v1", "Pod", "pods")
}

fn object(namespace: &str, name: &str, labels: &str) -> Object {
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","labels":{{{labels}}}}}}}"#
    );
    Object::from_json(&pods(), json.as_bytes()).unwrap()
}

/// Every kind of store that a lister can be made of.
fn listers() -> [Lister<kinformer::DynamicObject>; 3] {
    [
        Indexer::of_objects(Indexers::new()),
        Indexer::new(meta_namespace_key, namespace_index()),
        Indexer::new(meta_namespace_key, Indexers::new()),
    ]
    .map(|indexer| {
        for object in [
            object("a", "web-0", r#""app":"web","tier":"1""#),
            object("a", "web-1", r#""app":"web","tier":"7""#),
            object("a", "db", r#""app":"db""#),
            object("b", "web-0", r#""app":"web","odd\"label":"x""#),
            object("b", "bare", ""),
            object("", "node", r#""app":"node""#),
        ] {
            indexer.add(object);
        }
        Lister::new(indexer, pods())
    })
}

fn keys(objects: Vec<Object>) -> Vec<String> {
    sorted(objects.iter().map(|object| object.key().to_string()))
}

#[test]
fn label_selectors_select_as_the_server_does() {
    for lister in listers() {
        for (selector, expected) in [
            ("", &["a/db", "a/web-0", "a/web-1", "b/bare", "b/web-0", "node"][..]),
            ("app=web", &["a/web-0", "a/web-1", "b/web-0"]),
            ("app==db", &["a/db"]),
            ("app!=web", &["a/db", "b/bare", "node"]),
            ("app in (db, node)", &["a/db", "node"]),
            ("app notin (web, node)", &["a/db", "b/bare"]),
            ("app", &["a/db", "a/web-0", "a/web-1", "b/web-0", "node"]),
            ("!app", &["b/bare"]),
            ("tier>1", &["a/web-1"]),
            ("tier<7", &["a/web-0"]),
            ("app=web,tier", &["a/web-0", "a/web-1"]),
            ("app=web,!tier", &["b/web-0"]),
            ("app=none", &[]),
        ] {
            let found = lister.list(&labels::parse(selector).unwrap());
            assert_eq!(keys(found), expected, "{selector:?}");
        }
        assert!(lister.list(&labels::nothing()).is_empty());
        assert_eq!(lister.list(&labels::everything()).len(), 6);
    }
}

#[test]
fn a_namespace_is_listed_alone_with_or_without_an_index() {
    for lister in listers() {
        let in_namespace = |namespace: &str, selector: &str| {
            keys(lister.namespace(namespace).list(&labels::parse(selector).unwrap()))
        };
        assert_eq!(in_namespace("a", ""), ["a/db", "a/web-0", "a/web-1"]);
        assert_eq!(in_namespace("a", "app=web"), ["a/web-0", "a/web-1"]);
        assert_eq!(in_namespace("b", "app=web"), ["b/web-0"]);
        assert_eq!(in_namespace("b", "!app"), ["b/bare"]);
        assert!(in_namespace("c", "").is_empty());
        assert!(lister.namespace("a").list(&labels::nothing()).is_empty());
    }
}

#[test]
fn no_namespace_means_all_of_them() {
    for lister in listers() {
        let all = lister.namespace("");
        assert_eq!(all.list(&labels::everything()).len(), 6);
        assert_eq!(keys(all.list(&labels::parse("app=db").unwrap())), ["a/db"]);
        assert_eq!(all.get("node").unwrap().name(), "node");
    }
}

#[test]
fn an_object_is_found_by_namespace_and_name_or_by_its_key() {
    for lister in listers() {
        assert_eq!(lister.namespace("b").get("web-0").unwrap().key(), &"b/web-0");
        assert_eq!(lister.get("a/db").unwrap().name(), "db");
        assert_eq!(lister.get("node").unwrap().namespace(), None);
        let long = "n".repeat(500);
        assert!(lister.namespace(&long).get("web-0").is_err());
    }
}

#[test]
fn what_is_not_there_is_not_found_by_name_and_resource() {
    for lister in listers() {
        for error in [
            lister.namespace("b").get("db").unwrap_err(),
            lister.namespace("none").get("db").unwrap_err(),
        ] {
            assert!(error.is_not_found(), "{error}");
            let details = error.status().unwrap().details.as_ref().unwrap();
            assert_eq!((details.name.as_str(), details.kind.as_str()), ("db", "pods"));
            assert_eq!(error.status().unwrap().message, r#"pods "db" not found"#);
        }
        let error = lister.get("db").unwrap_err();
        assert!(error.is_not_found(), "{error}");
        let message = r#"pods "db" not found: pods live in namespaces, as in "default/db""#;
        assert_eq!(error.status().unwrap().message, message);
        assert_eq!(
            lister.get("b/db").unwrap_err().status().unwrap().message,
            r#"pods "b/db" not found"#
        );
    }
    let deployments = ApiResource::namespaced("apps/v1", "Deployment", "deployments");
    let lister =
        Lister::<kinformer::DynamicObject>::new(Indexer::of_objects(Indexers::new()), deployments);
    let error = lister.namespace("a").get("web").unwrap_err();
    assert!(error.to_string().contains(r#"deployments.apps "web" not found"#), "{error}");
}

#[test]
fn an_index_is_asked_by_name_and_value_and_one_that_is_not_there_is_an_error() {
    let by_app = |object: &Object| object.labels().get("app").map(Into::into).into_iter().collect();
    let indexer = Indexer::of_objects(Indexers::new().with("app", by_app));
    indexer.add(object("a", "web-0", r#""app":"web""#));
    indexer.add(object("b", "db", r#""app":"db""#));
    let lister = Lister::new(indexer, pods());
    assert_eq!(keys(lister.by_index("app", "web").unwrap()), ["a/web-0"]);
    assert_eq!(keys(lister.by_index(NAMESPACE_INDEX, "b").unwrap()), ["b/db"]);
    assert!(lister.by_index("app", "none").unwrap().is_empty());
    let error = lister.by_index("colour", "red").unwrap_err();
    assert!(matches!(&error, Error::Invalid(input) if input.argument() == "index"), "{error}");
    assert!(error.to_string().contains("\"colour\""), "{error}");
}

#[test]
fn field_selectors_select_by_metadata() {
    for lister in listers() {
        for (selector, expected) in [
            ("metadata.name=web-0", &["a/web-0", "b/web-0"][..]),
            ("metadata.namespace=a,metadata.name!=db", &["a/web-0", "a/web-1"]),
            ("metadata.namespace=", &["node"]),
            ("metadata.name=none", &[]),
            ("", &["a/db", "a/web-0", "a/web-1", "b/bare", "b/web-0", "node"]),
        ] {
            let found = lister.list_by_fields(&fields::parse(selector).unwrap());
            assert_eq!(keys(found), expected, "{selector:?}");
        }
    }
}

#[test]
fn an_index_of_ones_own_by_namespace_takes_the_place_of_the_usual_one() {
    for more in [namespace_index(), Indexers::new().with(NAMESPACE_INDEX, |_| vec![])] {
        let indexer = Indexer::<Object>::of_objects(more);
        assert_eq!(indexer.index_names(), [NAMESPACE_INDEX], "once");
    }
    let odd = Indexers::new().with(NAMESPACE_INDEX, |_: &Object| vec!["odd".to_owned()]);
    let indexer = Indexer::of_objects(odd);
    indexer.add(object("a", "web-0", ""));
    assert_eq!(indexer.list_index_func_values(NAMESPACE_INDEX), ["odd"]);
}

#[test]
fn the_namespace_index_has_objects_of_the_whole_cluster_under_nothing() {
    let indexer = Indexer::<Object>::of_objects(Indexers::new());
    indexer.add(object("", "node", ""));
    indexer.add(object("a", "web-0", ""));
    let keys: [ObjectKey; 1] = [meta_namespace_key(&object("", "node", ""))];
    assert_eq!(indexer.index_keys(NAMESPACE_INDEX, "").unwrap(), keys);
    assert_eq!(sorted(indexer.list_index_func_values(NAMESPACE_INDEX)), ["", "a"]);
}

#[test]
fn listers_see_changes_and_give_handles_on_what_is_stored() {
    let indexer = Indexer::of_objects(Indexers::new());
    let lister = Lister::new(indexer.clone(), pods());
    let app = labels::parse("app=web").unwrap();
    assert!(lister.list(&app).is_empty());
    indexer.add(object("a", "web-0", r#""app":"web""#));
    assert_eq!(lister.list(&app).len(), 1);
    indexer.update(object("a", "web-0", r#""app":"other""#));
    assert!(lister.list(&app).is_empty(), "labels are those of the newest state");
    indexer.delete_by_key("a/web-0");
    assert!(lister.list(&labels::everything()).is_empty());
}

#[test]
fn ten_thousand_of_a_hundred_thousand_are_found_and_all_and_none() {
    const ALL: usize = 100_000;
    let indexer = Indexer::of_objects(Indexers::new());
    let objects = (0..ALL).map(|n| {
        let app = if n % 10 == 0 { "wanted".to_owned() } else { format!("app-{}", n % 97) };
        object("ns", &format!("pod-{n}"), &format!(r#""app":"{app}","zone":"z{}""#, n % 3))
    });
    indexer.replace(objects, "");
    let lister = Lister::new(indexer, pods());
    let found = lister.list(&labels::parse("app=wanted").unwrap());
    assert_eq!(found.len(), ALL / 10);
    assert!(found.iter().all(|object| object.labels().get("app").as_deref() == Some("wanted")));
    assert_eq!(lister.list(&labels::everything()).len(), ALL);
    assert!(lister.list(&labels::nothing()).is_empty());
}
