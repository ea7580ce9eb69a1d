// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/riemann/events.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "tests/unit/core/sample/sample_maker.h"

using namespace atalaya;
using namespace atalaya::protocols;
using namespace atalaya::protocols;
using atalaya::core::testing::Maker;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

const std::string kTrace = "java.lang.System identityHashCode (System.java:-2)\napp.Main run (Main.java:12)";

struct Fixture {
  Maker maker;
  std::unique_ptr<protocols::Events> events;

  const protocols::Events &load(const EventConfig &config = {}) {
    events =
        std::make_unique<Events>(config, maker.name_of(), [this](std::string_view name) { return maker.symbols.intern(name); });
    events->load({maker.batch.raw().samples, maker.batch.count()});
    return *events;
  }
  atalaya_sample &process() { return maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", "7"}, {"process", "java"}}); }
  void function() {
    atalaya_sample &sample =
        maker.add(ATALAYA_METRICS,
                  {{"host", "vm"}, {"pid", "7"}, {"process", "java"}, {"function", "java.lang.System identityHashCode"}}, kTrace);
    maker.field(sample, "jvm.function.self", 0.25);
  }
};

std::map<std::string, std::string> attributes_of(const riemann_event_t &event) {
  std::map<std::string, std::string> all;
  for (size_t i = 0; i < event.n_attributes; ++i) all[event.attributes[i]->key] = event.attributes[i]->value;
  return all;
}
std::vector<std::string> tags_of(const riemann_event_t &event) {
  return {event.tags, event.tags + event.n_tags};
}
using Attributes = std::map<std::string, std::string>;
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("riemann: every field is an event") {
  Fixture fixture;
  atalaya_sample &sample = fixture.process();
  fixture.maker.field(sample, "proc.cpu.user", 99.4);
  fixture.maker.count(sample, "proc.threads", 31);
  const protocols::Events &events = fixture.load({.tags = {"prod"}});
  REQUIRE(events.size() == 2);
  const riemann_event_t &cpu = events.event(0), &threads = events.event(1);
  CHECK(cpu.service == "proc.cpu.user"s);
  CHECK(cpu.host == "vm"s);
  CHECK(cpu.time == 1795219532);
  CHECK(cpu.time_micros == 1795219532123456);
  CHECK(cpu.ttl == 10);
  CHECK(cpu.has_metric_d);
  CHECK(cpu.metric_d == 99.4);
  CHECK_FALSE(cpu.has_metric_sint64);
  CHECK_FALSE(cpu.has_metric_f);
  CHECK(cpu.state == nullptr);
  CHECK(cpu.description == nullptr);
  CHECK(attributes_of(cpu) == Attributes{{"pid", "7"}, {"process", "java"}});
  CHECK(tags_of(cpu) == Texts{"prod"});
  CHECK(threads.metric_sint64 == 31);
  CHECK_FALSE(threads.has_metric_d);
  CHECK(events.sample(1) == 0);
}

TEST_CASE("riemann: a function of a profile") {
  Fixture fixture;
  fixture.function();
  const riemann_event_t &event = fixture.load({.prefix = "shop", .pid_host = true, .tags = {"prod"}}).event(0);
  CHECK(event.service == "shop profiler fn java.lang.System identityHashCode"s);
  CHECK(event.host == "7@vm"s);
  CHECK(event.description == kTrace);
  CHECK(event.state == "ok"s);
  CHECK(event.metric_d == 0.25);
  CHECK(event.ttl == 10);
  CHECK(tags_of(event) == Texts{"prod", "jvm", "profile"});
  CHECK(attributes_of(event) == Attributes{{"pid", "7"},
                                           {"process", "java"},
                                           {"function", "java.lang.System identityHashCode"},
                                           {"file", "System.java"},
                                           {"line", "-2"}});
}

TEST_CASE("riemann: the rate of a profiler, and the other content of its sample") {
  Fixture fixture;
  atalaya_sample &sample = fixture.process();
  fixture.maker.field(sample, "jvm.profile.rate", 42);
  fixture.maker.field(sample, "jvm.profile.cost", 1.5);
  const protocols::Events &events = fixture.load();
  CHECK(events.event(0).service == "profiler rate"s);
  CHECK(tags_of(events.event(0)) == Texts{"jvm", "profile"});
  CHECK(events.event(1).service == "jvm.profile.cost"s);
  CHECK(tags_of(events.event(1)).empty());
}

TEST_CASE("riemann: a trace without a place, or with a strange one, has no file and line") {
  for (const char *trace : {"a b (Unknown Source)", "a b", "(", " (:)", ""}) {
    Fixture fixture;
    atalaya_sample &sample = fixture.maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"function", "a b"}}, trace);
    fixture.maker.field(sample, "jvm.function.self", 1);
    INFO(trace);
    CHECK(attributes_of(fixture.load().event(0)) == Attributes{{"function", "a b"}});
  }
}

TEST_CASE("riemann: without a tag function it is a metric as others are") {
  Fixture fixture;
  fixture.maker.field(fixture.process(), "jvm.function.self", 1);
  CHECK(fixture.load().event(0).service == "jvm.function.self"s);
}

TEST_CASE("riemann: tags can follow the metric in the service") {
  Fixture fixture;
  atalaya_sample &disk = fixture.maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"disk", "sda"}});
  fixture.maker.field(disk, "sys.disk.reads.mb", 1);
  fixture.maker.field(fixture.process(), "proc.cpu.user", 1);
  const protocols::Events &events = fixture.load({.service_tags = {"core", "disk"}});
  CHECK(events.event(0).service == "sys.disk.reads.mb sda"s);
  CHECK(attributes_of(events.event(0)) == Attributes{{"disk", "sda"}});
  CHECK(events.event(1).service == "proc.cpu.user"s);
}

TEST_CASE("riemann: values that no event can hold") {
  Fixture fixture;
  fixture.maker.count(fixture.maker.add(ATALAYA_STACK, {{"host", "vm"}}, "a;b"), "profile.samples", 1);
  fixture.maker.add(ATALAYA_SPAN, {{"host", "vm"}}, "job");
  atalaya_sample &sample = fixture.process();
  fixture.maker.field(sample, "a.b", std::nan(""));
  fixture.maker.field(sample, "a.c", std::numeric_limits<double>::infinity());
  atalaya_sample &half = fixture.process();
  fixture.maker.field(half, "a.b", std::nan(""));
  fixture.maker.field(half, "a.c", 1);
  const protocols::Events &events = fixture.load();
  using Without = std::vector<std::pair<size_t, std::string_view>>;
  CHECK(events.not_encodable() ==
        Without{{0, "riemann has no form for stacks"}, {1, "riemann has no form for spans"}, {2, "no finite value"}});
  REQUIRE(events.size() == 1);
  CHECK(events.sample(0) == 3);
}

TEST_CASE("riemann: an instant has only the configured time to live") {
  Fixture fixture;
  atalaya_sample &sample = fixture.process();
  sample.duration_ns = 0;
  sample.time_ns = -1;
  fixture.maker.field(sample, "a.b", 1);
  CHECK_FALSE(fixture.load().event(0).has_ttl);
  CHECK(fixture.load().event(0).time == -1);
  CHECK(fixture.load().event(0).time_micros == -1);
  CHECK(fixture.load({.ttl_ns = 90'000'000'000}).event(0).ttl == 90);
}

TEST_CASE("riemann: tags that are called like members of an event, have no value, or are no UTF-8") {
  Fixture fixture;
  atalaya_sample &sample =
      fixture.maker.add(ATALAYA_METRICS, {{"state", "S"}, {"user", ""}, {"process", "a\xff\0b"sv}, {"time", "1"}});
  fixture.maker.field(sample, "a.b", 1);
  const riemann_event_t &event = fixture.load({.pid_host = true}).event(0);
  CHECK(event.host == nullptr);
  CHECK(attributes_of(event) == Attributes{{"tag.state", "S"},
                                           {"tag.time", "1"},
                                           {"process",
                                            "a\xef\xbf\xbd\xef\xbf\xbd"
                                            "b"}});
}

TEST_CASE("riemann: the library reads a message, with its length before it") {
  Fixture fixture;
  for (int i = 0; i < 5; ++i) fixture.function();
  fixture.load();
  const std::string message(fixture.events->message(1, 4));
  const size_t length = message.size() - 4;
  CHECK(message.substr(0, 4) == std::string{0, 0, static_cast<char>(length >> 8), static_cast<char>(length)});
  CHECK(length == fixture.events->bytes(1) + fixture.events->bytes(2) + fixture.events->bytes(3));
  std::string body = message.substr(4);
  riemann_message_t *read = riemann_message_from_buffer(reinterpret_cast<uint8_t *>(body.data()), body.size());
  REQUIRE(read != nullptr);
  CHECK(read->n_events == 3);
  CHECK(read->events[2]->description == kTrace);
  riemann_message_free(read);
}

TEST_CASE("riemann: an event for people") {
  Fixture fixture;
  fixture.function();
  fixture.maker.count(fixture.process(), "proc.threads", 3);
  fixture.load();
  CHECK(fixture.events->json(0) ==
        R"({"time_micros":1795219532123456,"host":"vm","service":"profiler fn java.lang.System identityHashCode","state":"ok",)"
        R"x("description":"java.lang.System identityHashCode (System.java:-2)\napp.Main run (Main.java:12)","pid":"7",)x"
        R"("process":"java","function":"java.lang.System identityHashCode","file":"System.java","line":"-2","metric":0.25})");
  CHECK(fixture.events->json(1) ==
        R"({"time_micros":1795219532123456,"host":"vm","service":"proc.threads","pid":"7","process":"java","metric":3})");
}
