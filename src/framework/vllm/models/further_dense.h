// SPDX-License-Identifier: Apache-2.0
// More dense decoders: GLM-4 (glm4.py), EXAONE 3 and 4 (exaone.py, exaone4.py), and Apertus
// (apertus.py). The dense models of ERNIE 4.5 and IQuest-Coder are Llama's.
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_glm4(const Place& place);
std::unique_ptr<ServedModel> make_exaone(const Place& place);
std::unique_ptr<ServedModel> make_exaone4(const Place& place);
std::unique_ptr<ServedModel> make_apertus(const Place& place);

}  // namespace memtape::vllm
