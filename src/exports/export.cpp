// SPDX-License-Identifier: Apache-2.0
#include "exports/export.h"

#include "exports/parts.h"
#include "framework/dialects.h"

namespace memtape::exports {
namespace {

Result<Export> files_of(const Training& plan, const Facts& facts) {
  switch (dialect_of(plan.recipe).exported) {
    case ExportedProgram::pretrain_gpt: return export_megatron(plan, facts);
    case ExportedProgram::torchtitan: return export_torchtitan(plan, facts);
    case ExportedProgram::trainer: return export_trainer(plan, facts);
    case ExportedProgram::plain_loop: return export_plain_loop(plan, facts);
    case ExportedProgram::none: break;
  }
  return unsupported("plans of that framework are not exported", "--export",
                     names_of_dialects([](const Dialect& dialect) {
                       return dialect.exported != ExportedProgram::none;
                     }));
}

}  // namespace

Result<Export> export_training(const Training& plan, const Facts& facts) {
  Result<Export> files = files_of(plan, facts);
  if (!files) return files;
  files->files.push_back(readme(*files, facts, plan.model, dialect_of(plan.recipe).framework.name));
  return files;
}

}  // namespace memtape::exports
