//! Which resource versions are asked for, and when the last one moves.

use crate::{
    script::{End, Script},
    support::{
        added, api, api_json, bookmark, deleted, error_event, expired, modified, no_pause,
        one_pause,
    },
};

#[test]
fn the_first_list_is_from_any_state_in_pages_and_the_watch_goes_on_from_it() {
    let mut run = Script::new().list("1", &["a:1"]).run_with(no_pause(), |builder| builder);
    run.expect(&["list 0 limit=500", "watch 1"]);
    let asked = run.asked();
    assert_eq!((asked[0].resource_version_match, asked[0].timeout_seconds), (None, None));
    assert_eq!(asked[1].bookmarks, None, "they are asked for unless refused");
    assert_eq!(run.errors(), [""; 0]);
}

#[test]
fn a_relist_is_from_the_last_version_and_without_a_limit() {
    let mut run = Script::new()
        .list("10", &["a:1", "b:2"])
        .watch([added("c", "12"), error_event(410, "Expired")], End::Close)
        .list("20", &["a:1", "c:12"])
        .run();
    run.wait_for_version("20");
    run.expect(&["list 0 limit=500", "watch 10", "list 12", "watch 20"]);
    assert_eq!(run.stored(), ["a:1", "c:12"]);
    assert_eq!(run.errors(), [""; 0], "an expired watch is ordinary");
}

#[test]
fn an_expired_version_is_left_out_at_once_and_used_again_after_the_next_list() {
    for gone in [expired(), api(410, "Gone"), api(410, "")] {
        let mut run = Script::new()
            .list("10", &[])
            .watch([error_event(410, "Expired")], End::Close)
            .list_fails(gone)
            .list("20", &["a:15"])
            .run_with(one_pause(), |builder| builder);
        run.wait_for_version("20");
        run.expect(&["list 0 limit=500", "watch 10", "list 10", "list -", "watch 20"]);
        assert_eq!(run.errors(), [""; 0]);
    }
    let mut run = Script::new()
        .list("10", &[])
        .watch([error_event(410, "Expired")], End::Close)
        .list_fails(expired())
        .list("20", &[])
        .watch([error_event(410, "Expired")], End::Close)
        .list("30", &[])
        .run();
    run.expect(&[
        "list 0 limit=500",
        "watch 10",
        "list 10",
        "list -",
        "watch 20",
        "list 20",
        "watch 30",
    ]);
}

#[test]
fn a_version_too_large_in_any_of_its_historic_forms_is_left_out_at_once() {
    let forms = [
        r#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#,
        r#"{"code":504,"reason":"Timeout","details":{"causes":[{"message":"Too large resource version"}]}}"#,
        r#"{"code":504,"reason":"Timeout","message":"Too large resource version: 1, current: 0"}"#,
    ];
    let mut script = Script::new().list("20", &[]);
    for (form, version) in forms.into_iter().zip(["30", "40", "50"]) {
        script = script
            .watch([error_event(410, "Expired")], End::Close)
            .list_fails(api_json(form))
            .list(version, &[]);
    }
    let mut run = script.run();
    run.wait_for_version("50");
    run.expect(&[
        "list 0 limit=500",
        "watch 20",
        "list 20",
        "list -",
        "watch 30",
        "list 30",
        "list -",
        "watch 40",
        "list 40",
        "list -",
        "watch 50",
    ]);
}

#[test]
fn as_long_as_no_list_succeeds_the_lost_version_is_not_asked_for_again() {
    let mut run = Script::new()
        .list("10", &["a:1"])
        .watch([error_event(410, "Expired")], End::Close)
        .list_fails(expired())
        .list_fails(api(500, "InternalError"))
        .list("20", &["a:1"])
        .run();
    run.wait_for_version("20");
    run.expect(&[
        "list 0 limit=500",
        "watch 10",
        "list 10",
        "list -",
        "list - limit=500",
        "watch 20",
    ]);
    assert_eq!(run.errors().len(), 1);
}

#[test]
fn a_watch_at_a_version_that_is_too_large_or_too_old_ends_in_a_list() {
    let too_large =
        || api_json(r#"{"code":504,"reason":"Timeout","message":"Too large resource version: 9"}"#);
    let mut run = Script::new()
        .list("9", &["a:1"])
        .watch_fails(too_large())
        .list_fails(too_large())
        .list("3", &["b:2"])
        .run();
    run.wait_for_version("3");
    run.expect(&["list 0 limit=500", "watch 9", "list 9", "list -", "watch 3"]);
    assert_eq!((run.stored(), run.errors()), (vec!["b:2".to_owned()], vec![]));

    let mut run = Script::new().list("9", &["a:1"]).watch_fails(expired()).list("12", &[]).run();
    run.wait_for_version("12");
    run.expect(&["list 0 limit=500", "watch 9", "list 9", "watch 12"]);
    assert_eq!(run.errors(), [""; 0], "ordinary, and listing mends it");
}

#[test]
fn the_last_version_is_that_of_the_last_event_whatever_its_number() {
    let run = Script::new()
        .list("1", &["a:1", "b:1"])
        .watch([added("c", "55"), modified("a", "54"), deleted("b", "32")], End::Idle)
        .run();
    run.wait_for_version("32");
    assert_eq!(run.stored(), ["a:54", "c:55"]);
}

#[test]
fn bookmarks_move_the_version_and_are_not_stored() {
    let mut run = Script::new()
        .list("1", &["a:1"])
        .watch([bookmark("7")], End::Close)
        .watch([modified("a", "8"), bookmark("9")], End::Close)
        .run_with(no_pause(), |builder| builder);
    run.expect(&["list 0 limit=500", "watch 1", "watch 7", "watch 9"]);
    assert_eq!(run.stored(), ["a:8"]);
    assert_eq!(run.store.resource_version(), "9", "the store is told");
}

#[test]
fn without_a_version_to_start_from_only_other_events_than_added_move_it() {
    for none in ["", "0"] {
        let start = format!("watch {none}");
        let mut run = Script::new()
            .list(none, &[])
            .watch([added("a", "5"), added("b", "3")], End::Close)
            .watch([added("a", "5"), modified("b", "6"), added("c", "7")], End::Close)
            .run_with(no_pause(), |builder| builder);
        run.expect(&["list 0 limit=500", &start, &start, "watch 7"]);
        assert_eq!(run.stored(), ["a:5", "b:6", "c:7"]);
    }
}

#[test]
fn an_object_without_a_version_does_not_lose_the_last_one() {
    let mut run = Script::new()
        .list("4", &[])
        .watch([added("a", "5"), added("b", "")], End::Close)
        .run_with(no_pause(), |builder| builder);
    run.expect(&["list 0 limit=500", "watch 4", "watch 5"]);
}

#[test]
fn watches_are_asked_for_between_five_and_ten_minutes_each_its_own() {
    let mut script = Script::new().list("1", &[]);
    for version in 2..42 {
        script = script.watch([bookmark(&version.to_string())], End::Close);
    }
    let run = script.run_with(no_pause(), |builder| builder);
    crate::support::eventually("many watches", || run.calls().len() == 42);
    let mut seconds: Vec<_> =
        run.asked()[1..].iter().map(|asked| asked.timeout_seconds.unwrap()).collect();
    assert!(seconds.iter().all(|seconds| (300..600).contains(seconds)), "{seconds:?}");
    seconds.sort_unstable();
    seconds.dedup();
    assert!(seconds.len() > 10, "they end together: {seconds:?}");
}
