//! Scenario 8: informers with one handler each: ConfigMaps, and Pods with an index by the label `app`.

mod common;

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kinformer::{Event, Informer, ListWatch, Object, StopToken, cache::Indexers};

fn main() -> common::Result {
    let cluster = common::Cluster::find()?;

    let source = ListWatch::<ConfigMap>::from_client(&cluster.client, None);
    let (maps, controller) = Informer::new(source, |event: Event<ConfigMap>| println!("{event}"));
    let watching_maps = controller.spawn()?;

    let source = ListWatch::<Pod>::from_client(&cluster.client, None);
    let app = |pod: &Object<Pod>| pod.labels().get("app").map(Into::into).into_iter().collect();
    let (pods, controller) =
        Informer::indexed(source, |_: Event<Pod>| (), Indexers::new().with("app", app));
    let watching_pods = controller.spawn()?;

    // There is nobody to press Ctrl-C where the server is the embedded one.
    let rounds = if cluster.embedded.is_some() { 3 } else { u32::MAX };
    let never = StopToken::new();
    for _ in 0..rounds {
        let _ = never.wait_timeout(Duration::from_secs(1));
        let busy_boxes = pods.by_index("app", "busy-box")?;
        println!("{} ConfigMaps; {} of {} pods:", maps.len(), busy_boxes.len(), pods.len());
        for pod in busy_boxes {
            println!("  busy-box {}", pod.key());
        }
    }
    watching_maps.stop()?;
    watching_pods.stop()?;
    Ok(())
}
