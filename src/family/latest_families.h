// SPDX-License-Identifier: Apache-2.0
// The families added last, declared apart for the same reason as those of more_families.h.
#pragma once

#include "family/families.h"

namespace memtape::family {

ModelPointer build_afmoe(const Config& c, const ModelOptions& options);
ModelPointer build_cohere2_moe(const Config& c, const ModelOptions& options);
ModelPointer build_deberta(const Config& c, const ModelOptions& options);
ModelPointer build_eurobert(const Config& c, const ModelOptions& options);
ModelPointer build_jina_embeddings_v3(const Config& c, const ModelOptions& options);
ModelPointer build_lfm2_vl(const Config& c, const ModelOptions& options);
ModelPointer build_minicpm3(const Config& c, const ModelOptions& options);
ModelPointer build_nomic_bert(const Config& c, const ModelOptions& options);

}  // namespace memtape::family
