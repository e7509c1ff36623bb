// The values of sessions in the suite's words: hearth/generation.h from and to JSON.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/entries.h"
#include "hearth/generation.h"

namespace hearth::conformance {

// Errors: std::runtime_error for a name that the suite does not have.
CancelReason ReasonOf(const std::string& name);
OutputMode ModeOf(const std::string& name);

// A number, or one of the strings "nan" and "inf".
double NumberOf(const Json& value);

// Items of a commit: null, or an object whose parts may be missing.
std::vector<std::optional<TokenLogprobs>> LogprobsOf(const Json& items);
Json LogprobsJson(std::span<const std::optional<TokenLogprobs>> items);

Json EventJson(const GenerationEvent& event);
Json OutcomeJson(const GenerationOutcome& outcome);

}  // namespace hearth::conformance
