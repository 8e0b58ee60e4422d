// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/low_bits.h"

#include <string>

namespace memtape::megatron {

void read_low_bits(const Config& c, Arguments& a) {
  const bool eight = !c.text("fp8", "").empty(), four = !c.text("fp4", "").empty();
  if (eight && four) c.fail("fp4", "must not be set beside fp8 (TransformerConfig.__post_init__)");
  const std::string recipe = c.text("fp8_recipe", "delayed");
  if (eight) a.low_bits = recipe == "mxfp8" ? LowBits::mxfp8 : LowBits::fp8;
  if (four) a.low_bits = LowBits::nvfp4;
  a.scales_blocks = four || (eight && (recipe == "mxfp8" || recipe == "blockwise"));
  if (four && c.text("fp4_recipe", "nvfp4") != "nvfp4")
    c.fail("fp4_recipe", "must be nvfp4: recipes of one's own are not modelled");
  a.quantized_param_gather = (eight && c.boolean("fp8_param_gather", false)) ||
                             (four && c.boolean("fp4_param_gather", false));
  a.keeps_attended = four || (eight && recipe != "delayed");
}

}  // namespace memtape::megatron
