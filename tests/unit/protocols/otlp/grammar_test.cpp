// SPDX-License-Identifier: Apache-2.0
// Random requests, written as protobuf and as JSON from one model. Fields are in random order, unknown ones among them.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/protocols/otlp/message.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

// The parts of a message in both forms.
class Both {
 public:
  explicit Both(Random &random) : random_(random) {}

  void add(const std::string &key, const std::string &json, const Fill &fill) {
    parts_.push_back(message(fill));
    members_.push_back("\"" + key + "\":" + json);
  }
  void add_list(const std::string &key, uint32_t tag, const std::vector<std::pair<std::string, std::string>> &messages) {
    if (messages.empty()) return;
    std::string json;
    for (const auto &[bytes, text] : messages) {
      parts_.push_back(message([&, bytes = bytes](pbf_writer &out) { out.add_message(tag, bytes); }));
      json += (json.empty() ? "" : ",") + text;
    }
    members_.push_back("\"" + key + "\":[" + json + "]");
  }

  // Bytes and JSON. The order of repeated fields stays as it is.
  std::pair<std::string, std::string> end(bool shuffle) {
    if (random_.one_of(4)) {
      parts_.push_back(message([](pbf_writer &out) { out.add_string(99, "unknown"); }));
      members_.push_back("\"unknown\":[{\"x\":1}]");
    }
    if (shuffle) {
      std::reverse(parts_.begin(), parts_.end());
      std::reverse(members_.begin(), members_.end());
    }
    std::pair<std::string, std::string> out{"", "{"};
    for (const std::string &part : parts_) out.first += part;
    for (const std::string &member : members_) out.second += (out.second.size() > 1 ? ",  " : "\n") + member;
    out.second += '}';
    return out;
  }

 private:
  Random &random_;
  std::vector<std::string> parts_, members_;
};
using Written = std::pair<std::string, std::string>;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Written body;
  Lines expected;
  uint64_t refused = 0;

  void document() {
    std::vector<Written> resources;
    for (uint64_t i = random_.between(1, 3); i > 0; --i) {
      resource_ = "";
      std::vector<Written> attributes;
      for (uint64_t k = random_.below(3); k > 0; --k) attributes.push_back(attribute("r" + std::to_string(k), resource_));
      Both resource(random_);
      resource.add_list("attributes", 1, attributes);
      const Written written = resource.end(false);
      std::vector<Written> metrics;
      for (uint64_t k = random_.between(1, 4); k > 0; --k) metrics.push_back(metric());
      Both scope(random_);
      scope.add_list("metrics", 2, metrics);
      Both both(random_);
      both.add("resource", written.second, [&](pbf_writer &out) { out.add_message(1, written.first); });
      both.add_list("scopeMetrics", 2, {scope.end(false)});
      resources.push_back(both.end(random_.one_of(2)));
    }
    Both request(random_);
    request.add_list("resourceMetrics", 1, resources);
    body = request.end(false);
  }

 private:
  static std::string quoted(std::string_view text) {
    std::string out;
    core::append_json_string(out, text);
    return out;
  }

  Written attribute(const std::string &key, std::string &shown) {
    Both any(random_);
    std::string text;
    switch (random_.below(3)) {
      case 0:
        text = random_.text("ab\"\\ \n=é", 5);
        if (text.find('\xc3') != std::string::npos || text.find('\xa9') != std::string::npos) text = "é";
        any.add("stringValue", quoted(text), [&](pbf_writer &out) { out.add_string(1, text); });
        break;
      case 1: {
        const auto number = static_cast<int64_t>(random_.below(1000)) - 500;
        text = std::to_string(number);
        any.add("intValue", random_.one_of(2) ? text : "\"" + text + "\"", [&](pbf_writer &out) { out.add_int64(3, number); });
        break;
      }
      default:
        text = random_.one_of(2) ? "true" : "false";
        any.add("boolValue", text, [&](pbf_writer &out) { out.add_bool(2, text == "true"); });
    }
    shown += (shown.empty() ? "" : ",") + key + "=" + text;
    const Written value = any.end(false);
    Both pair(random_);
    pair.add("key", "\"" + key + "\"", [&](pbf_writer &out) { out.add_string(1, key); });
    pair.add("value", value.second, [&](pbf_writer &out) { out.add_message(2, value.first); });
    return pair.end(random_.one_of(2));
  }

  struct Shape {
    const char *name;
    uint32_t tag, attribute, flags;
    bool distribution;
  };

  Written metric() {
    static constexpr Shape kShapes[] = {{"gauge", 5, 7, 8, false},
                                        {"sum", 7, 7, 8, false},
                                        {"histogram", 9, 9, 10, true},
                                        {"exponentialHistogram", 10, 1, 10, true},
                                        {"summary", 11, 7, 8, true}};
    const Shape &shape = random_.pick(kShapes);
    const bool has_temporality = shape.tag == 7 || shape.tag == 9 || shape.tag == 10;
    const bool delta = has_temporality && random_.one_of(2);
    const bool monotonic = shape.tag == 7 && random_.one_of(2);
    // A name for each kind: the catalogue of one document has one kind for each.
    const std::string name = std::string(shape.name) + (delta ? ".delta" : "") + (monotonic ? ".up" : "") + random_.text("xyz", 1);
    std::vector<Written> points;
    for (uint64_t i = random_.below(4); i > 0; --i) points.push_back(point(name, shape, delta));
    Both data(random_);
    data.add_list("dataPoints", 1, points);
    if (has_temporality)
      data.add("aggregationTemporality", delta ? "1" : "2", [&](pbf_writer &out) { out.add_enum(2, delta ? 1 : 2); });
    if (monotonic) data.add("isMonotonic", "true", [](pbf_writer &out) { out.add_bool(3, true); });
    const Written written = data.end(false);
    Both metric(random_);
    metric.add("name", "\"" + name + "\"", [&](pbf_writer &out) { out.add_string(1, name); });
    metric.add("unit", "\"s\"", [](pbf_writer &out) { out.add_string(3, "s"); });
    metric.add(shape.name, written.second, [&](pbf_writer &out) { out.add_message(shape.tag, written.first); });
    return metric.end(random_.one_of(2));
  }

  void fixed(Both &both, const char *key, uint32_t tag, uint64_t value) {
    const std::string text = std::to_string(value);
    both.add(key, random_.one_of(2) ? text : "\"" + text + "\"", [=](pbf_writer &out) { out.add_fixed64(tag, value); });
  }

  Written point(const std::string &name, const Shape &shape, bool delta) {
    enum Fault : uint8_t { none, no_time, start_late, no_value, stale };
    const Fault fault = random_.one_of(3) ? static_cast<Fault>(random_.between(1, 4)) : none;
    Both both(random_);
    const uint64_t start = random_.between(1, 1ULL << 60), time = start + random_.between(1, 1000);
    fixed(both, "startTimeUnixNano", 2, fault == start_late ? time + 1 : start);
    if (fault != no_time) fixed(both, "timeUnixNano", 3, time);
    std::string tags = resource_;
    std::vector<Written> attributes;
    for (uint64_t k = random_.below(3); k > 0; --k) attributes.push_back(attribute("p" + std::to_string(k), tags));
    both.add_list("attributes", shape.attribute, attributes);
    if (fault == stale) both.add("flags", "1", [&](pbf_writer &out) { out.add_uint32(shape.flags, 1); });
    const std::string end = "{" + tags + "} ";
    const std::string when = " @" + std::to_string(time) + (delta ? "+" + std::to_string(time - start) : "");
    Lines lines;
    if (shape.distribution) {
      const uint64_t count = random_.below(5);
      if (count > 0) fixed(both, "count", 4, count);
      lines.push_back(name + ".count" + end + std::to_string(count) + "i" + when);
      const double sum = static_cast<double>(random_.below(1000)) / 8;
      const bool has_sum = fault == no_value || random_.one_of(2);
      if (has_sum) {
        both.add("sum", fault == no_value ? "\"Infinity\"" : real_text(sum),
                 [&](pbf_writer &out) { out.add_double(5, fault == no_value ? HUGE_VAL : sum); });
        lines.push_back(name + ".sum" + end + real_text(sum) + when);
      }
    } else if (fault != no_value) {
      const auto number = static_cast<int64_t>(random_.below(1000)) - 500;
      if (random_.one_of(2)) {
        both.add("asInt", "\"" + std::to_string(number) + "\"", [&](pbf_writer &out) { out.add_sfixed64(6, number); });
        lines.push_back(name + end + std::to_string(number) + "i" + when);
      } else {
        const double value = static_cast<double>(number) / 8;
        both.add("asDouble", real_text(value), [&](pbf_writer &out) { out.add_double(4, value); });
        lines.push_back(name + end + real_text(value) + when);
      }
    }
    if (fault == none) expected.insert(expected.end(), lines.begin(), lines.end());
    if (fault != none && fault != stale) ++refused;
    return both.end(false);
  }

  Random random_;
  std::string resource_;  // the tags of the current resource
};

}  // namespace

TEST_CASE("otlp: random requests arrive point by point in both forms") {
  for (uint32_t seed = 0; seed < test::rounds(3000); ++seed) {
    Generator generator(seed);
    generator.document();
    CAPTURE(seed);
    CAPTURE(generator.body.second);
    const OtlpResult binary = read_otlp(generator.body.first);
    REQUIRE(binary.lines() == generator.expected);
    REQUIRE(binary.account.failed == generator.refused);
    const OtlpResult json = read_otlp_json(generator.body.second);
    REQUIRE(json.account.fatal == "");
    REQUIRE(json.lines() == generator.expected);
    REQUIRE(json.account.failed == generator.refused);
  }
}

TEST_CASE("otlp: mutated requests are refused as a whole or read point by point, never half") {
  Random random(7);
  for (uint32_t seed = 0; seed < test::rounds(3000); ++seed) {
    Generator generator(seed);
    generator.document();
    std::string bytes = generator.body.first, json = generator.body.second;
    bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    json[random.below(json.size())] = random.pick(std::string_view("{}[]\",:0x\\"));
    for (const OtlpResult &result : {read_otlp(bytes), read_otlp_json(json)}) {
      REQUIRE((result.account.fatal.empty() || result.account.good + result.account.failed == 0));
      REQUIRE((result.account.failed == 0 || !result.account.note.empty()));
    }
  }
}

}  // namespace atalaya::protocols::testing
