// SPDX-License-Identifier: Apache-2.0
// Profiles of pprof and events of Riemann with any texts: a reader of protobuf finds each of them whole. The input is texts,
// separated by zeros.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text/safe_text.h"
#include "plugins/shared/io/compress/decoder.h"
#include "plugins/shared/protocols/pprof/pprof.h"
#include "plugins/shared/protocols/riemann/events.h"

namespace {

using namespace atalaya;

void require(bool holds) {
  if (!holds) std::abort();
}

// The frames of the sample are the texts, by way of locations, functions and the list of texts.
void check_profile(const std::vector<std::string_view> &texts) {
  protocols::PprofWriter writer("cpu", "count");
  writer.add(texts, 1, std::vector<protocols::PprofLabel>{{texts.front(), texts.back()}});
  const std::string gzipped = writer.finish();
  io::Decoder decoder;
  std::string_view message;
  require(decoder.decode(io::Encoding::gzip, gzipped, size_t{1} << 26, 0, message) == io::Decoder::Result::complete);
  std::vector<std::string> all;
  std::vector<uint64_t> frames;
  std::set<uint64_t> locations, functions;
  for (protozero::pbf_reader reader(message.data(), message.size()); reader.next();) {
    protozero::pbf_reader inner;
    if (reader.tag() == 6) {
      all.push_back(reader.get_string());
    } else if (reader.tag() == 2) {
      inner = reader.get_message();
      while (inner.next(1))
        for (const uint64_t id : inner.get_packed_uint64()) frames.push_back(id);
    } else if (reader.tag() == 4 || reader.tag() == 5) {
      std::set<uint64_t> &ids = reader.tag() == 4 ? locations : functions;
      inner = reader.get_message();
      require(inner.next(1) && ids.insert(inner.get_uint64()).second);
    } else {
      reader.skip();
    }
  }
  require(frames.size() == texts.size() && locations == functions && locations.count(0) == 0);
  for (size_t i = 0; i < frames.size(); ++i) require(locations.count(frames[i]) == 1);
  for (const std::string_view text : texts) require(std::find(all.begin(), all.end(), text) != all.end());
}

// Texts of an event are UTF-8 without NUL.
void check_text(std::string_view text) {
  while (!text.empty()) {
    const core::CodePoint point = core::first_code_point(text);
    require(point.size > 0 && point.value != 0);
    text.remove_prefix(point.size);
  }
}

void check_events(const std::vector<std::string_view> &texts) {
  const std::vector<std::string_view> names = {"", "host", "pid", texts.front(), "a.b"};
  std::vector<atalaya_tag> tags;
  for (size_t i = 0; i < texts.size(); ++i) {
    atalaya_tag tag{};
    tag.key = static_cast<uint32_t>(1 + i % 3);
    tag.value = {texts[i].data(), texts[i].size()};
    tags.push_back(tag);
  }
  atalaya_field field{4, ATALAYA_I64, {.i64 = -1}};
  atalaya_sample sample{};
  sample.tag_count = static_cast<uint32_t>(tags.size());
  sample.tags = tags.data();
  sample.field_count = 1;
  sample.fields = &field;
  sample.text = {texts.back().data(), texts.back().size()};
  const auto name_of = [&names](uint32_t id) { return names[id]; };
  protocols::Events events({.pid_host = true}, name_of, [&names](std::string_view name) {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? 0U : static_cast<uint32_t>(at - names.begin());
  });
  events.load({&sample, 1});
  require(events.size() == 1);
  const std::string_view bytes = events.message(0, 1);
  protozero::pbf_reader message(bytes.data() + 4, bytes.size() - 4);
  require(message.next(6));
  for (protozero::pbf_reader event = message.get_message(); event.next();) {
    if (event.wire_type() != protozero::pbf_wire_type::length_delimited) {
      event.skip();
    } else if (event.tag() == 9) {
      for (protozero::pbf_reader pair = event.get_message(); pair.next();) check_text(pair.get_string());
    } else {
      check_text(event.get_string());
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  std::vector<std::string_view> texts;
  do {
    texts.push_back(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(std::min(texts.back().size() + 1, rest.size()));
  } while (!rest.empty() && texts.size() < 64);
  check_profile(texts);
  check_events(texts);
  return 0;
}
