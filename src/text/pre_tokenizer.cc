#include "text/pre_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

// The expression of GPT-2: contractions, then words, numbers and signs with one space before them.
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

// As Qwen 2, with marks in words.
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
    R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kMiniCpm5 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kExaoneMoe =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";

// The published expression has possessive repetitions; nothing that they could give back would match.
constexpr std::string_view kBailingMoe =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";

// Mistral's Tekken and OpenAI's o200k: words split where a capital follows a small letter.
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// DeepSeek V3: three digits at a time, then Chinese and Japanese, then the rest.
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kHanKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// DeepSeek's first models.
constexpr std::string_view kLineEnd = R"([\r\n])";
constexpr std::string_view kCjk = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kDeepSeekLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF})"
    R"(\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D})"
    R"(\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5})"
    R"(\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5})"
    R"(\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})"
    R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59})"
    R"(\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB})"
    R"(\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"
    R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149})"
    R"(\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE})"
    R"(\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
    R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06})"
    R"(\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2})"
    R"(\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr std::string_view kDeepSeekSigns =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr std::string_view kTrailingSpace = R"(\s+$)";

// BLOOM and its descendants. The published class holds parentheses and a bar too.
constexpr std::string_view kBloom =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{0964}\x{06D4}\x{060C})]+)";

constexpr std::string_view kFalconThreeDigits = R"([0-9][0-9][0-9])";
// What llama.cpp calls "default": a guess of its own for files without a name, not a published tokenizer.
constexpr std::string_view kDefaultSigns = R"([\p{P}\$\+<=>\^~\|]+)";

Cut Pattern(std::string_view pattern) {
  return {CutKind::kPattern, pattern};
}

std::vector<PreTokenizer> MakePreTokenizers() {
  const Cut gpt2 = Pattern(kGpt2);
  const Cut each_digit = {CutKind::kIndividualDigits};
  std::vector<PreTokenizer> all;
  all.push_back({
      .names =
          {"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jais", "mellum"},
      .cuts = {gpt2},
  });
  all.push_back({
      .names = {"gigachat", "a.x-4.0", "exaone4"},
      .cuts = {gpt2},
  });
  all.push_back({
      .names = {"trillion", "granite-docling"},
      .cuts = {gpt2},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"mpt", "olmo", "modern-bert"},
      .cuts = {gpt2},
      .normalizes_nfc = true,
  });
  all.push_back({
      .names = {"starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"},
      .cuts = {each_digit, gpt2},
  });
  all.push_back({
      .names = {"smollm"},
      .cuts = {each_digit, gpt2},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"command-r"},
      .cuts = {each_digit, gpt2},
      .normalizes_nfc = true,
      .cleans_spaces = false,
  });
  all.push_back({
      .names =
          {"llama-bpe",
           "llama3",
           "llama-v3",
           "falcon3",
           "falcon-h1",
           "pixtral",
           "midm-2.0",
           "lfm2",
           "jina-v5-nano"},
      .cuts = {Pattern(kLlama3)},
      .ignores_merges = true,
      .adds_bos = true,
  });
  all.push_back({
      .names = {"dbrx", "smaug-bpe", "chatglm-bpe"},
      .cuts = {Pattern(kLlama3)},
  });
  all.push_back({
      .names = {"glm4", "glm5"},
      .cuts = {Pattern(kLlama3)},
      .ignores_merges = true,
  });
  all.push_back({
      .names = {"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2"},
      .cuts = {Pattern(kQwen2)},
      .normalizes_nfc = true,
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"megrez"},
      .cuts = {Pattern(kQwen2)},
      .normalizes_nfc = true,
  });
  all.push_back({
      .names = {"stablelm2"},
      .cuts = {Pattern(kQwen2)},
  });
  all.push_back({
      .names = {"hunyuan", "solar-open", "grok-2"},
      .cuts = {Pattern(kQwen2)},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"qwen35"},
      .cuts = {Pattern(kQwen35)},
      .normalizes_nfc = true,
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"minicpm5"},
      .cuts = {Pattern(kThreeDigits), Pattern(kMiniCpm5)},
      .ignores_merges = true,
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"seed-coder"},
      .cuts = {Pattern(kSeedCoder)},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"exaone-moe"},
      .cuts = {Pattern(kExaoneMoe)},
  });
  all.push_back({
      .names = {"bailingmoe", "bailingmoe2", "llada-moe"},
      .cuts = {Pattern(kBailingMoe)},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"tekken"},
      .cuts = {Pattern(kTekken)},
      .ignores_merges = true,
      .adds_bos = true,
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"},
      .cuts = {Pattern(kO200k)},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
      .cuts = {Pattern(kThreeDigits), Pattern(kHanKana), Pattern(kDeepSeek3)},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"deepseek-llm"},
      .cuts =
          {Pattern(kLineEnd),
           Pattern(kDeepSeekLetters),
           Pattern(kDeepSeekSigns),
           Pattern(kTrailingSpace),
           Pattern(kCjk),
           each_digit},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"deepseek-coder"},
      .cuts =
          {Pattern(kLineEnd),
           Pattern(R"(\s?\p{L}+)"),
           Pattern(R"(\s?\p{P}+)"),
           Pattern(kCjk),
           each_digit},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"falcon"},
      .cuts = {{CutKind::kContiguousPunctuation}, gpt2, Pattern(kFalconThreeDigits)},
  });
  all.push_back({
      .names = {"bloom", "gpt3-finnish"},
      .cuts = {Pattern(kBloom)},
  });
  all.push_back({
      .names = {"poro-chat"},
      .cuts = {Pattern(kBloom)},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"viking"},
      .cuts = {Pattern(kBloom), each_digit},
      .cleans_spaces = false,
  });
  all.push_back({
      .names = {"default"},
      .cuts = {
          Pattern(kDefaultSigns), gpt2, {CutKind::kContiguousDigits}, Pattern(kFalconThreeDigits)
      },
  });
  return all;
}

}  // namespace

std::span<const PreTokenizer> PreTokenizers() {
  static const std::vector<PreTokenizer> all = MakePreTokenizers();
  return all;
}

const PreTokenizer& FindPreTokenizer(std::string_view name) {
  for (const PreTokenizer& candidate : PreTokenizers()) {
    if (std::ranges::find(candidate.names, name) != candidate.names.end()) {
      return candidate;
    }
  }
  throw Error(
      ErrorCode::kUnsupported,
      name.empty()
          ? std::string("tokenizer: the model file names no pre-tokenizer (tokenizer.ggml.pre)")
          : fmt::format("tokenizer: the pre-tokenizer '{}' is not known", Printable(name))
  );
}

}  // namespace hearth
