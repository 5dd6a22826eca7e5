//! Combinations of options that mean nothing, or something that is easily taken for something else.

use kinformer::{ListOptions, ResourceVersionMatch, labels};

use crate::server::Scope;

#[test]
fn lists_that_make_no_sense_are_refused_alike() {
    let scope = Scope::new();
    let version = scope.put("a", "1");
    let list = ListOptions::new;
    let rows = [
        ("nothing said", list(), 200),
        (
            "a match without a version",
            list().resource_version_match(ResourceVersionMatch::Exact),
            422,
        ),
        (
            "exactly none",
            list().resource_version("0").resource_version_match(ResourceVersionMatch::Exact),
            422,
        ),
        (
            "at least none",
            list().resource_version("0").resource_version_match(ResourceVersionMatch::NotOlderThan),
            200,
        ),
        ("no version", list().resource_version("nonsense"), 400),
        ("a version and a page", list().resource_version(&version).limit(1), 200),
        (
            "a token and a version",
            list().resource_version(&version).continue_token("x").limit(1),
            400,
        ),
        (
            "a token and a match",
            {
                let options = list().continue_token("x").limit(1).resource_version("0");
                options.resource_version_match(ResourceVersionMatch::NotOlderThan)
            },
            422,
        ),
    ];
    for (what, options, expected) in rows {
        let code = match scope.maps().list(&options) {
            Ok(_) => 200,
            Err(error) => error.status().unwrap_or_else(|| panic!("{what}: {error}")).code,
        };
        assert_eq!(code, expected, "{what}");
    }
}

#[test]
fn watches_that_make_no_sense_are_refused_alike() {
    let scope = Scope::new();
    let version = scope.put("a", "1");
    let watch = || ListOptions::new().timeout_seconds(1);
    let not_older = ResourceVersionMatch::NotOlderThan;
    let streamed = || watch().send_initial_events(true).bookmarks(true);
    let rows = [
        ("nothing said", watch(), 200),
        ("from a version", watch().resource_version(&version), 200),
        // Not a mistake in this table: this is what servers say.
        ("no version", watch().resource_version("nonsense"), 500),
        (
            "a match alone",
            watch().resource_version(&version).resource_version_match(not_older),
            422,
        ),
        ("a streamed list", streamed().resource_version_match(not_older), 200),
        ("a streamed list without a match", streamed(), 422),
        (
            "a streamed list of an exact version",
            streamed()
                .resource_version(&version)
                .resource_version_match(ResourceVersionMatch::Exact),
            422,
        ),
        (
            "no initial events from a version",
            watch()
                .send_initial_events(false)
                .resource_version(&version)
                .resource_version_match(not_older),
            200,
        ),
        ("a selector", watch().labels(labels::parse("a in (b, c), !d").unwrap()), 200),
    ];
    for (what, options, expected) in rows {
        let code = match scope.maps().watch(&options) {
            Ok(_) => 200,
            Err(error) => error.status().unwrap_or_else(|| panic!("{what}: {error}")).code,
        };
        assert_eq!(code, expected, "{what}");
    }
}
