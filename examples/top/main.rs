//! A live table of any resource, from its informer: what changes comes to the top.
//!
//! ```text
//! cargo run --release --example top -- deployments.apps -n kube-system -l app=web
//! ```
//!
//! Where the output is not a terminal, events and a line a second about the informer are printed.

#[path = "../common/mod.rs"]
mod common;
mod screen;
mod seen;

use std::{
    io::IsTerminal,
    sync::Arc,
    time::{Duration, Instant},
};

use kinformer::{
    Api, Doing, DynamicObject, InformerStatus, ListOptions, Selection, SharedInformerFactory,
    StopToken, labels,
};
use parking_lot::Mutex;

use self::{
    common::{Arguments, Cluster},
    screen::Screen,
    seen::{Seen, thousands},
};

const USAGE: &str = "usage: top [RESOURCE] [-n NAMESPACE] [-l SELECTOR] [--seconds N] \
    [--kubeconfig FILE] [--context NAME] [--server URL]";

const REFRESH: Duration = Duration::from_secs(1);

fn main() -> common::Result {
    let mut arguments = Arguments::of_process();
    if arguments.take_switch("--help") {
        println!("{USAGE}");
        return Ok(());
    }
    let namespace = arguments.take("-n")?.unwrap_or_default();
    let labels = labels::parse(&arguments.take("-l")?.unwrap_or_default())?;
    let seconds = arguments.take("--seconds")?;
    let cluster = Cluster::named_by(&mut arguments)?;
    let limit = match seconds.map(|seconds| seconds.parse()).transpose()? {
        None if cluster.embedded.is_none() => Duration::MAX,
        seconds => Duration::from_secs(seconds.unwrap_or(5)),
    };
    let name = arguments.next().unwrap_or_else(|| "pods".into());
    arguments.finish()?;

    let client = &cluster.client;
    let resource = client.discovery().find_resource(&name)?.resource;
    let factory = SharedInformerFactory::new(client.clone());
    let selection = Selection::new().namespace(&namespace).labels(labels.clone());
    let informer = factory.informer_of::<DynamicObject>(&resource, &selection);
    let mut api = client.dynamic(&resource);
    if !namespace.is_empty() {
        api = api.namespace(&namespace);
    }
    let expected = count(&api, labels);
    let is_terminal = std::io::stdout().is_terminal();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let (seeing, memory_before) = (seen.clone(), seen::resident_bytes());
    informer.on_event(move |event| {
        if !is_terminal {
            println!("{event}");
        }
        seeing.lock().event(&event, Instant::now());
    })?;
    factory.start()?;

    let title = format!("{resource}{selection} at {}", client.config().server());
    let screen = Screen::new(title, is_terminal);
    let (ending, never) = (Instant::now().checked_add(limit), StopToken::new());
    while ending.is_none_or(|ending| Instant::now() < ending) {
        let _ = never.wait_timeout(REFRESH);
        let mut seen = seen.lock();
        let line = describe(&informer.status(), expected, &mut seen, memory_before);
        screen.draw(&line, &seen, &informer.store().list());
    }
    factory.shutdown()?;
    Ok(())
}

/// The state of the informer in one line.
fn describe(
    status: &InformerStatus,
    counted: Option<u64>,
    seen: &mut Seen,
    memory_before: u64,
) -> String {
    let state = match status.doing {
        Doing::Listing { received, expected } => match expected.or(counted) {
            Some(about) => format!("listed {} of about {}", thousands(received), thousands(about)),
            None => format!("listed {}", thousands(received)),
        },
        ref doing => format!("{doing:?}, {} objects", thousands(status.objects as u64)),
    };
    let age = status.last_event_age.map_or("never".into(), |age| format!("{age:.1?} ago"));
    let rate = seen.rate(Instant::now());
    let waiting: usize = status.handlers.iter().map(|handler| handler.pending).sum();
    let queued = status.queued;
    let text = seen.text_bytes / seen.objects.len().max(1) as u64;
    let memory = seen::resident_bytes();
    let grown = memory.saturating_sub(memory_before) / seen.objects.len().max(1) as u64;
    let mut line = format!(
        "{state}; last event {age}, {rate:.1} events/s; queued {queued}, for handlers {waiting}; \
         an object is {} bytes of text, {} of memory ({} MB in all)",
        thousands(text),
        thousands(grown),
        memory >> 20,
    );
    if let Some(error) = &status.last_error {
        line = format!("{line}; {} failures: {error}", status.failures);
    }
    line
}

/// How many objects there are, if the server says how many are left after the first. It does not where
/// there is a selector.
fn count(api: &Api<DynamicObject>, labels: labels::Selector) -> Option<u64> {
    let list = api.list(&ListOptions::new().limit(1).labels(labels)).ok()?;
    Some(list.items.len() as u64 + list.metadata.remaining_item_count?)
}
