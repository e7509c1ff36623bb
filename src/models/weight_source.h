// Where a model family finds its weights by name, whatever the file format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensor/weight_view.h"

namespace hearth {

// Ownership: the source keeps the bytes that its views borrow.
// Threads:   safe from several threads.
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  // What messages call it: the file's path.
  virtual std::string name() const = 0;

  // The tensor of that name, nothing when the file has none.
  // Errors: kUnsupported when its element type is one that hearth cannot read, naming both.
  virtual std::optional<WeightView> Find(const std::string& name) const = 0;

  virtual std::vector<std::string> Names() const = 0;

  // Says that the bytes of the view will not be read again, so that the file's pages may leave memory.
  virtual void Release(const WeightView& view) const = 0;
};

}  // namespace hearth
