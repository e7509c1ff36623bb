//! Python's string and container methods that the template engine's own compatibility layer lacks, or
//! answers differently. Templates are written against Python, so its answer is the right one.

use std::sync::LazyLock;

use minijinja::formatting::FormatStyle;
use minijinja::value::{from_args, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};
use regex_automata::meta::Regex;

use crate::operators::format_text;
use crate::python_filters::join_items;
use crate::values;

/// Python's idea of white space: Unicode's, and four separators of ASCII.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

pub fn unknown_method(
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    // A method walks what it works on, and most make no more than that; an argument is compared, at
    // worst with each item, or hashed.
    let argument: u64 = args
        .iter()
        .map(|arg| values::size_of(arg).weight / 64)
        .sum();
    let cost = match value.as_str() {
        Some(text) => text.len() as u64 / 16 + argument,
        None => (value.len().unwrap_or(0) as u64 / 2 + 1).saturating_mul(argument + 1),
    };
    state.consume_fuel(cost)?;
    let own = match value.kind() {
        ValueKind::String => string_method(state, value.as_str().unwrap_or(""), method, args)?,
        ValueKind::Seq | ValueKind::Iterable => list_method(value, method, args)?,
        ValueKind::Map => map_method(value, method, args)?,
        _ => None,
    };
    match own {
        Some(answer) => Ok(answer),
        None => minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn string_method(
    state: &mut State,
    s: &str,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "strip" | "lstrip" | "rstrip" if no_argument(args) => Value::from(match method {
            "strip" => s.trim_matches(is_space),
            "lstrip" => s.trim_start_matches(is_space),
            _ => s.trim_end_matches(is_space),
        }),
        "split" | "rsplit" => {
            let (separator, limit) = split_arguments(args)?;
            let pieces = match separator {
                Some("") => return Err(invalid("empty separator")),
                Some(separator) if method == "split" => split_at(s, separator, limit),
                Some(separator) => rsplit_at(s, separator, limit),
                None if method == "split" => split_space(s, limit),
                None => rsplit_space(s, limit),
            };
            pieces.into_iter().map(Value::from).collect()
        }
        "splitlines" => {
            let (keep,): (Option<bool>,) = from_args(args)?;
            split_lines(s, keep.unwrap_or(false))
                .into_iter()
                .map(Value::from)
                .collect()
        }
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Value::from(s.strip_prefix(prefix).unwrap_or(s))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Value::from(s.strip_suffix(suffix).unwrap_or(s))
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            if separator.is_empty() {
                return Err(invalid("empty separator"));
            }
            let found = if method == "partition" {
                s.find(separator)
            } else {
                s.rfind(separator)
            };
            let parts = match (found, method) {
                (Some(at), _) => [&s[..at], separator, &s[at + separator.len()..]],
                (None, "partition") => [s, "", ""],
                (None, _) => ["", "", s],
            };
            Value::from(minijinja::value::Tuple::from(parts.map(Value::from)))
        }
        "swapcase" => s
            .chars()
            .map(|c| {
                if c.is_uppercase() {
                    c.to_lowercase().collect::<String>()
                } else {
                    c.to_uppercase().collect::<String>()
                }
            })
            .collect::<String>()
            .into(),
        "join" => {
            let (items,): (&Value,) = from_args(args)?;
            let text = join_items(state, items, s)?;
            Value::from(text)
        }
        "format" => format_text(state, FormatStyle::StrFormat, s, args)?,
        "title" => Value::from(title(s)),
        "isdecimal" => Value::from(all_match(s, is_decimal)),
        "isdigit" => Value::from(all_match(s, |c| is_decimal(c) || is_small_digit(c))),
        "startswith" | "endswith" | "find" | "rfind" | "index" | "rindex" | "count"
            if args.len() > 1 =>
        {
            in_range(state, s, method, args)?
        }
        "index" | "rindex" => {
            let (what,): (&str,) = from_args(args)?;
            let found = if method == "index" {
                s.find(what)
            } else {
                s.rfind(what)
            };
            let at = found.ok_or_else(|| invalid("substring not found"))?;
            Value::from(s[..at].chars().count())
        }
        "casefold" => Value::from(s.to_lowercase()),
        "ljust" | "rjust" | "center" | "zfill" => pad(state, s, method, args)?,
        _ => return Ok(None),
    }))
}

/// A letter after anything but a letter is in title case, every other one in lower case.
fn title(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    let mut in_word = false;
    for c in s.chars() {
        if in_word {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        in_word = c.is_lowercase() || c.is_uppercase();
    }
    out
}

fn all_match(s: &str, test: impl Fn(char) -> bool) -> bool {
    !s.is_empty() && s.chars().all(test)
}

/// Decimal digits of every script: the numbers without the letter-like, fractional and other ones.
fn is_decimal(c: char) -> bool {
    static DECIMAL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\p{Nd}$").unwrap());
    c.is_ascii_digit() || (c.is_numeric() && DECIMAL.is_match(&*c.encode_utf8(&mut [0; 4])))
}

/// Superscript, subscript and circled digits.
fn is_small_digit(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨' | '⓪')
}

/// A method on a part of the string, given as the start and end after the first argument.
fn in_range(state: &mut State, s: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (_, start, end): (&Value, Option<i64>, Option<i64>) = from_args(args)?;
    let length = s.chars().count() as i64;
    let clamp = |at: i64| {
        if at < 0 {
            (length + at).max(0)
        } else {
            at.min(length)
        }
    };
    let start = clamp(start.unwrap_or(0));
    let end = clamp(end.unwrap_or(length)).max(start);
    let part: String = s
        .chars()
        .skip(start as usize)
        .take((end - start) as usize)
        .collect();
    let part = Value::from(part);
    let answer = unknown_method(state, &part, method, &args[..1])?;
    Ok(match (method, answer.as_i64()) {
        ("find" | "rfind" | "index" | "rindex", Some(at)) if at >= 0 => Value::from(at + start),
        _ => answer,
    })
}

fn list_method(value: &Value, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "index" => {
            let (what,): (&Value,) = from_args(args)?;
            let position = value.try_iter()?.position(|item| item == *what);
            Value::from(position.ok_or_else(|| invalid("value is not in the list"))?)
        }
        "copy" => value.try_iter()?.collect(),
        _ => return Ok(None),
    }))
}

fn map_method(value: &Value, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    match method {
        // Templates cannot change a map in place, so a copy need not be another one.
        "copy" if args.is_empty() => Ok(Some(value.clone())),
        _ => Ok(None),
    }
}

fn invalid(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn no_argument(args: &[Value]) -> bool {
    args.is_empty() || (args.len() == 1 && args[0].is_none())
}

fn split_arguments(args: &[Value]) -> Result<(Option<&str>, usize), Error> {
    let (separator, limit, kwargs): (Option<&Value>, Option<i64>, minijinja::value::Kwargs) =
        from_args(args)?;
    let named_limit: Option<i64> = kwargs.get("maxsplit")?;
    kwargs.assert_all_used()?;
    let separator = match separator {
        None => None,
        Some(value) if value.is_none() => None,
        Some(value) => Some(
            value
                .as_str()
                .ok_or_else(|| invalid("the separator must be a string"))?,
        ),
    };
    let limit = limit.or(named_limit).unwrap_or(-1);
    Ok((separator, usize::try_from(limit).unwrap_or(usize::MAX)))
}

fn split_at<'a>(s: &'a str, separator: &str, limit: usize) -> Vec<&'a str> {
    s.splitn(limit.saturating_add(1), separator).collect()
}

fn rsplit_at<'a>(s: &'a str, separator: &str, limit: usize) -> Vec<&'a str> {
    let mut pieces: Vec<_> = s.rsplitn(limit.saturating_add(1), separator).collect();
    pieces.reverse();
    pieces
}

fn split_space(s: &str, limit: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = s.trim_start_matches(is_space);
    while !rest.is_empty() {
        if pieces.len() == limit {
            pieces.push(rest);
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        pieces.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    pieces
}

fn rsplit_space(s: &str, limit: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = s.trim_end_matches(is_space);
    while !rest.is_empty() {
        if pieces.len() == limit {
            pieces.push(rest);
            break;
        }
        let start = rest
            .char_indices()
            .rev()
            .find(|(_, c)| is_space(*c))
            .map_or(0, |(at, c)| at + c.len_utf8());
        pieces.push(&rest[start..]);
        rest = rest[..start].trim_end_matches(is_space);
    }
    pieces.reverse();
    pieces
}

fn split_lines(s: &str, keep_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut chars = s.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let mut end = at + c.len_utf8();
        match c {
            '\r' => {
                if let Some((_, '\n')) = chars.peek() {
                    chars.next();
                    end += 1;
                }
            }
            '\n' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}' => {}
            _ => continue,
        }
        lines.push(&s[start..if keep_ends { end } else { at }]);
        start = end;
    }
    if start < s.len() {
        lines.push(&s[start..]);
    }
    lines
}

pub fn pad(state: &State, s: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (width, fill): (i64, Option<&str>) = from_args(args)?;
    let fill = if method == "zfill" {
        "0"
    } else {
        fill.unwrap_or(" ")
    };
    if fill.chars().count() != 1 {
        return Err(invalid("the fill must be one character"));
    }
    let length = s.chars().count();
    let missing = usize::try_from(width).unwrap_or(0).saturating_sub(length);
    // The result is paid for before it is made.
    state.consume_fuel((missing.saturating_mul(fill.len()) / 64) as u64)?;
    let fill_left = match method {
        "ljust" => 0,
        // Python puts the odd one on the left only when the width is odd.
        "center" => missing / 2 + (missing & (length + missing) & 1),
        _ => missing,
    };
    let (sign, digits) = match (method, s.chars().next()) {
        ("zfill", Some('+' | '-')) => s.split_at(1),
        _ => ("", s),
    };
    let mut out = String::with_capacity(s.len() + missing * fill.len());
    out.push_str(sign);
    out.push_str(&fill.repeat(fill_left));
    out.push_str(digits);
    out.push_str(&fill.repeat(missing - fill_left));
    Ok(Value::from(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_like_python() {
        assert_eq!(split_space("  a  b \x1cc ", usize::MAX), ["a", "b", "c"]);
        assert_eq!(split_space("  a  b  c ", 1), ["a", "b  c "]);
        assert_eq!(rsplit_space("  a  b  c ", 1), ["  a  b", "c"]);
        assert!(split_space(" \n", usize::MAX).is_empty());
        assert_eq!(split_at("a,b,c", ",", 1), ["a", "b,c"]);
        assert_eq!(rsplit_at("a,b,c", ",", 1), ["a,b", "c"]);
        assert_eq!(split_at("", ",", usize::MAX), [""]);
        assert_eq!(split_at("a,b", ",", 0), ["a,b"]);
    }

    #[test]
    fn splits_lines_like_python() {
        assert_eq!(
            split_lines("a\r\nb\rc\n\nd", false),
            ["a", "b", "c", "", "d"]
        );
        assert_eq!(split_lines("a\r\nb\n", true), ["a\r\n", "b\n"]);
        assert!(split_lines("", false).is_empty());
        assert_eq!(split_lines("a\u{2028}b\x0c", false), ["a", "b"]);
    }
}
