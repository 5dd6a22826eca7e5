//! Replacing objects, and what is stored in the end.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{context::WriteContext, metadata, part, patch, validation::complete};
use crate::testing::{
    failure::{self, Outcome},
    kinds::{ResourceDef, crd, defaults},
    limits,
    read::parse_revision,
    store::{State, Stored, storage},
};

impl State {
    /// Replaces an object, or a part of it, by what a client sent.
    pub(crate) fn update(
        &mut self,
        def: &ResourceDef,
        namespace: Option<&str>,
        name: &str,
        part: Option<&str>,
        mut object: Value,
        context: &WriteContext,
    ) -> Outcome<(Arc<Stored>, bool)> {
        metadata::check_type(def, &mut object)?;
        metadata::place(def, namespace, &mut object)?;
        if metadata::text(&object, "name").is_empty() {
            object["metadata"]["name"] = name.into();
        }
        metadata::check_name(&object, name)?;
        let key = def.key(namespace.unwrap_or_default(), name);
        let Some(old) = self.object(&storage(def), &key).cloned() else {
            if part.is_none()
                && metadata::allows_create_on_update(def)
                && metadata::text(&object, "uid").is_empty()
            {
                return self.create(def, namespace, object, context).map(|stored| (stored, true));
            }
            return Err(failure::not_found(def, name));
        };
        if metadata::text(&object, "resourceVersion").is_empty()
            && !metadata::allows_unconditional_update(def)
            && !context.keep_status
        {
            let why = "Invalid value: 0: must be specified for an update".to_owned();
            return Err(failure::invalid(
                &def.kind,
                &def.group,
                name,
                &[("metadata.resourceVersion", "FieldValueInvalid", why)],
            ));
        }
        check_preconditions(def, &old, &object)?;
        let current = old.value(def);
        let new =
            if context.keep_status { object } else { part::merge(def, part, &current, object) };
        self.replace(def, &old, current, new, part, context).map(|stored| (stored, false))
    }

    /// Puts `new` in the place of `old`, whose decoded form is `current`. If that takes the last
    /// finalizer from an object that is being deleted, the object goes.
    pub(crate) fn replace(
        &mut self,
        def: &ResourceDef,
        old: &Arc<Stored>,
        current: Value,
        mut new: Value,
        part: Option<&str>,
        context: &WriteContext,
    ) -> Outcome<Arc<Stored>> {
        limits::check(def, &old.name, &new)?;
        complete(def, &old.name, &mut new, context)?;
        defaults::decide(def, &mut new);
        metadata::keep(def, &current, &mut new);
        if part == Some("binding") {
            // A node is not a new specification.
            new["metadata"]["generation"] = current["metadata"]["generation"].clone();
        }
        if metadata::is_being_deleted(&current) {
            let known = metadata::finalizers(&current);
            if let Some(added) =
                metadata::finalizers(&new).iter().find(|name| !known.contains(name))
            {
                let why = format!(
                    "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{added:?}}}"
                );
                return Err(failure::invalid(
                    &def.kind,
                    &def.group,
                    &old.name,
                    &[("metadata.finalizers", "FieldValueForbidden", why)],
                ));
            }
        }
        patch::track(Some(&current), &mut new, def, part.unwrap_or_default(), context);
        if without_times(&current) == without_times(&new) {
            return Ok(old.clone());
        }
        if !context.dry_run && self.is_finished(def, &new) {
            // The answer shows what the client sent; watches see the last state that was stored.
            let sent = Arc::new(Stored::new(def, &new));
            self.end(def, &old.key, &new, context);
            return Ok(sent);
        }
        self.store(def, new, context)
    }

    /// Stores an object that is complete, and does what follows from it; a dry run only encodes it.
    pub(super) fn store(
        &mut self,
        def: &ResourceDef,
        mut object: Value,
        context: &WriteContext,
    ) -> Outcome<Arc<Stored>> {
        if def.is_crd() {
            crd::set_defaults(&mut object);
            let mut registry = self.registry.clone();
            registry.apply_crd(&object).map_err(|why| {
                let name = metadata::text(&object, "name");
                failure::invalid(
                    &def.kind,
                    &def.group,
                    &name,
                    &[("spec", "FieldValueInvalid", why)],
                )
            })?;
            object["status"] = crd::status(&registry, &object, context.now);
            if !context.dry_run {
                self.registry = registry;
            }
        }
        if context.dry_run {
            return Ok(Arc::new(Stored::new(def, &object)));
        }
        Ok(self.put(def, &mut object))
    }
}

/// Checks the resource version and UID that a client thinks it is changing.
pub(crate) fn check_preconditions(def: &ResourceDef, old: &Stored, object: &Value) -> Outcome<()> {
    let uid = metadata::text(object, "uid");
    if !uid.is_empty() && uid != old.uid {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            old.uid
        );
        return Err(failure::conflict(def, &old.name, &why));
    }
    match parse_revision(&metadata::text(object, "resourceVersion"))? {
        Some(revision) if revision != 0 && revision != old.revision => {
            Err(failure::modified(def, &old.name))
        }
        _ => Ok(()),
    }
}

/// For comparing: a write that would change nothing but timestamps of managed fields is none.
fn without_times(object: &Value) -> Value {
    let mut object = object.clone();
    for entry in object["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
        entry["time"] = json!(null);
    }
    object
}
