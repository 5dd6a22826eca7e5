//! Many informers of one client: how they come back from an outage, and what they learn from each other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use kinformer::{
    ApiResource, Client, Crowd, DynamicObject, ListMeta, ListOptions, ListWatch, ListerWatcher,
    Object, Result, SharedInformer, StopToken, Watch, WatchEvent,
    cache::DeltaFifo,
    config::{ConfigBuilder, Timeouts},
    testing::{ApiServer, Fault, Moment, Verb, When},
};

use crate::{
    mirror::{Mirror, lists, put, queries, server_versions, versions},
    proxy::Proxy,
    support::{config_maps, eventually, no_pause, one_pause, pauses, short_pauses},
};

const INFORMERS: usize = 60;

/// How many lists are under way, and were at most.
#[derive(Default)]
struct InFlight {
    now: AtomicUsize,
    most: AtomicUsize,
}

struct Flight(Arc<InFlight>);

impl InFlight {
    fn begin(self: &Arc<Self>) -> Flight {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Flight(self.clone())
    }

    fn take_most(&self) -> usize {
        self.most.swap(0, Ordering::SeqCst)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts the lists of another source, streamed ones up to their end.
struct Counted {
    source: ListWatch<DynamicObject>,
    in_flight: Arc<InFlight>,
}

impl ListerWatcher<DynamicObject> for Counted {
    fn resource(&self) -> &ApiResource {
        self.source.resource()
    }

    fn list(
        &self,
        options: &ListOptions,
        stop: &StopToken,
        item: &mut dyn FnMut(Result<Object>),
    ) -> Result<ListMeta> {
        let _flight = self.in_flight.begin();
        self.source.list(options, stop, item)
    }

    fn watch(&self, options: &ListOptions, stop: &StopToken) -> Result<Watch<DynamicObject>> {
        let mut flight = options.send_initial_events.map(|_| self.in_flight.begin());
        let watch = self.source.watch(options, stop)?;
        Ok(Watch::from_events(watch.inspect(move |event| match event {
            Ok(WatchEvent::Bookmark(bookmark)) if bookmark.initial_events_end => {
                drop(flight.take());
            }
            _ => {}
        })))
    }

    fn streams_lists(&self) -> bool {
        true
    }

    fn crowd(&self) -> Option<Arc<Crowd>> {
        self.source.crowd()
    }
}

#[test]
fn sixty_informers_come_back_from_an_outage_one_after_the_other() {
    const PAUSE: Duration = Duration::from_millis(300);
    let mut backoff = pauses(300, 1.0, 300);
    backoff.jitter = 1.0;
    for streamed in [true, false] {
        let server = ApiServer::start().unwrap();
        for number in 0..50 {
            put(&server, &format!("c{number}"), "1");
        }
        let proxy = Proxy::start(&server);
        let client = Client::new(proxy.config().build().unwrap()).unwrap();
        let in_flight = Arc::new(InFlight::default());
        let failures: Vec<_> = (0..INFORMERS).map(|_| Arc::new(AtomicUsize::new(0))).collect();
        let informers: Vec<_> = failures
            .iter()
            .map(|failed| {
                let source = ListWatch::of_resource(&client, &config_maps(), None);
                let (source, failed) =
                    (Counted { source, in_flight: in_flight.clone() }, failed.clone());
                SharedInformer::builder(source)
                    .backoff(backoff)
                    .streamed_lists(streamed)
                    .on_error(move |error| {
                        failed.fetch_add(
                            usize::from(error.is_connection_refused()),
                            Ordering::SeqCst,
                        );
                    })
                    .build()
                    .unwrap()
            })
            .collect();
        let all_as_the_server = || {
            let expected = server_versions(&server);
            eventually("every store", || {
                informers.iter().all(|informer| versions(&informer.store()) == expected)
            });
        };
        informers.iter().for_each(|informer| informer.start().unwrap());
        all_as_the_server();
        eventually("every watch", || server.watches() == INFORMERS);
        let at_start = in_flight.take_most();
        assert!((1..=4).contains(&at_start), "{at_start} lists at once");

        proxy.refuse();
        // So that there is more to do than to watch again.
        put(&server, "c0", "2");
        server.compact();
        let failed = || failures.iter().map(|failed| failed.load(Ordering::SeqCst));
        eventually("every informer's failure", || failed().all(|failed| failed > 0));
        let tries = |more: usize| {
            let before: usize = failed().sum();
            let since = Instant::now();
            eventually("more tries", || failed().sum::<usize>() >= before + more);
            since.elapsed()
        };
        // One may be under way already. After it there are pauses, the first of them in part: five tries, four.
        tries(1);
        let five = tries(5);
        // All of them trying each for itself would need a hundredth of it.
        assert!(five >= 4 * PAUSE, "five tries in {five:?}");
        let most = failed().max().unwrap();
        let total: usize = failed().sum();
        println!("{total} tries of {INFORMERS} informers, at most {most} of one; five in {five:?}");
        assert!(total <= 2 * INFORMERS, "{total}");

        server.clear_requests();
        proxy.resume();
        all_as_the_server();
        eventually("every watch", || server.watches() == INFORMERS);
        let coming_back = in_flight.take_most();
        println!("streamed {streamed}: {at_start}, then {coming_back} lists at once");
        assert!((1..=4).contains(&coming_back), "{coming_back} lists at once");
        // A watch that is too late, and a list; a watch after it unless it was streamed.
        assert!(queries(&server).len() <= INFORMERS * 3, "{}", queries(&server).len());
    }
}

/// Lets those go that wait, also if a test fails before it does.
struct Release(StopToken);

impl Drop for Release {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// One whose next attempt is an hour away, and one that never returns from being told of its failure.
#[test]
fn nobody_waits_for_one_that_will_try_much_later_or_is_busy_elsewhere() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let proxy = Proxy::start(&server);
    let client = Client::new(proxy.config().build().unwrap()).unwrap();
    proxy.refuse();
    let release = StopToken::new();
    let late = Mirror::of(&client, no_pause(), |builder| builder);
    eventually("its failure", || !late.errors().is_empty());
    let told_of = Arc::new(AtomicUsize::new(0));
    let _stuck = {
        let (release, told) = (release.clone(), told_of.clone());
        Mirror::of(&client, short_pauses(), |builder| {
            builder.on_error(move |_| {
                told.fetch_add(1, Ordering::SeqCst);
                release.wait();
            })
        })
    };
    let _release = Release(release);
    eventually("its failure", || told_of.load(Ordering::SeqCst) == 1);
    let quick = Mirror::of(&client, short_pauses(), |builder| builder);
    eventually("three attempts", || quick.errors().len() >= 3);
    proxy.resume();
    quick.wait_for(&server);
    late.wait_for(&server);
}

/// Without a turn that is given up, four that are stuck are all that ever list.
#[test]
fn slow_transforms_do_not_keep_others_from_listing() {
    for streamed in [true, false] {
        let server = ApiServer::start().unwrap();
        put(&server, "a", "1");
        let client = Client::new(server.config()).unwrap();
        let release = StopToken::new();
        let stuck = Arc::new(AtomicUsize::new(0));
        let mirrors: Vec<_> = (0..4)
            .map(|_| {
                let (release, stuck) = (release.clone(), stuck.clone());
                let fifo = DeltaFifo::builder(|object: &Object| object.key().clone())
                    .transform(move |object: Object| {
                        stuck.fetch_add(1, Ordering::SeqCst);
                        release.wait();
                        Ok(object)
                    })
                    .build();
                Mirror::into(&client, Arc::new(fifo), |builder| builder.streamed_lists(streamed))
            })
            .collect();
        let release = Release(release);
        eventually("all turns", || stuck.load(Ordering::SeqCst) == 4);
        Mirror::of(&client, no_pause(), |builder| builder.streamed_lists(streamed))
            .wait_for(&server);
        assert_eq!(stuck.load(Ordering::SeqCst), 4);
        drop(release);
        for mirror in &mirrors {
            let listed = || !mirror.reflector.last_sync_resource_version().is_empty();
            eventually("the list of one that was stuck", listed);
        }
    }
}

fn streams(server: &ApiServer) -> usize {
    queries(server).iter().filter(|query| query.contains("sendInitialEvents")).count()
}

fn watch() -> When {
    When::any().verb(Verb::Watch)
}

#[test]
fn that_a_server_does_not_stream_lists_is_found_out_once() {
    let withheld = Fault::WithholdBookmarks { initial: true };
    for (when, fault) in [(watch(), withheld), (watch().once(), Fault::status(422))] {
        let server = ApiServer::start().unwrap();
        put(&server, "a", "1");
        server.inject(when, fault.clone());
        let client = Client::new(server.config()).unwrap();
        let start = |silence| {
            Mirror::of(&client, one_pause(), move |builder| builder.stream_silence(silence))
        };
        let first = start(Duration::from_millis(300));
        first.wait_for(&server);
        // It would wait for ever.
        let others: Vec<_> = (0..3).map(|_| start(Duration::from_secs(3600))).collect();
        for mirror in &others {
            mirror.wait_for(&server);
        }
        assert_eq!((streams(&server), lists(&server)), (1, 4), "{fault:?}");
    }
}

#[test]
fn those_who_wait_for_their_turn_learn_it_too() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    server.inject(watch(), Fault::WithholdBookmarks { initial: true });
    let client = Client::new(server.config()).unwrap();
    let silence = Duration::from_millis(500);
    let start = || Mirror::of(&client, one_pause(), |builder| builder.stream_silence(silence));
    let mirrors: Vec<_> = (0..20).map(|_| start()).collect();
    for mirror in &mirrors {
        mirror.wait_for(&server);
    }
    assert!(streams(&server) <= 4, "{}", streams(&server));
}

#[test]
fn one_resource_that_is_not_streamed_says_nothing_about_a_server_that_does() {
    for (fault, first_streams) in [(422, true), (405, false)] {
        let server = ApiServer::start().unwrap();
        put(&server, "a", "1");
        let client = Client::new(server.config()).unwrap();
        let mut expected = 0;
        if first_streams {
            Mirror::of(&client, one_pause(), |builder| builder).wait_for(&server);
            expected += 1;
        }
        server.inject(watch().once(), Fault::status(fault));
        Mirror::of(&client, one_pause(), |builder| builder).wait_for(&server);
        Mirror::of(&client, one_pause(), |builder| builder).wait_for(&server);
        assert_eq!((streams(&server), lists(&server)), (expected + 2, 1), "{fault}");
    }
}

/// A selector that the server does not know, for example.
#[test]
fn a_request_that_is_refused_streamed_or_not_says_nothing_about_streaming() {
    for code in [400, 422] {
        let server = ApiServer::start().unwrap();
        put(&server, "a", "1");
        server.inject(watch().once(), Fault::status(code));
        server.inject(When::any().verb(Verb::List).once(), Fault::status(code));
        let client = Client::new(server.config()).unwrap();
        Mirror::of(&client, short_pauses(), |builder| builder).wait_for(&server);
        Mirror::of(&client, short_pauses(), |builder| builder).wait_for(&server);
        assert_eq!((streams(&server), lists(&server)), (3, 1), "{code}");
    }
}

/// Some proxies pass on the head of an answer with the first of its body.
#[test]
fn a_watch_whose_head_does_not_come_is_replaced_by_a_list_and_then_by_a_short_watch() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    server.inject(watch().times(2), Fault::Hang { at: Moment::BeforeHead });
    let client = Client::new(server.config()).unwrap();
    let start = || {
        Mirror::of(&client, short_pauses(), |builder| builder.watch_silence(Duration::from_secs(1)))
    };
    let mirror = start();
    mirror.wait_for(&server);
    eventually("the watch after the one that hangs", || server.watches() == 1);
    assert_eq!((streams(&server), lists(&server)), (1, 1));
    let timeout =
        |query: &str| query.split("timeoutSeconds=").nth(1)?.split('&').next()?.parse().ok();
    let asked_for: Vec<u32> =
        server.requests().iter().filter_map(|request| timeout(&request.query)).collect();
    assert!(matches!(asked_for[..], [300..=600, 300..=600, 1]), "{asked_for:?}");
    put(&server, "b", "2");
    mirror.wait_for(&server);
    start().wait_for(&server);
    assert_eq!(
        (streams(&server), lists(&server)),
        (1, 2),
        "others of the client need not find out"
    );
}

#[test]
fn a_silence_in_which_nothing_works_is_not_taken_for_a_server_that_does_not_stream() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    // The stream falls silent, and the list after it gets no answer.
    server.inject(watch().once(), Fault::WithholdBookmarks { initial: true });
    server.inject(When::any().verb(Verb::List).once(), Fault::Hang { at: Moment::BeforeHead });
    let mut timeouts = Timeouts::default();
    // Long enough for the second stream, however busy the machine is.
    let silence = Duration::from_secs(4);
    timeouts.list_idle = silence;
    let config = ConfigBuilder::from(server.config()).timeouts(timeouts).build().unwrap();
    let mirror = Mirror::start(config, short_pauses(), |builder| builder.stream_silence(silence));
    mirror.wait_for(&server);
    assert_eq!((streams(&server), lists(&server)), (2, 1));
    assert_eq!(mirror.errors().len(), 2, "{:?}", mirror.errors());
}
