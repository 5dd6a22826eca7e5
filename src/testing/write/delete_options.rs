//! What a deletion is to do, and under which conditions.

use serde::Deserialize;
use serde_json::Value;

use super::context::{WriteContext, check_dry_run};
use crate::testing::{
    failure::{self, Outcome},
    http::Request,
    kinds::ResourceDef,
    store::Stored,
};

/// The finalizer that keeps an owner until its dependents are gone.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The one that keeps it until they are cut loose.
pub(super) const ORPHAN: &str = "orphan";

/// The body, or query, of a deletion.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeleteOptions {
    pub(super) grace_period_seconds: Option<i64>,
    pub(super) preconditions: Preconditions,
    propagation_policy: Option<String>,
    orphan_dependents: Option<bool>,
    dry_run: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Preconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Policy {
    Background,
    Foreground,
    Orphan,
}

impl Policy {
    pub(super) fn finalizer(self) -> Option<&'static str> {
        match self {
            Self::Background => None,
            Self::Foreground => Some(FOREGROUND),
            Self::Orphan => Some(ORPHAN),
        }
    }
}

impl DeleteOptions {
    /// From the body of a request or, without one, from its query; and the circumstances.
    pub(crate) fn of(request: &Request) -> Outcome<(WriteContext, Self)> {
        let mut context = WriteContext::of(request)?;
        let options = if request.body.is_empty() {
            Self::of_query(request)
        } else {
            Self::of_json(request.object()?)?
        };
        context.dry_run |= options.is_dry_run()?;
        Ok((context, options))
    }

    /// From a `DeleteOptions` object; its null members count for nothing.
    pub(crate) fn of_json(mut value: Value) -> Outcome<Self> {
        if let Some(members) = value.as_object_mut() {
            members.retain(|_, member| !member.is_null());
        }
        serde_json::from_value(value).map_err(|error| failure::bad_request(error.to_string()))
    }

    fn of_query(request: &Request) -> Self {
        let parameter = |name: &str| request.parameter(name).filter(|value| !value.is_empty());
        Self {
            grace_period_seconds: parameter("gracePeriodSeconds")
                .and_then(|text| text.parse().ok()),
            propagation_policy: parameter("propagationPolicy").map(str::to_owned),
            orphan_dependents: parameter("orphanDependents").map(|orphan| orphan == "true"),
            ..Self::default()
        }
    }

    pub(crate) fn is_dry_run(&self) -> Outcome<bool> {
        check_dry_run(self.dry_run.iter().map(String::as_str))
    }

    pub(super) fn policy(&self) -> Outcome<Policy> {
        let problem = |why: String, reason| {
            failure::invalid(
                "DeleteOptions",
                "meta.k8s.io",
                "",
                &[("propagationPolicy", reason, why)],
            )
        };
        if self.propagation_policy.is_some() && self.orphan_dependents.is_some() {
            let why = "Invalid value: orphanDependents and deletionPropagation cannot be both set";
            return Err(problem(why.into(), "FieldValueInvalid"));
        }
        match (self.propagation_policy.as_deref(), self.orphan_dependents) {
            (Some("Foreground"), _) => Ok(Policy::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Ok(Policy::Orphan),
            (Some("Background") | None, _) => Ok(Policy::Background),
            (Some(other), _) => Err(problem(
                format!(
                    "Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
                ),
                "FieldValueNotSupported",
            )),
        }
    }
}

impl Preconditions {
    pub(super) fn check(&self, def: &ResourceDef, object: &Stored) -> Outcome<()> {
        let revision = object.revision.to_string();
        let why = if let Some(uid) = self.uid.as_ref().filter(|uid| **uid != object.uid) {
            format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                object.uid
            )
        } else if let Some(given) = self.resource_version.as_ref().filter(|one| **one != revision) {
            format!(
                "the ResourceVersion in the precondition ({given}) does not match the ResourceVersion in record ({revision}). The object might have been modified"
            )
        } else {
            return Ok(());
        };
        Err(failure::unfulfilled(def, &object.name, &why))
    }
}
