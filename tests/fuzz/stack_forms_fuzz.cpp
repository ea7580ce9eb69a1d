// SPDX-License-Identifier: Apache-2.0
// Stacks and tags of other hosts in the forms of Pyroscope and OTLP profiles: whatever the names, a request is well formed.
// The input is one value for each tag and the stack, separated by zeros.
#include <atalaya/plugin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>

#include "plugins/shared/protocols/otlp/otlp_profiles.h"
#include "plugins/shared/protocols/pyroscope/pyroscope.h"

namespace {

using namespace atalaya;
using namespace atalaya::protocols;

constexpr std::array<std::string_view, 6> kNames = {"", "profile", "process", "host", "job.step", "profile.samples"};

void require(bool holds) {
  if (!holds) std::abort();
}

std::string_view name_of(uint32_t id) {
  return id < kNames.size() ? kNames[id] : std::string_view();
}

// Each message of known depth; protozero throws at bytes that are no message.
void read_all(protozero::pbf_reader message, int depth) {
  while (message.next())
    if (depth > 0 && message.wire_type() == protozero::pbf_wire_type::length_delimited && message.tag() <= 2)
      read_all(message.get_message(), depth - 1);
    else
      message.skip();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  std::array<atalaya_tag, 4> tags{};
  for (uint32_t i = 0; i < tags.size(); ++i) {
    const std::string_view value = rest.substr(0, rest.find('\0'));
    tags[i] = {i + 1, 0, {value.data(), value.size()}};
    rest.remove_prefix(std::min(value.size() + 1, rest.size()));
  }
  atalaya_field field{5, ATALAYA_I64, {.i64 = static_cast<int64_t>(size)}};
  atalaya_sample sample{};
  sample.kind = ATALAYA_STACK;
  sample.tag_count = tags.size();
  sample.field_count = 1;
  sample.time_ns = 1'700'000'000'000'000'000;
  sample.duration_ns = 1'000'000'000;
  sample.tags = tags.data();
  sample.fields = &field;
  sample.text = {rest.data(), rest.size()};
  const auto pyroscope = protocols::make_pyroscope(name_of, 101);
  if (pyroscope->refusal_reason(sample).empty()) {
    const std::string query = pyroscope->query_of(sample);
    require(query.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/%=&") == std::string::npos);
    require(std::count(query.begin(), query.end(), '&') == 7);
    std::string body;
    pyroscope->encode({&sample, 1}, body);
    require(std::count(body.begin(), body.end(), '\n') == 1 && body.back() == '\n' && body.size() <= 64 * 1024);
  }
  const auto profiles = protocols::make_otlp_profiles(name_of);
  if (profiles->refusal_reason(sample).empty()) {
    std::string body;
    profiles->encode({&sample, 1}, body);
    read_all(protozero::pbf_reader(body), 2);
  }
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  require(profiles->rejected(text).why.find('\n') == std::string::npos);
  return 0;
}
