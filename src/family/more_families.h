// SPDX-License-Identifier: Apache-2.0
// Further families, declared apart so that adding one does not compile all others again.
#pragma once

#include "family/families.h"

namespace memtape::family {

ModelPointer build_bitnet(const Config& c, const ModelOptions& options);
ModelPointer build_data2vec_text(const Config& c, const ModelOptions& options);
ModelPointer build_deit(const Config& c, const ModelOptions& options);
ModelPointer build_dinov2(const Config& c, const ModelOptions& options);
ModelPointer build_ernie(const Config& c, const ModelOptions& options);
ModelPointer build_exaone_moe(const Config& c, const ModelOptions& options);
ModelPointer build_flex_olmo(const Config& c, const ModelOptions& options);
ModelPointer build_glm46v(const Config& c, const ModelOptions& options);
ModelPointer build_glm4v(const Config& c, const ModelOptions& options);
ModelPointer build_glm4v_moe(const Config& c, const ModelOptions& options);
ModelPointer build_glm_ocr(const Config& c, const ModelOptions& options);
ModelPointer build_hy_v3(const Config& c, const ModelOptions& options);
ModelPointer build_hyperclovax(const Config& c, const ModelOptions& options);
ModelPointer build_lfm2_moe(const Config& c, const ModelOptions& options);
ModelPointer build_llava_next_video(const Config& c, const ModelOptions& options);
ModelPointer build_mellum(const Config& c, const ModelOptions& options);
ModelPointer build_mpnet(const Config& c, const ModelOptions& options);
ModelPointer build_nanochat(const Config& c, const ModelOptions& options);
ModelPointer build_plbart(const Config& c, const ModelOptions& options);
ModelPointer build_qwen3_5_moe_text(const Config& c, const ModelOptions& options);
ModelPointer build_qwen3_5_text(const Config& c, const ModelOptions& options);
ModelPointer build_solar_open(const Config& c, const ModelOptions& options);
ModelPointer build_vaultgemma(const Config& c, const ModelOptions& options);
ModelPointer build_vipllava(const Config& c, const ModelOptions& options);

}  // namespace memtape::family
