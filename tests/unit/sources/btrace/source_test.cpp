// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/btrace/btrace_source.h"

#include "tests/unit/protocols/btrace/line_bench.h"

namespace atalaya::testing {

// Phase lines, snapshots and the account emit exactly the metrics of the table.
TEST_CASE("btrace: the metric table has each fixed name that lines emit") {
  std::vector<std::string> declared;
  declared.reserve(std::size(btrace::kMetrics));
  for (const Metric &metric : btrace::kMetrics) declared.emplace_back(view(metric.name));
  const auto known = [&](std::string_view name) { return std::find(declared.begin(), declared.end(), name) != declared.end(); };
  LineBench bench({.report_open = true, .max_open = 1});
  std::vector<std::string> seen;
  const auto see = [&](const btrace::Record &record) {
    for (const auto &[name, number] : record.fields) seen.emplace_back(name);
  };
  const std::string self = "SelfTime.Total SelfTime.Avg SelfTime.Min SelfTime.Max";
  const std::string snapshot = "Block Invocations " + self + " WallTime.Total WallTime.Avg WallTime.Min WallTime.Max";
  for (const char *line :
       {"atalaya span task task=t start=1700000000 end=1700000001 bytes=1 remote=1 records=1 outcome=0 spills=1 gc=1",
        "atalaya begin task task=a time=1700000000", "atalaya end task task=a time=1600000000", snapshot.c_str(),
        "x 1 2 3 4 5 6 7 8 9"})
    bench.reader->take({1, 1}, line, false, kNow, see);
  CHECK(seen.size() == 16);
  for (const std::string &name : seen) CHECK_MESSAGE(known(name), name);
}

}  // namespace atalaya::testing
