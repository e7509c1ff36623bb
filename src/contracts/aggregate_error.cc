#include "contracts/aggregate_error.h"

namespace hearth {

std::string ErrorMessage(const std::exception_ptr& error) {
  if (!error) {
    return "no error";
  }
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown error";
  }
}

std::string DescribeError(const std::exception_ptr& error) {
  if (!error) {
    return ErrorMessage(error);
  }
  try {
    std::rethrow_exception(error);
  } catch (const AggregateError& aggregate) {
    std::string text = std::string(aggregate.what()) + " [";
    std::string separator;
    for (const std::exception_ptr& member : aggregate.errors()) {
      text += separator + DescribeError(member);
      separator = "; ";
    }
    return text + "]";
  } catch (...) {
    return ErrorMessage(error);
  }
}

}  // namespace hearth
