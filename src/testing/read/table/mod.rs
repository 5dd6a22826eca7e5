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

use std::{fmt::Write, sync::Arc, time::SystemTime};

use serde_json::{Value, json};

use self::{
    cell::Item,
    columns::{Column, Printer},
    jsonpath::JsonPath,
};
use crate::testing::{
    kinds::{PrinterColumn, ResourceDef},
    store::{Stored, type_meta},
    time,
};

/// What a row carries of its object.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum IncludeObject {
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

/// How the objects of a kind are printed.
pub(super) struct Table<'a> {
    resource: &'a ResourceDef,
    layout: Layout,
    include: IncludeObject,
    now: SystemTime,
}

impl<'a> Table<'a> {
    pub(crate) fn new(resource: &'a ResourceDef, include: IncludeObject, now: SystemTime) -> Self {
        Self { resource, layout: Layout::of(resource), include, now }
    }

    /// The JSON of a Table of `objects`; `version` is that of `meta.k8s.io`.
    ///
    /// Objects are decoded one at a time, and what a row carries of its object is not encoded again.
    pub(super) fn encode(&self, objects: &[Arc<Stored>], meta: &Value, version: &str) -> String {
        self.with_columns(&json!(self.layout.definitions()), objects, meta, version)
    }

    /// The same without the columns: a watch sends them with its first Table only.
    pub(super) fn encode_rows(
        &self,
        objects: &[Arc<Stored>],
        meta: &Value,
        version: &str,
    ) -> String {
        self.with_columns(&Value::Null, objects, meta, version)
    }

    fn with_columns(
        &self,
        columns: &Value,
        objects: &[Arc<Stored>],
        meta: &Value,
        version: &str,
    ) -> String {
        let mut text = type_meta("Table", &format!("meta.k8s.io/{version}"));
        text += &format!("\"metadata\":{meta},\"columnDefinitions\":{columns},\"rows\":[");
        for (at, object) in objects.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            self.push_row(&mut text, object);
        }
        text + "]}"
    }

    fn push_row(&self, text: &mut String, object: &Arc<Stored>) {
        let value = object.value(self.resource);
        let cells = Value::Array(self.cells(&value));
        // Writing into a string cannot fail.
        let _ = write!(text, "{{\"cells\":{cells}");
        if let Some(conditions) = pod::row_conditions(self.resource, &value) {
            let _ = write!(text, ",\"conditions\":{conditions}");
        }
        match self.include {
            IncludeObject::None => {}
            IncludeObject::Metadata => {
                text.push_str(",\"object\":");
                text.push_str(&type_meta("PartialObjectMetadata", "meta.k8s.io/v1"));
                text.push_str(object.metadata());
                text.push('}');
            }
            IncludeObject::Object => {
                text.push_str(",\"object\":");
                text.push_str(&type_meta(&self.resource.kind, &self.resource.api_version()));
                text.push_str(object.shown(self.resource).tail());
            }
        }
        text.push('}');
    }

    fn cells(&self, object: &Value) -> Vec<Value> {
        self.layout.cells(Item::new(object, self.now))
    }
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
        Table::new(&resource, IncludeObject::None, now).cells(&object).into()
    }

    #[test]
    fn every_row_of_every_kind_has_a_cell_for_each_column_whatever_the_object() {
        let registry = Registry::builtin();
        let hostile = json!({"metadata": [], "spec": 1, "status": [[]], "data": 1, "webhooks": {}});
        for resource in registry.all() {
            for object in [json!({}), hostile.clone(), json!("text"), Value::Null] {
                let table = Table::new(resource, IncludeObject::Metadata, SystemTime::UNIX_EPOCH);
                let (columns, cells) =
                    (table.layout.definitions().len(), table.cells(&object).len());
                assert_eq!(columns, cells, "{}", resource.kind);
            }
        }
    }

    #[test]
    fn a_row_carries_as_much_of_its_object_as_asked() {
        let registry = Registry::builtin();
        let maps = registry.find("", "v1", "configmaps").unwrap();
        let map = json!({"metadata": {"name": "m"}, "data": {"a": "b"}});
        let map = [Arc::new(Stored::new(&maps, &map))];
        let object = |include| {
            let table = Table::new(&maps, include, SystemTime::UNIX_EPOCH);
            let text = table.encode(&map, &json!({"resourceVersion": "7"}), "v1beta1");
            let table: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
            assert_eq!(table["metadata"]["resourceVersion"], "7");
            assert_eq!(table["rows"][0]["cells"][0], "m");
            table["rows"][0].get("object").cloned()
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
            Value::Array(Table::new(&foos, IncludeObject::None, now).cells(&foo))
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
