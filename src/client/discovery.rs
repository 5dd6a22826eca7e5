//! What a server serves: groups, versions, resources.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use parking_lot::Mutex;
use serde::Deserialize;

use super::Client;
use crate::{
    error::{Error, Result},
    json::null_as_default,
    object::{ApiResource, join_api_version, split_api_version},
};

/// Parameter order matters to API servers.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
const AGGREGATED_VERSION: &str = "apidiscovery.k8s.io/v2";

/// The server's catalogue of resources, read once and kept; see [`refresh`](Self::refresh).
///
/// Clones share what was read. A look-up that finds nothing reads the catalogue again, once, so that
/// resources added since (custom ones) are found.
///
/// One API group that is broken, usually because an aggregated API server is down, does not hide the
/// others: it is among the [`failures`](Self::failures).
///
/// ```no_run
/// # let client = kinformer::Client::try_default()?;
/// let discovery = client.discovery();
/// let deployments = discovery.find_resource("deploy")?;
/// println!("{} in {}", deployments.resource.kind(), deployments.resource.api_version());
/// # Ok::<(), kinformer::Error>(())
/// ```
///
/// # Blocking
///
/// The first call reads the whole catalogue: two requests to a server of Kubernetes 1.26 or later,
/// one for each group version before that.
///
/// # Errors
///
/// If the server cannot be reached, or refuses to list its groups.
#[derive(Clone, Debug)]
#[doc(alias = "DiscoveryClient")]
#[doc(alias = "RESTMapper")]
pub struct Discovery {
    client: Client,
    catalogue: Arc<Mutex<Option<Arc<Catalogue>>>>,
}

/// One group of the API.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[doc(alias = "APIGroup")]
pub struct ApiGroup {
    /// The name; empty for the core group.
    pub name: String,
    /// The versions, as the server orders them.
    pub versions: Vec<String>,
    /// The version to use if there is no reason for another.
    pub preferred_version: String,
}

/// One resource in one version, and what can be done with it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[doc(alias = "APIResource")]
pub struct DiscoveredResource {
    /// Group, version, kind, plural and scope.
    pub resource: ApiResource,
    /// The name of one object, as in `pod`.
    pub singular: String,
    /// Other names, as in `po`.
    pub short_names: Vec<String>,
    /// The groups of resources that it is in, as in `all`.
    pub categories: Vec<String>,
    /// What can be done: `get`, `list`, `watch`, ...
    pub verbs: Vec<String>,
    /// As in `status` and `scale`.
    pub subresources: Vec<String>,
}

impl DiscoveredResource {
    /// Whether all of these can be done with it.
    #[must_use]
    #[doc(alias = "SupportsAllVerbs")]
    pub fn supports(&self, verbs: &[&str]) -> bool {
        verbs.iter().all(|verb| self.verbs.iter().any(|known| known == verb))
    }
}

/// A group version whose resources could not be read.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[doc(alias = "ErrGroupDiscoveryFailed")]
pub struct DiscoveryFailure {
    /// `v1` or `group/version`.
    pub group_version: String,
    /// Why.
    pub message: String,
}

#[derive(Debug, Default)]
struct Catalogue {
    groups: Vec<ApiGroup>,
    /// In the order of groups, then versions.
    resources: Vec<DiscoveredResource>,
    failures: Vec<DiscoveryFailure>,
}

impl Discovery {
    pub(super) fn new(client: Client) -> Self {
        Self { client, catalogue: Arc::default() }
    }

    /// Reads the catalogue again.
    ///
    /// # Errors
    ///
    /// See [`Discovery`]; what was read before is kept then.
    #[doc(alias = "Invalidate")]
    pub fn refresh(&self) -> Result<()> {
        self.read().map(drop)
    }

    /// The groups, core first.
    ///
    /// # Errors
    ///
    /// See [`Discovery`].
    #[doc(alias = "ServerGroups")]
    pub fn groups(&self) -> Result<Vec<ApiGroup>> {
        Ok(self.catalogue()?.groups.clone())
    }

    /// Every resource in every version.
    ///
    /// # Errors
    ///
    /// See [`Discovery`].
    #[doc(alias = "ServerGroupsAndResources")]
    pub fn resources(&self) -> Result<Vec<DiscoveredResource>> {
        Ok(self.catalogue()?.resources.clone())
    }

    /// Every resource once, in the preferred version of its group, or else in the first that has it.
    ///
    /// # Errors
    ///
    /// See [`Discovery`].
    #[doc(alias = "ServerPreferredResources")]
    pub fn preferred_resources(&self) -> Result<Vec<DiscoveredResource>> {
        Ok(self.catalogue()?.preferred().cloned().collect())
    }

    /// The group versions that could not be read.
    ///
    /// # Errors
    ///
    /// See [`Discovery`].
    #[doc(alias = "ErrGroupDiscoveryFailed")]
    pub fn failures(&self) -> Result<Vec<DiscoveryFailure>> {
        Ok(self.catalogue()?.failures.clone())
    }

    /// Finds the resource of a kind: `Deployment`, `Deployment.apps` or `apps/v1/Deployment`.
    ///
    /// # Errors
    ///
    /// See [`Discovery`]; [`Error::Invalid`] if there is none, naming what is near it.
    pub fn find_kind(&self, kind: &str) -> Result<DiscoveredResource> {
        self.look_up(|catalogue| catalogue.find_kind(kind))
            .and_then(|found| found.map_err(|near| not_found("kind", kind, &near)))
    }

    /// Finds a resource by plural, singular or short name, as `deployments`, `deploy`,
    /// `deployments.apps`, `deployments.v1.apps` or `apps/v1/deployments`.
    ///
    /// A plural wins over a short name, the core group over others, then the server's order counts.
    ///
    /// # Errors
    ///
    /// See [`Discovery`]; [`Error::Invalid`] if there is none, naming what is near it.
    pub fn find_resource(&self, name: &str) -> Result<DiscoveredResource> {
        self.look_up(|catalogue| catalogue.find_resource(name))
            .and_then(|found| found.map_err(|near| not_found("resource", name, &near)))
    }

    fn look_up<T, E>(&self, find: impl Fn(&Catalogue) -> Result<T, E>) -> Result<Result<T, E>> {
        let known = self.catalogue.lock().clone();
        if let Some(known) = known
            && let Ok(found) = find(&known)
        {
            return Ok(Ok(found));
        }
        Ok(find(&*self.read()?))
    }

    fn catalogue(&self) -> Result<Arc<Catalogue>> {
        let known = self.catalogue.lock().clone();
        known.map_or_else(|| self.read(), Ok)
    }

    /// Not under the lock: reading takes as long as the server does.
    fn read(&self) -> Result<Arc<Catalogue>> {
        let catalogue = Arc::new(Catalogue::read(&self.client)?);
        *self.catalogue.lock() = Some(catalogue.clone());
        Ok(catalogue)
    }
}

fn not_found(argument: &'static str, name: &str, near: &[String]) -> Error {
    let near = match near {
        [] => String::new(),
        near => format!("; near it: {}", near.join(", ")),
    };
    Error::invalid(argument, format!("the server has no {argument} {name:?}{near}"))
}

impl Catalogue {
    fn read(client: &Client) -> Result<Self> {
        let first = Self::read_once(client)?;
        // What failed is often an aggregated server that is just starting.
        if first.failures.is_empty() { Ok(first) } else { Self::read_once(client) }
    }

    fn read_once(client: &Client) -> Result<Self> {
        // A server without the core group is a server all the same.
        let core: Option<Document> = match client.get_json("/api", AGGREGATED) {
            Err(error) if error.is_not_found() => None,
            result => Some(result?),
        };
        let others: Document = client.get_json("/apis", AGGREGATED)?;
        let aggregated = core.iter().chain([&others]).all(Document::is_aggregated);
        let documents = core.into_iter().chain([others]);
        if aggregated {
            let mut catalogue = Self::default();
            documents.flat_map(|document| document.items).for_each(|group| catalogue.add(group));
            return Ok(catalogue);
        }
        Self::read_legacy(client, documents)
    }

    fn add(&mut self, group: AggregatedGroup) {
        let name = group.metadata.name;
        let mut versions = Vec::new();
        for version in group.versions {
            let group_version = join_api_version(&name, &version.version);
            if version.freshness == "Stale" {
                let message = "the server has an old account of it only".into();
                self.failures.push(DiscoveryFailure { group_version, message });
                continue;
            }
            let found = version.resources.into_iter().filter_map(|found| {
                let kind = found.response_kind?.kind;
                let namespaced = found.scope == "Namespaced";
                Some(DiscoveredResource {
                    resource: ApiResource::new(&group_version, &kind, &found.resource, namespaced),
                    singular: found.singular_resource,
                    short_names: found.short_names,
                    categories: found.categories,
                    verbs: found.verbs,
                    subresources: found
                        .subresources
                        .into_iter()
                        .map(|sub| sub.subresource)
                        .collect(),
                })
            });
            self.resources.extend(found);
            versions.push(version.version);
        }
        if let Some(preferred) = versions.first() {
            let preferred_version = preferred.clone();
            self.groups.push(ApiGroup { name, versions, preferred_version });
        }
    }

    /// Before Kubernetes 1.26: one more request for each group version.
    fn read_legacy(client: &Client, documents: impl Iterator<Item = Document>) -> Result<Self> {
        let mut catalogue = Self::default();
        for document in documents {
            if let Some(preferred_version) = document.versions.first().cloned() {
                let (name, versions) = (String::new(), document.versions);
                catalogue.groups.push(ApiGroup { name, versions, preferred_version });
            }
            catalogue.groups.extend(document.groups.into_iter().map(|group| {
                let versions: Vec<_> = group.versions.into_iter().map(|v| v.version).collect();
                let preferred = group.preferred_version.map(|preferred| preferred.version);
                let preferred = preferred.or_else(|| versions.first().cloned());
                let preferred_version = preferred.unwrap_or_default();
                ApiGroup { name: group.name, versions, preferred_version }
            }));
            // An aggregated document beside a legacy one: its groups are known, and asked for again.
            let mut part = Self::default();
            document.items.into_iter().for_each(|group| part.add(group));
            catalogue.groups.extend(part.groups);
            catalogue.failures.extend(part.failures);
        }
        for group in &catalogue.groups {
            for version in &group.versions {
                let group_version = join_api_version(&group.name, version);
                let root = if group.name.is_empty() { "/api/" } else { "/apis/" };
                match client.get_json(&format!("{root}{group_version}"), "application/json") {
                    Ok(list) => catalogue.resources.extend(legacy_resources(&group_version, list)),
                    Err(Error::Stopped) => return Err(Error::Stopped),
                    Err(error) if error.is_not_found() && group.name.is_empty() => {}
                    Err(error) => {
                        let message = error.to_string();
                        catalogue.failures.push(DiscoveryFailure { group_version, message });
                    }
                }
            }
        }
        Ok(catalogue)
    }

    fn preferred(&self) -> impl Iterator<Item = &DiscoveredResource> {
        let preferred_of: BTreeMap<_, _> =
            self.groups.iter().map(|group| (&*group.name, &*group.preferred_version)).collect();
        let is_preferred = move |found: &&DiscoveredResource| {
            preferred_of.get(found.resource.group()) == Some(&found.resource.version())
        };
        let name = |found: &DiscoveredResource| {
            (found.resource.group().to_owned(), found.resource.plural().to_owned())
        };
        let mut seen: HashSet<_> = self.resources.iter().filter(&is_preferred).map(name).collect();
        self.resources.iter().filter(move |found| is_preferred(found) || seen.insert(name(found)))
    }

    fn find_kind(&self, wanted: &str) -> Result<DiscoveredResource, Vec<String>> {
        let wanted = Wanted::parse(wanted);
        self.find(&wanted, |found, name| found.resource.kind().eq_ignore_ascii_case(name))
            .ok_or_else(|| self.near(&wanted, |found| found.resource.kind()))
    }

    fn find_resource(&self, wanted: &str) -> Result<DiscoveredResource, Vec<String>> {
        let wanted = Wanted::parse(wanted);
        let named = |found: &DiscoveredResource, name: &str| {
            found.resource.plural().eq_ignore_ascii_case(name)
                || found.singular.eq_ignore_ascii_case(name)
        };
        let short = |found: &DiscoveredResource, name: &str| {
            found.short_names.iter().any(|short| short.eq_ignore_ascii_case(name))
        };
        self.find(&wanted, named)
            .or_else(|| self.find(&wanted, short))
            .ok_or_else(|| self.near(&wanted, |found| found.resource.plural()))
    }

    fn find(
        &self,
        wanted: &Wanted<'_>,
        is_called: impl Fn(&DiscoveredResource, &str) -> bool,
    ) -> Option<DiscoveredResource> {
        let fits = |found: &&DiscoveredResource| {
            let resource = &found.resource;
            is_called(found, wanted.name)
                && wanted.group.is_none_or(|group| group == resource.group())
                && wanted.version.is_none_or(|version| version == resource.version())
        };
        let found = match wanted.version {
            Some(_) => self.resources.iter().find(fits),
            None => self.preferred().find(fits),
        };
        found.cloned()
    }

    /// What is called like it, in any group and version; the nearest first, as precisely as was asked for.
    fn near<'a>(
        &'a self,
        wanted: &Wanted<'_>,
        name: impl Fn(&'a DiscoveredResource) -> &'a str,
    ) -> Vec<String> {
        const MOST: usize = 3;
        let lower = wanted.name.to_ascii_lowercase();
        let most_changes = 1 + lower.len() / 3;
        let mut near: Vec<_> = self
            .preferred()
            // So many letters are to be added or removed, at least: a name beyond reason is not compared.
            .filter(|found| name(found).len().abs_diff(lower.len()) <= most_changes)
            .map(|found| {
                let by_name = distance(&lower, &name(found).to_ascii_lowercase());
                let group = found.resource.group();
                let by_group = wanted.group.map_or(0, |wanted| distance(wanted, group));
                (by_name, by_group, wanted.like(name(found), &found.resource))
            })
            .filter(|(by_name, ..)| *by_name <= most_changes)
            .collect();
        near.sort_unstable();
        near.dedup();
        if near.first().is_some_and(|(by_name, ..)| *by_name == 0) {
            // The name is right, so the group or the version is not: other names are no help.
            near.retain(|(by_name, ..)| *by_name == 0);
        }
        near.into_iter().take(MOST).map(|(.., name)| name).collect()
    }
}

/// How many letters have to be changed, added or removed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<_> = b.bytes().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A name with what it says about group and version.
struct Wanted<'a> {
    name: &'a str,
    group: Option<&'a str>,
    version: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    /// `name`, `name.group`, `name.version.group`, `version/name` or `group/version/name`.
    fn parse(text: &'a str) -> Self {
        if let Some((group_version, name)) = text.rsplit_once('/') {
            let (group, version) = split_api_version(group_version);
            return Self { name, group: Some(group), version: Some(version) };
        }
        let Some((name, rest)) = text.split_once('.') else {
            return Self { name: text, group: None, version: None };
        };
        match rest.split_once('.') {
            Some((version, group)) if is_version(version) => {
                Self { name, group: Some(group), version: Some(version) }
            }
            _ if is_version(rest) => Self { name, group: Some(""), version: Some(rest) },
            _ => Self { name, group: Some(rest), version: None },
        }
    }
}

impl Wanted<'_> {
    /// Another name, with as much about group and version as this one has.
    fn like(&self, name: &str, resource: &ApiResource) -> String {
        match (self.group, self.version) {
            (_, Some(_)) => format!("{}/{name}", resource.api_version()),
            (Some(_), None) if !resource.group().is_empty() => {
                format!("{name}.{}", resource.group())
            }
            _ => name.to_owned(),
        }
    }
}

/// As `v1` or `v2beta3`; not as the `v2ray` of a group called `v2ray.example.com`.
fn is_version(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let Some(number) = text.strip_prefix('v') else { return false };
    let stages = number.split_once("alpha").or_else(|| number.split_once("beta"));
    stages.map_or(is_number(number), |(major, minor)| is_number(major) && is_number(minor))
}

/// What `/api` and `/apis` answer, in any of the three forms.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Document {
    api_version: String,
    /// Aggregated.
    #[serde(deserialize_with = "null_as_default")]
    items: Vec<AggregatedGroup>,
    /// Legacy `/api`.
    #[serde(deserialize_with = "null_as_default")]
    versions: Vec<String>,
    /// Legacy `/apis`.
    #[serde(deserialize_with = "null_as_default")]
    groups: Vec<LegacyGroup>,
}

impl Document {
    fn is_aggregated(&self) -> bool {
        self.api_version == AGGREGATED_VERSION
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AggregatedGroup {
    metadata: Name,
    #[serde(deserialize_with = "null_as_default")]
    versions: Vec<AggregatedVersion>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AggregatedVersion {
    version: String,
    freshness: String,
    #[serde(deserialize_with = "null_as_default")]
    resources: Vec<AggregatedResource>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AggregatedResource {
    resource: String,
    response_kind: Option<ResponseKind>,
    scope: String,
    singular_resource: String,
    #[serde(deserialize_with = "null_as_default")]
    verbs: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    short_names: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    categories: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    subresources: Vec<AggregatedSubresource>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseKind {
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AggregatedSubresource {
    subresource: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LegacyGroup {
    name: String,
    #[serde(deserialize_with = "null_as_default")]
    versions: Vec<LegacyVersion>,
    preferred_version: Option<LegacyVersion>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LegacyVersion {
    version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LegacyList {
    #[serde(deserialize_with = "null_as_default")]
    resources: Vec<LegacyResource>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LegacyResource {
    name: String,
    singular_name: String,
    namespaced: bool,
    kind: String,
    #[serde(deserialize_with = "null_as_default")]
    verbs: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    short_names: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    categories: Vec<String>,
}

/// Subresources stand beside their resources here, as `pods/status`.
fn legacy_resources(group_version: &str, list: LegacyList) -> Vec<DiscoveredResource> {
    let (subresources, resources): (Vec<_>, Vec<_>) =
        list.resources.into_iter().partition(|found| found.name.contains('/'));
    let subresources_of = |plural: &str| {
        let of_it = subresources.iter().filter_map(|found| {
            let (resource, subresource) = found.name.split_once('/')?;
            (resource == plural).then(|| subresource.to_owned())
        });
        of_it.collect()
    };
    let resources = resources.into_iter().map(|found| DiscoveredResource {
        resource: ApiResource::new(group_version, &found.kind, &found.name, found.namespaced),
        subresources: subresources_of(&found.name),
        singular: if found.singular_name.is_empty() {
            found.kind.to_ascii_lowercase()
        } else {
            found.singular_name
        },
        short_names: found.short_names,
        categories: found.categories,
        verbs: found.verbs,
    });
    resources.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(api_version: &str, kind: &str, plural: &str, short: &[&str]) -> DiscoveredResource {
        DiscoveredResource {
            resource: ApiResource::namespaced(api_version, kind, plural),
            singular: kind.to_ascii_lowercase(),
            short_names: short.iter().map(|&name| name.to_owned()).collect(),
            categories: vec![],
            verbs: vec!["list".into(), "watch".into()],
            subresources: vec![],
        }
    }

    fn catalogue() -> Catalogue {
        let group = |name: &str, versions: &[&str], preferred: &str| ApiGroup {
            name: name.into(),
            versions: versions.iter().map(|&version| version.to_owned()).collect(),
            preferred_version: preferred.into(),
        };
        Catalogue {
            groups: vec![
                group("", &["v1"], "v1"),
                group("apps", &["v1"], "v1"),
                group("autoscaling", &["v2", "v1"], "v2"),
                group("events.k8s.io", &["v1"], "v1"),
            ],
            resources: vec![
                resource("v1", "Pod", "pods", &["po"]),
                resource("v1", "Event", "events", &["ev"]),
                resource("apps/v1", "Deployment", "deployments", &["deploy"]),
                resource(
                    "autoscaling/v2",
                    "HorizontalPodAutoscaler",
                    "horizontalpodautoscalers",
                    &["hpa"],
                ),
                resource(
                    "autoscaling/v1",
                    "HorizontalPodAutoscaler",
                    "horizontalpodautoscalers",
                    &["hpa"],
                ),
                resource("autoscaling/v1", "Old", "olds", &["po"]),
                resource("events.k8s.io/v1", "Event", "events", &["ev"]),
            ],
            failures: vec![],
        }
    }

    #[test]
    fn a_resource_is_found_by_each_of_its_names() {
        let catalogue = catalogue();
        let found = |name: &str| {
            catalogue.find_resource(name).map(|found| found.resource.gvr().to_string())
        };
        for (name, expected) in [
            ("pods", "v1/pods"),
            ("Pod", "v1/pods"),
            ("po", "v1/pods"),
            ("deploy", "apps/v1/deployments"),
            ("deployments.apps", "apps/v1/deployments"),
            ("deployments.v1.apps", "apps/v1/deployments"),
            ("apps/v1/deployments", "apps/v1/deployments"),
            ("v1/pods", "v1/pods"),
            ("hpa", "autoscaling/v2/horizontalpodautoscalers"),
            ("hpa.v1.autoscaling", "autoscaling/v1/horizontalpodautoscalers"),
            ("events", "v1/events"),
            ("events.events.k8s.io", "events.k8s.io/v1/events"),
            ("olds", "autoscaling/v1/olds"),
        ] {
            assert_eq!(found(name).as_deref(), Ok(expected), "{name}");
        }
        assert!(found("pods.apps").is_err() && found("v2/pods").is_err());
        assert_eq!(found("deploymnets"), Err(vec!["deployments".to_owned()]));
        assert_eq!(found("zzz"), Err(vec![]));
    }

    #[test]
    fn a_kind_is_found_with_and_without_its_group() {
        let catalogue = catalogue();
        for (kind, expected) in [
            ("Event", "v1/events"),
            ("Event.events.k8s.io", "events.k8s.io/v1/events"),
            ("autoscaling/v1/HorizontalPodAutoscaler", "autoscaling/v1/horizontalpodautoscalers"),
        ] {
            let found = catalogue.find_kind(kind).unwrap();
            assert_eq!(found.resource.gvr().to_string(), expected);
        }
        assert_eq!(catalogue.find_kind("Pot").unwrap_err(), ["Pod"]);
    }

    #[test]
    fn each_resource_is_preferred_once_in_the_best_version_that_has_it() {
        let catalogue = catalogue();
        let found: Vec<_> =
            catalogue.preferred().map(|found| found.resource.gvr().to_string()).collect();
        assert_eq!(
            found,
            [
                "v1/pods",
                "v1/events",
                "apps/v1/deployments",
                "autoscaling/v2/horizontalpodautoscalers",
                "autoscaling/v1/olds",
                "events.k8s.io/v1/events"
            ]
        );
    }

    #[test]
    fn an_aggregated_group_leaves_out_what_is_stale_or_has_no_kind() {
        let group: AggregatedGroup = serde_json::from_str(
            r#"{"metadata":{"name":"g"},"versions":[
                {"version":"v2","freshness":"Stale","resources":[]},
                {"version":"v1","freshness":"Current","resources":[
                    {"resource":"as","responseKind":{"group":"g","version":"v1","kind":"A"},"scope":"Cluster",
                     "singularResource":"a","verbs":["list"],"subresources":[{"subresource":"status"}]},
                    {"resource":"bs","scope":"Namespaced"}]}]}"#,
        )
        .unwrap();
        let mut catalogue = Catalogue::default();
        catalogue.add(group);
        assert_eq!(catalogue.groups[0].preferred_version, "v1");
        assert_eq!(catalogue.failures[0].group_version, "g/v2");
        assert_eq!(catalogue.resources.len(), 1);
        assert_eq!(catalogue.resources[0].resource, ApiResource::cluster("g/v1", "A", "as"));
        assert_eq!(catalogue.resources[0].subresources, ["status"]);
    }

    #[test]
    fn legacy_subresources_join_their_resource() {
        let list: LegacyList = serde_json::from_str(
            r#"{"resources":[{"name":"pods","namespaced":true,"kind":"Pod","verbs":["get"]},
                {"name":"pods/status","namespaced":true,"kind":"Pod","verbs":["get"]}]}"#,
        )
        .unwrap();
        let found = legacy_resources("v1", list);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].singular.as_str(), &*found[0].subresources),
            ("pod", &["status".to_owned()][..])
        );
    }
}
