// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/http/lane.h"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "tests/unit/http_client/server.h"
#include "tests/unit/sample/sample_maker.h"

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
        lane(options, maker.name_of(), targets, Connection(connection, deadlines)) {
    connection.timeout = connection.deadline = std::chrono::seconds(60);
    for (size_t pid = 0; pid < points; ++pid)
      maker.field(maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", std::to_string(pid)}}), "proc.cpu.user", 1);
    std::vector<size_t> all(points);
    std::iota(all.begin(), all.end(), size_t{0});
    lane.load({maker.batch.raw().samples, maker.batch.count()}, all, 0);
  }
  static LaneOptions make_options(std::string_view format, size_t batch_records) {
    LaneOptions options;
    options.form = form_of(format);
    options.compress = "none";
    options.batch_records = batch_records;
    return options;
  }

  // Until it is delivered; how often it was put off with these words.
  int finish(const std::string &words) {
    int times = 0;
    while (!lane.deliver({})) times += lane.problem().find(words) != std::string::npos ? 1 : 0;
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
