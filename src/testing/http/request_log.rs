//! The requests a server has seen, for tests to look at.

use std::collections::VecDeque;

use super::request::Request;

const MOST: usize = 10_000;

/// A request as it came in, without its body and without credentials.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SeenRequest {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path, as sent.
    pub path: String,
    /// The query, as sent; empty if there was none.
    pub query: String,
    /// Names in lower case; `authorization` is left out.
    pub headers: Vec<(String, String)>,
}

impl SeenRequest {
    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog(VecDeque<SeenRequest>);

impl RequestLog {
    pub(super) fn push(&mut self, request: &Request) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        let headers = request.headers.iter().filter(|(name, _)| name != "authorization");
        self.0.push_back(SeenRequest {
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query_text.clone(),
            headers: headers.cloned().collect(),
        });
    }

    pub(crate) fn all(&self) -> Vec<SeenRequest> {
        self.0.iter().cloned().collect()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
