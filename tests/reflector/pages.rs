//! Lists in pages.

use kinformer::StopToken;

use crate::{
    script::{End, Script},
    support::{api, error_event, eventually, expired, list_meta, object, one_pause},
};

#[test]
fn a_forced_page_size_is_asked_for_whatever_the_version() {
    let mut run = Script::new()
        .page("10", "c1", &["a:1", "b:1", "c:1", "d:1"])
        .page("11", "c2", &["e:1", "f:1", "g:1", "h:1"])
        .page("12", "", &["i:1", "j:1"])
        .watch([error_event(410, "Expired")], End::Close)
        .list("20", &["a:1"])
        .run_with(one_pause(), |builder| builder.page_size(4));
    run.wait_for_version("20");
    run.expect(&[
        "list 0 limit=4",
        "list - limit=4 continue=c1",
        "list - limit=4 continue=c2",
        "watch 10",
        "list 10 limit=4",
        "watch 20",
    ]);
}

#[test]
fn all_pages_are_one_list_at_the_version_of_the_first() {
    let run = Script::new()
        .page("10", "c1", &["a:1", "b:1"])
        .page("11", "c2", &[])
        .page("12", "", &["c:1"])
        .run();
    run.wait_for_version("10");
    assert_eq!(run.stored(), ["a:1", "b:1", "c:1"], "a page may be empty");
}

#[test]
fn a_server_that_pages_from_its_cache_is_asked_in_pages_from_then_on() {
    let mut run = Script::new()
        .page("10", "c", &["a:1"])
        .page("10", "", &["b:1"])
        .watch([error_event(410, "Expired")], End::Close)
        .list("20", &[])
        .watch([error_event(410, "Expired")], End::Close)
        .list("30", &[])
        .run();
    run.wait_for_version("30");
    run.expect(&[
        "list 0 limit=500",
        "list - limit=500 continue=c",
        "watch 10",
        "list 10 limit=500",
        "watch 20",
        "list 20 limit=500",
        "watch 30",
    ]);
}

#[test]
fn pages_of_the_newest_state_say_nothing_about_the_servers_cache() {
    // Found expired before anything was listed from the cache, then listed in pages without a version.
    let mut run = Script::new()
        .list_fails(expired())
        .page("10", "c", &[])
        .page("10", "", &[])
        .watch([error_event(410, "Expired")], End::Close)
        .list("20", &[])
        .run();
    run.wait_for_version("20");
    run.expect(&[
        "list 0 limit=500",
        "list - limit=500",
        "list - limit=500 continue=c",
        "watch 10",
        "list 10",
        "watch 20",
    ]);
}

#[test]
fn a_list_that_expires_between_pages_is_asked_for_whole_once() {
    let mut run = Script::new()
        .list("10", &["z:1"])
        .watch([error_event(410, "Expired")], End::Close)
        .page("20", "c", &["a:1", "b:1"])
        .list_fails(expired())
        .list("30", &["b:1", "c:1"])
        .run_with(one_pause(), |builder| builder.page_size(4));
    run.wait_for_version("30");
    run.expect(&[
        "list 0 limit=4",
        "watch 10",
        "list 10 limit=4",
        "list - limit=4 continue=c",
        "list 10",
        "watch 30",
    ]);
    assert_eq!(run.stored(), ["b:1", "c:1"], "nothing is left of the pages that expired");
    assert_eq!(run.errors(), [""; 0]);
}

#[test]
fn a_first_page_that_is_expired_is_asked_for_without_a_version_in_pages_of_the_same_size() {
    let mut run = Script::new()
        .list("10", &[])
        .watch([error_event(410, "Expired")], End::Close)
        .list_fails(expired())
        .list("20", &[])
        .run_with(one_pause(), |builder| builder.page_size(4));
    run.wait_for_version("20");
    run.expect(&["list 0 limit=4", "watch 10", "list 10 limit=4", "list - limit=4", "watch 20"]);
}

#[test]
fn a_whole_list_that_expires_too_is_asked_for_without_a_version() {
    let mut run = Script::new()
        .page("10", "c", &[])
        .list_fails(expired())
        .list_fails(expired())
        .list("20", &["a:1"])
        .run_with(crate::support::no_pause(), |builder| builder);
    run.wait_for_version("20");
    run.expect(&[
        "list 0 limit=500",
        "list - limit=500 continue=c",
        "list 0",
        "list - limit=500",
        "watch 20",
    ]);
}

#[test]
fn a_list_that_fails_between_pages_changes_nothing_and_starts_over() {
    let mut run = Script::new()
        .list("10", &["a:1", "b:1"])
        .watch([error_event(410, "Expired")], End::Close)
        .page("20", "c", &["a:2"])
        .list_fails(api(503, "ServiceUnavailable"))
        .run_with(one_pause(), |builder| builder.page_size(1));
    eventually("the error", || run.errors().len() == 1);
    assert_eq!(run.version(), "10");
    assert_eq!(run.stored(), ["a:1", "b:1"], "the store keeps what it had");
    run.end();
    assert_eq!(run.calls()[2..4], ["list 10 limit=1", "list - limit=1 continue=c"]);
}

#[test]
fn a_version_counts_only_when_the_list_is_complete() {
    let open = StopToken::new();
    let gate = open.clone();
    let run = Script::new()
        .page("10", "c", &["a:1"])
        .list_with(move |_, item| {
            item(Ok(object("b", "2")));
            gate.wait();
            item(Ok(object("c", "3")));
            Ok(list_meta("11", ""))
        })
        .run();
    eventually("the second page", || run.calls().len() == 2);
    assert_eq!((run.version(), run.stored()), (String::new(), vec![]));
    open.stop();
    run.wait_for_version("10");
    assert_eq!(run.stored(), ["a:1", "b:2", "c:3"]);
}
