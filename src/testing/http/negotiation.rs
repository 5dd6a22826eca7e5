//! Content negotiation: what form of an object the client wants to see.

use super::request::Request;
use crate::testing::failure::{self, Outcome};

/// The form of the objects in a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum View {
    /// As they are.
    Whole,
    /// `PartialObjectMetadata`, of this version of `meta.k8s.io`.
    Metadata(&'static str),
    /// `Table`, of this version of `meta.k8s.io`.
    Table(&'static str),
}

/// What a request is for: it decides which forms make sense.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    Object,
    List,
}

/// One entry of an `Accept` header.
#[derive(Debug)]
pub(crate) struct Clause {
    pub(crate) media_type: String,
    parameters: Vec<(String, String)>,
    quality: f32,
}

impl Clause {
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether objects can be had in it.
    fn is_served(&self) -> bool {
        self.is_json() || self.media_type == "application/yaml"
    }

    pub(crate) fn is_json(&self) -> bool {
        matches!(self.media_type.as_str(), "application/json" | "*/*")
    }
}

impl Request {
    /// The form of the objects in the response.
    ///
    /// # Errors
    /// 406 if the client accepts none that there is.
    pub(crate) fn view(&self, shape: Shape) -> Outcome<View> {
        negotiate(self.header_list("accept").as_deref(), shape)
    }

    /// What the client accepts, the preferred entries first.
    pub(crate) fn accepts(&self) -> Vec<Clause> {
        clauses(self.header_list("accept").as_deref())
    }

    /// Whether the client would rather have YAML than JSON, of which it is a kind.
    pub(super) fn prefers_yaml(&self) -> bool {
        let first = self.accepts().into_iter().find(Clause::is_served);
        first.is_some_and(|clause| clause.media_type == "application/yaml")
    }
}

/// The entries of an `Accept` header; no header accepts everything.
fn clauses(accept: Option<&str>) -> Vec<Clause> {
    let accept = accept.filter(|text| !text.trim().is_empty()).unwrap_or("*/*");
    let mut clauses: Vec<Clause> = accept.split(',').map(parse_clause).collect();
    // Stable: entries of the same quality stay in the client's order.
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    clauses
}

fn negotiate(accept: Option<&str>, shape: Shape) -> Outcome<View> {
    let clauses = clauses(accept);
    for clause in clauses.iter().filter(|clause| clause.is_served()) {
        let Some(form) = clause.parameter("as") else { return Ok(View::Whole) };
        let version = match (clause.parameter("g"), clause.parameter("v")) {
            (Some("meta.k8s.io"), Some("v1")) => "v1",
            (Some("meta.k8s.io"), Some("v1beta1")) => "v1beta1",
            _ => continue,
        };
        match (form, shape) {
            ("Table", _) => return Ok(View::Table(version)),
            ("PartialObjectMetadata", Shape::Object)
            | ("PartialObjectMetadataList", Shape::List) => return Ok(View::Metadata(version)),
            ("PartialObjectMetadata", Shape::List) => {
                return Err(mismatch("PartialObjectMetadata", "is a list"));
            }
            ("PartialObjectMetadataList", Shape::Object) => {
                return Err(mismatch("PartialObjectMetadataList", "is not a list"));
            }
            _ => {}
        }
    }
    let served = clauses.iter().any(Clause::is_served);
    Err(if served { failure::no_such_form() } else { failure::not_acceptable() })
}

fn mismatch(form: &str, why: &str) -> Box<crate::Status> {
    let message = format!("you requested {form}, but the requested object {why}");
    failure::failure(crate::Reason::NotAcceptable, message)
}

fn parse_clause(text: &str) -> Clause {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
    let parameters: Vec<(String, String)> = parts
        .filter_map(|part| part.split_once('='))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
        .collect();
    let quality = parameters.iter().find(|(key, _)| key == "q");
    let quality = quality.and_then(|(_, value)| value.parse().ok()).unwrap_or(1.0);
    Clause { media_type, parameters, quality }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECTL: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

    #[test]
    fn the_first_form_that_can_be_served_is_chosen() {
        let of = |accept, shape| negotiate(Some(accept), shape).ok();
        assert_eq!(of(KUBECTL, Shape::List), Some(View::Table("v1")));
        assert_eq!(of("application/json", Shape::Object), Some(View::Whole));
        let go = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(of(go, Shape::Object), Some(View::Whole));
        assert_eq!(of("application/yaml", Shape::List), Some(View::Whole));
        let unknown = "application/json;as=Poem;g=meta.k8s.io;v=v1, */*";
        assert_eq!(of(unknown, Shape::List), Some(View::Whole));
        let metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        assert_eq!(of(metadata, Shape::List), Some(View::Metadata("v1")));
        assert_eq!(of(metadata, Shape::Object), None);
    }

    #[test]
    fn no_header_means_json_and_protobuf_alone_is_not_acceptable() {
        assert_eq!(negotiate(None, Shape::List).ok(), Some(View::Whole));
        let refused = negotiate(Some("application/vnd.kubernetes.protobuf"), Shape::List);
        assert_eq!(refused.unwrap_err().code, 406);
    }

    #[test]
    fn quality_comes_before_order() {
        let accept = "application/json;q=0.5, application/json;as=Table;g=meta.k8s.io;v=v1beta1";
        assert_eq!(negotiate(Some(accept), Shape::List).ok(), Some(View::Table("v1beta1")));
    }
}
