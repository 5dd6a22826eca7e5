//! Field selectors: `metadata.name=web,status.phase!=Running`.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt,
    hash::BuildHasher,
    str::FromStr,
};

use crate::error::{Error, Result};

/// Selects objects by the value of fields.
///
/// Which fields a server can select by depends on the kind; all know `metadata.name` and
/// `metadata.namespace`. A field that an object does not have reads as the empty string.
///
/// ```
/// use kinformer::selector::fields;
///
/// let pending = fields::parse("status.phase=Pending,spec.nodeName=")?;
/// assert!(pending.matches(&[("status.phase", "Pending")]));
/// assert!(!pending.matches(&[("status.phase", "Pending"), ("spec.nodeName", "a")]));
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
#[doc(alias = "fields.Selector")]
pub struct Selector {
    terms: Vec<Term>,
    nothing: bool,
}

/// One condition of a [`Selector`].
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[doc(alias = "Requirement")]
pub struct Term {
    field: String,
    operator: Operator,
    value: String,
}

/// How a [`Term`] compares.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Operator {
    /// `=` or `==`
    Equals,
    /// `!=`
    NotEquals,
}

/// Something that has fields to select by.
#[doc(alias = "Fields")]
pub trait FieldSet {
    /// The value of a field such as `metadata.name`, or `None` if it has no such field.
    fn get(&self, field: &str) -> Option<Cow<'_, str>>;
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

/// Reads a field selector such as `metadata.name=web,status.phase!=Running`.
///
/// In a value, `\`, `,` and `=` are written `\\`, `\,` and `\=`. There is no trimming: spaces
/// count.
///
/// # Errors
///
/// If it is not a field selector; the error says where and why.
#[doc(alias = "ParseSelector")]
pub fn parse(text: &str) -> Result<Selector> {
    let mut terms = split_terms(text);
    terms.retain(|(_, term)| !term.is_empty());
    terms.sort_by_key(|(_, term)| *term);
    let terms = terms.into_iter().map(|(at, term)| Term::parse(term, at)).collect::<Result<_>>()?;
    Ok(Selector { terms, nothing: false })
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
        Self { terms: Vec::new(), nothing: true }
    }

    /// Selects objects in which each of these fields has this value.
    #[doc(alias = "SelectorFromSet")]
    pub fn from_set<K: Into<String>, V: Into<String>>(
        set: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let mut terms: Vec<_> =
            set.into_iter().map(|(field, value)| Term::equals(field, value)).collect();
        terms.sort_by(|a, b| a.field.cmp(&b.field));
        Self { terms, nothing: false }
    }

    /// Selects objects in which a field has a value.
    #[doc(alias = "OneTermEqualSelector")]
    pub fn equals(field: impl Into<String>, value: impl Into<String>) -> Self {
        Self { terms: vec![Term::equals(field, value)], nothing: false }
    }

    /// Selects objects in which a field has another value.
    #[doc(alias = "OneTermNotEqualSelector")]
    pub fn not_equals(field: impl Into<String>, value: impl Into<String>) -> Self {
        let (field, value) = (field.into(), value.into());
        let term = Term { field, operator: Operator::NotEquals, value };
        Self { terms: vec![term], nothing: false }
    }

    /// Whether an object with these fields is selected.
    pub fn matches<F: FieldSet + ?Sized>(&self, fields: &F) -> bool {
        !self.nothing && self.terms.iter().all(|term| term.matches(fields))
    }

    /// Whether this selects every object.
    #[must_use]
    #[doc(alias = "Empty")]
    pub fn matches_everything(&self) -> bool {
        !self.nothing && self.terms.is_empty()
    }

    /// Whether this is [`nothing`](Self::nothing); a contradiction is not found out.
    #[must_use]
    pub fn matches_nothing(&self) -> bool {
        self.nothing
    }

    /// The conditions, all of which must hold.
    #[must_use]
    #[doc(alias = "Requirements")]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The value that the field must have, if there is just one.
    #[must_use]
    #[doc(alias = "RequiresExactMatch")]
    pub fn required_value(&self, field: &str) -> Option<&str> {
        let equality = |term: &&Term| term.operator == Operator::Equals && term.field == field;
        self.terms.iter().find(equality).map(|term| term.value.as_str())
    }

    /// Selects what both select.
    #[must_use]
    #[doc(alias = "AndSelectors")]
    pub fn and(mut self, other: Self) -> Self {
        self.terms.extend(other.terms);
        if self.nothing || other.nothing { Self::nothing() } else { self }
    }

    /// Renames fields and rewrites values; a term that becomes two empty strings is dropped.
    ///
    /// # Errors
    ///
    /// The first error of `rename`.
    pub fn transform(
        &self,
        mut rename: impl FnMut(&str, &str) -> Result<(String, String)>,
    ) -> Result<Self> {
        let mut terms = Vec::with_capacity(self.terms.len());
        for Term { field, operator, value } in &self.terms {
            let (field, value) = rename(field, value)?;
            if !(field.is_empty() && value.is_empty()) {
                terms.push(Term { field, operator: *operator, value });
            }
        }
        Ok(Self { terms, nothing: self.nothing })
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text)
    }
}

/// The text the server reads, terms in order.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}

impl Term {
    /// The name of the field, such as `status.phase`.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// How it is compared.
    #[must_use]
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// What it is compared with, without escapes.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    fn equals(field: impl Into<String>, value: impl Into<String>) -> Self {
        Self { field: field.into(), operator: Operator::Equals, value: value.into() }
    }

    /// `at` is where the term stands in the selector.
    fn parse(text: &str, at: usize) -> Result<Self> {
        let Some((field, operator, value)) = split_term(text) else {
            return Err(bad(at, format!("no = or != in {text:?}")));
        };
        let value = unescape(value)
            .map_err(|(offset, why)| bad(at + text.len() - value.len() + offset, why.to_owned()))?;
        Ok(Self { field: field.to_owned(), operator, value: value.into_owned() })
    }

    fn matches<F: FieldSet + ?Sized>(&self, fields: &F) -> bool {
        let equal = match fields.get(&self.field) {
            Some(value) => value == self.value,
            None => self.value.is_empty(),
        };
        equal == (self.operator == Operator::Equals)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        f.write_str(match self.operator {
            Operator::Equals => "=",
            Operator::NotEquals => "!=",
        })?;
        for c in self.value.chars() {
            if matches!(c, '\\' | ',' | '=') {
                f.write_str("\\")?;
            }
            fmt::Write::write_char(f, c)?;
        }
        Ok(())
    }
}

/// Splits at commas that no backslash stands before, keeping empty terms, each with its position.
fn split_terms(text: &str) -> Vec<(usize, &str)> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push((start, &text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push((start, &text[start..]));
    terms
}

/// Splits at the first operator.
fn split_term(term: &str) -> Option<(&str, Operator, &str)> {
    let at = term.bytes().enumerate().position(|(at, byte)| {
        byte == b'=' || byte == b'!' && term.as_bytes().get(at + 1) == Some(&b'=')
    })?;
    let (field, rest) = term.split_at(at);
    for (text, operator) in
        [("!=", Operator::NotEquals), ("==", Operator::Equals), ("=", Operator::Equals)]
    {
        if let Some(value) = rest.strip_prefix(text) {
            return Some((field, operator, value));
        }
    }
    None
}

fn unescape(value: &str) -> Result<Cow<'_, str>, (usize, &'static str)> {
    if let Some(at) = value.find(['\\', '=']) {
        let (plain, rest) = value.split_at(at);
        let mut unescaped = plain.to_owned();
        let mut chars = rest.char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, c @ ('\\' | ',' | '='))) => unescaped.push(c),
                    _ => return Err((at + offset, r"a \ goes before \ , or = only")),
                },
                '=' => return Err((at + offset, r"a = in a value is written \=")),
                c => unescaped.push(c),
            }
        }
        return Ok(unescaped.into());
    }
    Ok(value.into())
}

fn bad(at: usize, why: String) -> Error {
    Error::invalid("field selector", format!("at byte {at}: {why}"))
}

impl FieldSet for BTreeMap<String, String> {
    fn get(&self, field: &str) -> Option<Cow<'_, str>> {
        Self::get(self, field).map(|value| value.as_str().into())
    }
}

impl<S: BuildHasher> FieldSet for HashMap<String, String, S> {
    fn get(&self, field: &str) -> Option<Cow<'_, str>> {
        Self::get(self, field).map(|value| value.as_str().into())
    }
}

impl<K: AsRef<str>, V: AsRef<str>> FieldSet for [(K, V)] {
    fn get(&self, field: &str) -> Option<Cow<'_, str>> {
        self.iter().find(|(key, _)| key.as_ref() == field).map(|(_, value)| value.as_ref().into())
    }
}

impl<K: AsRef<str>, V: AsRef<str>, const N: usize> FieldSet for [(K, V); N] {
    fn get(&self, field: &str) -> Option<Cow<'_, str>> {
        FieldSet::get(self.as_slice(), field)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::random::Random, *};

    const NONE: [(&str, &str); 0] = [];

    fn matches(selector: &str, fields: &[(&str, &str)]) -> bool {
        parse(selector).unwrap_or_else(|error| panic!("{error}")).matches(fields)
    }

    #[test]
    fn terms_are_split_at_commas_that_are_not_escaped() {
        for (text, terms) in [
            ("", &[""][..]),
            ("a", &["a"]),
            ("a=avalue,b=bvalue", &["a=avalue", "b=bvalue"]),
            ("a=avalue,", &["a=avalue", ""]),
            (",a", &["", "a"]),
            (r"k=\,,k2=v2", &[r"k=\,", "k2=v2"]),
            (r"k=\\,k2=v2", &[r"k=\\", "k2=v2"]),
            (r"k=\\\,,k2=v2", &[r"k=\\\,", "k2=v2"]),
            (r"k=\a\b\,", &[r"k=\a\b\,"]),
            (r"k=v\", &[r"k=v\"]),
            ("\u{e9}=\u{4e2d},b", &["\u{e9}=\u{4e2d}", "b"]),
        ] {
            let found: Vec<_> = split_terms(text).into_iter().map(|(_, term)| term).collect();
            assert_eq!(found, terms, "{text}");
        }
    }

    #[test]
    fn a_term_is_split_at_its_first_operator() {
        use Operator::*;
        for (term, split) in [
            ("simple=value", Some(("simple", Equals, "value"))),
            ("simple==value", Some(("simple", Equals, "value"))),
            ("simple!=value", Some(("simple", NotEquals, "value"))),
            ("", None),
            ("a", None),
            ("a!b", None),
            ("k===v", Some(("k", Equals, "=v"))),
            ("k!===v", Some(("k", NotEquals, "==v"))),
            ("=v", Some(("", Equals, "v"))),
            ("k=", Some(("k", Equals, ""))),
            ("\u{4e2d}!=\u{e9}", Some(("\u{4e2d}", NotEquals, "\u{e9}"))),
            (r"k=\=", Some(("k", Equals, r"\="))),
        ] {
            assert_eq!(split_term(term), split, "{term}");
        }
    }

    #[test]
    fn good_selectors_print_as_they_were_read_sorted() {
        for (text, printed) in [
            ("x=a,y=b,z=c", "x=a,y=b,z=c"),
            ("z=c,y=b,x=a", "x=a,y=b,z=c"),
            ("", ""),
            (",,x=a,", "x=a"),
            ("x!=a,y=b", "x!=a,y=b"),
            ("x==a", "x=a"),
            (r"x=a||y\=b", r"x=a||y\=b"),
            (r"x=a\=\=b", r"x=a\=\=b"),
            (r"x=\\\,", r"x=\\\,"),
            ("x= a ", "x= a "),
        ] {
            let selector = parse(text).unwrap();
            assert_eq!(selector.to_string(), printed, "{text}");
            assert_eq!(parse(printed).unwrap(), selector, "{text}");
        }
    }

    #[test]
    fn bad_selectors_are_errors_that_say_where() {
        for (text, at) in [
            ("x=a||y=b", 6),
            ("x==a==b", 4),
            ("x=a,b", 4),
            ("x in (a)", 0),
            ("x notin (a)", 0),
            ("x", 0),
            (r"x=a\", 3),
            (r"x=\a", 2),
            (r"y=b,x=\,,z=\q", 11),
        ] {
            let error = parse(text).expect_err(text).to_string();
            let start = format!("invalid field selector: at byte {at}: ");
            assert!(error.starts_with(&start), "{text}: {error}");
        }
    }

    #[test]
    fn equality_is_on_strings_and_a_missing_field_is_empty() {
        assert!(matches("", &[("x", "y")]) && matches("", &[]));
        assert!(matches("x=y", &[("x", "y")]) && !matches("x=y", &[("x", "z")]));
        assert!(matches("x=y,z=w", &[("x", "y"), ("z", "w")]));
        assert!(!matches("x=y,z=w", &[("x", "y"), ("z", "u")]));
        assert!(matches("x!=y", &[("x", "z")]) && !matches("x!=y", &[("x", "y")]));
        assert!(matches("x!=y", &[]) && matches("x=", &[]) && !matches("x!=", &[]));
        assert!(matches(r"x=a\=b\,c", &[("x", "a=b,c")]));
        assert!(!matches("x=y", &[]));
    }

    #[test]
    fn everything_and_nothing_are_what_they_say_and_print_as_empty() {
        for selector in [everything(), parse("").unwrap(), Selector::from_set(NONE)] {
            assert!(selector.matches(&NONE) && selector.matches_everything());
            assert!(!selector.matches_nothing());
            assert_eq!(selector.to_string(), "");
        }
        assert!(!nothing().matches(&NONE) && !nothing().matches(&[("a", "b")]));
        assert!(nothing().matches_nothing() && !nothing().matches_everything());
        assert_eq!(nothing().to_string(), "");
        assert!(everything().and(everything()).matches_everything());
        assert!(nothing().and(everything()).matches_nothing());
    }

    #[test]
    fn a_set_selects_what_has_all_of_it() {
        let set =
            BTreeMap::from([("b".to_owned(), "2".to_owned()), ("a".to_owned(), "1".to_owned())]);
        let selector = Selector::from_set(set.clone());
        assert_eq!(selector.to_string(), "a=1,b=2");
        assert!(selector.matches(&set) && !selector.matches(&[("a", "1")]));
        assert!(selector.matches(&set.into_iter().collect::<HashMap<_, _>>()));
        assert!(Selector::equals("a", "").matches(&NONE));
        assert!(
            Selector::not_equals("a", "1").and(Selector::equals("b", "2")).matches(&[("b", "2")])
        );
    }

    #[test]
    fn a_required_value_comes_from_equality_only() {
        let selector = parse("x=,y!=1,z==3,z=4").unwrap();
        assert_eq!(selector.required_value("x"), Some(""));
        assert_eq!(selector.required_value("y"), None);
        assert_eq!(selector.required_value("z"), Some("4"), "terms are sorted as text");
        assert_eq!(selector.required_value("q"), None);
    }

    #[test]
    fn transform_renames_and_drops() {
        let selector = parse("x=1,y!=2").unwrap();
        let renamed = selector.transform(|field, value| Ok((format!("s.{field}"), value.into())));
        assert_eq!(renamed.unwrap().to_string(), "s.x=1,s.y!=2");
        let without = |drop: &'static str| {
            selector
                .transform(move |field, value| {
                    Ok(if drop.contains(field) {
                        Default::default()
                    } else {
                        (field.into(), value.into())
                    })
                })
                .unwrap()
        };
        assert_eq!(without("x").to_string(), "y!=2");
        assert!(without("xy").matches_everything());
        assert!(selector.transform(|_, _| Err(Error::Stopped)).is_err());
    }

    #[test]
    fn any_selector_survives_printing_and_reading() {
        let mut random = Random(7);
        let letters = ['a', '.', ',', '=', '\\', '!', ' ', '\u{e9}'];
        for _ in 0..5_000 {
            let terms = (0..random.below(4)).map(|_| {
                let value: String = (0..random.below(5)).map(|_| random.pick(&letters)).collect();
                let field = random.pick(&["metadata.name", "x", "y.z"]);
                if random.below(2) == 0 {
                    Selector::equals(field, value)
                } else {
                    Selector::not_equals(field, value)
                }
            });
            let selector = terms.fold(everything(), Selector::and);
            let read = parse(&selector.to_string()).unwrap();
            assert_eq!(read.terms().len(), selector.terms().len());
            assert!(selector.terms().iter().all(|term| read.terms().contains(term)));
            assert_eq!(parse(&read.to_string()).unwrap(), read);
        }
    }
}
