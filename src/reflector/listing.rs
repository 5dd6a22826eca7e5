//! Lists, page by page.

use std::time::Instant;

use super::{
    ListTarget, PAGE, Reflector, State,
    next::{Next, Stage},
    streamed::LongLists,
};
use crate::{
    client::{ListMeta, ListOptions, ResourceVersionMatch},
    error::Result,
    object::Object,
    stop::StopToken,
};

impl<K: 'static> Reflector<K> {
    pub(super) fn list(&self, stop: &StopToken) -> Result<()> {
        self.progress.listing();
        let version = self.list_version();
        let limit = self.page_limit(&version);
        let started = Instant::now();
        let listed = self.list_from(&version, limit, stop).or_else(|error| {
            if self.next(Stage::List, &error) != Next::WithoutVersion {
                return Err(error);
            }
            self.state.lock().version_lost = true;
            self.list_from("", limit, stop).inspect_err(|error| {
                if !error.is_stopped() {
                    self.report(error);
                }
            })
        });
        if let Err(error) = &listed {
            self.judge_long_list(error, started.elapsed());
        }
        listed
    }

    /// Lists all pages into the target.
    fn list_from(&self, version: &str, limit: Option<u32>, stop: &StopToken) -> Result<()> {
        let whole = ListOptions {
            resource_version: Some(version.to_owned()).filter(|version| !version.is_empty()),
            ..ListOptions::new()
        };
        // Unless told so, a server takes a version with a limit for that very version. A watch from it may
        // have expired, and would again, for as long as the list can be had.
        let from_version = limit.is_some() && !matches!(version, "" | "0");
        let mut options = ListOptions {
            limit,
            resource_version_match: from_version.then_some(ResourceVersionMatch::NotOlderThan),
            ..whole.clone()
        };
        let mut target = self.target.begin_list();
        let mut first_version = None;
        let mut pages = 0;
        loop {
            let page = self.list_page(&options, &mut *target, stop);
            let ListMeta { resource_version, continue_token, remaining_item_count } = match page {
                // The rest of the list is not to be had any more: take all of it at once.
                Err(error) if pages > 0 && error.is_expired() && options.limit.is_some() => {
                    log::debug!("reflector {}: list expired: {error}", self.options.name);
                    options = whole.clone();
                    target = self.target.begin_list();
                    first_version = None;
                    self.progress.listing();
                    continue;
                }
                page => page?,
            };
            let first_version = first_version.get_or_insert(resource_version);
            if continue_token.is_empty() {
                if pages > 0 && version == "0" {
                    self.state.lock().paginated = true;
                }
                self.complete(target, first_version);
                return Ok(());
            }
            pages += 1;
            self.progress.remaining(remaining_item_count);
            // A token has its state in it, and servers refuse to be told twice.
            options.resource_version = None;
            options.resource_version_match = None;
            options.continue_token = Some(continue_token);
        }
    }

    fn list_page(
        &self,
        options: &ListOptions,
        target: &mut (dyn ListTarget<Object<K>> + '_),
        stop: &StopToken,
    ) -> Result<ListMeta> {
        let turn = self.crowd.list_turn(stop)?;
        self.heard(self.source.list(options, stop, &mut |object| {
            self.progress.received(Instant::now());
            // Transforms and error handlers are not ours.
            turn.held_up_by(|| {
                if let Err(error) = object.and_then(|object| target.item(object)) {
                    self.pass_over(&error);
                }
            });
        }))
    }

    /// The whole list is there: only now does it count.
    pub(super) fn complete(
        &self,
        target: Box<dyn ListTarget<Object<K>> + '_>,
        resource_version: &str,
    ) {
        self.progress.arrived(Instant::now());
        target.finish(resource_version);
        self.progress.listed(resource_version);
        let mut state = self.state.lock();
        state.version_lost = false;
        state.warned = None;
    }

    fn list_version(&self) -> String {
        if self.state.lock().version_lost {
            return String::new();
        }
        match self.progress.resource_version() {
            version if version.is_empty() => "0".to_owned(),
            version => version,
        }
    }

    /// Lists from a version come out of a server's cache, whole, unless pages were asked for.
    fn page_limit(&self, version: &str) -> Option<u32> {
        let State { paginated, long_lists, .. } = *self.state.lock();
        match self.options.page_size {
            Some(size) => Some(size),
            None if long_lists == LongLists::Plain => None,
            None if paginated || matches!(version, "" | "0") => Some(PAGE),
            None => None,
        }
    }
}
