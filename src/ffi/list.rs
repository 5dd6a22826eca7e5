//! Several objects.

use super::{
    border::{free, guarded},
    object::kinf_object,
};
use crate::object::Object;

/// Several objects, as they were at one moment; one block of memory, however many there are.
///
/// Given by kinf_informer_list() and its kin; free it with kinf_list_free(). May be used from any thread.
pub struct kinf_list(Vec<Object>);

impl kinf_list {
    pub(super) fn new(objects: Vec<Object>) -> Self {
        Self(objects)
    }
}

/// How many objects there are; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_list_count(list: Option<&kinf_list>) -> usize {
    guarded(0, || list.map_or(0, |list| list.0.len()))
}

/// One of the objects; NULL if there is none at this place. Borrowed: valid until the list is freed, and
/// not to be freed. kinf_object_clone() gives a handle that stays.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_list_at(list: Option<&kinf_list>, at: usize) -> Option<&kinf_object> {
    guarded(None, || list?.0.get(at).map(kinf_object::borrow))
}

/// Frees a list; NULL is fine. Objects that were cloned stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_list_free(list: *mut kinf_list) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(list) }
}
