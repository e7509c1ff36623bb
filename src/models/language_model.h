// What every model family offers: tokens of many sequences in, chosen logits out. Knows pages and
// rows, not requests, sampling or schedules.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "contracts/forward_cost.h"
#include "hearth/numerics.h"
#include "hearth/token.h"
#include "kv/sequence.h"

namespace hearth {

// Which positions of a row get logits; chosen before the projection onto the vocabulary, which is the
// largest product of a small model.
enum class LogitSelection {
  kNone,  // the row is only being cached
  kLast,  // its last token
  kAll,   // every token
};

// Tokens of one sequence, to be placed after what it has cached.
struct ForwardRow {
  KvSequence* sequence;
  std::span<const TokenId> tokens;  // at least one
  LogitSelection logits = LogitSelection::kLast;
};

struct ModelFacts {
  std::string family;          // "llama"
  std::size_t vocabulary;      // logits of a position
  std::size_t context_length;  // tokens of a sequence at most, prompt and answer together
  std::size_t parameters;
  std::size_t weight_bytes;  // of the packed weights in memory
  Numerics numerics;
  KvLayout kv;
  std::size_t mapped_bytes = 0;  // weights that are read where the file is mapped
  ForwardCost forward{};         // scratch, and the logits that the caller holds
  // Keys whose attention takes a token as long as all its matrices do; 0 when attention takes no time to speak of. An
  // estimate, for dealing out work: a token at position p costs about 1 + p / attention_break_even.
  std::size_t attention_break_even = 0;
};

// Law 1 is kept here: a position's logits depend on its sequence's tokens alone, bit by bit, whatever else
// is in the call, however its tokens were cut into calls, and however many threads run.
// Ownership: owns its weights; borrows sequences for the call.
// Threads:   one caller at a time.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual const ModelFacts& facts() const = 0;

  // How many logit rows `rows` selects.
  static std::size_t SelectedLogits(std::span<const ForwardRow> rows);

  // Runs the rows (ragged: each of its own length and position) through the model and caches them. Each
  // sequence appears in at most one row, and lives in a pool of facts().kv layout.
  // Shapes:  logits [SelectedLogits(rows), vocabulary], in row and token order.
  // Errors:  kInvalidArgument for an empty row or a token outside the vocabulary, kResourceExhausted when the
  //          context or the page pool is full; then no sequence has changed its length. A NaN stays in its row.
  // Cost:    reads every weight once a call; scratch grows with the tokens of the largest call.
  virtual void Forward(std::span<const ForwardRow> rows, float* logits) = 0;
};

}  // namespace hearth
