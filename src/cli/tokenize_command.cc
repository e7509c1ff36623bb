#include "cli/tokenize_command.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/standard_input.h"
#include "formats/tokenizer_metadata.h"
#include "library/model_directory.h"
#include "platform/file_map.h"
#include "text/tokenizer.h"

namespace hearth {

using Json = nlohmann::ordered_json;

int RunTokenize(const TokenizeOptions& options) {
  const FileMap map(FindModel(options.model.empty() ? kDefaultModel : options.model));
  const Tokenizer tokenizer(ReadTokenizer(GgufFile(map.bytes(), map.name())));
  const std::string text = options.text ? *options.text : ReadStandardInput();
  const std::vector<TokenId> ids = tokenizer.Encode(
      text, {.add_special = options.add_special, .parse_special = options.special}
  );
  Json tokens = Json::array();
  for (const TokenId id : ids) {
    tokens.push_back({{"id", id}, {"text", tokenizer.TokenBytes(id)}});
  }
  if (options.json) {
    const Json result = {{"count", ids.size()}, {"ids", ids}, {"tokens", tokens}};
    // A token may be a part of a character.
    fmt::print("{}\n", result.dump(2, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  for (const Json& token : tokens) {
    fmt::print(
        "{:>8}  {}\n",
        token["id"].get<TokenId>(),
        token["text"].dump(-1, ' ', false, Json::error_handler_t::replace)
    );
  }
  return 0;
}

}  // namespace hearth
