//! What the library has to say while it works.

use std::{
    cell::Cell,
    ffi::{c_char, c_void},
    io::{self, Write},
    mem::MaybeUninit,
    sync::Arc,
};

use log::{LevelFilter, Log, Metadata, Record};
use parking_lot::RwLock;

use super::{
    border::attempt,
    error::{Failure, kinf_error},
    status::kinf_status,
    user_data::{UserData, kinf_free_callback},
};
use crate::object::Texts;

/// How much there is to say.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum kinf_log_level {
    /// Nothing.
    #[expect(dead_code, reason = "only C says it")]
    KINF_LOG_OFF = 0,
    /// What is wrong and stays so.
    KINF_LOG_ERROR = 1,
    /// What is wrong and will be tried again.
    KINF_LOG_WARN = 2,
    /// What is worth knowing.
    KINF_LOG_INFO = 3,
    /// What helps to find faults.
    KINF_LOG_DEBUG = 4,
    /// Everything, with the contents of requests and answers; never credentials.
    KINF_LOG_TRACE = 5,
}

/// Is given a line of the log. Called on any thread, by several at once; the texts have NULs, and are valid
/// until it returns. What the library logs while it runs is dropped.
pub type kinf_log_callback = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        level: kinf_log_level,
        target: *const c_char,
        message: *const c_char,
        message_length: usize,
    ),
>;

/// Where lines go now. The log of a process is one for all; there is no other global in this library.
static LOGGER: Logger = Logger(RwLock::new(None));

struct Logger(RwLock<Option<Arc<Sink>>>);

enum Sink {
    Callback(
        unsafe extern "C" fn(*mut c_void, kinf_log_level, *const c_char, *const c_char, usize),
        UserData,
    ),
    StandardError,
}

thread_local! {
    /// Whether a callback is under way on this thread: it may call what logs.
    static LOGGING: Cell<bool> = const { Cell::new(false) };
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        let sink = self.0.read().clone();
        let Some(sink) = sink.filter(|_| self.enabled(record.metadata())) else { return };
        if LOGGING.replace(true) {
            return;
        }
        match &*sink {
            Sink::StandardError => {
                let (level, target, message) = (record.level(), record.target(), record.args());
                // Standard error may be closed: nobody is there to be told.
                let _ = writeln!(io::stderr(), "{level} {target}: {message}");
            }
            Sink::Callback(callback, user) => {
                let texts = [record.target().to_owned(), record.args().to_string()];
                let texts: Texts = texts.into_iter().collect();
                let [target, message] = [0, 1].map(|at| texts.get(at).unwrap_or(b"\0"));
                // SAFETY: the callback was given together with the pointer; the texts live until it
                // returns.
                unsafe {
                    callback(
                        user.pointer(),
                        level(record.level()),
                        target.as_ptr().cast(),
                        message.as_ptr().cast(),
                        message.len() - 1,
                    );
                }
            }
        }
        LOGGING.set(false);
    }

    fn flush(&self) {}
}

fn level(level: log::Level) -> kinf_log_level {
    match level {
        log::Level::Error => kinf_log_level::KINF_LOG_ERROR,
        log::Level::Warn => kinf_log_level::KINF_LOG_WARN,
        log::Level::Info => kinf_log_level::KINF_LOG_INFO,
        log::Level::Debug => kinf_log_level::KINF_LOG_DEBUG,
        log::Level::Trace => kinf_log_level::KINF_LOG_TRACE,
    }
}

fn filter(level: i32) -> Result<LevelFilter, Failure> {
    let known = usize::try_from(level).ok().and_then(|level| LevelFilter::iter().nth(level));
    known.ok_or_else(|| Failure::argument("level", format!("{level} is no kinf_log_level")))
}

/// Sends lines to `sink` from now on.
fn install(sink: Option<Sink>, filter: LevelFilter) -> Result<(), Failure> {
    // A second time it is ours already; another's stays.
    let ours = log::set_logger(&LOGGER).is_ok() || std::ptr::addr_eq(log::logger(), &LOGGER);
    if !ours {
        let why = "another logger has been set in this process";
        return Err(Failure::new(kinf_status::KINF_OTHER, why));
    }
    let before = std::mem::replace(&mut *LOGGER.0.write(), sink.map(Arc::new));
    drop(before);
    log::set_max_level(filter);
    Ok(())
}

/// Gives every line of the log to a callback, for the whole process, in place of whatever was set before.
/// Until this is called, nothing is logged.
///
/// @param callback what to call; NULL for nothing any more
/// @param user what to call it with
/// @param free_user called once with user when the callback is not needed any more, also if this call fails;
/// may be NULL
/// @param level how much: one of kinf_log_level
#[unsafe(no_mangle)]
pub extern "C" fn kinf_log_to_callback(
    callback: kinf_log_callback,
    user: *mut c_void,
    free_user: kinf_free_callback,
    level: i32,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let user = UserData::new(user, free_user);
        let filter = filter(level)?;
        install(callback.map(|callback| Sink::Callback(callback, user)), filter)
    })
}

/// Writes the log to standard error, as much as the environment variable KINF_LOG says: off, error, warn,
/// info, debug or trace; warn if it is not set.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_log_from_environment(
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let filter = match std::env::var("KINF_LOG") {
            Ok(level) => level.parse().map_err(|_| {
                Failure::argument("KINF_LOG", format!("{level:?} is no level of a log"))
            })?,
            Err(_) => LevelFilter::Warn,
        };
        install(Some(Sink::StandardError), filter)
    })
}
