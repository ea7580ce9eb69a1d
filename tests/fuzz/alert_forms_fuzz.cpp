// SPDX-License-Identifier: Apache-2.0
// Alerts with any texts: each is one line with one JSON object. The input is the name and the value of each tag, separated by
// zeros.
#include <atalaya/plugin.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/shared/protocols/alertmanager/alert_encoder.h"

namespace {

using namespace atalaya;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(core::Encoder &encoder, const atalaya_sample &sample, std::string_view object) {
  std::string line;
  require(encoder.append(sample, line).empty());
  require(line.find('\n') == line.size() - 1);
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  simdjson::dom::object members;
  require(parser.parse(line).get(element) == simdjson::SUCCESS);
  require(element[object].get(members) == simdjson::SUCCESS);
  for (const auto member : members) require(member.value.is_string());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  const auto next = [&rest] {
    const std::string_view text = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    return text;
  };
  std::array<std::string_view, 6> names{"", "alert", "severity"};
  std::array<atalaya_tag, 5> tags{};
  for (uint32_t i = 0; i < tags.size(); ++i) {
    if (names[i + 1].empty()) names[i + 1] = next();
    const std::string_view value = next();
    tags[i] = {i + 1, 0, {value.data(), value.size()}};
  }
  const core::NameOf name_of = [&names](uint32_t id) { return names[id]; };
  atalaya_sample sample{};
  sample.kind = ATALAYA_SPAN;
  sample.tag_count = tags.size();
  sample.tags = tags.data();
  sample.time_ns = static_cast<int64_t>(size) * 1'000'000'007;
  sample.duration_ns = size % 2 == 0 ? -1 : INT64_MAX;
  sample.text = {"alert", 5};
  check(*protocols::make_alertmanager(name_of), sample, "labels");
  check(*protocols::make_webhook(name_of), sample, "tags");
  return 0;
}
