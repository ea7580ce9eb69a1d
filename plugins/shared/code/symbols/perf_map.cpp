// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/perf_map.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/base/text/text.h"

namespace atalaya::symbols {
namespace {

std::optional<uint64_t> hexadecimal_number(std::string_view &text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end == text.data() + text.size() || (*end != ' ' && *end != '\t')) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::string_view last_lines(std::string_view text) {
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  for (size_t i = kMaxPerfMapLines; i < lines; ++i) text.remove_prefix(text.find('\n') + 1);
  return text;
}

}  // namespace

PerfMap::PerfMap(std::string_view text) {
  text = last_lines(text.substr(text.size() - std::min(text.size(), kMaxPerfMap)));
  while (!text.empty()) {
    const size_t size = text.find('\n');
    if (size == std::string_view::npos) break;  // the runtime is still writing this line
    std::string_view line = text.substr(0, size);
    text.remove_prefix(size + 1);
    const auto begin = hexadecimal_number(line);
    if (!begin) continue;
    const uint64_t length = hexadecimal_number(line).value_or(0);
    const std::string_view name = core::trimmed(line).substr(0, kMaxName);
    if (length == 0 || *begin + length < *begin || name.empty()) continue;
    entries_.push_back({*begin, *begin + length, static_cast<uint32_t>(names_.size()), static_cast<uint32_t>(name.size())});
    names_ += name;
  }
  keep_latest();
}

// Each entry removes the overlapping parts of earlier ones.
void PerfMap::keep_latest() {
  std::map<uint64_t, Entry> latest;
  for (const Entry &entry : entries_) {
    auto at = latest.lower_bound(entry.begin);
    if (at != latest.begin() && std::prev(at)->second.end > entry.begin) {
      Entry &before = std::prev(at)->second;
      if (before.end > entry.end) {
        Entry rest = before;
        rest.begin = entry.end;
        latest.insert_or_assign(rest.begin, rest);
      }
      before.end = entry.begin;
    }
    at = latest.lower_bound(entry.begin);
    while (at != latest.end() && at->second.end <= entry.end) at = latest.erase(at);
    if (at != latest.end() && at->first < entry.end) {
      Entry rest = at->second;
      latest.erase(at);
      rest.begin = entry.end;
      latest.insert_or_assign(rest.begin, rest);
    }
    latest.insert_or_assign(entry.begin, entry);
  }
  entries_.clear();
  entries_.reserve(latest.size());
  for (const auto &[begin, entry] : latest) entries_.push_back(entry);
}

std::string_view PerfMap::find(uint64_t address) const {
  auto after =
      std::upper_bound(entries_.begin(), entries_.end(), address, [](uint64_t at, const Entry &e) { return at < e.begin; });
  if (after == entries_.begin()) return {};
  --after;
  return address < after->end ? std::string_view(names_).substr(after->name, after->name_size) : std::string_view();
}

}  // namespace atalaya::symbols
