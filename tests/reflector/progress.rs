//! What an informer says of itself.

use std::time::Duration;

use kinformer::{
    Client, DynamicObject, Error, InformerStatus, ListWatch, Object, SharedInformer,
    testing::{ApiServer, Fault, Verb, When},
};

use crate::{
    mirror::put,
    raw::{Gate, Reply, Server},
    script::{End, Script},
    support::{EMPTY, added, bookmark, config_maps, eventually, one_pause, short_pauses, unusable},
};

fn informer(client: &Client) -> SharedInformer<DynamicObject> {
    let source = ListWatch::of_resource(client, &config_maps(), None);
    SharedInformer::builder(source)
        .backoff(short_pauses())
        .streamed_lists(false)
        .on_error(|_| {})
        .build()
        .unwrap()
}

#[test]
fn lists_are_something_that_the_server_sends() {
    // A list, and then a watch that does not even begin.
    let server = Server::start(|request| {
        if request.query().contains("watch=true") {
            return Reply::raw("").wait(&Gate::default());
        }
        Reply::json(200, EMPTY)
    });
    let informer = informer(&server.client());
    assert_eq!(informer.status().last_event_age, None);
    informer.start().unwrap();
    eventually("the list", || informer.status().lists == 1);
    let status = informer.status();
    assert!(status.last_event_age.is_some_and(|age| age < Duration::from_secs(30)), "{status:?}");
    informer.stop();
}

#[test]
fn an_object_that_cannot_be_used_is_no_failure_of_the_watch() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let client = Client::new(server.config()).unwrap();
    let source = ListWatch::<DynamicObject>::of_resource(&client, &config_maps(), None);
    let informer = SharedInformer::builder(source)
        .backoff(short_pauses())
        .transform(|body: &mut DynamicObject| match body["metadata"]["name"].as_str() {
            Some("bad") => Err(Error::other("it is bad")),
            _ => Ok(()),
        })
        .on_error(|_| {})
        .build()
        .unwrap();
    informer.start().unwrap();
    // In the list it would be passed over again whenever that is begun again.
    eventually("the watch", || informer.status().watches == 1);
    put(&server, "bad", "1");
    eventually("the bad one", || informer.status().passed_over == 1);
    let InformerStatus { last_error, failures, last_passed_over, .. } = informer.status();
    assert_eq!((last_error, failures), (None, 0));
    assert_eq!(last_passed_over.as_deref(), Some("it is bad"));
    // A failure of the watch is one, and is over when it works again.
    server.inject(When::any().verb(Verb::Watch).once(), Fault::status(500));
    server.drop_connections();
    eventually("the next watch", || informer.status().watches == 2);
    put(&server, "bad", "2");
    eventually("the bad one again", || informer.status().passed_over == 2);
    assert_eq!(informer.status().last_error, None);
    informer.stop();
}

#[test]
fn unusable_objects_of_lists_and_watches_are_counted() {
    let script = Script::new()
        .list_with(|_, item| {
            item(Err(unusable()));
            item(Ok(crate::support::object("a", "1")));
            Ok(crate::support::list_meta("1", ""))
        })
        .watch([Err(unusable()), added("b", "2"), bookmark("3")], End::Idle);
    let informer = SharedInformer::<DynamicObject>::builder(script.source())
        .backoff(one_pause())
        .on_error(|_| {})
        .build()
        .unwrap();
    informer.start().unwrap();
    eventually("the last version", || informer.status().last_sync_resource_version == "3");
    let status = informer.status();
    assert_eq!((status.passed_over, status.last_error, status.failures), (2, None, 0));
    eventually("both objects", || informer.store().len() == 2);
    informer.stop();
}

#[test]
fn a_source_of_ones_own_can_fail_in_its_own_words() {
    use kinformer::Phase;
    use std::io::{Error as IoError, ErrorKind};
    let refused = || Error::transport(Phase::Connect, &ErrorKind::ConnectionRefused.into());
    let reset = || Error::transport(Phase::Body, &ErrorKind::ConnectionReset.into());
    let mut run = Script::new()
        .list_fails(Error::other(IoError::other("the archive is locked")))
        .list("1", &["a:1"])
        .watch_fails(refused())
        .watch([added("b", "2")], End::Fail(reset()))
        .watch([], End::Fail(Error::other("the archive is gone")))
        .run();
    run.expect(&[
        "list 0 limit=500",
        "list 0 limit=500",
        "watch 1",
        "watch 1",
        "watch 2",
        "list 2",
    ]);
    assert_eq!(
        run.errors(),
        ["the archive is locked", "connect: connection refused", "the archive is gone"]
    );
    let kept: Object = crate::support::object("a", "1");
    assert!(run.stored().contains(&format!("{}:{}", kept.name(), kept.resource_version())));
}
