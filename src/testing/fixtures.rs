//! Objects without HTTP: what a test puts into the server and looks up in it.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    Error, Result,
    testing::{
        failure::{self, Outcome},
        kinds::ResourceDef,
        server::ApiServer,
        store::{Scope, State, storage},
        write::{DeleteOptions, Removal, WriteContext, metadata},
    },
};

impl ApiServer {
    /// Creates an object, as a fixture: unlike over HTTP, a status that it comes with is kept, and
    /// so are its UID and creation time.
    ///
    /// A namespaced object without a namespace goes to `default`. Watches see it as they see any
    /// other.
    ///
    /// # Errors
    /// As over HTTP: the kind or the namespace does not exist, the object does, or it is not valid.
    ///
    /// ```
    /// use kinformer::testing::ApiServer;
    /// use serde_json::json;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::start()?;
    /// let pod = server.create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
    ///     "status": {"phase": "Running"}}))?;
    /// assert_eq!(pod["metadata"]["namespace"], "default");
    /// assert_eq!(server.object("v1", "Pod", "default/p").unwrap()["status"]["phase"], "Running");
    /// # Ok(())
    /// # }
    /// ```
    pub fn create(&self, object: Value) -> Result<Value> {
        self.change(|state| {
            let (def, namespace) = place(state, &object)?;
            let stored = state.create(&def, Some(&namespace), object, &WriteContext::direct())?;
            Ok(stored.value(&def))
        })
    }

    /// Replaces an object, its status included. With a resource version it must be the current one.
    ///
    /// # Errors
    /// As over HTTP: the object does not exist, has been changed, or is not valid.
    pub fn update(&self, object: Value) -> Result<Value> {
        self.change(|state| {
            let (def, namespace) = place(state, &object)?;
            let name = metadata::text(&object, "name");
            let context = WriteContext::direct();
            let (stored, _) =
                state.update(&def, Some(&namespace), &name, None, object, &context)?;
            Ok(stored.value(&def))
        })
    }

    /// Creates or replaces an object, whichever it takes.
    ///
    /// # Errors
    /// As [`create`](Self::create) and [`update`](Self::update).
    pub fn put(&self, object: Value) -> Result<Value> {
        match self.update(object.clone()) {
            Err(error) if error.is_not_found() => self.create(object),
            other => other,
        }
    }

    /// Deletes an object by its key, `namespace/name` or `name`; it stays if it has finalizers.
    ///
    /// # Errors
    /// If the kind or the object does not exist.
    pub fn delete(&self, api_version: &str, kind: &str, key: &str) -> Result<()> {
        self.change(|state| {
            let def = find(state, api_version, kind)?;
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            let options = DeleteOptions::default();
            match state.delete(&def, Some(namespace), name, &options, &WriteContext::direct())? {
                Removal::Gone(_) | Removal::Pending(_) => Ok(()),
            }
        })
    }

    /// An object by its key, `namespace/name` or `name`.
    #[must_use]
    pub fn object(&self, api_version: &str, kind: &str, key: &str) -> Option<Value> {
        self.shared().read(|state| {
            let def = find(state, api_version, kind).ok()?;
            Some(state.object(&storage(&def), key)?.value(&def))
        })
    }

    /// All objects of a kind, sorted by key; none if there is no such kind.
    #[must_use]
    pub fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        self.shared().read(|state| {
            let Ok(def) = find(state, api_version, kind) else { return Vec::new() };
            let scope = Scope { storage: storage(&def), namespace: None };
            let objects = state.list(&scope, state.revision()).unwrap_or_default();
            objects.iter().map(|object| object.value(&def)).collect()
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> Outcome<T>) -> Result<T> {
        self.shared().write(change).map_err(Error::Api)
    }
}

fn find(state: &State, api_version: &str, kind: &str) -> Outcome<Arc<ResourceDef>> {
    state.registry.find_type(api_version, kind).ok_or_else(|| {
        failure::failure(
            crate::Reason::NotFound,
            format!("no matches for kind {kind:?} in version {api_version:?}"),
        )
    })
}

/// The resource of an object and the namespace it belongs into.
fn place(state: &State, object: &Value) -> Outcome<(Arc<ResourceDef>, String)> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let def = find(state, text("apiVersion"), text("kind"))?;
    let namespace = object["metadata"]["namespace"].as_str().filter(|given| !given.is_empty());
    Ok((def, namespace.unwrap_or("default").to_owned()))
}
