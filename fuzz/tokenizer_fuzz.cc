// Text from a request. The first byte chooses the pre-tokenizer, the rest is the text: it must come back unchanged (or
// normalized), piece by piece as at once, or give one hearth::Error when it is not UTF-8.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/error.h"
#include "support/tiny_vocabulary.h"
#include "text/detokenizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"

namespace hearth {
namespace {

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// One tokenizer for each pre-tokenizer, made when it is first asked for.
const Tokenizer& TokenizerOf(std::size_t choice) {
  static std::map<std::string_view, Tokenizer> all;
  const auto known = PreTokenizers();
  const std::string_view name = known[choice % known.size()].names.front();
  const auto found = all.find(name);
  if (found != all.end()) {
    return found->second;
  }
  TinyVocabulary vocabulary(name);
  vocabulary.Merge("a", "b");
  vocabulary.Merge(" ", "a");
  vocabulary.Merge(" ", " ");
  vocabulary.Merge("\xe4", "\xb8");
  vocabulary.Add("<|im_end|>", TokenKind::kControl);
  vocabulary.Add("<think>", TokenKind::kUserDefined);
  vocabulary.description.add_bos = false;
  return all.emplace(name, Tokenizer(vocabulary.description)).first->second;
}

void Encode(const Tokenizer& tokenizer, std::string_view text, bool parse_special) {
  std::vector<TokenId> ids;
  try {
    ids = tokenizer.Encode(text, {.parse_special = parse_special});
  } catch (const Error& error) {
    Check(error.code() == ErrorCode::kInvalidArgument);
    return;
  }
  const std::string whole = tokenizer.Decode(ids);
  if (!tokenizer.normalizes()) {
    Check(whole == text);
  }
  Detokenizer detokenizer(tokenizer, false);
  std::string joined;
  for (const TokenId id : ids) {
    Check(id < tokenizer.vocabulary_size());
    joined += detokenizer.Push(id);
  }
  Check(joined + detokenizer.Finish() == whole);
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const hearth::Tokenizer& tokenizer = hearth::TokenizerOf(data[0]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  hearth::Encode(tokenizer, text, false);
  hearth::Encode(tokenizer, text, true);
  return 0;
}
