// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/serve.h"

namespace memtape::llamacpp {

Result<ServeAnswer> serve(const ServeRequest& request) {
  return unsupported("llama.cpp's graph of this architecture is not modelled", request.id);
}

}  // namespace memtape::llamacpp
