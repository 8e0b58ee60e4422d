// SPDX-License-Identifier: Apache-2.0
#include "tape/tape.h"

namespace memtape {

std::string ScopeTree::path(ScopeId id) const {
  std::string text;
  for (; id != 0; id = scopes_[id].parent)
    text = text.empty() ? scopes_[id].name : scopes_[id].name + "." + text;
  return text;
}

}  // namespace memtape
