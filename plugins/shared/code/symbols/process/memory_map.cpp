// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/process/memory_map.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace atalaya::symbols {
namespace {

// Parses a number up to `end` and consumes both.
std::optional<uint64_t> number(std::string_view &text, int base, char end) {
  uint64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || at == text.data() + text.size() || *at != end) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(at - text.data()) + 1);
  return value;
}

// "7f00-7f10 r-xp 00001000 fe:01 1234    /usr/lib/x.so"; nothing if it is not executable.
std::optional<Mapping> parse_line(std::string_view line) {
  const auto begin = number(line, 16, '-'), end = begin ? number(line, 16, ' ') : std::nullopt;
  if (!end || *begin >= *end || line.size() < 5 || line[2] != 'x' || line[4] != ' ') return std::nullopt;
  line.remove_prefix(5);
  const auto offset = number(line, 16, ' '), major = offset ? number(line, 16, ':') : std::nullopt;
  const auto minor = major ? number(line, 16, ' ') : std::nullopt, inode = minor ? number(line, 10, ' ') : std::nullopt;
  if (!inode) return std::nullopt;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return Mapping{*begin, *end, *offset, {*major << 32 | *minor, *inode}, {}, std::string(line)};
}

}  // namespace

bool Mapping::is_file() const {
  return file.inode != 0 && path.starts_with('/') && !path.starts_with("/memfd:") && !path.starts_with("/dev/") &&
         !path.starts_with("/SYSV");
}

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty() && mappings.size() < kMaxMappings) {
    const size_t size = text.find('\n');
    // The kernel ends each line; a line without its end was cut.
    if (size == std::string_view::npos) break;
    if (auto mapping = parse_line(text.substr(0, size))) mappings.push_back(std::move(*mapping));
    text.remove_prefix(size + 1);
  }
  std::sort(mappings.begin(), mappings.end(), [](const Mapping &a, const Mapping &b) { return a.begin < b.begin; });
  return mappings;
}

const Mapping *find_mapping(const std::vector<Mapping> &mappings, uint64_t address) {
  auto after =
      std::upper_bound(mappings.begin(), mappings.end(), address, [](uint64_t at, const Mapping &m) { return at < m.begin; });
  if (after == mappings.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

}  // namespace atalaya::symbols
