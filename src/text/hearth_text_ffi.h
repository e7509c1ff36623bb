// The C ABI of rust/text, as its ffi.rs defines it. Internal to this layer: only its .cc files include it.
//
// Ownership: what goes in is borrowed until the call returns. HearthOwned* values that come out belong to
//            the library and are freed by the function of their kind, also when they are empty.
// Threads:   a tokenizer or a template may be used from several threads at once.
// Errors:    a call that fails returns null or false and fills the fault; its message must be freed. Rust
//            panics are caught and become kHearthInternal.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum HearthFaultCode : std::int32_t {
  kHearthNoFault = 0,
  kHearthInvalidArgument = 1,
  kHearthCorruptData = 2,
  kHearthUnsupported = 3,
  kHearthResourceExhausted = 4,
  kHearthTemplateRaised = 5,
  kHearthTemplateFailed = 6,
  kHearthInternal = 7,
};

struct HearthBytes {
  const char* data;
  std::size_t size;
};

struct HearthOwnedBytes {
  char* data;
  std::size_t size;
};

struct HearthOwnedIds {
  std::uint32_t* data;
  std::size_t size;
};

struct HearthFault {
  HearthFaultCode code;
  std::uint32_t line;    // from 1; 0 when unknown
  std::uint32_t column;  // likewise, in characters
  HearthOwnedBytes message;
};

enum HearthStepKind : std::int32_t {
  kHearthSplit = 0,
  kHearthIndividualDigits = 1,
  kHearthContiguousDigits = 2,
  kHearthContiguousPunctuation = 3,
};

struct HearthStep {
  HearthStepKind kind;
  HearthBytes pattern;  // of kHearthSplit
};

struct HearthMerge {
  HearthBytes left;
  HearthBytes right;
};

struct HearthAddedToken {
  std::uint32_t id;
  std::uint32_t special;  // 0 or 1
};

struct HearthTokenizerSpec {
  const HearthBytes* tokens;  // by id; one that is empty or not UTF-8 is never encoded to
  std::size_t token_count;
  const HearthMerge* merges;  // best first
  std::size_t merge_count;
  const HearthAddedToken* added;
  std::size_t added_count;
  const HearthStep* steps;
  std::size_t step_count;
  std::uint32_t normalize_nfc;
  std::uint32_t ignore_merges;
};

// Fields as in struct tm.
struct HearthLocalTime {
  std::int32_t second;
  std::int32_t minute;
  std::int32_t hour;
  std::int32_t day;
  std::int32_t month;
  std::int32_t year;
  std::int32_t week_day;
  std::int32_t year_day;
};

// All four texts are JSON.
struct HearthRenderRequest {
  HearthBytes messages;
  HearthBytes tools;
  HearthBytes variables;
  HearthBytes special_tokens;
  std::uint32_t add_generation_prompt;
  HearthLocalTime now;
};

struct HearthTokenizer;
struct HearthTemplate;

// NOLINTBEGIN(readability-identifier-naming): names of the C ABI
HearthTokenizer* hearth_tokenizer_new(const HearthTokenizerSpec* spec, HearthFault* fault);
bool hearth_tokenizer_encode(
    const HearthTokenizer* tokenizer,
    HearthBytes text,
    std::uint32_t parse_special,
    HearthOwnedIds* ids,
    HearthFault* fault
);
void hearth_tokenizer_free(HearthTokenizer* tokenizer);

HearthTemplate* hearth_template_new(HearthBytes source, HearthFault* fault);
bool hearth_template_render(
    const HearthTemplate* chat_template,
    const HearthRenderRequest* request,
    HearthOwnedBytes* text,
    HearthFault* fault
);
void hearth_template_free(HearthTemplate* chat_template);

void hearth_text_free_bytes(HearthOwnedBytes bytes);
void hearth_text_free_ids(HearthOwnedIds ids);
// NOLINTEND(readability-identifier-naming)

}  // extern "C"
