// SPDX-License-Identifier: Apache-2.0
// BDWatchdog's own points.
#include "plugins/shared/protocols/opentsdb/bdwatchdog.h"

#include <doctest/doctest.h>

#include "plugins/shared/protocols/opentsdb/json_reader.h"
#include "tests/unit/protocols/records.h"

namespace atalaya::protocols::testing {
namespace {

struct Result {
  Records records;
  Account account;
};
Result put(const std::string &body) {
  std::string padded = body;
  padded.reserve(body.size() + DocumentReader::kPadding);
  Result result;
  result.account = JsonReader().read_put(padded, {.strict = true, .details = true}, result.records);
  return result;
}
std::string point(const std::string &metric, const std::string &tags) {
  return R"({"metric":")" + metric + R"(","timestamp":"1795219532","value":"99.40","tags":{"host":"vm",)" + tags + "}}";
}

}  // namespace

TEST_CASE("bdwatchdog: a process is `process`, without parentheses, and has its unit") {
  const Result result = put("[" + point("proc.cpu.user", R"-("pid":"8860","command":"(java)")-") + "," +
                            point("proc.mem.resident", R"("pid":"7","command":"python")") + "]");
  CHECK(result.account.failed == 0);
  CHECK(result.records.lines == Lines{"proc.cpu.user{host=vm,pid=8860,process=java} 99.4 @1795219532000000000",
                                      "proc.mem.resident{host=vm,pid=7,process=python} 99.4 @1795219532000000000"});
  CHECK(result.records.units.at("proc.cpu.user") == "%");
  CHECK(result.records.kinds.at("proc.cpu.user") == ATALAYA_RATE);
  CHECK(result.records.units.at("proc.mem.resident") == "MiBy");
}

TEST_CASE("bdwatchdog: the device of a network is `interface`, that of a disk stays") {
  const Result result =
      put("[" + point("sys.net.in.mb", R"("device":"eth0")") + "," + point("sys.disk.usage", R"("disk":"sda")") + "]");
  CHECK(result.records.lines == Lines{"sys.net.in.mb{host=vm,interface=eth0} 99.4 @1795219532000000000",
                                      "sys.disk.usage{host=vm,disk=sda} 99.4 @1795219532000000000"});
  CHECK(result.records.units.at("sys.net.in.mb") == "Mibit/s");
}

TEST_CASE("bdwatchdog: counts of packets and watts have another unit than Atalaya's metric, and are not declared") {
  for (const char *name : {"proc.net.tcp.in.packets", "sys.disk.read.ios", "sys.cpu.energy", "m"}) CHECK(!bdwatchdog_metric(name));
  CHECK(put(point("proc.net.tcp.in.packets", R"("command":"x")")).records.kinds.empty());
}

TEST_CASE("bdwatchdog: other points keep their tags") {
  CHECK(put(point("proc.cpu.user", R"("process":"a","command":"b")"))
            .records.lines.at(0)
            .starts_with("proc.cpu.user{host=vm,process=a,command=b}"));
  CHECK(put(point("m", R"("command":"b")")).records.lines.at(0).starts_with("m{host=vm,command=b}"));
  const Result result = put(point("m", R"-("command":"(b)")-"));
  CHECK(result.account.failed == 1);
  CHECK(result.account.errors.find("illegal character: (") != std::string::npos);
}

}  // namespace atalaya::protocols::testing
