// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/fact_history.h"

#include <algorithm>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/files.h"

namespace atalaya::inventory {
namespace {

// One line per record, "START DURATION NAME=VALUE"; `=` and `%` in names are percent-encoded. Facts contain no line ends.
constexpr std::string_view kFirstLine = "atalaya inventory 1";
constexpr std::string_view kHex = "0123456789abcdef";

std::string encoded(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '=' && c != '%') {
      text += c;
      continue;
    }
    text += '%';
    text += kHex[static_cast<unsigned char>(c) >> 4];
    text += kHex[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

bool decode(std::string_view text, std::string &name) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const size_t high = kHex.find(text[i + 1]), low = kHex.find(text[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    name += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return !name.empty();
}

void append(std::string &text, const Record &record) {
  text.append(std::to_string(record.start_ns)).append(" ").append(std::to_string(record.duration_ns)).append(" ");
  text.append(encoded(record.name)).append("=").append(record.value).append("\n");
}

bool parse(std::string_view line, Record &record) {
  if (!procfs::next_number(line, record.start_ns) || !procfs::next_number(line, record.duration_ns) || line.empty()) return false;
  line.remove_prefix(1);
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos || !decode(line.substr(0, equals), record.name)) return false;
  record.value = line.substr(equals + 1);
  return !record.value.empty() && record.duration_ns >= kOpen;
}

}  // namespace

std::vector<Record> FactHistory::update(const Facts &facts, int64_t now_ns) {
  std::vector<Record> ended, begun;
  for (auto at = known_.begin(); at != known_.end();) {
    const auto found = facts.values().find(at->first);
    const bool valid = found == facts.values().end() ? facts.is_unreadable(at->first) : found->second == at->second.value;
    if (valid) {
      ++at;
      continue;
    }
    const int64_t held_ns = std::max<int64_t>(now_ns - at->second.start_ns, 0);  // the clock may have been set back
    ended.push_back({at->first, at->second.value, at->second.start_ns, held_ns});
    at = known_.erase(at);
  }
  for (const auto &[name, value] : facts.values())
    if (known_.try_emplace(name, Known{value, now_ns}).second) begun.push_back({name, value, now_ns, kOpen});
  if (!ended.empty() || !begun.empty()) ended_ = ended;
  ended.insert(ended.end(), begun.begin(), begun.end());
  return ended;
}

std::vector<Record> FactHistory::open() const {
  std::vector<Record> records;
  for (const auto &[name, known] : known_) records.push_back({name, known.value, known.start_ns, kOpen});
  return records;
}

std::string FactHistory::text() const {
  std::string text(kFirstLine);
  text += '\n';
  for (const Record &record : open()) append(text, record);
  for (const Record &record : ended_) append(text, record);
  return text;
}

bool FactHistory::read(std::string_view text) {
  known_.clear();
  ended_.clear();
  bool good = core::cut_at(text, '\n') == kFirstLine;
  while (good && !text.empty()) {
    Record record;
    good = parse(core::cut_at(text, '\n'), record) && known_.size() < kMaxFacts;
    if (good && record.duration_ns == kOpen)
      known_.try_emplace(record.name, Known{record.value, record.start_ns});
    else if (good)
      ended_.push_back(std::move(record));
  }
  if (good) return true;
  known_.clear();
  ended_.clear();
  return false;
}

}  // namespace atalaya::inventory
