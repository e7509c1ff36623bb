//! Filters and tests that answer as Jinja2 on Python does, where the template engine's own differ.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Kwargs, Object, ObjectRepr, Rest, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State};

use crate::operators::text_of;
pub use crate::python_json::float_text;
use crate::python_json::tojson;
use crate::python_text::{is_space, pad};

/// Longest indent that a template may ask for.
const MAX_INDENT: usize = 1024;

pub fn add_to_environment(environment: &mut Environment) {
    // What Jinja2 does not have: a template that uses it would break elsewhere.
    environment.remove_global("debug");
    for name in ["bool", "chain", "lines", "split", "zip"] {
        environment.remove_filter(name);
    }
    environment.add_filter("truncate", minijinja_contrib::filters::truncate);
    environment.add_filter("striptags", minijinja_contrib::filters::striptags);
    environment.add_filter("filesizeformat", minijinja_contrib::filters::filesizeformat);
    environment.set_formatter(print_value);
    environment.add_filter("tojson", tojson);
    environment.add_filter("trim", trim);
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("indent", indent);
    environment.add_filter("center", center);
    for name in ["e", "escape"] {
        environment.add_filter(name, escape);
    }
    environment.add_filter("forceescape", |value: &Value| {
        Value::from_safe_string(escaped(&value.to_string()))
    });
    environment.add_filter("string", string);
    environment.add_filter("join", join);
    environment.add_test("iterable", is_iterable);
    environment.add_test("sequence", is_sequence);
    environment.add_test("number", is_number);
    environment.add_test("float", is_float);
    environment.add_test("callable", |value: &Value| value.kind() == ValueKind::Plain);
}

/// A float whose text has an exponent, which Python writes as 1e-05 and the engine in other ways. It is
/// an object, so that it prints right inside lists and maps too; such numbers are printed, as defaults
/// in the schema of a tool, and hardly ever computed with.
#[derive(Debug)]
pub struct ExponentFloat(pub f64);

impl Object for ExponentFloat {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&float_text(self.0))
    }
}

pub fn float_value(value: f64) -> Value {
    if float_text(value).contains('e') {
        Value::from_object(ExponentFloat(value))
    } else {
        Value::from(value)
    }
}

/// The float, if the value is one.
pub fn as_float(value: &Value) -> Option<f64> {
    if let Some(float) = value.downcast_object_ref::<ExponentFloat>() {
        return Some(float.0);
    }
    if value.kind() == ValueKind::Number && !value.is_integer() {
        return f64::try_from(value.clone()).ok();
    }
    None
}

/// Floats print as in Python; only inside an `autoescape` block is anything escaped.
fn print_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    let escapes = !matches!(state.auto_escape(), AutoEscape::None) && !value.is_safe();
    match as_float(value) {
        Some(float) => write!(out, "{}", float_text(float)),
        None if escapes => write!(out, "{}", escaped(&text_of(state, value)?)),
        None => write!(out, "{value}"),
    }
    .map_err(Error::from)
}

fn string(state: &State, value: &Value) -> Result<Value, Error> {
    if value.kind() == ValueKind::String {
        return Ok(value.clone());
    }
    text_of(state, value).map(Value::from)
}

fn join(
    state: &State,
    value: &Value,
    separator: Option<Value>,
    attribute: Option<Value>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    let option = |given: Option<Value>, name| match given {
        Some(given) => Ok(Some(given)),
        None => kwargs.get::<Option<Value>>(name),
    };
    let separator = option(separator, "d")?;
    let attribute = option(attribute, "attribute")?;
    kwargs.assert_all_used()?;
    let separator = separator.map_or(Ok(String::new()), |value| text_of(state, &value))?;
    let Some(path) = attribute else {
        return join_items(state, value, &separator);
    };
    let path = path.to_string();
    let mut items = Vec::new();
    for item in value.try_iter()?.checked() {
        state.consume_fuel(1)?;
        items.push(
            path.split('.')
                .try_fold(item?, |item, name| item.get_attr(name))?,
        );
    }
    join_items(state, &Value::from(items), &separator)
}

/// The texts of the items with the separator between them; paid for while it grows.
pub fn join_items(state: &State, items: &Value, separator: &str) -> Result<String, Error> {
    let mut out = String::new();
    for (at, item) in items.try_iter()?.checked().enumerate() {
        let item = text_of(state, &item?)?;
        state.consume_fuel(1 + (separator.len() + item.len()) as u64 / 64)?;
        if at > 0 {
            out.push_str(separator);
        }
        out.push_str(&item);
    }
    Ok(out)
}

fn escape(value: &Value) -> Value {
    if value.is_safe() {
        value.clone()
    } else {
        Value::from_safe_string(escaped(&value.to_string()))
    }
}

pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

fn trim(value: &Value, chars: Option<&str>) -> String {
    let text = value.to_string();
    match chars {
        Some(chars) => text.trim_matches(|c| chars.contains(c)).to_owned(),
        None => text.trim_matches(is_space).to_owned(),
    }
}

/// What is not a number becomes the default, 0 unless another is given.
fn int(
    state: &State,
    value: &Value,
    default: Option<Value>,
    base: Option<u32>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let value = as_float(value).map_or_else(|| value.clone(), Value::from);
    let default = match default {
        Some(default) => default,
        None => kwargs
            .get::<Option<Value>>("default")?
            .unwrap_or_else(|| Value::from(0)),
    };
    minijinja::filters::int(state, &value, Some(default), base, kwargs)
}

fn float(
    state: &State,
    value: &Value,
    default: Option<Value>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    if let Some(float) = as_float(value) {
        return Ok(float_value(float));
    }
    let default = match default {
        Some(default) => default,
        None => kwargs
            .get::<Option<Value>>("default")?
            .unwrap_or_else(|| Value::from(0.0)),
    };
    minijinja::filters::float(state, value, Some(default), kwargs)
}

fn indent(
    state: &State,
    text: &str,
    positional: Rest<Value>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    let option = |at: usize, name| match positional.get(at) {
        Some(given) => Ok(Some(given.clone())),
        None => kwargs.get::<Option<Value>>(name),
    };
    let width = option(0, "width")?;
    let first = option(1, "first")?.is_some_and(|value| value.is_true());
    let blank = option(2, "blank")?.is_some_and(|value| value.is_true());
    kwargs.assert_all_used()?;
    let indent = match &width {
        None => " ".repeat(4),
        Some(width) => match width.as_str() {
            Some(text) => text.to_owned(),
            None => {
                let width = i64::try_from(width.clone())?.clamp(0, MAX_INDENT as i64 + 1);
                " ".repeat(width as usize)
            }
        },
    };
    if indent.len() > MAX_INDENT {
        return Err(Error::new(ErrorKind::InvalidOperation, "indent: too wide"));
    }
    let lines = text.split('\n').count();
    // The result is paid for before it is made.
    state.consume_fuel((lines.saturating_mul(indent.len()) / 64) as u64)?;
    let mut out = String::with_capacity(text.len() + lines * indent.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if (at > 0 && (blank || !line.is_empty())) || (at == 0 && first) {
            out.push_str(&indent);
        }
        out.push_str(line);
    }
    Ok(out)
}

fn center(state: &State, value: &Value, width: Option<i64>) -> Result<Value, Error> {
    pad(
        state,
        &value.to_string(),
        "center",
        &[Value::from(width.unwrap_or(80))],
    )
}

/// The engine lets one iterate over nothing; in Python None and undefined values differ.
fn is_iterable(value: &Value) -> bool {
    !value.is_none() && value.try_iter().is_ok()
}

/// Jinja2 asks for a length and for items by key: text and maps have both.
fn is_sequence(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Undefined | ValueKind::String | ValueKind::Seq | ValueKind::Map => true,
        ValueKind::Iterable => value.len().is_some(),
        _ => false,
    }
}

fn is_number(value: &Value) -> bool {
    value.is_number() || value.kind() == ValueKind::Bool || as_float(value).is_some()
}

fn is_float(value: &Value) -> bool {
    as_float(value).is_some()
}
