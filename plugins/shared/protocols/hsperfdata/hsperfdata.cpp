// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/hsperfdata/hsperfdata.h"

#include <cstdint>
#include <cstring>

namespace atalaya::protocols {
namespace {

constexpr size_t kHeader = 32, kEntry = 20, kNumber = 8;

uint32_t number_at(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

// The bytes up to the first NUL, or to the end.
std::string_view text_at(std::string_view bytes, size_t at) {
  bytes.remove_prefix(at);
  return bytes.substr(0, bytes.find('\0'));
}

bool is_readable(std::string_view file) {
  constexpr std::string_view magic = "\xca\xfe\xc0\xc0";
  return file.size() >= kHeader && file.starts_with(magic) && file[4] == 1 && file[5] == 2;
}

}  // namespace

SharedReader::SharedReader(std::string_view file) {
  if (!is_readable(file)) return;
  const size_t first = number_at(file, 24);
  if (first > file.size()) return;
  rest_ = file.substr(first);
  remaining_ = number_at(file, 28);
}

bool SharedReader::next(SharedValue &value) {
  if (remaining_ == 0 || rest_.size() < kEntry) return false;
  --remaining_;
  const size_t length = number_at(rest_, 0);
  if (length < kEntry || length > rest_.size()) return false;
  const std::string_view entry = rest_.substr(0, length);
  rest_.remove_prefix(length);
  const size_t name_at = number_at(entry, 4), elements = number_at(entry, 8), value_at = number_at(entry, 16);
  value.type = entry[12];
  const size_t size = elements > 0 ? elements : kNumber;
  const bool is_within = name_at < length && value_at <= length && size <= length - value_at;
  value.name = is_within ? text_at(entry, name_at) : std::string_view();
  value.bytes = is_within ? entry.substr(value_at, size) : std::string_view();
  return true;
}

std::optional<int64_t> SharedValue::number() const {
  if (type != 'J' || bytes.size() != kNumber) return std::nullopt;
  int64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

std::optional<std::string_view> SharedValue::text() const {
  return type == 'B' ? std::optional(text_at(bytes, 0)) : std::nullopt;
}

std::optional<std::string_view> text_in(std::string_view file, std::string_view name) {
  SharedReader reader(file);
  for (SharedValue value; reader.next(value);)
    if (value.name == name) return value.text();
  return std::nullopt;
}

std::optional<std::string_view> java_command_in(std::string_view file) {
  const auto command = text_in(file, "sun.rt.javaCommand");
  return command && !command->empty() ? command : std::nullopt;
}

}  // namespace atalaya::protocols
