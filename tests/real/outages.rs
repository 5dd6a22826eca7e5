//! A server that dies, hangs and comes back.

use std::time::{Duration, Instant};

use crate::cluster::{Cluster, LIMIT, informer, maps, put, started, wait_until};

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn informers_come_back_with_the_server() {
    let cluster = Cluster::start();
    a_killed_server_is_followed_again(&cluster);
    a_server_that_hangs_is_noticed_and_followed_again(&cluster);
}

fn a_killed_server_is_followed_again(cluster: &Cluster) {
    let client = cluster.client();
    put(&client, "a", "1");
    let informer = started(informer(&client));
    cluster.kill();
    wait_until("the outage shows", || informer.status().last_error.is_some());
    assert_eq!(informer.store().len(), 1, "what is known stays");
    cluster.start_again();
    let version = put(&client, "a", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    wait_until("the status is well again", || informer.status().last_error.is_none());
    maps(&client).delete("a").unwrap();
    wait_until("the deletion arrives", || informer.store().is_empty());
}

fn a_server_that_hangs_is_noticed_and_followed_again(cluster: &Cluster) {
    let client = cluster.client();
    put(&client, "b", "1");
    let informer = started(informer(&client).watch_silence(Duration::from_secs(2)));
    cluster.pause();
    let start = Instant::now();
    wait_until("the silence shows", || {
        let status = informer.status();
        status.last_error.is_some() || status.watch_age.is_none()
    });
    println!("noticed after {:?}", start.elapsed());
    cluster.resume();
    let version = put(&client, "b", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
}
