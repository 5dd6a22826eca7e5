//! Connections: when a dead one is noticed, and what calls wait for.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    ApiResource, Error, ListMeta, ListOptions, ListerWatcher, Object, Result, SharedInformer,
    StopToken, Watch, config::Timeouts, testing::ApiServer,
};
use serde_json::json;

use crate::support::{LIMIT, client, put, wait_until};

/// A source of nothing that tells with which options it was watched.
struct Nothing {
    resource: ApiResource,
    watched: mpsc::Sender<ListOptions>,
}

impl ListerWatcher<ConfigMap> for Nothing {
    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn list(
        &self,
        _options: &ListOptions,
        _stop: &StopToken,
        _item: &mut dyn FnMut(Result<Object<ConfigMap>>),
    ) -> Result<ListMeta> {
        Ok(serde_json::from_value(json!({"resourceVersion": "1"})).unwrap())
    }

    fn watch(&self, options: &ListOptions, stop: &StopToken) -> Result<Watch<ConfigMap>> {
        let _ = self.watched.send(options.clone());
        stop.wait();
        Err(Error::Stopped)
    }
}

/// Nodes are given up after 40 seconds without a word from them.
#[test]
fn a_dead_connection_is_noticed_by_default_before_a_node_would_be_given_up() {
    let most = Duration::from_secs(30);
    assert!(Timeouts::default().dead_peer <= most, "a peer that acknowledges nothing");
    let (watched, options) = mpsc::channel();
    let source = Nothing { resource: ApiResource::of::<ConfigMap>(), watched };
    let informer = SharedInformer::builder(source).build().unwrap();
    informer.start().unwrap();
    let silence = options.recv_timeout(LIMIT).unwrap().silence;
    assert!(silence.is_some_and(|limit| limit <= most), "a peer that says nothing: {silence:?}");
}

#[test]
fn watches_of_one_client_wait_for_no_other() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let client = client(&server);
    let informers: Vec<_> = (0..50)
        .map(|_| {
            let source = kinformer::ListWatch::<ConfigMap>::from_client(&client, None);
            let informer = SharedInformer::builder(source).build().unwrap();
            informer.start().unwrap();
            informer
        })
        .collect();
    wait_until("all of them watch", || server.watches() == informers.len());
    put(&server, "a", "2");
    let version = server.resource_version();
    for informer in &informers {
        informer.wait_for_resource_version(&version, LIMIT).unwrap();
    }
    // And calls go on beside them.
    client.api::<ConfigMap>().namespace("default").get("a").unwrap();
}

/// With 5 requests a second after the first 10, as client-go has it, they would take 78 seconds.
#[test]
fn the_client_does_not_ration_requests() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let maps = client(&server).api::<ConfigMap>().namespace("default");
    let start = Instant::now();
    for _ in 0..400 {
        maps.get("a").unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(39), "{:?}", start.elapsed());
}
