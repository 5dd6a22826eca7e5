//! WATCH: a stream of events that ends when the client, the clock or the server says so.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use serde_json::json;

use super::{options::ListOptions, view::table_of};
use crate::testing::{
    failure::{self, Outcome},
    faults::WatchScript,
    http::{Body, Reply, Request, Shape, View, Wire},
    kinds::ResourceDef,
    routes::ResourceRequest,
    shared::Shared,
    store::{Change, Scope, Selection, Stored, type_meta},
};

/// How often a quiet watch looks whether its client is still there.
const LOOK_AFTER_CLIENT: Duration = Duration::from_millis(500);
/// How long before the end of a watch its last bookmark comes.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// How long a watch lasts if the client does not say; a real server picks 30 to 60 minutes.
const DEFAULT_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Changes taken at a time.
const BATCH: usize = 1000;

/// Answers a WATCH.
pub(crate) fn watch(asked: &ResourceRequest<'_>, script: WatchScript) -> Outcome<Reply> {
    let ResourceRequest { shared, request, def, path } = *asked;
    let options = ListOptions::parse(request, true)?;
    let view = request.view(Shape::Object)?;
    let selection = Selection::parse(def, &options, path.name.as_deref())?;
    let compressed = script.compresses()
        || (shared.settings.compressed_streams
            && options.send_initial_events == Some(true)
            && options.bookmarks
            && request.accepts_gzip());
    let whole = type_meta(&def.kind, &def.api_version());
    let watch = Watch {
        shared: shared.clone(),
        scope: asked.scope(),
        def: def.clone(),
        request: request.clone(),
        selection,
        view,
        object_head: match view {
            View::Metadata(version) => {
                type_meta("PartialObjectMetadata", &format!("meta.k8s.io/{version}"))
            }
            _ => whole,
        },
        headed: false,
        script,
        options,
    };
    // Before the head goes out: who has seen that sees every change from then on.
    let start = Start::new(shared, &watch.scope, &watch.options);
    let stream = move |wire: &mut Wire| {
        let _counted = Counted::new(watch.shared.clone());
        watch.run(wire, start)
    };
    let mut reply = Reply::new(200, "application/json", Body::Stream(Box::new(stream)));
    reply.compress_flushes = compressed;
    Ok(reply)
}

struct Watch {
    shared: Arc<Shared>,
    scope: Scope,
    def: Arc<ResourceDef>,
    request: Request,
    selection: Selection,
    options: ListOptions,
    view: View,
    /// What an event's object starts with.
    object_head: String,
    /// Whether a table's header has been sent: only the first event has it.
    headed: bool,
    script: WatchScript,
}

/// Counts a watch among those that run, for as long as it does.
struct Counted(Arc<Shared>);

impl Counted {
    fn new(shared: Arc<Shared>) -> Self {
        shared.watches.fetch_add(1, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.watches.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Where a watch begins.
enum Start {
    Failed(Box<crate::Status>),
    /// With the changes after a revision.
    From(u64),
    /// With what is there at a revision.
    Snapshot(Vec<Arc<Stored>>, u64),
}

impl Start {
    fn new(shared: &Shared, scope: &Scope, options: &ListOptions) -> Self {
        let asked = options.revision.filter(|&revision| revision > 0);
        if options.send_initial_events.is_some()
            && let Some(revision) = asked
            && let Err(status) = shared.reach(revision)
        {
            return Self::Failed(status);
        }
        let initial = options.send_initial_events.unwrap_or_else(|| asked.is_none());
        shared.read(|state| match asked {
            _ if initial => match state.list(scope, state.revision()) {
                Ok(objects) => Self::Snapshot(objects, state.revision()),
                Err(status) => Self::Failed(status),
            },
            None => Self::From(state.revision()),
            Some(revision) if revision < state.oldest() => {
                Self::Failed(failure::too_old(revision, state.oldest()))
            }
            Some(revision) => Self::From(revision),
        })
    }
}

/// What the wait for changes ended with.
enum Next {
    Changes(Vec<Arc<Change>>),
    /// The history no longer reaches back to the cursor: a real server drops such a slow watch,
    /// too.
    TooSlow,
}

impl Watch {
    fn run(mut self, wire: &mut Wire, begin: Start) -> io::Result<()> {
        let limit = self.options.timeout_seconds.map_or(DEFAULT_LIMIT, Duration::from_secs);
        let start = Instant::now();
        // A moment that is none has no place on the clock: it never comes.
        let end = start.checked_add(limit);
        self.script.begin(wire)?;
        let Some(mut cursor) = self.begin(wire, begin)? else { return Ok(()) };
        let interval = self.shared.settings.bookmark_interval;
        let mut next_bookmark = start.checked_add(interval);
        let before_end = limit.saturating_sub(LAST_BOOKMARK);
        let mut last_bookmark =
            start.checked_add(before_end).filter(|_| before_end > Duration::ZERO);
        loop {
            wire.flush_all()?;
            let now = Instant::now();
            let has_come = |moment: Option<Instant>| moment.is_some_and(|at| now >= at);
            if self.script.is_over() || has_come(end) || self.shared.stop.is_stopped() {
                return Ok(());
            }
            if has_come(next_bookmark) || has_come(last_bookmark) {
                next_bookmark = now.checked_add(interval);
                last_bookmark = last_bookmark.filter(|&at| now < at);
                // On a watch from the future there is nothing to say until that has come.
                if self.options.bookmarks && self.shared.read(|state| cursor <= state.revision()) {
                    self.bookmark(wire, cursor, false)?;
                    wire.flush_all()?;
                }
            }
            let moments = [end, next_bookmark, last_bookmark].into_iter().flatten();
            let deadline = moments.fold(now + LOOK_AFTER_CLIENT, Instant::min);
            match self.next(&mut cursor, deadline) {
                None => {
                    if wire.hung_up() {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                }
                Some(Next::TooSlow) => return Ok(()),
                Some(Next::Changes(changes)) => {
                    for change in changes {
                        self.change(wire, &change)?;
                    }
                }
            }
        }
    }

    /// Sends what comes before the live changes, and says from which revision those go on.
    fn begin(&mut self, wire: &mut Wire, start: Start) -> io::Result<Option<u64>> {
        match start {
            Start::Failed(status) => {
                wire.body(error_frame(&status).as_bytes())?;
                Ok(None)
            }
            Start::From(revision) => Ok(Some(revision)),
            Start::Snapshot(objects, revision) => {
                for object in objects {
                    if self.selection.matches(&object) {
                        self.event(wire, "ADDED", &object)?;
                    }
                }
                if self.options.send_initial_events == Some(true) && self.options.bookmarks {
                    self.bookmark(wire, revision, true)?;
                }
                Ok(Some(revision))
            }
        }
    }

    /// Waits for changes after `cursor`, which moves on past them and past what others did
    /// meanwhile.
    fn next(&self, cursor: &mut u64, deadline: Instant) -> Option<Next> {
        self.shared.wait(deadline, |state| match state.changes(&self.scope, *cursor, BATCH) {
            None => Some(Next::TooSlow),
            Some((changes, reached)) => {
                *cursor = reached;
                (!changes.is_empty()).then_some(Next::Changes(changes))
            }
        })
    }

    /// Sends a change as what it means for this watch's selection.
    fn change(&mut self, wire: &mut Wire, change: &Change) -> io::Result<()> {
        let was = change.previous.as_ref().is_some_and(|old| self.selection.matches(old));
        let is = !change.deleted && self.selection.matches(&change.object);
        match (was, is) {
            (false, false) => Ok(()),
            (false, true) => self.event(wire, "ADDED", &change.object),
            (true, true) => self.event(wire, "MODIFIED", &change.object),
            (true, false) if change.deleted => self.event(wire, "DELETED", &change.object),
            (true, false) => {
                let def = self.def.clone();
                let last = change.previous_now(&def).unwrap_or(&change.object);
                self.event(wire, "DELETED", last)
            }
        }
    }

    fn event(&mut self, wire: &mut Wire, kind: &str, object: &Arc<Stored>) -> io::Result<()> {
        let object = object.shown(&self.def);
        let mut frame = format!("{{\"type\":\"{kind}\",\"object\":");
        match self.view {
            View::Whole => {
                frame.reserve(self.object_head.len() + object.tail().len() + 2);
                frame.push_str(&self.object_head);
                frame.push_str(object.tail());
            }
            View::Metadata(_) => {
                frame.push_str(&self.object_head);
                frame.push_str(object.metadata());
                frame.push('}');
            }
            View::Table(version) => {
                frame.push_str(&self.table(&object, version));
            }
        }
        frame.push_str("}\n");
        self.script.event(wire, &frame, &self.shared.stop)
    }

    /// Says that everything up to `revision` has been sent.
    fn bookmark(&mut self, wire: &mut Wire, revision: u64, initial: bool) -> io::Result<()> {
        if self.script.withholds_bookmark(initial) {
            return Ok(());
        }
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = match self.view {
            View::Table(version) => {
                let object = json!({"kind": self.def.kind, "apiVersion": self.def.api_version(),
                    "metadata": metadata});
                self.table(&Arc::new(Stored::new(&self.def, &object)), version)
            }
            _ => format!("{}\"metadata\":{metadata}}}", self.object_head),
        };
        wire.body(format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}\n").as_bytes())
    }

    fn table(&mut self, object: &Arc<Stored>, version: &str) -> String {
        let meta = json!({"resourceVersion": object.revision.to_string()});
        let (table, objects) = (table_of(&self.request, &self.def), [object.clone()]);
        if std::mem::replace(&mut self.headed, true) {
            table.encode_rows(&objects, &meta, version)
        } else {
            table.encode(&objects, &meta, version)
        }
    }
}

/// A failure inside a stream that began well.
pub(crate) fn error_frame(status: &crate::Status) -> String {
    format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", failure::encode(status))
}
