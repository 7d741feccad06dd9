//! JSON arguments as the values that a plain export takes (SPEC T7).
//!
//! Each value is checked by its type, whether or not a schema was asked before: an integer is exact or
//! refused, a character is one, no field is unknown. What is wrong is said with a JSON pointer.

use serde_json::{Map, Value};
use tidegate_contract::Problem;
use wasmtime::component::types::{ResultType, Variant};
use wasmtime::component::{Type, Val};

use super::schema::is_option;

/// Why arguments can't be handed over.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// One place does not fit its type.
    Problem(Problem),
    /// The values take more of the host's memory than a call may.
    TooMany,
}

/// The values of the parameters, in their order.
///
/// `room_bytes` bounds what they take in the host: many small numbers are much larger as values than
/// as text.
///
/// # Errors
///
/// [`Unfit`]: the first thing that is wrong.
pub(crate) fn values(
    parameters: &[(String, Type)],
    arguments: &Map<String, Value>,
    room_bytes: u64,
) -> Result<Vec<Val>, Unfit> {
    let mut reader = Reader {
        pointer: String::new(),
        room_bytes,
    };
    let values = reader.fields(
        parameters
            .iter()
            .map(|(name, of)| (name.as_str(), of.clone())),
        arguments,
    )?;
    Ok(values.into_iter().map(|(_, value)| value).collect())
}

struct Reader {
    /// Where the value stands, as a JSON pointer.
    pointer: String,
    room_bytes: u64,
}

impl Reader {
    fn problem(&self, expected: impl Into<String>) -> Unfit {
        Unfit::Problem(Problem {
            pointer: self.pointer.clone(),
            reason: expected.into(),
        })
    }

    /// Takes what `count` values need.
    fn take(&mut self, count: usize) -> Result<(), Unfit> {
        self.take_bytes(count.saturating_mul(size_of::<Val>()))
    }

    /// Takes what a value with a name of its own needs: a field, a case, a flag.
    fn take_named(&mut self, name: &str) -> Result<(), Unfit> {
        self.take_bytes(name.len().saturating_add(size_of::<(String, Val)>()))
    }

    fn take_bytes(&mut self, bytes: usize) -> Result<(), Unfit> {
        let left = self
            .room_bytes
            .checked_sub(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.room_bytes = left.ok_or(Unfit::TooMany)?;
        Ok(())
    }

    fn at(&mut self, key: &str, of: &Type, value: &Value) -> Result<Val, Unfit> {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer
            .push_str(&key.replace('~', "~0").replace('/', "~1"));
        let read = self.value(of, value);
        if read.is_ok() {
            self.pointer.truncate(length);
        }
        read
    }

    fn fields<'a>(
        &mut self,
        fields: impl Iterator<Item = (&'a str, Type)>,
        object: &Map<String, Value>,
    ) -> Result<Vec<(String, Val)>, Unfit> {
        let mut values = Vec::new();
        for (name, of) in fields {
            self.take_named(name)?;
            let value = match object.get(name) {
                Some(value) => self.at(name, &of, value)?,
                None if is_option(&of) => Val::Option(None),
                None => return Err(self.problem(format!("`{name}` is required"))),
            };
            values.push((name.to_owned(), value));
        }
        let unknown = object
            .keys()
            .find(|key| values.iter().all(|(name, _)| name != *key));
        match unknown {
            None => Ok(values),
            Some(key) => {
                let key: String = key.chars().filter(|c| !c.is_control()).take(64).collect();
                Err(self.problem(format!("unknown field `{key}`")))
            }
        }
    }

    fn value(&mut self, of: &Type, value: &Value) -> Result<Val, Unfit> {
        Ok(match of {
            Type::Bool => Val::Bool(
                value
                    .as_bool()
                    .ok_or_else(|| self.problem("expected true or false"))?,
            ),
            Type::S8 => Val::S8(self.signed(value)?),
            Type::S16 => Val::S16(self.signed(value)?),
            Type::S32 => Val::S32(self.signed(value)?),
            Type::S64 => Val::S64(self.signed(value)?),
            Type::U8 => Val::U8(self.unsigned(value)?),
            Type::U16 => Val::U16(self.unsigned(value)?),
            Type::U32 => Val::U32(self.unsigned(value)?),
            Type::U64 => Val::U64(self.unsigned(value)?),
            Type::Float32 => Val::Float32(self.single(value)?),
            Type::Float64 => Val::Float64(self.double(value)?),
            Type::Char => Val::Char(self.character(value)?),
            Type::String => Val::String(self.text(value)?.to_owned()),
            Type::List(list) => Val::List(self.list(&list.ty(), value)?),
            Type::Tuple(tuple) => {
                let types: Vec<Type> = tuple.types().collect();
                Val::Tuple(self.tuple(&types, value)?)
            }
            Type::Record(record) => {
                let object = self.object(value)?;
                Val::Record(
                    self.fields(record.fields().map(|field| (field.name, field.ty)), object)?,
                )
            }
            Type::Enum(names) => Val::Enum(self.name(names.names(), value)?),
            Type::Flags(names) => {
                let names: Vec<&str> = names.names().collect();
                Val::Flags(self.flags(&names, value)?)
            }
            Type::Variant(variant) => self.variant(variant, value)?,
            Type::Option(option) => Val::Option(self.option(&option.ty(), value)?),
            Type::Result(result) => self.result(result, value)?,
            _ => return Err(self.problem("this type has no JSON value")),
        })
    }

    fn signed<T: TryFrom<i64>>(&self, value: &Value) -> Result<T, Unfit> {
        let number = value.as_i64().and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.problem("expected an integer in the type's range"))
    }

    fn unsigned<T: TryFrom<u64>>(&self, value: &Value) -> Result<T, Unfit> {
        let number = value.as_u64().and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.problem("expected an integer in the type's range"))
    }

    fn double(&self, value: &Value) -> Result<f64, Unfit> {
        let number = value.as_f64().filter(|number| number.is_finite());
        number.ok_or_else(|| self.problem("expected a number"))
    }

    fn single(&self, value: &Value) -> Result<f32, Unfit> {
        // Through text: the nearest value of the narrower type without an `as`.
        let number = self.double(value)?.to_string().parse::<f32>().ok();
        number
            .filter(|number| number.is_finite())
            .ok_or_else(|| self.problem("the number is too large for 32 bits"))
    }

    fn text<'v>(&self, value: &'v Value) -> Result<&'v str, Unfit> {
        value
            .as_str()
            .ok_or_else(|| self.problem("expected a string"))
    }

    fn character(&self, value: &Value) -> Result<char, Unfit> {
        let mut characters = self.text(value)?.chars();
        match (characters.next(), characters.next()) {
            (Some(character), None) => Ok(character),
            _ => Err(self.problem("expected one character")),
        }
    }

    fn object<'v>(&self, value: &'v Value) -> Result<&'v Map<String, Value>, Unfit> {
        value
            .as_object()
            .ok_or_else(|| self.problem("expected an object"))
    }

    fn array<'v>(&self, value: &'v Value) -> Result<&'v [Value], Unfit> {
        let array = value.as_array().map(Vec::as_slice);
        array.ok_or_else(|| self.problem("expected an array"))
    }

    fn list(&mut self, of: &Type, value: &Value) -> Result<Vec<Val>, Unfit> {
        let items = self.array(value)?;
        self.take(items.len())?;
        let read = |(index, item): (usize, &Value)| self.at(&index.to_string(), of, item);
        items.iter().enumerate().map(read).collect()
    }

    fn tuple(&mut self, types: &[Type], value: &Value) -> Result<Vec<Val>, Unfit> {
        let items = self.array(value)?;
        if items.len() != types.len() {
            return Err(self.problem(format!("expected {} items", types.len())));
        }
        self.take(items.len())?;
        let both = types.iter().zip(items).enumerate();
        both.map(|(index, (of, item))| self.at(&index.to_string(), of, item))
            .collect()
    }

    fn name<'n>(
        &mut self,
        mut names: impl Iterator<Item = &'n str>,
        value: &Value,
    ) -> Result<String, Unfit> {
        let text = value.as_str();
        let name = names
            .find(|name| Some(*name) == text)
            .ok_or_else(|| self.problem("expected one of the enum's names"))?;
        self.take_named(name)?;
        Ok(name.to_owned())
    }

    fn flags(&mut self, names: &[&str], value: &Value) -> Result<Vec<String>, Unfit> {
        let items = self.array(value)?;
        let mut set: Vec<String> = Vec::new();
        for item in items {
            let name = self.name(names.iter().copied(), item)?;
            if set.contains(&name) {
                return Err(self.problem(format!("`{name}` stands twice")));
            }
            set.push(name);
        }
        Ok(set)
    }

    fn variant(&mut self, of: &Variant, value: &Value) -> Result<Val, Unfit> {
        let object = self.object(value)?;
        let tag = object.get("tag").and_then(Value::as_str);
        let Some(case) = of.cases().find(|case| Some(case.name) == tag) else {
            let names: Vec<&str> = of.cases().map(|case| case.name).collect();
            return Err(self.problem(format!("expected `tag` to be one of {}", names.join(", "))));
        };
        self.take_named(case.name)?;
        let (name, payload) = (case.name, &case.ty);
        let known = if payload.is_some() { 2 } else { 1 };
        if object.len() > known {
            return Err(self.problem("expected `tag` and the case's `val` alone"));
        }
        let value = match payload {
            None => None,
            Some(payload) => {
                let value = object
                    .get("val")
                    .ok_or_else(|| self.problem("`val` is required"))?;
                self.take(1)?;
                Some(Box::new(self.at("val", payload, value)?))
            }
        };
        Ok(Val::Variant(name.to_owned(), value))
    }

    fn option(&mut self, some: &Type, value: &Value) -> Result<Option<Box<Val>>, Unfit> {
        if value.is_null() {
            return Ok(None);
        }
        self.take(1)?;
        if !is_option(some) {
            return Ok(Some(Box::new(self.value(some, value)?)));
        }
        match self.only(value)? {
            ("some", inner) => Ok(Some(Box::new(self.at("some", some, inner)?))),
            _ => Err(self.problem("expected null or an object with the key `some`")),
        }
    }

    fn result(&mut self, of: &ResultType, value: &Value) -> Result<Val, Unfit> {
        let (key, inner) = self.only(value)?;
        Ok(Val::Result(match key {
            "ok" => Ok(self.payload("ok", of.ok().as_ref(), inner)?),
            "err" => Err(self.payload("err", of.err().as_ref(), inner)?),
            _ => return Err(self.problem("expected an object with the key `ok` or `err`")),
        }))
    }

    fn payload(
        &mut self,
        key: &str,
        of: Option<&Type>,
        value: &Value,
    ) -> Result<Option<Box<Val>>, Unfit> {
        match of {
            None if value.is_null() => Ok(None),
            None => Err(self.problem(format!("expected null in `{key}`"))),
            Some(of) => {
                self.take(1)?;
                Ok(Some(Box::new(self.at(key, of, value)?)))
            }
        }
    }

    /// The one entry of an object that has one.
    fn only<'v>(&self, value: &'v Value) -> Result<(&'v str, &'v Value), Unfit> {
        let object = self.object(value)?;
        let mut entries = object.iter();
        match (entries.next(), entries.next()) {
            (Some((key, value)), None) => Ok((key, value)),
            _ => Err(self.problem("expected an object with one key")),
        }
    }
}
