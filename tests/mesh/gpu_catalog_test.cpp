// SPDX-License-Identifier: Apache-2.0
#include "mesh/gpu_catalog.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using testing::HasSubstr;

std::string complaint(std::string_view name) {
  const Result<Gpu> found = find_gpu(name);
  return found ? "" : found.error().line();
}

TEST(GpuCatalog, KnowsWhatCudaReports) {
  const Gpu h100 = find_gpu("h100-80gb").value();
  EXPECT_EQ(h100.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(h100.capability(), 90);
  EXPECT_EQ(h100.sm_count, 132);
  EXPECT_EQ(h100.total_bytes, 85'017'755'648);  // 81559 MiB in nvidia-smi
  EXPECT_EQ(h100.total_certainty, Certainty::exact);
  EXPECT_EQ(find_gpu("a100-80gb").value().total_bytes, 84'987'740'160);
}

TEST(GpuCatalog, KeepsTheLeastValueThatPrintsTheSame) {
  const Gpu h200 = find_gpu("h200-141gb").value();
  EXPECT_EQ(h200.total_bytes, 143156_MiB);  // torch prints total_memory=143156MB
  EXPECT_EQ(h200.total_certainty, Certainty::rounded);
  const Gpu b300 = find_gpu("b300-288gb").value();
  EXPECT_EQ(b300.total_bytes, 287'413'842'739);  // printed as 267.68 GiB, so at least 267.675
}

TEST(GpuCatalog, EstimatesFromTheNearestGpuOfTheSameArchitecture) {
  const Gpu gb200 = find_gpu("gb200").value();
  EXPECT_EQ(gb200.total_certainty, Certainty::estimated);
  EXPECT_EQ(gb200.total_bytes,
            189471_MiB - (183359_MiB - 182631_MiB));  // what the driver keeps of a B200
  EXPECT_THAT(gb200.total_source, HasSubstr("b200-180gb"));
}

TEST(GpuCatalog, FindsByIdNameAndUniqueBeginning) {
  EXPECT_EQ(find_gpu("H100-80GB").value().id, "h100-80gb");
  EXPECT_EQ(find_gpu("nvidia h100 80gb hbm3").value().id, "h100-80gb");
  EXPECT_EQ(find_gpu("b200").value().id, "b200-180gb");
  EXPECT_EQ(find_gpu("t4").value().id, "t4");
}

TEST(GpuCatalog, FindsByTheNamesThatCardsAreSoldUnder) {
  EXPECT_EQ(find_gpu("DGX Spark").value().id, "gb10");
  EXPECT_EQ(find_gpu("Strix Halo").value().id, "strix-halo");
  EXPECT_EQ(find_gpu("NVIDIA A100-PCIE-80GB").value().id, "a100-80gb-pcie");
  EXPECT_EQ(find_gpu("H100 PCIe").value().id, "h100-80gb-pcie");
  EXPECT_EQ(find_gpu("2080ti").value().id, "rtx-2080-ti");
  EXPECT_EQ(find_gpu("RTX 2080 Ti 22GB").value().id, "rtx-2080-ti-22gb");
  EXPECT_EQ(find_gpu("H20-3e").value().id, "h20-141gb");
  EXPECT_EQ(find_gpu("h100").value().id, "h100-80gb");
  EXPECT_EQ(find_gpu("H200").value().id, "h200-141gb");
  EXPECT_EQ(find_gpu("RTX 4050").value().id, "rtx-4050-laptop");
  EXPECT_EQ(find_gpu("GTX 1660 Super").value().id, "gtx-1660-super");
}

TEST(GpuCatalog, NamesTheNearest) {
  EXPECT_EQ(complaint("h100-80g"), "--gpu: unknown GPU 'h100-80g' (did you mean h100-80gb?)");
  EXPECT_EQ(complaint("a100"),
            "--gpu: unknown GPU 'a100' (which one: a100-40gb-pcie, a100-40gb, a100-80gb-pcie, "
            "a100-80gb)");
  EXPECT_EQ(complaint("zzzzzzzzzzzzzzzzzzzz"),
            "--gpu: unknown GPU 'zzzzzzzzzzzzzzzzzzzz' (see memtape gpus)");
  EXPECT_EQ(complaint(""), "--gpu: unknown GPU '' (see memtape gpus)");
}

TEST(GpuCatalog, EveryGpuIsWellFormed) {
  std::set<std::string_view> ids;
  for (const Gpu& gpu : gpu_catalog()) {
    SCOPED_TRACE(gpu.id);
    EXPECT_TRUE(ids.insert(gpu.id).second);
    EXPECT_EQ(gpu.runs_cuda(), gpu.vendor == "NVIDIA");
    EXPECT_EQ(gpu.total_bytes > 0, gpu.total_certainty != Certainty::unknown);
    EXPECT_EQ(gpu.total_bytes > 0, !gpu.total_source.empty());
    if (!gpu.runs_cuda()) continue;
    EXPECT_GT(gpu.total_bytes, 3_GiB);
    EXPECT_LT(gpu.total_bytes, 320_GiB);
    EXPECT_GT(gpu.sm_count, 0);
    EXPECT_GT(gpu.context_bytes, 0);
    EXPECT_FALSE(gpu.context_source.empty());
  }
  EXPECT_EQ(ids.size(), 195u);
}

}  // namespace
}  // namespace memtape
