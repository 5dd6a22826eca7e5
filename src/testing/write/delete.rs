//! Deleting objects, and what goes with them: finalizers, namespaces, dependents.
//!
//! A real cluster leaves most of this to controllers that act a moment later. Here the server does
//! it at once, within the request, so that a test sees a settled state:
//!
//! - an object with finalizers stays, with a `deletionTimestamp`, until they are taken off;
//! - dependents go after their last owner (background), before it (foreground) or are cut loose
//!   (orphan);
//! - a namespace becomes `Terminating`, its content goes, then it goes itself, as soon as it is
//!   empty;
//! - a pod is shown with its `deletionTimestamp` first, then goes, as if its kubelet had obeyed;
//! - a CRD takes its custom resources with it.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{
    context::WriteContext,
    delete_options::{DeleteOptions, FOREGROUND, ORPHAN, Policy},
    metadata,
};
use crate::testing::{
    failure::{self, Outcome},
    kinds::ResourceDef,
    store::{Scope, State, Stored, storage},
    time,
};

/// What has become of an object that was to be deleted.
#[derive(Debug)]
pub(crate) enum Removal {
    /// It is gone; this was its last state.
    Gone(Arc<Stored>),
    /// It is waiting for its finalizers.
    Pending(Arc<Stored>),
}

impl State {
    /// Deletes one object.
    pub(crate) fn delete(
        &mut self,
        def: &ResourceDef,
        namespace: Option<&str>,
        name: &str,
        options: &DeleteOptions,
        context: &WriteContext,
    ) -> Outcome<Removal> {
        let policy = options.policy()?;
        let key = def.key(namespace.unwrap_or_default(), name);
        let Some(old) = self.object(&storage(def), &key).cloned() else {
            return Err(failure::not_found(def, name));
        };
        options.preconditions.check(def, &old)?;
        if context.dry_run {
            return Ok(Removal::Gone(old));
        }
        let object = old.value(def);
        let stays_visible = policy != Policy::Background
            || is_namespace(def)
            || is_pod(def)
            || !metadata::finalizers(&object).is_empty();
        if !stays_visible {
            return Ok(Removal::Gone(self.end(def, &key, &object, context).unwrap_or(old)));
        }
        let marked = self.mark_deleted(def, object, policy, options.grace_period_seconds, context);
        let marked = marked.unwrap_or(old);
        match policy {
            Policy::Background => {}
            Policy::Foreground => {
                self.delete_dependents(&marked.uid, context);
                if self.dependents(&marked.uid).is_empty() {
                    self.drop_finalizer(def, &key, FOREGROUND, context);
                }
            }
            Policy::Orphan => {
                self.cut_loose(&marked.uid);
                self.drop_finalizer(def, &key, ORPHAN, context);
            }
        }
        if is_namespace(def) {
            self.delete_content(name, context);
        }
        // Even if that ends it: the answer is what a real server, which does not wait, would show.
        self.finish_deletion(def, &key, context);
        Ok(Removal::Pending(marked))
    }

    /// Deletes everything of a scope that `selected` accepts.
    pub(crate) fn delete_collection(
        &mut self,
        def: &ResourceDef,
        scope: &Scope,
        selected: impl Fn(&Stored) -> bool,
        options: &DeleteOptions,
        context: &WriteContext,
    ) -> Outcome<Vec<Arc<Stored>>> {
        let objects = self.list(scope, self.revision())?;
        let mut deleted = Vec::new();
        for object in objects.iter().filter(|object| selected(object)) {
            match self.delete(def, Some(&object.namespace), &object.name, options, context) {
                Ok(Removal::Gone(object) | Removal::Pending(object)) => deleted.push(object),
                // Gone with another one of the collection.
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        Ok(deleted)
    }

    /// Removes an object that is being deleted and has nothing left to wait for; its last state, if
    /// so.
    fn finish_deletion(
        &mut self,
        def: &ResourceDef,
        key: &str,
        context: &WriteContext,
    ) -> Option<Arc<Stored>> {
        let object = self.object(&storage(def), key)?.value(def);
        if self.is_finished(def, &object) { self.end(def, key, &object, context) } else { None }
    }

    /// Whether an object is being deleted and has nothing left to wait for.
    pub(super) fn is_finished(&self, def: &ResourceDef, object: &Value) -> bool {
        metadata::is_being_deleted(object)
            && metadata::finalizers(object).is_empty()
            && !self.holds_namespace(def, object)
    }

    /// Removes an object and lets everything follow that follows.
    pub(crate) fn end(
        &mut self,
        def: &ResourceDef,
        key: &str,
        object: &Value,
        context: &WriteContext,
    ) -> Option<Arc<Stored>> {
        if def.is_crd() {
            self.delete_custom_resources(key, context);
        }
        let last = self.remove(def, key)?;
        self.delete_dependents(&last.uid, context);
        self.release_owners(object, context);
        self.release_namespace(&last.namespace, context);
        Some(last)
    }

    /// Stores the object with its `deletionTimestamp`, unless it has one.
    fn mark_deleted(
        &mut self,
        def: &ResourceDef,
        mut object: Value,
        policy: Policy,
        grace: Option<i64>,
        context: &WriteContext,
    ) -> Option<Arc<Stored>> {
        if metadata::is_being_deleted(&object) {
            return None;
        }
        if let Some(finalizer) = policy.finalizer() {
            let mut finalizers = metadata::finalizers(&object);
            finalizers.push(finalizer.into());
            object["metadata"]["finalizers"] = json!(finalizers);
        }
        let grace = if is_pod(def) && is_bound(&object) { grace.unwrap_or(30) } else { 0 };
        let due = context.now + Duration::from_secs(grace.clamp(0, 86_400).unsigned_abs());
        object["metadata"]["deletionTimestamp"] = time::rfc3339(due).into();
        if !is_namespace(def) {
            object["metadata"]["deletionGracePeriodSeconds"] = grace.into();
        }
        if let Some(generation) = object["metadata"]["generation"].as_u64() {
            object["metadata"]["generation"] = (generation + 1).into();
        }
        if is_namespace(def) {
            object["status"]["phase"] = "Terminating".into();
        }
        Some(self.put(def, &mut object))
    }

    fn delete_content(&mut self, namespace: &str, context: &WriteContext) {
        for (storage, key) in self.in_namespace(namespace) {
            self.delete_quietly(&storage, &key, context);
        }
        self.release_namespace(namespace, context);
    }

    fn delete_custom_resources(&mut self, crd: &str, context: &WriteContext) {
        let Some((plural, group)) = crd.split_once('.') else { return };
        let storage: Arc<str> = format!("{group}/{plural}").into();
        let scope = Scope { storage: storage.clone(), namespace: None };
        for object in self.list(&scope, self.revision()).unwrap_or_default() {
            self.delete_quietly(&storage, &object.key, context);
        }
        self.registry.remove_crd(crd);
    }

    fn delete_dependents(&mut self, uid: &str, context: &WriteContext) {
        for (storage, key) in self.dependents(uid) {
            let Some(def) = self.def_of(&storage) else { continue };
            let Some(object) = self.object(&storage, &key).map(|found| found.value(&def)) else {
                continue;
            };
            if self.has_other_owner(&object, uid) {
                self.drop_owner(&def, &key, uid);
            } else {
                self.delete_quietly(&storage, &key, context);
            }
        }
    }

    fn delete_quietly(&mut self, storage: &str, key: &str, context: &WriteContext) {
        let Some(def) = self.def_of(storage) else { return };
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        // It can only be gone already.
        let _ = self.delete(&def, Some(namespace), name, &DeleteOptions::default(), context);
    }

    /// Takes the owner off all its dependents.
    fn cut_loose(&mut self, uid: &str) {
        for (storage, key) in self.dependents(uid) {
            if let Some(def) = self.def_of(&storage) {
                self.drop_owner(&def, &key, uid);
            }
        }
    }

    fn drop_owner(&mut self, def: &ResourceDef, key: &str, uid: &str) {
        let Some(found) = self.object(&storage(def), key) else { return };
        let mut object = found.value(def);
        if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
            owners.retain(|owner| owner["uid"] != uid);
            if owners.is_empty()
                && let Some(metadata) = object["metadata"].as_object_mut()
            {
                metadata.remove("ownerReferences");
            }
        }
        self.put(def, &mut object);
    }

    fn has_other_owner(&self, object: &Value, uid: &str) -> bool {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners
            .filter(|owner| owner["uid"] != uid)
            .any(|owner| self.owner(object, owner).is_some_and(|found| found.1.uid == owner["uid"]))
    }

    /// The object that an owner reference of `object` points at.
    fn owner(&self, object: &Value, owner: &Value) -> Option<(Arc<ResourceDef>, Arc<Stored>)> {
        let api_version = owner["apiVersion"].as_str()?;
        let def = self.registry.find_type(api_version, owner["kind"].as_str()?)?;
        let key = def.key(&metadata::text(object, "namespace"), owner["name"].as_str()?);
        let found = self.object(&storage(&def), &key)?.clone();
        Some((def, found))
    }

    /// Lets owners go that were waiting for `object` to go first.
    fn release_owners(&mut self, object: &Value, context: &WriteContext) {
        for reference in object["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
            let Some((def, owner)) = self.owner(object, reference) else { continue };
            let value = owner.value(&def);
            if metadata::is_being_deleted(&value) && self.dependents(&owner.uid).is_empty() {
                self.drop_finalizer(&def, &owner.key, FOREGROUND, context);
            }
        }
    }

    /// Takes off a finalizer, as its owner would, which may be the end of the object.
    fn drop_finalizer(
        &mut self,
        def: &ResourceDef,
        key: &str,
        finalizer: &str,
        context: &WriteContext,
    ) {
        let Some(found) = self.object(&storage(def), key) else { return };
        let mut object = found.value(def);
        let mut finalizers = metadata::finalizers(&object);
        let before = finalizers.len();
        finalizers.retain(|name| name != finalizer);
        if finalizers.len() == before {
            return;
        }
        object["metadata"]["finalizers"] = json!(finalizers);
        if self.is_finished(def, &object) {
            self.end(def, key, &object, context);
        } else {
            self.put(def, &mut object);
        }
    }

    /// Lets a namespace go that is being deleted and has become empty.
    fn release_namespace(&mut self, namespace: &str, context: &WriteContext) {
        if !namespace.is_empty()
            && let Some(def) = self.registry.find("", "v1", "namespaces")
        {
            self.finish_deletion(&def, namespace, context);
        }
    }

    /// Whether this is a namespace that has content, or finalizers of somebody else.
    fn holds_namespace(&self, def: &ResourceDef, object: &Value) -> bool {
        let others = object["spec"]["finalizers"].as_array().into_iter().flatten();
        is_namespace(def)
            && (others.into_iter().any(|name| name != "kubernetes")
                || !self.is_empty_namespace(&metadata::text(object, "name")))
    }

    /// A resource that is kept in this storage; any of its versions.
    fn def_of(&self, storage: &str) -> Option<Arc<ResourceDef>> {
        let (group, plural) = storage.split_once('/')?;
        let kept = |def: &&Arc<ResourceDef>| def.storage.0 == group && def.storage.1 == plural;
        self.registry.all().iter().find(kept).cloned()
    }
}

/// Whether a finished deletion is answered with the object rather than with a `Status`.
pub(crate) fn returns_deleted_object(def: &ResourceDef) -> bool {
    def.builtin
        && matches!(
            (def.group.as_str(), def.plural.as_str()),
            (
                "",
                "persistentvolumeclaims"
                    | "persistentvolumes"
                    | "pods"
                    | "podtemplates"
                    | "resourcequotas"
                    | "serviceaccounts"
                    | "services"
            ) | ("storage.k8s.io", _)
        )
}

fn is_namespace(def: &ResourceDef) -> bool {
    def.group.is_empty() && def.plural == "namespaces"
}

fn is_pod(def: &ResourceDef) -> bool {
    def.group.is_empty() && def.plural == "pods"
}

/// Whether a pod has a kubelet to shut it down.
fn is_bound(pod: &Value) -> bool {
    pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty())
}
