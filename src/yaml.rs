//! YAML documents, with the line of every value.
//!
//! Scalars keep their text, so that a reader decides what a value is by the field it stands in
//! (`token: 0123` is a token, not a number). [`Node::to_json`] resolves them as Kubernetes does,
//! which is YAML 1.1. What a file can cost is bounded: nesting by [`MAX_DEPTH`], aliases by
//! [`ALIAS_BUDGET`], everything else is proportional to the input.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry as Slot},
    fmt,
};

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number};

/// How deep collections nest, with aliases followed.
const MAX_DEPTH: usize = 128;

/// How many bytes the copies made for anchors and aliases may take, about.
const ALIAS_BUDGET: usize = 16 << 20;

/// A value of a document.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar(Scalar),
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
}

/// Text whose meaning is not decided yet.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// Neither quoted nor tagged as a string: may stand for a number, a boolean or null.
    pub(crate) plain: bool,
}

/// A key of a mapping with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// What is not a string in YAML is one here: `1`, `true`.
    pub(crate) key: String,
    pub(crate) value: Node,
}

/// Text that is not YAML, or more than it may be. Never repeats the text.
#[derive(Clone, Debug)]
pub(crate) struct YamlError {
    line: usize,
    message: Cow<'static, str>,
}

/// Reads every document of `text`, leaving out the empty ones.
pub(crate) fn parse_documents(text: &str) -> Result<Vec<Node>, YamlError> {
    let mut parser = Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut composer = Composer::default();
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| YamlError {
            line: error.marker().line(),
            message: error.info().to_owned().into(),
        })?;
        composer.take(event, span.start.line())?;
    }
    Ok(composer.documents)
}

/// Decodes a file: UTF-8, or UTF-16 behind a byte order mark, as PowerShell's `>` writes it.
pub(crate) fn decode_text(bytes: &[u8]) -> Result<Cow<'_, str>, YamlError> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => {
            return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
                let before = &bytes[..error.valid_up_to()];
                let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
                YamlError { line, message: "not text: neither UTF-8 nor UTF-16".into() }
            });
        }
    };
    let units = bytes[2..].chunks(2).map(|pair| match *pair {
        [a, b] => unit([a, b]),
        // Half a character: an unpaired surrogate makes the decoder refuse it.
        _ => 0xd800,
    });
    char::decode_utf16(units)
        .collect::<Result<String, _>>()
        .map(Cow::Owned)
        .map_err(|_| YamlError { line: 1, message: "not text: broken UTF-16".into() })
}

impl Node {
    /// The value as JSON, by the rules Kubernetes' own YAML reader follows.
    ///
    /// `yes`, `on`, `y` are booleans, `0o17`, `017`, `0xf` and `0b1111` integers. Integers are
    /// exact as far as 64 bits go; beyond that, and for infinities, JSON has no number: larger ones
    /// become floats, infinities and NaN stay text.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Scalar(scalar) => scalar.to_json(),
            Value::Sequence(items) => items.iter().map(Self::to_json).collect(),
            Value::Mapping(entries) => {
                // One by one: to be collected, they would be sorted.
                let mut members = Map::new();
                for entry in entries {
                    members.insert(entry.key.clone(), entry.value.to_json());
                }
                members.into()
            }
        }
    }

    /// Whether this is null: `~`, `null`, or nothing at all.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.is_null())
    }

    fn depth(&self) -> usize {
        match &self.value {
            Value::Scalar(_) => 0,
            Value::Sequence(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Value::Mapping(entries) => {
                1 + entries.iter().map(|entry| entry.value.depth()).max().unwrap_or(0)
            }
        }
    }

    /// About how many bytes a copy takes.
    fn cost(&self) -> usize {
        size_of::<Self>()
            + match &self.value {
                Value::Scalar(scalar) => scalar.text.len(),
                Value::Sequence(items) => items.iter().map(Self::cost).sum(),
                Value::Mapping(entries) => entries.iter().map(Entry::cost).sum(),
            }
    }
}

impl Entry {
    fn cost(&self) -> usize {
        size_of::<String>() + self.key.len() + self.value.cost()
    }
}

impl Scalar {
    pub(crate) fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.text.as_str() {
            _ if !self.plain => None,
            "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
                Some(true)
            }
            "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off"
            | "OFF" => Some(false),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<Number> {
        if !self.plain || !self.text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        {
            return None;
        }
        let digits = self.text.replace('_', "");
        integer(&digits).or_else(|| float(&digits))
    }

    fn to_json(&self) -> serde_json::Value {
        if self.is_null() {
            return serde_json::Value::Null;
        }
        if let Some(value) = self.as_bool() {
            return value.into();
        }
        self.as_number().map_or_else(|| self.text.clone().into(), serde_json::Value::Number)
    }

    /// The text a mapping's key has in JSON.
    fn into_key(self) -> String {
        match self.to_json() {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        }
    }
}

/// Reads an integer with an optional sign and base: `0x`, `0o` or a bare `0`, `0b`.
fn integer(text: &str) -> Option<Number> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (digits, radix) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&unsigned[2..], 16),
        [b'0', b'o' | b'O', ..] => (&unsigned[2..], 8),
        [b'0', b'b' | b'B', ..] => (&unsigned[2..], 2),
        [b'0', _, ..] => (&unsigned[1..], 8),
        _ => (unsigned, 10),
    };
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        0_i64.checked_sub_unsigned(magnitude).map(Number::from)
    } else {
        Some(magnitude.into())
    }
}

/// Reads a decimal float; a whole one becomes an integer, as it does on its way through Go's JSON.
fn float(text: &str) -> Option<Number> {
    if !text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    // Exact in both types: below 2^53.
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

/// Builds documents from the parser's events without recursion.
#[derive(Default)]
struct Composer {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    /// Bytes spent on copies for anchors and aliases.
    copied: usize,
}

struct Anchored {
    node: Node,
    cost: usize,
    depth: usize,
}

/// A collection that has begun.
struct Open {
    line: usize,
    anchor: usize,
    items: Items,
}

enum Items {
    Sequence(Vec<Node>),
    Mapping(Mapping),
}

#[derive(Default)]
struct Mapping {
    entries: Vec<Entry>,
    index: HashMap<String, Known>,
    /// A key that waits for its value.
    key: Option<Key>,
}

enum Key {
    Text(String),
    /// `<<`: the value's entries become entries of this mapping.
    Merge,
}

#[derive(Clone, Copy)]
struct Known {
    at: usize,
    /// Written in this mapping and not merged into it.
    own: bool,
}

impl Composer {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(_) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar { text: text.into_owned(), plain: is_plain(style, tag) };
                self.place(Node { line, value: Value::Scalar(scalar) }, anchor)?;
            }
            Event::SequenceStart(anchor, _) => {
                self.begin(line, anchor, Items::Sequence(Vec::new()))?;
            }
            Event::MappingStart(anchor, _) => {
                self.begin(line, anchor, Items::Mapping(Mapping::default()))?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { line, anchor, items }) = self.open.pop() {
                    let value = match items {
                        Items::Sequence(items) => Value::Sequence(items),
                        Items::Mapping(mapping) => Value::Mapping(mapping.entries),
                    };
                    self.place(Node { line, value }, anchor)?;
                }
            }
            Event::Alias(anchor) => {
                let node = self.resolve(anchor, line)?;
                self.place(node, 0)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn begin(&mut self, line: usize, anchor: usize, items: Items) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlError::too_deep(line));
        }
        self.open.push(Open { line, anchor, items });
        Ok(())
    }

    /// Puts a complete value where it belongs: a key, a value, an item, or a whole document.
    fn place(&mut self, node: Node, anchor: usize) -> Result<(), YamlError> {
        if anchor != 0 {
            let (cost, depth) = (node.cost(), node.depth());
            self.spend(cost, node.line)?;
            self.anchors.insert(anchor, Anchored { node: node.clone(), cost, depth });
        }
        match self.open.last_mut().map(|open| &mut open.items) {
            Some(Items::Sequence(items)) => items.push(node),
            Some(Items::Mapping(mapping)) => mapping.take(node)?,
            None if matches!(&node.value, Value::Scalar(s) if s.plain && s.text.is_empty()) => {}
            None => self.documents.push(node),
        }
        Ok(())
    }

    fn resolve(&mut self, anchor: usize, line: usize) -> Result<Node, YamlError> {
        let Some(Anchored { cost, depth, .. }) = self.anchors.get(&anchor) else {
            return Err(YamlError { line, message: "an alias inside the value it names".into() });
        };
        if self.open.len() + depth > MAX_DEPTH {
            return Err(YamlError::too_deep(line));
        }
        self.spend(*cost, line)?;
        let mut node = self.anchors[&anchor].node.clone();
        node.line = line;
        Ok(node)
    }

    fn spend(&mut self, cost: usize, line: usize) -> Result<(), YamlError> {
        self.copied = self.copied.saturating_add(cost);
        if self.copied > ALIAS_BUDGET {
            return Err(YamlError { line, message: "aliases expand to too much".into() });
        }
        Ok(())
    }
}

impl Mapping {
    fn take(&mut self, node: Node) -> Result<(), YamlError> {
        match self.key.take() {
            None => self.key = Some(Key::of(node)?),
            Some(Key::Merge) => self.merge(node)?,
            Some(Key::Text(key)) => self.insert(key, node)?,
        }
        Ok(())
    }

    fn insert(&mut self, key: String, value: Node) -> Result<(), YamlError> {
        match self.index.entry(key.clone()) {
            Slot::Occupied(known) if known.get().own => {
                Err(YamlError { line: value.line, message: twice(&key).into() })
            }
            Slot::Occupied(mut known) => {
                known.get_mut().own = true;
                self.entries[known.get().at].value = value;
                Ok(())
            }
            Slot::Vacant(slot) => {
                slot.insert(Known { at: self.entries.len(), own: true });
                self.entries.push(Entry { key, value });
                Ok(())
            }
        }
    }

    /// Takes over the entries of one mapping or several, the earlier of which win.
    ///
    /// They also win over entries above the `<<`, which is kubectl's reading and not the YAML
    /// specification's: a file means the same to both of us.
    fn merge(&mut self, node: Node) -> Result<(), YamlError> {
        let line = node.line;
        let sources = match node.value {
            Value::Mapping(entries) => vec![entries],
            Value::Sequence(items) => items
                .into_iter()
                .map(|item| match item.value {
                    Value::Mapping(entries) => Ok(entries),
                    _ => Err(YamlError::merge(line)),
                })
                .collect::<Result<_, _>>()?,
            Value::Scalar(_) => return Err(YamlError::merge(line)),
        };
        for Entry { key, value } in sources.into_iter().rev().flatten() {
            match self.index.entry(key.clone()) {
                Slot::Occupied(known) => self.entries[known.get().at].value = value,
                Slot::Vacant(slot) => {
                    slot.insert(Known { at: self.entries.len(), own: false });
                    self.entries.push(Entry { key, value });
                }
            }
        }
        Ok(())
    }
}

/// Names the key if it looks like the name of a field. Of a broken file, anything may end up as a key.
fn twice(key: &str) -> String {
    if key.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_.".contains(&byte)) {
        format!("the key {key:?} is there twice")
    } else {
        "a key is there twice".to_owned()
    }
}

impl Key {
    fn of(node: Node) -> Result<Self, YamlError> {
        match node.value {
            Value::Scalar(scalar) if scalar.plain && scalar.text == "<<" => Ok(Self::Merge),
            Value::Scalar(scalar) => Ok(Self::Text(scalar.into_key())),
            Value::Sequence(_) | Value::Mapping(_) => {
                Err(YamlError { line: node.line, message: "a key must be a single value".into() })
            }
        }
    }
}

/// Whether a scalar may stand for something else than its text.
fn is_plain(style: ScalarStyle, tag: Option<Cow<'_, Tag>>) -> bool {
    match tag.as_deref() {
        Some(tag) if tag.is_yaml_core_schema() => {
            matches!(tag.suffix.as_str(), "int" | "float" | "bool" | "null")
        }
        // The lone `!` says: take it as it is written.
        Some(Tag { handle, suffix }) if handle.is_empty() && suffix == "!" => false,
        _ => style == ScalarStyle::Plain,
    }
}

impl YamlError {
    fn too_deep(line: usize) -> Self {
        Self { line, message: format!("nested more than {MAX_DEPTH} levels deep").into() }
    }

    fn merge(line: usize) -> Self {
        Self { line, message: "`<<` wants a mapping or a list of mappings".into() }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for YamlError {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn json(text: &str) -> serde_json::Value {
        let documents = parse_documents(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(documents.len(), 1, "{text}");
        documents[0].to_json()
    }

    fn error(text: &str) -> String {
        parse_documents(text).expect_err(text).to_string()
    }

    #[test]
    fn scalars_resolve_as_kubernetes_resolves_them() {
        let table = [
            ("~", json!(null)),
            ("null", json!(null)),
            ("'null'", json!("null")),
            ("yes", json!(true)),
            ("y", json!(true)),
            ("Off", json!(false)),
            ("oFF", json!("oFF")),
            ("\"true\"", json!("true")),
            ("!!str true", json!("true")),
            ("!!int \"7\"", json!(7)),
            ("12", json!(12)),
            ("-12", json!(-12)),
            ("+12", json!(12)),
            ("1_000", json!(1000)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("017", json!(15)),
            ("-017", json!(-15)),
            ("08", json!(8)),
            ("0b101", json!(5)),
            ("0", json!(0)),
            ("18446744073709551615", json!(18446744073709551615_u64)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("3.0", json!(3)),
            ("1e3", json!(1000)),
            ("-1.5e-3", json!(-0.0015)),
            (".inf", json!(".inf")),
            ("1.2.3", json!("1.2.3")),
            ("0x", json!("0x")),
            ("0x-1", json!("0x-1")),
            ("--1", json!("--1")),
            ("-", json!([null])),
            ("1e", json!("1e")),
            ("inf", json!("inf")),
            ("2001-12-14", json!("2001-12-14")),
            ("100m", json!("100m")),
            ("12:30:45", json!("12:30:45")),
        ];
        for (text, value) in table {
            assert_eq!(json(text), value, "{text}");
        }
    }

    #[test]
    fn keys_become_strings() {
        assert_eq!(
            json("1: a\nyes: b\n1.5: c\n~: d\n'1.50': e"),
            json!({"1": "a", "true": "b", "1.5": "c", "null": "d", "1.50": "e"})
        );
        assert!(error("? [a]\n: b").contains("line 1: a key must be a single value"));
    }

    #[test]
    fn json_is_yaml_tabs_included() {
        assert_eq!(
            json("{\n\t\"a\": [1, true, null, \"x\\ty\\u00e9\"],\n\t\"b\": {}\n}\n"),
            json!({"a": [1, true, null, "x\ty\u{e9}"], "b": {}})
        );
    }

    #[test]
    fn every_value_knows_its_line() {
        let documents = parse_documents("# one\na: 1\nb:\n- x\n- y: |\n    z\n").unwrap();
        let Value::Mapping(entries) = &documents[0].value else { panic!() };
        assert_eq!(entries[0].value.line, 2);
        let Value::Sequence(items) = &entries[1].value.value else { panic!() };
        assert_eq!((items[0].line, items[1].line), (4, 5));
    }

    #[test]
    fn empty_documents_are_left_out() {
        let documents = parse_documents("---\n# none\n---\na: 1\n---\n---\n- 2\n...\n").unwrap();
        let values: Vec<_> = documents.iter().map(Node::to_json).collect();
        assert_eq!(values, [json!({"a": 1}), json!([2])]);
        assert!(parse_documents("").unwrap().is_empty());
        assert!(parse_documents("\u{feff}# only a comment\n").unwrap().is_empty());
    }

    #[test]
    fn a_key_twice_is_an_error_with_its_line() {
        assert_eq!(error("a: 1\nb: 2\na: 3\n"), "line 3: the key \"a\" is there twice");
        assert_eq!(error("{1: a, '1': b}"), "line 1: a key is there twice");
        assert_eq!(
            error("t0k3n: 1\nt0k3n: 2\n"),
            "line 2: a key is there twice",
            "who knows what it is"
        );
    }

    #[test]
    fn aliases_repeat_their_anchor() {
        assert_eq!(
            json("a: &x [1, {b: 2}]\nc: *x\n"),
            json!({"a": [1, {"b": 2}], "c": [1, {"b": 2}]})
        );
        assert!(error("a: *x").contains("line 1: "));
        assert_eq!(error("a: &x [1, *x]"), "line 1: an alias inside the value it names");
        assert!(error("&x a\n---\n*x\n").starts_with("line 3: "));
    }

    #[test]
    fn merge_keys_follow_kubectl() {
        let bases = "- &a {x: 1, k: 1}\n- &b {k: 2, z: 2}\n- ";
        let merged = |text: &str| json(&format!("{bases}{text}\n"))[2].clone();
        assert_eq!(merged("{<<: *a, k: 3}"), json!({"x": 1, "k": 3}));
        assert_eq!(merged("{k: 3, <<: *a}"), json!({"x": 1, "k": 1}));
        assert_eq!(merged("{<<: [*a, *b]}"), json!({"x": 1, "k": 1, "z": 2}));
        assert_eq!(merged("{'<<': 1}"), json!({"<<": 1}));
        assert_eq!(error("<<: 1"), "line 1: `<<` wants a mapping or a list of mappings");
        assert!(error("<<: [1]").contains("`<<` wants a mapping"));
        assert!(error(&format!("{bases}{{<<: *a, q: 1, q: 2}}")).contains("\"q\" is there twice"));
    }

    #[test]
    fn a_bomb_of_aliases_is_an_error_and_not_memory() {
        let mut bomb = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
        for level in 1..20 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
        }
        assert!(error(&bomb).ends_with("aliases expand to too much"));

        let wide = format!("- &a {}\n{}", "x".repeat(1 << 20), "- *a\n".repeat(100));
        assert!(error(&wide).ends_with("aliases expand to too much"));
    }

    #[test]
    fn nesting_is_bounded_with_aliases_followed() {
        assert!(parse_documents(&("[".repeat(128) + &"]".repeat(128))).is_ok());
        for open in ["[", "{a: ", "- ", "? "] {
            let text = error(&open.repeat(100_000));
            assert!(text.contains("deep") || text.contains("recursion"), "{open}: {text}");
        }
        let mut chain = String::from("- &a0 [x]\n");
        for level in 1..200 {
            chain.push_str(&format!("- &a{level} [*a{}]\n", level - 1));
        }
        assert!(error(&chain).ends_with("nested more than 128 levels deep"));
    }

    #[test]
    fn what_is_not_yaml_is_an_error_with_its_line() {
        for (text, line) in [("a: b: c", 1), ("x: [1,\ny: 2", 2), ("a: 1\nb: %c", 2), ("a: 'x", 1)]
        {
            let error = error(text);
            assert!(error.starts_with(&format!("line {line}: ")), "{text:?}: {error}");
        }
    }

    #[test]
    fn utf16_with_a_byte_order_mark_is_text() {
        for (mark, bytes) in [
            ([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
            ([0xfe, 0xff], u16::to_be_bytes),
        ] {
            let mut file = mark.to_vec();
            file.extend("a: \u{1f600}".encode_utf16().flat_map(bytes));
            assert_eq!(decode_text(&file).unwrap(), "a: \u{1f600}");
            file.push(0);
            assert!(decode_text(&file).unwrap_err().to_string().contains("broken UTF-16"));
        }
        assert_eq!(decode_text(b"\xef\xbb\xbfa: 1").unwrap(), "\u{feff}a: 1");
        assert!(decode_text(b"a\nb\xff").unwrap_err().to_string().starts_with("line 2: not text"));
    }

    /// No input makes the parser panic or run away: random bytes and mutated YAML.
    #[test]
    fn nothing_panics_on_noise() {
        let seed_text = "a: &x [1, 'b', \"c\"]\n? {d: e}\n: |-\n  f\n--- !t\n*x : <<\n%TAG ! x\n";
        let alphabet = seed_text.as_bytes();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        for _ in 0..20_000 {
            let mut text = alphabet[next(20)..alphabet.len() - next(20)].to_vec();
            for _ in 0..next(12) {
                let at = next(text.len());
                text[at] = alphabet[next(alphabet.len())];
            }
            if let Ok(text) = std::str::from_utf8(&text) {
                for document in parse_documents(text).into_iter().flatten() {
                    document.to_json();
                }
            }
        }
    }
}
