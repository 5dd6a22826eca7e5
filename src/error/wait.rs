//! Waits that ended without what was waited for.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use super::Error;

/// Informers that have not done what was waited for, and the reason for each.
///
/// What [`wait_for_cache_sync`](crate::SharedInformerFactory::wait_for_cache_sync),
/// [`wait_for_sync`](crate::SharedInformer::wait_for_sync),
/// [`wait_for_resource_version`](crate::SharedInformer::wait_for_resource_version),
/// [`shutdown`](crate::SharedInformerFactory::shutdown) and
/// [`shutdown_timeout`](crate::SharedInformer::shutdown_timeout) fail with. As text it is one line; `{:#}`
/// gives each informer a line of its own.
///
/// ```no_run
/// # let factory = kinformer::SharedInformerFactory::new(kinformer::Client::try_default()?);
/// use std::time::Duration;
/// use kinformer::Error;
///
/// match factory.wait_for_cache_sync(Duration::from_secs(30)) {
///     Err(Error::Wait(wait)) if wait.is_timeout() => {
///         eprintln!("{wait:#}");
///         let refused = |error: &Error| error.is_forbidden();
///         if wait.informers().iter().any(|one| one.error().is_some_and(refused)) {
///             eprintln!("somebody has to give us rights");
///         }
///     }
///     other => other?,
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "ErrWaitTimeout")]
pub struct WaitError(Arc<Inner>);

struct Inner {
    goal: Goal,
    /// Those that were waited for.
    all: usize,
    informers: Vec<NotReady>,
    /// How long was waited, if it was for too long.
    after: Option<Duration>,
}

/// What was waited for.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    Sync,
    ResourceVersion(String),
    End,
}

/// As `not synced`, after the name of an informer or their number.
impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sync => f.write_str("not synced"),
            Self::ResourceVersion(wanted) => write!(f, "not come to resource version {wanted}"),
            Self::End => f.write_str("not ended well"),
        }
    }
}

/// An informer that has not done what was waited for.
#[derive(Clone, Debug)]
pub struct NotReady {
    pub(crate) informer: String,
    pub(crate) missing: Missing,
    pub(crate) error: Option<Error>,
    /// The error as it is told to people, if that is more than its text.
    pub(crate) told: Option<String>,
}

/// What an informer lacks that is being waited for.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Missing {
    /// It has not been started.
    Start,
    /// It has stopped, so it will not come any more.
    Stopped,
    /// It ended because of a fault in this library: this one.
    Failed(String),
    /// The server has not answered yet.
    Answer,
    /// Listing or watching fails: so many attempts in a row.
    Success {
        /// How many have failed.
        attempts: u32,
    },
    /// The list is not complete.
    RestOfList {
        /// Objects that have arrived.
        received: u64,
        /// About how many there will be, if the server says so.
        expected: Option<u64>,
    },
    /// Objects have arrived that are not in the cache yet.
    Applied {
        /// How many.
        queued: usize,
    },
    /// A handler has not been told of all objects from the start.
    Replay {
        /// What the handler is called.
        handler: String,
        /// How many events wait for it.
        pending: usize,
    },
    /// The cache has not come to the resource version that was waited for.
    ResourceVersion {
        /// Where it has come to; empty if there was no list yet.
        reached: String,
    },
    /// The call of a handler has not returned.
    Return {
        /// What the handler is called.
        handler: String,
    },
    /// A transform, an index function or an error handler has not returned.
    Engine,
}

impl WaitError {
    /// Of `all` informers that were waited for, these are not ready; `after` is the limit, if that ran out.
    pub(crate) fn new(
        goal: Goal,
        all: usize,
        informers: Vec<NotReady>,
        after: Option<Duration>,
    ) -> Self {
        Self(Arc::new(Inner { goal, all, informers, after }))
    }

    /// Whether the limit ran out; otherwise what was waited for cannot happen any more.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.0.after.is_some()
    }

    /// The informers that are not ready, each once for everything that it lacks.
    #[must_use]
    pub fn informers(&self) -> &[NotReady] {
        &self.0.informers
    }

    /// How many informers they are.
    fn count(&self) -> usize {
        self.0.informers.chunk_by(|a, b| a.informer == b.informer).count()
    }
}

impl NotReady {
    /// What the informer is called.
    #[must_use]
    pub fn informer(&self) -> &str {
        &self.informer
    }

    /// What is missing.
    #[must_use]
    pub fn missing(&self) -> &Missing {
        &self.missing
    }

    /// The last failure to list or to watch, if that does not work: its
    /// [`status`](Error::status) is what the server said. Of an informer that cannot be started, the reason.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// What is missing and why, without the name.
    pub(crate) fn why(&self) -> String {
        let missing = &self.missing;
        match (&self.told, &self.error) {
            (Some(told), _) => format!("{missing}, last error: {told}"),
            (None, Some(error)) => format!("{missing}, last error: {error}"),
            (None, None) => missing.to_string(),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("not started"),
            Self::Stopped => f.write_str("stopped"),
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Answer => f.write_str("waiting for the server"),
            Self::Success { attempts: 1 } => f.write_str("1 failed attempt"),
            Self::Success { attempts } => write!(f, "{attempts} failed attempts"),
            Self::RestOfList { received, expected: Some(all) } => {
                write!(f, "still listing: {} of about {}", Grouped(*received), Grouped(*all))
            }
            Self::RestOfList { received: 0, expected: None } => {
                f.write_str("still listing: nothing has come yet")
            }
            Self::RestOfList { received, expected: None } => {
                write!(f, "still listing: {} of ?", Grouped(*received))
            }
            Self::Applied { queued } => {
                let objects = if *queued == 1 { "object" } else { "objects" };
                write!(f, "{} {objects} to be applied", Grouped(*queued as u64))
            }
            Self::Replay { handler, pending: 0 } => {
                write!(f, "handler {handler} has not returned from the last of its first calls")
            }
            Self::Replay { handler, pending } => {
                let events = if *pending == 1 { "event" } else { "events" };
                let pending = Grouped(*pending as u64);
                write!(f, "handler {handler} still has {pending} {events} to be told of")
            }
            Self::ResourceVersion { reached } if reached.is_empty() => f.write_str("at none yet"),
            Self::ResourceVersion { reached } => write!(f, "at {reached}"),
            Self::Return { handler } => write!(f, "still in handler {handler}"),
            Self::Engine => {
                f.write_str("still in a transform, an index function or an error handler")
            }
        }
    }
}

/// As `pods: still listing: 12,000 of ?`.
impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.informer, self.why())
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { goal, all, informers, after } = &*self.0;
        let alone = informers.first().filter(|_| *all == 1);
        match alone {
            Some(one) => write!(f, "{} has {goal}", one.informer)?,
            None => write!(f, "{} of {all} informers have {goal}", self.count())?,
        }
        if let Some(after) = after {
            write!(f, " after {after:?}")?;
        }
        for (at, informer) in informers.iter().enumerate() {
            f.write_str(match (f.alternate() && alone.is_none(), at) {
                (true, 0) => ":\n  ",
                (true, _) => "\n  ",
                (false, 0) => ": ",
                (false, _) => "; ",
            })?;
            match alone {
                Some(_) => f.write_str(&informer.why())?,
                None => informer.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitError")
            .field("goal", &self.0.goal)
            .field("after", &self.0.after)
            .field("informers", &self.0.informers)
            .finish_non_exhaustive()
    }
}

impl StdError for WaitError {}

/// A number with the thousands apart, as `12,000`.
pub(crate) struct Grouped(pub(crate) u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn not_ready(informer: &str, missing: Missing, error: Option<Error>) -> NotReady {
        NotReady { informer: informer.into(), missing, error, told: None }
    }

    fn forbidden() -> Error {
        let mut status = Status::default();
        (status.code, status.message) = (403, "secrets is forbidden".into());
        Error::Api(Box::new(status))
    }

    const LIMIT: Option<Duration> = Some(Duration::from_secs(5));

    #[test]
    fn thousands_are_set_apart() {
        let numbers = [0, 999, 1_000, 12_000, 123_456, 1_234_567].map(|n| Grouped(n).to_string());
        assert_eq!(numbers, ["0", "999", "1,000", "12,000", "123,456", "1,234,567"]);
    }

    #[test]
    fn one_informer_is_one_sentence() {
        let one = |goal, missing| {
            let error = WaitError::new(goal, 1, vec![not_ready("pods", missing, None)], LIMIT);
            assert!(error.is_timeout() && format!("{error:#}") == error.to_string());
            error.to_string()
        };
        let listing = one(Goal::Sync, Missing::RestOfList { received: 12_000, expected: None });
        assert_eq!(listing, "pods has not synced after 5s: still listing: 12,000 of ?");
        let silent = one(Goal::Sync, Missing::RestOfList { received: 0, expected: None });
        assert_eq!(silent, "pods has not synced after 5s: still listing: nothing has come yet");
        let wanted = || Goal::ResourceVersion("77".into());
        let behind = one(wanted(), Missing::ResourceVersion { reached: "5".into() });
        assert_eq!(behind, "pods has not come to resource version 77 after 5s: at 5");
        let before = one(wanted(), Missing::ResourceVersion { reached: String::new() });
        assert_eq!(before, "pods has not come to resource version 77 after 5s: at none yet");
    }

    #[test]
    fn several_are_one_line_or_a_line_each() {
        let refused = Missing::Success { attempts: 2 };
        let replay = Missing::Replay { handler: "audit".into(), pending: 7 };
        let informers =
            vec![not_ready("secrets", refused, Some(forbidden())), not_ready("pods", replay, None)];
        let error = Error::Wait(WaitError::new(Goal::Sync, 40, informers, LIMIT));
        assert!(error.is_timeout());
        let line = "2 of 40 informers have not synced after 5s: \
                    secrets: 2 failed attempts, last error: api: secrets is forbidden (403); \
                    pods: handler audit still has 7 events to be told of";
        assert_eq!((error.to_string(), format!("{error:?}")), (line.into(), line.into()));
        let lines = "2 of 40 informers have not synced after 5s:\n  \
                     secrets: 2 failed attempts, last error: api: secrets is forbidden (403)\n  \
                     pods: handler audit still has 7 events to be told of";
        assert_eq!(format!("{error:#}"), lines);
        let Error::Wait(wait) = &error else { unreachable!() };
        let status = wait.informers()[0].error().and_then(Error::status);
        assert_eq!(status.map(|status| status.code), Some(403));
    }

    #[test]
    fn what_cannot_happen_any_more_is_no_timeout() {
        let informers =
            vec![not_ready("a", Missing::Start, None), not_ready("b", Missing::Answer, None)];
        let error = Error::Wait(WaitError::new(Goal::Sync, 2, informers, None));
        assert!(!error.is_timeout());
        let text = "2 of 2 informers have not synced: a: not started; b: waiting for the server";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn an_informer_with_two_handlers_that_do_not_return_counts_once() {
        let handlers = ["slow", "slower"]
            .map(|handler| not_ready("a", Missing::Return { handler: handler.into() }, None));
        let late = |all| WaitError::new(Goal::End, all, handlers.to_vec(), LIMIT).to_string();
        let both = "still in handler slow; still in handler slower";
        assert_eq!(late(1), format!("a has not ended well after 5s: {both}"));
        assert!(late(2).starts_with("1 of 2 informers have not ended well after 5s: a: still in"));
    }
}
