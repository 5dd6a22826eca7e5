//! What to do after something went wrong: one table, a test for each row.

use std::time::Duration;

use crate::error::{Error, Reason, Status};

/// A watch that ends sooner than this and without an event is suspicious.
const VERY_SHORT: Duration = Duration::from_secs(1);

/// What a reflector was doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stage {
    /// Asking for a list, page by page.
    List,
    /// Asking for a watch that begins with a list, or reading that list.
    StreamedList,
    /// Asking for a watch.
    OpenWatch,
    /// Reading a watch.
    Watch(Session),
}

/// What is known of a watch that has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Session {
    pub(super) lasted: Duration,
    /// Bookmarks included.
    pub(super) events: u64,
    /// Whether it ended where it began: the next one may bring the same again.
    pub(super) stood_still: bool,
}

impl Session {
    fn is_very_short(self) -> bool {
        self.lasted < VERY_SHORT && self.events == 0
    }
}

/// Watches in a row that ended soon and brought nothing new: after so many there is a pause.
const CIRCLES: u32 = 3;

/// Notices a server that says the same again and again.
#[derive(Debug, Default)]
pub(super) struct Circling {
    rounds: u32,
}

impl Circling {
    /// Another watch has ended: whether to pause.
    pub(super) fn goes_on(&mut self, session: Session) -> bool {
        let again = session.stood_still && session.lasted < VERY_SHORT;
        self.rounds = if again { self.rounds.saturating_add(1) } else { 0 };
        self.rounds >= CIRCLES
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    /// Watch again from the last resource version, at once.
    Rewatch,
    /// The same, expecting a quiet watch: ask for one short enough that its last bookmark arrives.
    RewatchQuiet,
    /// Watch again from the last resource version, after a pause.
    RewatchLater,
    /// List again from the last resource version, after a pause.
    Relist,
    /// The last resource version cannot be had: do the same again without one, at once.
    WithoutVersion,
    /// The server does not stream lists: ask for a plain one, and never again for a streamed one.
    NoStreaming,
    /// List plainly this time.
    PlainList,
    /// Nothing more: the caller wants to stop.
    Stop,
}

/// What to do next, and whether whoever is on call should hear of it.
#[expect(clippy::match_same_arms, reason = "a table: a row for each case")]
pub(super) fn what_next(stage: Stage, error: &Error) -> (Next, Report) {
    use Report::{Loud, Silent};
    if error.is_stopped() {
        return (Next::Stop, Silent);
    }
    match stage {
        Stage::List if lost_version(error) => (Next::WithoutVersion, Silent),
        Stage::List => (Next::Relist, Loud),

        Stage::StreamedList if lost_version(error) => (Next::WithoutVersion, Silent),
        Stage::StreamedList if is_out_of_reach(error) => (Next::RewatchLater, Loud),
        Stage::StreamedList if refuses_streaming(error) => (Next::NoStreaming, Silent),
        Stage::StreamedList => (Next::PlainList, Silent),

        Stage::OpenWatch if lost_version(error) => (Next::Relist, Silent),
        Stage::OpenWatch if is_out_of_reach(error) => (Next::RewatchLater, Loud),
        Stage::OpenWatch if is_out_of_order(error) => (Next::RewatchLater, Loud),
        Stage::OpenWatch => (Next::Relist, Loud),

        Stage::Watch(session) => match error {
            Error::Transport(cause) if cause.is_timeout() => (Next::RewatchQuiet, Silent),
            Error::Transport(_) if session.is_very_short() => (Next::RewatchLater, Loud),
            Error::Transport(cause) if cause.is_disconnect() => (Next::Rewatch, Silent),
            _ => (Next::Relist, Loud),
        },
    }
}

/// What to do after the server ended a watch without a word.
pub(super) fn after_close(session: Session) -> Next {
    if session.is_very_short() { Next::Relist } else { Next::Rewatch }
}

/// What to do after an `ERROR` event. `retry_internal` is whether internal errors are to be sat out.
pub(super) fn after_error_event(status: &Status, retry_internal: bool) -> (Next, Report) {
    let error = Error::Api(Box::new(status.clone()));
    if error.is_expired() {
        (Next::Relist, Report::Silent)
    } else if error.is_too_many_requests() {
        (Next::RewatchLater, Report::Silent)
    } else if status.is(Reason::InternalError) && retry_internal {
        // Not at once: it may say so again and again.
        (Next::RewatchLater, Report::Silent)
    } else {
        (Next::Relist, Report::Loud)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Report {
    /// To the error handler.
    Loud,
    /// To the log, for those who look closely.
    Silent,
}

fn lost_version(error: &Error) -> bool {
    error.is_expired() || error.is_too_large_resource_version()
}

/// Nobody is there, or nobody has time: coming back later is enough.
fn is_out_of_reach(error: &Error) -> bool {
    match error {
        Error::Transport(cause) => {
            cause.is_connection_refused() || cause.is_timeout() || cause.is_disconnect()
        }
        error => is_busy(error),
    }
}

/// Somebody is there, and asks for time.
pub(super) fn is_busy(error: &Error) -> bool {
    error.is_too_many_requests() || error.retry_after().is_some_and(|time| !time.is_zero())
}

/// Nothing was said about the state that the watch goes on from.
fn is_out_of_order(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code >= 500)
}

/// What servers answer that do not know, or do not want, `sendInitialEvents`.
pub(super) fn refuses_streaming(error: &Error) -> bool {
    error.is_invalid() || error.is_bad_request() || error.is_method_not_allowed()
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;
    use crate::error::{Phase, StatusDetails, TransportError};

    fn api(code: u16, reason: &str) -> Error {
        Error::Api(Box::new(Status::failure(code, reason, "")))
    }

    fn io(kind: ErrorKind) -> Error {
        TransportError::io(Phase::Body, "", kind).into()
    }

    fn too_large() -> Error {
        let text = "Too large resource version: 9";
        Error::Api(Box::new(Status::failure(504, "Timeout", text)))
    }

    fn next(stage: Stage, error: Error) -> (Next, bool) {
        let (next, report) = what_next(stage, &error);
        (next, report == Report::Loud)
    }

    const fn session(millis: u64, events: u64) -> Session {
        Session { lasted: Duration::from_millis(millis), events, stood_still: true }
    }

    const LONG: Stage = Stage::Watch(session(9_000, 0));
    const BUSY: Stage = Stage::Watch(session(0, 1));
    const SHORT: Stage = Stage::Watch(session(9, 0));

    #[test]
    fn a_list_that_fails_is_reported_and_tried_again_later() {
        for error in [
            api(401, "Unauthorized"),
            api(403, "Forbidden"),
            api(404, "NotFound"),
            api(429, "TooManyRequests"),
            api(500, "InternalError"),
            api(503, ""),
            io(ErrorKind::ConnectionRefused),
            io(ErrorKind::TimedOut),
            io(ErrorKind::UnexpectedEof),
        ] {
            assert_eq!(next(Stage::List, error), (Next::Relist, true));
        }
    }

    #[test]
    fn a_resource_version_that_cannot_be_had_is_left_out_at_once() {
        for stage in [Stage::List, Stage::StreamedList] {
            assert_eq!(next(stage, api(410, "Expired")), (Next::WithoutVersion, false));
            assert_eq!(next(stage, api(410, "")), (Next::WithoutVersion, false));
            assert_eq!(next(stage, too_large()), (Next::WithoutVersion, false));
        }
    }

    #[test]
    fn a_server_that_cannot_stream_lists_is_asked_plainly() {
        assert_eq!(next(Stage::StreamedList, api(422, "Invalid")), (Next::NoStreaming, false));
        assert_eq!(next(Stage::StreamedList, api(400, "BadRequest")), (Next::NoStreaming, false));
        assert_eq!(next(Stage::StreamedList, api(403, "Forbidden")), (Next::PlainList, false));
        assert_eq!(next(Stage::StreamedList, api(404, "")), (Next::PlainList, false));
        // What a server says whose etcd does not report its progress.
        let unable = api(500, "InternalError");
        assert_eq!(next(Stage::StreamedList, unable), (Next::PlainList, false));
    }

    #[test]
    fn refused_overloaded_or_broken_servers_are_watched_again_later_without_a_list() {
        for stage in [Stage::OpenWatch, Stage::StreamedList] {
            for error in [
                io(ErrorKind::ConnectionRefused),
                io(ErrorKind::ConnectionReset),
                io(ErrorKind::TimedOut),
                api(429, "TooManyRequests"),
            ] {
                assert_eq!(next(stage, error), (Next::RewatchLater, true));
            }
        }
        for error in [api(500, "InternalError"), api(503, "ServiceUnavailable"), api(502, "")] {
            assert_eq!(next(Stage::OpenWatch, error), (Next::RewatchLater, true));
        }
        for (seconds, expected) in [(1, Next::RewatchLater), (0, Next::PlainList)] {
            let mut status = Status::failure(503, "ServiceUnavailable", "");
            let details = StatusDetails { retry_after_seconds: seconds, ..Default::default() };
            status.details = Some(details);
            let asked_for_time = next(Stage::StreamedList, Error::Api(Box::new(status)));
            assert_eq!(asked_for_time, (expected, seconds > 0));
        }
    }

    #[test]
    fn a_watch_that_is_refused_is_reported_and_listed_again() {
        for error in [api(401, "Unauthorized"), api(403, "Forbidden"), api(404, "NotFound")] {
            assert_eq!(next(Stage::OpenWatch, error), (Next::Relist, true));
        }
        for error in [api(410, "Expired"), api(410, ""), too_large()] {
            assert_eq!(next(Stage::OpenWatch, error), (Next::Relist, false));
        }
    }

    #[test]
    fn a_watch_that_breaks_goes_on_where_it_was() {
        for kind in [ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof, ErrorKind::BrokenPipe] {
            assert_eq!(next(LONG, io(kind)), (Next::Rewatch, false));
            assert_eq!(next(BUSY, io(kind)), (Next::Rewatch, false));
            assert_eq!(next(SHORT, io(kind)), (Next::RewatchLater, true), "not in a tight loop");
        }
    }

    #[test]
    fn a_watch_that_falls_silent_is_opened_again_to_see_whether_anybody_is_there() {
        assert_eq!(next(LONG, io(ErrorKind::TimedOut)), (Next::RewatchQuiet, false));
    }

    #[test]
    fn garbage_in_a_watch_ends_it_and_is_reported() {
        let garbage = Error::decode("a watch", serde::de::Error::custom("?"));
        assert_eq!(next(LONG, garbage), (Next::Relist, true));
        let gzip: Error = TransportError::new(Phase::Body, "gzip").into();
        assert_eq!(next(LONG, gzip), (Next::Relist, true));
    }

    #[test]
    fn a_watch_that_the_server_ends_goes_on_unless_it_never_began() {
        assert_eq!(after_close(session(300_000, 0)), Next::Rewatch);
        assert_eq!(after_close(session(0, 1)), Next::Rewatch);
        assert_eq!(after_close(session(999, 0)), Next::Relist);
    }

    #[test]
    fn a_server_that_says_the_same_again_and_again_is_noticed() {
        let moving = Session { stood_still: false, ..session(0, 1) };
        let mut circling = Circling::default();
        let mut goes_on = |sessions: &[Session]| {
            sessions.iter().map(|&ended| circling.goes_on(ended)).collect::<Vec<_>>()
        };
        assert_eq!(goes_on(&[session(0, 1); 4]), [false, false, true, true]);
        assert_eq!(goes_on(&[moving, session(0, 1), session(999, 1)]), [false; 3]);
        assert_eq!(goes_on(&[session(1_000, 1), session(0, 1), session(0, 2)]), [false; 3]);
        assert_eq!(goes_on(&[session(0, 1)]), [true]);
    }

    #[test]
    fn error_events_say_what_to_do() {
        let after = |code, reason: &str, retry| {
            let (next, report) = after_error_event(&Status::failure(code, reason, ""), retry);
            (next, report == Report::Loud)
        };
        assert_eq!(after(410, "Expired", false), (Next::Relist, false));
        assert_eq!(after(410, "Gone", false), (Next::Relist, false));
        assert_eq!(after(429, "", false), (Next::RewatchLater, false));
        assert_eq!(after(500, "InternalError", true), (Next::RewatchLater, false));
        assert_eq!(after(500, "InternalError", false), (Next::Relist, true));
        assert_eq!(after(500, "StorageReadError", true), (Next::Relist, true));
        assert_eq!(after(401, "Unauthorized", false), (Next::Relist, true));
    }

    #[test]
    fn a_stop_is_a_stop_in_every_stage() {
        for stage in [Stage::List, Stage::StreamedList, Stage::OpenWatch, LONG] {
            assert_eq!(next(stage, Error::Stopped), (Next::Stop, false));
        }
    }
}
