//! The key of a member of a JSON object, for serde.

use std::borrow::Cow;

use serde::{
    Deserializer,
    de::{Error as _, Unexpected, Visitor, value::CowStrDeserializer},
    forward_to_deserialize_any,
};
use serde_json::Error;

use super::reader::visit_number;

/// A key: always a string, which may stand for something else as it does for serde_json.
pub(super) struct MapKey<'a>(pub(super) Cow<'a, str>);

impl<'de> MapKey<'de> {
    fn read_number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visit_number(&self.parse()?, visitor)
    }

    fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        let is_number = matches!(&self.0, Cow::Borrowed(key)
            if key.starts_with(|first: char| first == '-' || first.is_ascii_digit())
                && key.ends_with(|last: char| last.is_ascii_digit()));
        let number = is_number.then(|| serde_json::from_str(&self.0).ok()).flatten();
        number.ok_or_else(|| Error::custom("invalid value: expected key to be a number in quotes"))
    }
}

macro_rules! read_numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.read_number(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for MapKey<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(key) => visitor.visit_borrowed_str(key),
            Cow::Owned(key) => visitor.visit_string(key),
        }
    }

    // The names of fields: in one way only, because of all the comparisons that there are in it.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(&self.0)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &*self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(Error::invalid_type(Unexpected::Str(other), &visitor)),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i128(self.parse()?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u128(self.parse()?)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(key) => visitor.visit_borrowed_bytes(key.as_bytes()),
            Cow::Owned(key) => visitor.visit_byte_buf(key.into_bytes()),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(CowStrDeserializer::new(self.0))
    }

    read_numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }
    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct ignored_any
    }
}
