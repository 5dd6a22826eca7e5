//! A request for a resource that the server has.

use std::sync::Arc;

use super::path::ResourcePath;
use crate::testing::{
    failure::{self, Outcome},
    http::Request,
    kinds::ResourceDef,
    shared::Shared,
    store::{Scope, State, Stored, storage},
};

/// What is asked, of what, and of which server.
pub(crate) struct ResourceRequest<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) request: &'a Request,
    pub(crate) def: &'a Arc<ResourceDef>,
    pub(crate) path: &'a ResourcePath,
}

impl ResourceRequest<'_> {
    /// Empty for cluster-scoped resources, and for all namespaces at once.
    pub(crate) fn namespace(&self) -> &str {
        self.path.namespace.as_deref().unwrap_or_default()
    }

    /// Empty for a collection.
    pub(crate) fn name(&self) -> &str {
        self.path.name.as_deref().unwrap_or_default()
    }

    /// Where the objects of a collection are.
    pub(crate) fn scope(&self) -> Scope {
        Scope { storage: storage(self.def), namespace: self.path.namespace.clone() }
    }

    /// The object it is about.
    ///
    /// # Errors
    /// 404 if there is none.
    pub(crate) fn find(&self, state: &State) -> Outcome<Arc<Stored>> {
        let key = self.def.key(self.namespace(), self.name());
        let found = state.object(&storage(self.def), &key).cloned();
        found.ok_or_else(|| failure::not_found(self.def, self.name()))
    }
}
