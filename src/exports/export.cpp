// SPDX-License-Identifier: Apache-2.0
#include "exports/export.h"

#include "exports/parts.h"
#include "workload/train_options.h"

namespace memtape::exports {
namespace {

Result<Export> files_of(const Training& plan, const Facts& facts) {
  switch (plan.recipe.framework) {
    case Framework::megatron_core: return export_megatron(plan, facts);
    case Framework::torchtitan: return export_torchtitan(plan, facts);
    case Framework::transformers: return export_trainer(plan, facts);
    case Framework::torch:
    case Framework::ddp:
    case Framework::fsdp1:
    case Framework::fsdp2:
    case Framework::deepspeed: return export_plain_loop(plan, facts);
    default:
      return unsupported("plans of that framework are not exported", "--export",
                         "megatron-core, torchtitan, fsdp2, fsdp1, deepspeed, ddp, transformers or "
                         "torch");
  }
}

}  // namespace

Result<Export> export_training(const Training& plan, const Facts& facts) {
  Result<Export> files = files_of(plan, facts);
  if (!files) return files;
  files->files.push_back(readme(*files, facts, plan.model, name(plan.recipe.framework)));
  return files;
}

}  // namespace memtape::exports
