//! Decoding with serde, which reads over what the type does not want without looking at it.
//!
//! Most types have few of the fields that the text has. serde_json reads every byte all the same; here the
//! large parts of objects are stepped over ([`Skips`]), and serde_json reads the rest.

use std::{borrow::Cow, marker::PhantomData, ops::Range};

use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor,
        value::{BorrowedStrDeserializer, StringDeserializer},
    },
};
use serde_json::{Error, de::StrRead};

use super::{scan::Members, skips::Skips};

/// A type with so many fields wants most of what there is, and serde_json is faster at that.
const MANY_FIELDS: usize = 12;

/// Decodes a text, of which `skips` is true.
///
/// What is skipped is not checked: it comes from a server that writes JSON.
pub(crate) fn decode<K: DeserializeOwned>(text: &str, skips: &Skips) -> Result<K, Error> {
    let part = Part { text, range: 0..text.len(), skips, level: PhantomData::<Top> };
    // What went wrong, and where, is best said by somebody who has read all of it.
    K::deserialize(part).or_else(|_| serde_json::from_str(text))
}

/// A value in a text.
struct Part<'a, L> {
    text: &'a str,
    range: Range<usize>,
    skips: &'a Skips,
    level: PhantomData<L>,
}

/// How deep a value is. All code is made for each level and each type on it, so that there are no more
/// levels than [`Skips`] are made for.
trait Level {
    type Below: Level;
    /// Whether to look for what can be skipped.
    const SKIPS: bool;
}

struct Top;
struct Member;
struct Below;

impl Level for Top {
    type Below = Member;
    const SKIPS: bool = true;
}

impl Level for Member {
    type Below = Below;
    const SKIPS: bool = true;
}

impl Level for Below {
    type Below = Self;
    const SKIPS: bool = false;
}

impl<'a, L> Part<'a, L> {
    /// Lets serde_json read it.
    fn read<T>(
        self,
        read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'a>>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let text = self.text.get(self.range).ok_or_else(malformed)?;
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = read(&mut reader)?;
        reader.end()?;
        Ok(read)
    }
}

impl<'a, L: Level> Part<'a, L> {
    /// Reads the members that the type wants, and steps over the others.
    fn read_members<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.text.get(..self.range.end).ok_or_else(malformed)?;
        let members = Members::skipping(text, self.range.start, self.skips);
        let members = members.map_err(|_| malformed())?;
        let mut fields = Fields { of: self, members, value: 0..0 };
        let read = visitor.visit_map(&mut fields)?;
        // There may be something wrong with what is left.
        if fields.members.next().is_none() { Ok(read) } else { Err(malformed()) }
    }
}

macro_rules! read_by_serde_json {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
            self.read(|reader| reader.$method(visitor))
        }
    )*};
}

impl<'a, L: Level> Deserializer<'a> for Part<'a, L> {
    type Error = Error;

    // Inlined, the number of fields is known, and a type with many is compiled to be read in one way only.
    #[inline]
    fn deserialize_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if !L::SKIPS || fields.len() > MANY_FIELDS || !self.skips.any_within(&self.range) {
            return self.read(|reader| reader.deserialize_struct(name, fields, visitor));
        }
        self.read_members(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.text.get(self.range.clone()) {
            Some("null") => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        // serde_json has types of its own that only it can read.
        if name.starts_with("$serde_json") {
            return self.read(|reader| reader.deserialize_newtype_struct(name, visitor));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.read(|reader| reader.deserialize_unit_struct(name, visitor))
    }

    fn deserialize_tuple<V: Visitor<'a>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.read(|reader| reader.deserialize_tuple(length, visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.read(|reader| reader.deserialize_tuple_struct(name, length, visitor))
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.read(|reader| reader.deserialize_enum(name, variants, visitor))
    }

    read_by_serde_json! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_unit deserialize_seq deserialize_map
        deserialize_identifier
    }
}

/// The members of an object, as serde asks for them.
struct Fields<'a, L> {
    of: Part<'a, L>,
    members: Members<'a>,
    /// Of the member whose key was asked for last.
    value: Range<usize>,
}

impl<'a, L: Level> MapAccess<'a> for &mut Fields<'a, L> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(member) = self.members.next() else { return Ok(None) };
        let member = member.map_err(|_| malformed())?;
        self.value = member.value;
        match member.key {
            Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
            Cow::Owned(key) => {
                let key: StringDeserializer<Error> = key.into_deserializer();
                seed.deserialize(key)
            }
        }
        .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Part { text, skips, .. } = self.of;
        let level = PhantomData::<L::Below>;
        seed.deserialize(Part { text, range: self.value.clone(), skips, level })
    }
}

fn malformed() -> Error {
    Error::custom("not JSON")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::value::RawValue;

    use super::*;
    use crate::json::outline::Outline;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase", default)]
    struct Lean {
        kind: String,
        spec: Spec,
        status: Option<Status>,
        missing: Option<u8>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase", default)]
    struct Spec {
        node_name: Option<String>,
        port: Port,
        containers: Vec<BTreeMap<String, serde_json::Value>>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    struct Port(u16);

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Status {
        Phase(String),
    }

    #[derive(Debug, Deserialize)]
    struct Raw {
        spec: Box<RawValue>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        kind: String,
    }

    /// With the skips that an object would have, and with those of every part that has any size.
    fn decoded<K: DeserializeOwned>(text: &str) -> [Result<K, Error>; 3] {
        let (outline, range) = Outline::of(text.as_bytes()).unwrap();
        let value = outline.value(text.as_bytes(), range);
        let parts = || {
            value.containers_within().flat_map(|part| {
                [part].into_iter().chain(part.containers_within()).map(|part| part.range())
            })
        };
        let large = |part: &Range<usize>| part.len() >= Skips::LEAST;
        [Skips::default(), Skips::new(parts().filter(large)), Skips::new(parts())]
            .map(|skips| decode(text, &skips))
    }

    #[test]
    fn any_type_reads_what_serde_json_reads() {
        let long = "x".repeat(100);
        let text = format!(
            r#"{{"kind":"Pod","metadata":{{"name":"{long}"}}, "spec" : {{"volumes":[{{"a":"{long}"}}],
            "node\u004eame":"n\"1","port":80,"containers":[{{"name":"c","env":[1,2.5]}}]}},"status":{{"phase":"{long}"}}}}"#
        );
        let expected: Lean = serde_json::from_str(&text).unwrap();
        assert_eq!(expected.spec.node_name.as_deref(), Some("n\"1"));
        for lean in decoded::<Lean>(&text) {
            assert_eq!(lean.unwrap(), expected);
        }
        for value in decoded::<serde_json::Value>(&text) {
            assert_eq!(value.unwrap(), serde_json::from_str::<serde_json::Value>(&text).unwrap());
        }
        for raw in decoded::<Raw>(&text) {
            assert!(raw.unwrap().spec.get().starts_with(r#"{"volumes":[{"#));
        }
        for unit in decoded::<serde::de::IgnoredAny>(&text) {
            assert!(unit.is_ok());
        }
    }

    #[test]
    fn what_does_not_fit_is_told_as_serde_json_tells_it() {
        let long = "x".repeat(100);
        for text in [
            format!(r#"{{"kind":1,"spec":{{"a":"{long}"}}}}"#),
            format!(r#"{{"kind":"a","kind":"b","spec":{{"a":"{long}"}}}}"#),
            format!(r#"{{"kind":"a","spec":{{"port":-1,"a":["{long}"]}}}}"#),
            format!(r#"{{"kind":"a","spec":"no","other":{{"a":"{long}"}}}}"#),
        ] {
            let expected = serde_json::from_str::<Lean>(&text).unwrap_err().to_string();
            for found in decoded::<Lean>(&text) {
                assert_eq!(found.unwrap_err().to_string(), expected, "{text}");
            }
            let expected = serde_json::from_str::<Strict>(&text).unwrap_err().to_string();
            for found in decoded::<Strict>(&text) {
                assert_eq!(found.unwrap_err().to_string(), expected, "{text}");
            }
        }
    }
}
