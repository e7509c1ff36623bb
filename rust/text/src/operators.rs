//! Operators with Python's meaning, on values whose size is bounded (values.rs).
//!
//! program.rs lets a template's operators call these functions. Their names are no identifiers, so a
//! template can neither call nor replace them.

use minijinja::formatting::{format, FormatStyle};
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

use crate::python_filters::{as_float, escaped, float_text, float_value};
use crate::values::{self, own, own_part, size_of, List, Namespace};

pub const ADD: &str = "+";
pub const MULTIPLY: &str = "*";
pub const REMAINDER: &str = "%";
pub const JOIN: &str = "~";
pub const CONTAINS: &str = "in";
/// Makes a value fit to be kept in a variable.
pub const STORE: &str = "=";
pub const SET_ATTRIBUTE: &str = ".=";
/// Stands for every way to load another template.
pub const LOAD_TEMPLATE: &str = "@";
/// Pays for a comparison with the value.
pub const PAY: &str = "$";
/// Pays for taking an item out of the value.
pub const PAY_ITEM: &str = "$[]";

/// Longest text that one operation may make.
const MAX_TEXT: usize = values::MAX_WEIGHT as usize;

pub fn add_to_environment(environment: &mut Environment) {
    environment.add_function(ADD, add);
    environment.add_function(MULTIPLY, multiply);
    environment.add_function(REMAINDER, remainder);
    environment.add_function(JOIN, join);
    environment.add_function(CONTAINS, contains);
    environment.add_function(STORE, own);
    environment.add_function(SET_ATTRIBUTE, set_attribute);
    environment.add_function(LOAD_TEMPLATE, |name: &Value| -> Result<Value, Error> {
        Err(invalid(format!(
            "a chat template cannot load another template: {name}"
        )))
    });
    environment.add_function(PAY, |state: &State, value: &Value| {
        state.consume_fuel(size_of(value).weight / 64)
    });
    environment.add_function(PAY_ITEM, |state: &State, value: &Value| {
        match value.kind() {
            ValueKind::String => state.consume_fuel(size_of(value).weight / 64),
            ValueKind::Iterable => state.consume_fuel(value.len().unwrap_or(0) as u64 / 4),
            _ => Ok(()),
        }
    });
    environment.add_function("namespace", values::namespace);
    environment.add_function("dict", values::dict);
}

/// The text of any value, as `str` makes it. The text of a container is paid for before it is made.
pub fn text_of(state: &State, value: &Value) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    if let Some(float) = as_float(value) {
        return Ok(float_text(float));
    }
    let value = own(state, value)?;
    state.consume_fuel(size_of(&value).weight / 4)?;
    Ok(value.to_string())
}

fn join(state: &State, left: &Value, right: &Value) -> Result<String, Error> {
    let (mut left, right) = (text_of(state, left)?, text_of(state, right)?);
    pay_for_text(state, left.len() + right.len())?;
    left.push_str(&right);
    Ok(left)
}

/// Refuses text that is too long before it is made.
fn pay_for_text(state: &State, size: usize) -> Result<(), Error> {
    if size > MAX_TEXT {
        return Err(invalid(format!("a text is longer than {MAX_TEXT} bytes")));
    }
    state.consume_fuel(size as u64 / 64)
}

fn set_attribute(state: &State, value: &Value, target: &Value, name: &str) -> Result<(), Error> {
    let namespace = target.downcast_object_ref::<Namespace>().ok_or_else(|| {
        invalid(format!(
            "can only assign to namespaces, not {}",
            target.kind()
        ))
    })?;
    namespace.set(name, own_part(state, value)?);
    Ok(())
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn impossible(operator: &str, left: &Value, right: &Value) -> Error {
    invalid(format!(
        "tried to use {operator} operator on unsupported types {} and {}",
        left.kind(),
        right.kind()
    ))
}

enum Number {
    Int(i128),
    Float(f64),
}

fn number(value: &Value) -> Option<Number> {
    if let Some(float) = as_float(value) {
        return Some(Number::Float(float));
    }
    match value.kind() {
        ValueKind::Bool => Some(Number::Int(i128::from(value.is_true()))),
        ValueKind::Number => i128::try_from(value.clone()).ok().map(Number::Int),
        _ => None,
    }
}

/// The two as integers or, if one is a float, as floats.
fn numbers(left: &Value, right: &Value) -> Option<(Number, Number)> {
    Some(match (number(left)?, number(right)?) {
        (Number::Int(left), Number::Float(right)) => {
            (Number::Float(left as f64), Number::Float(right))
        }
        (Number::Float(left), Number::Int(right)) => {
            (Number::Float(left), Number::Float(right as f64))
        }
        same => same,
    })
}

fn int_value(result: Option<i128>) -> Result<Value, Error> {
    let result =
        result.ok_or_else(|| invalid("the result of an integer operation is too large"))?;
    Ok(i64::try_from(result).map_or_else(|_| Value::from(result), Value::from))
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn add(state: &State, left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(first), Some(second)) = (left.as_str(), right.as_str()) {
        return add_text(state, (first, left.is_safe()), (second, right.is_safe()));
    }
    if is_list(left) && is_list(right) {
        return add_lists(state, left, right);
    }
    match numbers(left, right) {
        Some((Number::Int(a), Number::Int(b))) => int_value(a.checked_add(b)),
        Some((Number::Float(a), Number::Float(b))) => Ok(float_value(a + b)),
        _ => Err(impossible("+", left, right)),
    }
}

/// Adding to a string that is marked safe escapes the other one, also where escaping is off.
fn add_text(state: &State, first: (&str, bool), second: (&str, bool)) -> Result<Value, Error> {
    let size = first.0.len() + second.0.len();
    pay_for_text(state, size)?;
    match (first.1, second.1) {
        (false, false) => Ok(Value::from([first.0, second.0].concat())),
        _ => {
            let part =
                |(text, safe): (&str, bool)| if safe { text.to_owned() } else { escaped(text) };
            Ok(Value::from_safe_string(part(first) + &part(second)))
        }
    }
}

fn add_lists(state: &State, left: &Value, right: &Value) -> Result<Value, Error> {
    let (owned_left, owned_right) = (own(state, left)?, own(state, right)?);
    let (Some(first), Some(second)) = (
        owned_left.downcast_object_ref::<List>(),
        owned_right.downcast_object_ref::<List>(),
    ) else {
        return Err(impossible("+", left, right));
    };
    if first.is_tuple != second.is_tuple {
        return Err(impossible("+", left, right));
    }
    repeated(state, &[first, second], 1)
}

fn multiply(state: &State, left: &Value, right: &Value) -> Result<Value, Error> {
    for (value, times) in [(left, right), (right, left)] {
        let count = match number(times) {
            Some(Number::Int(count)) => usize::try_from(count.max(0)).unwrap_or(usize::MAX),
            _ => continue,
        };
        if let Some(text) = value.as_str() {
            pay_for_text(state, text.len().saturating_mul(count))?;
            let result = text.repeat(count);
            return Ok(match value.is_safe() {
                true => Value::from_safe_string(result),
                false => Value::from(result),
            });
        }
        if is_list(value) {
            let owned = own(state, value)?;
            let list = owned.downcast_object_ref::<List>();
            let list = list.ok_or_else(|| impossible("*", left, right))?;
            return repeated(state, &[list], count);
        }
    }
    match numbers(left, right) {
        Some((Number::Int(a), Number::Int(b))) => int_value(a.checked_mul(b)),
        Some((Number::Float(a), Number::Float(b))) => Ok(float_value(a * b)),
        _ => Err(impossible("*", left, right)),
    }
}

fn repeated(state: &State, parts: &[&List], times: usize) -> Result<Value, Error> {
    let length: usize = parts.iter().map(|part| part.items.len()).sum();
    state.consume_fuel(length.saturating_mul(times) as u64 / 4)?;
    let mut result = List::new(parts[0].is_tuple);
    if length > 0 {
        for _ in 0..times {
            for item in parts.iter().flat_map(|part| part.items.iter()) {
                result.push(item.clone())?;
            }
        }
    }
    Ok(Value::from_object(result))
}

fn remainder(state: &State, left: &Value, right: &Value) -> Result<Value, Error> {
    if let Some(pattern) = left.as_str() {
        state.consume_fuel(pattern.len() as u64 / 4)?;
        let owned = own(state, right)?;
        let arguments = match owned.downcast_object_ref::<List>() {
            Some(list) if list.is_tuple => list.items.clone(),
            _ => vec![owned.clone()],
        };
        return format_text(state, FormatStyle::Printf, pattern, &arguments);
    }
    match numbers(left, right) {
        Some((Number::Int(_), Number::Int(0))) => Err(invalid("modulo by zero")),
        Some((Number::Int(a), Number::Int(b))) => {
            let rest = a.checked_rem(b).unwrap_or(0);
            int_value(Some(if rest != 0 && (rest < 0) != (b < 0) {
                rest + b
            } else {
                rest
            }))
        }
        Some((Number::Float(_), Number::Float(b))) if b == 0.0 => Err(invalid("modulo by zero")),
        Some((Number::Float(a), Number::Float(b))) => {
            let rest = a % b;
            Ok(float_value(if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
                rest + b
            } else {
                rest
            }))
        }
        _ => Err(impossible("%", left, right)),
    }
}

fn contains(state: &State, needle: &Value, container: &Value) -> Result<bool, Error> {
    let cost = 1 + size_of(needle).weight / 64;
    match (container.kind(), container.as_str(), container.as_object()) {
        (ValueKind::Undefined, ..) => Ok(false),
        (_, Some(text), _) => {
            let needle = needle.as_str().ok_or_else(|| {
                invalid(format!(
                    "'in <string>' requires a string, not {}",
                    needle.kind()
                ))
            })?;
            state.consume_fuel(text.len() as u64 / 64)?;
            Ok(text.contains(needle))
        }
        (ValueKind::Map, _, Some(map)) => {
            state.consume_fuel(cost)?;
            Ok(map.get_value(needle).is_some())
        }
        (ValueKind::Seq | ValueKind::Iterable, ..) => {
            for item in container.try_iter()?.checked() {
                state.consume_fuel(cost)?;
                if item? == *needle {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (kind, ..) => Err(invalid(format!(
            "a value of type {kind} cannot contain another"
        ))),
    }
}

/// Formatting with a pattern. A width or a precision makes text out of nothing, so they are bounded
/// first and must be written in the pattern.
pub fn format_text(
    state: &State,
    style: FormatStyle,
    pattern: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    let wide = match style {
        FormatStyle::Printf => has_wide_conversion(pattern),
        FormatStyle::StrFormat => has_wide_field(pattern),
    };
    if wide {
        return Err(invalid(
            "format: a width is too large or is taken from an argument",
        ));
    }
    let mut weight = 0;
    let mut owned = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let argument = if argument.is_kwargs() {
            argument.clone()
        } else {
            own(state, argument)?
        };
        weight += size_of(&argument).weight;
        owned.push(argument);
    }
    // Each place may print the largest argument once, or a number in full width.
    let places = pattern.matches(['%', '{']).count() as u64;
    state.consume_fuel((weight + 10_u64.pow(MAX_DIGITS)).saturating_mul(places) / 64)?;
    format(style, pattern, &owned).map(Value::from)
}

/// Digits of a width or a precision.
const MAX_DIGITS: u32 = 3;

fn has_long_number(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit())
        .any(|run| run.len() > MAX_DIGITS as usize)
}

/// Of "%(name)-12.3d" and the like.
fn has_wide_conversion(pattern: &str) -> bool {
    pattern.replace("%%", "").split('%').skip(1).any(|rest| {
        let rest = match rest.strip_prefix('(') {
            Some(name) => name.split_once(')').map_or("", |(_, rest)| rest),
            None => rest,
        };
        let end = rest
            .find(|c: char| !"+-# 0123456789.*".contains(c))
            .unwrap_or(rest.len());
        rest[..end].contains('*') || has_long_number(&rest[..end])
    })
}

/// Of "{name:>12.3f}" and the like; a field within a field takes its width from an argument.
fn has_wide_field(pattern: &str) -> bool {
    let plain = pattern.replace("{{", "");
    plain
        .split('{')
        .skip(1)
        .any(|rest| match rest.split_once('}') {
            Some((field, _)) => field
                .split_once(':')
                .is_some_and(|(_, spec)| has_long_number(spec)),
            None => true,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_bounded() {
        assert!(!has_wide_conversion(
            "in 20260: %s, %05.2f, 100%% * %(count)d"
        ));
        assert!(has_wide_conversion("%99999d"));
        assert!(has_wide_conversion("%*d"));
        assert!(has_wide_conversion("%(name)-99999s"));
        assert!(!has_wide_field(
            "in 20260: {}, {{}}, {:05.2f}, {name!r:>10}"
        ));
        assert!(has_wide_field("{:99999}"));
        assert!(has_wide_field("{:{}}"));
    }
}
