//! The table of kinds is what k8s-openapi has, what servers say, and what the factory's methods give.

#![allow(clippy::unwrap_used, reason = "a test")]

mod generate;
mod methods;

use std::{
    collections::BTreeSet,
    env, fs,
    path::Path,
    time::{Duration, Instant},
};

use kinformer::{
    Client, GroupVersionKind, GroupVersionResource, SharedInformerFactory, StopToken, kinds,
    testing::ApiServer,
};

/// Kubernetes 1.33 to 1.37: how many kinds can be listed.
const COUNTS: [(u8, usize); 5] = [(33, 81), (34, 83), (35, 83), (36, 88), (37, 93)];

#[test]
fn the_committed_table_is_what_the_sources_of_k8s_openapi_say() {
    let (versions, kinds) = generate::read();
    let table = generate::table(versions, &kinds);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/factory/kinds/table.rs");
    if env::var_os("BLESS").is_some() {
        fs::write(&file, &table).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap();
    assert!(committed == table, "the table is out of date: BLESS=1 cargo test --test kinds");
}

#[test]
fn every_version_of_kubernetes_has_its_number_of_kinds() {
    let (versions, kinds) = generate::read();
    let counts: Vec<_> = (versions.oldest..=versions.newest)
        .map(|minor| (minor, kinds.values().filter(|having| having.contains(&minor)).count()))
        .collect();
    assert_eq!(counts, COUNTS);
    assert_eq!(Some(kinds::all().count()), COUNTS.last().map(|(_, count)| *count));
}

#[test]
fn the_table_is_what_a_server_of_that_version_serves() {
    let server = ApiServer::start().unwrap();
    let served = Client::new(server.config()).unwrap().discovery().resources().unwrap();
    let served: BTreeSet<_> = served
        .iter()
        .filter(|found| found.supports(&["list"]))
        .map(|found| format!("{:?}, watched: {}", found.resource, found.supports(&["watch"])))
        .collect();
    let known: BTreeSet<_> = kinds::all()
        .map(|kind| format!("{:?}, watched: {}", kind.resource(), kind.is_watchable()))
        .collect();
    assert_eq!(served, known);
}

#[test]
fn kinds_are_found_by_resource_and_by_kind() {
    for kind in kinds::all() {
        let resource = kind.resource();
        assert_eq!(kinds::find_resource(&resource.gvr()), Some(kind));
        assert_eq!(kinds::find_kind(&resource.gvk()), Some(kind));
    }
    // Served by Kubernetes 1.33 only, and by no version.
    for gone in ["validatingadmissionpolicies", "widgets"] {
        let gone = GroupVersionResource::new("admissionregistration.k8s.io", "v1beta1", gone);
        assert_eq!(kinds::find_resource(&gone), None);
    }
    assert_eq!(kinds::find_kind(&GroupVersionKind::new("", "v1", "pods")), None);
}

#[test]
fn component_statuses_are_listed_and_their_status_says_that_they_cannot_be_watched() {
    let server = ApiServer::start().unwrap();
    let factory = SharedInformerFactory::new(Client::new(server.config()).unwrap());
    let statuses = factory.core().v1().component_statuses();
    factory.start().unwrap();
    factory.wait_for_cache_sync(Duration::from_secs(60)).unwrap();
    let (deadline, pause) = (Instant::now() + Duration::from_secs(60), StopToken::new());
    loop {
        let status = statuses.status();
        if let Some(error) = status.last_error.filter(|_| status.lists > 1) {
            assert!(error.contains("method"), "{error}");
            assert_eq!(status.watches, 0);
            return;
        }
        assert!(Instant::now() < deadline, "it is never tried again: {:?}", statuses.status());
        let _ = pause.wait_timeout(Duration::from_millis(20));
    }
}
