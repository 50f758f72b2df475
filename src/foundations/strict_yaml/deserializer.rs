//! Deserialises a tree into serde's types; errors have the place of the offending value.

use serde::de::value::{
    BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer, StrDeserializer,
};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::error::{Error, Fault};
use crate::field::Step;
use crate::form::{ARGUMENT, ONE_OR_MANY, SCALAR, SHORTHAND, VERBATIM};
use crate::plain::Meaning;
use crate::tree::{Content, Entry, Node};

/// The forms of values in `form`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Scalar,
    Argument,
    Verbatim,
    OneOrMany,
}

/// A value to read.
#[derive(Clone, Copy)]
pub(crate) struct Value<'de> {
    node: &'de Node<'de>,
    form: Form,
}

impl<'de> Value<'de> {
    pub(crate) fn new(node: &'de Node<'de>) -> Self {
        let form = Form::Plain;
        Self { node, form }
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.content {
            Content::Scalar {
                text,
                quoted: false,
                ..
            } => match Meaning::of_unquoted(text) {
                Meaning::Nothing => visitor.visit_unit(),
                Meaning::Truth(value) => visitor.visit_bool(value),
                Meaning::Whole(number) => visitor.visit_u64(number),
                Meaning::Negative(number) => visitor.visit_i64(number),
                Meaning::Fraction(number) => visitor.visit_f64(number),
                Meaning::Text => visitor.visit_borrowed_str(text),
            },
            Content::Scalar { text, .. } => visitor.visit_borrowed_str(text),
            Content::Sequence(items) => {
                let mut items = Items::new(items, true);
                let value = visitor.visit_seq(&mut items)?;
                match items.rest {
                    [] => Ok(value),
                    _ => Err(Error::unfit(&format!("a list of length {}", items.index))),
                }
            }
            Content::Mapping(entries) => visitor.visit_map(Entries {
                rest: entries,
                value: None,
            }),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Content::Scalar { text, quoted, .. } = &self.node.content else {
            return Err(Error::unfit(match self.form {
                Form::Scalar => "a text or a whole number",
                _ => "a text",
            }));
        };
        let meaning = if *quoted {
            Meaning::Text
        } else {
            Meaning::of_unquoted(text)
        };
        match (self.form, meaning) {
            (_, Meaning::Text) | (Form::Verbatim, _) => visitor.visit_borrowed_str(text),
            (Form::Scalar | Form::Argument, Meaning::Whole(number)) => {
                visitor.visit_string(number.to_string())
            }
            (Form::Scalar | Form::Argument, Meaning::Negative(number)) => {
                visitor.visit_string(number.to_string())
            }
            (Form::Scalar, _) => Err(Error::unfit("a text or a whole number")),
            _ => Err(Error::new(Fault::Unquoted {
                text: text.clone().into_owned(),
            })),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.content {
            Content::Scalar { .. } | Content::Mapping(_) if self.form == Form::OneOrMany => {
                visitor.visit_seq(&mut Items::new(std::slice::from_ref(self.node), false))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    /// Refuses lists, which serde would take for the fields in the order of the source text.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.node.content {
            Content::Mapping(_) => self.deserialize_any(visitor),
            _ => Err(Error::unfit("a map")),
        }
    }

    // Keys without values have been refused before.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let form = match name {
            SCALAR => Form::Scalar,
            ARGUMENT => Form::Argument,
            VERBATIM => Form::Verbatim,
            ONE_OR_MANY => Form::OneOrMany,
            _ => self.form,
        };
        visitor.visit_newtype_struct(Self { form, ..self })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.node.content {
            content if name == SHORTHAND => {
                let is_full = matches!(content, Content::Mapping(_));
                let variant = if is_full { "Full" } else { "Short" };
                let entry = (variant, Self::new(self.node));
                let entries = MapDeserializer::new(std::iter::once(entry));
                visitor.visit_enum(MapAccessDeserializer::new(entries))
            }
            Content::Scalar { text, .. } => visitor.visit_enum(StrDeserializer::new(text)),
            _ => Err(Error::unfit("a word")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        tuple tuple_struct map identifier ignored_any
    }
}

/// The entries of a list; a single value in place of a list has no index.
struct Items<'de> {
    rest: &'de [Node<'de>],
    index: usize,
    is_list: bool,
}

impl<'de> Items<'de> {
    fn new(rest: &'de [Node<'de>], is_list: bool) -> Self {
        let index = 0;
        Self {
            rest,
            index,
            is_list,
        }
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some((node, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        let (index, is_list) = (self.index, self.is_list);
        (self.rest, self.index) = (rest, index + 1);
        let read = seed.deserialize(Value::new(node)).map_err(|error| {
            let error = error.at_node(node);
            if is_list {
                error.under_step(Step::Index(index))
            } else {
                error
            }
        });
        read.map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The entries of a mapping.
struct Entries<'de> {
    rest: &'de [Entry<'de>],
    /// The entry whose key was read last.
    value: Option<&'de Entry<'de>>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((entry, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        (self.rest, self.value) = (rest, Some(entry));
        let key = seed.deserialize(BorrowedStrDeserializer::new(&entry.key));
        let key = key.map_err(|error: Error| {
            let step = Step::Key(entry.key.clone().into_owned());
            error.with_extent(entry.extent).under_step(step)
        });
        key.map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let entry = self.value.take();
        let entry = entry.ok_or_else(|| Error::custom("a value without a key"))?;
        let value = seed.deserialize(Value::new(&entry.value));
        value.map_err(|error| {
            let step = Step::Key(entry.key.clone().into_owned());
            error.at_node(&entry.value).under_step(step)
        })
    }
}

impl<'de> IntoDeserializer<'de, Error> for Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
