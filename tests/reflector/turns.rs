//! Only so many lists of one client at a time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use kinformer::StopToken;

use crate::{
    mirror::Mirror,
    raw::{Gate, Reply, Server},
    support::{EMPTY, eventually, no_pause},
};

#[test]
fn many_reflectors_of_one_client_list_four_at_a_time() {
    let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let server = {
        let most = most.clone();
        Server::start(move |request| {
            if request.query().contains("watch=true") {
                return Reply::stream().wait(&Gate::default());
            }
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Four come at once, and then there is a moment for one too many.
            eventually("four lists", || most.load(Ordering::SeqCst) >= 4);
            let _ = StopToken::new().wait_timeout(Duration::from_millis(30));
            now.fetch_sub(1, Ordering::SeqCst);
            Reply::json(200, EMPTY)
        })
    };
    let client = server.client();
    let mirrors: Vec<_> = (0..20)
        .map(|_| Mirror::of(&client, no_pause(), |builder| builder.streamed_lists(false)))
        .collect();
    for mirror in &mirrors {
        eventually("every list", || mirror.reflector.last_sync_resource_version() == "1");
    }
    assert_eq!(most.load(Ordering::SeqCst), 4, "lists at once");
}

#[test]
fn who_waits_for_a_turn_can_be_stopped_and_never_asks() {
    let gate = Gate::default();
    let server = {
        let gate = gate.clone();
        Server::start(move |_| Reply::raw("").wait(&gate))
    };
    let client = server.client();
    let start = || Mirror::of(&client, no_pause(), |builder| builder.streamed_lists(false));
    let _busy: Vec<_> = (0..4).map(|_| start()).collect();
    server.wait_for_requests(4);
    let mut waiting = start();
    let asked = Instant::now();
    waiting.end();
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    assert_eq!(server.requests().len(), 4);
    gate.open();
}
