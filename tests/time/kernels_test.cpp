// SPDX-License-Identifier: Apache-2.0
// Properties of the roofline: no kernel beats the data sheet, and none gets cheaper by more work.
#include "time/kernels.h"

#include <gtest/gtest.h>

namespace memtape::time {
namespace {

Machine machine(std::string_view gpu) { return *machine_of(*find_gpu(gpu)); }

constexpr auto kGpus = {"a100-80gb", "h100-80gb", "b200-180gb", "gb300", "l40s", "rtx-4090"};

TEST(Kernels, NoProductBeatsTheDataSheet) {
  for (const char* gpu : kGpus) {
    const Machine m = machine(gpu);
    const Kernels kernels(m);
    for (const Compute compute : {Compute::bf16, Compute::fp8})
      for (const double rows : {1., 100., 4096., 50000.})
        for (const double side : {64., 4096., 14336.}) {
          if (m.peak(compute) <= 0) continue;
          const double t = kernels.gemm({rows, side, 4096}, compute);
          EXPECT_GE(t, 2 * rows * side * 4096 / m.peak(compute) * 0.98) << gpu;
          EXPECT_GE(t, side * 4096 * bytes_of(compute) / (m.speeds.memory_gb_s * 1e9) * 0.5) << gpu;
        }
  }
}

TEST(Kernels, ManyMoreRowsTakeLonger) {
  for (const char* gpu : kGpus) {
    const Kernels kernels(machine(gpu));
    for (const double side : {1024., 8192.}) {
      double before = 0;
      for (double rows = 1; rows < 1e6; rows *= 8) {
        const double t = kernels.gemm({rows, side, 8192}, Compute::bf16);
        EXPECT_GT(t, before * 0.8) << gpu << " " << rows << " x " << side;
        before = t;
      }
    }
  }
}

TEST(Kernels, AttentionGrowsWithItsOperationsAndItsCache) {
  const Kernels kernels(machine("h100-80gb"));
  EXPECT_GT(kernels.context_attention(2e12, 4096, 128, FlashAttention::newest),
            kernels.context_attention(1e12, 4096, 128, FlashAttention::newest));
  EXPECT_GT(kernels.context_attention(1e12, 512, 128, FlashAttention::newest),
            kernels.context_attention(1e12, 8192, 128, FlashAttention::newest));
  EXPECT_GE(kernels.context_attention(1e12, 8192, 128, FlashAttention::second),
            kernels.context_attention(1e12, 8192, 128, FlashAttention::newest));
  EXPECT_GT(kernels.generation_attention(1e9, 0), kernels.generation_attention(1e8, 0));
}

TEST(Kernels, TheFirstFlashAttentionReachesWhatIsSaidOfItOnAnA100) {
  const Kernels kernels(machine("a100-80gb"));
  const double forward = kernels.context_attention(312e12, 16384, 128, FlashAttention::first);
  EXPECT_GT(1 / forward, 0.30);
  EXPECT_LT(1 / forward, 0.50);
  const double backward = forward * Kernels::backward_of_attention(FlashAttention::first) / 2.5;
  EXPECT_GT(1 / backward, 0.25);
  EXPECT_LT(1 / backward, 0.35);
  const Kernels newer(machine("h100-80gb"));
  EXPECT_GT(newer.context_attention(1e12, 8192, 128, FlashAttention::first),
            newer.context_attention(1e12, 8192, 128, FlashAttention::second));
}

TEST(Kernels, AGpuThatNobodyMeasuredSaysWhoseKernelsItBorrows) {
  EXPECT_TRUE(Kernels(machine("h100-80gb")).measured());
  const Kernels borrowed(machine("rtx-4090"));
  EXPECT_FALSE(borrowed.measured());
  EXPECT_EQ(borrowed.witness(), "l40s");
}

TEST(Machine, AGpuWithoutSpeedsIsRefused) {
  const Result<Machine> none = machine_of(*find_gpu("apple-m1"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().where, "--gpu");
}

}  // namespace
}  // namespace memtape::time
