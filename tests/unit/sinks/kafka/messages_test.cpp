// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/kafka/messages.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/core/sample/sample_maker.h"

using namespace atalaya;
using namespace atalaya::kafka_sink;
using atalaya::core::testing::Maker;
using atalaya::protocols::Format;

namespace {

struct Fixture {
  Maker maker;
  void process(std::string_view pid, bool reversed = false) {
    Maker::Tags tags = {{"host", "vm"}, {"pid", pid}, {"process", "java"}};
    if (reversed) std::reverse(tags.begin(), tags.end());
    atalaya_sample &sample = maker.add(ATALAYA_METRICS, tags);
    maker.field(sample, "proc.cpu.user", 99.4);
    maker.count(sample, "proc.threads", 31);
  }
  Messages load(const MessageConfig &config) {
    Messages messages(config, maker.name_of(), maker.symbols.intern("host"));
    messages.load({maker.batch.raw().samples, maker.batch.count()});
    return messages;
  }
};

}  // namespace

TEST_CASE("kafka: a message holds the lines of a sample") {
  Fixture fixture;
  fixture.process("1");
  fixture.process("2");
  const Messages messages = fixture.load({});
  REQUIRE(messages.size() == 2);
  CHECK(messages.value(0) ==
        "{\"metric\":\"proc.cpu.user\",\"timestamp\":1795219532123,\"value\":99.4,"
        "\"tags\":{\"host\":\"vm\",\"pid\":\"1\",\"process\":\"java\"}}\n"
        "{\"metric\":\"proc.threads\",\"timestamp\":1795219532123,\"value\":31,"
        "\"tags\":{\"host\":\"vm\",\"pid\":\"1\",\"process\":\"java\"}}");
  CHECK(messages.time_ms(0) == 1795219532123);
  CHECK(messages.sample(1) == 1);
}

TEST_CASE("kafka: a message is a point on request") {
  Fixture fixture;
  fixture.process("1");
  const Messages messages = fixture.load({.per_point = true});
  REQUIRE(messages.size() == 2);
  CHECK(messages.value(1).substr(0, 25) == "{\"metric\":\"proc.threads\",");
  CHECK(messages.value(1).back() == '}');
  CHECK(messages.key(0) == messages.key(1));
  CHECK(messages.sample(1) == 0);
}

TEST_CASE("kafka: opentsdb is an array, or an object a message") {
  Fixture fixture;
  fixture.process("1");
  const Messages whole = fixture.load({.format = protocols::Format::opentsdb});
  REQUIRE(whole.size() == 1);
  CHECK(whole.value(0).substr(0, 11) == "[{\"metric\":");
  CHECK(whole.value(0).substr(whole.value(0).size() - 3) == "}}]");
  CHECK(whole.value(0).find("}},{") != std::string_view::npos);
  const Messages points = fixture.load({.format = protocols::Format::opentsdb, .per_point = true});
  REQUIRE(points.size() == 2);
  CHECK(points.value(0).substr(0, 10) == "{\"metric\":");
}

TEST_CASE("kafka: the key is the host and a hash of the tags that never changes") {
  Fixture fixture;
  fixture.process("1");
  fixture.process("1", true);
  fixture.process("2");
  const Messages messages = fixture.load({});
  CHECK(messages.key(0) == "vm/61a3fcad58ad8d63");
  CHECK(messages.key(0) == messages.key(1));
  CHECK(messages.key(0) != messages.key(2));

  Fixture other;  // names that were met in another order
  other.maker.symbols.intern("process");
  other.maker.symbols.intern("pid");
  other.process("1");
  CHECK(other.load({}).key(0) == messages.key(0));
  CHECK(fixture.load({.key = KeyBy::host}).key(2) == "vm");
  CHECK(fixture.load({.key = KeyBy::none}).key(2).empty());
}

TEST_CASE("kafka: a sample without a form leaves nothing behind") {
  Fixture fixture;
  fixture.maker.field(fixture.maker.add(ATALAYA_METRICS, {{"host", "vm"}}), "a.b", std::nan(""));
  fixture.process("1");
  const Messages messages = fixture.load({.format = protocols::Format::opentsdb});
  REQUIRE(messages.size() == 1);
  CHECK(messages.sample(0) == 1);
  CHECK(messages.value(0).front() == '[');
  REQUIRE(messages.not_encodable().size() == 1);
  CHECK(messages.not_encodable()[0].first == 0);
}
