// Every variant of every kernel against the portable one, bit by bit, over rows, odd sizes, paddings and
// the values where flushing and rounding differ if anything does.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "platform/aligned_buffer.h"
#include "platform/float_mode.h"

namespace hearth {
namespace {

using Random = std::mt19937;

std::vector<Isa> FastIsas() {
  std::vector<Isa> isas = AttainableIsas();
  isas.erase(isas.begin());
  return isas;
}

#define HEARTH_NEEDS_FAST_ISA()                                                \
  if (FastIsas().empty()) {                                                    \
    GTEST_SKIP() << "this machine or build attains only the portable kernels"; \
  }

// Mostly ordinary values, some zeros of both signs, denormals and values at the normal border.
float AnyFloat(Random& random) {
  const float ordinary = std::normal_distribution<float>(0.0f, 2.0f)(random);
  switch (random() % 40) {
    case 0:
      return 0.0f;
    case 1:
      return -0.0f;
    case 2:
      return std::ldexp(ordinary, -126);
    case 3:
      return std::ldexp(ordinary, -140);
    case 4:
      return std::ldexp(ordinary, -62);
    case 5:
      return std::ldexp(ordinary, 20);
    default:
      return ordinary;
  }
}

AlignedBuffer<float> AnyFloats(std::size_t count, Random& random) {
  AlignedBuffer<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = AnyFloat(random);
  }
  return values;
}

::testing::AssertionResult SameBits(const float* a, const float* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(a + i, b + i, sizeof(float)) != 0) {
      return ::testing::AssertionFailure()
             << "value " << i << " of " << count << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

struct Quantized {
  Quantized(std::size_t rows, std::size_t groups, std::size_t group)
      : planes(rows * groups * 2 * group),
        factor(rows * groups),
        sum(rows * groups),
        scaled_sum(rows * groups) {}

  QuantizedRowsOut Out() { return {planes.data(), factor.data(), sum.data(), scaled_sum.data()}; }

  QuantizedRows View(std::size_t rows) const {
    return {planes.data(), factor.data(), sum.data(), scaled_sum.data(), rows};
  }

  AlignedBuffer<std::int8_t> planes;
  AlignedBuffer<float> factor;
  AlignedBuffer<std::int32_t> sum;
  AlignedBuffer<float> scaled_sum;
};

TEST(KernelVariants, QuantizeRows) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(1);
  const FloatModeScope mode;
  for (const int group : {16, 32}) {
    const auto width = static_cast<std::size_t>(group);
    constexpr std::size_t kRows = 200, kGroups = 5;
    AlignedBuffer<float> x = AnyFloats(kRows * kGroups * width, random);
    x[3] = std::numeric_limits<float>::quiet_NaN();
    x[width + 3] = std::numeric_limits<float>::infinity();
    for (std::size_t i = 2 * width; i < 3 * width; ++i) {
      x[i] = std::ldexp(x[i], -100);
    }
    Quantized reference(kRows, kGroups, width);
    portable::QuantizeRows({x.data(), kGroups * width, 0, kRows, kGroups, group, reference.Out()});
    for (const Isa isa : FastIsas()) {
      Quantized got(kRows, kGroups, width);
      KernelsFor(isa).quantize_rows(
          {x.data(), kGroups * width, 0, kRows, kGroups, group, got.Out()}
      );
      EXPECT_EQ(0, std::memcmp(got.planes.data(), reference.planes.data(), got.planes.size()));
      EXPECT_EQ(0, std::memcmp(got.sum.data(), reference.sum.data(), 4 * got.sum.size()));
      EXPECT_TRUE(SameBits(got.factor.data(), reference.factor.data(), got.factor.size()));
      EXPECT_TRUE(SameBits(got.scaled_sum.data(), reference.scaled_sum.data(), got.sum.size()));
    }
  }
}

// A packed matrix of random bytes with scales that are ordinary numbers.
AlignedBuffer<std::byte> AnyPanels(
    const PanelFormat& format, std::size_t outputs, std::size_t groups, Random& random
) {
  const std::size_t panels = (outputs + 15) / 16;
  AlignedBuffer<std::byte> data(panels * groups * GroupBytes(format));
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>(random());
  }
  const std::size_t scales =
      GroupBytes(format) - (format.minima ? 32u : 16u) * (format.half_scales ? 2u : 4u);
  for (std::size_t at = 0; at < data.size(); at += GroupBytes(format)) {
    for (std::size_t i = scales; i < GroupBytes(format); i += format.half_scales ? 2u : 4u) {
      if (format.half_scales) {
        // Signed values of every exponent below infinity, subnormals among them.
        const auto bits = static_cast<std::uint16_t>((random() & 0x83ffu) | (random() % 20 << 10));
        std::memcpy(data.data() + at + i, &bits, 2);
      } else {
        const float value = AnyFloat(random);
        std::memcpy(data.data() + at + i, &value, 4);
      }
    }
  }
  return data;
}

TEST(KernelVariants, MatmulQuantized) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(2);
  const FloatModeScope mode;
  const PanelFormat formats[] = {
      {4, 32, true, false, 8},
      {4, 32, true, true, 0},
      {4, 32, false, true, 0},
      {8, 32, true, false, 128},
      {8, 16, false, false, 160},
  };
  for (const PanelFormat& format : formats) {
    for (const std::size_t outputs : {1u, 16u, 37u}) {
      for (const std::size_t groups : {1u, 2u, 9u}) {
        const auto width = static_cast<std::size_t>(format.group);
        const AlignedBuffer<std::byte> panels = AnyPanels(format, outputs, groups, random);
        for (const std::size_t rows : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 33u, 64u}) {
          const AlignedBuffer<float> x = AnyFloats(rows * groups * width, random);
          Quantized quantized(rows, groups, width);
          portable::QuantizeRows(
              {x.data(), groups * width, 0, rows, groups, format.group, quantized.Out()}
          );
          AlignedBuffer<float> expected = AnyFloats(rows * outputs, random);
          const AlignedBuffer<float> before = AnyFloats(rows * outputs, random);
          MatmulQuantizedArgs args{
              {panels.data(), format, outputs, groups},
              quantized.View(rows),
              0,
              (outputs + 15) / 16,
              rows % 2 == 0,
              expected.data(),
              outputs,
          };
          std::memcpy(expected.data(), before.data(), 4 * before.size());
          portable::MatmulQuantized(args);
          for (const Isa isa : FastIsas()) {
            AlignedBuffer<float> got(rows * outputs);
            std::memcpy(got.data(), before.data(), 4 * before.size());
            args.out = got.data();
            KernelsFor(isa).matmul_quantized(args);
            EXPECT_TRUE(SameBits(got.data(), expected.data(), got.size()))
                << format.bits << " bits, group " << format.group << ", " << rows << " rows, "
                << outputs << " outputs";
          }
        }
      }
    }
  }
}

TEST(KernelVariants, MatmulFloat) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(3);
  const FloatModeScope mode;
  for (const FloatStorage storage : {FloatStorage::kF32, FloatStorage::kF16, FloatStorage::kBF16}) {
    for (const std::size_t outputs : {3u, 16u, 50u}) {
      for (const std::size_t blocks : {1u, 3u}) {
        const std::size_t values = (outputs + 15) / 16 * 16 * blocks * kFloatBlock;
        AlignedBuffer<std::byte> weights(values * FloatBytes(storage));
        for (std::size_t i = 0; i < values; ++i) {
          const float value = AnyFloat(random);
          std::uint32_t bits;
          std::memcpy(&bits, &value, 4);
          const auto half = static_cast<std::uint16_t>(random() & 0xbfffu);
          const auto upper = static_cast<std::uint16_t>(bits >> 16);
          switch (storage) {
            case FloatStorage::kF32:
              std::memcpy(weights.data() + 4 * i, &value, 4);
              break;
            case FloatStorage::kF16:
              std::memcpy(weights.data() + 2 * i, &half, 2);
              break;
            case FloatStorage::kBF16:
              std::memcpy(weights.data() + 2 * i, &upper, 2);
              break;
          }
        }
        for (const std::size_t rows : {1u, 2u, 4u, 7u, 64u}) {
          const AlignedBuffer<float> x = AnyFloats(rows * blocks * kFloatBlock, random);
          AlignedBuffer<float> expected(rows * outputs);
          MatmulFloatArgs args{
              {weights.data(), storage, outputs, blocks},
              x.data(),
              blocks * kFloatBlock,
              rows,
              0,
              (outputs + 15) / 16,
              false,
              expected.data(),
              outputs,
          };
          portable::MatmulFloat(args);
          for (const Isa isa : FastIsas()) {
            AlignedBuffer<float> got(rows * outputs);
            args.out = got.data();
            KernelsFor(isa).matmul_float(args);
            EXPECT_TRUE(SameBits(got.data(), expected.data(), got.size()));
          }
        }
      }
    }
  }
}

TEST(KernelVariants, RmsNormAndSwiGlu) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(4);
  const FloatModeScope mode;
  for (std::size_t width = 1; width < 70; ++width) {
    const AlignedBuffer<float> x = AnyFloats(width, random);
    const AlignedBuffer<float> weight = AnyFloats(width, random);
    AlignedBuffer<float> expected(width), gated(width);
    portable::RmsNorm({x.data(), weight.data(), width, 1e-5f, expected.data()});
    std::memcpy(gated.data(), x.data(), 4 * width);
    portable::SwiGlu({gated.data(), weight.data(), width});
    for (const Isa isa : FastIsas()) {
      AlignedBuffer<float> got(width);
      KernelsFor(isa).rms_norm({x.data(), weight.data(), width, 1e-5f, got.data()});
      EXPECT_TRUE(SameBits(got.data(), expected.data(), width)) << width;
      std::memcpy(got.data(), x.data(), 4 * width);
      KernelsFor(isa).swiglu({got.data(), weight.data(), width});
      EXPECT_TRUE(SameBits(got.data(), gated.data(), width)) << width;
    }
  }
}

struct Cache {
  Cache(KvStorage storage, std::size_t head_dim, std::size_t tokens, Random& random)
      : padded(PaddedHeadDim(head_dim)) {
    const std::size_t page_bytes = HeadPageValues(padded) * KvBytes(storage);
    const std::size_t count = (tokens + kPageTokens - 1) / kPageTokens;
    data.Resize(count * page_bytes);
    // Unwritten slots hold what a reused page may hold: anything, NaN among it.
    std::memset(data.data(), 0xff, data.size());
    for (std::size_t page = 0; page < count; ++page) {
      pages.push_back(data.data() + page * page_bytes);
    }
    for (std::size_t t = 0; t < tokens; ++t) {
      const AlignedBuffer<float> k = AnyFloats(head_dim, random);
      const AlignedBuffer<float> v = AnyFloats(head_dim, random);
      StoreKv(
          {data.data() + t / kPageTokens * page_bytes,
           storage,
           head_dim,
           padded,
           t % kPageTokens,
           k.data(),
           v.data()}
      );
    }
  }

  std::size_t padded;
  AlignedBuffer<std::byte> data;
  std::vector<const std::byte*> pages;
};

// Runs the queries in calls of at most `tile` and returns [queries, head_dim].
AlignedBuffer<float> Attend(
    void (*attention)(const AttentionArgs&),
    const Cache& cache,
    KvStorage storage,
    std::size_t head_dim,
    const AlignedBuffer<float>& q,
    const std::vector<std::size_t>& positions,
    std::size_t tile
) {
  AlignedBuffer<float> out(positions.size() * head_dim);
  for (std::size_t first = 0; first < positions.size(); first += tile) {
    const std::size_t queries = std::min(tile, positions.size() - first);
    const float* rows[kMostTileQueries];
    float* outs[kMostTileQueries];
    for (std::size_t i = 0; i < queries; ++i) {
      rows[i] = q.data() + (first + i) * cache.padded;
      outs[i] = out.data() + (first + i) * head_dim;
    }
    attention({
        cache.pages.data(),
        storage,
        head_dim,
        cache.padded,
        0.125f,
        queries,
        rows,
        positions.data() + first,
        outs,
    });
  }
  return out;
}

TEST(KernelVariants, AttentionForEveryTileAndVariant) {
  Random random(5);
  const FloatModeScope mode;
  for (const KvStorage storage : {KvStorage::kBF16, KvStorage::kF32}) {
    for (const std::size_t head_dim : {16u, 64u, 80u}) {
      constexpr std::size_t kTokens = 1100;  // two whole segments and a part of a third
      const Cache cache(storage, head_dim, kTokens, random);
      const std::vector<std::size_t> positions = {
          0, 1, 14, 62, 63, 64, 65, 127, 128, 500, 510, 511, 512, 513, 575, 576, 1023, 1024, 1099
      };
      AlignedBuffer<float> q(positions.size() * cache.padded);
      for (std::size_t row = 0; row < positions.size(); ++row) {
        for (std::size_t d = 0; d < head_dim; ++d) {
          q[row * cache.padded + d] = AnyFloat(random);
        }
      }
      const AlignedBuffer<float> expected =
          Attend(portable::Attention, cache, storage, head_dim, q, positions, 1);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(std::isfinite(expected[i])) << i;
      }
      for (const Isa isa : AttainableIsas()) {
        for (std::size_t tile = 1; tile <= kMostTileQueries; ++tile) {
          const AlignedBuffer<float> got =
              Attend(KernelsFor(isa).attention, cache, storage, head_dim, q, positions, tile);
          EXPECT_TRUE(SameBits(got.data(), expected.data(), got.size()))
              << IsaName(isa) << ", tile " << tile << ", head_dim " << head_dim;
        }
      }
    }
  }
}

TEST(VectorExp, IsCloseToTheExactValue) {
  for (float x = -87.0f; x < 88.0f; x += 0.0137f) {
    const double exact = std::exp(static_cast<double>(x));
    EXPECT_NEAR(static_cast<double>(VectorExp(x)) / exact, 1.0, 2.4e-7) << x;
  }
  EXPECT_EQ(VectorExp(0.0f), 1.0f);
  EXPECT_EQ(VectorExp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_TRUE(std::isnan(VectorExp(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace hearth
