// SPDX-License-Identifier: Apache-2.0
// The records of a reader as lines of text, for comparison: "NAME{KEY=VALUE,...} VALUE @TIME+DURATION".
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text/json.h"
#include "plugins/shared/protocols/base/record.h"
#include "tests/unit/lines.h"

namespace atalaya::protocols::testing {

using Lines = std::vector<std::string>;

// An integer ends with 'i'.
inline std::string number_text(const RecordField &field) {
  std::string out;
  if (field.type == ATALAYA_I64) {
    core::append_integer(out, field.i64);
    out += 'i';
  } else {
    core::append_number(out, field.f64);
  }
  return out;
}
inline std::string real_text(double value) {
  RecordField field;
  field.f64 = value;
  return number_text(field);
}

class Records final : public RecordReceiver {
 public:
  bool take(const Record &record) override {
    std::string tags;
    for (const RecordTag &tag : record.tags) tags.append(tags.empty() ? "" : ",").append(tag.key).append(1, '=').append(tag.value);
    for (const RecordField &field : record.fields) {
      std::string line = std::string(field.name) + "{" + tags + "} " + number_text(field) + " @" + std::to_string(record.time_ns);
      if (record.duration_ns > 0) line += "+" + std::to_string(record.duration_ns);
      lines.push_back(std::move(line));
    }
    return true;
  }
  bool declare(std::string_view name, const atalaya_metric_info &info) override {
    const std::string unit(info.unit.data, info.unit.size);
    const auto [known, added] = kinds.try_emplace(std::string(name), info.kind);
    units.try_emplace(std::string(name), unit);
    return known->second == info.kind;
  }

  Lines lines;
  std::map<std::string, uint32_t, std::less<>> kinds;
  std::map<std::string, std::string, std::less<>> units;
};

// A file of tests/fixtures/protocols.
inline std::string fixture(const std::string &path) {
  std::ifstream file("tests/fixtures/protocols/" + path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace atalaya::protocols::testing
