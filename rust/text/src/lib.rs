//! The text libraries of hearth behind one C ABI: byte-level tokenizers and chat templates.
//!
//! `ffi` holds every unsafe line, catches panics and turns failures into values; the other modules are
//! safe Rust that knows nothing of C. The C side is `src/text/hearth_text_ffi.h`.

mod failure;
pub mod ffi;
mod operators;
mod program;
mod python_filters;
mod python_json;
mod python_text;
mod strftime;
mod template;
mod template_source;
mod tokenizer;
mod values;
