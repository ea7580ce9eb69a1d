// SPDX-License-Identifier: Apache-2.0
// Lists of patterns as parameters of stages.
#pragma once

#include <atalaya/plugin.hpp>

#include <string>
#include <string_view>
#include <utility>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/io/samples/per_name.h"

namespace atalaya::io {

inline MatcherList read_patterns(Host host, std::string_view path) {
  const std::vector<std::string> patterns = host.texts(path);
  auto list = MatcherList::parse(patterns);
  if (!list) throw Failure(Code::bad_config, "parameter \"" + std::string(path) + "\": " + list.error());
  return std::move(*list);
}

// Matches interned names; each is matched once, then cached.
class NamePatterns {
 public:
  NamePatterns(Host host, std::string_view path) : host_(host), patterns_(read_patterns(host, path)) {}

  bool empty() const { return patterns_.empty(); }
  bool matches(uint32_t name) {
    return known_.get(name, [&] { return patterns_.matches(host_.name_of(name)); });
  }
  bool match_any_field(const Sample &sample) {
    for (uint32_t i = 0; i < sample.field_count; ++i)
      if (matches(sample.fields[i].name)) return true;
    return false;
  }

 private:
  Host host_;
  MatcherList patterns_;
  PerName<bool> known_;
};

// The first word of a metric's name: "proc" of "proc.cpu.user".
inline std::string_view family_of(std::string_view metric) {
  return metric.substr(0, metric.find('.'));
}

}  // namespace atalaya::io
