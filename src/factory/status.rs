//! How the informers of a factory are doing.

use std::{collections::BTreeSet, fmt};

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

/// Those of several factories as if they were one's, so that there is one table and one text. Informers of the
/// same name are numbered; [names](super::SharedInformerFactoryBuilder::name) of the factories tell more.
///
/// ```no_run
/// use kinformer::{Client, FactoryStatus, SharedInformerFactory};
///
/// # let (red, green) = (Client::try_default()?, Client::try_default()?);
/// let factories = [("red", red), ("green", green)]
///     .map(|(name, client)| SharedInformerFactory::builder(client).name(name).build());
/// let all: FactoryStatus = factories.iter().map(SharedInformerFactory::status).collect();
/// let mut text = String::new();
/// all.metrics(|metric| text += &metric.to_string());
/// # Ok::<(), kinformer::Error>(())
/// ```
impl FromIterator<Self> for FactoryStatus {
    fn from_iter<I: IntoIterator<Item = Self>>(factories: I) -> Self {
        let mut informers: Vec<_> =
            factories.into_iter().flat_map(|factory| factory.informers).collect();
        let mut names = BTreeSet::new();
        for informer in &mut informers {
            let name = informer.name.clone();
            let mut number = 1;
            // Two samples of one name and one set of labels are an error to those who read them.
            while !names.insert(informer.name.clone()) {
                number += 1;
                informer.name = format!("{name} #{number}");
            }
        }
        Self { informers }
    }
}

impl fmt::Display for FactoryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table_of(&self.informers).fmt(f)
    }
}
