//! Which objects an informer is about, or a list.

use std::{ffi::c_char, mem::MaybeUninit};

use parking_lot::Mutex;

use super::{
    border::{Out, any_text, attempt, free, required},
    error::{Failure, kinf_error},
    status::kinf_status,
};
use crate::{
    client::ListOptions,
    factory::Selection,
    object::check_namespace,
    selector::{fields, labels},
};

/// Which objects an informer or a list is about: those of a namespace, with some labels, with some fields.
///
/// Made by kinf_selection_new(); free it with kinf_selection_free(), also after it was used: what is made
/// with it takes a copy. May be used from any thread.
#[derive(Default)]
pub struct kinf_selection(Mutex<Parts>);

#[derive(Clone, Default)]
struct Parts {
    namespace: String,
    labels: labels::Selector,
    fields: fields::Selector,
}

impl kinf_selection {
    /// For an informer; everything if there is no selection.
    pub(super) fn of_informer(selection: Option<&Self>) -> Selection {
        let parts = selection.map(|selection| selection.0.lock().clone()).unwrap_or_default();
        Selection::new().namespace(parts.namespace).labels(parts.labels).fields(parts.fields)
    }

    /// For a list: the namespace, empty for all, and the selectors.
    pub(super) fn of_list(selection: Option<&Self>) -> (String, ListOptions) {
        let parts = selection.map(|selection| selection.0.lock().clone()).unwrap_or_default();
        (parts.namespace, ListOptions::new().labels(parts.labels).fields(parts.fields))
    }
}

/// The name of a namespace that was passed; empty for all.
///
/// # Safety
///
/// As [`any_text`].
pub(super) unsafe fn namespace<'a>(data: *const c_char, length: usize) -> Result<&'a str, Failure> {
    // SAFETY: as the caller promises.
    let name = unsafe { any_text(data, length, "name") }?;
    if !name.is_empty() {
        check_namespace(name).map_err(|error| Failure::argument("name", error.to_string()))?;
    }
    Ok(name)
}

/// A selector of labels that was passed as text; everything if it is empty.
///
/// # Safety
///
/// As [`any_text`].
pub(super) unsafe fn label_selector(
    data: *const c_char,
    length: usize,
) -> Result<labels::Selector, Failure> {
    // SAFETY: as the caller promises.
    match unsafe { any_text(data, length, "labels") }? {
        "" => Ok(labels::everything()),
        text => Ok(labels::parse(text)?),
    }
}

/// A selection of everything.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_selection_new(
    selection: Option<&mut MaybeUninit<*mut kinf_selection>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        Out::new(selection, "selection")?.put(kinf_selection::default());
        Ok(())
    })
}

/// Frees a selection; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_selection_free(selection: *mut kinf_selection) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(selection) }
}

/// Only objects of this namespace; empty for all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_selection_set_namespace(
    selection: Option<&kinf_selection>,
    name: *const c_char,
    name_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let selection = required(selection, "selection")?;
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { namespace(name, name_length) }?;
        selection.0.lock().namespace = name.into();
        Ok(())
    })
}

/// Only objects whose labels match, as "app in (web, api), !canary"; empty for all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_selection_set_labels(
    selection: Option<&kinf_selection>,
    labels: *const c_char,
    labels_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let selection = required(selection, "selection")?;
        // SAFETY: pointer and length of the caller's text.
        let labels = unsafe { label_selector(labels, labels_length) }?;
        selection.0.lock().labels = labels;
        Ok(())
    })
}

/// Only objects whose fields match, as "spec.nodeName=n1"; empty for all. The server knows few fields of
/// each kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_selection_set_fields(
    selection: Option<&kinf_selection>,
    fields: *const c_char,
    fields_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let selection = required(selection, "selection")?;
        // SAFETY: pointer and length of the caller's text.
        let fields = unsafe { any_text(fields, fields_length, "fields") }?;
        let fields = if fields.is_empty() { fields::everything() } else { fields::parse(fields)? };
        selection.0.lock().fields = fields;
        Ok(())
    })
}
