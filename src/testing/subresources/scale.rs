//! `scale`: how many replicas there are to be, for every kind that has them.

use serde_json::{Value, json};

use crate::testing::{
    failure::{self, Outcome},
    http::Reply,
    kinds::ResourceDef,
    routes::{ResourceRequest, Verb},
    write::{Patch, WriteContext, check_preconditions},
};

/// Reads or writes the scale of an object.
pub(crate) fn scale(asked: &ResourceRequest<'_>, verb: Verb) -> Outcome<Reply> {
    let ResourceRequest { shared, request, def, .. } = asked;
    let places = Places::of(def);
    if verb == Verb::Get {
        let object = shared.read(|state| asked.find(state))?.value(def);
        return Ok(Reply::json(200, &places.scale(&object)));
    }
    let context = WriteContext::of(request)?;
    let patch = if verb == Verb::Patch { Some(Patch::of(request, def)?) } else { None };
    let sent = if patch.is_none() { request.object()? } else { Value::Null };
    let stored = shared.write(|state| {
        let old = asked.find(state)?;
        let current = old.value(def);
        let scale = match &patch {
            // A merge is all there is to do about a scale, whoever applies it.
            Some(patch) => patch.apply_to(def, &places.scale(&current))?,
            None => sent,
        };
        check_preconditions(def, &old, &scale)?;
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        if replicas < 0 {
            let why = format!("Invalid value: {replicas}: must be greater than or equal to 0");
            return Err(failure::invalid(
                "Scale",
                "autoscaling",
                asked.name(),
                &[("spec.replicas", "FieldValueInvalid", why)],
            ));
        }
        let mut new = current.clone();
        set(&mut new, &places.wanted, replicas.into());
        state.replace(def, &old, current, new, Some("scale"), &context)
    })?;
    Ok(Reply::json(200, &places.scale(&stored.value(def))))
}

/// Where a kind keeps its replicas: JSON pointers to what is wanted, what is there, and the
/// selector.
struct Places {
    wanted: String,
    there: String,
    selector: Option<String>,
}

impl Places {
    fn of(def: &ResourceDef) -> Self {
        let pointer = |path: &str| path.replace('.', "/");
        match &def.scale {
            Some(paths) => Self {
                wanted: pointer(&paths.spec_replicas),
                there: pointer(&paths.status_replicas),
                selector: paths.label_selector.as_deref().map(pointer),
            },
            None => Self {
                wanted: "/spec/replicas".into(),
                there: "/status/replicas".into(),
                selector: None,
            },
        }
    }

    fn scale(&self, object: &Value) -> Value {
        let number =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default();
        let mut metadata = json!({});
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object["metadata"].get(field) {
                metadata[field] = value.clone();
            }
        }
        let mut scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": metadata,
            "spec": {"replicas": number(&self.wanted)},
                "status": {"replicas": number(&self.there)}});
        let selector = match &self.selector {
            Some(pointer) => object.pointer(pointer).and_then(Value::as_str).map(str::to_owned),
            None => selector_text(&object["spec"]["selector"]),
        };
        if let Some(selector) = selector {
            scale["status"]["selector"] = selector.into();
        }
        scale
    }
}

/// A label selector object, or a map of labels, in the form of a query parameter.
fn selector_text(selector: &Value) -> Option<String> {
    let labels = selector.get("matchLabels").unwrap_or(selector).as_object()?;
    let mut terms: Vec<String> = labels
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
        .collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten();
        let values: Vec<&str> = values.filter_map(Value::as_str).collect();
        let values = values.join(",");
        terms.push(match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    terms.sort();
    Some(terms.join(","))
}

/// Sets what a JSON pointer points at, making the objects on the way.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for step in pointer.split('/').filter(|step| !step.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[step];
    }
    *place = value;
}
