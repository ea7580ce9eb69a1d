// SPDX-License-Identifier: Apache-2.0
// Alerts as JSON, read back by a JSON parser that is not ours.
#include "plugins/shared/protocols/alertmanager/alert_encoder.h"

#include <doctest/doctest.h>
#include <simdjson.h>

#include <limits>
#include <map>
#include <random>
#include <string>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

using Texts = std::map<std::string, std::string>;
constexpr int64_t kStart = 1'795'219'532'123'456'789;

struct Alerts {
  core::Symbols symbols;
  core::Batch batch;
  core::NameOf name_of = [this](uint32_t id) { return symbols.name(id); };
  simdjson::dom::parser parser;

  atalaya_sample &add(const Texts &tags, int64_t duration_ns = -1, const std::string &text = "alert",
                      uint32_t kind = ATALAYA_SPAN) {
    atalaya_sample &sample = batch.add_sample(kind);
    sample.time_ns = kStart;
    sample.duration_ns = duration_ns;
    sample.text = batch.copy(text);
    for (const auto &[key, value] : tags) batch.add_tag(sample, symbols.intern(key), value);
    return sample;
  }
  void value(atalaya_sample &sample, const char *name, double number) {
    atalaya_field field{symbols.intern(name), ATALAYA_F64, {}};
    field.value.f64 = number;
    batch.add_field(sample, field);
  }
  // One line with one object.
  simdjson::dom::element parsed(core::Encoder &encoder, const atalaya_sample &sample) {
    std::string line;
    REQUIRE(encoder.append(sample, line).empty());
    REQUIRE(line.back() == '\n');
    REQUIRE(line.find('\n') == line.size() - 1);
    simdjson::dom::element element;
    REQUIRE_MESSAGE(parser.parse(line).get(element) == simdjson::SUCCESS, line);
    return element;
  }
};

Texts members(simdjson::dom::element element) {
  Texts texts;
  for (const auto &[key, value] : simdjson::dom::object(element)) {
    const bool is_new = texts.emplace(std::string(key), std::string(std::string_view(value))).second;
    CHECK_MESSAGE(is_new, key);
  }
  return texts;
}

TEST_CASE("Alertmanager: an alert has the members of the one that Prometheus sends") {
  simdjson::dom::parser reader;
  simdjson::dom::element peer;
  const std::string body = fixture("alertmanager/prometheus.json");
  REQUIRE(reader.parse(body).at(0).get(peer) == simdjson::SUCCESS);
  Alerts alerts;
  atalaya_sample &firing = alerts.add({{"alert", "disk full"},
                                       {"severity", "critical"},
                                       {"host", "h1"},
                                       {"my tag", "a \"b\"\\ \xc3\xa9"},
                                       {"summary", "disk of h1 \n \"full\""},
                                       {"advice", "free <space>"}},
                                      10'000'000'000);
  alerts.value(firing, "alert.value", 91.25);
  firing.time_ns = 1'795'940'517'730'000'000;  // ten seconds before the end
  const auto encoder = make_alertmanager(alerts.name_of);
  const auto element = alerts.parsed(*encoder, firing);
  CHECK(members(element["labels"]) == members(peer["labels"]));
  CHECK(members(element["annotations"]) == members(peer["annotations"]));
  for (const char *time : {"startsAt", "endsAt"}) CHECK(std::string_view(element[time]) == std::string_view(peer[time]));
}

TEST_CASE("an end beyond the range of times is the last time") {
  Alerts alerts;
  const auto encoder = make_webhook(alerts.name_of);
  const auto element = alerts.parsed(*encoder, alerts.add({{"alert", "a"}, {"severity", "info"}}, INT64_MAX));
  CHECK(int64_t(element["end"]) == INT64_MAX / 1'000'000);
}

TEST_CASE("Alertmanager: labels, annotations and times") {
  Alerts alerts;
  atalaya_sample &firing = alerts.add({{"alert", "disk full"},
                                       {"severity", "critical"},
                                       {"summary", "a \"b\""},
                                       {"advice", "c\\d"},
                                       {"host", "h"},
                                       {"my-tag", "x"},
                                       {"empty", ""}});
  alerts.value(firing, "alert.value", 91.25);
  const auto encoder = make_alertmanager(alerts.name_of);
  auto element = alerts.parsed(*encoder, firing);
  CHECK(members(element["labels"]) == Texts{{"alertname", "disk full"}, {"severity", "critical"}, {"host", "h"}, {"my_tag", "x"}});
  CHECK(members(element["annotations"]) == Texts{{"summary", "a \"b\""}, {"description", "c\\d"}, {"value", "91.25"}});
  CHECK(std::string_view(element["startsAt"]) == "2026-11-21T00:05:32.123Z");
  CHECK(element["endsAt"].error() == simdjson::NO_SUCH_FIELD);
  element = alerts.parsed(*encoder, alerts.add({{"alert", "a"}, {"severity", "info"}}, 60'000'000'000));
  CHECK(std::string_view(element["endsAt"]) == "2026-11-21T00:06:32.123Z");
  CHECK(members(element["annotations"]).empty());
}

TEST_CASE("Alertmanager: tags that become the same label, or the name of one of its own, are not repeated") {
  Alerts alerts;
  const auto encoder = make_alertmanager(alerts.name_of);
  const auto element = alerts.parsed(
      *encoder, alerts.add({{"alert", "a"}, {"severity", "info"}, {"alertname", "other"}, {"b-c", "1"}, {"b_c", "2"}}));
  const Texts labels = members(element["labels"]);
  CHECK(labels.at("alertname") == "a");
  CHECK((labels.at("b_c") == "1" || labels.at("b_c") == "2"));
  CHECK(labels.size() == 3);
}

TEST_CASE("webhook: state, times, numbers and tags") {
  Alerts alerts;
  atalaya_sample &firing =
      alerts.add({{"alert", "busy"}, {"severity", "warning"}, {"summary", "s"}, {"advice", "d"}, {"host", "h"}, {"my-tag", "x"}});
  alerts.value(firing, "alert.value", 91.25);
  alerts.value(firing, "alert.limit", 80);
  const auto encoder = make_webhook(alerts.name_of);
  auto element = alerts.parsed(*encoder, firing);
  for (const auto &[key, expected] :
       Texts{{"alert", "busy"}, {"state", "firing"}, {"severity", "warning"}, {"summary", "s"}, {"advice", "d"}})
    CHECK(std::string_view(element[key]) == expected);
  CHECK(int64_t(element["start"]) == kStart / 1'000'000);
  CHECK(double(element["value"]) == 91.25);
  CHECK(double(element["limit"]) == 80);
  CHECK(members(element["tags"]) == Texts{{"host", "h"}, {"my-tag", "x"}});
  CHECK(element["end"].error() == simdjson::NO_SUCH_FIELD);
  element = alerts.parsed(*encoder, alerts.add({{"alert", "a"}, {"severity", "info"}}, 1'500'000'000));
  CHECK(std::string_view(element["state"]) == "resolved");
  CHECK(int64_t(element["end"]) - int64_t(element["start"]) == 1500);
  CHECK(element["value"].error() == simdjson::NO_SUCH_FIELD);
}

TEST_CASE("other samples are refused, and nothing is written") {
  Alerts alerts;
  for (const auto &encoder : {make_alertmanager(alerts.name_of), make_webhook(alerts.name_of)})
    for (const atalaya_sample *sample :
         {&alerts.add({{"alert", "a"}}, -1, "phase"), &alerts.add({{"alert", "a"}}, 0, "", ATALAYA_METRICS)}) {
      std::string out = "before";
      CHECK(encoder->append(*sample, out) == "is not an alert: only spans \"alert\" have this form");
      CHECK(out == "before");
    }
}

// Any bytes: the JSON is valid, and texts of printable characters come back unchanged.
TEST_CASE("random texts") {
  std::mt19937 random(5);
  for (int round = 0; round < static_cast<int>(test::rounds(3000)); ++round) {
    Alerts alerts;
    const bool is_printable = round % 2 == 0;
    const auto text = [&] {
      std::string made;
      for (auto size = 1 + random() % 20; size > 0; --size)
        made += static_cast<char>(is_printable ? ' ' + random() % 95 : random() % 256);
      return made;
    };
    const Texts tags = {{"alert", text()}, {"severity", text()}, {"summary", text()}, {"advice", text()}, {"host", text()}};
    atalaya_sample &sample = alerts.add(tags, round % 3 == 0 ? -1 : 5);
    alerts.value(sample, "alert.value", round % 5 == 0 ? std::numeric_limits<double>::quiet_NaN() : round * 0.1);
    auto element = alerts.parsed(*make_alertmanager(alerts.name_of), sample);
    if (is_printable)
      CHECK(members(element["labels"]) ==
            Texts{{"alertname", tags.at("alert")}, {"severity", tags.at("severity")}, {"host", tags.at("host")}});
    element = alerts.parsed(*make_webhook(alerts.name_of), sample);
    if (is_printable) CHECK(members(element["tags"]) == Texts{{"host", tags.at("host")}});
    CHECK((element["value"].error() == simdjson::NO_SUCH_FIELD) == (round % 5 == 0));
  }
}

}  // namespace
}  // namespace atalaya::protocols::testing
