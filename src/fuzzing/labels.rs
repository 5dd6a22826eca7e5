//! Label selectors: read, printed and matched, against the plainest reading of what they mean.

use std::collections::{BTreeMap, BTreeSet};

use super::Choices;
use crate::{
    cache::{Indexer, Indexers, Lister},
    object::{ApiResource, Object},
    selector::labels::{Operator, Requirement, Selector, parse},
};

const KEYS: [&str; 4] = ["app", "tier", "example.com/zone", "x"];
const VALUES: [&str; 7] = ["", "web", "api", "1", "7", "-3", "99999999999999999999"];
const OPERATORS: [Operator; 9] = [
    Operator::Equals,
    Operator::DoubleEquals,
    Operator::NotEquals,
    Operator::In,
    Operator::NotIn,
    Operator::Exists,
    Operator::DoesNotExist,
    Operator::GreaterThan,
    Operator::LessThan,
];

type Labels = BTreeMap<String, String>;

/// Does what the bytes say; and reads them as a selector, whatever they are.
pub fn labels(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(selector) = parse(text)
    {
        prints_as_it_reads(&selector);
    }
    let mut choices = Choices::new(data);
    let requirements: Vec<_> = (0..choices.below(4)).map(|_| Plain::choose(&mut choices)).collect();
    let sets: Vec<_> = (0..choices.below(8)).map(|_| label_set(&mut choices)).collect();
    let spaces = choices.byte();
    let text = requirements.iter().map(|r| r.print(spaces)).collect::<Vec<_>>().join(",");
    let parsed = parse(&text);
    let made: Option<Selector> = requirements.iter().map(Plain::make).collect();
    assert_eq!(parsed.is_ok(), made.is_some(), "what can be made can be written: {text:?}");
    let (Ok(parsed), Some(made)) = (parsed, made) else { return };
    prints_as_it_reads(&parsed);
    prints_as_it_reads(&made);
    for labels in &sets {
        let expected = requirements.iter().all(|requirement| requirement.matches(labels));
        assert_eq!(parsed.matches(labels), expected, "{text:?} on {labels:?}");
        assert_eq!(made.matches(labels), expected, "{made:?} on {labels:?}");
    }
    lists_what_matches(&parsed, &sets);
}

fn prints_as_it_reads(selector: &Selector) {
    let text = selector.to_string();
    let again = parse(&text).unwrap_or_else(|error| panic!("{selector:?} as {text:?}: {error}"));
    assert_eq!(again.to_string(), text, "{selector:?}");
    for key in KEYS {
        assert_eq!(again.required_value(key), selector.required_value(key), "{text:?}");
    }
}

/// A lister skips most objects without a look at their labels; it must not skip too many.
fn lists_what_matches(selector: &Selector, sets: &[Labels]) {
    let pods = ApiResource::namespaced("v1", "Pod", "pods");
    let indexer = Indexer::of_objects(Indexers::new());
    for (n, labels) in sets.iter().enumerate() {
        let labels = serde_json::json!(labels);
        let json = format!(r#"{{"metadata":{{"name":"{n}","namespace":"a","labels":{labels}}}}}"#);
        let object = Object::<crate::DynamicObject>::from_json(&pods, json.as_bytes());
        indexer.add(object.unwrap_or_else(|error| panic!("{json}: {error}")));
    }
    let expected: Vec<_> =
        (0..sets.len()).filter(|&n| selector.matches(&sets[n])).map(|n| n.to_string()).collect();
    let lister = Lister::new(indexer, pods);
    for found in [lister.list(selector), lister.namespace("a").list(selector)] {
        let mut names: Vec<_> = found.iter().map(|object| object.name().to_owned()).collect();
        names.sort();
        assert_eq!(names, expected, "{selector}");
    }
}

fn label_set(choices: &mut Choices) -> Labels {
    let some = KEYS.iter().filter_map(|key| {
        let value = VALUES.get(usize::from(choices.below(10)))?;
        Some(((*key).to_owned(), (*value).to_owned()))
    });
    some.collect()
}

/// A condition, with no rules about what it may be.
struct Plain {
    key: &'static str,
    operator: Operator,
    values: Vec<&'static str>,
}

impl Plain {
    fn choose(choices: &mut Choices) -> Self {
        let key = KEYS[usize::from(choices.below(KEYS.len() as u8))];
        let operator = OPERATORS[usize::from(choices.below(OPERATORS.len() as u8))];
        let count = match operator {
            Operator::Exists | Operator::DoesNotExist => 0,
            Operator::In | Operator::NotIn => 1 + choices.below(3),
            _ => 1,
        };
        let value = |_| VALUES[usize::from(choices.below(VALUES.len() as u8))];
        // A set, as a selector that was read has it.
        let values: BTreeSet<_> = (0..count).map(value).collect();
        Self { key, operator, values: values.into_iter().collect() }
    }

    fn make(&self) -> Option<Requirement> {
        Requirement::new(self.key, self.operator, self.values.iter().copied()).ok()
    }

    fn print(&self, spaces: u8) -> String {
        let space = if spaces.is_multiple_of(2) { "" } else { " " };
        let (key, values) = (self.key, &self.values);
        let one = values.first().copied().unwrap_or_default();
        let list = values.join(&format!("{space},"));
        match self.operator {
            Operator::Exists => format!("{space}{key}"),
            Operator::DoesNotExist => format!("!{space}{key}"),
            Operator::Equals => format!("{key}{space}={space}{one}"),
            Operator::DoubleEquals => format!("{key}{space}=={space}{one}"),
            Operator::NotEquals => format!("{key}{space}!={space}{one}"),
            Operator::GreaterThan => format!("{key}{space}>{space}{one}"),
            Operator::LessThan => format!("{key}{space}<{space}{one}"),
            Operator::In => format!("{key} in{space}({list})"),
            Operator::NotIn => format!("{key} notin{space}({list})"),
        }
    }

    fn matches(&self, labels: &Labels) -> bool {
        let label = labels.get(self.key).map(String::as_str);
        let number = |text: &str| text.parse::<i64>().ok();
        match self.operator {
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::Equals | Operator::DoubleEquals | Operator::In => {
                label.is_some_and(|label| self.values.contains(&label))
            }
            Operator::NotEquals | Operator::NotIn => {
                label.is_none_or(|label| !self.values.contains(&label))
            }
            Operator::GreaterThan | Operator::LessThan => {
                let (Some(label), Some(value)) = (label.and_then(number), number(self.values[0]))
                else {
                    return false;
                };
                if self.operator == Operator::GreaterThan { label > value } else { label < value }
            }
        }
    }
}
