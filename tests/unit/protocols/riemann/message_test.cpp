// SPDX-License-Identifier: Apache-2.0
// Messages of Riemann as bytes: those of another client have the same content, and a second reader returns random samples.
#include <algorithm>
#include <limits>

#include "plugins/shared/protocols/riemann/answer.h"
#include "plugins/shared/protocols/riemann/events.h"
#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/protocols/riemann/message.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

using core::testing::Maker;

std::vector<RiemannEvent> written(Maker &maker, const EventConfig &config) {
  Events events(config, maker.name_of(), [&](std::string_view name) { return maker.symbols.intern(name); });
  events.load({maker.batch.raw().samples, maker.batch.count()});
  size_t sum = 4;
  for (size_t i = 0; i < events.size(); ++i) sum += events.bytes(i);
  const std::string_view message = events.message(0, events.size());
  REQUIRE(message.size() == sum);
  return read_events(message);
}

// A random sample, and its events by a model of its own.
std::vector<RiemannEvent> add_random(Random &random, Maker &maker) {
  RiemannEvent common{.tags = {"prod"}};
  Maker::Tags tags;
  static const std::vector<std::string> keys = {"pid", "disk", "a.b", "x-y"};
  std::vector<std::string> values;
  for (size_t i = 0; i < keys.size(); ++i) values.push_back(random.one_of(4) ? "" : random.text("a \n=\xc3\xa9", 1) + "z");
  for (std::string &value : values)  // a part of a character is replaced
    for (const char broken : {'\xc3', '\xa9'})
      if (value.starts_with(broken)) value[0] = 'b';
  for (size_t i = 0; i < keys.size(); ++i) {
    tags.emplace_back(keys[i], values[i]);
    if (!values[i].empty()) common.attributes.emplace_back(keys[i], values[i]);
  }
  const bool has_host = random.one_of(2);
  if (has_host) {
    tags.emplace_back("host", "h1");
    common.host = values[0].empty() ? "h1" : values[0] + "@h1";
  }
  const std::string text = random.one_of(2) ? "" : "h\xc3\xa9\n";
  if (!text.empty()) common.description = text;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, tags, text);
  common.time = static_cast<int64_t>(random.below(4'000'000'000)) - 2'000'000'000;
  const auto micros = static_cast<int64_t>(random.below(1'000'000));
  common.time_micros = *common.time * 1'000'000 + micros;
  sample.time_ns = *common.time_micros * 1000 + static_cast<int64_t>(random.below(1000));
  const auto seconds = static_cast<int64_t>(random.below(100));
  sample.duration_ns = seconds * 500'000'000;
  if (seconds > 0) common.ttl = static_cast<float>(seconds);
  std::vector<RiemannEvent> events;
  for (uint64_t i = random.between(1, 4); i > 0; --i) {
    RiemannEvent event = common;
    event.service = random.pick(std::vector<std::string>{"proc.cpu", "a", "jvm.function.self"});
    if (random.one_of(2)) {
      event.whole = static_cast<int64_t>(random.below(uint64_t{1} << random.below(63))) * (random.one_of(2) ? 1 : -1);
      maker.count(sample, *event.service, *event.whole);
    } else {
      event.real = static_cast<double>(random.below(1'000'000)) / 7;
      maker.field(sample, *event.service, *event.real);
    }
    events.push_back(event);
  }
  return events;
}

}  // namespace

TEST_CASE("riemann: a message has the content of the one that the Python client writes") {
  Maker maker;
  atalaya_sample &first = maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", "7"}, {"disk", "sda"}}, "h\xc3\xa9\nb");
  maker.field(first, "proc.cpu.user", 99.4);
  maker.count(first, "proc.threads", std::numeric_limits<int64_t>::min());
  atalaya_sample &second = maker.add(ATALAYA_METRICS, {});
  second.time_ns = -1;
  second.duration_ns = 250'000'000;
  maker.count(second, "a.b", std::numeric_limits<int64_t>::max());
  std::vector<RiemannEvent> events = written(maker, {.pid_host = true, .tags = {"prod", "x"}});
  for (RiemannEvent &event : events) event.time_micros.reset();  // the client has no such field
  std::vector<RiemannEvent> peer = read_events(fixture("riemann/events.bin"));
  REQUIRE(peer.size() == 3);
  CHECK(peer[0].service == "proc.cpu.user sda");
  peer[0].service = "proc.cpu.user";  // a service tag, which this test does not configure
  CHECK(events == peer);
}

TEST_CASE("riemann: answers that another implementation of the message encodes") {
  CHECK(read_answer(fixture("riemann/ok.bin"))->accepted);
  const auto refused = read_answer(fixture("riemann/error.bin"));
  REQUIRE(refused);
  CHECK_FALSE(refused->accepted);
  CHECK(refused->server_message == "Invalid Protobuf frame\\x0aof 3 bytes");
}

TEST_CASE("riemann: the second reader returns each random batch as it was written") {
  for (uint32_t seed = 0; seed < test::rounds(3000); ++seed) {
    Random random(seed);
    Maker maker;
    std::vector<RiemannEvent> expected;
    for (uint64_t i = random.between(1, 5); i > 0; --i)
      for (const RiemannEvent &event : add_random(random, maker)) expected.push_back(event);
    CAPTURE(seed);
    REQUIRE(written(maker, {.pid_host = true, .tags = {"prod"}}) == expected);
  }
}

TEST_CASE("riemann: a mutated answer is no answer, or has one line of words if it refuses") {
  Random random(3);
  for (uint32_t round = 0; round < test::rounds(20'000); ++round) {
    std::string body = fixture("riemann/error.bin");
    for (uint64_t i = random.between(1, 4); i > 0 && !body.empty(); --i) {
      const uint64_t at = random.below(body.size());
      if (random.one_of(3))
        body.erase(at, random.between(1, 5));
      else
        body[at] = static_cast<char>(random.below(256));
    }
    const auto answer = read_answer(body);
    CAPTURE(round);
    if (!answer) continue;
    REQUIRE(answer->accepted == answer->server_message.empty());
    REQUIRE(answer->server_message.find('\n') == std::string::npos);
    REQUIRE(answer->server_message.size() <= 4 * 500);
  }
}

}  // namespace atalaya::protocols::testing
