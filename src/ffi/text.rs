//! Text that belongs to whoever asked for it.

use std::{ffi::c_char, mem::MaybeUninit};

use super::border::{free, give_text, guarded};
use crate::object::Texts;

/// Text that belongs to whoever asked for it; free it with kinf_text_free().
pub struct kinf_text(Texts);

/// Several texts, in order; free them with kinf_strings_free().
pub struct kinf_strings(Texts);

impl kinf_text {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self([text].into_iter().collect())
    }
}

impl<T: AsRef<str>> FromIterator<T> for kinf_strings {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        Self(texts.into_iter().collect())
    }
}

/// The text, with a NUL after it; empty for NULL. Valid until it is freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_text_data(
    text: Option<&kinf_text>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || text?.0.get(0))
}

/// Frees a text; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_text_free(text: *mut kinf_text) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(text) }
}

/// How many texts there are; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_strings_count(strings: Option<&kinf_strings>) -> usize {
    guarded(0, || strings.map_or(0, |strings| strings.0.len()))
}

/// One of the texts, with a NUL after it; empty if there is none at this place. Valid until they are freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_strings_at(
    strings: Option<&kinf_strings>,
    at: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || strings?.0.get(at))
}

/// Frees the texts; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_strings_free(strings: *mut kinf_strings) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(strings) }
}
