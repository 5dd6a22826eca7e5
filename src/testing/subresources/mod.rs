//! Parts of objects with a path of their own: `status`, `scale`, `log`, `eviction` and the like.

mod actions;
mod log;
mod scale;

pub(super) use self::actions::bind;
use super::{
    failure::{self, Outcome},
    http::Reply,
    read,
    routes::{self, ResourceRequest, Verb},
};

/// Answers a request for a subresource.
pub(crate) fn answer(asked: &ResourceRequest<'_>, verb: Verb) -> Outcome<Reply> {
    let part = asked.path.subresource.as_deref().unwrap_or_default();
    let known = asked.def.subresource(part).ok_or_else(failure::unknown_path)?;
    if !known.verbs.contains(&verb.as_str()) {
        return Err(failure::method_not_allowed());
    }
    match (part, verb) {
        ("scale", _) => scale::scale(asked, verb),
        ("log", _) => log::log(asked),
        ("eviction", _) => actions::evict(asked),
        ("binding", _) => bind(asked, asked.def, &asked.request.object()?),
        ("token", _) => actions::token(asked),
        ("exec" | "attach" | "portforward" | "proxy", _) => {
            let message = format!("the embedded API server has no {part}: nothing runs behind it");
            Err(Box::new(crate::Status::failure(501, "NotImplemented", message)))
        }
        (_, Verb::Get) => read::get(asked),
        (_, Verb::Update) => routes::update(asked),
        (_, Verb::Patch) => routes::patch(asked),
        _ => Err(failure::method_not_allowed()),
    }
}
