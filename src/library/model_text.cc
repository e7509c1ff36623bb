#include "hearth/model_text.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/tokenizer_metadata.h"
#include "hearth/error.h"
#include "library/model_directory.h"
#include "library/text_parts.h"
#include "platform/file_map.h"
#include "text/detokenizer.h"

namespace hearth {
namespace {

std::map<std::string, std::string> SpecialTokens(const TokenizerDescription& description) {
  std::map<std::string, std::string> tokens;
  const auto add = [&](const char* name, const std::optional<TokenId>& id) {
    if (id) {
      tokens[name] = description.tokens[*id];
    }
  };
  add("bos_token", description.bos);
  add("eos_token", description.eos);
  add("unk_token", description.unknown);
  add("pad_token", description.padding);
  return tokens;
}

}  // namespace

ModelText::Parts::Parts(const GgufFile& file) : Parts(file, ReadTokenizer(file)) {
}

ModelText::Parts::Parts(const GgufFile& file, const TokenizerDescription& description)
    : tokenizer(description) {
  const std::span<const TokenId> ids = tokenizer.end_of_generation();
  stop_tokens.assign(ids.begin(), ids.end());
  try {
    if (description.chat_template.empty()) {
      throw Error(
          ErrorCode::kNotFound,
          file.name() + ": the model has no chat template; it can only continue a raw prompt"
      );
    }
    template_.emplace(description.chat_template, SpecialTokens(description));
  } catch (const Error&) {
    no_template_ = std::current_exception();
  }
}

const ChatTemplate& ModelText::Parts::Template() const {
  if (no_template_) {
    std::rethrow_exception(no_template_);
  }
  return *template_;
}

ModelText ModelText::Open(const std::string& model) {
  const FileMap map(FindModel(model));
  return ModelText(std::make_shared<const Parts>(GgufFile(map.bytes(), map.name())));
}

std::vector<TokenId> ModelText::Tokenize(
    std::string_view text, const TokenizeOptions& options
) const {
  return parts_->tokenizer.Encode(
      text, {.add_special = options.add_special, .parse_special = options.parse_special}
  );
}

std::string ModelText::Detokenize(std::span<const TokenId> tokens) const {
  return parts_->tokenizer.Decode(tokens, {.skip_special = true});
}

std::string_view ModelText::TokenBytes(TokenId token) const {
  return parts_->tokenizer.TokenBytes(token);
}

const std::vector<TokenId>& ModelText::stop_tokens() const {
  return parts_->stop_tokens;
}

std::string ModelText::RenderChat(const std::vector<ChatMessage>& messages) const {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const ChatMessage& message : messages) {
    array.push_back({{"role", message.role}, {"content", message.content}});
  }
  return parts_->Template().Render(array, nullptr, nullptr);
}

std::vector<TokenId> ModelText::ChatPrompt(const std::vector<ChatMessage>& messages) const {
  // The template writes the special tokens itself.
  std::vector<TokenId> tokens = Tokenize(RenderChat(messages), {.parse_special = true});
  if (tokens.empty()) {
    throw Error(ErrorCode::kCorruptData, "chat template: it made an empty prompt");
  }
  return tokens;
}

struct TextStream::Impl {
  std::shared_ptr<const ModelText::Parts> parts;
  Detokenizer detokenizer;
};

TextStream::TextStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}

TextStream::TextStream(TextStream&&) noexcept = default;
TextStream& TextStream::operator=(TextStream&&) noexcept = default;
TextStream::~TextStream() = default;

TextStream ModelText::Stream() const {
  return TextStream(
      std::make_unique<TextStream::Impl>(TextStream::Impl{parts_, Detokenizer(parts_->tokenizer)})
  );
}

std::string TextStream::Push(TokenId token) {
  return impl_->detokenizer.Push(token);
}

std::string TextStream::Push(std::span<const TokenId> tokens) {
  std::string text;
  for (const TokenId token : tokens) {
    text += impl_->detokenizer.Push(token);
  }
  return text;
}

std::string TextStream::Finish() {
  return impl_->detokenizer.Finish();
}

}  // namespace hearth
