//! Holding an object to its schema, or to what is known of a built-in kind.

use serde_json::Value;

use super::context::{Validation, WriteContext};
use crate::testing::{
    failure::{self, Outcome},
    kinds::{ResourceDef, builtin_schema, defaults, schema},
};

/// Fills in defaults and holds an object to its schema, or to what is known of a built-in kind.
pub(super) fn complete(
    def: &ResourceDef,
    name: &str,
    object: &mut Value,
    context: &WriteContext,
) -> Outcome<()> {
    let schema = def.schema.as_deref();
    let unknown = match schema {
        Some(schema) => schema::prune(schema, object),
        None if def.builtin => builtin_schema::prune(def, object),
        None => Vec::new(),
    };
    refuse_or_warn(def, &unknown, context)?;
    if def.builtin
        && let Some(why) = builtin_schema::mistyped(def, object)
    {
        return Err(unfit(def, &why));
    }
    defaults::apply(def, object);
    let Some(schema) = schema else { return Ok(()) };
    schema::set_defaults(schema, object);
    let problems = schema::problems(schema, object);
    if problems.is_empty() {
        return Ok(());
    }
    let problems: Vec<(&str, &str, String)> = problems
        .iter()
        .map(|(field, reason, why)| (field.as_str(), *reason, why.clone()))
        .collect();
    Err(failure::invalid(&def.kind, &def.group, name, &problems))
}

/// Does about unknown fields what the client has asked for.
fn refuse_or_warn(def: &ResourceDef, unknown: &[String], context: &WriteContext) -> Outcome<()> {
    let unknown: Vec<String> =
        unknown.iter().map(|field| format!("unknown field \"{field}\"")).collect();
    match context.validation {
        Validation::Strict if !unknown.is_empty() => {
            Err(unfit(def, &format!("strict decoding error: {}", unknown.join(", "))))
        }
        Validation::Warn => {
            unknown.into_iter().for_each(|warning| context.warn(warning));
            Ok(())
        }
        Validation::Strict | Validation::Ignore => Ok(()),
    }
}

fn unfit(def: &ResourceDef, why: &str) -> Box<crate::Status> {
    failure::bad_request(format!(
        "{} in version {:?} cannot be handled as a {}: {why}",
        def.kind, def.version, def.kind
    ))
}
