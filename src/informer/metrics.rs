//! What can be counted about informers, for whoever collects it.

use std::{fmt, time::Duration};

use super::status::{HandlerStatus, InformerState, InformerStatus};

/// One value that was counted or measured.
///
/// Its `Display` is a line of the text that Prometheus reads, with the description before the first of
/// each name:
///
/// ```no_run
/// # let factory = kinformer::SharedInformerFactory::new(kinformer::Client::try_default()?);
/// let mut text = String::new();
/// factory.status().metrics(|metric| text += &metric.to_string());
/// println!("{text}");
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[doc(alias = "MetricsProvider")]
pub struct Metric<'a> {
    /// What it is called, as `kinformer_objects`.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub help: &'static str,
    /// Whether it only grows.
    pub kind: MetricKind,
    /// What it is about: names and values.
    pub labels: &'a [(&'static str, &'a str)],
    /// How much.
    pub value: f64,
    /// Whether it is the first of its name.
    pub is_first: bool,
}

/// Whether a value only grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
}

struct Family<T> {
    name: &'static str,
    help: &'static str,
    kind: MetricKind,
    value: fn(&T) -> Option<f64>,
}

use MetricKind::{Counter, Gauge};

const OF_INFORMERS: &[Family<InformerStatus>] = &[
    family("kinformer_running", "Whether the informer runs.", Gauge, |informer| {
        Some(flag(informer.state == InformerState::Running))
    }),
    family(
        "kinformer_synced",
        "Whether all objects from the start are there.",
        Gauge,
        |informer| Some(flag(informer.has_synced)),
    ),
    family("kinformer_objects", "Objects in the cache.", Gauge, |informer| {
        Some(informer.objects as f64)
    }),
    family("kinformer_queued", "Objects that wait to be applied.", Gauge, |informer| {
        Some(informer.queued as f64)
    }),
    family("kinformer_lists_total", "Lists of all objects.", Counter, |informer| {
        Some(informer.lists as f64)
    }),
    family("kinformer_watches_total", "Watches that were opened.", Counter, |informer| {
        Some(informer.watches as f64)
    }),
    family("kinformer_events_total", "Events that watches brought.", Counter, |informer| {
        Some(informer.events as f64)
    }),
    family("kinformer_failures_total", "Failures to list or to watch.", Counter, |informer| {
        Some(informer.all_failures as f64)
    }),
    family("kinformer_passed_over_total", "Objects that could not be used.", Counter, |informer| {
        Some(informer.passed_over as f64)
    }),
    family(
        "kinformer_inconsistencies_total",
        "Objects that a check found to differ from the server's.",
        Counter,
        |informer| Some(informer.inconsistencies as f64),
    ),
    family(
        "kinformer_last_event_age_seconds",
        "Time since the server last sent anything.",
        Gauge,
        |informer| seconds(informer.last_event_age),
    ),
    family("kinformer_watch_age_seconds", "Age of the watch.", Gauge, |informer| {
        seconds(informer.watch_age)
    }),
];

const OF_HANDLERS: &[Family<HandlerStatus>] = &[
    family("kinformer_handler_pending", "Events that wait for the handler.", Gauge, |handler| {
        Some(handler.pending as f64)
    }),
    family(
        "kinformer_handler_oldest_pending_seconds",
        "Time for which the oldest event that waits has waited.",
        Gauge,
        |handler| Some(seconds(handler.oldest_pending).unwrap_or(0.0)),
    ),
    family(
        "kinformer_handler_synced",
        "Whether the handler was told of all objects from the start.",
        Gauge,
        |handler| Some(flag(handler.has_synced)),
    ),
    family(
        "kinformer_handler_busy_seconds",
        "Age of the call that is under way.",
        Gauge,
        |handler| Some(seconds(handler.busy_for).unwrap_or(0.0)),
    ),
    family(
        "kinformer_handler_errors_total",
        "Calls of the handler that ended in an error.",
        Counter,
        |handler| Some(handler.errors as f64),
    ),
    family("kinformer_handler_panics_total", "Panics of the handler.", Counter, |handler| {
        Some(handler.panics as f64)
    }),
];

const fn family<T>(
    name: &'static str,
    help: &'static str,
    kind: MetricKind,
    value: fn(&T) -> Option<f64>,
) -> Family<T> {
    Family { name, help, kind, value }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn seconds(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_secs_f64())
}

impl InformerStatus {
    /// Gives every value to `visit`.
    pub fn metrics(&self, visit: impl FnMut(&Metric<'_>)) {
        visit_all(std::slice::from_ref(self), visit);
    }
}

/// Gives the values of all informers to `visit`, those of one name together.
pub(crate) fn visit_all(informers: &[InformerStatus], mut visit: impl FnMut(&Metric<'_>)) {
    for family in OF_INFORMERS {
        let mut is_first = true;
        for informer in informers {
            family.visit(informer, &labels(informer), &mut is_first, &mut visit);
        }
    }
    for family in OF_HANDLERS {
        let mut is_first = true;
        for informer in informers {
            for handler in &informer.handlers {
                let id = handler.id.to_string();
                let [a, b, c] = labels(informer);
                let labels = [a, b, c, ("handler", &*handler.name), ("id", &*id)];
                family.visit(handler, &labels, &mut is_first, &mut visit);
            }
        }
    }
}

fn labels(informer: &InformerStatus) -> [(&'static str, &str); 3] {
    [
        ("informer", &informer.name),
        ("resource", &informer.resource),
        ("api_version", &informer.api_version),
    ]
}

impl<T> Family<T> {
    fn visit(
        &self,
        of: &T,
        labels: &[(&'static str, &str)],
        is_first: &mut bool,
        visit: &mut impl FnMut(&Metric<'_>),
    ) {
        let Self { name, help, kind, .. } = *self;
        if let Some(value) = (self.value)(of) {
            visit(&Metric { name, help, kind, labels, value, is_first: *is_first });
            *is_first = false;
        }
    }
}

impl fmt::Display for Metric<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, help, value, .. } = self;
        if self.is_first {
            let kind = match self.kind {
                Counter => "counter",
                Gauge => "gauge",
            };
            writeln!(f, "# HELP {name} {help}\n# TYPE {name} {kind}")?;
        }
        write!(f, "{name}{{")?;
        for (at, (label, text)) in self.labels.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{label}=\"{}\"", escaped(text))?;
        }
        writeln!(f, "}} {value}")
    }
}

/// As the text format wants the values of labels.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_a_line_that_prometheus_reads() {
        let labels = [("informer", "a \"b\"\\\n"), ("id", "0")];
        let mut metric = Metric {
            name: "kinformer_objects",
            help: "Objects in the cache.",
            kind: Gauge,
            labels: &labels,
            value: 3.0,
            is_first: true,
        };
        let line = "kinformer_objects{informer=\"a \\\"b\\\"\\\\\\n\",id=\"0\"} 3\n";
        let described = "# HELP kinformer_objects Objects in the cache.\n\
                         # TYPE kinformer_objects gauge\n";
        assert_eq!(metric.to_string(), format!("{described}{line}"));
        metric.is_first = false;
        assert_eq!(metric.to_string(), line);
    }
}
