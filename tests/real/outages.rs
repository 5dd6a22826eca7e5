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

/// As after a restore from a backup: resource versions are lower than they were.
#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn a_server_that_lost_its_data_is_listed_anew() {
    let cluster = Cluster::start();
    let client = cluster.client();
    for n in 0..200 {
        put(&client, &format!("m{}", n % 20), &n.to_string());
    }
    let before = put(&client, "m0", "last");
    let informer = started(informer(&client).watch_silence(Duration::from_secs(3)));
    assert_eq!(informer.store().len(), 20);
    cluster.forget_everything();
    let after = put(&client, "new", "1");
    assert!(after.parse::<u64>().unwrap() < before.parse::<u64>().unwrap(), "{before} {after}");
    wait_until("the cache is as the server is", || {
        let names: Vec<_> =
            informer.store().list().iter().map(|map| map.name().to_owned()).collect();
        names == ["new"]
    });
    put(&client, "new", "2");
    wait_until("it is followed", || {
        let new = informer.lister().get("default/new").unwrap();
        new.get().unwrap().data.as_ref().unwrap()["value"] == "2"
    });
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
