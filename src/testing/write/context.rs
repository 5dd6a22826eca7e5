//! The circumstances of a write.

use std::{sync::Arc, time::SystemTime};

use parking_lot::Mutex;

use crate::testing::{
    failure::{self, Outcome},
    http::Request,
    time,
};

/// Who writes, when, and whether for real.
#[derive(Clone, Debug)]
pub(crate) struct WriteContext {
    pub(crate) manager: String,
    pub(crate) now: SystemTime,
    pub(crate) dry_run: bool,
    /// A fixture: the status given at creation is kept, and need not come from a controller.
    pub(crate) keep_status: bool,
    /// The object's `managedFields` are up to date already.
    pub(crate) fields_tracked: bool,
    pub(crate) validation: Validation,
    /// What the client is to be told beside the answer.
    pub(crate) warnings: Arc<Mutex<Vec<String>>>,
}

/// What becomes of fields that a schema does not know.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Validation {
    Ignore,
    Strict,
    Warn,
}

impl WriteContext {
    /// A write by the program that holds the server.
    pub(crate) fn direct() -> Self {
        Self {
            manager: "testing".into(),
            now: SystemTime::now(),
            dry_run: false,
            keep_status: true,
            fields_tracked: false,
            validation: Validation::Ignore,
            warnings: Arc::default(),
        }
    }

    pub(crate) fn of(request: &Request) -> Outcome<Self> {
        let dry_run = check_dry_run(
            request
                .query
                .iter()
                .filter_map(|(key, value)| (key == "dryRun").then_some(value.as_str())),
        )?;
        let validation = match request.parameter("fieldValidation") {
            None | Some("" | "Warn") => Validation::Warn,
            Some("Ignore") => Validation::Ignore,
            Some("Strict") => Validation::Strict,
            Some(value) => {
                let why = format!(
                    "Unsupported value: {value:?}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
                );
                return Err(failure::invalid(
                    "CreateOptions",
                    "meta.k8s.io",
                    "",
                    &[("fieldValidation", "FieldValueNotSupported", why)],
                ));
            }
        };
        let manager = request.parameter("fieldManager").filter(|manager| !manager.is_empty());
        let agent = request.header("user-agent").unwrap_or("unknown");
        let manager =
            manager.unwrap_or_else(|| agent.split('/').next().unwrap_or("unknown")).to_owned();
        if manager.len() > 128 || manager.chars().any(char::is_control) {
            let why = format!(
                "Invalid value: {manager:?}: may not be more than 128 bytes of printable characters"
            );
            return Err(failure::invalid(
                "CreateOptions",
                "meta.k8s.io",
                "",
                &[("fieldManager", "FieldValueInvalid", why)],
            ));
        }
        Ok(Self {
            manager,
            now: SystemTime::now(),
            dry_run,
            keep_status: false,
            fields_tracked: false,
            validation,
            warnings: Arc::default(),
        })
    }

    /// Takes note of something the client is to be told.
    pub(crate) fn warn(&self, text: String) {
        self.warnings.lock().push(text);
    }

    pub(crate) fn timestamp(&self) -> String {
        time::rfc3339(self.now)
    }
}

/// Whether a write is a dry run; the only value there is for that is `All`.
pub(super) fn check_dry_run<'a>(values: impl Iterator<Item = &'a str>) -> Outcome<bool> {
    let mut dry_run = false;
    for value in values.filter(|value| !value.is_empty()) {
        if value != "All" {
            let why = format!("Unsupported value: [{value:?}]: supported values: \"All\"");
            return Err(failure::invalid(
                "CreateOptions",
                "meta.k8s.io",
                "",
                &[("dryRun", "FieldValueNotSupported", why)],
            ));
        }
        dry_run = true;
    }
    Ok(dry_run)
}
