//! Creating objects.

use std::sync::Arc;

use serde_json::Value;

use super::{context::WriteContext, metadata, patch, validation::complete};
use crate::{
    error::StatusCause,
    testing::{
        failure::{self, Outcome},
        kinds::{ResourceDef, defaults},
        limits,
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
        context: &WriteContext,
    ) -> Outcome<Arc<Stored>> {
        metadata::check_type(def, &mut object)?;
        let namespace = metadata::place(def, namespace, &mut object)?;
        let name = metadata::name(def, &mut object)?;
        limits::check(def, &name, &object)?;
        if !matches!(metadata::text(&object, "resourceVersion").as_str(), "" | "0")
            && !context.keep_status
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
        if !context.keep_status {
            check_content(def, &name, &object)?;
        }
        metadata::admit(def, &mut object, context);
        if def.subresource("status").is_some()
            && !context.keep_status
            && let Some(members) = object.as_object_mut()
        {
            members.remove("status");
        }
        complete(def, &name, &mut object, context)?;
        patch::track(None, &mut object, def, "", context);
        defaults::decide(def, &mut object);
        self.store(def, object, context)
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

/// The one thing that is checked about the content of built-in kinds: a pod has containers.
fn check_content(def: &ResourceDef, name: &str, object: &Value) -> Outcome<()> {
    let is_pod = def.group.is_empty() && def.plural == "pods";
    if is_pod && object["spec"]["containers"].as_array().is_none_or(Vec::is_empty) {
        let problem = [("spec.containers", "FieldValueRequired", "Required value".to_owned())];
        return Err(failure::invalid(&def.kind, &def.group, name, &problem));
    }
    Ok(())
}
