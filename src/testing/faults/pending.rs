//! The faults that are still to come.

use serde::{Deserialize, Serialize};

use super::{
    fault::Fault,
    when::{Facts, When},
};

/// The faults that have not happened yet, in the order they were given.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Pending>);

/// A fault and the requests it is waiting for.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Pending {
    #[serde(default)]
    pub(crate) when: When,
    pub(crate) fault: Fault,
}

impl Faults {
    pub(crate) fn add(&mut self, when: When, fault: Fault) {
        self.0.push(Pending { when, fault });
    }

    pub(crate) fn pending(&self) -> &[Pending] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The fault that befalls a request. Rules that match only count it as long as none has struck.
    pub(crate) fn strike(&mut self, request: &Facts) -> Option<Fault> {
        let struck = self.0.iter_mut().find_map(|pending| {
            let applies = pending.when.matches(request)
                && (pending.fault != Fault::ExpireContinue || request.continues);
            (applies && pending.when.count()).then(|| pending.fault.clone())
        });
        self.0.retain(|pending| !pending.when.is_spent());
        struck
    }
}
