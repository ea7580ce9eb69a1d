// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/identity.h"

#include <algorithm>
#include <charconv>

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"

namespace atalaya::store {
namespace {

std::optional<int64_t> canonical_integer(std::string_view text) {
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || std::to_string(value) != text) return std::nullopt;
  return value;
}

}  // namespace

Identity Identity::from_tags(const Tags &all) {
  Identity result;
  core::JsonWriter tags(result.tags);
  tags.object();
  for (const auto &[key, value] : all) {
    if (key == "host") {
      result.host = value;
    } else if (key == "process") {
      result.process = value;
    } else if (key == "pid") {
      result.pid = canonical_integer(value);
      if (!result.pid) result.pid_text = value;
    } else {
      tags.key(key).text(value);
    }
  }
  tags.end_object();
  return result;
}

std::string_view valid_utf8(std::string_view text, std::string &scratch) {
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return text;
  scratch.clear();
  while (!text.empty()) {
    const size_t size = core::first_code_point(text).size;
    scratch += size == 0 ? core::kReplacement : text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return scratch;
}

}  // namespace atalaya::store
