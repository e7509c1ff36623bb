//! Changes to a template's text, so that the engine reads it as Jinja2 in transformers does.
//!
//! - Line ends become "\n".
//! - The `generation` tag marks an assistant's own text for training and prints its body unchanged. The
//!   engine has no custom tags; its nearest block is `with`, which like the original opens a scope.
//! - A line end after `{% raw %}` stays.
//!
//! Lines and columns stay where they are, but for one character after such a raw tag.

use crate::failure::{Failure, FailureCode};

/// Longest template; the longest published ones have about 17,000 bytes.
const MAX_SOURCE_BYTES: usize = 256 << 10;
/// Names, numbers, strings and signs in one tag; published templates have about 60. The parser and the
/// compiler recurse over an expression, so this bounds their stack.
const MAX_TAG_TOKENS: usize = 1000;
/// `elif` tags in all, for the same reason.
const MAX_ELIF_TAGS: usize = 200;

pub fn prepare(source: &str) -> Result<String, Failure> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(too_large(format!(
            "the template has {} bytes, at most {MAX_SOURCE_BYTES} are allowed",
            source.len()
        )));
    }
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let mut elif_tags = 0;
    let mut out = String::with_capacity(source.len());
    let mut copied = 0;
    let mut at = 0;
    while let Some(open) = source[at..].find('{').map(|offset| at + offset) {
        let rest = &source[open..];
        if rest.starts_with("{#") {
            at = rest.find("#}").map_or(source.len(), |end| open + end + 2);
        } else if rest.starts_with("{{") {
            at = end_of_code(&source, open + 2, "}}")?;
        } else if rest.starts_with("{%") {
            let (start, word) = first_word(&source, open + 2);
            let replacement = match word {
                "generation" => Some("with      "),
                "endgeneration" => Some("endwith      "),
                _ => None,
            };
            if let Some(replacement) = replacement {
                out.push_str(&source[copied..start]);
                out.push_str(replacement);
                copied = start + word.len();
            }
            elif_tags += usize::from(word == "elif");
            if elif_tags > MAX_ELIF_TAGS {
                return Err(too_large(format!("more than {MAX_ELIF_TAGS} elif tags")));
            }
            at = end_of_code(&source, open + 2, "%}")?;
            if word == "raw" {
                if source[at..].starts_with('\n') && !source[..at - 2].ends_with(['-', '+']) {
                    out.push_str(&source[copied..at - 2]);
                    out.push_str("+%}");
                    copied = at;
                }
                at = end_of_raw(&source, at)?;
            }
        } else {
            at = open + 1;
        }
    }
    out.push_str(&source[copied..]);
    Ok(out)
}

fn too_large(message: String) -> Failure {
    Failure::new(FailureCode::ResourceExhausted, message)
}

/// The name after the start of a tag, and where it starts.
fn first_word(source: &str, mut at: usize) -> (usize, &str) {
    if source[at..].starts_with(['-', '+']) {
        at += 1;
    }
    let rest = source[at..].trim_start();
    let start = source.len() - rest.len();
    (start, word_at(rest))
}

fn word_at(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    &text[..end]
}

/// The positions of code bytes in `from..`, that is, of those outside strings.
fn code_bytes(source: &str, from: usize) -> impl Iterator<Item = usize> + '_ {
    let bytes = source.as_bytes();
    let mut at = from;
    let mut quote = None;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let here = at;
            at += 1;
            match (quote, bytes[here]) {
                (Some(_), b'\\') => at += 1,
                (Some(open), byte) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, byte @ (b'"' | b'\'')) => quote = Some(byte),
                (None, _) => return Some(here),
            }
        }
        None
    })
}

/// The position after the end mark, or the end of the source.
fn end_of_code(source: &str, from: usize, mark: &str) -> Result<usize, Failure> {
    let bytes = source.as_bytes();
    let mut tokens = 0;
    let mut last_word = None;
    for at in code_bytes(source, from) {
        if bytes[at..].starts_with(mark.as_bytes()) {
            return Ok(at + mark.len());
        }
        let in_word = bytes[at] == b'_' || bytes[at] >= 0x80 || bytes[at].is_ascii_alphanumeric();
        let goes_on = in_word && at > 0 && last_word == Some(at - 1);
        tokens += usize::from(!goes_on && !bytes[at].is_ascii_whitespace());
        if tokens > MAX_TAG_TOKENS {
            return Err(too_large(format!(
                "more than {MAX_TAG_TOKENS} tokens in one tag"
            )));
        }
        last_word = in_word.then_some(at);
    }
    Ok(source.len())
}

fn end_of_raw(source: &str, mut at: usize) -> Result<usize, Failure> {
    while let Some(open) = source[at..].find("{%").map(|offset| at + offset) {
        if first_word(source, open + 2).1 == "endraw" {
            return end_of_code(source, open + 2, "%}");
        }
        at = open + 2;
    }
    Ok(source.len())
}

#[cfg(test)]
mod tests {
    fn prepare(source: &str) -> String {
        super::prepare(source).unwrap()
    }

    #[test]
    fn generation_tags_become_scopes() {
        assert_eq!(
            prepare("a{% generation %}b{%- endgeneration -%}c"),
            "a{% with       %}b{%- endwith       -%}c"
        );
        assert_eq!(
            prepare("{% raw %}{{{%- endraw %}{%+\ngeneration%}"),
            "{% raw %}{{{%- endraw %}{%+\nwith      %}"
        );
    }

    #[test]
    fn everything_else_stays() {
        for unchanged in [
            "",
            "{",
            "{{",
            "{%",
            "{#",
            "{{}}",
            "{% generation_x %}",
            "{# {% generation %} #}",
            "{{ '{% generation %}' }}",
            "{% set x = \"%}{% generation %}\\\"{% generation %}\" %}",
            "{% raw %}{% generation %}{% endraw %}",
            "{% raw %}{% generation %}",
            "{% raw -%}\n{% endraw %}",
            "{{ generation }} {% if generation %}{% endif %}",
            "é{%é generation %}{{é|é}}",
            "{{ 'unterminated",
            "{{ 'a\\",
        ] {
            assert_eq!(prepare(unchanged), unchanged);
        }
    }

    #[test]
    fn line_ends_are_one_kind() {
        assert_eq!(prepare("a\r\nb\rc\n"), "a\nb\nc\n");
        assert_eq!(
            prepare("{% raw %}\na{% endraw %}"),
            "{% raw +%}\na{% endraw %}"
        );
    }

    #[test]
    fn sizes_are_bounded() {
        assert!(super::prepare(&" ".repeat(super::MAX_SOURCE_BYTES + 1)).is_err());
        assert!(super::prepare(&format!("{{{{ {}1 }}}}", "1+".repeat(498))).is_ok());
        assert!(super::prepare(&format!("{{{{ {}1 }}}}", "1+".repeat(500))).is_err());
        assert!(super::prepare(&"{% elif 0 %}".repeat(super::MAX_ELIF_TAGS + 1)).is_err());
    }
}
