//! Which objects a LIST or WATCH is about.

use std::sync::Arc;

use super::object::Stored;
use crate::{
    selector::{
        fields::{self, Operator},
        labels,
    },
    testing::{
        failure::{self, Outcome},
        kinds::{ResourceDef, fields::resolve},
        read::ListOptions,
    },
};

/// Label and field selectors, checked for a resource.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    labels: labels::Selector,
    fields: Vec<FieldTerm>,
    def: Arc<ResourceDef>,
}

#[derive(Clone, Debug)]
struct FieldTerm {
    field: String,
    value: String,
    equals: bool,
}

impl Selection {
    /// With a name only the object of that name, as old watch URLs have it.
    pub(crate) fn parse(
        def: &Arc<ResourceDef>,
        options: &ListOptions,
        name: Option<&str>,
    ) -> Outcome<Self> {
        let labels = labels::parse(&options.label_selector).map_err(|error| {
            failure::bad_request(format!("unable to parse requirement: {error}"))
        })?;
        let parsed = fields::parse(&options.field_selector)
            .map_err(|error| failure::bad_request(error.to_string()))?;
        let mut fields = Vec::new();
        for term in parsed.terms() {
            let field = resolve(def, term.field()).map_err(failure::bad_request)?;
            fields.push(FieldTerm {
                field: field.to_owned(),
                value: term.value().to_owned(),
                equals: matches!(term.operator(), Operator::Equals),
            });
        }
        if let Some(name) = name {
            let field = "metadata.name".to_owned();
            fields.push(FieldTerm { field, value: name.to_owned(), equals: true });
        }
        Ok(Self { labels, fields, def: def.clone() })
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.matches_everything() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        let has = |term: &FieldTerm| object.has_field(&self.def, &term.field, &term.value);
        self.fields.iter().all(|term| has(term) == term.equals)
            && self.labels.matches(&object.labels)
    }
}
