//! A server that has too much to do.

use crate::cluster::{Cluster, informer, put, started};

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn a_server_that_refuses_for_now_is_asked_again() {
    let cluster = Cluster::with(&[
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=1",
        "--max-mutating-requests-inflight=1",
    ]);
    let client = cluster.client();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let client = &client;
            scope.spawn(move || {
                for n in 0..10 {
                    put(client, &format!("m{thread}-{n}"), "1");
                }
            });
        }
    });
    assert_eq!(started(informer(&client)).store().len(), 80);
}
