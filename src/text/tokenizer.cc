#include "text/tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "contracts/printable.h"
#include "hearth/error.h"
#include "text/byte_alphabet.h"
#include "text/end_markers.h"
#include "text/pre_tokenizer.h"
#include "text/rust_call.h"
#include "text/utf8_stream.h"

namespace hearth {
namespace {

struct FreeTokenizer {
  void operator()(HearthTokenizer* tokenizer) const { hearth_tokenizer_free(tokenizer); }
};

[[noreturn]] void Corrupt(const std::string& what) {
  throw Error(ErrorCode::kCorruptData, "tokenizer: " + what);
}

TokenKind KindOf(const TokenizerDescription& description, std::size_t id) {
  const TokenKind kind = description.kinds.empty() ? TokenKind::kNormal : description.kinds[id];
  return IsEndMarker(description.tokens[id]) ? TokenKind::kControl : kind;
}

bool IsSpecialKind(TokenKind kind) {
  return kind == TokenKind::kControl || kind == TokenKind::kUnknown;
}

void CheckDescription(const TokenizerDescription& description) {
  if (description.model != "gpt2") {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format(
            "tokenizer: the vocabulary model '{}' is not supported, only 'gpt2' (byte-level BPE)",
            Printable(description.model)
        )
    );
  }
  const std::size_t size = description.tokens.size();
  if (size == 0) {
    Corrupt("the vocabulary is empty");
  }
  if (!description.kinds.empty() && description.kinds.size() != size) {
    Corrupt(fmt::format("got {} token kinds for {} tokens", description.kinds.size(), size));
  }
  const std::pair<const char*, std::optional<TokenId>> named[] = {
      {"bos", description.bos},
      {"eos", description.eos},
      {"eot", description.eot},
      {"unknown", description.unknown},
      {"padding", description.padding},
  };
  const auto check_id = [size](const char* name, TokenId id) {
    if (id >= size) {
      Corrupt(fmt::format("the {} token {} is outside the vocabulary of {}", name, id, size));
    }
  };
  for (const auto& [name, id] : named) {
    if (id) {
      check_id(name, *id);
    }
  }
  for (const TokenId id : description.end_of_generation) {
    check_id("end", id);
  }
}

// "left right": the parts hold no space of their own, but the left one may start with it in odd vocabularies.
HearthMerge SplitMerge(std::string_view merge, std::size_t rank) {
  const std::size_t space = merge.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == merge.size()) {
    Corrupt(fmt::format("merge {}: got '{}', wanted two parts", rank, Printable(merge)));
  }
  return {BorrowBytes(merge.substr(0, space)), BorrowBytes(merge.substr(space + 1))};
}

HearthStepKind StepKindOf(CutKind kind) {
  switch (kind) {
    case CutKind::kIndividualDigits:
      return kHearthIndividualDigits;
    case CutKind::kContiguousDigits:
      return kHearthContiguousDigits;
    case CutKind::kContiguousPunctuation:
      return kHearthContiguousPunctuation;
    case CutKind::kPattern:
      break;
  }
  return kHearthSplit;
}

using RustTokenizer = std::unique_ptr<HearthTokenizer, FreeTokenizer>;

RustTokenizer MakeRustTokenizer(
    const TokenizerDescription& description, const PreTokenizer& pre_tokenizer
) {
  std::vector<HearthBytes> tokens;
  std::vector<HearthAddedToken> added;
  tokens.reserve(description.tokens.size());
  for (std::size_t id = 0; id < description.tokens.size(); ++id) {
    tokens.push_back(BorrowBytes(description.tokens[id]));
    const TokenKind kind = KindOf(description, id);
    if (IsSpecialKind(kind) || kind == TokenKind::kUserDefined) {
      added.push_back({static_cast<TokenId>(id), IsSpecialKind(kind) ? 1U : 0U});
    }
  }
  std::vector<HearthMerge> merges;
  merges.reserve(description.merges.size());
  for (const std::string& merge : description.merges) {
    merges.push_back(SplitMerge(merge, merges.size()));
  }
  std::vector<HearthStep> steps;
  steps.reserve(pre_tokenizer.cuts.size());
  for (const Cut& cut : pre_tokenizer.cuts) {
    steps.push_back({StepKindOf(cut.kind), BorrowBytes(cut.pattern)});
  }
  const HearthTokenizerSpec spec = {
      .tokens = tokens.data(),
      .token_count = tokens.size(),
      .merges = merges.data(),
      .merge_count = merges.size(),
      .added = added.data(),
      .added_count = added.size(),
      .steps = steps.data(),
      .step_count = steps.size(),
      .normalize_nfc = pre_tokenizer.normalizes_nfc ? 1U : 0U,
      .ignore_merges = pre_tokenizer.ignores_merges ? 1U : 0U,
  };
  RustFault fault;
  RustTokenizer tokenizer(hearth_tokenizer_new(&spec, fault.out()));
  if (tokenizer == nullptr) {
    fault.Throw("tokenizer");
  }
  return tokenizer;
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(const TokenizerDescription& description)
      : pre_tokenizer(FindPreTokenizer(description.pre)),
        encoder(MakeRustTokenizer(description, pre_tokenizer)),
        bos(description.bos),
        eos(description.eos),
        unknown(description.unknown),
        padding(description.padding),
        ends(FindEndTokens(description)),
        adds_bos(description.add_bos.value_or(pre_tokenizer.adds_bos)),
        adds_eos(description.add_eos.value_or(false)) {
    if (adds_bos && !bos) {
      Corrupt("a prompt must start with the bos token, but the file names none");
    }
    if (adds_eos && !eos) {
      Corrupt("a prompt must end with the eos token, but the file names none");
    }
    const std::size_t size = description.tokens.size();
    bytes.reserve(size);
    special.reserve(size);
    for (std::size_t id = 0; id < size; ++id) {
      const std::string& text = description.tokens[id];
      const TokenKind kind = KindOf(description, id);
      bytes.push_back(kind == TokenKind::kNormal ? BytesOfPrintable(text) : text);
      special.push_back(IsSpecialKind(kind));
      by_text.try_emplace(text, static_cast<TokenId>(id));
    }
  }

  const PreTokenizer& pre_tokenizer;
  RustTokenizer encoder;
  std::vector<std::string> bytes;  // by id
  std::vector<bool> special;       // by id
  std::unordered_map<std::string, TokenId> by_text;
  std::optional<TokenId> bos, eos, unknown, padding;
  EndTokens ends;
  bool adds_bos;
  bool adds_eos;
};

Tokenizer::Tokenizer(const TokenizerDescription& description) {
  CheckDescription(description);
  impl_ = std::make_unique<const Impl>(description);
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<TokenId> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  if (text.size() > kMaxEncodedTextBytes) {
    throw Error(
        ErrorCode::kResourceExhausted,
        fmt::format(
            "tokenizer: got a text of {} bytes, the limit is {}", text.size(), kMaxEncodedTextBytes
        )
    );
  }
  RustIds found;
  RustFault fault;
  if (!hearth_tokenizer_encode(
          impl_->encoder.get(),
          BorrowBytes(text),
          options.parse_special ? 1 : 0,
          found.out(),
          fault.out()
      )) {
    fault.Throw("tokenizer");
  }
  std::vector<TokenId> ids;
  ids.reserve(found.view().size() + 2);
  if (options.add_special && impl_->adds_bos && impl_->bos) {
    ids.push_back(*impl_->bos);
  }
  ids.insert(ids.end(), found.view().begin(), found.view().end());
  if (options.add_special && impl_->adds_eos && impl_->eos) {
    ids.push_back(*impl_->eos);
  }
  return ids;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, const DecodeOptions& options) const {
  std::string text;
  Utf8Stream stream;
  for (const TokenId id : ids) {
    const std::string_view bytes = TokenBytes(id);
    if (!options.skip_special || !impl_->special[id]) {
      stream.Push(bytes, text);
    }
  }
  stream.Finish(text);
  return options.clean_spaces ? CleanSpaces(std::move(text)) : text;
}

std::string_view Tokenizer::TokenBytes(TokenId id) const {
  if (id >= impl_->bytes.size()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("tokenizer: got token {}, the vocabulary has {}", id, impl_->bytes.size())
    );
  }
  return impl_->bytes[id];
}

std::optional<TokenId> Tokenizer::FindToken(std::string_view text) const {
  const auto found = impl_->by_text.find(std::string(text));
  return found == impl_->by_text.end() ? std::nullopt : std::optional(found->second);
}

bool Tokenizer::IsSpecial(TokenId id) const {
  return id < impl_->special.size() && impl_->special[id];
}

bool Tokenizer::IsEndOfGeneration(TokenId id) const {
  return std::ranges::binary_search(impl_->ends.ends, id);
}

std::size_t Tokenizer::vocabulary_size() const {
  return impl_->bytes.size();
}

std::optional<TokenId> Tokenizer::bos() const {
  return impl_->bos;
}

std::optional<TokenId> Tokenizer::eos() const {
  return impl_->eos;
}

std::optional<TokenId> Tokenizer::eot() const {
  return impl_->ends.turn_end;
}

std::optional<TokenId> Tokenizer::unknown() const {
  return impl_->unknown;
}

std::optional<TokenId> Tokenizer::padding() const {
  return impl_->padding;
}

std::span<const TokenId> Tokenizer::end_of_generation() const {
  return impl_->ends.ends;
}

bool Tokenizer::adds_bos() const {
  return impl_->adds_bos;
}

bool Tokenizer::adds_eos() const {
  return impl_->adds_eos;
}

bool Tokenizer::normalizes() const {
  return impl_->pre_tokenizer.normalizes_nfc;
}

bool Tokenizer::cleans_spaces() const {
  return impl_->pre_tokenizer.cleans_spaces;
}

std::string CleanSpaces(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kChanges = {{
      {" .", "."},
      {" ?", "?"},
      {" !", "!"},
      {" ,", ","},
      {" ' ", "'"},
      {" n't", "n't"},
      {" 'm", "'m"},
      {" 's", "'s"},
      {" 've", "'ve"},
      {" 're", "'re"},
  }};
  for (const auto& [from, to] : kChanges) {
    std::string changed;
    std::size_t at = 0;
    for (std::size_t found = text.find(from); found != std::string::npos;
         found = text.find(from, at)) {
      changed.append(text, at, found - at).append(to);
      at = found + from.size();
    }
    changed.append(text, at);
    text = std::move(changed);
  }
  return text;
}

}  // namespace hearth
