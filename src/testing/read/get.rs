//! GET of one object.

use super::{options::parse_revision, view::show};
use crate::testing::{
    failure::Outcome,
    http::{Reply, Shape},
    routes::ResourceRequest,
};

/// Answers a GET of one object.
pub(crate) fn get(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let view = asked.request.view(Shape::Object)?;
    let revision = asked.request.parameter("resourceVersion").unwrap_or_default();
    if let Some(revision) = parse_revision(revision)? {
        asked.shared.reach(revision)?;
    }
    let object = asked.shared.read(|state| asked.find(state))?;
    Ok(show(asked, &object, view, 200))
}
