// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "plugins/commands/top/live.h"

namespace atalaya::top {
namespace {

std::string line(int64_t second, int pid, double cpu) {
  return R"({"kind":"metrics","time":)" + std::to_string(second) + R"(000000000,"duration":1000000000,"tags":{"host":"h","pid":")" +
         std::to_string(pid) + R"(","process":"p"},"fields":{"proc.cpu.user":)" + std::to_string(cpu) + R"(,"proc.threads":2}})";
}

TEST_CASE("a line of a later time ends the window before") {
  WindowReader reader;
  CHECK(!reader.add(line(10, 1, 5)));
  CHECK(!reader.add(line(10, 2, 6)));
  const auto first = reader.add(line(11, 1, 7));
  REQUIRE(first);
  CHECK(first->time_ns == 10'000'000'000);
  CHECK(first->length_ns == 1'000'000'000);
  CHECK(first->rows.size() == 2);
  CHECK(!reader.add(line(11, 2, 8)));
  const auto second = reader.take();
  REQUIRE(second);
  CHECK(second->time_ns == 11'000'000'000);
  CHECK(second->rows.size() == 2);
  CHECK(!reader.take());
}

TEST_CASE("lines that are no samples, and a clock that is set back") {
  WindowReader reader;
  for (const char *bad :
       {"", "{", "[]", "null", R"({"time":"x"})", R"({"time":1,"tags":[],"fields":{}})", R"({"time":1,"tags":{},"fields":{}})"})
    CHECK(!reader.add(bad));
  CHECK(!reader.take());
  CHECK(!reader.add(line(10, 1, 5)));
  CHECK(!reader.add(line(9, 2, 5)));
  CHECK(reader.take()->rows.size() == 2);
}

TEST_CASE("the pipeline has the network only where it is wanted") {
  CHECK(pipeline_text("2s", true).find("a.source.net") != std::string::npos);
  CHECK(pipeline_text("2s", false).find("a.source.net") == std::string::npos);
  CHECK(pipeline_text("2s", false).find("every = \"2s\"") != std::string::npos);
}

}  // namespace
}  // namespace atalaya::top
