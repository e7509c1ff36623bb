// The backend that measures: it tells what the processor's backend would hold, without reading a matrix or computing.
#pragma once

#include <cstddef>
#include <memory>

#include "tensor/backend.h"

namespace hearth {

// A model that is built on it has the facts, and gives the errors, of one that is built to run with a team of `members`; so
// that what is planned and what is loaded cannot differ.
// Ownership: borrows nothing; the data of views is never read.
// Errors:    its operations compute nothing and throw Error(kInternal).
std::unique_ptr<Backend> MakeSizingBackend(Numerics numerics, std::size_t members);

}  // namespace hearth
