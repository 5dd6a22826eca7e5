//! A table that is drawn again and again in its place.

use std::{cmp::Reverse, fmt::Write as _, io::Write as _, time::Instant};

use kinformer::{DynamicObject, Object};
use terminal_size::{Height, Width, terminal_size};

use crate::seen::{Changes, Seen};

/// Up to the first line and column, the rest of a line, the rest of the screen.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

pub(crate) struct Screen {
    title: String,
    is_terminal: bool,
}

impl Screen {
    pub(crate) fn new(title: String, is_terminal: bool) -> Self {
        if is_terminal {
            print!("{HOME}{CLEAR_BELOW}");
        } else {
            println!("{title}");
        }
        Self { title, is_terminal }
    }

    pub(crate) fn draw(&self, line: &str, seen: &Seen, objects: &[Object]) {
        if !self.is_terminal {
            println!("{line}");
            return;
        }
        let (Width(columns), Height(rows)) = terminal_size().unwrap_or((Width(80), Height(24)));
        let mut lines = vec![self.title.clone()];
        lines.extend(line.split("; ").map(str::to_owned));
        let head = format!("{:<44} {:>8} {:>12}  STATUS", "OBJECT", "CHANGES", "LAST CHANGE");
        lines.extend([String::new(), head]);
        let room = usize::from(rows).saturating_sub(lines.len() + 1);
        lines.extend(newest_first(seen, objects).into_iter().take(room));

        let mut text = HOME.to_owned();
        for line in lines {
            let line: String = line.chars().take(columns.into()).collect();
            let _ = writeln!(text, "{line}{CLEAR_LINE}");
        }
        print!("{text}{CLEAR_BELOW}");
        let _ = std::io::stdout().flush();
    }
}

/// A line for each object: first those that changed last, then the others by name.
fn newest_first(seen: &Seen, objects: &[Object]) -> Vec<String> {
    let unchanged = Changes::default();
    let changes = |object: &Object| seen.objects.get(object.key()).unwrap_or(&unchanged);
    let mut objects: Vec<_> = objects.iter().collect();
    objects.sort_by(|a, b| {
        let order = |object: &&Object| (Reverse(changes(object).last), object.key().clone());
        order(a).cmp(&order(b))
    });
    let now = Instant::now();
    let lines = objects.into_iter().take(200).map(|object| {
        let Changes { count, last, .. } = changes(object);
        let last = last.map_or("-".into(), |last| format!("{} s ago", (now - last).as_secs()));
        format!("{:<44} {count:>8} {last:>12}  {}", object.key().as_str(), status(object))
    });
    lines.collect()
}

/// What most kinds say about themselves: a phase, or how many replicas are ready.
fn status(object: &Object<DynamicObject>) -> String {
    let Ok(body) = object.get() else { return "cannot be read".into() };
    let status = &body["status"];
    match (status["phase"].as_str(), status["replicas"].as_u64()) {
        (Some(phase), _) => phase.to_owned(),
        (None, Some(replicas)) => {
            format!("{}/{replicas} ready", status["readyReplicas"].as_u64().unwrap_or(0))
        }
        (None, None) => String::new(),
    }
}
