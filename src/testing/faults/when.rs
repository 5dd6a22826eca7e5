//! Which requests a fault befalls.

use serde::{Deserialize, Serialize};

use crate::testing::routes::Verb;

/// Selects the requests that a [`Fault`](super::Fault) befalls; made with [`any`](When::any) and narrowed down.
///
/// ```
/// use kinformer::testing::{Verb, When};
///
/// // The third and fourth watch of pods in the namespace `web`.
/// let when = When::any().verb(Verb::Watch).resource("pods").namespace("web").after(2).times(2);
/// let json = r#"{"verb": "watch", "resource": "pods", "namespace": "web", "after": 2, "times": 2}"#;
/// assert_eq!(serde_json::from_str::<When>(json).unwrap(), when);
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct When {
    #[serde(skip_serializing_if = "Option::is_none")]
    verb: Option<Verb>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    after: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl When {
    /// Every request, from now on; discovery and health included.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests with this verb.
    #[must_use]
    pub fn verb(mut self, verb: Verb) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Requests for this resource, by its plural name as in the URL; `pods/status` is a resource of
    /// its own, as in access rules.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Requests for this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Requests for the object of this name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Leaves the first `requests` of them alone.
    #[must_use]
    pub fn after(mut self, requests: u32) -> Self {
        self.after = requests;
        self
    }

    /// Ends after it has happened to this many of them.
    #[must_use]
    pub fn times(mut self, requests: u32) -> Self {
        self.times = Some(requests);
        self
    }

    /// The same as `times(1)`.
    #[must_use]
    pub fn once(self) -> Self {
        self.times(1)
    }

    pub(crate) fn matches(&self, request: &Facts) -> bool {
        fn fits<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none() || wanted == found
        }
        fits(self.verb.as_ref(), request.verb.as_ref())
            && fits(self.resource.as_ref(), request.resource.as_ref())
            && fits(self.namespace.as_ref(), request.namespace.as_ref())
            && fits(self.name.as_ref(), request.name.as_ref())
    }

    /// Counts a request that matches; says whether it is one that the fault befalls.
    pub(super) fn count(&mut self) -> bool {
        if self.after > 0 {
            self.after -= 1;
            return false;
        }
        match &mut self.times {
            Some(0) => false,
            Some(times) => {
                *times -= 1;
                true
            }
            None => true,
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        self.times == Some(0)
    }
}

/// What is known about a request before it is answered.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) verb: Option<Verb>,
    pub(crate) resource: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    /// It goes on with a list.
    pub(crate) continues: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_counts_only_what_it_matches() {
        let mut when = When::any().verb(Verb::List).resource("pods").after(1).times(2);
        let facts =
            |verb| Facts { verb: Some(verb), resource: Some("pods".into()), ..Facts::default() };
        assert!(when.matches(&facts(Verb::List)));
        assert!(!when.matches(&facts(Verb::Watch)));
        assert!(!when.matches(&Facts::default()));
        let befallen: Vec<bool> = (0..5).map(|_| when.count()).collect();
        assert_eq!(befallen, [false, true, true, false, false]);
        assert!(when.is_spent());
    }

    #[test]
    fn typos_are_errors() {
        assert!(serde_json::from_str::<When>(r#"{"verbs":"list"}"#).is_err());
    }
}
