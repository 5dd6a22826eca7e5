//! Reading JSON for serde.
//!
//! It reads what serde_json reads and tells what is wrong as serde_json tells it. But serde makes code for each
//! type and each reader, and of k8s-openapi's types there are many, so that here as much as can be is in functions
//! that know of no type: a program has half the code for its types that it would have with serde_json. The other
//! reason is that large parts of objects are stepped over ([`Skips`]).

use std::borrow::Cow;

use memchr::{memchr_iter, memrchr};
use serde::{
    Deserializer,
    de::{
        DeserializeSeed, Error as _, Expected, MapAccess, SeqAccess, Unexpected, Visitor,
        value::{BorrowedStrDeserializer, MapDeserializer},
    },
};
use serde_json::{Error, Number, Value, de::StrRead, value::RawValue};

use super::{
    map_key::MapKey,
    scan::{ends_scalar, skip_white_space, value_end},
    skips::Skips,
};

/// How many containers may be in one another, as in serde_json: each takes room on the stack.
const MOST_NESTED: u8 = 127;

/// What reads a text, from its beginning on.
pub(super) struct Reader<'a> {
    text: &'a str,
    /// What is read next: the first byte of a value, whenever serde asks for one.
    at: usize,
    skips: &'a Skips,
    /// How many containers it is in.
    depth: u8,
    /// What is not JSON is told by serde_json, which has a name for everything.
    is_malformed: bool,
    /// What was found to be wrong when a value had been made of it already.
    late: Option<Error>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, skips: &'a Skips) -> Self {
        let at = skip_white_space(text.as_bytes(), 0);
        Self { text, at, skips, depth: 0, is_malformed: false, late: None }
    }

    /// Says whether all of it was right.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.skip_white_space();
        if let Some(late) = self.late.take() {
            return Err(late);
        }
        if self.at == self.text.len() {
            return Ok(());
        }
        let error = self.malformed();
        Err(self.explain(error))
    }

    /// Says what was wrong.
    pub(super) fn explain(self, error: Error) -> Error {
        // What is wrong after that is a consequence of it.
        if let Some(late) = self.late {
            return late;
        }
        if !self.is_malformed {
            return error;
        }
        serde_json::from_str::<Value>(self.text).err().unwrap_or(error)
    }

    fn skip_white_space(&mut self) {
        self.at = skip_white_space(self.text.as_bytes(), self.at);
    }

    /// The next byte, or one that begins nothing at the end of the text.
    #[inline]
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Steps over a value.
    fn skip(&mut self) -> Result<(), Error> {
        let known = matches!(self.peek(), b'{' | b'[').then(|| self.skips.end(self.at)).flatten();
        let end = known.or_else(|| value_end(self.text.as_bytes(), self.at).ok());
        // Nothing that is not JSON may lead out of the text.
        self.at = end.filter(|end| *end <= self.text.len()).ok_or_else(|| self.malformed())?;
        Ok(())
    }

    /// Steps over a value, and says what it was.
    fn cut(&mut self) -> Result<&'a str, Error> {
        let start = self.at;
        self.skip()?;
        self.text.get(start..self.at).ok_or_else(|| self.malformed())
    }

    fn word(&mut self, word: &str) -> Result<(), Error> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.malformed());
        }
        self.at += word.len();
        Ok(())
    }

    /// Whether there is a null, which it steps over.
    fn null(&mut self) -> Result<bool, Error> {
        match self.peek() {
            b'n' => self.word("null").map(|()| true),
            _ => Ok(false),
        }
    }

    fn boolean(&mut self) -> Result<bool, Error> {
        let is_true = self.peek() == b't';
        self.word(if is_true { "true" } else { "false" })?;
        Ok(is_true)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        let start = self.at;
        let (mut at, mut has_escapes) = (start + 1, false);
        let text = self.text.as_bytes();
        let end = loop {
            let Some(found) = text.get(at..).and_then(find_special) else {
                return Err(self.malformed());
            };
            at += found;
            match text[at] {
                b'"' => break at,
                b'\\' => (at, has_escapes) = (at + 2, true),
                _ => return Err(self.malformed()),
            }
        };
        self.at = end + 1;
        if !has_escapes {
            return match self.text.get(start + 1..end) {
                Some(text) => Ok(Cow::Borrowed(text)),
                None => Err(self.malformed()),
            };
        }
        let quoted = self.text.get(start..=end).unwrap_or_default();
        serde_json::from_str(quoted).map(Cow::Owned).map_err(|_| self.malformed())
    }

    fn number(&mut self) -> Result<Number, Error> {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().position(|&byte| ends_scalar(byte)).unwrap_or(rest.len());
        let text = self.text.get(self.at..self.at + length).unwrap_or_default();
        self.at += length;
        match text.as_bytes() {
            [digit @ b'0'..=b'9'] => return Ok(u64::from(digit - b'0').into()),
            [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => {
                if let Ok(number) = text.parse::<u64>() {
                    return Ok(number.into());
                }
            }
            _ => {}
        }
        serde_json::from_str(text).map_err(|_| self.malformed())
    }

    fn begin(&mut self) -> Result<(), Error> {
        if self.depth == MOST_NESTED {
            return Err(self.malformed());
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Goes to the next item of a container, unless it is over.
    fn next(&mut self, place: &mut Place, end: u8) -> Result<bool, Error> {
        self.skip_white_space();
        let byte = self.peek();
        match place {
            Place::Over => return Ok(false),
            _ if byte == end => {
                self.at += 1;
                *place = Place::Over;
                return Ok(false);
            }
            Place::Later if byte == b',' => {
                self.at += 1;
                self.skip_white_space();
            }
            Place::Later => return Err(self.malformed()),
            Place::First => *place = Place::Later,
        }
        Ok(true)
    }

    /// Goes to the next key of an object, unless it is over.
    fn next_key(&mut self, place: &mut Place) -> Result<Option<Cow<'a, str>>, Error> {
        if !self.next(place, b'}')? {
            return Ok(None);
        }
        if self.peek() != b'"' {
            return Err(self.malformed());
        }
        self.string().map(Some)
    }

    /// Goes from a key to its value.
    fn next_value(&mut self) -> Result<(), Error> {
        self.skip_white_space();
        if self.peek() != b':' {
            return Err(self.malformed());
        }
        self.at += 1;
        self.skip_white_space();
        Ok(())
    }

    /// Leaves a container of which a value was made, or could not be.
    fn end(&mut self, place: Place, end: u8, is_read: bool) {
        self.depth -= 1;
        if place == Place::Over {
            return;
        }
        self.skip_white_space();
        let byte = self.peek();
        if byte == end {
            self.at += 1;
            return;
        }
        if byte == b',' && end == b']' {
            self.at += 1;
            self.skip_white_space();
        }
        if is_read && self.late.is_none() {
            // Not everybody reads to the end.
            let is_comma = byte == b',' && end == b'}';
            let what = if is_comma { "trailing comma" } else { "trailing characters" };
            self.at += 1;
            self.late = Some(self.placed(Error::custom(what)));
        }
    }

    /// Something else is there than was expected.
    #[cold]
    fn unexpected(&mut self, expected: &dyn Expected) -> Error {
        let told = match self.peek() {
            b'n' => self.null().map(|_| Error::invalid_type(Unexpected::Unit, expected)),
            b't' | b'f' => {
                self.boolean().map(|is| Error::invalid_type(Unexpected::Bool(is), expected))
            }
            b'"' => self.string().map(|text| Error::invalid_type(Unexpected::Str(&text), expected)),
            b'[' => Ok(Error::invalid_type(Unexpected::Seq, expected)),
            b'{' => Ok(Error::invalid_type(Unexpected::Map, expected)),
            b'-' | b'0'..=b'9' => self.number().map(|number| {
                let float = Unexpected::Float(number.as_f64().unwrap_or_default());
                let signed = number.as_i64().map(Unexpected::Signed);
                let unsigned = number.as_u64().map(Unexpected::Unsigned);
                Error::invalid_type(unsigned.or(signed).unwrap_or(float), expected)
            }),
            _ => Err(self.malformed()),
        };
        told.map_or_else(|error| error, |error| self.placed(error))
    }

    #[cold]
    fn malformed(&mut self) -> Error {
        self.is_malformed = true;
        Error::custom("not JSON")
    }

    /// Says where it was, if that is not known yet.
    #[cold]
    fn placed(&self, error: Error) -> Error {
        if error.line() > 0 {
            return error;
        }
        let (line, column) = self.place_of(self.at);
        // serde_json finds the place in the text.
        Error::custom(format_args!("{error} at line {line} column {column}"))
    }

    /// Says where it was, of what was wrong in a part that begins at `start`.
    #[cold]
    fn placed_within(&self, start: usize, error: Error) -> Error {
        if error.line() == 0 {
            return self.placed(error);
        }
        let (line, column) = self.place_of(start);
        let column = if error.line() == 1 { column + error.column() } else { error.column() };
        let line = line + error.line() - 1;
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
        Error::custom(format_args!("{what} at line {line} column {column}"))
    }

    /// The line and the column.
    fn place_of(&self, at: usize) -> (usize, usize) {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line_start = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        (1 + memchr_iter(b'\n', before).count(), before.len() - line_start)
    }
}

/// Tells of a number as what it is.
pub(super) fn visit_number<'de, V: Visitor<'de>>(
    number: &Number,
    visitor: V,
) -> Result<V::Value, Error> {
    if let Some(number) = number.as_u64() {
        return visitor.visit_u64(number);
    }
    if let Some(number) = number.as_i64() {
        return visitor.visit_i64(number);
    }
    // With all the digits that a program may want to be kept there are numbers that are no `f64`.
    let number = number.as_f64().ok_or_else(|| Error::custom("number out of range"))?;
    visitor.visit_f64(number)
}

/// Where the first quote, backslash or control character is.
fn find_special(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
    // A byte that is less, and perhaps some after it, gets its high bit.
    let less = |word: u64, than: u64| word.wrapping_sub(than) & !word & HIGHS;
    let mut at = 0;
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*bytes);
        let found = less(word ^ QUOTES, ONES) | less(word ^ BACKSLASHES, ONES) | less(word, SPACES);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let found = text[at..].iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '));
    found.map(|found| at + found)
}

// What follows is made for each type: it only calls what is above.
impl<'a> Reader<'a> {
    fn read_object<V: Visitor<'a>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.begin()?;
        let mut items = Items { reader: self, place: Place::First };
        let read = visitor.visit_map(&mut items);
        let place = items.place;
        self.end(place, b'}', read.is_ok());
        read.map_err(|error| self.placed(error))
    }

    fn read_array<V: Visitor<'a>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.begin()?;
        let mut items = Items { reader: self, place: Place::First };
        let read = visitor.visit_seq(&mut items);
        let place = items.place;
        self.end(place, b']', read.is_ok());
        read.map_err(|error| self.placed(error))
    }

    fn read_string<V: Visitor<'a>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
        .map_err(|error| self.placed(error))
    }

    fn read_number<V: Visitor<'a>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.unexpected(&visitor));
        }
        let number = self.number()?;
        visit_number(&number, visitor).map_err(|error| self.placed(error))
    }

    /// Lets serde_json read it.
    fn read_by_serde_json<T>(
        &mut self,
        read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'a>>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let start = self.at;
        let mut reader = serde_json::Deserializer::from_str(self.cut()?);
        let read = read(&mut reader).and_then(|read| reader.end().map(|()| read));
        read.map_err(|error| self.placed_within(start, error))
    }
}

macro_rules! read_as {
    ($how:ident: $($method:ident)*) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
            self.$how(visitor)
        }
    )*};
}

macro_rules! read_by_serde_json {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
            self.read_by_serde_json(|reader| reader.$method(visitor))
        }
    )*};
}

impl<'a> Deserializer<'a> for &mut Reader<'a> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let read = match self.peek() {
            b'{' => return self.read_object(visitor),
            b'[' => return self.read_array(visitor),
            b'"' => return self.read_string(visitor),
            b'n' => self.word("null").and_then(|()| visitor.visit_unit()),
            b't' | b'f' => self.boolean().and_then(|is| visitor.visit_bool(is)),
            // It gives its digits to whoever asks for them.
            _ => self.number().and_then(|number| number.deserialize_any(visitor)),
        };
        read.map_err(|error| self.placed(error))
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.peek() {
            b'{' => self.read_object(visitor),
            b'[' => self.read_array(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            b'{' => self.read_object(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            b'[' => self.read_array(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'a>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        // A text of serde_json's that is kept as it is.
        if name.starts_with("$serde_json") {
            let start = self.at;
            let raw: Result<&RawValue, _> = serde_json::from_str(self.cut()?);
            let raw = raw.map_err(|error| self.placed_within(start, error))?;
            let raw = BorrowedStrDeserializer::new(raw.get());
            return visitor.visit_map(MapDeserializer::new([(name, raw)].into_iter()));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        self.skip()?;
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            b't' | b'f' => visitor.visit_bool(self.boolean()?).map_err(|error| self.placed(error)),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            b'"' => self.read_string(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_unit<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.null()? {
            true => visitor.visit_unit().map_err(|error| self.placed(error)),
            false => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.read_by_serde_json(|reader| reader.deserialize_enum(name, variants, visitor))
    }

    read_as! { read_number:
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }
    read_as! { deserialize_str: deserialize_string deserialize_char deserialize_identifier }
    read_by_serde_json! { deserialize_i128 deserialize_u128 deserialize_bytes deserialize_byte_buf }
}

/// The items of a container, as serde asks for them.
struct Items<'r, 'a> {
    reader: &'r mut Reader<'a>,
    place: Place,
}

/// Where in a container.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    First,
    Later,
    Over,
}

impl<'a> MapAccess<'a> for &mut Items<'_, 'a> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        match self.reader.next_key(&mut self.place)? {
            Some(key) => seed.deserialize(MapKey(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.reader.next_value()?;
        seed.deserialize(&mut *self.reader)
    }
}

impl<'a> SeqAccess<'a> for &mut Items<'_, 'a> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        match self.reader.next(&mut self.place, b']')? {
            true => seed.deserialize(&mut *self.reader).map(Some),
            false => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fmt};

    use serde::{Deserialize, de::DeserializeOwned};

    use super::*;
    use crate::json::decode::decode;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "they are printed")]
    #[serde(rename_all = "camelCase")]
    struct All {
        text: String,
        number: Option<i32>,
        #[serde(default)]
        float: f32,
        #[serde(default)]
        large: u128,
        #[serde(default)]
        is: bool,
        nothing: Option<()>,
        letter: Option<char>,
        pair: Option<(u8, String)>,
        choice: Option<Choice>,
        any: Option<Any>,
        by_number: Option<BTreeMap<i16, u8>>,
        by_choice: Option<BTreeMap<Word, u8>>,
        by_truth: Option<BTreeMap<bool, Option<u8>>>,
        raw: Option<Box<RawValue>>,
        value: Option<Value>,
        inner: Option<Box<Self>>,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "they are printed")]
    enum Choice {
        Unit,
        New(u8),
        Tuple(u8, u8),
        Struct { a: u8 },
    }

    #[derive(Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
    #[serde(rename_all = "camelCase")]
    enum Word {
        One,
        Two,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "they are printed")]
    #[serde(untagged)]
    enum Any {
        Number(i64),
        Float(f64),
        Text(String),
        List(Vec<Self>),
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "they are printed")]
    #[serde(deny_unknown_fields)]
    struct Strict {
        a: u8,
        b: Option<Vec<Self>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "String")]
    struct Even(#[expect(dead_code, reason = "it is printed")] String);

    impl TryFrom<String> for Even {
        type Error = &'static str;

        fn try_from(text: String) -> Result<Self, Self::Error> {
            if text.len().is_multiple_of(2) { Ok(Self(text)) } else { Err("odd") }
        }
    }

    /// Made from a text without a copy of it.
    #[derive(Debug)]
    struct Length(#[expect(dead_code, reason = "it is printed")] usize);

    impl<'de> Deserialize<'de> for Length {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            <&'de str>::deserialize(deserializer).map(|text| Self(text.len()))
        }
    }

    #[derive(Debug)]
    struct RawLength(#[expect(dead_code, reason = "it is printed")] usize);

    impl<'de> Deserialize<'de> for RawLength {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            <&'de RawValue>::deserialize(deserializer).map(|raw| Self(raw.get().len()))
        }
    }

    fn both<K: DeserializeOwned + fmt::Debug>(text: &str) -> [Result<String, String>; 2] {
        let told = |result: Result<K, Error>| match result {
            Ok(read) => Ok(format!("{read:?}")),
            Err(error) => Err(format!("{error}, {} {}", error.line(), error.column())),
        };
        [told(decode(text, &Skips::default())), told(serde_json::from_str(text))]
    }

    #[track_caller]
    fn same<K: DeserializeOwned + fmt::Debug>(texts: &[&str]) {
        for text in texts {
            let [found, expected] = both::<K>(text);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn every_type_is_read_as_serde_json_reads_it() {
        same::<All>(&[
            r#"{"text":"a"}"#,
            " {\n\t\"text\" : \"a\\n\\u00e9é\\ud83d\\ude00\" ,\r\n \"number\" : -7 } \n",
            r#"{"text":"","float":1.5e3,"large":340282366920938463463374607431768211455,"is":true}"#,
            r#"{"text":"","nothing":null,"letter":"x","pair":[1,"b"],"number":null}"#,
            r#"{"text":"","choice":"Unit"}"#,
            r#"{"text":"","choice":{"New":1}}"#,
            r#"{"text":"","choice":{"Tuple":[1,2]}}"#,
            r#"{"text":"","choice":{"Struct":{"a":1}}}"#,
            r#"{"text":"","any":[1,-1,0,-0,1.5,"x",[],18446744073709551615,1e3]}"#,
            r#"{"text":"","byNumber":{"1":1,"-30":2},"byChoice":{"one":1,"two":2}}"#,
            r#"{"text":"","byTruth":{"true":1,"false":null}}"#,
            r#"{"text":"","raw": [ 1, {"a" :2}] ,"value":{"a":[1,2.5,"x",null,true,{}]}}"#,
            r#"{"text":"","inner":{"text":"b","inner":null},"\u0066urther":[{}],"more":0}"#,
        ]);
        same::<Strict>(&[r#"[1,[]]"#, r#"{"a":1,"b":[{"a":2,"b":[]}]}"#, r#"{"b":null,"a":255}"#]);
        same::<Vec<f64>>(&["[]", "[0,1.1,-2e-7,123456789012345678901234567890,0.1e1]"]);
        same::<Vec<i64>>(&["[9223372036854775807,-9223372036854775808,0,10]"]);
        same::<Vec<Even>>(&[r#"["ab","","\n\n"]"#]);
        same::<(Length, Length)>(&[r#"["ab",""]"#]);
        same::<RawLength>(&["[1]", r#" {"a" : 1} "#]);
        same::<String>(&[r#""12345678\n""#, r#""1234567\\89012345678""#, r#""é2345678é""#]);
        same::<()>(&["null"]);
    }

    #[test]
    fn what_does_not_fit_is_told_as_serde_json_tells_it() {
        same::<All>(&[
            "1",
            "[]",
            "{}",
            r#"{"text":null}"#,
            r#"{"text":1.5}"#,
            r#"{"text":{"a":1}}"#,
            "{\"text\"\n:\n[1]}",
            r#"{"text":"a","text":"b"}"#,
            r#"{"text":"a", "number" : "1" }"#,
            r#"{"text":"a","number":3000000000}"#,
            r#"{"text":"a","number":1.5}"#,
            r#"{"text":"a","is":0}"#,
            r#"{"text":"a","letter":"ab"}"#,
            r#"{"text":"a","nothing":false}"#,
            r#"{"text":"a","pair":[1]}"#,
            r#"{"text":"a","pair":"x"}"#,
            r#"{"text":"a","choice":"None"}"#,
            "{\"text\":\"a\",\n \"choice\":{\"Struct\":{\"a\":\n-1}}}",
            r#"{"text":"a","any":{}}"#,
            r#"{"text":"a","byChoice":{"three":1}}"#,
            r#"{"text":"a","inner":{"text":"b","inner":{"text":3}}}"#,
            "{\"text\":\"a\",\n\"inner\":{\"number\":1}\n}",
        ]);
        same::<Strict>(&[
            r#"{"a":1,"c":2}"#,
            r#"{"a":1 , "c" : 2}"#,
            r#"{"a":256}"#,
            r#"{"a":1,"b":[{"a":1},{"b":[]}]}"#,
            "[1]",
            "[1,[],2]",
        ]);
        same::<Vec<Even>>(&[r#"["a"]"#, "[\"ab\",\n \"abc\" ]", r#"["abc", "x"]"#]);
        same::<Vec<(u8,)>>(&["[[1,22],[3]]", "[[1]x]", "[[1,{]]"]);
        // A reader of its own that takes one member.
        same::<Value>(&[r#"{"$serde_json::private::RawValue":"1","b":2}"#]);
        for key in ["1 ", r"\u0031", "1x", " 1", "+1", "01", "x", "99999", ""] {
            let [found, expected] = both::<BTreeMap<i16, u8>>(&format!(r#"{{"{key}":1}}"#));
            assert!(found.is_err() && expected.is_err(), "{key}: {found:?}, {expected:?}");
        }
        same::<Vec<u8>>(&["{}", "[1,-1]", "[1.0]", "[null]", r#"["a"]"#]);
        same::<BTreeMap<String, Even>>(&[r#"{"a":"b"}"#, r#"{"a":"b" , "c":""}"#]);
        same::<(Length, Length)>(&[r#"["a"]"#, r#"["a","b","c"]"#]);
    }

    #[test]
    fn what_is_not_json_is_told_as_serde_json_tells_it() {
        let deep = "[".repeat(200);
        let texts = [
            "",
            " ",
            "{",
            "[",
            "nul",
            "tru",
            "-",
            "01",
            "1.",
            "1e999",
            "\"",
            "\"a\nb\"",
            r#""\q""#,
            r#""\ud800""#,
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":1 "b":2}"#,
            r#"{a:1}"#,
            "[1,]",
            "[1 2]",
            "[,]",
            "{} {}",
            "[1]x",
            "nullx",
            &deep,
        ];
        same::<Value>(&texts);
        for text in texts {
            assert!(both::<Strict>(text)[0].is_err(), "{text}");
            assert!(both::<Vec<Value>>(text)[0].is_err(), "{text}");
            assert!(both::<String>(text)[0].is_err(), "{text}");
        }
        same::<All>(&[
            r#"{"text":"a","number":01}"#,
            r#"{"text":"a"}}"#,
            r#"{"text":"a","is":tru}"#,
        ]);
    }
}
