// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/activation_checkpoint.h"

namespace memtape::torchtitan {

ghost::KeepPolicy save_ops() {
  return [products = 0](std::string_view op) mutable {
    if (op == "mm") return ++products % 2 == 1;
    return op == "_scaled_dot_product_flash_attention" ||
           op == "_scaled_dot_product_efficient_attention" || op == "reduce_scatter_tensor";
  };
}

ghost::KeepPolicy save_ops_and_all_to_all() {
  return [policy = save_ops()](std::string_view op) mutable {
    return op == "all_to_all_single" || policy(op);
  };
}

ghost::KeepPolicy save_nothing() {
  return [](std::string_view) { return false; };
}

}  // namespace memtape::torchtitan
