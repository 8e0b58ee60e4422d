// SPDX-License-Identifier: Apache-2.0
#include "handed_or_hub.h"

#include <filesystem>

#include "sources/hub.h"

namespace memtape::service {

Result<ModelSource> HandedOrHub::model(const std::string& name) const {
  Result<ModelSource> source = handed_.model(name);
  if (source || name.find('/') == std::string::npos || !sources::is_hub_id(name)) return source;
  std::error_code unreadable;
  if (std::filesystem::exists(name, unreadable)) return source;  // a folder of this machine
  return hub_.model(name);
}

}  // namespace memtape::service
