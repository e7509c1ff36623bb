#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "models/llama.h"
#include "support/counted_allocation.h"
#include "support/tiny_llama.h"
#include "tensor/cpu_backend.h"
#include "tensor/sizing_backend.h"

namespace hearth {
namespace {

// What is foretold may be this much above what is held, and never below: it allows for the last page of every buffer, for
// vectors that grow by doubling and for tiles of attention that may be split, which show in models as small as these.
constexpr double kMostShare = 1.3;
constexpr std::size_t kMostBeside = 256 * 1024;
constexpr std::size_t kMostBesideMember = 64 * 1024;

const Kernels kKernels = KernelsFor(AttainableIsas().back());

struct Setting {
  TinyMix mix;
  Numerics numerics;
  int members;
};

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  for (const TinyMix mix : {TinyMix::kLegacy, TinyMix::kK, TinyMix::kFloat}) {
    for (const Numerics numerics : {Numerics::kDefault, Numerics::kF32}) {
      for (const int members : {1, 2, 5}) {
        settings.push_back({mix, numerics, members});
      }
    }
  }
  return settings;
}

std::string Name(const Setting& setting) {
  return "mix " + std::to_string(static_cast<int>(setting.mix)) + ", " +
         std::string(NumericsName(setting.numerics)) + ", " + std::to_string(setting.members) +
         " threads";
}

// A model of one setting, with what it takes.
class Loaded {
 public:
  explicit Loaded(const Setting& setting)
      : weights_(setting.mix, 1),
        team_(setting.members),
        backend_(MakeCpuBackend(kKernels, setting.numerics, team_)),
        model_(MakeLlama(weights_.config(), weights_, *backend_)) {}

  LanguageModel& model() { return *model_; }

 private:
  TinyLlama weights_;
  WorkerTeam team_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<LanguageModel> model_;
};

// Runs forwards of a row each and gives the bytes that stood at most beside weights and cache. Logits are among them.
class Forwards {
 public:
  explicit Forwards(LanguageModel& model) : model_(model), pool_(model.facts().kv, 4096) {}

  // A sequence of `length` tokens, not counted.
  void AddRow(std::size_t length) {
    KvSequence& sequence = rows_.emplace_back(pool_);
    sequence.Reserve(model_.facts().context_length);
    sequence.Advance(length);
  }

  // `tokens` more of every row in one forward.
  void Step(std::size_t tokens, LogitSelection selection) {
    const std::vector<TokenId> fed(tokens, 3);
    std::vector<ForwardRow> batch;
    for (KvSequence& row : rows_) {
      batch.push_back({&row, fed, selection});
    }
    const std::size_t before = AllocatedBytes() - held_;
    RestartPeak();
    {
      std::vector<float> logits(LanguageModel::SelectedLogits(batch) * model_.facts().vocabulary);
      model_.Forward(batch, logits.data());
    }
    most_ = std::max(most_, PeakAllocatedBytes() - before);
    held_ = AllocatedBytes() - before;
  }

  std::size_t most() const { return most_; }

 private:
  LanguageModel& model_;
  PagePool pool_;
  std::vector<KvSequence> rows_;
  std::size_t most_ = 0;
  std::size_t held_ = 0;  // scratch that earlier steps left
};

void ExpectForetold(const Setting& setting, std::size_t foretold, std::size_t measured) {
  EXPECT_GE(foretold, measured);
  const std::size_t beside =
      kMostBeside + static_cast<std::size_t>(setting.members) * kMostBesideMember;
  EXPECT_LE(
      static_cast<double>(foretold),
      kMostShare * static_cast<double>(measured) + static_cast<double>(beside)
  );
}

TEST(LlamaMemory, PrefillToTheEndOfTheContext) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(Name(setting));
    Loaded loaded(setting);
    Forwards forwards(loaded.model());
    forwards.AddRow(0);
    forwards.Step(1, LogitSelection::kLast);
    forwards.Step(211, LogitSelection::kNone);
    forwards.Step(512, LogitSelection::kNone);
    forwards.Step(300, LogitSelection::kLast);
    ExpectForetold(setting, loaded.model().facts().forward.Bytes(512, 1), forwards.most());
  }
}

TEST(LlamaMemory, ManyRowsThatDecode) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(Name(setting));
    Loaded loaded(setting);
    Forwards forwards(loaded.model());
    for (std::size_t row = 0; row < 48; ++row) {
      forwards.AddRow(row % 3 == 0 ? 1000 : 17 * row);
    }
    forwards.Step(1, LogitSelection::kLast);
    forwards.Step(3, LogitSelection::kLast);
    ExpectForetold(setting, loaded.model().facts().forward.Bytes(48 * 3, 48), forwards.most());
  }
}

TEST(LlamaMemory, OneLongRowBesideShortOnes) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(Name(setting));
    Loaded loaded(setting);
    Forwards forwards(loaded.model());
    forwards.AddRow(1000);
    forwards.AddRow(3);
    forwards.AddRow(5);
    forwards.Step(4, LogitSelection::kAll);
    ExpectForetold(setting, loaded.model().facts().forward.Bytes(12, 12), forwards.most());
  }
}

TEST(LlamaMemory, LogitsOfEveryPosition) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(Name(setting));
    Loaded loaded(setting);
    Forwards forwards(loaded.model());
    forwards.AddRow(0);
    forwards.Step(400, LogitSelection::kAll);
    ExpectForetold(setting, loaded.model().facts().forward.Bytes(400, 400), forwards.most());
  }
}

TEST(LlamaMemory, TheSizingBackendGivesTheFactsOfTheRealOne) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(Name(setting));
    Loaded loaded(setting);
    const ModelFacts& real = loaded.model().facts();
    const TinyLlama weights(setting.mix, 1);
    const auto backend =
        MakeSizingBackend(setting.numerics, static_cast<std::size_t>(setting.members));
    const auto model = MakeLlama(weights.config(), weights, *backend);
    const ModelFacts& sized = model->facts();
    EXPECT_EQ(sized.weight_bytes, real.weight_bytes);
    EXPECT_EQ(sized.mapped_bytes, real.mapped_bytes);
    EXPECT_EQ(sized.parameters, real.parameters);
    EXPECT_EQ(sized.context_length, real.context_length);
    EXPECT_EQ(sized.kv.PageBytes(), real.kv.PageBytes());
    EXPECT_EQ(sized.forward, real.forward);
  }
}

TEST(LlamaMemory, WeightsTakeWhatTheFactsSay) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(Name(setting));
    const TinyLlama weights(setting.mix, 1);
    WorkerTeam team(setting.members);
    const auto backend = MakeCpuBackend(kKernels, setting.numerics, team);
    const std::size_t before = AllocatedBytes();
    RestartPeak();
    const auto model = MakeLlama(weights.config(), weights, *backend);
    const std::size_t held = PeakAllocatedBytes() - before;
    EXPECT_GE(held, model->facts().weight_bytes);
    EXPECT_LE(held, model->facts().weight_bytes + kMostBeside);
    EXPECT_EQ(model->facts().mapped_bytes, weights.Find("token_embd.weight")->data.size());
  }
}

TEST(LlamaMemory, TheSizingBackendComputesNothing) {
  const TinyLlama weights(TinyMix::kK, 1);
  const auto backend = MakeSizingBackend(Numerics::kDefault, 1);
  const auto model = MakeLlama(weights.config(), weights, *backend);
  PagePool pool(model->facts().kv, 1);
  KvSequence sequence(pool);
  const std::vector<TokenId> tokens(1, 7);
  const ForwardRow row{&sequence, tokens};
  std::vector<float> logits(model->facts().vocabulary);
  EXPECT_THROW(model->Forward({&row, 1}, logits.data()), Error);
}

}  // namespace
}  // namespace hearth
