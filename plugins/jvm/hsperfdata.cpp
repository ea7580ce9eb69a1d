// SPDX-License-Identifier: Apache-2.0
// The file: a header of 32 bytes, then one entry behind the other. All numbers are of the host's byte order.
//   header   0 magic ca fe c0 c0   4 byte order, 1 little   5 major version   24 offset of the first entry   28 number of entries
//   entry    0 its length   4 offset of its name   8 elements of its value, 0 for a single one   12 type, 'B': bytes   16 offset of
//   its
//            value; offsets count from the entry's begin
#include "plugins/jvm/hsperfdata.h"

#include <cstdint>
#include <cstring>

namespace atalaya::jvm {
namespace {

constexpr size_t kHeader = 32, kEntry = 20;

uint32_t number_at(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

// The bytes from there to the first zero; all when there is none.
std::string_view text_at(std::string_view bytes, size_t at) {
  bytes.remove_prefix(at);
  return bytes.substr(0, bytes.find('\0'));
}

bool is_readable(std::string_view file) {
  constexpr std::string_view magic = "\xca\xfe\xc0\xc0";
  return file.size() >= kHeader && file.starts_with(magic) && file[4] == 1 && file[5] == 2;
}

std::optional<std::string_view> value_of(std::string_view entry, std::string_view name) {
  const size_t name_at = number_at(entry, 4), elements = number_at(entry, 8), value_at = number_at(entry, 16);
  if (entry[12] != 'B' || name_at >= entry.size() || value_at > entry.size() || elements > entry.size() - value_at)
    return std::nullopt;
  if (text_at(entry, name_at) != name) return std::nullopt;
  return text_at(entry.substr(0, value_at + elements), value_at);
}

}  // namespace

std::optional<std::string_view> text_in(std::string_view file, std::string_view name) {
  if (!is_readable(file)) return std::nullopt;
  const size_t first = number_at(file, 24);
  if (first > file.size()) return std::nullopt;
  std::string_view rest = file.substr(first);
  for (uint32_t left = number_at(file, 28); left > 0 && rest.size() >= kEntry; --left) {
    const size_t length = number_at(rest, 0);
    if (length < kEntry || length > rest.size()) return std::nullopt;
    const auto value = value_of(rest.substr(0, length), name);
    if (value) return value;
    rest.remove_prefix(length);
  }
  return std::nullopt;
}

std::optional<std::string_view> java_command_in(std::string_view file) {
  const auto command = text_in(file, "sun.rt.javaCommand");
  return command && !command->empty() ? command : std::nullopt;
}

}  // namespace atalaya::jvm
