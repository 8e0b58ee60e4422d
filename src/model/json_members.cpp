// SPDX-License-Identifier: Apache-2.0
#include "model/json_members.h"

#include "base/json_object.h"
#include "model/config.h"

namespace memtape {

std::string with_members(const std::string& object, std::span<const NamedValue> members) {
  const Result<Config> given = Config::parse(object, "the object");
  if (!given) return object;
  JsonObject made;
  for (const std::string& key : given->keys())
    if (!last_value(members, key)) made.add_json(key, given->json(key));
  for (const auto& [key, text] : members) made.add_json(key, text);
  return made.text();
}

}  // namespace memtape
