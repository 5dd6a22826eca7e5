//! What a fault does: to a whole response, to its bytes, or to the events of a watch.

use std::{io, time::Duration};

use super::fault::{Fault, Moment, StatusFault, StatusForm};
use crate::{
    StopToken,
    testing::{
        http::{Body, Ending, Reply, Script, Wire},
        read::error_frame,
    },
};

/// What a fault does to a response.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Sent instead of doing what was asked.
    pub(crate) instead: Option<StatusFault>,
    /// Ends the connection before anything is sent.
    pub(crate) before_head: Option<Ending>,
    pub(crate) bytes: Script,
    pub(crate) expire_continue: bool,
    pub(crate) corrupt_gzip: bool,
    pub(super) garbage: bool,
    pub(super) truncate: bool,
    pub(crate) watch: WatchScript,
}

/// What a fault does to the events of a watch.
#[derive(Debug, Default)]
pub(crate) struct WatchScript {
    sent: u32,
    /// The last event has been sent.
    over: bool,
    after: Option<(u32, Act)>,
    withhold: Option<Withhold>,
    duplicate: bool,
    delay: Option<Duration>,
}

#[derive(Debug)]
enum Act {
    End(Ending),
    Truncate,
    Garbage,
    SpoilGzip,
    Error(StatusFault),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Withhold {
    Periodic,
    All,
}

const GARBAGE: &[u8] = b"{\"type\":\"ADDED\",\x00\xff<garbage}]\n";

impl Plan {
    /// For a watch or another request.
    pub(crate) fn new(fault: Option<Fault>, watch: bool) -> Self {
        let mut plan = Self::default();
        let after = |events: u32, act: Act| WatchScript {
            after: Some((events, act)),
            ..WatchScript::default()
        };
        match fault {
            None => {}
            Some(Fault::Status(status)) => plan.instead = Some(status),
            Some(Fault::Reset { at }) => plan.end(at, Ending::Reset, watch),
            Some(Fault::Close { at }) => plan.end(at, Ending::Close, watch),
            Some(Fault::Hang { at }) => plan.end(at, Ending::Hang, watch),
            Some(Fault::Drip { bytes, pause_ms }) => {
                plan.bytes = Script::Drip(bytes, Fault::pause(pause_ms));
            }
            Some(Fault::TruncateChunk { after_events }) if watch => {
                plan.watch = after(after_events, Act::Truncate);
            }
            Some(Fault::TruncateChunk { .. }) => plan.truncate = true,
            Some(Fault::WithholdBookmarks { initial }) => {
                let withhold = if initial { Withhold::All } else { Withhold::Periodic };
                plan.watch.withhold = Some(withhold);
            }
            Some(Fault::ExpireContinue) => plan.expire_continue = true,
            Some(Fault::WatchError { after_events, status }) => {
                plan.watch = after(after_events, Act::Error(status));
            }
            Some(Fault::Garbage { after_events }) if watch => {
                plan.watch = after(after_events, Act::Garbage);
            }
            Some(Fault::Garbage { .. }) => plan.garbage = true,
            Some(Fault::DuplicateEvents) => plan.watch.duplicate = true,
            Some(Fault::LateEvents { delay_ms }) => {
                plan.watch.delay = Some(Fault::pause(delay_ms));
            }
            Some(Fault::CorruptGzip { after_events }) if watch => {
                plan.watch = after(after_events, Act::SpoilGzip);
            }
            Some(Fault::CorruptGzip { .. }) => plan.corrupt_gzip = true,
        }
        plan
    }

    fn end(&mut self, at: Moment, ending: Ending, watch: bool) {
        match at {
            Moment::BeforeHead => self.before_head = Some(ending),
            Moment::AfterEvents(events) if watch => {
                self.watch.after = Some((events, Act::End(ending)));
            }
            Moment::AfterHead | Moment::AfterEvents(_) => self.bytes = Script::End(0, ending),
            Moment::AfterBytes(bytes) => self.bytes = Script::End(bytes, ending),
        }
    }

    /// What a fault makes of a response before it is sent.
    pub(crate) fn spoil(&self, mut reply: Reply) -> Reply {
        reply.corrupt_gzip = self.corrupt_gzip && !matches!(reply.body, Body::Stream(_));
        if self.garbage {
            reply.body = Body::Bytes(GARBAGE.to_vec());
        }
        if self.truncate {
            reply.body = Body::Stream(Box::new(|wire| {
                wire.truncate_chunk(b"{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[]}")
            }));
        }
        reply
    }
}

impl WatchScript {
    /// Sends an event, or what is to come in its place.
    pub(crate) fn event(
        &mut self,
        wire: &mut Wire,
        frame: &str,
        stop: &StopToken,
    ) -> io::Result<()> {
        if self.over {
            return Ok(());
        }
        if let Some(delay) = self.delay {
            wire.flush_all()?;
            if stop.wait_timeout(delay) || wire.hung_up() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        }
        wire.body(frame.as_bytes())?;
        if self.duplicate {
            wire.body(frame.as_bytes())?;
        }
        self.sent += 1;
        self.act(wire, frame)
    }

    /// Does what is due before any event.
    pub(crate) fn begin(&mut self, wire: &mut Wire) -> io::Result<()> {
        self.act(wire, "{\"type\":\"ADDED\",\"object\":{}}\n")
    }

    /// Does what is due after the events sent so far; a part of `frame` is what a cut-off event
    /// shows.
    fn act(&mut self, wire: &mut Wire, frame: &str) -> io::Result<()> {
        if self.after.as_ref().is_none_or(|(events, _)| self.sent < *events) {
            return Ok(());
        }
        let Some((_, act)) = self.after.take() else { return Ok(()) };
        match act {
            Act::End(ending) => {
                wire.flush_all()?;
                wire.end(ending)
            }
            Act::Truncate => wire.truncate_chunk(frame.as_bytes()),
            Act::Garbage => {
                wire.body(GARBAGE)?;
                wire.flush_all()
            }
            Act::SpoilGzip => wire.spoil_member(frame.as_bytes()),
            Act::Error(status) => {
                // The response ends as a real server's does, and the connection is kept: a client may have sent
                // its next request on it by then.
                self.over = true;
                wire.body(error_frame(&status.status()).as_bytes())
            }
        }
    }

    /// Whether nothing may follow: the watch has come to its end.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the watch is compressed, whoever asks.
    pub(crate) fn compresses(&self) -> bool {
        matches!(self.after, Some((_, Act::SpoilGzip)))
    }

    pub(crate) fn withholds_bookmark(&self, initial: bool) -> bool {
        match self.withhold {
            None => self.over,
            Some(Withhold::All) => true,
            Some(Withhold::Periodic) => self.over || !initial,
        }
    }
}

impl StatusFault {
    /// The status, written as the fault wants it.
    pub(crate) fn reply(&self) -> Reply {
        let status = self.status();
        let mut reply = Reply::failure(&status);
        // `Reply::failure` leaves out a zero, which means: now.
        reply.headers.retain(|(name, _)| *name != "Retry-After");
        if let Some(seconds) = self.retry_after_seconds() {
            reply.headers.push(("Retry-After", seconds.to_string()));
        }
        match self.shape() {
            StatusForm::Json => {}
            StatusForm::Pretty => reply.indent(),
            StatusForm::Text => {
                reply.content_type = "text/plain; charset=utf-8".into();
                reply.body = Body::Bytes(status.message.into_bytes());
            }
            StatusForm::Html => {
                reply.content_type = "text/html".into();
                let page = format!(
                    "<html><body><h1>{} {}</h1></body></html>\n",
                    status.code, status.message
                );
                reply.body = Body::Bytes(page.into_bytes());
            }
        }
        reply
    }
}
