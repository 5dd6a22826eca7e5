//! PATCH, in its four kinds, and who owns which field.

use std::sync::Arc;

use serde_json::Value;

use super::{context::WriteContext, metadata, part, update::check_preconditions};
use crate::testing::{
    failure::{self, Outcome},
    http::Request,
    kinds::ResourceDef,
    patch::{self, apply::Writer, types::Types},
    store::{State, Stored, storage},
};

/// A change to an object, from the body of a PATCH.
#[derive(Debug)]
pub(crate) struct Patch {
    kind: Kind,
    change: Value,
    force: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Patch {
    pub(crate) fn of(request: &Request, def: &ResourceDef) -> Outcome<Self> {
        let kind = match request.media_type().as_str() {
            "application/json-patch+json" => Kind::Json,
            "application/merge-patch+json" => Kind::Merge,
            "application/strategic-merge-patch+json" if def.builtin => Kind::Strategic,
            "application/apply-patch+yaml" => Kind::Apply,
            "application/strategic-merge-patch+json" => {
                return Err(failure::unsupported_media_type(&[
                    "application/json-patch+json",
                    "application/merge-patch+json",
                    "application/apply-patch+yaml",
                ]));
            }
            _ => return Err(failure::unknown_media_type()),
        };
        let force = request.parameter("force");
        if kind == Kind::Apply {
            if request.parameter("fieldManager").is_none_or(str::is_empty) {
                let why = "Required value: is required for apply patch".to_owned();
                return Err(invalid_options("fieldManager", "FieldValueRequired", why));
            }
        } else if force.is_some() {
            let why = "Forbidden: may not be specified for non-apply patch".to_owned();
            return Err(invalid_options("force", "FieldValueForbidden", why));
        }
        let change = if kind == Kind::Apply {
            request.yaml_or_json()?
        } else {
            request
                .json()
                .map_err(|why| failure::bad_request(format!("error decoding patch: {why}")))?
        };
        Ok(Self { kind, change, force: force == Some("true") })
    }

    fn is_apply(&self) -> bool {
        self.kind == Kind::Apply
    }

    /// What a JSON, merge or strategic merge patch makes of an object.
    pub(crate) fn apply_to(&self, def: &ResourceDef, object: &Value) -> Outcome<Value> {
        let refused = |error: patch::Error| Box::new(error.status());
        match self.kind {
            Kind::Json => patch::json::apply(object, &self.change).map_err(refused),
            Kind::Strategic => {
                patch::strategic::apply(object, &self.change, Types::of(def)).map_err(refused)
            }
            Kind::Merge | Kind::Apply => {
                if !self.change.is_object() {
                    return Err(failure::bad_request(
                        "cannot unmarshal the patch: a merge patch is an object",
                    ));
                }
                let mut patched = object.clone();
                patch::merge::apply(&mut patched, &self.change);
                Ok(patched)
            }
        }
    }
}

fn invalid_options(field: &str, reason: &str, why: String) -> Box<crate::Status> {
    failure::invalid("PatchOptions", "meta.k8s.io", "", &[(field, reason, why)])
}

impl State {
    /// Patches an object, or a part of it; says whether that created it.
    pub(crate) fn patch(
        &mut self,
        def: &ResourceDef,
        namespace: Option<&str>,
        name: &str,
        part: Option<&str>,
        patch: &Patch,
        context: &WriteContext,
    ) -> Outcome<(Arc<Stored>, bool)> {
        let key = def.key(namespace.unwrap_or_default(), name);
        let old = self.object(&storage(def), &key).cloned();
        if patch.is_apply() {
            return self.apply(def, namespace, name, part, old, patch, context);
        }
        let old = old.ok_or_else(|| failure::not_found(def, name))?;
        let current = old.value(def);
        let mut patched = patch.apply_to(def, &current)?;
        metadata::check_type(def, &mut patched)?;
        metadata::check_name(&patched, name)?;
        check_preconditions(def, &old, &patched)?;
        let new = part::merge(def, part, &current, patched);
        self.replace(def, &old, current, new, part, context).map(|stored| (stored, false))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a URL and of a request")]
    fn apply(
        &mut self,
        def: &ResourceDef,
        namespace: Option<&str>,
        name: &str,
        part: Option<&str>,
        old: Option<Arc<Stored>>,
        patch: &Patch,
        context: &WriteContext,
    ) -> Outcome<(Arc<Stored>, bool)> {
        let mut config = patch.change.clone();
        metadata::check_type(def, &mut config)?;
        metadata::place(def, namespace, &mut config)?;
        if metadata::text(&config, "name").is_empty() {
            config["metadata"]["name"] = name.into();
        }
        metadata::check_name(&config, name)?;
        let current = old.as_ref().map(|old| old.value(def));
        let writer = writer(context, part.unwrap_or_default());
        let applied = patch::apply::apply(def, current.as_ref(), &config, writer, patch.force)?;
        let context = WriteContext { fields_tracked: true, ..context.clone() };
        let (Some(old), Some(current)) = (old, current) else {
            if part.is_some() || !metadata::text(&config, "uid").is_empty() {
                return Err(failure::not_found(def, name));
            }
            return self.create(def, namespace, applied, &context).map(|stored| (stored, true));
        };
        check_preconditions(def, &old, &config)?;
        let new = part::merge(def, part, &current, applied);
        self.replace(def, &old, current, new, part, &context).map(|stored| (stored, false))
    }
}

/// Keeps `managedFields` up to date for a write that is not an apply.
pub(crate) fn track(
    old: Option<&Value>,
    new: &mut Value,
    def: &ResourceDef,
    part: &str,
    context: &WriteContext,
) {
    let fixture = context.keep_status && new["metadata"]["managedFields"].is_array();
    if !context.fields_tracked && !fixture {
        patch::apply::track(def, old, new, writer(context, part));
    }
}

fn writer<'a>(context: &'a WriteContext, part: &'a str) -> Writer<'a> {
    Writer { manager: &context.manager, subresource: part, now: context.now }
}
