//! What goes wrong, as a value that can cross the C boundary.

/// The numbers are part of the C ABI (`HearthFaultCode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum FailureCode {
    InvalidArgument = 1,
    CorruptData = 2,
    Unsupported = 3,
    ResourceExhausted = 4,
    /// The template itself refused the conversation (`raise_exception`).
    TemplateRaised = 5,
    /// The template cannot be parsed, or went wrong while it ran.
    TemplateFailed = 6,
    Internal = 7,
}

#[derive(Clone, Debug)]
pub struct Failure {
    pub code: FailureCode,
    pub message: String,
    /// Counted from 1; 0 when unknown.
    pub line: u32,
    pub column: u32,
}

impl Failure {
    pub fn new(code: FailureCode, message: impl Into<String>) -> Failure {
        Failure {
            code,
            message: message.into(),
            line: 0,
            column: 0,
        }
    }
}
