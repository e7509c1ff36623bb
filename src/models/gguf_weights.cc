#include "models/gguf_weights.h"

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {

std::optional<WeightView> GgufWeights::Find(const std::string& name) const {
  const TensorDescriptor* tensor = file_.FindTensor(name);
  if (tensor == nullptr) {
    return std::nullopt;
  }
  const std::string where = file_.name() + ": tensor '" + Printable(name) + "'";
  if (!tensor->type) {
    throw Error(
        ErrorCode::kUnsupported,
        where + " is of type " + tensor->type_name +
            ", wanted F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q4_K or Q6_K"
    );
  }
  if (tensor->dims.size() > 2) {
    throw Error(
        ErrorCode::kUnsupported,
        where + " has " + std::to_string(tensor->dims.size()) + " axes, wanted at most 2"
    );
  }
  return WeightView{
      name,
      *tensor->type,
      tensor->dims.size() == 2 ? tensor->dims[1] : 1,
      tensor->dims[0],
      file_.BytesOf(*tensor),
  };
}

std::vector<std::string> GgufWeights::Names() const {
  std::vector<std::string> names;
  for (const TensorDescriptor& tensor : file_.tensors()) {
    names.push_back(tensor.name);
  }
  return names;
}

void GgufWeights::Release(const WeightView& view) const {
  const auto offset = static_cast<std::size_t>(view.data.data() - map_.bytes().data());
  map_.Release(offset, view.data.size());
}

}  // namespace hearth
