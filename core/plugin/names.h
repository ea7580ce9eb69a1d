// SPDX-License-Identifier: Apache-2.0
// The syntax of names of plugins and components.
#pragma once

#include <cstddef>
#include <string_view>

namespace atalaya::core {

constexpr size_t kMaxNameSize = 64;
constexpr size_t kMaxComponents = 256;  // per plugin

// Whether a name has only lower-case letters, digits and '_' (with `dash` also '-') and starts with a letter.
constexpr bool is_name(std::string_view name, bool dash) {
  if (name.empty() || name.size() > kMaxNameSize || name.front() < 'a' || name.front() > 'z') return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (dash && c == '-'))) return false;
  return true;
}
constexpr bool is_component_name(std::string_view name) {
  return is_name(name, false);
}
constexpr bool is_plugin_name(std::string_view name) {
  return is_name(name, true);
}
// Whether a version has only visible ASCII characters.
constexpr bool is_version(std::string_view version) {
  if (version.empty() || version.size() > kMaxNameSize) return false;
  for (const char c : version)
    if (c <= ' ' || c > '~') return false;
  return true;
}

}  // namespace atalaya::core
