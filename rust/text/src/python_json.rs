//! `tojson` as chat templates expect it: Python's `json.dumps` with `ensure_ascii=False`.

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::python_filters::as_float;

/// Deeper values come only from a template that nests its own lists.
const MAX_DEPTH: usize = 200;
/// Fuel that one byte of output costs, as a fraction: the engine charges as much for its own filter.
const BYTES_PER_FUEL: usize = 4;
const MAX_INDENT: usize = 64;

struct Layout {
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

/// The filter; its parameters may be given by position or by name, as in transformers.
pub fn tojson(
    state: &State,
    value: &Value,
    positional: Rest<Value>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    if positional.len() > 4 {
        return Err(Error::from(ErrorKind::TooManyArguments));
    }
    let option = |position: usize, name| match positional.get(position) {
        Some(given) => Ok(Some(given.clone())),
        None => kwargs.get::<Option<Value>>(name),
    };
    let is_true = |option: Option<Value>| option.is_some_and(|value| value.is_true());
    let indent = indent_text(option(1, "indent")?)?;
    let (item_separator, key_separator) =
        separator_pair(option(2, "separators")?, indent.is_some())?;
    let layout = Layout {
        ensure_ascii: is_true(option(0, "ensure_ascii")?),
        indent,
        item_separator,
        key_separator,
        sort_keys: is_true(option(3, "sort_keys")?),
    };
    kwargs.assert_all_used()?;
    let mut writer = Writer {
        out: String::new(),
        layout,
        state,
        paid: 0,
    };
    writer.value(value, 0)?;
    writer.pay()?;
    Ok(Value::from(writer.out))
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn indent_text(option: Option<Value>) -> Result<Option<String>, Error> {
    let Some(value) = option.filter(|value| !value.is_none()) else {
        return Ok(None);
    };
    let text = match value.as_str() {
        Some(text) => text.to_owned(),
        None => " ".repeat(i64::try_from(value)?.clamp(0, MAX_INDENT as i64 + 1) as usize),
    };
    if text.len() > MAX_INDENT {
        return Err(invalid("tojson: the indent is too long"));
    }
    Ok(Some(text))
}

fn separator_pair(option: Option<Value>, indented: bool) -> Result<(String, String), Error> {
    let Some(pair) = option.filter(|value| !value.is_none()) else {
        return Ok((if indented { "," } else { ", " }.into(), ": ".into()));
    };
    let pair: Vec<String> = pair.try_iter()?.map(|part| part.to_string()).collect();
    match <[String; 2]>::try_from(pair) {
        Ok([item, key]) => Ok((item, key)),
        Err(_) => Err(invalid("tojson: separators must be a pair of strings")),
    }
}

struct Writer<'a, 'b, 'c> {
    out: String,
    layout: Layout,
    state: &'a State<'b, 'c>,
    paid: usize,
}

impl Writer<'_, '_, '_> {
    /// Pays for what was written since the last time, so that a huge result is stopped while it grows.
    fn pay(&mut self) -> Result<(), Error> {
        let fuel = (self.out.len() - self.paid) / BYTES_PER_FUEL;
        self.paid = self.out.len();
        self.state.consume_fuel(fuel as u64)
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(invalid("tojson: the value is nested too deeply"));
        }
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self
                .out
                .push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.out.push_str(&number(value)),
            ValueKind::String => self.string(value.as_str().unwrap_or("")),
            ValueKind::Seq | ValueKind::Iterable => self.list(value, depth)?,
            ValueKind::Map => self.map(value, depth)?,
            ValueKind::Plain if as_float(value).is_some() => self.out.push_str(&number(value)),
            other => {
                return Err(invalid(format!(
                    "tojson: a value of type {other} is not JSON serializable"
                )))
            }
        }
        Ok(())
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = &self.layout.indent {
            self.out.push('\n');
            for _ in 0..depth {
                self.out.push_str(indent);
            }
        }
    }

    fn list(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        self.out.push('[');
        let mut empty = true;
        for item in value.try_iter()?.checked() {
            if !empty {
                self.out.push_str(&self.layout.item_separator);
            }
            empty = false;
            self.new_line(depth + 1);
            self.value(&item?, depth + 1)?;
            self.pay()?;
        }
        if !empty {
            self.new_line(depth);
        }
        self.out.push(']');
        Ok(())
    }

    fn map(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let mut entries = Vec::new();
        for key in value.try_iter()?.checked() {
            let key = key?;
            let item = value.get_item(&key)?;
            entries.push((key_text(&key)?, item));
        }
        if self.layout.sort_keys {
            entries.sort_by(|left, right| left.0.cmp(&right.0));
        }
        self.out.push('{');
        let empty = entries.is_empty();
        for (at, (key, item)) in entries.into_iter().enumerate() {
            if at > 0 {
                self.out.push_str(&self.layout.item_separator);
            }
            self.new_line(depth + 1);
            self.string(&key);
            self.out.push_str(&self.layout.key_separator);
            self.value(&item, depth + 1)?;
            self.pay()?;
        }
        if !empty {
            self.new_line(depth);
        }
        self.out.push('}');
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\x08' => self.out.push_str("\\b"),
                '\x0c' => self.out.push_str("\\f"),
                c if c < ' ' || (self.layout.ensure_ascii && !c.is_ascii()) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

fn key_text(key: &Value) -> Result<String, Error> {
    Ok(match key.kind() {
        ValueKind::String => key.as_str().unwrap_or("").to_owned(),
        ValueKind::None => "null".into(),
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.into(),
        ValueKind::Number => number(key),
        other => {
            return Err(invalid(format!(
                "tojson: a key must not be of type {other}"
            )))
        }
    })
}

fn number(value: &Value) -> String {
    match as_float(value).map(float_text) {
        None => value.to_string(),
        Some(text) => match text.as_str() {
            "nan" => "NaN".into(),
            "inf" => "Infinity".into(),
            "-inf" => "-Infinity".into(),
            _ => text,
        },
    }
}

/// Python's `repr` of a float: the shortest digits that read back, an exponent outside 1e-4 .. 1e16.
pub fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = value.to_string();
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_python() {
        for (value, text) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (-0.0, "-0.0"),
            (1e16, "1e+16"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (123456789012345.6, "123456789012345.6"),
            (1e22, "1e+22"),
            (1e-300, "1e-300"),
            (9999999999999998.0, "9999999999999998.0"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }

    fn render(source: &str) -> String {
        let mut environment = minijinja::Environment::new();
        environment.add_filter("tojson", tojson);
        environment
            .render_str(source, ())
            .unwrap_or_else(|error| format!("error: {error}"))
    }

    #[test]
    fn dumps_like_python() {
        assert_eq!(
            render(r#"{{ {"b": [1, 2.0, none, true], "a": "<é\n\x1f\"\\'>"}|tojson }}"#),
            r#"{"b": [1, 2.0, null, true], "a": "<é\n\u001f\"\\'>"}"#
        );
        assert_eq!(
            render("{{ {'b': 1, 'a': []}|tojson(indent=2) }}"),
            "{\n  \"b\": 1,\n  \"a\": []\n}"
        );
        assert_eq!(
            render("{{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }}"),
            r#"{"a": 2, "b": 1}"#
        );
        assert_eq!(
            render("{{ [1, {'a': 2}]|tojson(separators=(',', ':')) }}"),
            r#"[1,{"a":2}]"#
        );
        assert_eq!(
            render("{{ 'é😀'|tojson(ensure_ascii=true) }}"),
            r#""\u00e9\ud83d\ude00""#
        );
        assert_eq!(render("{{ [1, 2, 3][1:]|tojson }}"), "[2, 3]");
        assert!(render("{{ missing|tojson }}").contains("not JSON serializable"));
        assert!(render("{{ 1|tojson(indnt=2) }}").starts_with("error"));
    }
}
