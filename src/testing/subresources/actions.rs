//! Subresources that do something when they are created: `eviction`, `binding`, `token`.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::testing::{
    failure::{self, Outcome},
    http::Reply,
    kinds::ResourceDef,
    random,
    routes::{ResourcePath, ResourceRequest},
    time,
    write::{DeleteOptions, Removal, WriteContext, metadata},
};

/// A pod that is evicted is deleted: there are no disruption budgets to ask.
pub(super) fn evict(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let eviction = asked.request.object()?;
    let options = match &eviction["deleteOptions"] {
        given @ Value::Object(_) => DeleteOptions::of_json(given.clone())?,
        _ => DeleteOptions::default(),
    };
    let mut context = WriteContext::of(asked.request)?;
    context.dry_run |= options.is_dry_run()?;
    let namespace = asked.path.namespace.as_deref();
    let removed = asked
        .shared
        .write(|state| state.delete(asked.def, namespace, asked.name(), &options, &context))?;
    match removed {
        Removal::Gone(_) | Removal::Pending(_) => Ok(done()),
    }
}

/// What a scheduler does: gives a pod its node.
///
/// `binding` comes to a pod's `binding`, or by itself and then names the pod; `pods` is their
/// definition.
pub(crate) fn bind(
    asked: &ResourceRequest<'_>,
    pods: &Arc<ResourceDef>,
    binding: &Value,
) -> Outcome<Reply> {
    let context = WriteContext::of(asked.request)?;
    let name = asked.path.name.clone().unwrap_or_else(|| metadata::text(binding, "name"));
    let path = ResourcePath { name: Some(name.clone()), ..asked.path.clone() };
    let pod = ResourceRequest { def: pods, path: &path, ..*asked };
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    if node.is_empty() {
        let why = "Required value".to_owned();
        let problem = [("target.name", "FieldValueRequired", why)];
        return Err(failure::invalid("Binding", "", &name, &problem));
    }
    asked.shared.write(|state| {
        let old = pod.find(state)?;
        let current = old.value(pods);
        if let Some(bound) = current["spec"]["nodeName"].as_str().filter(|bound| !bound.is_empty())
        {
            let why = format!("pod {name} is already assigned to node {bound:?}");
            return Err(failure::conflict(pods, &name, &why));
        }
        let mut new = current.clone();
        new["spec"]["nodeName"] = node.into();
        let scheduled = json!({"type": "PodScheduled", "status": "True",
            "lastProbeTime": null, "lastTransitionTime": context.timestamp()});
        let conditions = new["status"]["conditions"].as_array().into_iter().flatten();
        let mut conditions: Vec<Value> =
            conditions.filter(|known| known["type"] != "PodScheduled").cloned().collect();
        conditions.push(scheduled);
        new["status"]["conditions"] = json!(conditions);
        state.replace(pods, &old, current, new, Some("binding"), &context)
    })?;
    Ok(done())
}

/// A token that no server will ever check.
pub(super) fn token(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let context = WriteContext::of(asked.request)?;
    let account = asked.shared.read(|state| asked.find(state))?;
    let mut review = asked.request.object()?;
    review["metadata"] = json!({"name": account.name, "namespace": account.namespace,
        "uid": account.uid, "creationTimestamp": context.timestamp()});
    if review["spec"]["audiences"].is_null() {
        review["spec"]["audiences"] = json!(["https://kubernetes.default.svc"]);
    }
    let seconds = review["spec"]["expirationSeconds"].as_u64().unwrap_or(3600);
    review["spec"]["expirationSeconds"] = seconds.into();
    if seconds > 1 << 32 {
        let why = format!(
            "Invalid value: {seconds}: may not specify a duration larger than 2^32 seconds"
        );
        let problem = [("spec.expirationSeconds", "FieldValueInvalid", why)];
        return Err(failure::invalid("TokenRequest", "authentication.k8s.io", "", &problem));
    }
    review["status"] = json!({
        "token": asked.shared.settings.token.clone().unwrap_or_else(random::uuid),
        "expirationTimestamp": time::rfc3339(context.now + Duration::from_secs(seconds)),
    });
    Ok(Reply::json(201, &review))
}

fn done() -> Reply {
    Reply::success(201, Some(("code", 201.into())))
}
