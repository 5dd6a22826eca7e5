//! Creating and replacing objects.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    context::{Call, Validation},
    metadata, part, patch,
};
use crate::{
    error::StatusCause,
    testing::{
        failure::{self, Outcome},
        kinds::{ResourceDef, builtin_schema, crd, defaults, schema},
        read::parse_revision,
        store::{State, Stored, storage},
    },
};

impl State {
    /// Creates an object.
    pub(crate) fn create(
        &mut self,
        def: &ResourceDef,
        namespace: Option<&str>,
        mut object: Value,
        call: &Call,
    ) -> Outcome<Arc<Stored>> {
        metadata::check_type(def, &mut object)?;
        let namespace = metadata::place(def, namespace, &mut object)?;
        let name = metadata::name(def, &mut object)?;
        if !matches!(metadata::text(&object, "resourceVersion").as_str(), "" | "0")
            && !call.keep_status
        {
            return Err(Box::new(crate::Status::failure(
                500,
                "",
                "resourceVersion should not be set on objects to be created",
            )));
        }
        self.check_namespace(def, &namespace, &name)?;
        if self.object(&storage(def), &def.key(&namespace, &name)).is_some() {
            return Err(failure::already_exists(def, &name));
        }
        if !call.keep_status {
            check_content(def, &name, &object)?;
        }
        metadata::admit(def, &mut object, call);
        if def.subresource("status").is_some()
            && !call.keep_status
            && let Some(members) = object.as_object_mut()
        {
            members.remove("status");
        }
        complete(def, &name, &mut object, call)?;
        patch::track(None, &mut object, def, "", call);
        defaults::decide(def, &mut object);
        self.store(def, object, call)
    }

    /// Replaces an object, or a part of it, by what a client sent.
    pub(crate) fn update(
        &mut self,
        def: &ResourceDef,
        namespace: Option<&str>,
        name: &str,
        part: Option<&str>,
        mut object: Value,
        call: &Call,
    ) -> Outcome<(Arc<Stored>, bool)> {
        metadata::check_type(def, &mut object)?;
        metadata::place(def, namespace, &mut object)?;
        let given = metadata::text(&object, "name");
        if !given.is_empty() && given != name {
            return Err(failure::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        object["metadata"]["name"] = name.into();
        let key = def.key(namespace.unwrap_or_default(), name);
        let Some(old) = self.object(&storage(def), &key).cloned() else {
            if part.is_none()
                && metadata::allows_create_on_update(def)
                && metadata::text(&object, "uid").is_empty()
            {
                return self.create(def, namespace, object, call).map(|stored| (stored, true));
            }
            return Err(failure::not_found(def, name));
        };
        if metadata::text(&object, "resourceVersion").is_empty()
            && !metadata::allows_unconditional_update(def)
            && !call.keep_status
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
        let new = if call.keep_status { object } else { part::merge(def, part, &current, object) };
        self.replace(def, &old, current, new, part, call).map(|stored| (stored, false))
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
        call: &Call,
    ) -> Outcome<Arc<Stored>> {
        complete(def, &old.name, &mut new, call)?;
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
        patch::track(Some(&current), &mut new, def, part.unwrap_or_default(), call);
        if without_times(&current) == without_times(&new) {
            return Ok(old.clone());
        }
        if !call.dry_run && self.is_finished(def, &new) {
            // The answer shows what the client sent; watches see the last state that was stored.
            let sent = Arc::new(Stored::new(def, &new));
            self.end(def, &old.key, &new, call);
            return Ok(sent);
        }
        self.store(def, new, call)
    }

    /// Stores an object that is complete, and does what follows from it; a dry run only encodes it.
    pub(crate) fn store(
        &mut self,
        def: &ResourceDef,
        mut object: Value,
        call: &Call,
    ) -> Outcome<Arc<Stored>> {
        let is_crd = is_crd(def);
        if is_crd {
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
            object["status"] = crd::status(&registry, &object, call.now);
            if !call.dry_run {
                self.registry = registry;
            }
        }
        if call.dry_run {
            return Ok(Arc::new(Stored::new(def, &object)));
        }
        Ok(self.put(def, &mut object))
    }

    /// A namespaced object needs a namespace that exists and is not on its way out.
    fn check_namespace(&self, def: &ResourceDef, namespace: &str, name: &str) -> Outcome<()> {
        let Some(namespaces) = self.registry.find("", "v1", "namespaces") else { return Ok(()) };
        if !def.namespaced {
            return Ok(());
        }
        let Some(found) = self.object(&storage(&namespaces), namespace) else {
            return Err(failure::not_found(&namespaces, namespace));
        };
        if !metadata::is_being_deleted(&found.value(&namespaces)) {
            return Ok(());
        }
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut status = failure::forbidden(def, name, &why);
        if let Some(details) = &mut status.details {
            details.causes.push(StatusCause {
                reason: "NamespaceTerminating".into(),
                message: format!("namespace {namespace} is being terminated"),
                field: "metadata.namespace".into(),
            });
        }
        Err(status)
    }
}

/// Fills in defaults and holds an object to its schema, or to what is known of a built-in kind.
fn complete(def: &ResourceDef, name: &str, object: &mut Value, call: &Call) -> Outcome<()> {
    let schema = def.schema.as_deref();
    let unknown = match schema {
        Some(schema) => schema::prune(schema, object),
        None if def.builtin => builtin_schema::prune(def, object),
        None => Vec::new(),
    };
    refuse_or_warn(def, &unknown, call)?;
    if def.builtin
        && let Some(why) = builtin_schema::mistyped(def, object)
    {
        return Err(unfit(def, &why));
    }
    defaults::apply(def, object);
    let Some(schema) = schema else { return Ok(()) };
    schema::set_defaults(schema, object);
    let problems = schema::problems(schema, object);
    if problems.is_empty() {
        return Ok(());
    }
    let problems: Vec<(&str, &str, String)> = problems
        .iter()
        .map(|(field, reason, why)| (field.as_str(), *reason, why.clone()))
        .collect();
    Err(failure::invalid(&def.kind, &def.group, name, &problems))
}

/// Does about unknown fields what the client has asked for.
fn refuse_or_warn(def: &ResourceDef, unknown: &[String], call: &Call) -> Outcome<()> {
    let unknown: Vec<String> =
        unknown.iter().map(|field| format!("unknown field \"{field}\"")).collect();
    match call.validation {
        Validation::Strict if !unknown.is_empty() => {
            Err(unfit(def, &format!("strict decoding error: {}", unknown.join(", "))))
        }
        Validation::Warn => {
            unknown.into_iter().for_each(|warning| call.warn(warning));
            Ok(())
        }
        Validation::Strict | Validation::Ignore => Ok(()),
    }
}

fn unfit(def: &ResourceDef, why: &str) -> Box<crate::Status> {
    failure::bad_request(format!(
        "{} in version {:?} cannot be handled as a {}: {why}",
        def.kind, def.version, def.kind
    ))
}

/// The one thing that is checked about the content of built-in kinds: a pod has containers.
fn check_content(def: &ResourceDef, name: &str, object: &Value) -> Outcome<()> {
    let is_pod = def.group.is_empty() && def.plural == "pods";
    if is_pod && object["spec"]["containers"].as_array().is_none_or(Vec::is_empty) {
        let problem = [("spec.containers", "FieldValueRequired", "Required value".to_owned())];
        return Err(failure::invalid(&def.kind, &def.group, name, &problem));
    }
    Ok(())
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

pub(crate) fn is_crd(def: &ResourceDef) -> bool {
    def.group == "apiextensions.k8s.io" && def.plural == "customresourcedefinitions"
}

/// For comparing: a write that would change nothing but timestamps of managed fields is none.
fn without_times(object: &Value) -> Value {
    let mut object = object.clone();
    for entry in object["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
        entry["time"] = json!(null);
    }
    object
}
