// SPDX-License-Identifier: Apache-2.0
// Tags and fields of stored records by name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plugins/shared/store/store.h"

namespace atalaya::store {

// "" if absent.
inline const std::string &tag_of(const Tags &tags, std::string_view key) {
  static const std::string kAbsent;
  const auto found = tags.find(key);
  return found == tags.end() ? kAbsent : found->second;
}

inline double number_of(const Field &field) {
  return field.is_count ? static_cast<double>(field.count) : field.value;
}

// 0 if absent.
inline double field_of(std::span<const Field> fields, std::string_view name) {
  for (const Field &field : fields)
    if (field.name == name) return number_of(field);
  return 0;
}

}  // namespace atalaya::store
