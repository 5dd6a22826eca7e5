//! How a factory is doing, for people and for machines.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kinformer::{FactoryStatus, MetricKind, SharedInformerFactory};

use crate::support::{builder, factory, put, server, sync, wait_until};

#[test]
fn a_status_is_a_table_with_a_row_for_each_informer() {
    let server = server();
    put(&server, "default", "a");
    let factory = builder(&server).name("billing").build();
    let maps = factory.informer::<ConfigMap>();
    maps.on_event(|_| ()).unwrap();
    sync(&factory);
    let _ = factory.informer::<Secret>();
    let printed = factory.status().to_string();
    println!("{printed}");
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), 3, "{printed}");
    assert!(lines[0].starts_with("INFORMER             DOING"), "{printed}");
    assert!(lines[1].starts_with("billing: configmaps"), "{printed}");
    // An old watch makes that column wider.
    assert!(lines[2].starts_with("billing: secrets     not started  "), "{printed}");
    let words: Vec<_> = lines[2].split_whitespace().collect();
    assert_eq!(words[..5], ["billing:", "secrets", "not", "started", "no"], "{printed}");
    assert!(lines[2].ends_with("not started"), "{printed}");
    assert_eq!(factory.status().informers[0].objects, 1);
}

#[test]
fn every_counter_can_be_visited_and_reads_as_prometheus_text() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    maps.on_event(|_| ()).unwrap();
    maps.on_event(|_| -> () { panic!("on purpose") }).unwrap();
    sync(&factory);
    put(&server, "default", "b");
    wait_until("two panics", || maps.status().handlers[1].panics == 2);
    // It is counted after it has been handed on.
    wait_until("the event is counted", || maps.status().events >= 1);
    let _ = factory.informer::<Secret>();

    let mut text = String::new();
    factory.status().metrics(|metric| text += &metric.to_string());
    println!("{text}");
    let samples: BTreeMap<_, _> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once(' ').unwrap())
        .collect();
    let of = |name: &str, informer: &str| {
        let labels =
            format!("{{informer=\"{informer}\",resource=\"{informer}\",api_version=\"v1\"}}");
        samples[&*format!("{name}{labels}")].parse::<f64>().unwrap()
    };
    assert_eq!(
        (of("kinformer_objects", "configmaps"), of("kinformer_objects", "secrets")),
        (2., 0.)
    );
    assert_eq!(
        (of("kinformer_running", "configmaps"), of("kinformer_running", "secrets")),
        (1., 0.)
    );
    assert_eq!(of("kinformer_lists_total", "configmaps"), 1.0);
    assert!(of("kinformer_events_total", "configmaps") >= 1.0);
    let panics = samples.iter().filter(|(name, _)| name.starts_with("kinformer_handler_panics"));
    assert_eq!(panics.map(|(_, value)| *value).collect::<Vec<_>>(), ["0", "2"]);

    // The rules of the format: described once, before the first, those of one name together.
    let mut names: Vec<_> = text.lines().map(name_of).collect();
    names.dedup();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    assert_eq!(text.matches("# TYPE kinformer_objects gauge").count(), 1);
    factory.status().metrics(|metric| {
        let grows = metric.name.ends_with("_total");
        assert_eq!(metric.kind == MetricKind::Counter, grows, "{}", metric.name);
    });
}

#[test]
fn several_factories_have_one_text_and_one_table() {
    let servers = [server(), server()];
    let factories = servers.each_ref().map(factory);
    for factory in &factories {
        let _ = factory.informer::<ConfigMap>();
    }
    let named = builder(&servers[0]).name("billing").build();
    let _ = named.informer::<ConfigMap>();
    let all = factories.iter().chain([&named]).map(SharedInformerFactory::status);
    let all: FactoryStatus = all.collect();
    let mut text = String::new();
    all.metrics(|metric| text += &metric.to_string());
    assert_eq!(text.matches("# HELP kinformer_objects ").count(), 1, "{text}");
    let samples: Vec<_> = text.lines().filter(|line| line.starts_with("kinformer_obj")).collect();
    for (sample, name) in samples.iter().zip(["configmaps", "configmaps #2", "billing: configmaps"])
    {
        assert!(sample.contains(&format!("informer=\"{name}\"")), "{text}");
    }
    assert_eq!((samples.len(), all.to_string().lines().count()), (3, 4), "{text}");
}

fn name_of(line: &str) -> &str {
    let line = line.trim_start_matches("# HELP ").trim_start_matches("# TYPE ");
    line.split([' ', '{']).next().unwrap()
}
