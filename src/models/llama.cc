#include "models/llama.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "contracts/printable.h"
#include "hearth/error.h"
#include "kernels/dequantize.h"
#include "models/rotary.h"
#include "platform/aligned_buffer.h"

namespace hearth {
namespace {

constexpr std::size_t kPadding = 32;  // floats; RowsView asks for readable zeros up to it

std::size_t Padded(std::size_t width) {
  return (width + kPadding - 1) / kPadding * kPadding;
}

// Takes tensors from a source, checks shapes and remembers what was used.
class Loader {
 public:
  Loader(const WeightSource& source, Backend& backend) : source_(source), backend_(backend) {}

  bool Has(const std::string& name) const { return source_.Find(name).has_value(); }

  WeightView View(const std::string& name, std::size_t rows, std::size_t columns) {
    const std::optional<WeightView> view = source_.Find(name);
    if (!view) {
      throw Error(
          ErrorCode::kCorruptData, source_.name() + ": tensor '" + Printable(name) + "' is missing"
      );
    }
    if (view->rows != rows || view->columns != columns) {
      throw Error(
          ErrorCode::kCorruptData,
          source_.name() + ": tensor '" + Printable(name) + "' is " +
              Shape(view->rows, view->columns) + ", wanted " + Shape(rows, columns)
      );
    }
    if (used_.insert(name).second) {
      parameters_ += rows * columns;
    }
    return *view;
  }

  std::unique_ptr<LinearWeights> Linear(
      const std::string& name, std::size_t outputs, std::size_t inputs
  ) {
    const WeightView view = View(name, outputs, inputs);
    std::unique_ptr<LinearWeights> weights = backend_.Pack(view);
    bytes_ += weights->bytes();
    source_.Release(view);
    return weights;
  }

  AlignedBuffer<float> Vector(const std::string& name, std::size_t size) {
    const WeightView view = View(name, 1, size);
    AlignedBuffer<float> values(size);
    DequantizeRow(view.type, view.data.data(), size, values.data());
    bytes_ += size * sizeof(float);
    return values;
  }

  void RefuseUnusedTensors() const {
    for (const std::string& name : source_.Names()) {
      if (!used_.contains(name)) {
        throw Error(
            ErrorCode::kUnsupported,
            source_.name() + ": tensor '" + Printable(name) +
                "' is not one that the llama family of hearth uses"
        );
      }
    }
  }

  std::size_t parameters() const { return parameters_; }

  std::size_t bytes() const { return bytes_; }

 private:
  static std::string Shape(std::size_t rows, std::size_t columns) {
    return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
  }

  const WeightSource& source_;
  Backend& backend_;
  std::set<std::string> used_;
  std::size_t parameters_ = 0;
  std::size_t bytes_ = 0;
};

struct Layer {
  AlignedBuffer<float> attention_norm;  // [hidden]
  std::unique_ptr<LinearWeights> q;     // [heads * head_dim, hidden]
  std::unique_ptr<LinearWeights> k;     // [kv_heads * head_dim, hidden]
  std::unique_ptr<LinearWeights> v;     // [kv_heads * head_dim, hidden]
  std::unique_ptr<LinearWeights> o;     // [hidden, heads * head_dim]
  AlignedBuffer<float> feed_forward_norm;
  std::unique_ptr<LinearWeights> gate;  // [feed_forward, hidden]
  std::unique_ptr<LinearWeights> up;
  std::unique_ptr<LinearWeights> down;  // [hidden, feed_forward]
};

// Activations of one call, [tokens, padded width] each; what pads stays +0 from the allocation on.
struct Scratch {
  void Fit(std::size_t tokens, const LlamaConfig& config, std::size_t pairs) {
    cosine.Reserve(tokens * pairs);
    sine.Reserve(tokens * pairs);
    if (tokens <= capacity) {
      return;
    }
    const std::size_t attention = Padded(config.heads * config.head_dim);
    hidden.Resize(tokens * Padded(config.hidden_size));
    normed.Resize(tokens * Padded(config.hidden_size));
    q.Resize(tokens * config.heads * config.head_dim);
    k.Resize(tokens * config.kv_heads * config.head_dim);
    v.Resize(tokens * config.kv_heads * config.head_dim);
    attended.Resize(tokens * attention);
    gate.Resize(tokens * Padded(config.feed_forward));
    up.Resize(tokens * Padded(config.feed_forward));
    capacity = tokens;
  }

  // Of buffers and places; the backend's own comes to it.
  static ForwardCost Cost(const LlamaConfig& config, std::size_t pairs) {
    const std::size_t queries = config.heads * config.head_dim;
    const std::size_t keys = config.kv_heads * config.head_dim;
    const std::size_t floats = 2 * pairs + 2 * Padded(config.hidden_size) + queries + 2 * keys +
                               Padded(queries) + 2 * Padded(config.feed_forward);
    ForwardCost cost;
    cost.fixed_bytes = 12 * kAllocationSlack;
    cost.token_bytes = floats * sizeof(float) + sizeof(AttentionRow);
    cost.logit_row_bytes = config.vocabulary * sizeof(float);
    return cost;
  }

  std::size_t capacity = 0;
  AlignedBuffer<float> cosine, sine, hidden, normed, q, k, v, attended, gate, up;
};

// Multiplications of a token's matrices over those of one key's attention, times how much faster the former go
// (measured on AMX: 256 tokens of SmolLM2 take as long again for 1,900 keys, where counting alone says 3,100).
std::size_t AttentionBreakEven(const LlamaConfig& config) {
  const std::size_t attention = config.heads * config.head_dim;
  const std::size_t kv = config.kv_heads * config.head_dim;
  const std::size_t matrices =
      config.hidden_size * (2 * attention + 2 * kv + 3 * config.feed_forward);
  const std::size_t key = 2 * attention;
  return matrices * 3 / (key * 5);
}

class Llama final : public LanguageModel {
 public:
  Llama(const LlamaConfig& config, const WeightSource& source, Backend& backend);

  const ModelFacts& facts() const override { return facts_; }

  void Forward(std::span<const ForwardRow> rows, float* logits) override;

 private:
  void CheckRows(std::span<const ForwardRow> rows) const;
  void Embed(std::span<const ForwardRow> rows);
  void RunLayer(const Layer& layer, std::span<const AttentionRow> places);
  void Project(std::span<const ForwardRow> rows, float* logits);

  RowsView View(const AlignedBuffer<float>& buffer, std::size_t rows, std::size_t width) const {
    return {buffer.data(), rows, width, Padded(width)};
  }

  LlamaConfig config_;
  Backend& backend_;
  WeightView embedding_;
  std::vector<Layer> layers_;
  AlignedBuffer<float> output_norm_;
  std::unique_ptr<LinearWeights> output_;
  std::unique_ptr<Rotary> rotary_;
  ModelFacts facts_;
  Scratch scratch_;
  std::size_t tokens_ = 0;  // of the current call
};

Llama::Llama(const LlamaConfig& config, const WeightSource& source, Backend& backend)
    : config_(config), backend_(backend) {
  if (PaddedHeadDim(config.head_dim) > kMostPaddedHeadDim || config.head_dim % 16 != 0) {
    throw Error(
        ErrorCode::kUnsupported,
        source.name() + ": head size is " + std::to_string(config.head_dim) +
            ", wanted a multiple of 16 up to " + std::to_string(kMostPaddedHeadDim)
    );
  }
  Loader loader(source, backend);
  const std::size_t hidden = config.hidden_size;
  const std::size_t attention = config.heads * config.head_dim;
  const std::size_t kv = config.kv_heads * config.head_dim;
  embedding_ = loader.View("token_embd.weight", config.vocabulary, hidden);
  for (std::size_t i = 0; i < config.layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    Layer& layer = layers_.emplace_back();
    layer.attention_norm = loader.Vector(prefix + "attn_norm.weight", hidden);
    layer.q = loader.Linear(prefix + "attn_q.weight", attention, hidden);
    layer.k = loader.Linear(prefix + "attn_k.weight", kv, hidden);
    layer.v = loader.Linear(prefix + "attn_v.weight", kv, hidden);
    layer.o = loader.Linear(prefix + "attn_output.weight", hidden, attention);
    layer.feed_forward_norm = loader.Vector(prefix + "ffn_norm.weight", hidden);
    layer.gate = loader.Linear(prefix + "ffn_gate.weight", config.feed_forward, hidden);
    layer.up = loader.Linear(prefix + "ffn_up.weight", config.feed_forward, hidden);
    layer.down = loader.Linear(prefix + "ffn_down.weight", hidden, config.feed_forward);
  }
  output_norm_ = loader.Vector("output_norm.weight", hidden);
  // Without a matrix of its own the output is tied to the embedding.
  const bool tied = !loader.Has("output.weight");
  output_ = loader.Linear(tied ? "token_embd.weight" : "output.weight", config.vocabulary, hidden);
  std::vector<float> factors;
  if (loader.Has("rope_freqs.weight")) {
    const AlignedBuffer<float> values =
        loader.Vector("rope_freqs.weight", config.rope_dimensions / 2);
    factors.assign(values.data(), values.data() + values.size());
  }
  loader.RefuseUnusedTensors();
  rotary_ = std::make_unique<Rotary>(config.rope_base, config.rope_dimensions, factors);
  const KvStorage storage =
      backend.numerics() == Numerics::kF32 ? KvStorage::kF32 : KvStorage::kBF16;
  ForwardCost cost = Scratch::Cost(config, rotary_->pairs());
  const ForwardCost own = backend.ScratchCost({
      std::max({hidden, attention, std::size_t{config.feed_forward}}),
      config.heads,
      config.kv_heads,
      config.head_dim,
      storage,
      config.context_length,
  });
  cost.fixed_bytes += own.fixed_bytes;
  cost.token_bytes += own.token_bytes;
  facts_ = {
      "llama",
      config.vocabulary,
      config.context_length,
      loader.parameters(),
      loader.bytes(),
      backend.numerics(),
      {config.layers, config.kv_heads, config.head_dim, storage},
      embedding_.data.size(),
      cost,
      AttentionBreakEven(config),
  };
}

void Llama::CheckRows(std::span<const ForwardRow> rows) const {
  for (const ForwardRow& row : rows) {
    if (row.tokens.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "forward: got a row without tokens");
    }
    for (const TokenId token : row.tokens) {
      if (token >= config_.vocabulary) {
        throw Error(
            ErrorCode::kInvalidArgument,
            "forward: token " + std::to_string(token) + " is outside the vocabulary of " +
                std::to_string(config_.vocabulary)
        );
      }
    }
    if (row.sequence->length() + row.tokens.size() > config_.context_length) {
      throw Error(
          ErrorCode::kResourceExhausted,
          "forward: " + std::to_string(row.sequence->length() + row.tokens.size()) +
              " tokens do not fit the context of " + std::to_string(config_.context_length)
      );
    }
  }
}

void Llama::Embed(std::span<const ForwardRow> rows) {
  const BlockLayout block = LayoutOf(embedding_.type);
  const std::size_t row_bytes = embedding_.columns / block.values * block.bytes;
  const auto embed = [&](TokenId token, std::size_t position, std::size_t at) {
    DequantizeRow(
        embedding_.type,
        embedding_.data.data() + token * row_bytes,
        config_.hidden_size,
        scratch_.hidden.data() + at * Padded(config_.hidden_size)
    );
    rotary_->Angles(
        position,
        scratch_.cosine.data() + at * rotary_->pairs(),
        scratch_.sine.data() + at * rotary_->pairs()
    );
  };
  backend_.ForRows(tokens_, config_.hidden_size, [&](std::size_t begin, std::size_t end) {
    std::size_t at = 0;
    for (const ForwardRow& row : rows) {
      for (std::size_t i = 0; i < row.tokens.size(); ++i, ++at) {
        if (at >= begin && at < end) {
          embed(row.tokens[i], row.sequence->length() + i, at);
        }
      }
    }
  });
}

void Llama::RunLayer(const Layer& layer, std::span<const AttentionRow> places) {
  Scratch& s = scratch_;
  const std::size_t hidden = config_.hidden_size;
  const std::size_t attention = config_.heads * config_.head_dim;
  const std::size_t kv = config_.kv_heads * config_.head_dim;
  const RowsView residual = View(s.hidden, tokens_, hidden);
  const RowsView normed = View(s.normed, tokens_, hidden);
  backend_.RmsNorm(
      residual, layer.attention_norm.data(), config_.rms_epsilon, s.normed.data(), normed.stride
  );
  const LinearJob qkv[] = {
      {layer.q.get(), s.q.data(), attention},
      {layer.k.get(), s.k.data(), kv},
      {layer.v.get(), s.v.data(), kv},
  };
  backend_.Linear(normed, qkv);
  backend_.Attend({
      places,
      config_.heads,
      config_.kv_heads,
      config_.head_dim,
      rotary_->pairs(),
      1.0f / std::sqrt(static_cast<float>(config_.head_dim)),
      facts_.kv.storage,
      s.q.data(),
      s.k.data(),
      s.v.data(),
      s.cosine.data(),
      s.sine.data(),
      s.attended.data(),
      Padded(attention),
  });
  const LinearJob out[] = {{layer.o.get(), s.hidden.data(), residual.stride, true}};
  backend_.Linear(View(s.attended, tokens_, attention), out);
  backend_.RmsNorm(
      residual, layer.feed_forward_norm.data(), config_.rms_epsilon, s.normed.data(), normed.stride
  );
  const std::size_t width = Padded(config_.feed_forward);
  const LinearJob gated[] = {
      {layer.gate.get(), s.gate.data(), width},
      {layer.up.get(), s.up.data(), width},
  };
  backend_.Linear(normed, gated);
  backend_.SwiGlu(s.gate.data(), s.up.data(), tokens_, config_.feed_forward, width);
  const LinearJob down[] = {{layer.down.get(), s.hidden.data(), residual.stride, true}};
  backend_.Linear(View(s.gate, tokens_, config_.feed_forward), down);
}

void Llama::Project(std::span<const ForwardRow> rows, float* logits) {
  // Moves the chosen rows to the front; they only ever move down.
  const std::size_t stride = Padded(config_.hidden_size);
  std::size_t at = 0;
  std::size_t selected = 0;
  for (const ForwardRow& row : rows) {
    for (std::size_t i = 0; i < row.tokens.size(); ++i, ++at) {
      const bool last = i + 1 == row.tokens.size();
      if (row.logits == LogitSelection::kAll || (row.logits == LogitSelection::kLast && last)) {
        std::memmove(
            scratch_.hidden.data() + selected * stride,
            scratch_.hidden.data() + at * stride,
            config_.hidden_size * sizeof(float)
        );
        ++selected;
      }
    }
  }
  const RowsView hidden = View(scratch_.hidden, selected, config_.hidden_size);
  backend_.RmsNorm(
      hidden, output_norm_.data(), config_.rms_epsilon, scratch_.normed.data(), hidden.stride
  );
  const LinearJob job[] = {{output_.get(), logits, config_.vocabulary}};
  backend_.Linear(View(scratch_.normed, selected, config_.hidden_size), job);
}

void Llama::Forward(std::span<const ForwardRow> rows, float* logits) {
  CheckRows(rows);
  tokens_ = 0;
  for (const ForwardRow& row : rows) {
    tokens_ += row.tokens.size();
    row.sequence->Reserve(row.tokens.size());
  }
  scratch_.Fit(tokens_, config_, rotary_->pairs());
  Embed(rows);
  std::size_t pages = 0;
  for (const ForwardRow& row : rows) {
    pages += row.sequence->pages();
  }
  std::vector<std::byte*> page_parts(pages);
  std::vector<AttentionRow> places;
  places.reserve(tokens_);
  std::size_t first_page = 0;
  for (const ForwardRow& row : rows) {
    for (std::size_t i = 0; i < row.tokens.size(); ++i) {
      places.push_back({page_parts.data() + first_page, row.sequence->length() + i});
    }
    first_page += row.sequence->pages();
  }
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    std::size_t at = 0;
    for (const ForwardRow& row : rows) {
      row.sequence->LayerPages(layer, std::span(page_parts).subspan(at, row.sequence->pages()));
      at += row.sequence->pages();
    }
    RunLayer(layers_[layer], places);
  }
  for (const ForwardRow& row : rows) {
    row.sequence->Advance(row.tokens.size());
  }
  if (SelectedLogits(rows) > 0) {
    Project(rows, logits);
  }
}

}  // namespace

std::unique_ptr<LanguageModel> MakeLlama(
    const LlamaConfig& config, const WeightSource& source, Backend& backend
) {
  return std::make_unique<Llama>(config, source, backend);
}

}  // namespace hearth
