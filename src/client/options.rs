//! What can be said along with a request.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::request::Request;
use crate::selector::{fields, labels};

/// Which objects to list or to watch, and from which state.
///
/// ```
/// use kinformer::{ListOptions, labels};
///
/// let options = ListOptions::new().labels(labels::parse("app=web, tier in (a, b)")?).limit(500);
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ListOptions {
    /// Only objects whose labels match. Defaults to all.
    pub labels: labels::Selector,
    /// Only objects whose fields match; the server knows few fields of each kind. Defaults to all.
    pub fields: fields::Selector,
    /// At most this many objects a page; a watch ignores it. Defaults to no limit.
    pub limit: Option<u32>,
    /// The page after the one that gave this token.
    pub continue_token: Option<String>,
    /// The state to list, or to watch from. Defaults to the newest.
    pub resource_version: Option<String>,
    /// How exactly `resource_version` is meant.
    pub resource_version_match: Option<ResourceVersionMatch>,
    /// When the server ends a watch, in seconds. Defaults to its own choice, half an hour or more.
    pub timeout_seconds: Option<u32>,
    /// Whether a watch may send bookmarks. Defaults to yes: without them a quiet watch cannot be told
    /// from a dead one.
    pub bookmarks: Option<bool>,
    /// Whether a watch starts with all objects, then a bookmark that marks their end.
    pub send_initial_events: Option<bool>,
    /// How long the server may be silent on a watch; not sent. Defaults to
    /// [`Timeouts::watch_idle`](crate::config::Timeouts::watch_idle), or for ever without bookmarks.
    pub silence: Option<Duration>,
}

/// How exactly a resource version is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ResourceVersionMatch {
    /// This state and no other.
    Exact,
    /// This state or a later one.
    NotOlderThan,
}

impl ListOptions {
    /// Everything, in its newest state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only objects whose labels match.
    #[must_use]
    pub fn labels(mut self, selector: labels::Selector) -> Self {
        self.labels = selector;
        self
    }

    /// Only objects whose fields match.
    #[must_use]
    pub fn fields(mut self, selector: fields::Selector) -> Self {
        self.fields = selector;
        self
    }

    /// At most this many objects a page.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The page after the one that gave this token.
    #[must_use]
    pub fn continue_token(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// The state to list, or to watch from.
    #[must_use]
    pub fn resource_version(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    /// How exactly the resource version is meant.
    #[must_use]
    pub fn resource_version_match(mut self, exactness: ResourceVersionMatch) -> Self {
        self.resource_version_match = Some(exactness);
        self
    }

    /// When the server ends a watch, in seconds.
    #[must_use]
    pub fn timeout_seconds(mut self, seconds: u32) -> Self {
        self.timeout_seconds = Some(seconds);
        self
    }

    /// Whether a watch may send bookmarks.
    #[must_use]
    pub fn bookmarks(mut self, wanted: bool) -> Self {
        self.bookmarks = Some(wanted);
        self
    }

    /// Whether a watch starts with all objects, then a bookmark that marks their end.
    #[must_use]
    pub fn send_initial_events(mut self, wanted: bool) -> Self {
        self.send_initial_events = Some(wanted);
        self
    }

    /// How long the server may be silent on a watch; zero is refused.
    #[must_use]
    pub fn silence(mut self, limit: Duration) -> Self {
        self.silence = Some(limit);
        self
    }

    /// No object can match, and the server has no way to be told so.
    pub(crate) fn selects_nothing(&self) -> bool {
        self.labels.matches_nothing() || self.fields.matches_nothing()
    }

    fn write_common(&self, request: &mut Request) {
        let labels = self.labels.to_string();
        request.param_some("labelSelector", Some(labels).filter(|text| !text.is_empty()));
        let fields = self.fields.to_string();
        request.param_some("fieldSelector", Some(fields).filter(|text| !text.is_empty()));
        request.param_some("resourceVersion", self.resource_version.as_ref());
        let exactness = self.resource_version_match.map(|exactness| match exactness {
            ResourceVersionMatch::Exact => "Exact",
            ResourceVersionMatch::NotOlderThan => "NotOlderThan",
        });
        request.param_some("resourceVersionMatch", exactness);
        request.param_some("timeoutSeconds", self.timeout_seconds);
    }

    pub(crate) fn write_list(&self, request: &mut Request) {
        self.write_common(request);
        request.param_some("limit", self.limit.filter(|&limit| limit > 0));
        request.param_some("continue", self.continue_token.as_ref());
    }

    pub(crate) fn write_watch(&self, request: &mut Request) {
        self.write_common(request);
        request.param("watch", "true");
        if self.bookmarks.unwrap_or(true) {
            request.param("allowWatchBookmarks", "true");
        }
        request.param_some("sendInitialEvents", self.send_initial_events);
    }
}

/// A change to an object, in one of the forms the API server knows.
///
/// For apply, see [`Api::apply`](crate::Api::apply).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[doc(alias = "PatchType")]
pub enum Patch<B> {
    /// RFC 7386: what is there replaces, `null` removes, lists are replaced whole.
    Merge(B),
    /// RFC 6902: a list of operations.
    Json(B),
    /// As merge, but known lists are merged by key; built-in kinds only.
    Strategic(B),
}

impl<B: Serialize> Patch<B> {
    pub(crate) fn content_type(&self) -> &'static str {
        match self {
            Self::Merge(_) => "application/merge-patch+json",
            Self::Json(_) => "application/json-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
        }
    }

    pub(crate) fn body(&self) -> &B {
        match self {
            Self::Merge(body) | Self::Json(body) | Self::Strategic(body) => body,
        }
    }
}

/// How to write: shared by create, replace, patch and apply; a deletion takes the dry run.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_manager: Option<String>,
    pub(crate) field_validation: Option<FieldValidation>,
    pub(crate) force: bool,
}

/// What the server does about fields that it does not know, or that are there twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FieldValidation {
    /// Drops them.
    Ignore,
    /// Drops them and says so in a [warning](crate::Client::warnings).
    Warn,
    /// Refuses the request.
    Strict,
}

impl WriteOptions {
    pub(crate) fn write(&self, request: &mut Request) {
        if self.dry_run {
            request.param("dryRun", "All");
        }
        request.param_some("fieldManager", self.field_manager.as_ref());
        let validation = self.field_validation.map(|validation| match validation {
            FieldValidation::Ignore => "Ignore",
            FieldValidation::Warn => "Warn",
            FieldValidation::Strict => "Strict",
        });
        request.param_some("fieldValidation", validation);
    }
}

/// How to delete.
///
/// ```
/// use kinformer::{DeleteOptions, PropagationPolicy};
///
/// let now = DeleteOptions::new().grace_period_seconds(0);
/// let with_dependents = DeleteOptions::new().propagation(PropagationPolicy::Foreground);
/// ```
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct DeleteOptions {
    /// How long the object may take to end, in seconds; 0 is at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<u32>,
    /// What becomes of the objects that belong to it.
    #[serde(rename = "propagationPolicy", skip_serializing_if = "Option::is_none")]
    pub propagation: Option<PropagationPolicy>,
    /// What must hold for the deletion to happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
}

/// What becomes of the objects that belong to a deleted one.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
#[doc(alias = "DeletionPropagation")]
pub enum PropagationPolicy {
    /// They stay, ownerless.
    Orphan,
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
}

/// What must hold for a deletion to happen; otherwise it is a [conflict](crate::Error::is_conflict).
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Preconditions {
    /// It is this very object and not another of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Nobody changed it since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

impl DeleteOptions {
    /// As the server deletes by default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the object may take to end; 0 is at once.
    #[must_use]
    pub fn grace_period_seconds(mut self, seconds: u32) -> Self {
        self.grace_period_seconds = Some(seconds);
        self
    }

    /// What becomes of the objects that belong to it.
    #[must_use]
    pub fn propagation(mut self, policy: PropagationPolicy) -> Self {
        self.propagation = Some(policy);
        self
    }

    /// Only if it is this very object.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().uid = Some(uid.into());
        self
    }

    /// Only if nobody changed it since.
    #[must_use]
    pub fn resource_version(mut self, version: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().resource_version = Some(version.into());
        self
    }

    /// A server that gets a body does not look for options in the query: a dry run must be in here.
    pub(crate) fn write(&self, dry_run: bool, request: &mut Request) -> crate::Result<()> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a> {
            kind: &'static str,
            api_version: &'static str,
            #[serde(flatten)]
            options: &'a DeleteOptions,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            dry_run: &'static [&'static str],
        }
        let dry_run = if dry_run { &["All"][..] } else { &[] };
        request.json(&Body { kind: "DeleteOptions", api_version: "v1", options: self, dry_run })
    }
}

/// Which part of a log to read.
///
/// ```
/// use kinformer::LogOptions;
///
/// let tail = LogOptions::new().container("app").tail_lines(100).follow(true);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[doc(alias = "PodLogOptions")]
pub struct LogOptions {
    /// Which container. Defaults to the only one.
    pub container: Option<String>,
    /// Whether to go on with what is written from now on. Defaults to no.
    pub follow: bool,
    /// Whether to read the log of the container before its last restart. Defaults to no.
    pub previous: bool,
    /// Only what was written in this many seconds before now.
    pub since_seconds: Option<u32>,
    /// Only what was written since this time, in RFC 3339.
    pub since_time: Option<String>,
    /// Only the last lines.
    pub tail_lines: Option<u32>,
    /// At most this many bytes.
    pub limit_bytes: Option<u64>,
    /// Whether each line starts with its time. Defaults to no.
    pub timestamps: bool,
}

impl LogOptions {
    /// The whole log so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Which container.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// Whether to go on with what is written from now on.
    #[must_use]
    pub fn follow(mut self, wanted: bool) -> Self {
        self.follow = wanted;
        self
    }

    /// Whether to read the log of the container before its last restart.
    #[must_use]
    pub fn previous(mut self, wanted: bool) -> Self {
        self.previous = wanted;
        self
    }

    /// Only what was written in this many seconds before now.
    #[must_use]
    pub fn since_seconds(mut self, seconds: u32) -> Self {
        self.since_seconds = Some(seconds);
        self
    }

    /// Only what was written since this time, in RFC 3339.
    #[must_use]
    pub fn since_time(mut self, time: impl Into<String>) -> Self {
        self.since_time = Some(time.into());
        self
    }

    /// At most this many bytes.
    #[must_use]
    pub fn limit_bytes(mut self, bytes: u64) -> Self {
        self.limit_bytes = Some(bytes);
        self
    }

    /// Only the last lines.
    #[must_use]
    pub fn tail_lines(mut self, lines: u32) -> Self {
        self.tail_lines = Some(lines);
        self
    }

    /// Whether each line starts with its time.
    #[must_use]
    pub fn timestamps(mut self, wanted: bool) -> Self {
        self.timestamps = wanted;
        self
    }

    pub(crate) fn write(&self, request: &mut Request) {
        request.param_some("container", self.container.as_ref());
        for (name, wanted) in
            [("follow", self.follow), ("previous", self.previous), ("timestamps", self.timestamps)]
        {
            if wanted {
                request.param(name, "true");
            }
        }
        request.param_some("sinceSeconds", self.since_seconds);
        request.param_some("sinceTime", self.since_time.as_ref());
        request.param_some("tailLines", self.tail_lines);
        request.param_some("limitBytes", self.limit_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::transport::Method;

    fn query(write: impl FnOnce(&mut Request)) -> String {
        let mut request = Request::for_path(Method::Get, "");
        write(&mut request);
        request.target()
    }

    #[test]
    fn a_list_says_only_what_was_asked_for() {
        assert_eq!(query(|r| ListOptions::new().write_list(r)), "");
        let all = ListOptions::new()
            .labels(labels::parse("a=b").unwrap())
            .fields(fields::parse("metadata.name=c").unwrap())
            .limit(5)
            .continue_token("t")
            .resource_version("0")
            .resource_version_match(ResourceVersionMatch::NotOlderThan);
        assert_eq!(
            query(|r| all.write_list(r)),
            "?continue=t&fieldSelector=metadata.name%3Dc&labelSelector=a%3Db&limit=5\
             &resourceVersion=0&resourceVersionMatch=NotOlderThan"
        );
        assert_eq!(query(|r| ListOptions::new().limit(0).write_list(r)), "", "0 is no limit");
    }

    #[test]
    fn a_watch_asks_for_bookmarks_unless_told_not_to() {
        assert_eq!(
            query(|r| ListOptions::new().limit(5).write_watch(r)),
            "?allowWatchBookmarks=true&watch=true"
        );
        let streamed = ListOptions::new()
            .bookmarks(false)
            .send_initial_events(true)
            .resource_version("")
            .timeout_seconds(0);
        assert_eq!(
            query(|r| streamed.write_watch(r)),
            "?resourceVersion=&sendInitialEvents=true&timeoutSeconds=0&watch=true"
        );
    }

    #[test]
    fn a_selector_of_nothing_is_recognised() {
        assert!(ListOptions::new().labels(labels::nothing()).selects_nothing());
        assert!(!ListOptions::new().selects_nothing());
    }

    #[test]
    fn deletion_options_are_a_body() {
        let mut request = Request::for_path(Method::Delete, "");
        let options = DeleteOptions::new()
            .grace_period_seconds(0)
            .propagation(PropagationPolicy::Foreground)
            .uid("u");
        options.write(false, &mut request).unwrap();
        assert_eq!(
            String::from_utf8(request.body.unwrap()).unwrap(),
            r#"{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Foreground","preconditions":{"uid":"u"}}"#
        );
    }

    #[test]
    fn writes_and_logs_become_parameters() {
        let write = WriteOptions {
            dry_run: true,
            field_manager: Some("me".into()),
            field_validation: Some(FieldValidation::Strict),
            force: false,
        };
        assert_eq!(query(|r| write.write(r)), "?dryRun=All&fieldManager=me&fieldValidation=Strict");
        let log = LogOptions::new().container("c").follow(true).tail_lines(3);
        assert_eq!(query(|r| log.write(r)), "?container=c&follow=true&tailLines=3");
    }
}
