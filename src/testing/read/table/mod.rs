//! `meta.k8s.io/v1` Tables: objects as the rows that `kubectl get` prints.

mod autoscaling;
mod cell;
mod columns;
mod jsonpath;
mod network;
mod node;
mod pod;
mod rbac;
mod storage;
mod workload;

use std::time::SystemTime;

use serde_json::{Value, json};

use self::{
    cell::Item,
    columns::{Column, Printer},
    jsonpath::JsonPath,
};
use crate::testing::{
    kinds::{PrinterColumn, ResourceDef},
    time,
};

/// What a row carries of its object.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum IncludeObject {
    None,
    /// Its `PartialObjectMetadata`.
    #[default]
    Metadata,
    Object,
}

impl IncludeObject {
    /// Reads the query parameter `includeObject`; `None` if it is not one of its values.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "None" => Some(Self::None),
            "" | "Metadata" => Some(Self::Metadata),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// The Table of some objects, with the columns of their kind.
///
/// A watch sends the columns with its first Table only: set `columnDefinitions` of the others to
/// null.
pub(crate) fn table(
    resource: &ResourceDef,
    items: &[&Value],
    list_meta: Value,
    include_object: IncludeObject,
    now: SystemTime,
) -> Value {
    let layout = Layout::of(resource);
    let rows: Vec<_> = items
        .iter()
        .map(|item| {
            let mut row = json!({"cells": layout.cells(Item::new(item, now))});
            if let Some(conditions) = pod::row_conditions(resource, item) {
                row["conditions"] = conditions;
            }
            match include_object {
                IncludeObject::None => {}
                IncludeObject::Metadata => {
                    row["object"] = json!({
                        "kind": "PartialObjectMetadata",
                        "apiVersion": "meta.k8s.io/v1",
                        "metadata": item["metadata"],
                    });
                }
                IncludeObject::Object => {
                    let mut object = (*item).clone();
                    if let Some(fields) = object.as_object_mut() {
                        fields.insert("apiVersion".to_owned(), resource.api_version().into());
                        fields.insert("kind".to_owned(), resource.kind.as_str().into());
                    }
                    row["object"] = object;
                }
            }
            row
        })
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_meta,
        "columnDefinitions": layout.definitions(),
        "rows": rows,
    })
}

/// Where columns and cells come from.
enum Layout {
    Builtin(Printer),
    Custom(Vec<PrinterColumn>),
    /// Kinds that the real server has no columns for.
    CreatedAt,
}

impl Layout {
    fn of(resource: &ResourceDef) -> Self {
        if resource.builtin {
            let known = Printer::of(&resource.group, &resource.kind);
            return known.map_or(Self::CreatedAt, Self::Builtin);
        }
        let mut columns = resource.columns.clone();
        if columns.is_empty() {
            columns.push(PrinterColumn {
                name: "Age".to_owned(),
                kind: "date".to_owned(),
                format: String::new(),
                description: columns::description("Age").to_owned(),
                priority: 0,
                json_path: ".metadata.creationTimestamp".to_owned(),
            });
        }
        Self::Custom(columns)
    }

    fn definitions(&self) -> Vec<Value> {
        let name = Column { name: "Name", kind: "string", priority: 0 };
        match self {
            Self::Builtin(printer) => printer.columns().map(|c| c.definition()).collect(),
            Self::CreatedAt => {
                let created = Column { name: "Created At", kind: "date", priority: 0 };
                vec![name.definition(), created.definition()]
            }
            Self::Custom(columns) => {
                let custom = columns.iter().map(|column| {
                    let description = if column.description.is_empty() {
                        format!("The value at {}", column.json_path)
                    } else {
                        column.description.clone()
                    };
                    json!({
                        "name": column.name, "type": column.kind, "format": column.format,
                        "description": description, "priority": column.priority,
                    })
                });
                [name.definition()].into_iter().chain(custom).collect()
            }
        }
    }

    fn cells(&self, item: Item<'_>) -> Vec<Value> {
        match self {
            Self::Builtin(printer) => printer.cells(item),
            Self::CreatedAt => {
                let created = item.text("/metadata/creationTimestamp");
                let zero = "0001-01-01T00:00:00Z";
                let created = if created.is_empty() { zero.to_owned() } else { created };
                vec![item.name(), created.into()]
            }
            Self::Custom(columns) => {
                let cells = columns.iter().map(|column| custom_cell(column, item));
                [item.name()].into_iter().chain(cells).collect()
            }
        }
    }
}

/// The cell of a CRD's column: null if there is no value, or it is not of the column's type.
fn custom_cell(column: &PrinterColumn, item: Item<'_>) -> Value {
    let path = JsonPath::parse(&column.json_path);
    let Some(value) = path.as_ref().and_then(|path| path.first(item.object)) else {
        return Value::Null;
    };
    let number = |number: f64| serde_json::Number::from_f64(number).map_or(Value::Null, Into::into);
    match (column.kind.as_str(), value) {
        (_, Value::Null) => Value::Null,
        ("string", Value::String(text)) => text.as_str().into(),
        ("string", other) => other.to_string().into(),
        #[expect(clippy::cast_possible_truncation, reason = "the real server cuts fractions off")]
        ("integer", Value::Number(n)) => {
            n.as_i64().or_else(|| n.as_f64().map(|f| f as i64)).map_or(Value::Null, Into::into)
        }
        ("number", Value::Number(n)) => n.as_f64().map_or(Value::Null, number),
        ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) if crate::rfc3339::parse(text).is_some() => {
            time::age(Some(text), item.now).into()
        }
        ("date", Value::String(_)) => "<invalid>".into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::kinds::Registry;

    /// The cells of an object that is an hour old.
    pub(super) fn cells(group: &str, kind: &str, mut object: Value) -> Value {
        let registry = Registry::builtin();
        let versions = ["v1", "v2", "v1beta1"];
        let resource =
            versions.iter().find_map(|v| registry.find_kind(group, v, kind)).expect(kind);
        object["metadata"]["name"] = json!("x");
        object["metadata"]["creationTimestamp"] = json!("1970-01-01T00:00:00Z");
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(3600);
        let table = table(&resource, &[&object], json!({}), IncludeObject::None, now);
        table["rows"][0]["cells"].clone()
    }

    #[test]
    fn every_row_of_every_kind_has_a_cell_for_each_column_whatever_the_object() {
        let registry = Registry::builtin();
        let hostile = json!({"metadata": [], "spec": 1, "status": [[]], "data": 1, "webhooks": {}});
        for resource in registry.all() {
            for object in [json!({}), hostile.clone(), json!("text"), Value::Null] {
                let table = table(
                    resource,
                    &[&object],
                    json!({}),
                    IncludeObject::Metadata,
                    SystemTime::UNIX_EPOCH,
                );
                let columns = table["columnDefinitions"].as_array().unwrap().len();
                let cells = table["rows"][0]["cells"].as_array().unwrap().len();
                assert_eq!(columns, cells, "{}", resource.kind);
            }
        }
    }

    #[test]
    fn a_row_carries_as_much_of_its_object_as_asked() {
        let registry = Registry::builtin();
        let maps = registry.find("", "v1", "configmaps").unwrap();
        let map = json!({"metadata": {"name": "m"}, "data": {"a": "b"}});
        let object = |include| {
            let now = SystemTime::UNIX_EPOCH;
            table(&maps, &[&map], json!({}), include, now)["rows"][0].get("object").cloned()
        };
        assert_eq!(object(IncludeObject::None), None);
        let metadata = object(IncludeObject::Metadata).unwrap();
        assert_eq!(metadata["kind"], "PartialObjectMetadata");
        assert!(metadata.get("data").is_none());
        let whole = object(IncludeObject::Object).unwrap();
        assert_eq!(
            (whole["kind"].as_str(), whole["data"]["a"].as_str()),
            (Some("ConfigMap"), Some("b"))
        );
        assert_eq!(IncludeObject::parse(""), Some(IncludeObject::Metadata));
        assert_eq!(IncludeObject::parse("All"), None);
    }

    #[test]
    fn a_kind_without_columns_of_its_own_shows_when_it_was_created() {
        assert_eq!(
            cells("rbac.authorization.k8s.io", "Role", json!({})),
            json!(["x", "1970-01-01T00:00:00Z"])
        );
    }

    #[test]
    fn a_crd_gets_the_columns_it_asks_for_or_its_age() {
        let mut registry = Registry::builtin();
        let mut crd = json!({"metadata": {"name": "foos.x.io"}, "spec": {
            "group": "x.io", "scope": "Cluster", "names": {"kind": "Foo", "plural": "foos"},
            "versions": [{"name": "v1", "served": true, "storage": true}]}});
        let foo = json!({"metadata": {"name": "f", "creationTimestamp": "1970-01-01T00:00:00Z"},
                         "spec": {"size": 3.7, "on": true, "tags": ["a"]}});
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        let mut cells = |crd: &Value| {
            registry.apply_crd(crd).unwrap();
            let foos = registry.find("x.io", "v1", "foos").unwrap();
            let table = table(&foos, &[&foo], json!({}), IncludeObject::None, now);
            table["rows"][0]["cells"].clone()
        };
        assert_eq!(cells(&crd), json!(["f", "60s"]));
        let column = |kind: &str, path: &str| json!({"name": path, "type": kind, "jsonPath": path});
        crd["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
            column("integer", ".spec.size"),
            column("number", ".spec.size"),
            column("boolean", ".spec.on"),
            column("string", ".spec.tags"),
            column("string", ".spec.missing"),
            column("boolean", ".spec.size"),
            column("date", ".metadata.creationTimestamp"),
            column("date", ".metadata.name"),
        ]);
        assert_eq!(
            cells(&crd),
            json!(["f", 3, 3.7, true, "[\"a\"]", null, null, "60s", "<invalid>"])
        );
    }
}
