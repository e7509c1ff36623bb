//! The lists and maps that a template sees. Each knows its weight and its depth, so that a bound on
//! both is checked in one step wherever a template stores a value.
//!
//! The engine's own containers may be lazy and may share their parts; a template could double one
//! thirty times for nothing and then print it, or nest one so deeply that dropping it overflows the stack.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use indexmap::IndexMap;
use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr, Rest, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::python_filters::float_value;

/// Bytes of text plus one for each entry, counted as if nothing were shared.
pub const MAX_WEIGHT: u64 = 64 << 20;
pub const MAX_DEPTH: u32 = 200;
/// Entries of a list or a map that are paid for with one unit of fuel.
const ENTRIES_PER_FUEL: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    pub weight: u64,
    pub depth: u32,
}

impl Size {
    fn add(&mut self, part: Size) -> Result<(), Error> {
        self.weight = self.weight.saturating_add(part.weight.saturating_add(1));
        self.depth = self.depth.max(part.depth + 1);
        if self.weight > MAX_WEIGHT {
            return Err(limit(format!("a value is larger than {MAX_WEIGHT} bytes")));
        }
        if self.depth > MAX_DEPTH {
            return Err(limit(format!("a value is nested deeper than {MAX_DEPTH}")));
        }
        Ok(())
    }
}

fn limit(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// A list or, with other brackets, a tuple.
#[derive(Debug)]
pub struct List {
    pub items: Vec<Value>,
    pub is_tuple: bool,
    size: Size,
}

impl List {
    pub fn new(is_tuple: bool) -> List {
        List {
            items: Vec::new(),
            is_tuple,
            size: Size::default(),
        }
    }

    /// The item must be owned (see `own`).
    pub fn push(&mut self, item: Value) -> Result<(), Error> {
        self.size.add(size_of(&item))?;
        self.items.push(item);
        Ok(())
    }
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items.get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.items.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_tuple { "(" } else { "[" })?;
        for (at, item) in self.items.iter().enumerate() {
            let separator = if at > 0 { ", " } else { "" };
            write!(f, "{separator}{item:?}")?;
        }
        f.write_str(match (self.is_tuple, self.items.len()) {
            (false, _) => "]",
            (true, 1) => ",)",
            (true, _) => ")",
        })
    }
}

#[derive(Debug, Default)]
pub struct Map {
    entries: IndexMap<Value, Value>,
    size: Size,
}

impl Map {
    /// Both must be owned (see `own`).
    pub fn insert(&mut self, key: Value, value: Value) -> Result<(), Error> {
        self.size.add(size_of(&key))?;
        self.size.add(size_of(&value))?;
        self.entries.insert(key, value);
        Ok(())
    }
}

impl Object for Map {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.entries.get(key).cloned()
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.entries.get(&Value::from(key)).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.entries.keys().cloned().collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.entries.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, (key, value)) in self.entries.iter().enumerate() {
            let separator = if at > 0 { ", " } else { "" };
            write!(f, "{separator}{key:?}: {value:?}")?;
        }
        f.write_str("}")
    }
}

/// What `namespace()` makes: the only values that a template can change. Since no container and no
/// namespace can hold one, there are no cycles.
#[derive(Debug, Default)]
pub struct Namespace {
    attributes: Mutex<BTreeMap<String, Value>>,
}

impl Namespace {
    fn attributes(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Value>> {
        self.attributes
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn set(&self, name: &str, value: Value) {
        self.attributes().insert(name.to_owned(), value);
    }
}

impl Object for Namespace {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.attributes().get(key.as_str()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.attributes().keys().map(Value::from).collect())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<Namespace {")?;
        for (at, (name, value)) in self.attributes().iter().enumerate() {
            let separator = if at > 0 { ", " } else { "" };
            write!(f, "{separator}{:?}: {value:?}", Value::from(name.as_str()))?;
        }
        f.write_str("}>")
    }
}

/// The size of an owned value.
pub fn size_of(value: &Value) -> Size {
    if let Some(text) = value.as_str() {
        return Size {
            weight: text.len() as u64,
            depth: 0,
        };
    }
    match (
        value.downcast_object_ref::<List>(),
        value.downcast_object_ref::<Map>(),
    ) {
        (Some(list), _) => list.size,
        (_, Some(map)) => map.size,
        _ => Size::default(),
    }
}

/// The value with every container in it one of ours: what a template may keep in a variable. A
/// container that is ours already is returned as it is; the engine's is copied, and paid for.
pub fn own(state: &State, value: &Value) -> Result<Value, Error> {
    let is_ours = value.downcast_object_ref::<List>().is_some()
        || value.downcast_object_ref::<Map>().is_some()
        || value.downcast_object_ref::<Namespace>().is_some();
    match value.kind() {
        _ if is_ours => Ok(value.clone()),
        ValueKind::Seq | ValueKind::Iterable => {
            let mut list = List::new(value.is_tuple());
            for item in value.try_iter()?.checked() {
                if list.items.len() % ENTRIES_PER_FUEL == 0 {
                    state.consume_fuel(1)?;
                }
                list.push(own_part(state, &item?)?)?;
            }
            Ok(Value::from_object(list))
        }
        ValueKind::Map
            if value
                .downcast_object_ref::<IndexMap<Value, Value>>()
                .is_some() =>
        {
            let mut map = Map::default();
            for key in value.try_iter()?.checked() {
                let key = key?;
                state.consume_fuel(1)?;
                let item = value.get_item(&key)?;
                map.insert(own_part(state, &key)?, own_part(state, &item)?)?;
            }
            Ok(Value::from_object(map))
        }
        _ => Ok(value.clone()),
    }
}

/// The same for a value that becomes part of another one.
pub fn own_part(state: &State, value: &Value) -> Result<Value, Error> {
    if value.downcast_object_ref::<Namespace>().is_some() {
        return Err(limit("a namespace cannot be part of another value".into()));
    }
    own(state, value)
}

/// `namespace(map, name=value, ...)`.
pub fn namespace(state: &State, defaults: Option<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let namespace = Namespace::default();
    if let Some(defaults) = defaults {
        for key in defaults.try_iter()?.checked() {
            let key = key?;
            let value = own_part(state, &defaults.get_item(&key)?)?;
            namespace.set(&key.to_string(), value);
        }
    }
    for name in kwargs.args().map(str::to_owned).collect::<Vec<_>>() {
        namespace.set(&name, own_part(state, &kwargs.get::<Value>(&name)?)?);
    }
    Ok(Value::from_object(namespace))
}

/// `dict(map or pairs, name=value, ...)`.
pub fn dict(state: &State, from: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let mut map = Map::default();
    if from.len() > 1 {
        return Err(Error::from(ErrorKind::TooManyArguments));
    }
    if let Some(from) = from.first() {
        for item in from.try_iter()?.checked() {
            let item = item?;
            state.consume_fuel(1)?;
            let (key, value) = if from.kind() == ValueKind::Map {
                (item.clone(), from.get_item(&item)?)
            } else {
                (item.get_item_by_index(0)?, item.get_item_by_index(1)?)
            };
            map.insert(own_part(state, &key)?, own_part(state, &value)?)?;
        }
    }
    for name in kwargs.args().map(str::to_owned).collect::<Vec<_>>() {
        let value = own_part(state, &kwargs.get::<Value>(&name)?)?;
        map.insert(Value::from(name), value)?;
    }
    Ok(Value::from_object(map))
}

pub fn from_json(json: serde_json::Value) -> Result<Value, Error> {
    Ok(match json {
        serde_json::Value::Null => Value::from(()),
        serde_json::Value::Bool(value) => Value::from(value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::from(value),
            (None, Some(value)) => Value::from(value),
            (None, None) => float_value(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(value) => Value::from(value),
        serde_json::Value::Array(items) => {
            let mut list = List::new(false);
            for item in items {
                list.push(from_json(item)?)?;
            }
            Value::from_object(list)
        }
        serde_json::Value::Object(entries) => {
            let mut map = Map::default();
            for (key, item) in entries {
                map.insert(Value::from(key), from_json(item)?)?;
            }
            Value::from_object(map)
        }
    })
}
