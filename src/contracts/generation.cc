#include "hearth/generation.h"

namespace hearth {

std::string_view CancelReasonName(CancelReason reason) {
  switch (reason) {
    case CancelReason::kRequested:
      return "requested";
    case CancelReason::kConsumerClosed:
      return "consumer_closed";
    case CancelReason::kConsumerIdle:
      return "consumer_idle";
    case CancelReason::kEngineClosed:
      return "engine_closed";
  }
  return "unknown";
}

std::string_view OutputModeName(OutputMode mode) {
  switch (mode) {
    case OutputMode::kStream:
      return "stream";
    case OutputMode::kCollect:
      return "collect";
    case OutputMode::kCallback:
      return "callback";
  }
  return "unknown";
}

std::string_view SessionStateName(SessionState state) {
  switch (state) {
    case SessionState::kCreated:
      return "created";
    case SessionState::kPreparing:
      return "preparing";
    case SessionState::kRunning:
      return "running";
    case SessionState::kSettling:
      return "settling";
    case SessionState::kTerminal:
      return "terminal";
  }
  return "unknown";
}

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
  }
  return "unknown";
}

std::string_view FailureCodeName(FailureCode code) {
  switch (code) {
    case FailureCode::kExecutionFailed:
      return "execution_failed";
    case FailureCode::kCleanupFailed:
      return "cleanup_failed";
  }
  return "unknown";
}

std::string_view OutcomeStatusName(const GenerationOutcome& outcome) {
  if (std::holds_alternative<GenerationOutcome::Completed>(outcome.end)) {
    return "completed";
  }
  return std::holds_alternative<GenerationOutcome::Cancelled>(outcome.end) ? "cancelled" : "failed";
}

}  // namespace hearth
