//! JSON patch, RFC 6902.

use serde_json::Value;

use super::Error;
use crate::testing::limits;

/// What the real server accepts in one patch.
pub(super) const MAX_OPERATIONS: usize = 10_000;

/// Applies the operations in order, all or none.
///
/// Follows the Go library behind the real server where that goes beyond the RFC: a negative index
/// counts from the end, and `test` of a missing value against `null` passes.
pub(crate) fn apply(object: &Value, patch: &Value) -> Result<Value, Error> {
    let Some(operations) = patch.as_array() else {
        return Err(Error::Malformed("a JSON patch is an array of operations".to_owned()));
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(Error::TooLong(operations.len()));
    }
    let mut object = object.clone();
    let mut copied = 0;
    for operation in operations {
        perform(&mut object, operation, &mut copied)?;
    }
    Ok(object)
}

/// Performs one operation; `copied` is how much all copies so far come to.
fn perform(object: &mut Value, operation: &Value, copied: &mut usize) -> Result<(), Error> {
    let text = |field: &str| {
        let value = operation[field].as_str();
        value.ok_or_else(|| Error::Malformed(format!("a JSON patch operation needs a {field}")))
    };
    let value = || {
        let value = operation.get("value").cloned();
        value.ok_or_else(|| Error::Rejected("the operation needs a value".to_owned()))
    };
    let path = Pointer::parse(text("path")?)?;
    match text("op")? {
        "add" => path.add(object, value()?),
        "remove" => path.remove(object).map(drop),
        "replace" => {
            let value = value()?;
            path.check_levels(&value)?;
            *path.find_mut(object)? = value;
            Ok(())
        }
        "move" => {
            let from = Pointer::parse(text("from")?)?;
            if path.0.len() > from.0.len() && path.0.starts_with(&from.0) {
                return Err(Error::Rejected("a value cannot move into itself".to_owned()));
            }
            let value = from.remove(object)?;
            path.add(object, value)
        }
        "copy" => {
            let value = &*Pointer::parse(text("from")?)?.find_mut(object)?;
            *copied += limits::size(value);
            if *copied > limits::MOST_BYTES {
                return Err(Error::CopiesTooMuch(*copied));
            }
            let value = value.clone();
            path.add(object, value)
        }
        "test" => {
            let wanted = operation.get("value").unwrap_or(&Value::Null);
            let found = path.find_mut(object).ok().map_or(&Value::Null, |found| &*found);
            if found == wanted {
                Ok(())
            } else {
                Err(Error::Rejected(format!("testing value {} failed", path.0.join("/"))))
            }
        }
        other => Err(Error::Rejected(format!("Unexpected kind: {other}"))),
    }
}

/// A JSON pointer, RFC 6901, as its unescaped steps.
struct Pointer(Vec<String>);

impl Pointer {
    fn parse(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let Some(steps) = text.strip_prefix('/') else {
            return Err(Error::Rejected(format!("the path {text:?} does not begin with a slash")));
        };
        Ok(Self(steps.split('/').map(|s| s.replace("~1", "/").replace("~0", "~")).collect()))
    }

    fn find_mut<'v>(&self, object: &'v mut Value) -> Result<&'v mut Value, Error> {
        self.0.iter().try_fold(object, |value, step| {
            let found = match value {
                Value::Object(map) => map.get_mut(step),
                Value::Array(list) => index(step, list.len()).and_then(|i| list.get_mut(i)),
                _ => None,
            };
            found.ok_or_else(|| self.missing())
        })
    }

    fn add(&self, object: &mut Value, value: Value) -> Result<(), Error> {
        self.check_levels(&value)?;
        let Some((last, parent)) = self.split() else {
            *object = value;
            return Ok(());
        };
        match parent.find_mut(object)? {
            Value::Object(map) => {
                map.insert(last.to_owned(), value);
            }
            Value::Array(list) => {
                let at = if last == "-" { Some(list.len()) } else { index(last, list.len() + 1) };
                let at = at.filter(|at| *at <= list.len()).ok_or_else(|| self.missing())?;
                list.insert(at, value);
            }
            _ => return Err(self.missing()),
        }
        Ok(())
    }

    fn remove(&self, object: &mut Value) -> Result<Value, Error> {
        let Some((last, parent)) = self.split() else { return Ok(object.take()) };
        let removed = match parent.find_mut(object)? {
            Value::Object(map) => map.remove(last),
            Value::Array(list) => {
                index(last, list.len()).filter(|at| *at < list.len()).map(|at| list.remove(at))
            }
            _ => None,
        };
        removed.ok_or_else(|| self.missing())
    }

    /// Refuses what would be too deep here, before it is too deep to be walked through or dropped.
    fn check_levels(&self, value: &Value) -> Result<(), Error> {
        let left = limits::DEEPEST.checked_sub(self.0.len());
        if left.is_none_or(|left| limits::is_deeper(value, left)) {
            return Err(Error::TooDeep);
        }
        Ok(())
    }

    /// The last step, and the pointer to what contains it.
    fn split(&self) -> Option<(&str, Self)> {
        let (last, parent) = self.0.split_last()?;
        Some((last, Self(parent.to_vec())))
    }

    fn missing(&self) -> Error {
        Error::Rejected(format!("doc is missing path: /{}", self.0.join("/")))
    }
}

/// The place in a list that a step names, if it names one.
fn index(step: &str, len: usize) -> Option<usize> {
    if let Some(from_end) = step.strip_prefix('-') {
        return len.checked_sub(from_end.parse().ok()?);
    }
    let leading_zero = step.len() > 1 && step.starts_with('0');
    if leading_zero { None } else { step.parse().ok() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(object: &Value, patch: &Value) -> Value {
        apply(object, patch).unwrap()
    }

    #[test]
    fn each_operation_does_what_the_rfc_says() {
        let object = json!({"a": {"b": [1, 2, 3]}, "c": "x"});
        let done = |op: Value| patched(&object, &json!([op]));
        assert_eq!(
            done(json!({"op": "add", "path": "/a/b/1", "value": 9}))["a"]["b"],
            json!([1, 9, 2, 3])
        );
        assert_eq!(
            done(json!({"op": "add", "path": "/a/b/-", "value": 9}))["a"]["b"],
            json!([1, 2, 3, 9])
        );
        assert_eq!(done(json!({"op": "add", "path": "/c", "value": null}))["c"], Value::Null);
        assert_eq!(done(json!({"op": "remove", "path": "/a/b/0"}))["a"]["b"], json!([2, 3]));
        assert_eq!(done(json!({"op": "replace", "path": "/c", "value": 1}))["c"], 1);
        assert_eq!(done(json!({"op": "replace", "path": "", "value": 1})), 1);
        assert_eq!(
            done(json!({"op": "move", "from": "/a/b", "path": "/d"})),
            json!({"a": {}, "c": "x", "d": [1, 2, 3]})
        );
        assert_eq!(done(json!({"op": "copy", "from": "/c", "path": "/a/b/0"}))["a"]["b"][0], "x");
        assert_eq!(done(json!({"op": "test", "path": "/a/b", "value": [1, 2, 3]})), object);
    }

    #[test]
    fn slashes_and_tildes_in_keys_are_escaped() {
        let object = json!({"m/n": {"a~b": 1}, "~1": 2});
        let patch = json!([{"op": "replace", "path": "/m~1n/a~0b", "value": 5},
                           {"op": "remove", "path": "/~01"}]);
        assert_eq!(patched(&object, &patch), json!({"m/n": {"a~b": 5}}));
    }

    #[test]
    fn what_does_not_fit_the_object_is_rejected_as_a_whole() {
        let object = json!({"a": [1], "s": "text"});
        for op in [
            json!({"op": "remove", "path": "/x"}),
            json!({"op": "replace", "path": "/x", "value": 1}),
            json!({"op": "add", "path": "/x/y", "value": 1}),
            json!({"op": "add", "path": "/a/2", "value": 1}),
            json!({"op": "add", "path": "/a/01", "value": 1}),
            json!({"op": "remove", "path": "/a/1"}),
            json!({"op": "remove", "path": "/a/-"}),
            json!({"op": "add", "path": "/s/0", "value": 1}),
            json!({"op": "test", "path": "/s", "value": "other"}),
            json!({"op": "test", "path": "/x", "value": 1}),
            json!({"op": "move", "from": "/a", "path": "/a/0"}),
            json!({"op": "add", "path": "s", "value": 1}),
            json!({"op": "add", "path": "/s"}),
            json!({"op": "shout", "path": "/s"}),
        ] {
            let result = apply(&object, &json!([{"op": "remove", "path": "/s"}, op.clone()]));
            let alone = apply(&object, &json!([op.clone()]));
            assert!(matches!(alone, Err(Error::Rejected(_))), "{op}");
            assert!(result.is_err() || op["path"] == "/s", "{op}");
        }
    }

    #[test]
    fn what_is_not_a_patch_is_malformed() {
        for patch in [json!({}), json!([{}]), json!([{"op": "add"}]), json!(["add"])] {
            assert!(matches!(apply(&json!({}), &patch), Err(Error::Malformed(_))), "{patch}");
        }
    }

    #[test]
    fn a_missing_value_tests_equal_to_null() {
        let patch = json!([{"op": "test", "path": "/x", "value": null}]);
        assert!(apply(&json!({}), &patch).is_ok());
    }

    #[test]
    fn a_negative_index_counts_from_the_end() {
        let patch = json!([{"op": "remove", "path": "/-1"}]);
        assert_eq!(patched(&json!([1, 2, 3]), &patch), json!([1, 2]));
    }

    #[test]
    fn copies_of_copies_are_stopped_before_they_fill_the_memory() {
        let mut patch = vec![json!({"op": "add", "path": "/x", "value": {"s": "text"}})];
        let copies = |n: usize| json!({"op": "copy", "from": "/x", "path": format!("/x/a{n}")});
        patch.extend((0..10).map(copies));
        assert!(apply(&json!({}), &json!(patch)).is_ok());
        patch.extend((10..90).map(copies));
        let error = apply(&json!({}), &json!(patch)).unwrap_err();
        assert!(matches!(error, Error::CopiesTooMuch(bytes) if bytes < 3 * limits::MOST_BYTES));
        assert_eq!(error.status().code, 413);
    }

    #[test]
    fn nothing_is_put_deeper_than_can_be_read() {
        let deepen = json!([{"op": "add", "path": "/y", "value": {}},
            {"op": "move", "from": "/x", "path": "/y/a"},
            {"op": "move", "from": "/y", "path": "/x"}]);
        let steps = deepen.as_array().unwrap();
        let patch = |n: usize| steps.iter().cycle().take(n * steps.len()).cloned().collect();
        let object = json!({"x": {}});
        assert!(apply(&object, &patch(limits::DEEPEST / 2)).is_ok());
        assert_eq!(apply(&object, &patch(3000)), Err(Error::TooDeep));
        let copies = json!({"op": "copy", "from": "/x", "path": "/x/a"});
        assert_eq!(apply(&object, &Value::Array(vec![copies; 110])), Err(Error::TooDeep));
    }

    #[test]
    fn there_is_a_limit_to_the_operations() {
        let op = json!({"op": "test", "path": "", "value": {}});
        let patch = |n| Value::Array(vec![op.clone(); n]);
        assert!(apply(&json!({}), &patch(MAX_OPERATIONS)).is_ok());
        let error = apply(&json!({}), &patch(MAX_OPERATIONS + 1)).unwrap_err();
        assert_eq!(error.status().code, 413);
        assert!(error.to_string().ends_with("is 10000, got 10001"));
    }
}
