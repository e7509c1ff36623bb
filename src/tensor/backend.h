// The coarse operations that a model graph is made of: where another backend would take the CPU's
// place. Knows rows of float32 and packed weights, not models or requests.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "contracts/forward_cost.h"
#include "hearth/numerics.h"
#include "kernels/attention.h"
#include "tensor/weight_view.h"

namespace hearth {

// Rows of float32 activations. Shapes: [rows, width], `stride` floats between rows; from every row, width
// rounded up to 32 floats are readable, and what pads is +0.
struct RowsView {
  const float* data;
  std::size_t rows;
  std::size_t width;
  std::size_t stride;
};

// Weights of a linear layer in the backend's own layout.
class LinearWeights {
 public:
  virtual ~LinearWeights() = default;
  virtual std::size_t outputs() const = 0;
  virtual std::size_t inputs() const = 0;
  virtual std::size_t bytes() const = 0;
};

// out [rows, outputs] (`stride` floats between rows) = x * weights^T, or += with `add`.
struct LinearJob {
  const LinearWeights* weights;
  float* out;
  std::size_t stride;
  bool add = false;
};

// The attention inputs of one position of one sequence.
struct AttentionRow {
  std::byte* const* pages;  // [pages of the sequence] as KvSequence::LayerPages gives them
  std::size_t position;     // from 0; keys 0 .. position are seen
};

// Shapes:    q [rows, heads, head_dim], k, v [rows, kv_heads, head_dim], out [rows, heads, head_dim] with
//            out_stride floats between rows; cosine, sine [rows, rotary_pairs]. Rows of one sequence are
//            consecutive, share their page list and ascend in position.
struct AttentionBatch {
  std::span<const AttentionRow> rows;
  std::size_t heads;
  std::size_t kv_heads;  // divides heads
  std::size_t head_dim;
  std::size_t rotary_pairs;
  float scale;
  KvStorage storage;
  const float* q;
  const float* k;
  const float* v;
  const float* cosine;
  const float* sine;
  float* out;
  std::size_t out_stride;
};

// What a graph will ask of the backend at most, for telling its scratch beforehand.
struct ScratchShape {
  std::size_t widest_input;  // of its linear layers
  std::size_t heads;
  std::size_t kv_heads;
  std::size_t head_dim;
  KvStorage storage;
  std::size_t context_length;  // tokens of a sequence
};

// Ownership: LinearWeights borrow nothing but must not outlive their backend.
// Threads:   one caller at a time; each call returns when its work is done.
// Errors:    none but std::bad_alloc; shapes are the graph's promise.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual Numerics numerics() const = 0;

  // The backend's own scratch for forwards of that shape; logits are the graph's.
  virtual ForwardCost ScratchCost(const ScratchShape& shape) const = 0;

  // Packs weights; the view may go afterwards.
  virtual std::unique_ptr<LinearWeights> Pack(const WeightView& view) = 0;

  // Several products of the same rows, in one parallel step.
  virtual void Linear(const RowsView& x, std::span<const LinearJob> jobs) = 0;

  // out [rows, width] = RMS norm of each row times weight [width] (kernels/elementwise.h).
  virtual void RmsNorm(
      const RowsView& x, const float* weight, float epsilon, float* out, std::size_t out_stride
  ) = 0;

  // gate = silu(gate) * up, both [rows, width] with the same stride.
  virtual void SwiGlu(
      float* gate, const float* up, std::size_t rows, std::size_t width, std::size_t stride
  ) = 0;

  // The graph's own work on rows 0 .. rows - 1, split over the backend's threads where that pays:
  // job(begin, end) on disjoint ranges, each row costing about as much as `width` values to convert.
  virtual void ForRows(
      std::size_t rows,
      std::size_t width,
      const std::function<void(std::size_t begin, std::size_t end)>& job
  ) = 0;

  // Rotates queries and keys, stores keys and values into the pages, then attends.
  virtual void Attend(const AttentionBatch& batch) = 0;
};

}  // namespace hearth
