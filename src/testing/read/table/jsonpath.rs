//! The JSONPath of printer columns: fields, positions, wildcards and filters by equality.

use serde_json::Value;

/// A parsed path.
pub(super) struct JsonPath(Vec<Step>);

enum Step {
    Field(String),
    /// Negative counts from the end.
    Index(i64),
    All,
    /// The items whose value at a path is, or is not, this one.
    Filter {
        path: JsonPath,
        equal: bool,
        value: Value,
    },
}

impl JsonPath {
    /// `None` if it uses more of JSONPath than we know.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let mut steps = Vec::new();
        while !rest.is_empty() {
            rest = if let Some(inner) = rest.strip_prefix('[') {
                let (inside, after) = inner.split_at(closing_bracket(inner)?);
                steps.push(bracket(inside.trim())?);
                &after[1..]
            } else {
                let (name, after) = field(rest.strip_prefix('.')?);
                if !name.is_empty() {
                    steps.push(if name == "*" { Step::All } else { Step::Field(name) });
                }
                after
            };
        }
        Some(Self(steps))
    }

    /// The first value that it leads to.
    pub(super) fn first<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        follow(&self.0, value)
    }
}

fn follow<'v>(steps: &[Step], value: &'v Value) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    match step {
        Step::Field(name) => follow(rest, value.get(name)?),
        Step::Index(at) => {
            let list = value.as_array()?;
            let at = if *at < 0 {
                list.len().checked_sub(at.unsigned_abs().try_into().ok()?)?
            } else {
                usize::try_from(*at).ok()?
            };
            follow(rest, list.get(at)?)
        }
        Step::All => match value {
            Value::Array(list) => list.iter().find_map(|item| follow(rest, item)),
            Value::Object(map) => map.values().find_map(|item| follow(rest, item)),
            _ => None,
        },
        Step::Filter { path, equal, value: wanted } => {
            let mut items = value.as_array()?.iter();
            items.find_map(|item| {
                let matches = path.first(item).is_some_and(|found| (found == wanted) == *equal);
                if matches { follow(rest, item) } else { None }
            })
        }
    }
}

/// A field name, in which a backslash takes the next character as it is, and what follows it.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '.' | '[' => return (name, &text[at..]),
            '\\' => name.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => name.push(c),
        }
    }
    (name, "")
}

/// Where the bracket ends that has been opened before `text`: not inside quotes, nor inside others.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::All);
    }
    if let Some(name) = quoted(inside) {
        return Some(Step::Field(name));
    }
    let Some(filter) = inside.strip_prefix("?(").and_then(|f| f.strip_suffix(')')) else {
        return inside.parse().ok().map(Step::Index);
    };
    let (operator, equal) = if filter.contains("==") { ("==", true) } else { ("!=", false) };
    let (path, value) = filter.split_once(operator)?;
    let path = JsonPath::parse(path.trim().strip_prefix('@')?)?;
    let value = value.trim();
    let value = quoted(value).map(Value::String).or_else(|| serde_json::from_str(value).ok())?;
    Some(Step::Filter { path, equal, value })
}

fn quoted(text: &str) -> Option<String> {
    ['\'', '"'].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_that_crds_use_find_their_value() {
        let object = json!({
            "spec": {"a": 1, "list": [{"n": "x"}, {"n": "y"}]},
            "metadata": {"labels": {"app.io/name": "w"}},
            "status": {"conditions": [{"type": "A", "status": "False"},
                                      {"type": "Ready", "status": "True"}]}});
        for (path, value) in [
            (".spec.a", json!(1)),
            (".spec.list[1].n", json!("y")),
            (".spec.list[-1].n", json!("y")),
            (".spec.list[*].n", json!("x")),
            (".metadata.labels.app\\.io/name", json!("w")),
            (".metadata.labels['app.io/name']", json!("w")),
            (".status.conditions[?(@.type==\"Ready\")].status", json!("True")),
            (".status.conditions[?(@.type == 'Ready')].status", json!("True")),
            (".status.conditions[?(@.type!='Ready')].status", json!("False")),
        ] {
            assert_eq!(JsonPath::parse(path).unwrap().first(&object), Some(&value), "{path}");
        }
        for path in [".spec.b", ".spec.list[2]", ".spec.a.b", ".status.conditions[?(@.x=='y')].z"] {
            assert_eq!(JsonPath::parse(path).unwrap().first(&object), None, "{path}");
        }
    }

    #[test]
    fn what_is_not_a_path_is_not_parsed() {
        for path in ["spec", ".spec[", ".spec[x]", ".spec[?(a)]", ".a[?(@.b=c)]"] {
            assert!(JsonPath::parse(path).is_none(), "{path}");
        }
    }
}
