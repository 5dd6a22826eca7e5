//! Kinds that are answered and forgotten: reviews of access, tokens and users.

use serde_json::json;

use super::resource_request::ResourceRequest;
use crate::testing::{
    failure::{self, Outcome},
    http::Reply,
    subresources,
    write::metadata,
};

/// Answers the creation of an object that is not stored. Everybody may do everything here.
pub(crate) fn answer(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let ResourceRequest { shared, request, def, .. } = asked;
    let mut object = request.object()?;
    metadata::check_type(def, &mut object)?;
    let user = json!({"username": "system:admin", "uid": "1",
        "groups": ["system:masters", "system:authenticated"]});
    match def.kind.as_str() {
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            object["status"] = json!({"allowed": true});
        }
        "SelfSubjectRulesReview" => {
            object["status"] = json!({"incomplete": false,
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]});
        }
        "TokenReview" => {
            let token = object["spec"]["token"].as_str();
            let known = shared.settings.token.as_deref().is_none_or(|own| token == Some(own));
            object["status"] =
                if known { json!({"authenticated": true, "user": user}) } else { json!({}) };
        }
        "SelfSubjectReview" => object["status"] = json!({"userInfo": user}),
        "Binding" => {
            let pods = shared.read(|state| state.registry.find("", "v1", "pods"));
            let pods = pods.ok_or_else(failure::unknown_path)?;
            return subresources::bind(asked, &pods, &object);
        }
        _ => {}
    }
    Ok(Reply::json(201, &object))
}
