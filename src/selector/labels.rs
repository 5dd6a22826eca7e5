//! Label selectors: `app in (web, api), tier!=test, !legacy`.

mod parser;
mod validate;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt,
    hash::BuildHasher,
    str::FromStr,
};

use crate::error::{Error, Result};

/// Selects objects by their labels.
///
/// ```
/// use kinformer::selector::labels;
///
/// let selector = labels::parse("app in (web, api), tier != test, !legacy")?;
/// assert!(selector.matches(&[("app", "web")]));
/// assert!(!selector.matches(&[("app", "web"), ("legacy", "yes")]));
/// assert_eq!(selector.to_string(), "app in (api,web),!legacy,tier!=test");
/// # Ok::<(), kinformer::Error>(())
/// ```
#[doc(alias = "LabelSelectorAsSelector")]
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
#[doc(alias = "labels.Selector")]
pub struct Selector {
    /// Sorted by key.
    requirements: Vec<Requirement>,
    nothing: bool,
}

/// One condition of a [`Selector`].
///
/// Two are equal if key, operator and values are, the values in the same order.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

/// What a [`Requirement`] asks of a label.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Operator {
    /// `key=value`: the label is there and has the value.
    Equals,
    /// `key==value`: the same.
    DoubleEquals,
    /// `key!=value`: the label is not there or has another value.
    NotEquals,
    /// `key in (a,b)`: the label is there and has one of the values.
    In,
    /// `key notin (a,b)`: the label is not there or has none of the values.
    NotIn,
    /// `key`: the label is there.
    Exists,
    /// `!key`: the label is not there.
    DoesNotExist,
    /// `key>1`: the label is an integer, and greater.
    GreaterThan,
    /// `key<1`: the label is an integer, and smaller.
    LessThan,
}

/// Something that has labels.
#[doc(alias = "Labels")]
pub trait LabelSet {
    /// The value of a label, or `None` if it is not there.
    fn get(&self, key: &str) -> Option<Cow<'_, str>>;
}

/// Selects every object.
#[must_use]
pub fn everything() -> Selector {
    Selector::everything()
}

/// Selects no object.
#[must_use]
pub fn nothing() -> Selector {
    Selector::nothing()
}

/// Reads a label selector such as `app in (web, api), tier!=test, !legacy`.
///
/// # Errors
///
/// If it is not a label selector; the error says where and why.
#[doc(alias = "ParseSelector")]
pub fn parse(text: &str) -> Result<Selector> {
    parser::parse(text).map(|requirements| requirements.into_iter().collect())
}

impl Selector {
    /// Selects every object.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects no object.
    ///
    /// No text stands for this selector: it prints as nothing at all, which a server takes for
    /// everything. Ask [`matches_nothing`](Self::matches_nothing) before sending one.
    #[must_use]
    pub fn nothing() -> Self {
        Self { requirements: Vec::new(), nothing: true }
    }

    /// Selects objects that have each of these labels with this value.
    ///
    /// # Errors
    ///
    /// If a key or a value cannot be that of a label.
    #[doc(alias = "ValidatedSelectorFromSet")]
    #[doc(alias = "SelectorFromSet")]
    pub fn from_set<K: Into<String>, V: Into<String>>(
        set: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self> {
        set.into_iter()
            .map(|(key, value)| Requirement::new(key, Operator::Equals, [value]))
            .collect()
    }

    /// Adds a condition. Nothing stays nothing.
    #[must_use]
    #[doc(alias = "Add")]
    pub fn with(mut self, requirement: Requirement) -> Self {
        if !self.nothing {
            let at = self.requirements.partition_point(|other| other.key <= requirement.key);
            self.requirements.insert(at, requirement);
        }
        self
    }

    /// Selects what both select.
    ///
    /// ```
    /// use kinformer::labels;
    ///
    /// let both = labels::parse("tier=prod")?.and(labels::parse("app=web")?);
    /// assert_eq!(both.to_string(), "app=web,tier=prod");
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if self.nothing || other.nothing {
            return Self::nothing();
        }
        self.requirements.into_iter().chain(other.requirements).collect()
    }

    fn sorted(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements, nothing: false }
    }

    /// Whether an object with these labels is selected.
    pub fn matches<L: LabelSet + ?Sized>(&self, labels: &L) -> bool {
        !self.nothing && self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether this selects every object.
    #[must_use]
    #[doc(alias = "Empty")]
    pub fn matches_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Whether this is [`nothing`](Self::nothing); a contradiction is not found out.
    #[must_use]
    pub fn matches_nothing(&self) -> bool {
        self.nothing
    }

    /// The conditions, all of which must hold, sorted by key.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The value that a label must have, if the first condition on it allows just one.
    #[must_use]
    #[doc(alias = "RequiresExactMatch")]
    pub fn required_value(&self, key: &str) -> Option<&str> {
        let requirement = self.requirements.iter().find(|requirement| requirement.key == key)?;
        match (requirement.operator, requirement.values.as_slice()) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [value]) => Some(value),
            _ => None,
        }
    }
}

impl FromIterator<Requirement> for Selector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        Self::sorted(requirements.into_iter().collect())
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text)
    }
}

/// The text the server reads, without needless spaces, sorted by key.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl Requirement {
    /// Makes a condition.
    ///
    /// # Errors
    ///
    /// If the key or a value cannot be that of a label, or the number of values is not what the
    /// operator wants: one or more for `in` and `notin`, none for existence, one otherwise, an
    /// integer for `>` and `<`.
    #[doc(alias = "NewRequirement")]
    pub fn new<V: Into<String>>(
        key: impl Into<String>,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self> {
        let values = values.into_iter().map(Into::into).collect();
        let requirement = Self { key: key.into(), operator, values };
        requirement.check().map_err(|why| Error::invalid("label selector", why))?;
        Ok(requirement)
    }

    /// The label's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is asked of it.
    #[must_use]
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values it is compared with, in the order they were given, or sorted if they were parsed.
    #[must_use]
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether an object with these labels fulfils the condition.
    pub fn matches<L: LabelSet + ?Sized>(&self, labels: &L) -> bool {
        let label = labels.get(&self.key);
        let label = label.as_deref();
        let listed = |label: &str| self.values.iter().any(|value| value == label);
        match self.operator {
            Operator::Equals | Operator::DoubleEquals | Operator::In => label.is_some_and(listed),
            Operator::NotEquals | Operator::NotIn => !label.is_some_and(listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.compare(label, |label, value| label > value),
            Operator::LessThan => self.compare(label, |label, value| label < value),
        }
    }

    fn compare(&self, label: Option<&str>, holds: fn(i64, i64) -> bool) -> bool {
        let [value] = self.values.as_slice() else { return false };
        match (label.map(str::parse), value.parse()) {
            (Some(Ok(label)), Ok(value)) => holds(label, value),
            _ => false,
        }
    }

    fn check(&self) -> Result<(), String> {
        validate::key(&self.key).map_err(|why| format!("key {:?}: {why}", self.key))?;
        let count = self.values.len();
        let (fits, wanted) = match self.operator {
            Operator::In | Operator::NotIn => (count > 0, "at least one value"),
            Operator::Exists | Operator::DoesNotExist => (count == 0, "no value"),
            _ => (count == 1, "exactly one value"),
        };
        if !fits {
            return Err(format!("values of key {:?}: there must be {wanted}", self.key));
        }
        for (at, value) in self.values.iter().enumerate() {
            let within = |why: &str| format!("values[{at}] of key {:?}: {why}", self.key);
            validate::value(value).map_err(|why| within(&why))?;
            let compares = matches!(self.operator, Operator::GreaterThan | Operator::LessThan);
            if compares && value.parse::<i64>().is_err() {
                return Err(within("must be an integer to compare with"));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = self.values.first().map(String::as_str).unwrap_or_default();
        let key = &self.key;
        match self.operator {
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::Equals => write!(f, "{key}={one}"),
            Operator::DoubleEquals => write!(f, "{key}=={one}"),
            Operator::NotEquals => write!(f, "{key}!={one}"),
            Operator::GreaterThan => write!(f, "{key}>{one}"),
            Operator::LessThan => write!(f, "{key}<{one}"),
            Operator::In => write!(f, "{key} in ({})", self.sorted_values()),
            Operator::NotIn => write!(f, "{key} notin ({})", self.sorted_values()),
        }
    }
}

impl Requirement {
    fn sorted_values(&self) -> String {
        let mut values: Vec<_> = self.values.iter().map(String::as_str).collect();
        values.sort_unstable();
        values.join(",")
    }
}

impl LabelSet for BTreeMap<String, String> {
    fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        Self::get(self, key).map(|value| value.as_str().into())
    }
}

impl<S: BuildHasher> LabelSet for HashMap<String, String, S> {
    fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        Self::get(self, key).map(|value| value.as_str().into())
    }
}

impl<K: AsRef<str>, V: AsRef<str>> LabelSet for [(K, V)] {
    fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        self.iter().find(|(name, _)| name.as_ref() == key).map(|(_, value)| value.as_ref().into())
    }
}

impl<K: AsRef<str>, V: AsRef<str>, const N: usize> LabelSet for [(K, V); N] {
    fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        LabelSet::get(self.as_slice(), key)
    }
}

/// `None` has no labels.
impl<L: LabelSet + ?Sized> LabelSet for Option<&L> {
    fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        self.and_then(|labels| labels.get(key))
    }
}

#[cfg(feature = "k8s-openapi")]
mod object {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

    use super::{Operator, Requirement, Selector};
    use crate::error::{Error, Result};

    /// The selector of a Deployment and the like; an empty one selects everything.
    impl TryFrom<&LabelSelector> for Selector {
        type Error = Error;

        fn try_from(selector: &LabelSelector) -> Result<Self> {
            let labels = selector.match_labels.iter().flatten();
            let equal = labels.map(|(key, value)| Requirement::new(key, Operator::Equals, [value]));
            let expressions = selector.match_expressions.iter().flatten();
            let other = expressions.map(|expression| {
                let operator = match expression.operator.as_str() {
                    "In" => Operator::In,
                    "NotIn" => Operator::NotIn,
                    "Exists" => Operator::Exists,
                    "DoesNotExist" => Operator::DoesNotExist,
                    other => {
                        let why = format!("{other:?} is not an operator of matchExpressions");
                        return Err(Error::invalid("label selector", why));
                    }
                };
                let values = expression.values.iter().flatten();
                Requirement::new(&expression.key, operator, values)
            });
            equal.chain(other).collect()
        }
    }
}

#[cfg(test)]
mod tests;
