//! Scenario 5: a queue of changes on its own, with a type of yours.
//!
//! What happens to one key is popped together, in its order.

use kinformer::cache::{Delta, DeltaFifo};

#[derive(Clone, Debug)]
struct Entry {
    name: &'static str,
    value: u32,
}

fn main() -> kinformer::Result<()> {
    let fifo = DeltaFifo::new(|entry: &Entry| entry.name);
    for (name, value) in [("a", 1), ("b", 2), ("c", 3)] {
        fifo.add(Entry { name, value })?;
    }
    fifo.update(Entry { name: "a", value: 10 })?;
    fifo.delete(Entry { name: "a", value: 10 })?;

    println!("{} keys, newest states: {:?}", fifo.len(), fifo.list());
    // Nothing more will come: pop returns what is left, and then nothing.
    fifo.close();
    while let Some(popped) = fifo.pop() {
        println!("{}:", popped.key);
        for delta in &popped.deltas {
            println!("  {}", describe(delta));
        }
    }
    Ok(())
}

fn describe(delta: &Delta<Entry>) -> String {
    let what = match delta {
        Delta::Added(_) => "added",
        Delta::Updated(_) => "updated",
        Delta::Deleted(_) => "deleted",
        Delta::Replaced(_) => "replaced",
        Delta::Sync(_) => "told again",
    };
    let value = delta.object().map(|entry| entry.value);
    format!("{what} {}", value.map_or_else(|| "?".into(), |value| value.to_string()))
}
