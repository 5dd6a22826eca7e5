//! Crossing the border: arguments in, results out, and no panic through.

use std::{
    ffi::c_char,
    mem::MaybeUninit,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
    time::Duration,
};

use super::{
    error::{Failure, kinf_error},
    status::kinf_status,
};

/// No name, selector or value is as long as this, which is more than a server stores in an object.
const TOO_LONG: usize = 2 << 20;

/// No document is as long as this: a length that is comes from a mistake.
const TOO_LONG_DOCUMENT: usize = 1 << 30;

/// Runs a call that can fail. A panic in it is a failure.
pub(super) fn attempt(
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
    run: impl FnOnce() -> Result<(), Failure>,
) -> kinf_status {
    let failure = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.err(),
        Err(payload) => Some(Failure::panic(&*payload)),
    };
    let status = failure.as_ref().map_or(kinf_status::KINF_OK, |failure| failure.status);
    if let Some(error) = error {
        let made = failure.map(|failure| Box::into_raw(Box::new(kinf_error::from(failure))));
        error.write(made.unwrap_or(ptr::null_mut()));
    }
    status
}

/// Runs a call that cannot fail; should it panic, there is `otherwise`.
pub(super) fn guarded<T>(otherwise: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(otherwise)
}

/// What was passed, unless it is NULL.
pub(super) fn required<T>(passed: Option<T>, argument: &str) -> Result<T, Failure> {
    passed.ok_or_else(|| Failure::argument(argument, "it is NULL"))
}

/// Where a handle is to be put, cleared until then.
pub(super) struct Out<'a, T>(&'a mut MaybeUninit<*mut T>);

impl<'a, T> Out<'a, T> {
    pub(super) fn new(
        place: Option<&'a mut MaybeUninit<*mut T>>,
        argument: &str,
    ) -> Result<Self, Failure> {
        let place = required(place, argument)?;
        place.write(ptr::null_mut());
        Ok(Self(place))
    }

    pub(super) fn put(self, value: T) {
        self.0.write(Box::into_raw(Box::new(value)));
    }
}

/// Where a value is to be put, cleared until then.
pub(super) fn place<'a, T: Default>(
    place: Option<&'a mut MaybeUninit<T>>,
    argument: &str,
) -> Result<&'a mut T, Failure> {
    Ok(required(place, argument)?.write(T::default()))
}

/// Takes a handle back and drops it; NULL is nothing.
///
/// # Safety
///
/// It was given by [`Out::put`] or [`Box::into_raw`], and nobody uses it any more.
pub(super) unsafe fn free<T>(handle: *mut T) {
    guarded((), || {
        if !handle.is_null() {
            // SAFETY: as the caller promises.
            drop(unsafe { Box::from_raw(handle) });
        }
    });
}

/// Text that was passed; may be empty, may not be NULL.
///
/// # Safety
///
/// `data` is NULL or points at `length` bytes that stay as they are while the result is used.
pub(super) unsafe fn text<'a>(
    data: *const c_char,
    length: usize,
    argument: &str,
) -> Result<&'a str, Failure> {
    // SAFETY: as the caller promises.
    utf8(unsafe { limited(data, length, TOO_LONG, argument) }?, argument)
}

/// The same for text that may not be empty.
///
/// # Safety
///
/// As [`text`].
pub(super) unsafe fn some_text<'a>(
    data: *const c_char,
    length: usize,
    argument: &str,
) -> Result<&'a str, Failure> {
    // SAFETY: as the caller promises.
    match unsafe { text(data, length, argument) }? {
        "" => Err(Failure::argument(argument, "it is empty")),
        text => Ok(text),
    }
}

/// The same for text that may be left out: NULL with a length of 0 is empty.
///
/// # Safety
///
/// As [`text`].
pub(super) unsafe fn any_text<'a>(
    data: *const c_char,
    length: usize,
    argument: &str,
) -> Result<&'a str, Failure> {
    if data.is_null() && length == 0 {
        return Ok("");
    }
    // SAFETY: as the caller promises.
    unsafe { text(data, length, argument) }
}

/// A whole document: as text that may not be empty, but it may be long.
///
/// # Safety
///
/// As [`text`].
pub(super) unsafe fn document<'a>(
    data: *const c_char,
    length: usize,
    argument: &str,
) -> Result<&'a str, Failure> {
    // SAFETY: as the caller promises.
    match utf8(unsafe { bytes(data, length, argument) }?, argument)? {
        "" => Err(Failure::argument(argument, "it is empty")),
        text => Ok(text),
    }
}

/// Bytes that were passed.
///
/// # Safety
///
/// As [`text`].
pub(super) unsafe fn bytes<'a>(
    data: *const c_char,
    length: usize,
    argument: &str,
) -> Result<&'a [u8], Failure> {
    // SAFETY: as the caller promises.
    unsafe { limited(data, length, TOO_LONG_DOCUMENT, argument) }
}

/// # Safety
///
/// As [`text`].
unsafe fn limited<'a>(
    data: *const c_char,
    length: usize,
    limit: usize,
    argument: &str,
) -> Result<&'a [u8], Failure> {
    if data.is_null() {
        return Err(Failure::argument(argument, "it is NULL"));
    }
    if length >= limit {
        return Err(Failure::argument(argument, format!("{length} bytes are too many")));
    }
    // SAFETY: not NULL, and so many bytes as the caller promises.
    Ok(unsafe { slice::from_raw_parts(data.cast(), length) })
}

fn utf8<'a>(bytes: &'a [u8], argument: &str) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|error| {
        Failure::argument(argument, format!("it is not UTF-8: see byte {}", error.valid_up_to()))
    })
}

/// Gives C a text that has its NUL, and its length without it; nothing is an empty text.
pub(super) fn give_text<'a>(
    length: Option<&mut MaybeUninit<usize>>,
    find: impl FnOnce() -> Option<&'a [u8]>,
) -> *const c_char {
    let with_nul = guarded(None, find).unwrap_or(b"\0");
    if let Some(length) = length {
        length.write(with_nul.len().saturating_sub(1));
    }
    with_nul.as_ptr().cast()
}

/// How long to wait; a negative time is for ever.
pub(super) fn patience(timeout_ms: i64) -> Duration {
    u64::try_from(timeout_ms).map_or(Duration::MAX, Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<&str, Failure>) -> String {
        let failure = result.expect_err("a failure");
        assert_eq!(failure.status, kinf_status::KINF_INVALID_ARGUMENT);
        let error = kinf_error::from(failure);
        let message = super::super::error::kinf_error_message(Some(&error), None);
        // SAFETY: the message has a NUL, and the error is still there.
        unsafe { std::ffi::CStr::from_ptr(message) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn text_that_cannot_be_used_is_an_error_that_names_the_argument() {
        let data = c"a\xFFb".as_ptr();
        // SAFETY: lengths that are too long are never read.
        unsafe {
            assert_eq!(text(data, 1, "name").ok(), Some("a"));
            assert_eq!(text(data, 0, "name").ok(), Some(""));
            assert_eq!(message(text(data, 3, "name")), "invalid name: it is not UTF-8: see byte 1");
            assert_eq!(message(text(ptr::null(), 0, "name")), "invalid name: it is NULL");
            assert_eq!(message(some_text(data, 0, "name")), "invalid name: it is empty");
            for length in [TOO_LONG, usize::MAX, isize::MAX as usize] {
                assert!(message(text(data, length, "name")).contains("too many"), "{length}");
            }
            let long = "x".repeat(TOO_LONG);
            let (long, length) = (long.as_ptr().cast(), long.len());
            assert!(message(text(long, length, "name")).contains("too many"));
            assert_eq!(document(long, length, "json").map(str::len).ok(), Some(TOO_LONG));
            assert!(message(document(long, TOO_LONG_DOCUMENT, "json")).contains("too many"));
            assert_eq!(any_text(ptr::null(), 0, "name").ok(), Some(""));
            assert_eq!(message(any_text(ptr::null(), 1, "name")), "invalid name: it is NULL");
        }
    }

    #[test]
    fn a_panic_becomes_a_code_and_outputs_stay_clear() {
        let (mut error, mut out) = (MaybeUninit::uninit(), MaybeUninit::<*mut u8>::uninit());
        let status = attempt(Some(&mut error), || {
            let _out = Out::new(Some(&mut out), "out")?;
            panic!("on purpose")
        });
        assert_eq!(status, kinf_status::KINF_PANIC);
        // SAFETY: both were written.
        unsafe {
            assert!(out.assume_init().is_null());
            let error = Box::from_raw(error.assume_init());
            assert_eq!(super::super::error::kinf_error_status(Some(&error)), status);
        }
        assert_eq!(guarded(7, || panic!("on purpose")), 7);
    }

    #[test]
    fn a_handle_goes_out_and_comes_back_once() {
        let mut place = MaybeUninit::uninit();
        Out::new(Some(&mut place), "out").ok().unwrap().put(String::from("kept"));
        // SAFETY: it was put there, and is freed once.
        unsafe {
            assert_eq!(*place.assume_init(), "kept");
            free(place.assume_init());
            free(ptr::null_mut::<String>());
        }
    }
}
