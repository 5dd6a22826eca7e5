//! An informer with one handler and no threads of its own.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    controller::{Controller, ControllerBuilder},
    handler::{Event, EventHandler},
};
use crate::{
    cache::{Delta, DeltaFifo, Indexer, Indexers, Popped, Store, panic_text},
    object::Object,
    reflector::{ListerWatcher, describe},
};

/// Makes a store that is kept up to date, with one handler that is told of every change.
///
/// Simpler than a [`SharedInformer`](super::SharedInformer), and for those who want to run the
/// [`Controller`] themselves: the handler is called by the thread that runs it, so a handler that takes
/// its time delays the store.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kinformer::{Client, Event, Informer, ListWatch};
///
/// let client = Client::try_default()?;
/// let source = ListWatch::<ConfigMap>::from_client(&client, Some("default"));
/// let (store, controller) = Informer::new(source, |event: Event<ConfigMap>| println!("{event}"));
/// let running = controller.spawn()?;
/// println!("{} so far", store.len());
/// running.stop()
/// # ;Ok::<(), kinformer::Error>(())
/// ```
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a name for two functions")]
#[doc(alias = "NewInformer")]
pub struct Informer;

impl Informer {
    /// A store of the objects of `source`, and the controller that keeps it up to date.
    #[doc(alias = "NewInformer")]
    #[expect(clippy::new_ret_no_self, reason = "the name that people know")]
    pub fn new<K: 'static>(
        source: impl ListerWatcher<K>,
        handler: impl EventHandler<K>,
    ) -> (Store<Object<K>>, Controller<K>) {
        let (indexer, controller) = Self::builder(source, handler, Indexers::new());
        (indexer.store(), controller.build())
    }

    /// The same with indices.
    #[doc(alias = "NewIndexerInformer")]
    pub fn indexed<K: 'static>(
        source: impl ListerWatcher<K>,
        handler: impl EventHandler<K>,
        indexers: Indexers<Object<K>>,
    ) -> (Indexer<Object<K>>, Controller<K>) {
        let (indexer, controller) = Self::builder(source, handler, indexers);
        (indexer, controller.build())
    }

    /// The same with more to say about the controller.
    #[doc(alias = "NewInformerWithOptions")]
    pub fn builder<K: 'static>(
        source: impl ListerWatcher<K>,
        handler: impl EventHandler<K>,
        indexers: Indexers<Object<K>>,
    ) -> (Indexer<Object<K>>, ControllerBuilder<K>) {
        let indexer = Indexer::of_objects(indexers);
        let queue = DeltaFifo::builder(|object: &Object<K>| object.key().clone())
            .known_objects(indexer.clone())
            .emit_replaced(true)
            .build();
        let (store, mut handler) = (indexer.store(), handler);
        let process = move |popped| {
            apply(&store, popped, &mut handler);
            Ok(())
        };
        (indexer, Controller::builder(source, Arc::new(queue), process))
    }
}

fn apply<K: 'static>(
    store: &Store<Object<K>>,
    popped: Popped<Object<K>>,
    handler: &mut impl EventHandler<K>,
) {
    let Popped { key, deltas, initial, .. } = popped;
    for delta in deltas {
        let event = match delta {
            Delta::Added(object)
            | Delta::Updated(object)
            | Delta::Replaced(object)
            | Delta::Sync(object) => match store.add(object.clone()) {
                Some(old) => Event::Updated { old, new: object },
                None => Event::Added { object, initial },
            },
            Delta::Deleted(deleted) => {
                store.delete_by_key(key.as_str());
                Event::Deleted(deleted)
            }
        };
        let name = handler.name();
        // What is in an error is the user's, too.
        let call = || handler.on_event(event).map_err(|error| describe(&error));
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => log::warn!("handler {name}: {error}"),
            Err(panic) => {
                let text = panic_text(panic);
                log::error!("handler {name} panicked: {text}");
            }
        }
    }
}
