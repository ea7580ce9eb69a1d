// SPDX-License-Identifier: Apache-2.0
// Kernel counters: parsing, and their increase between two readings.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/files.h"

namespace atalaya::procfs {

// A counter; absent if this kernel lacks it or its text is not a number.
using Count = std::optional<uint64_t>;

// Reads the numbers of a line in their order. Stops at the first word that is not a number.
inline void take_counts(std::string_view line, std::initializer_list<Count *> counts) {
  uint64_t value = 0;
  for (Count *count : counts) {
    if (!next_number(line, value)) return;
    *count = value;
  }
}

// The destination of the number after a key, in files of lines "key number".
template <class Reading>
struct KeyedCount {
  std::string_view key;
  Count Reading::*member;
};

template <class Reading, size_t kKeys>
void parse_keyed(std::string_view text, const KeyedCount<Reading> (&keys)[kKeys], Reading &out) {
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    const std::string_view key = next_word(line);
    for (const KeyedCount<Reading> &known : keys)
      if (known.key == key) take_counts(line, {&(out.*known.member)});
  }
}

// Two readings of one entity. Rates are absent if there is no earlier reading, or if a counter has decreased (a reset).
template <class Reading>
class Readings {
 public:
  using Member = Count Reading::*;
  Readings(const Reading &now, const Reading *before, double seconds) : now_(now), before_(before), seconds_(seconds) {}

  const Reading &now() const { return now_; }
  double seconds() const { return seconds_; }

  std::optional<double> increase(Member member) const {
    const Count delta = delta_of(member);
    return delta ? std::optional(static_cast<double>(*delta)) : std::nullopt;
  }
  Count delta_of(Member member) const {
    if (before_ == nullptr || !(now_.*member) || !(before_->*member) || *(now_.*member) < *(before_->*member)) return std::nullopt;
    return *(now_.*member) - *(before_->*member);
  }
  std::optional<double> per_second(Member member, double scale = 1) const { return per_second({member}, scale); }
  // The rate of a sum of counters; absent if one of them is absent.
  std::optional<double> per_second(std::initializer_list<Member> members, double scale = 1) const {
    double sum = 0;
    for (const Member member : members) {
      const std::optional<double> part = increase(member);
      if (!part) return std::nullopt;
      sum += *part;
    }
    return sum * scale / seconds_;
  }

 private:
  const Reading &now_;
  const Reading *before_;
  double seconds_;
};

// The last two readings of one entity.
template <class Reading>
class Last {
 public:
  Readings<Reading> exchange(const Reading &now, int64_t at_ns) {
    before_ = now_;
    now_ = now;
    const double seconds = static_cast<double>(at_ns - at_ns_) / 1e9;
    const bool usable = known_ && seconds > 0;
    known_ = true;
    at_ns_ = at_ns;
    return {now_, usable ? &before_ : nullptr, seconds};
  }
  void forget() { known_ = false; }

 private:
  Reading now_{}, before_{};
  int64_t at_ns_ = 0;
  bool known_ = false;
};

// The last two readings of many entities, by name. An entity that was missing in a round is treated as new.
template <class Reading>
class History {
 public:
  void begin(int64_t at_ns) {
    at_ns_ = at_ns;
    ++round_;
  }
  Readings<Reading> exchange(std::string_view name, const Reading &now) {
    auto found = entities_.find(name);
    if (found == entities_.end()) found = entities_.emplace(std::string(name), Entity{}).first;
    found->second.round = round_;
    return found->second.last.exchange(now, at_ns_);
  }
  void end() {
    for (auto at = entities_.begin(); at != entities_.end();) at = at->second.round == round_ ? std::next(at) : entities_.erase(at);
  }
  void forget() { entities_.clear(); }

 private:
  struct Entity {
    Last<Reading> last;
    uint64_t round = 0;
  };
  std::map<std::string, Entity, std::less<>> entities_;
  int64_t at_ns_ = 0;
  uint64_t round_ = 0;
};

}  // namespace atalaya::procfs
