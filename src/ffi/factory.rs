//! Informers of one cluster, started and stopped together.

use std::{
    ffi::c_char,
    mem::MaybeUninit,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use super::{
    border::{Out, any_text, attempt, free, guarded, patience, required, some_text},
    client::kinf_client,
    discovery::missing,
    error::{Failure, kinf_error},
    informer::{kinf_informer, not_synced},
    informer_status::as_json,
    resource::kinf_resource,
    selection::{kinf_selection, namespace},
    status::kinf_status,
    text::kinf_text,
};
use crate::{
    client::Client,
    factory::{MetadataSharedInformerFactory, SharedInformerFactory, kinds},
    object::{ApiResource, GroupVersionResource},
    reflector::Backoff,
    stop::StopToken,
};

/// Informers of one cluster: each resource is watched once, however many ask for it.
///
/// Made by kinf_factory_new(); free it with kinf_factory_free(), which stops everything. May be used from
/// any thread, by several at once, and from callbacks. A thread or a callback that may outlive the
/// owner's handle has one of its own, from kinf_factory_clone().
pub struct kinf_factory(Arc<Inner>);

struct Inner {
    factory: Factory,
    /// How many handles there are: the last one stops everything before it goes.
    handles: AtomicUsize,
}

/// Of whole objects, or of metadata alone.
enum Factory {
    Whole(SharedInformerFactory),
    Metadata(MetadataSharedInformerFactory),
}

impl Deref for Factory {
    type Target = SharedInformerFactory;

    fn deref(&self) -> &SharedInformerFactory {
        match self {
            Self::Whole(factory) => factory,
            Self::Metadata(factory) => &factory.factory,
        }
    }
}

/// What a factory says about all its informers.
///
/// Made by kinf_factory_options_new(); free it with kinf_factory_options_free(), also after it was given
/// to kinf_factory_new(), which takes a copy. May be used from any thread.
#[derive(Default)]
pub struct kinf_factory_options(Mutex<Options>);

#[derive(Clone, Default)]
struct Options {
    name: String,
    namespace: String,
    resync: Duration,
    keep_managed_fields: bool,
    metadata_only: bool,
    backoff: Option<Backoff>,
}

impl Options {
    fn build(self, client: Client) -> Factory {
        let mut builder = SharedInformerFactory::builder(client)
            .name(self.name)
            .namespace(self.namespace)
            .resync(self.resync)
            .keep_managed_fields(self.keep_managed_fields);
        if let Some(backoff) = self.backoff {
            builder = builder.backoff(backoff);
        }
        match self.metadata_only {
            true => Factory::Metadata(builder.metadata()),
            false => Factory::Whole(builder.build()),
        }
    }
}

/// The usual: all namespaces, no resync, no managed fields.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_options_new(
    options: Option<&mut MaybeUninit<*mut kinf_factory_options>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        Out::new(options, "options")?.put(kinf_factory_options::default());
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_factory_options_free(options: *mut kinf_factory_options) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(options) }
}

/// What the factory is called in the names of its informers; empty for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_factory_options_set_name(
    options: Option<&kinf_factory_options>,
    name: *const c_char,
    name_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let options = required(options, "options")?;
        // SAFETY: pointer and length of the caller's text.
        options.0.lock().name = unsafe { any_text(name, name_length, "name") }?.into();
        Ok(())
    })
}

/// Only objects of this namespace; empty for all. Resources that do not live in namespaces are not affected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_factory_options_set_namespace(
    options: Option<&kinf_factory_options>,
    name: *const c_char,
    name_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let options = required(options, "options")?;
        // SAFETY: pointer and length of the caller's text.
        options.0.lock().namespace = unsafe { namespace(name, name_length) }?.into();
        Ok(())
    })
}

/// How often handlers are told of every object again, from the cache, unless they ask for something else.
/// 0 is never; less than a second counts as a second.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_options_set_resync(
    options: Option<&kinf_factory_options>,
    period_ms: u64,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        required(options, "options")?.0.lock().resync = Duration::from_millis(period_ms);
        Ok(())
    })
}

/// Whether to keep metadata.managedFields, which is half of a typical object.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_options_set_keep_managed_fields(
    options: Option<&kinf_factory_options>,
    keep: bool,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        required(options, "options")?.0.lock().keep_managed_fields = keep;
        Ok(())
    })
}

/// Whether to ask the server for the metadata of objects alone.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_options_set_metadata_only(
    options: Option<&kinf_factory_options>,
    metadata_only: bool,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        required(options, "options")?.0.lock().metadata_only = metadata_only;
        Ok(())
    })
}

/// How pauses between failed attempts grow: each is about twice as long as the one before.
///
/// @param first_ms the first pause
/// @param longest_ms the longest
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_options_set_backoff(
    options: Option<&kinf_factory_options>,
    first_ms: u64,
    longest_ms: u64,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let options = required(options, "options")?;
        if first_ms == 0 || longest_ms < first_ms || longest_ms > LONGEST_PAUSE_MS {
            let why = format!("{first_ms} to {longest_ms} ms: not from 1 ms up to a day");
            return Err(Failure::argument("first_ms", why));
        }
        options.0.lock().backoff = Some(Backoff {
            initial: Duration::from_millis(first_ms),
            cap: Duration::from_millis(longest_ms),
            ..Backoff::default()
        });
        Ok(())
    })
}

const LONGEST_PAUSE_MS: u64 = 24 * 60 * 60 * 1000;

/// A factory of informers of one cluster. Nothing is sent yet.
///
/// @param options NULL for the usual
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_new(
    client: Option<&kinf_client>,
    options: Option<&kinf_factory_options>,
    factory: Option<&mut MaybeUninit<*mut kinf_factory>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let factory = Out::new(factory, "factory")?;
        let client = required(client, "client")?;
        let options = options.map(|options| options.0.lock().clone()).unwrap_or_default();
        // What stops the client leaves the factory alone.
        let client = client.client.with_stop(&StopToken::new());
        let (made, handles) = (options.build(client), AtomicUsize::new(1));
        factory.put(kinf_factory(Arc::new(Inner { factory: made, handles })));
        Ok(())
    })
}

/// Another handle on the same factory, to be freed on its own.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_clone(
    factory: Option<&kinf_factory>,
    clone: Option<&mut MaybeUninit<*mut kinf_factory>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let clone = Out::new(clone, "clone")?;
        let inner = &required(factory, "factory")?.0;
        inner.handles.fetch_add(1, Ordering::Relaxed);
        clone.put(kinf_factory(inner.clone()));
        Ok(())
    })
}

/// Frees a handle; NULL is fine. With the last one everything is stopped, as by kinf_factory_shutdown(),
/// which waits for callbacks; those may use the handle until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_factory_free(factory: *mut kinf_factory) {
    guarded((), || {
        // SAFETY: NULL, or given by this library and not freed, as the header says.
        if let Some(kinf_factory(inner)) = unsafe { factory.as_ref() }
            && inner.handles.fetch_sub(1, Ordering::AcqRel) == 1
            && let Err(error) = inner.factory.shutdown()
        {
            log::error!("{error}");
        }
    });
    // SAFETY: the same.
    unsafe { free(factory) }
}

impl Inner {
    fn find(&self, wanted: &GroupVersionResource) -> Result<ApiResource, Failure> {
        if let Some(kind) = kinds::find_resource(wanted) {
            return Ok(kind.resource());
        }
        Ok(self.factory.catalogue().find_resource(&wanted.to_string()).map_err(missing)?.resource)
    }

    fn informer(
        &self,
        resource: &ApiResource,
        selection: Option<&kinf_selection>,
    ) -> kinf_informer {
        let selection = kinf_selection::of_informer(selection);
        kinf_informer::new(self.factory.informer_of(resource, &selection))
    }
}

/// The informer of a resource, or of some of its objects; the same one for the same resource and selection.
/// It does nothing until kinf_factory_start().
///
/// @param selection which objects; NULL for all
/// @param informer set to a handle that is to be freed with kinf_informer_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_informer(
    factory: Option<&kinf_factory>,
    resource: Option<&kinf_resource>,
    selection: Option<&kinf_selection>,
    informer: Option<&mut MaybeUninit<*mut kinf_informer>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let informer = Out::new(informer, "informer")?;
        let factory = &required(factory, "factory")?.0;
        informer.put(factory.informer(required(resource, "resource")?.whole()?, selection));
        Ok(())
    })
}

/// The same for a resource by group, version and plural. Built-in kinds are known; for others the server is
/// asked, until kinf_factory_shutdown().
///
/// @param group the API group, as "apps"; empty for the core group
/// @param version as "v1"
/// @param plural as "deployments"
/// @param selection which objects; NULL for all
/// @param informer set to a handle that is to be freed with kinf_informer_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_factory_informer_for(
    factory: Option<&kinf_factory>,
    group: *const c_char,
    group_length: usize,
    version: *const c_char,
    version_length: usize,
    plural: *const c_char,
    plural_length: usize,
    selection: Option<&kinf_selection>,
    informer: Option<&mut MaybeUninit<*mut kinf_informer>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let informer = Out::new(informer, "informer")?;
        let factory = &required(factory, "factory")?.0;
        // SAFETY: pointers and lengths of the caller's texts.
        let (group, version, plural) = unsafe {
            (
                any_text(group, group_length, "group")?,
                some_text(version, version_length, "version")?,
                some_text(plural, plural_length, "plural")?,
            )
        };
        let wanted = GroupVersionResource::new(group, version, plural);
        informer.put(factory.informer(&factory.find(&wanted)?, selection));
        Ok(())
    })
}

/// The same for a kind, as "Pod", "Deployment.apps" or "apps/v1/Deployment": the server is asked what it is, until
/// kinf_factory_shutdown().
///
/// @param selection which objects; NULL for all
/// @param informer set to a handle that is to be freed with kinf_informer_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_factory_informer_for_kind(
    factory: Option<&kinf_factory>,
    kind: *const c_char,
    kind_length: usize,
    selection: Option<&kinf_selection>,
    informer: Option<&mut MaybeUninit<*mut kinf_informer>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let informer = Out::new(informer, "informer")?;
        let factory = &required(factory, "factory")?.0;
        // SAFETY: pointer and length of the caller's text.
        let kind = unsafe { some_text(kind, kind_length, "kind") }?;
        let found = factory.factory.catalogue().find_kind(kind).map_err(missing)?;
        informer.put(factory.informer(&found.resource, selection));
        Ok(())
    })
}

/// Starts every informer that has not been started. Call it again after asking for more. If one cannot be
/// started, the others are all the same.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_start(
    factory: Option<&kinf_factory>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || Ok(required(factory, "factory")?.0.factory.start()?))
}

/// Blocks until every informer and every handler has all objects from the start; KINF_NOT_SYNCED if that
/// does not happen in time or cannot happen: the message names each that is not ready, and the reason.
///
/// Not to be called from a callback, which would wait for itself.
///
/// @param timeout_ms how long to wait; less than 0 is for as long as it takes
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_wait_for_sync(
    factory: Option<&kinf_factory>,
    timeout_ms: i64,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let factory = &required(factory, "factory")?.0.factory;
        factory.wait_for_cache_sync(patience(timeout_ms)).map_err(not_synced)
    })
}

/// Stops one informer for everybody and frees what it knew; KINF_NOT_FOUND if it is not one of this factory,
/// or was stopped so before. Asking for the resource again makes a new one.
///
/// Waits as kinf_informer_stop() does.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_stop_informer(
    factory: Option<&kinf_factory>,
    informer: Option<&kinf_informer>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let factory = &required(factory, "factory")?.0.factory;
        let informer = required(informer, "informer")?.get();
        match factory.stop_informer(informer) {
            true => Ok(()),
            false => Err(Failure::not_found("informer of this factory", informer.name())),
        }
    })
}

/// Stops every informer, for good. What they last knew can still be read. May be called more than once.
///
/// Waits until the callbacks that are under way have returned; called from a callback, it does not wait
/// for callbacks.
///
/// @param timeout_ms how long to wait for callbacks, less than 0 is for as long as it takes; KINF_TIMEOUT
/// names those that have not returned. They are not called again
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_shutdown(
    factory: Option<&kinf_factory>,
    timeout_ms: i64,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let factory = &required(factory, "factory")?.0.factory;
        Ok(factory.shutdown_timeout(patience(timeout_ms))?)
    })
}

/// How the informers are doing, as a JSON array of what kinf_informer_status_json() says of each.
///
/// @param text set to a text that is to be freed with kinf_text_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_status_json(
    factory: Option<&kinf_factory>,
    text: Option<&mut MaybeUninit<*mut kinf_text>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let text = Out::new(text, "text")?;
        let status = required(factory, "factory")?.0.factory.status();
        let all: serde_json::Value = status.informers.iter().map(as_json).collect();
        text.put(kinf_text::new(all.to_string()));
        Ok(())
    })
}

/// Counters and gauges of the informers, in the text format that Prometheus reads.
///
/// @param text set to a text that is to be freed with kinf_text_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_factory_metrics(
    factory: Option<&kinf_factory>,
    text: Option<&mut MaybeUninit<*mut kinf_text>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let text = Out::new(text, "text")?;
        let mut metrics = String::new();
        let status = required(factory, "factory")?.0.factory.status();
        status.metrics(|metric| metrics += &metric.to_string());
        text.put(kinf_text::new(metrics));
        Ok(())
    })
}
