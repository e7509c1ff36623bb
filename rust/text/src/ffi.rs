//! The C ABI. Each function checks its pointers, runs safe code with panics caught, and fills a fault.
//!
//! Ownership: what comes in is borrowed until the call returns; what goes out is freed by the function
//! of its kind. A failed call leaves its outputs empty.

use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::failure::{Failure, FailureCode};
use crate::strftime::LocalTime;
use crate::template::{Request, Template};
use crate::tokenizer::{Spec, Step, Tokenizer};

/// Bytes that the caller owns.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct HearthBytes {
    data: *const u8,
    size: usize,
}

/// Bytes that this library owns; freed by `hearth_text_free_bytes`.
#[repr(C)]
pub struct HearthOwnedBytes {
    data: *mut u8,
    size: usize,
}

/// Token ids that this library owns; freed by `hearth_text_free_ids`.
#[repr(C)]
pub struct HearthOwnedIds {
    data: *mut u32,
    size: usize,
}

#[repr(C)]
pub struct HearthFault {
    code: i32,
    line: u32,
    column: u32,
    message: HearthOwnedBytes,
}

#[repr(C)]
pub struct HearthStep {
    kind: i32,
    pattern: HearthBytes,
}

#[repr(C)]
pub struct HearthMerge {
    left: HearthBytes,
    right: HearthBytes,
}

#[repr(C)]
pub struct HearthAddedToken {
    id: u32,
    special: u32,
}

#[repr(C)]
pub struct HearthTokenizerSpec {
    tokens: *const HearthBytes,
    token_count: usize,
    merges: *const HearthMerge,
    merge_count: usize,
    added: *const HearthAddedToken,
    added_count: usize,
    steps: *const HearthStep,
    step_count: usize,
    normalize_nfc: u32,
    ignore_merges: u32,
}

#[repr(C)]
pub struct HearthRenderRequest {
    messages: HearthBytes,
    tools: HearthBytes,
    variables: HearthBytes,
    special_tokens: HearthBytes,
    add_generation_prompt: u32,
    now: LocalTime,
}

/// # Safety
/// Pointers and counts of `spec` describe live arrays; `fault` is writable.
#[no_mangle]
pub unsafe extern "C" fn hearth_tokenizer_new(
    spec: *const HearthTokenizerSpec,
    fault: *mut HearthFault,
) -> *mut Tokenizer {
    let tokenizer = guard(fault, || {
        // SAFETY: the caller's promise above.
        let spec = unsafe { read_spec(&*spec)? };
        Tokenizer::new(&spec)
    });
    tokenizer.map_or(std::ptr::null_mut(), |tokenizer| {
        Box::into_raw(Box::new(tokenizer))
    })
}

/// # Safety
/// `tokenizer` comes from `hearth_tokenizer_new` and was not freed; `ids` and `fault` are writable.
#[no_mangle]
pub unsafe extern "C" fn hearth_tokenizer_encode(
    tokenizer: *const Tokenizer,
    text: HearthBytes,
    parse_special: u32,
    ids: *mut HearthOwnedIds,
    fault: *mut HearthFault,
) -> bool {
    let found = guard(fault, || {
        // SAFETY: the caller's promise above.
        let (tokenizer, text) = unsafe { (&*tokenizer, read_text("text", text)?) };
        tokenizer.encode(text, parse_special != 0)
    });
    let succeeded = found.is_some();
    let mut found = found.unwrap_or_default().into_boxed_slice();
    let mut owned = HearthOwnedIds {
        data: std::ptr::null_mut(),
        size: found.len(),
    };
    if owned.size > 0 {
        owned.data = found.as_mut_ptr();
        std::mem::forget(found);
    }
    // SAFETY: as above.
    unsafe { ids.write(owned) };
    succeeded
}

/// # Safety
/// `tokenizer` is null or comes from `hearth_tokenizer_new`, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn hearth_tokenizer_free(tokenizer: *mut Tokenizer) {
    if !tokenizer.is_null() {
        // SAFETY: the caller's promise above.
        drop(unsafe { Box::from_raw(tokenizer) });
    }
}

/// # Safety
/// `source` describes live bytes; `fault` is writable.
#[no_mangle]
pub unsafe extern "C" fn hearth_template_new(
    source: HearthBytes,
    fault: *mut HearthFault,
) -> *mut Template {
    let template = guard(fault, || {
        // SAFETY: the caller's promise above.
        Template::new(unsafe { read_text("template", source)? })
    });
    template.map_or(std::ptr::null_mut(), |template| {
        Box::into_raw(Box::new(template))
    })
}

/// # Safety
/// `template` comes from `hearth_template_new` and was not freed; the request's bytes live; `text` and
/// `fault` are writable.
#[no_mangle]
pub unsafe extern "C" fn hearth_template_render(
    template: *const Template,
    request: *const HearthRenderRequest,
    text: *mut HearthOwnedBytes,
    fault: *mut HearthFault,
) -> bool {
    let rendered = guard(fault, || {
        // SAFETY: the caller's promise above.
        let (template, request) = unsafe { (&*template, &*request) };
        // SAFETY: as above.
        let request = unsafe {
            Request {
                messages: read_text("messages", request.messages)?,
                tools: read_text("tools", request.tools)?,
                variables: read_text("kwargs", request.variables)?,
                special_tokens: read_text("special_tokens", request.special_tokens)?,
                add_generation_prompt: request.add_generation_prompt != 0,
                now: request.now,
            }
        };
        template.render(&request)
    });
    let succeeded = rendered.is_some();
    // SAFETY: as above.
    unsafe { text.write(own_bytes(rendered.unwrap_or_default())) };
    succeeded
}

/// # Safety
/// `template` is null or comes from `hearth_template_new`, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn hearth_template_free(template: *mut Template) {
    if !template.is_null() {
        // SAFETY: the caller's promise above.
        drop(unsafe { Box::from_raw(template) });
    }
}

/// # Safety
/// `bytes` came from this library and is freed once.
#[no_mangle]
pub unsafe extern "C" fn hearth_text_free_bytes(bytes: HearthOwnedBytes) {
    if !bytes.data.is_null() {
        let slice = std::ptr::slice_from_raw_parts_mut(bytes.data, bytes.size);
        // SAFETY: made by own_bytes from a boxed slice of this size.
        drop(unsafe { Box::from_raw(slice) });
    }
}

/// # Safety
/// `ids` came from this library and is freed once.
#[no_mangle]
pub unsafe extern "C" fn hearth_text_free_ids(ids: HearthOwnedIds) {
    if !ids.data.is_null() {
        let slice = std::ptr::slice_from_raw_parts_mut(ids.data, ids.size);
        // SAFETY: made by hearth_tokenizer_encode from a boxed slice of this size.
        drop(unsafe { Box::from_raw(slice) });
    }
}

/// Runs safe code; a failure or a panic becomes a fault and None.
fn guard<T>(fault: *mut HearthFault, body: impl FnOnce() -> Result<T, Failure>) -> Option<T> {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => {
            write_fault(fault, None);
            return Some(value);
        }
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let message = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "unknown".into());
            Failure::new(FailureCode::Internal, format!("panic: {message}"))
        }
    };
    write_fault(fault, Some(failure));
    None
}

fn write_fault(fault: *mut HearthFault, failure: Option<Failure>) {
    let value = match failure {
        None => HearthFault {
            code: 0,
            line: 0,
            column: 0,
            message: own_bytes(String::new()),
        },
        Some(failure) => HearthFault {
            code: failure.code as i32,
            line: failure.line,
            column: failure.column,
            message: own_bytes(failure.message),
        },
    };
    // SAFETY: every caller promises a writable fault.
    unsafe { fault.write(value) };
}

fn own_bytes(text: String) -> HearthOwnedBytes {
    if text.is_empty() {
        return HearthOwnedBytes {
            data: std::ptr::null_mut(),
            size: 0,
        };
    }
    let mut bytes = text.into_bytes().into_boxed_slice();
    let owned = HearthOwnedBytes {
        data: bytes.as_mut_ptr(),
        size: bytes.len(),
    };
    std::mem::forget(bytes);
    owned
}

/// # Safety
/// `bytes` describes live bytes, or has size 0.
unsafe fn read_bytes<'a>(bytes: HearthBytes) -> &'a [u8] {
    if bytes.size == 0 {
        &[]
    } else {
        // SAFETY: the caller's promise above.
        unsafe { std::slice::from_raw_parts(bytes.data, bytes.size) }
    }
}

/// # Safety
/// As `read_bytes`.
unsafe fn read_text<'a>(name: &str, bytes: HearthBytes) -> Result<&'a str, Failure> {
    // SAFETY: the caller's promise above.
    std::str::from_utf8(unsafe { read_bytes(bytes) }).map_err(|error| {
        Failure::new(
            FailureCode::InvalidArgument,
            format!("{name}: invalid UTF-8 at byte {}", error.valid_up_to()),
        )
    })
}

/// # Safety
/// `data` points at `count` live values, or `count` is 0.
unsafe fn read_array<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        &[]
    } else {
        // SAFETY: the caller's promise above.
        unsafe { std::slice::from_raw_parts(data, count) }
    }
}

/// # Safety
/// All pointers and counts of `spec` describe live arrays.
unsafe fn read_spec<'a>(spec: &HearthTokenizerSpec) -> Result<Spec<'a>, Failure> {
    // SAFETY: the caller's promise above, for this and the blocks below.
    let tokens = unsafe { read_array(spec.tokens, spec.token_count) };
    let tokens: Vec<Option<&str>> = tokens
        .iter()
        .map(|token| {
            std::str::from_utf8(unsafe { read_bytes(*token) })
                .ok()
                .filter(|t| !t.is_empty())
        })
        .collect();
    let mut merges = Vec::with_capacity(spec.merge_count);
    for merge in unsafe { read_array(spec.merges, spec.merge_count) } {
        merges.push(unsafe {
            (
                read_text("merge", merge.left)?,
                read_text("merge", merge.right)?,
            )
        });
    }
    let added: Vec<(u32, bool)> = unsafe { read_array(spec.added, spec.added_count) }
        .iter()
        .map(|token| (token.id, token.special != 0))
        .collect();
    if let Some((id, _)) = added.iter().find(|(id, _)| *id as usize >= tokens.len()) {
        return Err(Failure::new(
            FailureCode::InvalidArgument,
            format!(
                "added token {id} is outside the vocabulary of {}",
                tokens.len()
            ),
        ));
    }
    let mut steps = Vec::with_capacity(spec.step_count);
    for step in unsafe { read_array(spec.steps, spec.step_count) } {
        steps.push(match step.kind {
            0 => Step::Split(unsafe { read_text("pattern", step.pattern)? }.to_owned()),
            1 => Step::IndividualDigits,
            2 => Step::ContiguousDigits,
            3 => Step::ContiguousPunctuation,
            kind => {
                return Err(Failure::new(
                    FailureCode::InvalidArgument,
                    format!("unknown step kind {kind}"),
                ))
            }
        });
    }
    Ok(Spec {
        tokens,
        merges,
        added,
        steps,
        normalize_nfc: spec.normalize_nfc != 0,
        ignore_merges: spec.ignore_merges != 0,
    })
}
