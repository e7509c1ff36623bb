#include "library/model_memory.h"

#include "platform/aligned_buffer.h"
#include "sampling/sampler.h"

namespace hearth {
namespace {

// Measured on x86-64 with a vocabulary of 257 tokens: 10 MB of the program's and its libraries' code, 2 MB beside.
constexpr std::size_t kProgramBytes = std::size_t{16} << 20;

// A token of the vocabulary in the tokenizer, its merges and their indices: 400 measured with 49,152 tokens.
constexpr std::size_t kVocabularyTokenBytes = 512;

// A token of a text that is being tokenized: 200 measured. One text at a time is; more come after each other.
constexpr std::size_t kTextTokenBytes = 256;

// What a token leaves beside its keys and values: prompt, history, answer, page tables.
constexpr std::size_t kRowTokenBytes = 64;

// Touched stack and arena of a thread: 40 kB measured.
constexpr std::size_t kThreadBytes = std::size_t{256} << 10;

}  // namespace

MemoryFacts MemoryFactsOf(const ModelFacts& model, std::size_t file_bytes, std::size_t members) {
  MemoryFacts facts;
  facts.weight_bytes = model.weight_bytes;
  facts.mapped_bytes = model.mapped_bytes;
  facts.file_bytes = file_bytes;
  facts.forward = model.forward;
  facts.page_bytes = model.kv.PageBytes() + kAllocationSlack + kPageTokens * kRowTokenBytes;
  facts.page_tokens = kPageTokens;
  facts.context_length = model.context_length;
  facts.sampler_bytes = Sampler::MostBytes(model.vocabulary);
  // The team's first is the thread of the steps; the engine's loop has one more.
  facts.threads = members + 1;
  facts.reserve_bytes = kProgramBytes + kVocabularyTokenBytes * model.vocabulary +
                        kTextTokenBytes * model.context_length + kThreadBytes * facts.threads;
  return facts;
}

}  // namespace hearth
