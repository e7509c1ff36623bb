#include "platform/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hearth/error.h"

namespace hearth {
namespace {

constexpr Isa kAll[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAmx};

TEST(CpuFeatures, NamesAreReadBack) {
  for (const Isa isa : kAll) {
    EXPECT_EQ(IsaFromName(IsaName(isa)), isa);
    EXPECT_NE(IsaNames().find(IsaName(isa)), std::string::npos);
  }
}

TEST(CpuFeatures, AnUnknownNameIsRefusedWithTheNamesThatExist) {
  for (const char* name : {"mmx", "", "AVX2", "avx512_vnni", "a\nb"}) {
    try {
      IsaFromName(name);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(IsaNames()), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
}

TEST(CpuFeatures, AttainableIsasAreALadderFromPortable) {
  const std::vector<Isa>& isas = AttainableIsas();
  ASSERT_LE(isas.size(), std::size(kAll));
  ASSERT_FALSE(isas.empty());
  EXPECT_TRUE(std::equal(isas.begin(), isas.end(), std::begin(kAll)));
  EXPECT_EQ(&AttainableIsas(), &isas);
}

TEST(CpuFeatures, ChoosesTheStrongestOrTheForcedOne) {
  EXPECT_EQ(ChooseIsa(""), AttainableIsas().back());
  for (const Isa isa : AttainableIsas()) {
    EXPECT_EQ(ChooseIsa(IsaName(isa)), isa);
  }
  EXPECT_THROW(ChooseIsa("mmx"), Error);
}

TEST(CpuFeatures, WhatIsNotAttainedIsRefused) {
  if (AttainableIsas().size() == std::size(kAll)) {
    GTEST_SKIP() << "this machine attains every instruction set";
  }
  try {
    ChooseIsa(IsaName(kAll[AttainableIsas().size()]));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find(IsaName(AttainableIsas().back())), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth
