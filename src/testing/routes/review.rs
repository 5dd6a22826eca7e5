//! Kinds that are answered and forgotten: reviews of access, tokens and users.

use serde_json::json;

use super::path::ResourcePath;
use crate::testing::{
    failure::{self, Outcome},
    http::{Reply, Request, body},
    kinds::ResourceDef,
    shared::Core,
    subresources,
    write::metadata,
};

/// Answers the creation of an object that is not stored. Everybody may do everything here.
pub(crate) fn answer(
    core: &Core,
    request: &Request,
    def: &ResourceDef,
    path: &ResourcePath,
) -> Outcome<Reply> {
    let mut object = body::object(request)?;
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
            let known = core.settings.token.as_deref().is_none_or(|own| token == Some(own));
            object["status"] =
                if known { json!({"authenticated": true, "user": user}) } else { json!({}) };
        }
        "SelfSubjectReview" => object["status"] = json!({"userInfo": user}),
        "Binding" => {
            let pods = core.read(|state| state.registry.find("", "v1", "pods"));
            let pods = pods.ok_or_else(failure::unknown_path)?;
            return subresources::bind(core, request, &pods, path, &object);
        }
        _ => {}
    }
    Ok(Reply::json(201, &object))
}
