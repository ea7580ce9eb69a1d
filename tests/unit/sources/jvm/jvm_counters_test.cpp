// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/jvm_counters.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/protocols/hsperfdata/hsperfdata_maker.h"

namespace atalaya::jvm {
namespace {

using testing::shared_entry;
using testing::shared_file_of;
using testing::shared_number;

}  // namespace

TEST_CASE("the counters of a JVM; counters that it does not share are absent") {
  const std::string bytes =
      shared_file_of({shared_number("sun.gc.generation.0.space.0.used", 334848),
                      shared_entry({"sun.gc.lastCause", "Allocation Failure"}), shared_number("sun.gc.collector.0.invocations", 0),
                      shared_number("java.threads.live", -1), shared_number("sun.unknown", 5)});
  const auto shared = parse_counters(bytes);
  REQUIRE(shared);
  CHECK((*shared)[Counter::eden_used] == 334848);
  CHECK((*shared)[Counter::young_count] == 0);
  CHECK((*shared)[Counter::young_ticks] == std::nullopt);
  CHECK((*shared)[Counter::threads_live] == std::nullopt);
  CHECK(shared->last_cause == "Allocation Failure");
}

TEST_CASE("fields that BTrace scripts export, the class with slashes or dots; texts are left out") {
  const auto shared = parse_counters(shared_file_of(
      {shared_number("btrace.org/shop/Cart$Trace.requests", 12), shared_number("btrace.org.shop.Cart$Trace.requests", 13),
       shared_number("btrace.Cart.balance", -5), shared_entry({"btrace.Cart.name", "text"}), shared_number("btrace.", 1),
       shared_number("btraced.Cart.other", 1)}));
  REQUIRE(shared);
  CHECK(shared->exports == std::vector<Export>{{"btrace.org.shop.Cart_Trace.requests", 12}, {"btrace.Cart.balance", -5}});
  CHECK_FALSE(shared->has_more_exports);
}

TEST_CASE("more exports than there may be, and names that are too long") {
  std::vector<std::string> entries;
  for (size_t i = 0; i < kMaxExports; ++i) entries.push_back(shared_number("btrace.T.f" + std::to_string(i), 1));
  auto shared = parse_counters(shared_file_of(entries));
  REQUIRE(shared);
  CHECK(shared->exports.size() == kMaxExports);
  CHECK_FALSE(shared->has_more_exports);

  entries.push_back(shared_number("btrace.T.more", 1));
  entries.push_back(shared_number("java.threads.live", 7));
  shared = parse_counters(shared_file_of(entries));
  REQUIRE(shared);
  CHECK(shared->exports.size() == kMaxExports);
  CHECK(shared->exports.back().name == "btrace.T.f63");
  CHECK(shared->has_more_exports);
  CHECK((*shared)[Counter::threads_live] == 7);

  const std::string longest = "btrace." + std::string(kMaxExportName - 7, 'x');
  shared = parse_counters(shared_file_of({shared_number(longest + 'x', 1), shared_number(longest, 2)}));
  REQUIRE(shared);
  CHECK(shared->exports == std::vector<Export>{{longest, 2}});
  CHECK(shared->has_more_exports);
}

TEST_CASE("a JVM that has not come up yet") {
  CHECK_FALSE(is_up(*parse_counters(shared_file_of({shared_number("java.threads.live", 0)}))));
  CHECK_FALSE(is_up(*parse_counters(shared_file_of({shared_number("sun.rt.createVmEndTime", 0)}))));
  CHECK(is_up(*parse_counters(shared_file_of({shared_number("sun.rt.createVmEndTime", 1795334045547)}))));
}

TEST_CASE("bytes that are none of a JVM's, and a file that breaks off at each byte") {
  CHECK_FALSE(parse_counters(""));
  CHECK_FALSE(parse_counters(std::string(100, 'x')));
  const std::string bytes = shared_file_of({shared_number("java.threads.live", 7), shared_number("java.threads.daemon", 3)});
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto shared = parse_counters(std::string_view(bytes).substr(0, size));
    if (shared && (*shared)[Counter::threads_live]) CHECK((*shared)[Counter::threads_live] == 7);
  }
}

TEST_CASE("a number where a text should be is none, and the other way round") {
  const auto shared =
      parse_counters(shared_file_of({shared_entry({"java.threads.live", "12345678"}), shared_number("sun.gc.lastCause", 1)}));
  REQUIRE(shared);
  CHECK((*shared)[Counter::threads_live] == std::nullopt);
  CHECK(shared->last_cause.empty());
}

TEST_CASE("identity of a JVM, without possible secrets") {
  const auto identity = parse_identity(shared_file_of(
      {shared_entry({"java.property.java.version", "17.0.15"}), shared_entry({"java.property.java.vm.name", "OpenJDK"}),
       shared_entry({"sun.rt.javaCommand", "org.shop.Main --password secret"}),
       shared_entry(
           {"java.rt.vmArgs", "-Xmx1g -Dpassword=secret -javaagent:x=secret -Xrunjdwp:secret -XX:OnError=secret -XX:+UseG1GC"}),
       shared_entry({"sun.gc.collector.0.name", "G1 young collection pauses"}),
       shared_number("sun.rt.createVmBeginTime", 1795334045421)}));
  CHECK(identity.version == "17.0.15");
  CHECK(identity.vm == "OpenJDK");
  CHECK(identity.main == "org.shop.Main");
  CHECK(identity.flags == "-Xmx1g -XX:+UseG1GC");
  CHECK(identity.collector == "G1");
  CHECK(identity.start_ns == 1795334045421000000);
}

TEST_CASE("collectors by the names in each version") {
  const auto collector = [](const std::string &name, const std::string &policy, int number = 0) {
    return parse_identity(shared_file_of({shared_entry({"sun.gc.policy.name", policy}),
                                          shared_entry({"sun.gc.collector." + std::to_string(number) + ".name", name})}))
        .collector;
  };
  CHECK(collector("Serial young collection pauses", "Copy:MSC") == "Serial");
  CHECK(collector("Copy", "Copy:MSC") == "Serial");
  CHECK(collector("PSScavenge", "ParScav:MSC") == "Parallel");
  CHECK(collector("Parallel young collection pauses", "ParScav:MSC") == "Parallel");
  CHECK(collector("G1 incremental collections", "GarbageFirst") == "G1");
  CHECK(collector("Z concurrent cycle pauses", "", 2) == "ZGC");
  CHECK(collector("ZGC minor collection pauses", "") == "ZGC");
  CHECK(collector("Shenandoah partial", "") == "Shenandoah");
  CHECK(collector("New kind", "Policy") == "Policy");
  CHECK(parse_identity(shared_file_of({shared_entry({"sun.gc.generation.1.name", "Heap"})})).collector == "Epsilon");
}

TEST_CASE("Shenandoah's counters have no pauses of their own") {
  const auto shared = parse_counters(shared_file_of(
      {shared_entry({"sun.gc.collector.0.name", "Shenandoah partial"}), shared_number("sun.gc.collector.1.invocations", 546),
       shared_number("sun.gc.collector.1.time", 1438566196), shared_number("sun.rt.safepointTime", 147720813)}));
  REQUIRE(shared);
  CHECK_FALSE((*shared)[Counter::full_count]);
  CHECK_FALSE((*shared)[Counter::full_ticks]);
  CHECK((*shared)[Counter::safepoint_ticks] == 147720813);
}

}  // namespace atalaya::jvm
