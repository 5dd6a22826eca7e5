//! kinformer's quickstart: `benches/peers/run` measures its size and its build.
//!
//! It reads a field of the typed body, so that the decoder of StatefulSets is in it, as it is in the peers'.

use std::{error::Error, time::Duration};

use kinformer::{Client, SharedInformerFactory, labels};

fn main() -> Result<(), Box<dyn Error>> {
    let factory = SharedInformerFactory::new(Client::try_default()?);
    let sets = factory.apps().v1().stateful_sets();
    sets.on_event(|event| println!("{event}"))?;
    factory.start()?;
    factory.wait_for_cache_sync(Duration::from_secs(30))?;
    for set in sets.lister().namespace("default").list(&labels::everything()) {
        println!("{} {}", set.name(), set.get()?.spec.replicas.unwrap_or(1));
    }
    Ok(())
}
