#include "tensor/packed_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/dequantize.h"
#include "kernels/half.h"
#include "platform/float_mode.h"
#include "tensor/block_codes.h"
#include "tensor/cpu_backend.h"

namespace hearth {
namespace {

constexpr ElementType kQuantized[] = {
    ElementType::kQ4_0,
    ElementType::kQ4_1,
    ElementType::kQ8_0,
    ElementType::kQ4_K,
    ElementType::kQ6_K,
};

// Random blocks whose float16 fields are ordinary numbers, so that sums stay finite.
std::vector<std::byte> AnyRows(
    ElementType type, std::size_t rows, std::size_t columns, unsigned seed
) {
  std::mt19937 random(seed);
  const BlockLayout layout = LayoutOf(type);
  std::vector<std::byte> data(rows * columns / layout.values * layout.bytes);
  for (std::byte& byte : data) {
    byte = static_cast<std::byte>(random());
  }
  std::vector<std::size_t> halves{0};
  if (type == ElementType::kQ4_1 || type == ElementType::kQ4_K) {
    halves = {0, 2};
  } else if (type == ElementType::kQ6_K) {
    halves = {208};
  }
  for (std::size_t block = 0; block < data.size(); block += layout.bytes) {
    for (const std::size_t at : halves) {
      const auto bits =
          static_cast<std::uint16_t>((random() & 0x83ffu) | (8u + random() % 6) << 10);
      std::memcpy(data.data() + block + at, &bits, sizeof bits);
    }
  }
  return data;
}

// Weight i of a group by the arithmetic of kernels/matmul_quantized.h.
float ValueOf(ElementType type, const GroupCodes& group, std::size_t i) {
  const float scale = HalfToFloat(group.scale);
  const float minimum = HalfToFloat(group.minimum);
  const int nibble = i < 16 ? group.nibbles[i] & 0xf : group.nibbles[i - 16] >> 4;
  switch (type) {
    case ElementType::kQ4_0:
      return scale * static_cast<float>(nibble - 8);
    case ElementType::kQ4_1:
      return scale * static_cast<float>(nibble) + minimum;
    case ElementType::kQ8_0:
      return scale * static_cast<float>(group.bytes[i]);
    case ElementType::kQ4_K:
      return scale * static_cast<float>(group.nested_scale[0]) * static_cast<float>(nibble) -
             minimum * static_cast<float>(group.nested_minimum);
    default: {
      const int upper = group.pairs[i / 16][i % 4] >> (2 * (i / 4 % 4)) & 3;
      const auto nested = static_cast<std::int8_t>(group.nested_scale[i / 16]);
      return scale * static_cast<float>(nested) * static_cast<float>((nibble | upper << 4) - 32);
    }
  }
}

TEST(BlockCodes, AgreeWithTheDequantizedValues) {
  for (const ElementType type : kQuantized) {
    constexpr std::size_t kColumns = 512;
    const std::vector<std::byte> row = AnyRows(type, 1, kColumns, 1);
    std::vector<float> expected(kColumns);
    DequantizeRow(type, row.data(), kColumns, expected.data());
    GroupCodes codes{};
    for (std::size_t i = 0; i < kColumns; ++i) {
      ReadGroup(type, row.data(), i / kGroupInputs, codes);
      EXPECT_EQ(ValueOf(type, codes, i % kGroupInputs), expected[i])
          << ElementTypeName(type) << " value " << i;
    }
  }
}

// The packed product against a sum in double over the dequantized weights.
TEST(PackedMatrix, MultipliesAsTheDequantizedWeightsDo) {
  // Rows enough for a tile and a rest.
  constexpr std::size_t kRows = 21, kOutputs = 35, kInputs = 512;
  std::mt19937 random(2);
  AlignedBuffer<float> x(kRows * kInputs);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::normal_distribution<float>()(random);
  }
  WorkerTeam team(2);
  for (const Numerics numerics : {Numerics::kDefault, Numerics::kF32}) {
    for (const Isa isa : AttainableIsas()) {
      const auto backend = MakeCpuBackend(KernelsFor(isa), numerics, team);
      for (const ElementType type : kQuantized) {
        const std::vector<std::byte> data = AnyRows(type, kOutputs, kInputs, 3);
        const auto weights = backend->Pack({"w", type, kOutputs, kInputs, data});
        AlignedBuffer<float> out(kRows * kOutputs);
        const LinearJob job[] = {{weights.get(), out.data(), kOutputs}};
        backend->Linear({x.data(), kRows, kInputs, kInputs}, job);
        std::vector<float> dense(kOutputs * kInputs);
        DequantizeRow(type, data.data(), dense.size(), dense.data());
        for (std::size_t i = 0; i < out.size(); ++i) {
          double sum = 0, magnitude = 0;
          for (std::size_t k = 0; k < kInputs; ++k) {
            const double product = static_cast<double>(x[i / kOutputs * kInputs + k]) *
                                   static_cast<double>(dense[i % kOutputs * kInputs + k]);
            sum += product;
            magnitude += std::fabs(product);
          }
          // 12-bit activations err by up to 2^-12 of a segment's largest; float32 sums by much less.
          EXPECT_NEAR(out[i], sum, magnitude * (numerics == Numerics::kF32 ? 3e-5 : 3e-4))
              << ElementTypeName(type) << " " << NumericsName(numerics) << " " << IsaName(isa);
        }
      }
    }
  }
}

// Rows wider than they are long, several matrices at once, and adding to what is there.
TEST(PackedMatrix, JobsOfOneCallEqualSingleCallsForEveryTeam) {
  constexpr std::size_t kRows = 3, kInputs = 512;
  std::mt19937 random(4);
  AlignedBuffer<float> x(kRows * kInputs);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::normal_distribution<float>()(random);
  }
  AlignedBuffer<float> expected[2];
  for (const int members : {1, 2, 3}) {
    WorkerTeam team(members);
    const auto backend =
        MakeCpuBackend(KernelsFor(AttainableIsas().back()), Numerics::kDefault, team);
    const std::vector<std::byte> first_data = AnyRows(ElementType::kQ4_K, 70, kInputs, 5);
    const std::vector<std::byte> second_data = AnyRows(ElementType::kQ6_K, 33, kInputs, 6);
    const auto first = backend->Pack({"a", ElementType::kQ4_K, 70, kInputs, first_data});
    const auto second = backend->Pack({"b", ElementType::kQ6_K, 33, kInputs, second_data});
    AlignedBuffer<float> out[2] = {
        AlignedBuffer<float>(kRows * 70), AlignedBuffer<float>(kRows * 33)
    };
    const LinearJob jobs[] = {
        {first.get(), out[0].data(), 70},
        {second.get(), out[1].data(), 33, true},
    };
    backend->Linear({x.data(), kRows, kInputs, kInputs}, jobs);
    for (int i = 0; i < 2; ++i) {
      if (members == 1) {
        expected[i] = std::move(out[i]);
        continue;
      }
      EXPECT_EQ(0, std::memcmp(out[i].data(), expected[i].data(), 4 * out[i].size()));
    }
  }
}

}  // namespace
}  // namespace hearth
