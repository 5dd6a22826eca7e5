//! `metadata.managedFields`: who owns which fields.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::fieldset::FieldSet;
use crate::testing::time;

/// The most entries of updates that an object keeps; the oldest ones become one.
const MAX_UPDATERS: usize = 10;

/// The managers of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Managers(Vec<Manager>);

/// One entry: the fields of one manager, by one way of writing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Manager {
    pub(super) id: Id,
    time: Option<String>,
    pub(super) fields: FieldSet,
}

/// What tells entries apart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Id {
    pub(crate) name: String,
    pub(super) operation: Operation,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

/// How a manager writes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Managers {
    /// Reads `managedFields`; `None` if it is not a list of entries.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(Manager::from_json).collect::<Option<_>>().map(Self)
    }

    /// The managers of an object; none if its `managedFields` are missing or not to be read.
    pub(crate) fn of(object: &Value) -> Self {
        Self::from_json(&object["metadata"]["managedFields"]).unwrap_or_default()
    }

    pub(super) fn write_to(mut self, object: &mut Value) {
        let key = |m: &Manager| {
            (m.id.operation, m.time.clone(), m.id.name.clone(), m.id.api_version.clone())
        };
        self.0.sort_by_key(|m| (key(m), m.id.subresource.clone()));
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let Some(metadata) = metadata else { return };
        if self.0.is_empty() {
            metadata.remove("managedFields");
        } else {
            let entries = self.0.iter().map(Manager::to_json).collect();
            metadata.insert("managedFields".to_owned(), entries);
        }
    }

    pub(crate) fn find(&self, id: &Id) -> Option<&FieldSet> {
        self.0.iter().find(|m| m.id == *id).map(|m| &m.fields)
    }

    pub(super) fn others(&self, id: &Id) -> impl Iterator<Item = &Manager> {
        self.0.iter().filter(|m| m.id != *id)
    }

    /// Gives a manager these fields and no others.
    pub(super) fn set(&mut self, id: &Id, fields: FieldSet, now: SystemTime) {
        self.0.retain(|m| m.id != *id);
        if !fields.is_empty() {
            let time = Some(time::rfc3339(now));
            self.0.push(Manager { id: id.clone(), time, fields });
        }
    }

    /// Takes fields from every manager but this one; a manager without any is forgotten.
    pub(super) fn take_from_others(&mut self, id: &Id, fields: &FieldSet) {
        for manager in self.0.iter_mut().filter(|m| m.id != *id) {
            manager.fields.remove_all(fields);
        }
        self.0.retain(|m| !m.fields.is_empty());
    }

    pub(super) fn union(&self) -> FieldSet {
        let mut all = FieldSet::default();
        self.0.iter().for_each(|m| all.add_all(&m.fields));
        all
    }

    /// Puts the oldest updaters together while there are too many.
    pub(super) fn cap_updaters(&mut self) {
        let updaters = |m: &&Manager| m.id.operation == Operation::Update;
        while self.0.iter().filter(updaters).count() > MAX_UPDATERS {
            let mut oldest: Vec<_> = self.0.iter().filter(updaters).cloned().collect();
            oldest.sort_by_key(|m| (m.time.clone(), m.id.name.clone()));
            let mut merged = oldest[0].clone();
            merged.id.name = "ancient-changes".to_owned();
            merged.id.subresource = String::new();
            for old in &oldest[..2] {
                merged.fields.add_all(&old.fields);
                self.0.retain(|m| m.id != old.id);
            }
            merged.time.clone_from(&oldest[1].time);
            self.0.push(merged);
        }
    }

    /// Whether the same managers own the same fields, whenever they took them.
    pub(super) fn same_owners(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().all(|m| other.find(&m.id) == Some(&m.fields))
    }
}

impl Manager {
    fn from_json(value: &Value) -> Option<Self> {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let operation = match value["operation"].as_str()? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        Some(Self {
            id: Id {
                name: text("manager"),
                operation,
                api_version: text("apiVersion"),
                subresource: text("subresource"),
            },
            time: value["time"].as_str().map(str::to_owned),
            fields: FieldSet::from_json(&value["fieldsV1"])?,
        })
    }

    fn to_json(&self) -> Value {
        let mut entry = json!({
            "manager": self.id.name,
            "operation": match self.id.operation {
                Operation::Apply => "Apply",
                Operation::Update => "Update",
            },
            "apiVersion": self.id.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_json(),
        });
        if let Some(time) = &self.time {
            entry["time"] = time.as_str().into();
        }
        if !self.id.subresource.is_empty() {
            entry["subresource"] = self.id.subresource.as_str().into();
        }
        entry
    }

    /// As the server names it in a conflict.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{:?}", self.id.name);
        if !self.id.subresource.is_empty() {
            text += &format!(" with subresource {:?}", self.id.subresource);
        }
        if self.id.operation == Operation::Update {
            text += &format!(" using {}", self.id.api_version);
        }
        text
    }
}
