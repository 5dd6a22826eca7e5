//! The query parameters of reads: what to list, from where, and how.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::testing::{
    failure::{self, Outcome},
    http::Request,
};

/// Parameters of a LIST or a WATCH, checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(super) limit: usize,
    pub(crate) page: Option<Page>,
    /// `None` for an empty one.
    pub(crate) revision: Option<u64>,
    /// At that revision, not at a later one.
    pub(super) exact: bool,
    pub(super) bookmarks: bool,
    pub(super) send_initial_events: Option<bool>,
    pub(super) timeout_seconds: Option<u64>,
}

/// Where a paged LIST goes on; a client sees it as an opaque token.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Page {
    v: String,
    /// The revision of the first page, or -1: whatever is there now.
    #[serde(rename = "rv")]
    pub(crate) revision: i64,
    /// The first key that may be on the page.
    pub(super) start: String,
}

impl ListOptions {
    pub(crate) fn parse(request: &Request, watch: bool) -> Outcome<Self> {
        let text = |name: &str| request.parameter(name).unwrap_or_default().to_owned();
        let flag = |name: &str| match request.parameter(name) {
            None => None,
            Some("" | "false" | "0") => Some(false),
            Some(_) => Some(true),
        };
        let page = text("continue");
        let matching = text("resourceVersionMatch");
        let revision = text("resourceVersion");
        let limit = number(request, "limit")?.unwrap_or(0) as usize;
        let since = if watch { watch_revision(&revision)? } else { parse_revision(&revision)? };
        let mut options = Self {
            label_selector: text("labelSelector"),
            field_selector: text("fieldSelector"),
            limit,
            page: None,
            revision: since,
            // Pages of an old list were exact before there was a way to ask for it.
            exact: matching == "Exact"
                || (matching.is_empty() && limit > 0 && since.is_some_and(|at| at > 0)),
            bookmarks: flag("allowWatchBookmarks").unwrap_or(false),
            send_initial_events: flag("sendInitialEvents"),
            timeout_seconds: number(request, "timeoutSeconds")?.filter(|&seconds| seconds > 0),
        };
        let problems = if watch {
            options.watch_problems(&matching, !page.is_empty())
        } else {
            options.list_problems(&matching, &revision, !page.is_empty())
        };
        if !problems.is_empty() {
            return Err(failure::invalid("ListOptions", "meta.k8s.io", "", &problems));
        }
        // What a token says is looked at last.
        if !page.is_empty() && !watch {
            options.page = Some(Page::decode(&page)?);
        }
        if options.page.is_some() && !matches!(revision.as_str(), "" | "0") {
            return Err(failure::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        Ok(options)
    }

    fn list_problems(&self, matching: &str, revision: &str, continues: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !matching.is_empty() {
            if revision.is_empty() {
                problems.push(forbidden_match("forbidden unless resourceVersion is provided"));
            }
            if continues {
                problems.push(forbidden_match("forbidden when continue is provided"));
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                problems.push(unsupported_match(matching, &["Exact", "NotOlderThan"]));
            }
            if matching == "Exact" && revision == "0" {
                let why = "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                problems.push((MATCH, FORBIDDEN, why.into()));
            }
        }
        if self.send_initial_events.is_some() {
            let why = "Forbidden: sendInitialEvents is forbidden for list";
            problems.push(("sendInitialEvents", FORBIDDEN, why.into()));
        }
        problems
    }

    fn watch_problems(&self, matching: &str, continues: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.send_initial_events.is_some() && matching != "NotOlderThan" {
            let why = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            problems.push((MATCH, FORBIDDEN, why.into()));
        }
        if !matching.is_empty() {
            if self.send_initial_events.is_none() {
                problems.push(forbidden_match(
                    "forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            if matching != "NotOlderThan" {
                problems.push(unsupported_match(matching, &["NotOlderThan"]));
            }
            if continues {
                problems.push(forbidden_match("forbidden when continue is provided"));
            }
        }
        problems
    }
}

type Problem = (&'static str, &'static str, String);

const MATCH: &str = "resourceVersionMatch";
const FORBIDDEN: &str = "FieldValueForbidden";

fn forbidden_match(why: &str) -> Problem {
    (MATCH, FORBIDDEN, format!("Forbidden: resourceVersionMatch is {why}"))
}

fn unsupported_match(found: &str, supported: &[&str]) -> Problem {
    let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
    let why = format!("Unsupported value: {found:?}: supported values: {}", supported.join(", "));
    (MATCH, "FieldValueNotSupported", why)
}

impl Page {
    /// After `last`, at `revision`.
    pub(super) fn after(revision: u64, last: &str) -> Self {
        Self { v: "meta.k8s.io/v1".into(), revision: revision as i64, start: format!("{last}\0") }
    }

    /// The same place in whatever is there by then.
    fn inconsistent(&self) -> Self {
        Self { revision: -1, ..self.clone() }
    }

    /// 410 for a token that is too old, with one to go on from all the same.
    pub(crate) fn expired(&self) -> Box<crate::Status> {
        let mut status = failure::expired(
            "The provided continue parameter is too old to display a consistent list result. You \
             can start a new list without the continue parameter, or use the continue token in \
             this response to retrieve the remainder of the results. Continuing with the provided \
             token results in an inconsistent list - objects that were created, modified, or \
             deleted between the time the first chunk was returned and now may show up in the \
             list.",
        );
        status.metadata.continue_token = self.inconsistent().encode();
        status
    }

    pub(super) fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_string(self).unwrap_or_default())
    }

    fn decode(token: &str) -> Outcome<Self> {
        let bad = |why: &str| {
            let message = format!("invalid continue token: continue key is not valid: {why}");
            failure::bad_request(message)
        };
        let json = URL_SAFE_NO_PAD.decode(token).map_err(|error| bad(&error.to_string()))?;
        let page: Self = serde_json::from_slice(&json).map_err(|error| bad(&error.to_string()))?;
        if page.v != "meta.k8s.io/v1" {
            return Err(bad("server does not recognize this encoded version"));
        }
        if page.revision == 0 || page.revision < -1 {
            return Err(bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        if page.start.split('/').any(|step| matches!(step, "" | "." | "..")) {
            return Err(bad("incorrect encoded start key (version meta.k8s.io/v1)"));
        }
        Ok(page)
    }

    /// 400 for a token that this server cannot have given out.
    pub(crate) fn unreached(&self) -> Box<crate::Status> {
        failure::bad_request(format!(
            "invalid continue token: the server has not reached revision {}",
            self.revision
        ))
    }
}

/// A resource version as a number; `None` for an empty one.
pub(crate) fn parse_revision(text: &str) -> Outcome<Option<u64>> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        failure::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        ))
    })
}

/// A watch fails otherwise on what is not a number, and with another code.
fn watch_revision(text: &str) -> Outcome<Option<u64>> {
    parse_revision(text).map_err(|mut status| {
        status.code = 500;
        status.reason.clear();
        status.message = status.message.replace("invalid resource version: ", "");
        status
    })
}

fn number(request: &Request, name: &str) -> Outcome<Option<u64>> {
    match request.parameter(name) {
        None | Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            failure::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(query: &[(&str, &str)]) -> Request {
        let query = query.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        Request { query, ..Request::default() }
    }

    fn code(query: &[(&str, &str)], watch: bool) -> u16 {
        ListOptions::parse(&request(query), watch).map_or_else(|status| status.code, |_| 200)
    }

    #[test]
    fn a_token_survives_its_trip() {
        let page = Page::after(42, "default/a");
        assert_eq!(Page::decode(&page.encode()).unwrap(), page);
        assert_eq!(Page::decode("!").unwrap_err().code, 400);
        assert_eq!(Page::decode("e30").unwrap_err().code, 400);
        for (revision, start) in [(0, "a"), (-5, "a"), (3, ""), (3, "../../x")] {
            let forged = Page { revision, start: start.into(), ..page.clone() };
            assert_eq!(Page::decode(&forged.encode()).unwrap_err().code, 400, "{forged:?}");
        }
    }

    #[test]
    fn combinations_are_checked_as_a_real_server_does() {
        let token = Page::after(1, "a").encode();
        for (query, watch, expected) in [
            (&[("resourceVersionMatch", "Exact")][..], false, 422),
            (&[("resourceVersionMatch", "Exact"), ("resourceVersion", "0")], false, 422),
            (&[("resourceVersionMatch", "Exact"), ("resourceVersion", "5")], false, 200),
            (&[("resourceVersionMatch", "Never"), ("resourceVersion", "5")], false, 422),
            (&[("resourceVersion", "x")], false, 400),
            (&[("continue", &token), ("resourceVersion", "5")], false, 400),
            (&[("continue", &token), ("resourceVersion", "0")], false, 200),
            (&[("sendInitialEvents", "true")], false, 422),
            (&[("sendInitialEvents", "true")], true, 422),
            (&[("resourceVersionMatch", "NotOlderThan")], true, 422),
            (&[("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")], true, 200),
            (&[("limit", "many")], false, 400),
        ] {
            assert_eq!(code(query, watch), expected, "{query:?} {watch}");
        }
    }
}
