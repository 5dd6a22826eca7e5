//! Being told again. The arithmetic of periods is tested beside `src/informer/processor.rs`.

use std::time::Duration;

use crate::support::{LIMIT, Source, listen, listener, started};

const OFTEN: Duration = Duration::from_millis(20);

#[test]
fn a_resync_tells_those_who_want_it_of_everything_and_asks_the_server_nothing() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().resync(OFTEN).build().unwrap();
    let often = listen(&informer);
    let (handler, never) = listener();
    informer.add_event_handler_with_resync(handler, None).unwrap();
    informer.start().unwrap();
    assert_eq!((often.next(), never.next()), ("+a 1 true".into(), "+a 1 true".into()));
    for _ in 0..5 {
        assert_eq!(often.next(), "~a 1>1");
    }
    never.assert_none();
    source.put("a", "2");
    assert_eq!(often.next_but("~a 1>1"), "~a 1>2");
    assert_eq!(never.next(), "~a 1>2");
    assert_eq!(source.lists(), 1);
}

#[test]
fn own_periods_are_a_second_at_least() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().build().unwrap();
    let (handler, events) = listener();
    informer.add_event_handler_with_resync(handler, Some(OFTEN)).unwrap();
    let start = std::time::Instant::now();
    informer.start().unwrap();
    assert_eq!(events.next(), "+a 1 true");
    assert_eq!(events.next(), "~a 1>1");
    assert!(start.elapsed() >= Duration::from_millis(900), "{:?}", start.elapsed());
}

#[test]
fn without_resync_a_list_tells_everybody_of_what_has_not_changed() {
    let source = Source::new();
    source.put("a", "1");
    source.put("b", "1");
    let informer = started(source.informer());
    let events = listen(&informer);
    assert_eq!(events.sorted(2), ["+a 1 true", "+b 1 true"]);
    source.put_unseen("b", "2");
    source.relist();
    assert_eq!(events.sorted(2), ["~a 1>1", "~b 1>2"]);
}

#[test]
fn with_resync_a_list_tells_those_who_want_none_only_of_what_has_changed() {
    let source = Source::new();
    source.put("a", "1");
    source.put("b", "1");
    source.put("c", "1");
    let informer = source.informer().resync(OFTEN).build().unwrap();
    let often = listen(&informer);
    let (handler, never) = listener();
    informer.add_event_handler_with_resync(handler, None).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    // The first resync may come before the last of them.
    let (mut added, mut resyncs) = (Vec::new(), 0);
    while added.len() < 3 || resyncs == 0 {
        let event = often.next();
        if event.starts_with('+') {
            added.push(event);
        } else {
            assert!(event.starts_with('~'), "{event}");
            resyncs += 1;
        }
    }
    added.sort();
    assert_eq!(added, ["+a 1 true", "+b 1 true", "+c 1 true"]);
    source.put_unseen("b", "2");
    source.delete_unseen("c");
    source.put_unseen("d", "1");
    source.relist();
    assert_eq!(
        never.sorted(6),
        ["+a 1 true", "+b 1 true", "+c 1 true", "+d 1 false", "?c 1", "~b 1>2"]
    );
    never.assert_none();
}

#[test]
fn what_a_resync_tells_is_what_the_store_has() {
    let source = Source::new();
    source.put("a", "0");
    let informer = source.informer().resync(Duration::from_millis(1)).build().unwrap();
    let events = listen(&informer);
    informer.start().unwrap();
    for n in 1..=300 {
        source.put("a", &n.to_string());
    }
    let mut known = String::new();
    while known != "300" {
        let event = events.next();
        let (old, new) = match event.strip_prefix("~a ") {
            Some(change) => change.split_once('>').unwrap(),
            None => (known.as_str(), event.split(' ').nth(1).unwrap()),
        };
        assert_eq!(old, known, "{event}");
        let number = |text: &str| text.parse::<u32>().unwrap_or_default();
        assert!(number(new) >= number(old), "never back: {event}");
        known = new.to_owned();
    }
}

#[test]
fn periods_beyond_the_clock_are_never() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().resync(Duration::MAX).build().unwrap();
    let events = listen(&informer);
    let (handler, own) = listener();
    informer.add_event_handler_with_resync(handler, Some(Duration::MAX)).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!((events.next(), own.next()), ("+a 1 true".into(), "+a 1 true".into()));
    source.put("a", "2");
    assert_eq!((events.next(), own.next()), ("~a 1>2".into(), "~a 1>2".into()));
    let zero = started(source.informer().resync(Duration::ZERO));
    let never = listen(&zero);
    assert_eq!(never.next(), "+a 2 true");
    never.assert_none();
}
