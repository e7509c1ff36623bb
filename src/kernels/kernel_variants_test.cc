// Every variant of every kernel against the portable one, bit by bit, over rows, odd sizes, paddings and
// the values where flushing and rounding differ if anything does.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/half.h"
#include "kernels/kernels.h"
#include "kernels/quantized_rows_buffer.h"
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

struct KindName {
  PanelKind kind;
  const char* name;
};

constexpr KindName kKinds[] = {
    {PanelKind::kCode4, "code4"},
    {PanelKind::kCode4Minimum, "code4 minimum"},
    {PanelKind::kCode8, "code8"},
    {PanelKind::kCode4Nested, "code4 nested"},
    {PanelKind::kCode6Nested, "code6 nested"},
};

TEST(KernelVariants, QuantizeRows) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(1);
  const FloatModeScope mode;
  // Whole and ragged tiles of rows, whole and ragged segments.
  for (const std::size_t rows : {1u, 16u, 100u}) {
    for (const std::size_t groups : {1u, 8u, 13u}) {
      const std::size_t width = groups * kGroupInputs;
      AlignedBuffer<float> x = AnyFloats(rows * width, random);
      if (rows > 4) {
        x[3] = std::numeric_limits<float>::quiet_NaN();
        x[width + 3] = std::numeric_limits<float>::infinity();
        for (std::size_t i = 2 * width; i < 3 * width; ++i) {
          x[i] = std::ldexp(x[i], -100);
        }
      }
      QuantizedRowsBuffer reference;
      reference.Reserve(rows, groups);
      portable::QuantizeRows({x.data(), width, 0, rows, reference.Out()});
      const QuantizedRows expected = reference.View();
      for (const Isa isa : FastIsas()) {
        QuantizedRowsBuffer buffer;
        buffer.Reserve(rows, groups);
        KernelsFor(isa).quantize_rows({x.data(), width, 0, rows, buffer.Out()});
        const QuantizedRows got = buffer.View();
        const std::size_t count = rows * groups;
        EXPECT_EQ(0, std::memcmp(got.planes, expected.planes, count * 2 * kGroupInputs));
        EXPECT_EQ(0, std::memcmp(got.offset, expected.offset, 4 * count));
        EXPECT_EQ(0, std::memcmp(got.half_offset, expected.half_offset, 8 * count));
        EXPECT_TRUE(SameBits(got.factor, expected.factor, rows * SegmentCount(groups)));
        EXPECT_TRUE(SameBits(got.sum, expected.sum, count));
      }
    }
  }
}

// An activation is factor * (16 * high + low), to half a step.
TEST(QuantizeRows, KeepsTheValuesToHalfAStep) {
  Random random(11);
  const FloatModeScope mode;
  constexpr std::size_t kRows = 20, kGroups = 9, kWidth = kGroups * kGroupInputs;
  AlignedBuffer<float> x = AnyFloats(kRows * kWidth, random);
  QuantizedRowsBuffer buffer;
  buffer.Reserve(kRows, kGroups);
  portable::QuantizeRows({x.data(), kWidth, 0, kRows, buffer.Out()});
  const QuantizedRows rows = buffer.View();
  for (std::size_t row = 0; row < kRows; ++row) {
    const RowPlace place = PlaceOf(row, kRows);
    for (std::size_t g = 0; g < kGroups; ++g) {
      const float factor = rows.factor[place.At(g / kSegmentGroups, SegmentCount(kGroups))];
      const std::int8_t* planes = rows.planes + place.At(g, kGroups) * 2 * kGroupInputs;
      float sum = 0.0f;
      for (std::size_t i = 0; i < kGroupInputs; ++i) {
        const int a = planes[i] * 16 + planes[kGroupInputs + i];
        sum += static_cast<float>(a);
        EXPECT_NEAR(
            factor * static_cast<float>(a), x[row * kWidth + g * kGroupInputs + i], 0.5001f * factor
        );
        EXPECT_LE(std::abs(a), 2032);
        EXPECT_GE(planes[kGroupInputs + i], -8);
        EXPECT_LE(planes[kGroupInputs + i], 7);
      }
      EXPECT_EQ(rows.sum[place.At(g, kGroups)], sum);
    }
  }
}

// Where the float16 numbers of a panel stand: the scales and minima of groups, or the headers of segments.
bool IsHalf(PanelKind kind, std::size_t groups, std::size_t at) {
  for (std::size_t s = 0, start = 0; s < SegmentCount(groups); ++s) {
    if (at < start + HeaderBytes(kind)) {
      return true;
    }
    start += HeaderBytes(kind);
    const std::size_t count = std::min(kSegmentGroups, groups - s * kSegmentGroups);
    if (at < start + count * GroupBytes(kind)) {
      const std::size_t codes = kind == PanelKind::kCode8 ? 512 : 256;
      return HeaderBytes(kind) == 0 && (at - start) % GroupBytes(kind) >= codes;
    }
    start += count * GroupBytes(kind);
  }
  return false;
}

// A packed matrix of random bytes whose float16 numbers are of every exponent below infinity, subnormals among
// them.
AlignedBuffer<std::byte> AnyPanels(
    PanelKind kind, std::size_t outputs, std::size_t groups, Random& random
) {
  const std::size_t panel = PanelBytes(kind, groups);
  AlignedBuffer<std::byte> data((outputs + 15) / 16 * panel);
  for (std::size_t i = 0; i < data.size(); i += 2) {
    auto bits = static_cast<std::uint16_t>(random());
    if (IsHalf(kind, groups, i % panel)) {
      bits = static_cast<std::uint16_t>((bits & 0x83ffu) | (random() % 20 << 10));
    }
    std::memcpy(data.data() + i, &bits, 2);
  }
  return data;
}

void ExpectSameProducts(
    PanelKind kind, std::size_t outputs, std::size_t groups, std::size_t rows, Random& random
) {
  const AlignedBuffer<std::byte> panels = AnyPanels(kind, outputs, groups, random);
  const std::size_t width = groups * kGroupInputs;
  const AlignedBuffer<float> x = AnyFloats(rows * width, random);
  QuantizedRowsBuffer quantized;
  quantized.Reserve(rows, groups);
  portable::QuantizeRows({x.data(), width, 0, rows, quantized.Out()});
  const std::size_t stride = outputs + rows % 3;
  AlignedBuffer<float> expected = AnyFloats(rows * stride, random);
  const AlignedBuffer<float> before = AnyFloats(rows * stride, random);
  MatmulQuantizedArgs args{
      {panels.data(), kind, outputs, groups},
      quantized.View(),
      0,
      rows,
      0,
      (outputs + 15) / 16,
      rows % 2 == 0,
      expected.data(),
      stride,
  };
  std::memcpy(expected.data(), before.data(), 4 * before.size());
  portable::MatmulQuantized(args);
  for (const Isa isa : FastIsas()) {
    AlignedBuffer<float> got(rows * stride);
    std::memcpy(got.data(), before.data(), 4 * before.size());
    args.out = got.data();
    KernelsFor(isa).matmul_quantized(args);
    EXPECT_TRUE(SameBits(got.data(), expected.data(), got.size()))
        << IsaName(isa) << ", " << rows << " rows, " << outputs << " outputs, " << groups
        << " groups";
  }
}

TEST(KernelVariants, MatmulQuantizedAtEveryRowCount) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(2);
  const FloatModeScope mode;
  for (const auto& [kind, name] : kKinds) {
    SCOPED_TRACE(name);
    for (std::size_t rows = 1; rows <= 64; ++rows) {
      ExpectSameProducts(kind, 37, 9, rows, random);
    }
  }
}

TEST(KernelVariants, MatmulQuantizedAtOddSizes) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(3);
  const FloatModeScope mode;
  for (const auto& [kind, name] : kKinds) {
    SCOPED_TRACE(name);
    for (const std::size_t outputs : {1u, 8u, 9u, 16u, 48u}) {
      for (const std::size_t groups : {1u, 2u, 3u, 7u, 8u, 11u, 16u, 21u}) {
        for (const std::size_t rows : {1u, 5u, 23u}) {
          ExpectSameProducts(kind, outputs, groups, rows, random);
        }
      }
    }
  }
}

// Inputs of whole segments and with a last segment of few and of many groups, with one tile of rows, two and more, and
// panels that do not fill the last set of them.
TEST(KernelVariants, MatmulQuantizedOfWholeAndShortSegments) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(8);
  const FloatModeScope mode;
  for (const auto& [kind, name] : kKinds) {
    SCOPED_TRACE(name);
    for (const std::size_t outputs : {16u, 37u, 100u}) {
      for (const std::size_t groups : {2u, 7u, 8u, 9u, 18u, 23u, 24u}) {
        for (const std::size_t rows : {6u, 16u, 17u, 32u, 47u, 80u}) {
          ExpectSameProducts(kind, outputs, groups, rows, random);
        }
      }
    }
  }
}

// More rows than one pass over the panels takes.
TEST(KernelVariants, MatmulQuantizedOfLongPrompts) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(4);
  const FloatModeScope mode;
  for (const auto& [kind, name] : kKinds) {
    SCOPED_TRACE(name);
    ExpectSameProducts(kind, 20, 70, 530, random);
    ExpectSameProducts(kind, 20, 64, 530, random);
  }
}

// Every code, scale and activation at its limit: what the integers must hold.
TEST(KernelVariants, MatmulQuantizedAtTheLimitsOfItsIntegers) {
  HEARTH_NEEDS_FAST_ISA();
  const FloatModeScope mode;
  constexpr std::size_t kGroups = 8, kRows = 21, kWidth = kGroups * kGroupInputs;
  for (const auto& [kind, name] : kKinds) {
    SCOPED_TRACE(name);
    for (const unsigned fill : {0x00u, 0x80u, 0xffu}) {
      for (const float sign : {1.0f, -1.0f}) {
        AlignedBuffer<std::byte> panels(PanelBytes(kind, kGroups));
        std::memset(panels.data(), static_cast<int>(fill), panels.size());
        for (std::size_t i = 0; i < panels.size(); i += 2) {
          if (IsHalf(kind, kGroups, i)) {
            const std::uint16_t one = 0x3c00;
            std::memcpy(panels.data() + i, &one, 2);
          } else if (kind == PanelKind::kCode6Nested && i >= 32 && (i - 32) % 416 < 32) {
            std::memset(panels.data() + i, -128, 2);
          }
        }
        AlignedBuffer<float> x(kRows * kWidth);
        std::fill_n(x.data(), x.size(), sign);
        QuantizedRowsBuffer quantized;
        quantized.Reserve(kRows, kGroups);
        portable::QuantizeRows({x.data(), kWidth, 0, kRows, quantized.Out()});
        AlignedBuffer<float> expected(kRows * 16);
        MatmulQuantizedArgs args{
            {panels.data(), kind, 16, kGroups},
            quantized.View(),
            0,
            kRows,
            0,
            1,
            false,
            expected.data(),
            16,
        };
        portable::MatmulQuantized(args);
        if (kind == PanelKind::kCode8) {
          const float code = static_cast<std::int8_t>(fill);
          EXPECT_NEAR(expected[0], sign * code * kWidth, 0.01f);
        }
        if (kind == PanelKind::kCode6Nested && fill != 0x80u) {
          const float code = fill == 0x00u ? -32.0f : 31.0f;
          EXPECT_NEAR(expected[0], -128.0f * sign * code * kWidth, 1.0f);
        }
        for (const Isa isa : FastIsas()) {
          AlignedBuffer<float> got(kRows * 16);
          args.out = got.data();
          KernelsFor(isa).matmul_quantized(args);
          EXPECT_TRUE(SameBits(got.data(), expected.data(), got.size())) << IsaName(isa);
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

// x [head_dim] as the cache stores it.
AlignedBuffer<std::byte> Converted(KvStorage storage, const float* x, std::size_t head_dim) {
  const std::size_t padded = PaddedHeadDim(head_dim);
  AlignedBuffer<std::byte> out(padded * KvBytes(storage));
  portable::RotateHead({x, nullptr, nullptr, 0, head_dim, padded, storage, out.data()});
  return out;
}

// The key-value cache of one head. Unwritten slots hold `unwritten` in every byte, as a reused page may hold
// anything: 0xff is NaN, 0x41 a number.
struct Cache {
  Cache(KvStorage kv_storage, std::size_t dim, std::size_t tokens, int unwritten, Random& random)
      : storage(kv_storage), head_dim(dim), padded(PaddedHeadDim(dim)) {
    const std::size_t page_bytes = HeadPageValues(padded) * KvBytes(storage);
    const std::size_t count = (tokens + kPageTokens - 1) / kPageTokens;
    data.Resize(count * page_bytes);
    std::memset(data.data(), unwritten, data.size());
    for (std::size_t page = 0; page < count; ++page) {
      pages.push_back(data.data() + page * page_bytes);
    }
    for (std::size_t t = 0; t < tokens; ++t) {
      const AlignedBuffer<float> k = AnyFloats(head_dim, random);
      const AlignedBuffer<float> v = AnyFloats(head_dim, random);
      StoreKv(
          {data.data() + t / kPageTokens * page_bytes,
           storage,
           padded,
           t % kPageTokens,
           Converted(storage, k.data(), head_dim).data(),
           Converted(storage, v.data(), head_dim).data()}
      );
    }
  }

  KvStorage storage;
  std::size_t head_dim;
  std::size_t padded;
  AlignedBuffer<std::byte> data;
  std::vector<const std::byte*> pages;
};

// The queries at ascending `positions`, in tiles of `tile`; returns [queries, head_dim].
AlignedBuffer<float> Attend(
    const Kernels& kernels,
    const Cache& cache,
    const AlignedBuffer<std::byte>& q,
    const std::vector<std::size_t>& positions,
    std::size_t tile
) {
  const std::size_t most_segments = positions.back() / kSegmentTokens + 1;
  const std::size_t stride = most_segments * AttentionPartFloats(cache.padded);
  AlignedBuffer<float> parts(positions.size() * stride);
  AlignedBuffer<float> out(positions.size() * cache.head_dim);
  for (std::size_t segment = 0; segment < most_segments; ++segment) {
    const std::size_t begin = segment * kSegmentTokens;
    std::size_t first = 0;
    while (positions[first] < begin) {
      ++first;
    }
    while (first < positions.size()) {
      const std::size_t queries = std::min(tile, positions.size() - first);
      std::vector<std::size_t> visible;
      for (std::size_t i = first; i < first + queries; ++i) {
        visible.push_back(std::min(positions[i] + 1 - begin, kSegmentTokens));
      }
      kernels.attention({
          cache.pages.data() + segment * kSegmentPages,
          cache.storage,
          cache.padded,
          0.125f,
          queries,
          q.data() + first * cache.padded * KvBytes(cache.storage),
          visible.data(),
          parts.data() + first * stride + segment * AttentionPartFloats(cache.padded),
          stride,
      });
      first += queries;
    }
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    kernels.join_segments({
        parts.data() + i * stride,
        positions[i] / kSegmentTokens + 1,
        cache.head_dim,
        cache.padded,
        out.data() + i * cache.head_dim,
    });
  }
  return out;
}

TEST(KernelVariants, AttentionForEveryTileAndVariant) {
  Random random(5);
  const FloatModeScope mode;
  // Neighbours with several heads, as a prompt has them, and lonely ones; over two whole segments and a part.
  std::vector<std::size_t> positions = {0, 1, 14, 62, 63, 64, 65, 127, 128, 500, 510};
  for (std::size_t position = 511; position < 530; ++position) {
    positions.insert(positions.end(), 3, position);
  }
  positions.insert(positions.end(), {575, 576, 1023, 1024, 1098, 1099});
  constexpr std::size_t kTokens = 1100;
  for (const int unwritten : {0xff, 0x41}) {
    for (const KvStorage storage : {KvStorage::kBF16, KvStorage::kF32}) {
      for (const std::size_t head_dim : {16u, 64u, 80u, 128u}) {
        const Cache cache(storage, head_dim, kTokens, unwritten, random);
        const std::size_t row_bytes = cache.padded * KvBytes(storage);
        AlignedBuffer<std::byte> q(positions.size() * row_bytes);
        for (std::size_t row = 0; row < positions.size(); ++row) {
          const AlignedBuffer<float> x = AnyFloats(head_dim, random);
          std::memcpy(
              q.data() + row * row_bytes, Converted(storage, x.data(), head_dim).data(), row_bytes
          );
        }
        const AlignedBuffer<float> expected =
            Attend(KernelsFor(Isa::kPortable), cache, q, positions, 1);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_TRUE(std::isfinite(expected[i])) << i;
        }
        for (const Isa isa : AttainableIsas()) {
          for (std::size_t tile = 1; tile <= kMostTileQueries; ++tile) {
            if (isa == Isa::kPortable && tile % 8 != 0) {
              continue;  // slow, and without a notion of tiles
            }
            const AlignedBuffer<float> got = Attend(KernelsFor(isa), cache, q, positions, tile);
            ASSERT_TRUE(SameBits(got.data(), expected.data(), got.size()))
                << IsaName(isa) << ", tile " << tile << ", head_dim " << head_dim;
          }
        }
      }
    }
  }
}

// Sums that are -0 but for what a query does not see: the rescaled sum of page 0 and the products of page 1 are
// negative and flushed, and +0 times the negative values beyond the query would keep the sign.
TEST(KernelVariants, AttentionHasNoNegativeZero) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(6);
  const FloatModeScope mode;
  constexpr std::size_t kTokens = 2 * kPageTokens, kDim = 32, kMostKey = 66;
  Cache cache(KvStorage::kBF16, kDim, kTokens, 0, random);
  for (std::size_t t = 0; t < kTokens; ++t) {
    AlignedBuffer<float> k(kDim), v(kDim);
    k[0] = t < kPageTokens ? 0.0f : t == kMostKey ? 30.0f : 29.0f;
    std::fill_n(v.data(), kDim, t == kMostKey ? -0.0f : -std::numeric_limits<float>::min());
    StoreKv(
        {cache.data.data() + t / kPageTokens * HeadPageValues(kDim) * 2,
         KvStorage::kBF16,
         kDim,
         t % kPageTokens,
         Converted(KvStorage::kBF16, k.data(), kDim).data(),
         Converted(KvStorage::kBF16, v.data(), kDim).data()}
    );
  }
  const std::vector<std::size_t> positions = {100, 101, 102};
  AlignedBuffer<std::byte> q(positions.size() * kDim * 2);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    AlignedBuffer<float> x(kDim);
    x[0] = 8.0f;
    std::memcpy(
        q.data() + i * kDim * 2, Converted(KvStorage::kBF16, x.data(), kDim).data(), kDim * 2
    );
  }
  for (const Isa isa : AttainableIsas()) {
    const AlignedBuffer<float> got = Attend(KernelsFor(isa), cache, q, positions, kMostTileQueries);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), 0u) << IsaName(isa) << ", value " << i;
    }
  }
}

TEST(KernelVariants, RotateHead) {
  HEARTH_NEEDS_FAST_ISA();
  Random random(7);
  const FloatModeScope mode;
  for (const KvStorage storage : {KvStorage::kBF16, KvStorage::kF32}) {
    for (std::size_t head_dim = 2; head_dim < 140; head_dim += 1 + head_dim / 16) {
      const std::size_t padded = PaddedHeadDim(head_dim);
      for (const std::size_t pairs : {std::size_t{0}, head_dim / 4, head_dim / 2}) {
        AlignedBuffer<float> x = AnyFloats(head_dim, random);
        const AlignedBuffer<float> cosine = AnyFloats(pairs, random);
        const AlignedBuffer<float> sine = AnyFloats(pairs, random);
        x[head_dim - 1] = std::numeric_limits<float>::max();
        x[head_dim / 2] = std::bit_cast<float>(0x3f808000u);  // halfway between two bfloat16
        AlignedBuffer<std::byte> expected(padded * KvBytes(storage)), got(expected.size());
        RotateHeadArgs args{
            x.data(), cosine.data(), sine.data(), pairs, head_dim, padded, storage, expected.data()
        };
        portable::RotateHead(args);
        for (const Isa isa : FastIsas()) {
          std::memset(got.data(), 0x55, got.size());
          args.out = got.data();
          KernelsFor(isa).rotate_head(args);
          EXPECT_EQ(0, std::memcmp(got.data(), expected.data(), got.size()))
              << IsaName(isa) << ", head_dim " << head_dim << ", pairs " << pairs;
        }
      }
    }
  }
}

TEST(RotateHead, TurnsPairsAndRoundsToNearestEven) {
  const float x[4] = {3.0f, 4.0f, std::bit_cast<float>(0x3f818000u), 5.0f};
  const float cosine = 0.0f, sine = 1.0f;
  std::uint16_t out[32];
  portable::RotateHead(
      {x, &cosine, &sine, 1, 4, 32, KvStorage::kBF16, reinterpret_cast<std::byte*>(out)}
  );
  EXPECT_EQ(Bf16ToFloat(out[0]), -4.0f);
  EXPECT_EQ(Bf16ToFloat(out[1]), 3.0f);
  EXPECT_EQ(out[2], 0x3f82);
  EXPECT_EQ(Bf16ToFloat(out[3]), 5.0f);
  EXPECT_EQ(0, std::count_if(out + 4, out + 32, [](std::uint16_t bits) { return bits != 0; }));
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
