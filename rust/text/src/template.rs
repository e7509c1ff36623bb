//! Chat templates, rendered as Hugging Face transformers renders them.

use std::collections::BTreeMap;

use minijinja::machinery;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, ErrorKind};

use crate::failure::{Failure, FailureCode};
use crate::operators;
use crate::program::with_own_operators;
use crate::python_filters;
use crate::python_text;
use crate::strftime::{format_time, LocalTime};
use crate::template_source::prepare;
use crate::values;

/// The engine counts work and memory together: a unit is one instruction, or 64 bytes made or read.
/// Published templates need a few thousand for a short conversation. Some look at every message for
/// every message, so the square of their number counts; the end of it all is about ten seconds or
/// 2.5 GB, for thousands of messages, and a tenth of that for a few.
const BASE_FUEL: u64 = 4_000_000;
const FUEL_PER_INPUT_BYTE: u64 = 2;
const FUEL_PER_PAIR_OF_MESSAGES: u64 = 8;
const MAX_FUEL: u64 = 40_000_000;
const MAX_RECURSION: usize = 200;

const NAME: &str = "chat";
/// Given by other parts of the request.
const RESERVED: [&str; 3] = ["messages", "tools", "add_generation_prompt"];

/// The source of an error that the template raised itself; carries its message.
#[derive(Debug)]
struct Raised(String);

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

pub struct Template {
    environment: Environment<'static>,
}

pub struct Request<'a> {
    /// JSON array.
    pub messages: &'a str,
    /// JSON value; "null" when there are none.
    pub tools: &'a str,
    /// JSON object: further variables, which win over the special tokens.
    pub variables: &'a str,
    /// JSON object from "bos_token" and the like to text.
    pub special_tokens: &'a str,
    pub add_generation_prompt: bool,
    pub now: LocalTime,
}

impl Template {
    pub fn new(source: &str) -> Result<Template, Failure> {
        let source = prepare(source)?;
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(internal)?;
        environment.set_syntax(syntax);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_recursion_limit(MAX_RECURSION);
        environment.set_unknown_method_callback(python_text::unknown_method);
        python_filters::add_to_environment(&mut environment);
        operators::add_to_environment(&mut environment);
        environment.add_function("raise_exception", raise_exception);
        environment
            .add_template_owned(NAME, source.clone())
            .map_err(|error| failure(&error, &source))?;
        Ok(Template { environment })
    }

    pub fn render(&self, request: &Request) -> Result<String, Failure> {
        // A copy shares the compiled template; the clock and the fuel are this rendering's own.
        let mut environment = self.environment.clone();
        let variables = variables(request)?;
        environment.set_fuel(Some(fuel_for(request, &variables)));
        let now = request.now;
        environment.add_function("strftime_now", move |format: &str| {
            format_time(&now, format)
                .map_err(|message| Error::new(ErrorKind::InvalidOperation, message))
        });
        let template = environment.get_template(NAME).map_err(internal)?;
        let compiled = machinery::get_compiled_template(&template);
        let instructions = with_own_operators(&compiled.instructions);
        let blocks = compiled
            .blocks
            .iter()
            .map(|(name, block)| (*name, with_own_operators(block)))
            .collect();
        let mut text = String::new();
        machinery::eval(
            &environment,
            &instructions,
            Value::from_pairs(variables),
            &blocks,
            &mut machinery::make_string_output(&mut text),
            AutoEscape::None,
        )
        .map_err(|error| failure(&error, template.source()))?;
        Ok(text)
    }
}

fn fuel_for(request: &Request, variables: &BTreeMap<String, Value>) -> u64 {
    let bytes = request.messages.len() + request.tools.len() + request.variables.len();
    let messages = variables
        .get("messages")
        .and_then(|list| list.len())
        .unwrap_or(0) as u64;
    let pairs = messages.saturating_mul(messages);
    BASE_FUEL
        .saturating_add(FUEL_PER_INPUT_BYTE.saturating_mul(bytes as u64))
        .saturating_add(FUEL_PER_PAIR_OF_MESSAGES.saturating_mul(pairs))
        .min(MAX_FUEL)
}

fn variables(request: &Request) -> Result<BTreeMap<String, Value>, Failure> {
    let mut variables = BTreeMap::from([("documents".to_owned(), Value::from(()))]);
    for (what, text) in [
        ("special_tokens", request.special_tokens),
        ("kwargs", request.variables),
    ] {
        let serde_json::Value::Object(entries) = parse(what, text)? else {
            return Err(bad_input(format!(
                "{what}: got {text:.40}, wanted a JSON object"
            )));
        };
        for (name, value) in entries {
            if !is_identifier(&name) || RESERVED.contains(&name.as_str()) {
                return Err(bad_input(format!(
                    "{what}: {name:?} cannot be a template's variable"
                )));
            }
            variables.insert(name, value_from_json(what, value)?);
        }
    }
    for (name, text) in [("messages", request.messages), ("tools", request.tools)] {
        variables.insert(name.to_owned(), value_from_json(name, parse(name, text)?)?);
    }
    variables.insert(
        "add_generation_prompt".to_owned(),
        request.add_generation_prompt.into(),
    );
    Ok(variables)
}

fn bad_input(message: String) -> Failure {
    Failure::new(FailureCode::InvalidArgument, message)
}

fn internal(error: Error) -> Failure {
    Failure::new(FailureCode::Internal, error.to_string())
}

fn parse(what: &str, text: &str) -> Result<serde_json::Value, Failure> {
    serde_json::from_str(text).map_err(|error| bad_input(format!("{what}: {error}")))
}

fn value_from_json(what: &str, json: serde_json::Value) -> Result<Value, Failure> {
    values::from_json(json).map_err(|error| {
        let detail = error.detail().unwrap_or("too large");
        Failure::new(FailureCode::ResourceExhausted, format!("{what}: {detail}"))
    })
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn raise_exception(message: Value) -> Result<Value, Error> {
    let message = message.to_string();
    Err(Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(Raised(message)))
}

fn failure(error: &Error, source: &str) -> Failure {
    let line = error.line().unwrap_or(0) as u32;
    let column = error
        .range()
        .map_or(0, |range| column_of(source, range.start));
    let mut innermost: &dyn std::error::Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    let (code, message) = match (innermost.downcast_ref::<Raised>(), error.kind()) {
        (Some(Raised(message)), _) => (FailureCode::TemplateRaised, message.clone()),
        (None, ErrorKind::OutOfFuel) => (
            FailureCode::ResourceExhausted,
            "the template does more work than its limit allows".to_owned(),
        ),
        (None, kind) => (
            FailureCode::TemplateFailed,
            match error.detail() {
                Some(detail) => format!("{kind}: {detail}"),
                None => kind.to_string(),
            },
        ),
    };
    Failure {
        code,
        message,
        line,
        column,
    }
}

/// Counted in characters from 1.
fn column_of(source: &str, offset: usize) -> u32 {
    match source.get(..offset) {
        Some(before) => {
            before
                .rsplit('\n')
                .next()
                .map_or(0, |line| line.chars().count()) as u32
                + 1
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: LocalTime = LocalTime {
        second: 53,
        minute: 26,
        hour: 9,
        day: 14,
        month: 2,
        year: 126,
        week_day: 6,
        year_day: 72,
    };

    fn render_with(source: &str, messages: &str, variables: &str) -> Result<String, Failure> {
        Template::new(source)?.render(&Request {
            messages,
            tools: "null",
            variables,
            special_tokens: r#"{"bos_token": "<s>"}"#,
            add_generation_prompt: true,
            now: NOW,
        })
    }

    fn render(source: &str) -> Result<String, Failure> {
        render_with(source, r#"[{"role": "user", "content": " Hi "}]"#, "{}")
    }

    #[test]
    fn renders_as_python_does() {
        for (source, expected) in [
            ("{{ bos_token }}{{ eos_token }}{{ tools }}{{ documents }}", "<s>NoneNone"),
            ("{{ none }} {{ true }} {{ [1, \"a'b\", 1.5, none] }}",
                "None True [1, \"a'b\", 1.5, None]"),
            ("{{ {'a': (1,), 'b': {}} }}", "{'a': (1,), 'b': {}}"),
            ("{{ messages[0].content.strip() }}|{{ messages[-1]['role'] }}", "Hi|user"),
            ("  {% if true %}\n  a\n  {% endif %}\nb\n", "  a\nb"),
            ("{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ '%s-%d' % ('a', 3) }}", "-4 2 3.5 a-3"),
            ("{{ 'a'|safe + '<b>' }}{{ '<b>' + 'c' }}", "a&lt;b&gt;<b>c"),
            ("{{ 'x' is sequence }}{{ none is iterable }}{{ 'y'|int }}", "TrueFalse0"),
            ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "13"),
            ("{% set n = namespace(l=[]) %}{% for i in [1, 2] %}{% set n.l = n.l + [i] %}{% endfor %}{{ n.l }}", "[1, 2]"),
            ("{% generation %}a{% endgeneration %}{{ strftime_now('%d %b %Y') }}", "a14 Mar 2026"),
            ("{{ 1e-5 }} {{ [1e16] }} {{ {'a': 1e-5}|tojson }}", "1e-05 [1e16] {\"a\": 1e-05}"),
            ("{{ 'a b c'.split(' ', 1) }}{{ ['b', 'a']|sort|join('-') }}", "['a', 'b c']a-b"),
            ("{{ 'abcabc'.find('b', 2) }}{{ 'it\\'s'.title() }}{{ '7'.zfill(3) }}", "4It'S007"),
        ] {
            assert_eq!(render(source).unwrap(), expected, "{source}");
        }
        assert_eq!(
            render_with(
                "{{ x }}{{ x.y|tojson }}",
                "[]",
                r#"{"x": {"y": [1e-5, 1.0]}}"#
            )
            .unwrap(),
            "{'y': [1e-05, 1.0]}[1e-05, 1.0]"
        );
    }

    #[test]
    fn failures_say_where() {
        let raised = render("a\n  {{ raise_exception('no ' ~ 1) }}").unwrap_err();
        assert_eq!(raised.code, FailureCode::TemplateRaised);
        assert_eq!(
            (raised.message.as_str(), raised.line, raised.column),
            ("no 1", 2, 6)
        );
        let in_macro = render("{% macro m() %}\n{{ raise_exception('x') }}{% endmacro %}{{ m() }}");
        assert_eq!(in_macro.unwrap_err().code, FailureCode::TemplateRaised);
        let syntax = render("{% if %}").unwrap_err();
        assert_eq!((syntax.code, syntax.line), (FailureCode::TemplateFailed, 1));
        let wrong = render("{{ 'a' + 1 }}").unwrap_err();
        assert!(
            wrong
                .message
                .contains("unsupported types string and number"),
            "{}",
            wrong.message
        );
    }

    #[test]
    fn inputs_are_checked() {
        assert!(render_with("", "[", "{}").is_err());
        assert!(render_with("", "[]", "[]").is_err());
        assert!(render_with("", "[]", r#"{"messages": 1}"#).is_err());
        assert!(render_with("{{ 1 + 1 }}", "[]", r#"{"+": 1}"#).is_err());
    }

    /// A template comes with a model file; whatever it does, it ends in an error or in a bounded text.
    #[test]
    fn hostile_templates_end() {
        let growing = |step: &str| {
            format!("{{% set n = namespace(x=[1], s='ab') %}}{{% for i in range(99999) %}}{step}{{% endfor %}}{{{{ n }}}}")
        };
        let mut hostile = vec![
            growing("{% set n.s = n.s ~ n.s %}"),
            growing("{% set n.s = n.s + n.s %}"),
            growing("{% set n.s = n.s * 9 %}"),
            growing("{% set n.s = n.s.replace('a', 'abab') %}"),
            growing("{% set n.s = n.s.join([1, 2, 3]) %}"),
            growing("{% set n.x = n.x + n.x %}"),
            growing("{% set n.x = [n.x] %}"),
            growing("{% set n.x = [n.x, n.x] %}"),
            growing("{% set n.x = dict(a=n.x) %}"),
            growing("{% set n.x = n.x|batch(1) %}"),
            growing("{% set n.x = n %}"),
            growing("{% for j in range(99999) %}{% endfor %}"),
            growing("{% set y = ('ab' * 999999) == ('ab' * 999999) %}"),
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".into(),
            "{% for i in [1] recursive %}{{ loop([i, i]) }}{% endfor %}".into(),
            "{% include 'chat' %}".into(),
            "{% import 'chat' as c %}".into(),
            "{{ '%999999999d' % 1 }}".into(),
            "{{ '{:999999999}'.format(1) }}".into(),
            "{{ 'a'.center(999999999) }}".into(),
            "{{ range(99999)|map('replace', '1', 'a' * 99999)|list }}".into(),
            format!(
                "{{% set x = [1] %}}{}{{{{ x }}}}{}",
                "{% with x = x + x %}".repeat(100),
                "{% endwith %}".repeat(100)
            ),
        ];
        // These are fine, or refused, but must not need much stack.
        for part in [
            "1 + ",
            "x ~ ",
            "not ",
            "-",
            "(",
            "[",
            "x if y else ",
            "1 ** ",
            "x and ",
        ] {
            hostile.push(format!(
                "{{{{ {}1 }}}}",
                part.repeat(999 / part.split(' ').count())
            ));
            hostile.push(format!("{{{{ {}1 }}}}", part.repeat(240)));
        }
        hostile.push(format!("{{{{ x{} }}}}", "|string".repeat(490)));
        hostile.push(format!(
            "{{% if 0 %}}{}{{% endif %}}",
            "{% elif 0 %}".repeat(200)
        ));
        hostile.push("{% if 1 %}".repeat(20_000));
        for source in hostile {
            let head: String = source.chars().take(80).collect();
            let thread = std::thread::Builder::new().stack_size(512 << 10);
            let ended = thread
                .spawn(move || render(&source).map(|text| text.len()))
                .unwrap()
                .join();
            assert!(
                !matches!(ended.unwrap(), Ok(size) if size > 1 << 20),
                "{head}"
            );
        }
    }
}
