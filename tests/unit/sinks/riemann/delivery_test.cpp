// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/riemann/delivery.h"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "plugins/shared/io/http/client/connection.h"
#include "tests/unit/core/sample/sample_maker.h"

using namespace atalaya;
using namespace atalaya::protocols;
using namespace atalaya::riemann_sink;
using atalaya::core::testing::Maker;

namespace {

// A batch of events a.b = 0, 1, ... and a server that is a function of a message's content.
class Fixture {
 public:
  using Script = std::function<Answer(const std::vector<int64_t> &metrics)>;
  Fixture(size_t count, const DeliveryOptions &options, Script script)
      : events({}, maker_.name_of(), [this](std::string_view name) { return maker_.symbols.intern(name); }),
        delivery(options, [this, script = std::move(script)](std::string_view message) {
          messages.push_back(metrics_of(message));
          return script(messages.back());
        }) {
    for (size_t i = 0; i < count; ++i) maker_.count(maker_.add(ATALAYA_METRICS, {{"host", "vm"}}), "a.b", static_cast<int64_t>(i));
    events.load({maker_.batch.raw().samples, maker_.batch.count()});
    delivery.load(events);
  }
  // Until it is delivered; how often it was put off with these words.
  int finish(const std::string &server_message) {
    int times = 0;
    while (!delivery.deliver()) times += delivery.problem().find(server_message) != std::string::npos ? 1 : 0;
    return times;
  }
  std::set<size_t> dead() const {
    std::set<size_t> all;
    for (const Delivery::Dead &one : delivery.dead()) all.insert(one.event);
    return all;
  }

 private:
  static std::vector<int64_t> metrics_of(std::string_view message) {
    std::vector<uint8_t> bytes(message.begin() + 4, message.end());
    riemann_message_t *read = riemann_message_from_buffer(bytes.data(), bytes.size());
    REQUIRE(read != nullptr);
    std::vector<int64_t> metrics;
    for (size_t i = 0; i < read->n_events; ++i) metrics.push_back(read->events[i]->metric_sint64);
    riemann_message_free(read);
    return metrics;
  }
  Maker maker_;

 public:
  std::vector<std::vector<int64_t>> messages;
  protocols::Events events;
  Delivery delivery;
};

Answer accept_all(const std::vector<int64_t> &) {
  return {true, {}};
}

// Refuses messages that hold one of these.
Fixture::Script poison(std::set<int64_t> bad) {
  return [bad = std::move(bad)](const std::vector<int64_t> &metrics) {
    for (const int64_t metric : metrics)
      if (bad.contains(metric)) return Answer{false, "no " + std::to_string(metric)};
    return Answer{true, {}};
  };
}

}  // namespace

TEST_CASE("riemann: a batch becomes messages of a limited number of events") {
  Fixture fixture(7, {.batch_events = 3}, accept_all);
  CHECK(fixture.delivery.deliver());
  CHECK(fixture.messages == std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4, 5}, {6}});
}

TEST_CASE("riemann: a message has a maximum size, and at least one event") {
  Fixture all(6, {}, accept_all);
  const size_t bytes = all.events.bytes(0);
  Fixture fixture(6, {.batch_bytes = 2 * bytes}, accept_all);
  CHECK(fixture.delivery.deliver());
  CHECK(fixture.messages.size() == 3);
  Fixture tiny(2, {.batch_bytes = 1}, accept_all);
  CHECK(tiny.delivery.deliver());
  CHECK(tiny.messages.size() == 2);
}

TEST_CASE("riemann: nothing to send is delivered") {
  Fixture fixture(0, {}, accept_all);
  CHECK(fixture.delivery.deliver());
  CHECK(fixture.messages.empty());
}

TEST_CASE("riemann: without an answer it continues where it was") {
  int calls = 0;
  Fixture fixture(6, {.batch_events = 2}, [&](const std::vector<int64_t> &) -> Answer {
    if (++calls == 2) throw atalaya::http_client::NoAnswer("cut");
    return {true, {}};
  });
  CHECK_FALSE(fixture.delivery.deliver());
  CHECK(fixture.delivery.problem() == "cut");
  CHECK(fixture.delivery.deliver());
  CHECK(fixture.messages == std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}, {2, 3}, {4, 5}});
}

TEST_CASE("riemann: an error that passes loses nothing") {
  int calls = 0;
  Fixture fixture(4, {}, [&](const std::vector<int64_t> &) {
    return ++calls < 3 ? Answer{false, "overloaded"} : Answer{true, {}};
  });
  CHECK(fixture.finish("answered with an error: overloaded") == 2);
  CHECK(fixture.dead().empty());
  CHECK(fixture.messages.back().size() == 4);
}

TEST_CASE("riemann: refused events are found among any others, and the others delivered") {
  Fixture fixture(100, {.batch_events = 40}, poison({0, 17, 18, 63, 99}));
  CHECK(fixture.finish("no ") == 3 * 2 + 1);  // three messages are tried again, and at last the refused events
  CHECK(fixture.dead() == std::set<size_t>{0, 17, 18, 63, 99});
  CHECK(fixture.delivery.dead().front().server_message == "no 0");
}

TEST_CASE("riemann: a server that refuses everything is believed after a while") {
  Fixture fixture(9, {}, [](const std::vector<int64_t> &) { return Answer{false, "not today"}; });
  CHECK(fixture.finish("refuses 9 events: not today") == 10);
  CHECK(fixture.dead().size() == 9);
}

TEST_CASE("riemann: trouble of the server, in the midst of a batch too, loses nothing") {
  int calls = 0;
  bool trouble = false;
  Fixture fixture(200, {.batch_events = 20}, [&](const std::vector<int64_t> &) {
    trouble = trouble || ++calls == 5;  // until it has been given a rest at the end
    return trouble ? Answer{false, "internal error"} : Answer{true, {}};
  });
  int rests = 0;
  while (!fixture.delivery.deliver()) {
    ++rests;
    if (fixture.delivery.problem().find("refuses 120 events") != std::string::npos) trouble = false, calls = 1000;
    REQUIRE(rests < 100);
  }
  CHECK(fixture.dead().empty());
  CHECK(rests == 6 * 2 + 1);
}

TEST_CASE("riemann: a search ends") {
  std::set<int64_t> bad;
  for (int64_t i = 0; i < 2000; i += 2) bad.insert(i);
  Fixture fixture(2000, {.batch_events = 2000}, poison(bad));
  fixture.finish("");
  CHECK(fixture.messages.size() < 1000 + 2000);  // the halves, and each event alone
  CHECK(fixture.dead().size() == bad.size());
}
