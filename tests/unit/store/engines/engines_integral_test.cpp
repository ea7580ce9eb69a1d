// SPDX-License-Identifier: Apache-2.0
// Integrals of intervals, from every engine, as rows and packed: the oracle counts seconds in a table.
#include <array>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>

#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/engines/engines.h"

namespace atalaya::store::test {
namespace {

constexpr int kEnd = 600;  // seconds
constexpr int64_t kBegin = kNow - kNow % kHour;

struct Table {
  std::map<std::string, std::array<double, kEnd + 1>> by_process;  // [s]: per second, in (s - 1, s]

  std::set<int> collected;  // seconds with a window of any process

  int collected_in(int from, int to) const {
    return static_cast<int>(std::distance(collected.upper_bound(from), collected.upper_bound(to)));
  }
  double amount(const std::string &process, int from, int to) const {
    double sum = 0;
    for (int s = from + 1; s <= to; ++s) sum += by_process.at(process)[static_cast<size_t>(s)];
    return sum;
  }
};

// Windows of several lengths, some without a sample; `drift`: not at multiples of their length.
Table write_windows(Engine &engine, StoreWriter &writer, std::mt19937 &random) {
  const auto any = [&](int from, int to) { return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)); };
  Table table;
  for (int pid = 0; pid < 8; ++pid) {
    const std::string process = "p" + std::to_string(pid % 3);
    table.by_process.try_emplace(process);
    const int step = std::array{1, 5, 5, 10, 60}.at(static_cast<size_t>(any(0, 4))), drift = any(0, 1) * any(0, step);
    auto samples = engine.samples();
    for (int end = step * any(1, 3) + drift; end <= any(kEnd / 2, kEnd); end += step) {
      if (any(0, 9) == 0) continue;
      const double value = any(0, 1000) / 4.0;
      samples.metrics(kBegin + end * kSecond, {{"host", "ant"}, {"process", process}, {"pid", std::to_string(pid)}}, step * kSecond)
          .real("proc.cpu.user", value)
          .real("flow.sent.bytes", value * step);
      for (int s = end - step + 1; s <= end; ++s) {
        table.by_process[process][static_cast<size_t>(s)] += value;
        table.collected.insert(s);
      }
    }
    writer.write(samples.span(), kNow);
  }
  return table;
}

std::vector<query::Answer> ask(Store &store, const std::string &metric, const std::string &every, int from, int to,
                               query::Edge edge) {
  query::Query question;
  question.metrics = {metric};
  question.group_by = {"process"};
  question.range = {kBegin + from * kSecond - (edge == query::Edge::start ? 1 : 0), kBegin + to * kSecond};
  question.downsample = query::parse_downsample(every).value();
  question.edge = edge;
  query::Budget budget({});
  return query::run_query(question, store, budget);
}

void check(Store &store, const Table &table, int length, int from, int to) {
  for (const query::Edge edge : {query::Edge::end, query::Edge::start})
    for (const std::string metric : {"proc.cpu.user", "proc.cpu.user-avg", "flow.sent.bytes"}) {
      CAPTURE(metric);
      const size_t dash = std::min(metric.find('-'), metric.size());
      const bool amounts = metric == "flow.sent.bytes";
      for (const auto &answer :
           ask(store, metric.substr(0, dash), std::to_string(length) + "s" + metric.substr(dash), from, to, edge)) {
        const std::string &process = answer.tags.at("process");
        double sum = 0;
        for (const query::Point &point : answer.points) {
          const int at = static_cast<int>((point.time_ns - kBegin) / kSecond) - (edge == query::Edge::end ? length : 0);
          const int begin = std::max(from, at), end = std::min(to, at + length);
          const double wanted = table.amount(process, begin, end);
          const int collected = table.collected_in(begin, end);
          CHECK(point.value == doctest::Approx(amounts ? wanted : wanted / collected).epsilon(1e-6));
          sum += amounts ? point.value : point.value * collected;
        }
        CHECK(answer.coverage * (to - from) == doctest::Approx(table.collected_in(from, to)));
        CHECK(sum == doctest::Approx(table.amount(process, from, to)).epsilon(1e-6));
      }
    }
}

TEST_CASE_TEMPLATE("intervals have the amounts of their windows, wherever these begin and end", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  for (unsigned seed = 1; seed <= 2; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Tested engine;
    const auto writer = engine.writer();
    const Table table = write_windows(engine, *writer, random);
    const auto check_all = [&] {
      const auto reader = engine.open();
      for (const int length : {7, 60})
        for (const auto &[from, to] : {std::pair(0, kEnd), {13, kEnd / 2 - 20}}) check(*reader, table, length, from, to);
    };
    check_all();
    for (int64_t later = 1; later < 100; ++later)  // embedded stores pack old rows
      while (writer->maintain(kNow + later * kHour)) {
      }
    check_all();
  }
}

TEST_CASE_TEMPLATE("a series with instants has the same integral in every engine", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  const auto writer = engine.writer();
  const auto write = [&](const char *pid, int second, int64_t duration_ns, double value) {
    auto samples = engine.samples();
    samples.metrics(kBegin + second * kSecond, {{"process", "p"}, {"pid", pid}}, duration_ns).real("proc.cpu.user", value);
    writer->write(samples.span(), kNow);
  };
  for (int second = 10; second <= 60; second += 10) write("instants", second, 0, 3);
  for (int second = 10; second <= 60; second += 10) write("windows", second, 10 * kSecond, 4);
  const auto answers = ask(*engine.open(), "proc.cpu.user", "20s", 0, 60, query::Edge::end);
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0].points.size() == 3);
  for (const query::Point &point : answers[0].points) CHECK(point.value == doctest::Approx(7));
}

}  // namespace
}  // namespace atalaya::store::test
