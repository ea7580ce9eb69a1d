// SPDX-License-Identifier: Apache-2.0
// Each rule of Pyroscope's requests, those of its own Go client, and random stacks.
#include "plugins/shared/protocols/pyroscope/pyroscope.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

using core::testing::Maker;
using Words = std::map<std::string, std::string>;

std::string decoded(const std::string &text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}
Words words_of(const std::string &query) {
  Words out;
  std::istringstream pairs(query);
  for (std::string pair; std::getline(pairs, pair, '&');) {
    const size_t equals = pair.find('=');
    REQUIRE(equals != std::string::npos);
    REQUIRE(out.emplace(pair.substr(0, equals), decoded(pair.substr(equals + 1))).second);
  }
  return out;
}

atalaya_sample &stack(Maker &maker, const std::string &profile, const Maker::Tags &more, std::string_view text, int64_t value) {
  Maker::Tags tags = {{"profile", profile}};
  tags.insert(tags.end(), more.begin(), more.end());
  atalaya_sample &sample = maker.add(ATALAYA_STACK, tags, text);
  sample.time_ns = 1'700'000'010'123'456'789;
  sample.duration_ns = 10'123'456'789;
  maker.count(sample, profile == "cpu" ? "profile.samples" : "profile.ns", value);
  return sample;
}
std::string query(Maker &maker, const atalaya_sample &sample) {
  return make_pyroscope(maker.name_of(), 101)->query_of(sample);
}
std::string reason(Maker &maker, const atalaya_sample &sample) {
  return std::string(make_pyroscope(maker.name_of(), 101)->refusal_reason(sample));
}

}  // namespace

TEST_CASE("pyroscope: a request has the words of the Go client; only the format differs") {
  std::istringstream targets(fixture("pyroscope/go-client.txt"));
  std::string cpu, waits;
  std::getline(targets, cpu);
  std::getline(targets, waits);
  const auto matches = [](std::string target, const std::string &ours) {
    REQUIRE(target.starts_with("/ingest?"));
    Words expected = words_of(target.substr(8));
    expected["format"] = "folded";
    CHECK(words_of(ours) == expected);
    // Both encode the name in the same way.
    const std::string name = target.substr(target.find("name="), target.find("&sampleRate") - target.find("name="));
    CHECK(ours.find(name + "&") == 0);
  };
  Maker maker;
  matches(cpu, query(maker, stack(maker, "cpu", {{"process", "shop"}, {"pid", "7"}, {"host", "h1"}}, "main;a", 3)));
  Maker other;
  atalaya_sample &sample = stack(other, "offcpu", {{"host", "h1"}}, "main;a", 3);
  std::string ours = query(other, sample);
  REQUIRE(ours.starts_with("name=unknown."));
  matches(waits, ours.replace(5, 7, "shop"));
}

TEST_CASE("pyroscope: each profile has a type, a rate and a unit") {
  Maker maker;
  const auto words = [&](const char *profile) {
    Words all = words_of(query(maker, stack(maker, profile, {}, "a", 1)));
    return all["name"] + " " + all["sampleRate"] + " " + all["units"];
  };
  CHECK(words("cpu") == "unknown.cpu{} 101 samples");
  CHECK(words("offcpu") == "unknown.block_duration{} 1000000000 lock_nanoseconds");
  CHECK(words("wall") == "unknown.wall{} 1000000000 samples");
}

TEST_CASE("pyroscope: names and labels have the characters that the server reads, and empty labels are left out") {
  Maker maker;
  const atalaya_sample &sample =
      stack(maker, "cpu", {{"process", "a {b}=c,d&e"}, {"job.step-1", "x=y"}, {"empty", ""}, {"host", "h\xc3\xa9"}}, "a", 1);
  CHECK(words_of(query(maker, sample))["name"] ==
        "a_20_7Bb_7D_3Dc_2Cd_26e.cpu{host=h_C3_A9,job_step_1=x_3Dy,process=a_20_7Bb_7D_3Dc_2Cd_26e}");
}

TEST_CASE("pyroscope: samples that it cannot store are refused with the reason") {
  Maker maker;
  CHECK(reason(maker, maker.add(ATALAYA_SPAN, {}, "job")) == "Pyroscope has a form for stacks only");
  CHECK(reason(maker, stack(maker, "waker", {}, "a", 1)) == "Pyroscope has a form for the profiles cpu, offcpu and wall only");
  CHECK(reason(maker, stack(maker, "cpu", {}, "", 1)) == "has no stack");
  CHECK(reason(maker, stack(maker, "cpu", {}, "a", 0)) == "has no value");
  CHECK(reason(maker, stack(maker, "cpu", {}, "a", -1)) == "has no value");
  CHECK(reason(maker, stack(maker, "cpu", {}, std::string(64 * 1024 - 24, 'x'), 1)).empty());
  CHECK(reason(maker, stack(maker, "cpu", {}, std::string(64 * 1024 - 23, 'x'), 1)) ==
        "is longer than 64 KiB, the limit of Pyroscope for a stack");
}

TEST_CASE("pyroscope: random stacks are the lines of the body, and labels are sorted and have no separators") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Random random(seed);
    Maker maker;
    std::string expected;
    for (uint64_t i = random.between(1, 5); i > 0; --i) {
      const std::string text = random.text("ab;<>: \n\r\xff", 20);
      const auto value = static_cast<int64_t>(random.between(1, uint64_t{1} << random.between(1, 62)));
      const std::string host = random.text("h{}=,&%\xc3", 6), job = random.one_of(3) ? "" : random.text("j_ -", 6);
      const atalaya_sample &sample =
          stack(maker, random.pick(std::vector<std::string>{"cpu", "offcpu", "wall"}), {{"job", job}, {"host", host}}, text, value);
      REQUIRE(reason(maker, sample).empty());
      std::string line = text;
      for (char &c : line)
        if (c == '\n' || c == '\r') c = ' ';
      expected += line + " " + std::to_string(value) + "\n";
      const std::string name = words_of(query(maker, sample))["name"];
      const std::string labels = name.substr(name.find('{'));
      CAPTURE(name);
      REQUIRE(labels.starts_with("{host="));
      REQUIRE(std::count(labels.begin(), labels.end(), '=') == (job.empty() ? 1 : 2));
      REQUIRE(std::count(labels.begin(), labels.end(), ',') == (job.empty() ? 0 : 1));
      REQUIRE(labels.find_first_of("{}", 1) == labels.size() - 1);
    }
    std::string body;
    make_pyroscope(maker.name_of(), 101)->encode({maker.batch.raw().samples, maker.batch.count()}, body);
    CAPTURE(seed);
    REQUIRE(body == expected);
  }
}

}  // namespace atalaya::protocols::testing
