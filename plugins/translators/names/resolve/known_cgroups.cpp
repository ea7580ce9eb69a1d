// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/known_cgroups.h"

namespace atalaya::names {

KnownCgroup *KnownCgroups::find(std::string_view path) {
  const auto found = cgroups_.find(path);
  return found == cgroups_.end() ? nullptr : &found->second;
}

KnownCgroup *KnownCgroups::add(std::string_view path) {
  return cgroups_.size() >= capacity_ ? nullptr : &cgroups_[std::string(path)];
}

void KnownCgroups::forget(uint32_t window) {
  std::erase_if(cgroups_, [window](const auto &entry) { return entry.second.seen < window; });
}

}  // namespace atalaya::names
