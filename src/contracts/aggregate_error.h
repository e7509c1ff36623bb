// Several errors as one. A cleanup that fails after a failure must hide nothing (every release is attempted, every
// error is kept), so the members stay exceptions and can be looked at one by one.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth {

// An error that keeps other errors, in the order in which they happened. Members may be aggregates again.
// Its code is kInternal: several things that failed together have no single cause a caller could mend.
// Threads: a value like any exception; copies share the members.
class AggregateError : public Error {
 public:
  AggregateError(const std::string& message, std::vector<std::exception_ptr> errors)
      : Error(ErrorCode::kInternal, message), errors_(std::move(errors)) {}

  const std::vector<std::exception_ptr>& errors() const { return errors_; }

 private:
  std::vector<std::exception_ptr> errors_;
};

// The message of any exception: what() of a std::exception, "unknown error" for anything else, "no error" for null.
std::string ErrorMessage(const std::exception_ptr& error);

// The message for people: like ErrorMessage, and an aggregate as "message [member; member]", recursively.
std::string DescribeError(const std::exception_ptr& error);

}  // namespace hearth
