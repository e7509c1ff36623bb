#include "engine/plan_document.h"

#include <nlohmann/json.hpp>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void Refuse(
    const std::string& where, const std::string& got, const std::string& wanted
) {
  throw Error(ErrorCode::kInvalidArgument, where + ": got " + got + ", wanted " + wanted);
}

std::string Quoted(std::string_view text) {
  return "'" + Printable(text) + "'";
}

template <class S, std::size_t Count>
void ReadFlag(
    const std::array<NamedField<S>, Count>& fields,
    const std::string& name,
    const Json& value,
    const std::string& where,
    S& out
) {
  for (const auto& field : fields) {
    if (field.name == name) {
      if (!value.is_boolean()) {
        Refuse(std::string(where).append(".").append(name), value.type_name(), "true or false");
      }
      out.*field.field = value.template get<bool>();
      return;
    }
  }
  std::string names;
  for (const auto& field : fields) {
    names += names.empty() ? "" : ", ";
    names += field.name;
  }
  Refuse(where, Quoted(name), "one of " + names);
}

ExecutionMethod ReadMethod(const Json& value, const std::string& where) {
  for (const auto method : {ExecutionMethod::kAutoregressive, ExecutionMethod::kDenoising}) {
    if (value == ExecutionMethodName(method)) {
      return method;
    }
  }
  Refuse(
      where + ".method",
      value.is_string() ? Quoted(value.get_ref<const std::string&>()) : value.type_name(),
      "autoregressive or denoising"
  );
}

void RequireObject(const Json& value, const std::string& where) {
  if (!value.is_object()) {
    Refuse(where, value.type_name(), "object");
  }
}

Json PlanJson(const ResolvedExecution& plan) {
  Json json = {
      {"method", ExecutionMethodName(plan.method)},
      {"mechanism", ExecutionMechanismName(plan.mechanism)},
  };
  for (const auto& field : kPlanFields) {
    json[std::string(field.name)] = plan.*field.field;
  }
  json["reasons"] = plan.reasons.Texts();
  return json;
}

}  // namespace

PlanInputs ReadPlanInputs(std::string_view json, std::string_view where) {
  const std::string place(where);
  if (json.size() > kMaxPlanDocumentBytes) {
    Refuse(
        place,
        std::to_string(json.size()) + " bytes",
        "at most " + std::to_string(kMaxPlanDocumentBytes)
    );
  }
  const Json document = Json::parse(json, nullptr, false);
  if (document.is_discarded()) {
    Refuse(place, "text that is not JSON", "one JSON object");
  }
  RequireObject(document, place);
  PlanInputs inputs;
  for (const auto& [part, fields] : document.items()) {
    const std::string inside = place + ": " + Printable(part);
    const bool is_request = part == "request";
    const bool is_capabilities = part == "capabilities";
    if (!is_request && !is_capabilities && part != "features") {
      Refuse(place, Quoted(part), "request, capabilities or features");
    }
    RequireObject(fields, inside);
    for (const auto& [name, value] : fields.items()) {
      if (is_request) {
        ReadFlag(kRequirementFields, name, value, inside, inputs.request);
      } else if (!is_capabilities) {
        ReadFlag(kFeatureFields, name, value, inside, inputs.features);
      } else if (name == "method") {
        inputs.capabilities.method = ReadMethod(value, inside);
      } else {
        ReadFlag(kCapabilityFields, name, value, inside, inputs.capabilities);
      }
    }
  }
  return inputs;
}

std::string PlanAsJson(const ResolvedExecution& plan) {
  return PlanJson(plan).dump();
}

std::string PlanAsText(const ResolvedExecution& plan) {
  constexpr std::size_t kColumn = 17;
  std::string text;
  const auto line = [&text](std::string_view name, std::string_view value) {
    text += name;
    text.append(kColumn - name.size(), ' ');
    text += value;
    text += '\n';
  };
  line("method", ExecutionMethodName(plan.method));
  line("mechanism", ExecutionMechanismName(plan.mechanism));
  for (const auto& field : kPlanFields) {
    line(field.name, plan.*field.field ? "yes" : "no");
  }
  if (plan.reasons.empty()) {
    line("reasons", "none");
    return text;
  }
  text += "reasons\n";
  for (const std::string_view reason : plan.reasons.Texts()) {
    text += "  ";
    text += reason;
    text += '\n';
  }
  return text;
}

}  // namespace hearth
