// SPDX-License-Identifier: Apache-2.0
// Asks libmemtape from C++, as typed values and as JSON.
#include <iostream>
#include <memtape.hpp>

int main() {
  const memtape::Answer answer = memtape::Request("train", "Qwen/Qwen3-8B")
                                     .set("gpu", "rtx-4090")
                                     .set("lora_rank", 16)
                                     .set("lora_targets", "all-linear")
                                     .answer();
  if (!answer) {
    std::cerr << answer.error() << '\n';
    return 1;
  }
  std::cout << answer.integer("ranks.0.peak_device_bytes").value() << " bytes, "
            << answer.text("verdict").value() << '\n';
  const memtape::Answer none =
      memtape::answer(R"({"argv": ["train", "gpt2", "--gpu", "no-such"]})");
  const bool refused = !none && none.error().starts_with("--gpu: unknown GPU 'no-such'");
  if (!refused) std::cerr << none.error() << '\n';
  const bool odd = !memtape::Request("train", "a\"b\\c\n").answer();
  return refused && odd && answer.integer("ranks.1.peak_device_bytes") == std::nullopt ? 0 : 1;
}
