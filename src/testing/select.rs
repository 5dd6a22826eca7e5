//! Which objects a LIST or WATCH is about. The label parser is a STAND-IN until `crate::selector` lands.

use std::sync::Arc;

use super::{
    failure::{self, Outcome},
    fields,
    object::Stored,
    options::ListOptions,
    registry::ResourceDef,
};

/// Label and field selectors, and a name.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    labels: Vec<Requirement>,
    fields: Vec<(String, bool, String)>,
    def: Arc<ResourceDef>,
}

#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    values: Option<Vec<String>>,
    negated: bool,
}

impl Selection {
    pub(crate) fn parse(
        def: &Arc<ResourceDef>,
        options: &ListOptions,
        name: Option<&str>,
    ) -> Outcome<Self> {
        let labels = parse_labels(&options.label_selector).ok_or_else(|| {
            failure::bad_request(format!("unable to parse requirement: {}", options.label_selector))
        })?;
        let mut terms = Vec::new();
        for term in options.field_selector.split(',').filter(|term| !term.is_empty()) {
            let (field, value, equal) = if let Some((field, value)) = term.split_once("!=") {
                (field, value, false)
            } else if let Some((field, value)) = term.split_once("==") {
                (field, value, true)
            } else if let Some((field, value)) = term.split_once('=') {
                (field, value, true)
            } else {
                return Err(failure::bad_request(format!(
                    "invalid field selector: {:?}; can't understand {term:?}",
                    options.field_selector
                )));
            };
            let field = fields::resolve(def, field).map_err(failure::bad_request)?;
            terms.push((field.to_owned(), equal, value.to_owned()));
        }
        if let Some(name) = name {
            terms.push(("metadata.name".to_owned(), true, name.to_owned()));
        }
        Ok(Self { labels, fields: terms, def: def.clone() })
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.fields
            .iter()
            .all(|(field, equal, value)| object.has_field(&self.def, field, value) == *equal)
            && self.labels.iter().all(|requirement| {
                let value = object.labels.get(&requirement.key);
                let found = match (&requirement.values, value) {
                    (None, value) => value.is_some(),
                    (Some(values), Some(value)) => values.contains(value),
                    (Some(_), None) => false,
                };
                found != requirement.negated
            })
    }
}

fn parse_labels(text: &str) -> Option<Vec<Requirement>> {
    let mut requirements = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let depth_end = rest
            .char_indices()
            .scan(0, |depth, (at, c)| {
                match c {
                    '(' => *depth += 1,
                    ')' => *depth -= 1,
                    _ => {}
                }
                Some((at, c == ',' && *depth == 0))
            })
            .find(|(_, end)| *end)
            .map_or(rest.len(), |(at, _)| at);
        requirements.push(parse_requirement(rest[..depth_end].trim())?);
        rest = rest.get(depth_end + 1..).unwrap_or("").trim();
    }
    Some(requirements)
}

fn parse_requirement(text: &str) -> Option<Requirement> {
    let set = |key: &str, values: &str, negated| {
        let values = values.trim().strip_prefix('(')?.strip_suffix(')')?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        Some(Requirement { key: key.trim().to_owned(), values: Some(values), negated })
    };
    let one = |key: &str, value: &str, negated| Requirement {
        key: key.trim().to_owned(),
        values: Some(vec![value.trim().to_owned()]),
        negated,
    };
    if let Some((key, values)) = text.split_once(" notin ") {
        set(key, values, true)
    } else if let Some((key, values)) = text.split_once(" in ") {
        set(key, values, false)
    } else if let Some((key, value)) = text.split_once("!=") {
        Some(one(key, value, true))
    } else if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        Some(one(key, value, false))
    } else if let Some(key) = text.strip_prefix('!') {
        Some(Requirement { key: key.trim().to_owned(), values: None, negated: true })
    } else if !text.is_empty() && !text.contains(' ') {
        Some(Requirement { key: text.to_owned(), values: None, negated: false })
    } else {
        None
    }
}
