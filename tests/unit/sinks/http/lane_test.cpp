// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/http/lane.h"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/io/http_client/server.h"

using namespace atalaya;
using namespace atalaya::http_client;
using namespace atalaya::http_sink;
using atalaya::core::testing::Maker;
using atalaya::http_client::testing::answer;
using atalaya::http_client::testing::Asked;
using atalaya::http_client::testing::Server;

namespace {

// A lane with a batch of points that differ by their tag pid: 0, 1, ...
struct Delivery {
  Delivery(std::string_view format, Server &server, size_t points, size_t batch_records = 5000)
      : options(make_options(format, batch_records)),
        targets({parse_url("http://127.0.0.1:" + std::to_string(server.port), std::string(options.form.default_path))}, {},
                1'000'000),
        lane(options, maker.name_of(), metric_of(), targets, Connection(connection, deadlines)) {
    connection.timeout = connection.deadline = std::chrono::seconds(60);
    for (size_t pid = 0; pid < points; ++pid)
      maker.field(maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", std::to_string(pid)}}), "proc.cpu.user", 1);
    load();
  }
  void load() {
    std::vector<size_t> all(maker.batch.count());
    std::iota(all.begin(), all.end(), size_t{0});
    lane.load({maker.batch.raw().samples, maker.batch.count()}, all, 0);
  }
  protocols::MetricOf metric_of() {
    return [this](uint32_t id) -> std::optional<MetricInfo> {
      const atalaya_metric_info *found = maker.symbols.metric(id);
      if (found == nullptr) return std::nullopt;
      return MetricInfo{found->kind, found->decimals, view(found->unit), view(found->summary), view(found->source)};
    };
  }
  static LaneOptions make_options(std::string_view format, size_t batch_records) {
    LaneOptions options;
    options.form = form_of(format);
    options.compress = "none";
    options.batch_records = batch_records;
    return options;
  }

  // Until it is delivered; how often it was put off with these words.
  int finish(const std::string &server_message) {
    int times = 0;
    while (!lane.deliver({maker.batch.raw().samples, maker.batch.count()}, {}))
      times += lane.problem().find(server_message) != std::string::npos ? 1 : 0;
    return times;
  }
  std::set<size_t> dead() const {
    std::set<size_t> samples;
    for (const DeadRecord &record : lane.dead()) samples.insert(record.sample);
    return samples;
  }

  Maker maker;
  LaneOptions options;
  Targets targets;
  ConnectionOptions connection;
  Deadlines deadlines;
  Lane lane;
};

// The points of a body that have one of these pids.
std::vector<std::string> points_of(const std::string &body, const std::set<size_t> &pids) {
  std::vector<std::string> points;
  for (size_t begin = body.find('{'); begin != std::string::npos; begin = body.find("{\"metric", begin + 1)) {
    const std::string point = body.substr(begin, body.find("}}", begin) + 2 - begin);
    if (pids.contains(std::stoul(point.substr(point.find("\"pid\":\"") + 7)))) points.push_back(point);
  }
  return points;
}

// As OpenTSDB answers when these points could not be stored: requests with details get the error of each point.
std::string opentsdb(const Asked &asked, const std::set<size_t> &pids, const std::string &error) {
  const std::vector<std::string> points = points_of(asked.body, pids);
  if (points.empty()) return answer("204 No Content");
  if (!asked.has("?details")) return answer("400 Bad Request", R"({"error":{"message":"One or more data points had errors"}})");
  std::string text;
  for (const std::string &point : points)
    text.append(text.empty() ? "" : ",")
        .append(R"({"datapoint":)")
        .append(point)
        .append(R"(,"error":")")
        .append(error)
        .append("\"}");
  return answer("400 Bad Request", R"({"failed":)" + std::to_string(points.size()) + R"(,"errors":[)" + text + "]}");
}

// One that refuses a point with these words this number of times.
struct Throttle {
  std::set<size_t> pids;
  int times;
  std::string operator()(const Asked &asked) {
    if (times == 0) return answer("204 No Content");
    if (asked.has("?details")) --times;
    return opentsdb(asked, pids, "Please throttle");
  }
};

}  // namespace

TEST_CASE("http: a single point that OpenTSDB could not store for the moment is sent until it could") {
  Server server(Throttle{{3}, 3});
  Delivery delivery("opentsdb", server, 10);
  CHECK(delivery.finish("could not store a point: Please throttle") == 3);
  CHECK(delivery.dead().empty());
}

TEST_CASE("http: neighbours that OpenTSDB could not store for the moment are sent again together") {
  Server server(Throttle{{3, 4, 5, 6}, 3});
  Delivery delivery("opentsdb", server, 10);
  CHECK(delivery.finish("could not store a point: Please throttle") == 3);
  CHECK(delivery.dead().empty());
  const auto asked = server.asked();
  CHECK(asked.size() == 7);  // three times without and with details, then once
  CHECK(points_of(asked.back().body, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).size() == 4);
}

TEST_CASE("http: an OpenTSDB that names every point as refused is believed after ten tries") {
  Server server([](const Asked &asked) { return opentsdb(asked, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "Unknown metric"); });
  Delivery delivery("opentsdb", server, 10);
  CHECK(delivery.finish("refuses every point: Unknown metric") == 10);
  CHECK(delivery.dead().size() == 10);
}

TEST_CASE("http: an OpenTSDB that names some points as refused is believed at once") {
  Server server([](const Asked &asked) { return opentsdb(asked, {0, 1, 2, 3, 4, 5, 6, 7}, "Unknown metric"); });
  Delivery delivery("opentsdb", server, 10);
  CHECK(delivery.finish("refuses every point") == 0);
  CHECK(delivery.dead() == std::set<size_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("http: a request full of poison does not cost the good points of the next one") {
  std::set<size_t> poison{700, 1500};
  for (size_t pid = 0; pid < 600; pid += 2) poison.insert(pid);
  Server server([&](const Asked &asked) {
    return points_of(asked.body, poison).empty() ? answer("204 No Content") : answer("400 Bad Request", "no");
  });
  Delivery delivery("jsonlines", server, 1800, 600);
  CHECK(delivery.finish("refuses every point") == 0);
  const std::set<size_t> dead = delivery.dead();
  CHECK(dead.size() < 600);
  CHECK(std::vector<size_t>(dead.lower_bound(600), dead.end()) == std::vector<size_t>{700, 1500});
}

namespace {

// The flat record of a request.
struct Flat {
  size_t metrics = 0;
  std::set<size_t> pids;
};
Flat flat_of(const Asked &asked) {
  auto record = atalaya::core::FlatRecord::read(asked.body);
  REQUIRE(record.ok());
  REQUIRE(record->size() == asked.body.size());
  Flat flat{record->metrics().size(), {}};
  record->for_each_sample([&](const auto &sample) {
    CHECK(sample.duration_ns == 5'000'000'000);
    flat.pids.insert(std::stoul(std::string(sample.tags[1].value)));
  });
  return flat;
}

}  // namespace

TEST_CASE("http: flat records are whole samples, and a server gets each declaration once, or again after a failure") {
  std::vector<size_t> metrics;
  std::set<size_t> pids;
  bool fails = false;
  Server server([&](const Asked &asked) {
    CHECK(asked.has("/api/flat"));
    const Flat flat = flat_of(asked);
    metrics.push_back(flat.metrics);
    if (fails) return fails = false, answer("503 Service Unavailable");
    pids.insert(flat.pids.begin(), flat.pids.end());
    return answer("204 No Content");
  });
  Delivery delivery("flat", server, 0, 10);
  delivery.maker.symbols.declare("proc.cpu.user", {sizeof(atalaya_metric_info), ATALAYA_RATE, 2, 0, {"%", 1}, {"Use.", 4}, {}},
                                 "test");
  for (size_t pid = 0; pid < 25; ++pid)
    delivery.maker.field(delivery.maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", std::to_string(pid)}}), "proc.cpu.user", 1);
  delivery.load();
  delivery.finish("");
  CHECK(metrics == std::vector<size_t>{1, 0, 0});
  CHECK(pids.size() == 25);
  fails = true;
  delivery.load();
  CHECK(delivery.finish("answered 503") == 1);
  CHECK(metrics == std::vector<size_t>{1, 0, 0, 0, 1, 0, 0});
}

TEST_CASE("http: samples of a flat record that are refused are found and written as lines") {
  Server server([](const Asked &asked) {
    return flat_of(asked).pids.contains(7) ? answer("400 Bad Request", "no") : answer("204 No Content");
  });
  Delivery delivery("flat", server, 20);
  delivery.finish("");
  CHECK(delivery.dead() == std::set<size_t>{7});
  CHECK(delivery.lane.dead()[0].record.find(R"("pid":"7")") != std::string_view::npos);
}
