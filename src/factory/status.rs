//! How the informers of a factory are doing.

use std::fmt;

use crate::informer::{InformerStatus, Metric, table_of, visit_all};

/// How the informers of a factory are doing, at one moment.
///
/// Its `Display` is a small table for a person; [`metrics`](Self::metrics) is for machines.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FactoryStatus {
    /// Each informer, in the order in which they were asked for.
    pub informers: Vec<InformerStatus>,
}

impl FactoryStatus {
    /// Gives every value that was counted or measured to `visit`, those of one name together.
    ///
    /// Text for Prometheus in three lines: see [`Metric`].
    pub fn metrics(&self, visit: impl FnMut(&Metric<'_>)) {
        visit_all(&self.informers, visit);
    }
}

impl fmt::Display for FactoryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table_of(&self.informers).fmt(f)
    }
}
