// The weights of a GGUF file as a WeightSource.
#pragma once

#include "formats/gguf.h"
#include "models/weight_source.h"
#include "platform/file_map.h"

namespace hearth {

// Ownership: borrows the map and the parsed file, which outlive it.
// Axes: GGUF lists the innermost first, so dims[0] is columns and dims[1] rows; more axes are refused.
class GgufWeights final : public WeightSource {
 public:
  GgufWeights(const FileMap& map, const GgufFile& file) : map_(map), file_(file) {}

  std::string name() const override { return file_.name(); }

  std::optional<WeightView> Find(const std::string& name) const override;
  std::vector<std::string> Names() const override;
  void Release(const WeightView& view) const override;

 private:
  const FileMap& map_;
  const GgufFile& file_;
};

}  // namespace hearth
