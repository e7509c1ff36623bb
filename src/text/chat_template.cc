#include "text/chat_template.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "contracts/printable.h"
#include "text/rust_call.h"

namespace hearth {
namespace {

constexpr std::string_view kWhere = "chat template";
constexpr std::size_t kMaxDetailBytes = 1000;

struct FreeTemplate {
  void operator()(HearthTemplate* chat_template) const { hearth_template_free(chat_template); }
};

std::string Place(std::string_view detail, unsigned line, unsigned column) {
  if (line == 0) {
    return fmt::format("{}: {}", kWhere, Printable(detail, kMaxDetailBytes));
  }
  return fmt::format(
      "{}, line {}, column {}: {}", kWhere, line, column, Printable(detail, kMaxDetailBytes)
  );
}

// What the fault of a template means: `failed` is the code for one that cannot be parsed or run.
[[noreturn]] void ThrowFault(const RustFault& fault, ErrorCode failed) {
  const bool raised = fault.code() == kHearthTemplateRaised;
  if (!raised && fault.code() != kHearthTemplateFailed) {
    fault.Throw(kWhere);
  }
  throw TemplateError(
      raised ? ErrorCode::kInvalidArgument : failed,
      std::string(fault.message()),
      fault.line(),
      fault.column(),
      raised
  );
}

std::string ToJson(std::string_view what, const nlohmann::ordered_json& value) {
  try {
    return value.dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: {} holds text that is not UTF-8", kWhere, what)
    );
  }
}

HearthLocalTime LocalTime(const std::optional<std::tm>& given) {
  std::tm now{};
  if (given) {
    now = *given;
  } else {
    const std::time_t seconds = std::time(nullptr);
    localtime_r(&seconds, &now);
  }
  return {
      now.tm_sec,
      now.tm_min,
      now.tm_hour,
      now.tm_mday,
      now.tm_mon,
      now.tm_year,
      now.tm_wday,
      now.tm_yday
  };
}

}  // namespace

TemplateError::TemplateError(
    ErrorCode code, std::string detail, unsigned line, unsigned column, bool raised
)
    : Error(code, Place(detail, line, column)),
      detail_(std::move(detail)),
      line_(line),
      column_(column),
      raised_(raised) {
}

struct ChatTemplate::Impl {
  std::unique_ptr<HearthTemplate, FreeTemplate> compiled;
  std::string special_tokens;  // JSON
};

ChatTemplate::ChatTemplate(
    std::string_view source, const std::map<std::string, std::string>& special_tokens
) {
  RustFault fault;
  auto impl = std::make_unique<Impl>();
  impl->compiled.reset(hearth_template_new(BorrowBytes(source), fault.out()));
  if (impl->compiled == nullptr) {
    ThrowFault(fault, ErrorCode::kCorruptData);
  }
  impl->special_tokens = ToJson("special_tokens", nlohmann::ordered_json(special_tokens));
  impl_ = std::move(impl);
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::Render(
    const nlohmann::ordered_json& messages,
    const nlohmann::ordered_json& tools,
    const nlohmann::ordered_json& variables,
    const ChatTemplateOptions& options
) const {
  const std::string messages_json = ToJson("messages", messages);
  const std::string tools_json = ToJson("tools", tools);
  const std::string variables_json = variables.is_null() ? "{}" : ToJson("kwargs", variables);
  const HearthRenderRequest request = {
      .messages = BorrowBytes(messages_json),
      .tools = BorrowBytes(tools_json),
      .variables = BorrowBytes(variables_json),
      .special_tokens = BorrowBytes(impl_->special_tokens),
      .add_generation_prompt = options.add_generation_prompt ? 1U : 0U,
      .now = LocalTime(options.now),
  };
  RustBytes text;
  RustFault fault;
  if (!hearth_template_render(impl_->compiled.get(), &request, text.out(), fault.out())) {
    ThrowFault(fault, ErrorCode::kInvalidArgument);
  }
  return std::string(text.view());
}

}  // namespace hearth
