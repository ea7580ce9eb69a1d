// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/code/probes/regions.h"

namespace atalaya::probes {

extern "C" __attribute__((noinline, used)) int begins_of_the_test(int value) {
  return value * 3;
}
extern "C" __attribute__((noinline, used)) int ends_of_the_test(int value) {
  return value * 5;
}

namespace {

const RegionText kGood{.name = "parse", .binary = "/usr/bin/app", .enter = "parse_file", .leave = "return", .bytes = ""};

Region parsed(const RegionText &text) {
  auto regions = parse_regions({text});
  REQUIRE_MESSAGE(regions.ok(), (regions.ok() ? "" : regions.error()));
  return regions->front();
}

std::string refusal(const std::vector<RegionText> &texts) {
  const auto regions = parse_regions(texts);
  REQUIRE_FALSE(regions);
  return regions.error();
}

template <class Change>
std::string refusal_of(const Change &change) {
  RegionText text = kGood;
  change(text);
  return refusal({text});
}

core::Result<Points> resolved(RegionText text) {
  text.binary = "/proc/self/exe";
  const core::Descriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  REQUIRE(file);
  return resolve(parsed(text), file.get());
}

}  // namespace

TEST_CASE("a region of a function, and one between two places") {
  const Region parse = parsed(kGood);
  CHECK(parse.name == "parse");
  CHECK(parse.binary == "/usr/bin/app");
  CHECK(parse.enter.symbol == "parse_file");
  CHECK(parse.enter.offset == 0);
  CHECK_FALSE(parse.leave);
  CHECK(parse.bytes == kNoBytes);

  const Region load = parsed({"load", "/usr/bin/app", "a::operator+", "b+0x1c", "arg5"});
  CHECK(load.enter.symbol == "a::operator+");
  CHECK(load.leave->symbol == "b");
  CHECK(load.leave->offset == 28);
  CHECK(load.bytes == 5);
  CHECK(parsed({"x", "/x", "a::operator++12", "b", ""}).enter.symbol == "a::operator+");
  CHECK(parsed({"x", "/x", "read", "return", "return"}).bytes == kBytesReturned);
}

TEST_CASE("invalid regions") {
  CHECK(refusal({}) == "has no region");
  CHECK(refusal(std::vector<RegionText>(65, kGood)) == "has more than the maximum of 64 regions");
  CHECK(refusal({kGood, kGood}) == R"(region "parse": the name is used twice; region names must be unique)");
  CHECK(refusal_of([](auto &text) { text.name = ""; }) == R"(region "": name is empty)");
  CHECK(refusal_of([](auto &text) { text.binary = ""; }) ==
        R"(region "parse": binary is empty; name the program or library that contains the code)");
  CHECK(refusal_of([](auto &text) { text.enter = ""; }) == R"(region "parse": enter has no function name)");
  CHECK(refusal_of([](auto &text) { text.leave = "+4"; }) == R"(region "parse": leave has no function name)");
  CHECK(refusal_of([](auto &text) { text.leave = "f+4x"; }) ==
        R"(region "parse": leave is "f+4x", where + is not followed by a number of bytes; write FUNCTION+24 or FUNCTION+0x18)");
  CHECK(refusal_of([](auto &text) { text.leave = "f+99999999999999999999"; }).find("not followed by a number of bytes") !=
        std::string::npos);
  CHECK(refusal_of([](auto &text) { text.enter = "f+4"; }) ==
        R"(region "parse": enter is within a function, so leave cannot be "return"; name the function where the region ends)");
  for (const char *bytes : {"arg0", "arg6", "arg12", "size", "ARG1"})
    CHECK(refusal_of([bytes](auto &text) { text.bytes = bytes; }) ==
          R"(region "parse": bytes is ")" + std::string(bytes) + R"("; use arg1 to arg5, or return)");
  CHECK(refusal({{"x", "/x", "f", "g", "return"}}) == R"(region "x": bytes is "return", which requires leave = "return")");
  CHECK(refusal({{"x", "/x", "f+4", "g", "arg1"}}) ==
        R"(region "x": bytes is "arg1", but arguments are known only at the begin of a function)");
}

TEST_CASE("where a region is in the file") {
  CHECK(begins_of_the_test(1) + ends_of_the_test(1) == 8);
  const auto by_return = resolved({"x", "", "begins_of_the_test", "return", ""});
  REQUIRE(by_return);
  CHECK(by_return.value().enter > 0);
  CHECK_FALSE(by_return.value().leave);
  const auto pair = resolved({"x", "", "begins_of_the_test+1", "ends_of_the_test", ""});
  REQUIRE(pair);
  CHECK(pair.value().enter == by_return.value().enter + 1);
  CHECK(pair.value().leave.has_value());
}

TEST_CASE("a region that is nowhere in the file") {
  const auto same = resolved({"x", "", "begins_of_the_test", "begins_of_the_test", ""});
  REQUIRE_FALSE(same);
  CHECK(same.error() == "enter and leave are the same place of /proc/self/exe");
  const auto behind = resolved({"x", "", "begins_of_the_test", "ends_of_the_test+100000", ""});
  REQUIRE_FALSE(behind);
  CHECK(behind.error().find(" bytes long; 100000 is beyond its end") != std::string::npos);
  const auto none = resolved({"x", "", "begins_of_the_test", "no_function_of_the_test", ""});
  REQUIRE_FALSE(none);
  CHECK(none.error().starts_with(R"(no function "no_function_of_the_test" in /proc/self/exe)"));
}

}  // namespace atalaya::probes
